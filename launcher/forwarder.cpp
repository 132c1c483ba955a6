#include "launcher/forwarder.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "foundation/ends.hpp"
#include "launcher/protocol.hpp"

namespace rollcall::launcher {

Forwarder::~Forwarder() {
    for (const auto& [name, stream] : streams_) {
        if (stream.watched) poller_.remove(stream.pipe.get());
    }
}

void Forwarder::add(int rank, bool error, Descriptor pipe) {
    const Name name(rank, error);
    Stream& stream = streams_[name];
    stream.pipe = std::move(pipe);
    stream.watched = true;
    poller_.add(stream.pipe.get(), EPOLLIN, [this, name](std::uint32_t) { readable(name); });
}

void Forwarder::readable(const Name& name) {
    const auto found = streams_.find(name);
    if (found == streams_.end() || !found->second.watched) return;
    Stream& stream = found->second;
    std::array<char, 65536> chunk;
    if (finishing_ && stream.rest == 0) return end(name);
    std::size_t room = std::min(chunk.size(), window_ - std::min(window_, stream.ahead));
    if (finishing_) room = std::min(room, stream.rest);
    const ssize_t count = room == 0 ? 0 : ::read(stream.pipe.get(), chunk.data(), room);
    if (room > 0 && count > 0) {
        stream.ahead += static_cast<std::size_t>(count);
        if (finishing_) stream.rest -= static_cast<std::size_t>(count);
        send_(encode_stream(FrameType::agent_output, name.first, name.second,
                            std::string_view(chunk.data(), static_cast<std::size_t>(count))));
    } else if (room > 0 && (count == 0 || (errno != EAGAIN && errno != EINTR) || (finishing_ && errno == EAGAIN))) {
        end(name);
        return;
    }
    if (stream.ahead >= window_) {
        stream.watched = false;
        poller_.remove(stream.pipe.get());
    }
}

void Forwarder::end(const Name& name) {
    const auto found = streams_.find(name);
    if (found->second.watched) poller_.remove(found->second.pipe.get());
    streams_.erase(found);
    send_(encode_stream(FrameType::agent_output, name.first, name.second, {}));
}

void Forwarder::taken(int rank, bool error, std::size_t bytes) {
    const Name name(rank, error);
    const auto found = streams_.find(name);
    if (found == streams_.end()) return;
    Stream& stream = found->second;
    if (bytes > stream.ahead) {  // The reader is gone. Its writer gets SIGPIPE, as it would without a launcher.
        end(name);
        return;
    }
    stream.ahead -= bytes;
    if (!stream.watched && stream.ahead < window_) {
        stream.watched = true;
        poller_.add(stream.pipe.get(), EPOLLIN, [this, name](std::uint32_t) { readable(name); });
    }
    if (finishing_) read_rest();
}

void Forwarder::finish() {
    finishing_ = true;
    // A process that SIGKILL has not ended may go on writing. So it is asked only once how much is there.
    for (auto& [name, stream] : streams_) stream.rest = bytes_in(stream.pipe.get());
    read_rest();
}

void Forwarder::read_rest() {
    std::vector<Name> names;
    for (const auto& [name, stream] : streams_) names.push_back(name);
    for (const auto& name : names) {
        // Read until the pipe is empty, or until the window is closed and the launcher must answer first.
        for (auto found = streams_.find(name); found != streams_.end() && found->second.watched; found = streams_.find(name))
            readable(name);
    }
}

}  // namespace rollcall::launcher
