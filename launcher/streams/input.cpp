#include "launcher/streams/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace rollcall::launcher {
namespace {

/// How often a launcher in the background checks whether it may read the terminal again.
constexpr Nanoseconds kBackgroundLook = 500 * kMillisecond;

}  // namespace

Input::Input(Poller& poller, int descriptor, pid_t group, const std::vector<int>& ranks, Send send)
    : poller_(poller), descriptor_(descriptor), terminal_group_(::isatty(descriptor) != 0 ? group : -1), send_(std::move(send)) {
    for (const int rank : ranks) owed_[rank] = 0;
    struct stat status {};
    if (::fstat(descriptor, &status) != 0 || (!S_ISFIFO(status.st_mode) && ::isatty(descriptor) == 0)) return;
    // O_NONBLOCK would hold for all processes that share the open file description, and the shell shares it.
    own_.reset(::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
}

void Input::start() { watch(true); }

void Input::watch(bool wanted) {
    if (ended_) return;
    if (!wanted) {
        if (polled_ && watched_) poller_.remove(descriptor_);
        watched_ = false;
        return;
    }
    if (watched_) return;
    watched_ = true;
    if (polled_) polled_ = poller_.add(descriptor_, EPOLLIN, [this](std::uint32_t) { read(); });
    if (!polled_) retry_at_ = 0;  // epoll refuses files, which can always be read
}

void Input::retry() {
    retry_at_ = kNever;
    if (!polled_) {
        if (watched_) read();
    } else {
        watch(true);
    }
}

/// Never blocks: another reader, such as a pager at the same terminal, may have taken what epoll reported. (epoll watches the given
/// descriptor: only that one reports that a named pipe has ended, if all who wrote to it had closed it before the other one was opened.)
long Input::read_some(char* buffer, std::size_t size) const {
    if (own_) return ::read(own_.get(), buffer, size);
    const ssize_t count = ::recv(descriptor_, buffer, size, MSG_DONTWAIT);
    if (count >= 0 || errno != ENOTSOCK) return count;
    pollfd there{descriptor_, POLLIN, 0};
    if (::poll(&there, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return ::read(descriptor_, buffer, size);
}

void Input::read() {
    if (!watched_ || ended_) return;
    std::array<char, 16384> buffer;
    // A terminal may be read by its foreground process group only, which is never that of the guard. The guard joins it for the moment of
    // the read. If it stayed, SIGKILL to the group would end both the front and the guard.
    if (terminal_group_ > 0) ::setpgid(0, terminal_group_);
    const long count = read_some(buffer.data(), buffer.size());
    const int error = errno;
    if (terminal_group_ > 0) ::setpgid(0, 0);
    if (count > 0) {
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
        watch(false);
        for (auto& [rank, owed] : owed_) owed = bytes.size();
        owing_ = owed_.size();
        // While a rank is told, it may take the data or be gone, and either changes owed_.
        std::vector<int> ranks;
        for (const auto& [rank, owed] : owed_) ranks.push_back(rank);
        for (const int rank : ranks) send_(rank, bytes);
    } else if (count < 0 && error == EIO) {  // this process is in the background and ignores SIGTTIN
        watch(false);
        retry_at_ = monotonic_now() + kBackgroundLook;
    } else if (count == 0 || (error != EINTR && error != EAGAIN)) {
        finish();
    } else if (!polled_) {
        retry_at_ = 0;
    }
}

void Input::finish() {
    watch(false);
    ended_ = true;
    retry_at_ = kNever;
    std::vector<int> ranks;
    for (const auto& [rank, owed] : owed_) ranks.push_back(rank);
    for (const int rank : ranks) send_(rank, {});
}

void Input::taken(int rank, std::size_t bytes, bool closed) {
    const auto found = owed_.find(rank);
    if (found == owed_.end()) return;
    const bool owed = found->second > 0;
    found->second -= std::min(found->second, bytes);
    if (owed && (closed || found->second == 0)) --owing_;
    if (closed) owed_.erase(found);
    if (ended_) return;
    if (owed_.empty()) {
        watch(false);
        ended_ = true;
        retry_at_ = kNever;
    } else if (retry_at_ == kNever && owing_ == 0) {
        watch(true);
    }
}

}  // namespace rollcall::launcher
