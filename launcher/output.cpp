#include "launcher/output.hpp"

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
#include <climits>
#include <cstring>
#include <filesystem>
#include <limits>

#include <rollcall/error.hpp>

#include "launcher/clock.hpp"

namespace rollcall::launcher {
namespace {

/// An unfinished line is passed on after this silence: long for a program that writes a line in pieces, short for a
/// person who waits for a prompt.
constexpr Nanoseconds kMoment = 300 * kMillisecond;
/// A line that is longer is passed on in pieces; this much is held for each stream of each rank at most.
constexpr std::size_t kLongestHeldLine = std::size_t{64} << 10;
/// The ranks' pipes are not read while this much waits to be written.
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;

}  // namespace

struct Output::Sink {
    int descriptor = -1;
    bootstrap::Descriptor own;  // a description of our own, non-blocking, where one can be had
    enum { file, socket, stream, shared_stream } kind = file;
    bool polled = false;  // in the poller
    bool armed = false;   // waiting for room
    bool broken = false;
    bool stopped = false;  // it is full, and no source is read
    std::string waiting;
    std::size_t written = 0;        // of waiting
    const Source* open = nullptr;   // whose unfinished line was written last
    const Source* owner = nullptr;  // whose unfinished line nobody may follow yet
    bool mid_line = false;

    std::size_t size() const { return waiting.size() - written; }
    bool full() const { return size() >= kMostWaiting; }
};

struct Output::Source {
    int rank;
    bool error;
    Sink* sink;
    bootstrap::Descriptor pipe;
    bool fed = false;    // more may be fed
    std::string unread;  // was fed, while the sink was full
    std::string held;
    Nanoseconds heard = 0;
    bool watched = false;

    bool open() const { return pipe || fed; }
};

Output::Output(Poller& poller, int out, int error, bool tag, std::string directory, Taken taken)
    : poller_(poller), tag_(tag), directory_(std::move(directory)), taken_(std::move(taken)) {
    if (!directory_.empty()) {
        std::error_code failed;
        // The files are opened when the ranks start, and this process may have gone to another directory by then.
        directory_ = std::filesystem::absolute(directory_, failed).string();
        std::filesystem::create_directories(directory_, failed);
        if (failed) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--output-directory '{}' cannot be made: {}", directory_, failed.message()));
        }
    }
    struct stat first {};
    struct stat second {};
    const bool same = ::fstat(out, &first) == 0 && ::fstat(error, &second) == 0 && first.st_dev == second.st_dev &&
                      first.st_ino == second.st_ino && first.st_rdev == second.st_rdev;
    sinks_.push_back(std::make_unique<Sink>());
    out_ = sinks_.back().get();
    open(*out_, out);
    if (same) {
        error_ = out_;
    } else {
        sinks_.push_back(std::make_unique<Sink>());
        error_ = sinks_.back().get();
        open(*error_, error);
    }
}

Output::~Output() = default;

void Output::open(Sink& sink, int descriptor) {
    sink.descriptor = descriptor;
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) {
        sink.broken = true;  // closed when we were started
        return;
    }
    if (S_ISSOCK(status.st_mode)) {
        sink.kind = Sink::socket;
    } else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
        // Whether a description is non-blocking is a matter of all its holders, and the shell holds this one too. So
        // one of our own; where that is not allowed, small writes after a poll.
        sink.own.reset(::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        sink.kind = sink.own ? Sink::stream : Sink::shared_stream;
        if (sink.own) sink.descriptor = sink.own.get();
    } else {
        sink.kind = Sink::file;
        return;
    }
    sink.polled = poller_.add(sink.descriptor, 0, [this, &sink](std::uint32_t events) {
        // The reader of a pipe is gone: told at once, so that ranks which write without end do not go on until the end.
        if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
            broken(sink, EPIPE);
        } else if (sink.armed) {
            flush(sink);
        }
    });
    if (!sink.polled && sink.kind == Sink::shared_stream) sink.kind = Sink::file;
}

Output::Source& Output::add_source(int rank, bool error) {
    auto source = std::make_unique<Source>();
    source->rank = rank;
    source->error = error;
    source->sink = error ? error_ : out_;
    if (!directory_.empty()) {
        sinks_.push_back(std::make_unique<Sink>());
        Sink& sink = *sinks_.back();
        const std::string path = fmt::format("{}/rank.{}.{}", directory_, rank, error ? "err" : "out");
        sink.own.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
        sink.descriptor = sink.own.get();
        source->sink = &sink;
        if (!sink.own) broken(sink, errno);
    }
    sources_.push_back(std::move(source));
    return *sources_.back();
}

void Output::feed(int rank, bool error, std::string_view bytes) {
    Source*& known = fed_[{rank, error}];
    if (known == nullptr) {
        known = &add_source(rank, error);
        known->fed = true;
        watch(*known);
    }
    Source& source = *known;
    if (!source.fed) return;
    if (bytes.empty()) {
        source.fed = false;
        if (source.unread.empty()) pump(source, true);
        return;
    }
    if (source.sink->broken) {
        taken_(rank, error, std::numeric_limits<std::int64_t>::max());
        return;
    }
    source.unread.append(bytes);
    if (source.watched) read_fed(source);
    watch(source);
}

void Output::read_fed(Source& source) {
    const std::size_t bytes = source.unread.size();
    source.held.append(std::exchange(source.unread, {}));
    source.heard = now();
    if (source.fed && bytes > 0) taken_(source.rank, source.error, bytes);
    pump(source, !source.fed);
}

void Output::end_fed() {
    for (const auto& [name, source] : fed_) {
        if (!std::exchange(source->fed, false)) continue;
        if (source->unread.empty()) pump(*source, true);
    }
}

bool Output::has_all_of(int rank) const {
    const auto ended = [&](bool error) {
        const auto found = fed_.find({rank, error});
        return found != fed_.end() && !found->second->fed;
    };
    return ended(false) && ended(true);
}

void Output::add(int rank, bool error, bootstrap::Descriptor pipe) {
    Source& added = add_source(rank, error);
    added.pipe = std::move(pipe);
    if (added.sink->broken) {
        added.pipe.reset();
        return;
    }
    watch(added);
}

void Output::close(Source& source) {
    if (!source.pipe) return;
    poller_.remove(source.pipe.get());
    source.pipe.reset();
    source.watched = false;
}

void Output::watch(Source& source) {
    if (!source.open() && source.unread.empty()) return;
    const Sink& sink = *source.sink;
    const bool waits_for_other = sink.owner != nullptr && sink.owner != &source && source.held.size() >= kLongestHeldLine;
    const bool wanted = !sink.full() && !waits_for_other;
    if (wanted == source.watched) return;
    source.watched = wanted;
    if (wanted) source.heard = now();  // its silence was ours
    if (!source.pipe) {
        if (wanted && (!source.unread.empty())) read_fed(source);
        return;
    }
    // Without interest epoll still reports a hang-up, again and again; so the descriptor leaves the set.
    if (wanted) {
        poller_.add(source.pipe.get(), EPOLLIN, [this, &source](std::uint32_t) { readable(source); });
    } else {
        poller_.remove(source.pipe.get());
    }
}

void Output::watch_all(Sink& sink) {
    for (const auto& source : sources_) {
        if (source->sink == &sink) watch(*source);
    }
}

void Output::readable(Source& source) {
    if (!source.pipe || !source.watched) return;
    std::array<char, 65536> chunk;
    const ssize_t count = ::read(source.pipe.get(), chunk.data(), chunk.size());
    if (count > 0) {
        source.held.append(chunk.data(), static_cast<std::size_t>(count));
        source.heard = now();
        pump(source, false);
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR) || (finishing_ && errno == EAGAIN)) {
        close(source);
        pump(source, true);
    }
    watch(source);
}

void Output::pump(Source& source, bool all) {
    Sink& sink = *source.sink;
    if (sink.broken) {
        source.held.clear();
        return;
    }
    if (sink.owner != nullptr && sink.owner != &source) return;  // its turn comes when the owner's line has ended
    all = all || (!source.open() && source.unread.empty());
    const auto newline = source.held.rfind('\n');
    const std::size_t lines = newline == std::string::npos ? 0 : newline + 1;
    const std::size_t partial = source.held.size() - lines;
    const bool goes_on = partial > kLongestHeldLine || (sink.owner == &source && lines == 0);
    const std::size_t take = all || goes_on ? source.held.size() : lines;
    const bool finished = take == lines;
    // Writing may open the sink again, and then this stream and others are read and pumped from within: what is held and
    // whose turn it is must be true before.
    const std::string passed = source.held.substr(0, take);
    source.held.erase(0, take);
    const bool releases = sink.owner == &source && (all || (take > 0 && finished));
    if (!finished && !all) sink.owner = &source;
    if (take > 0) emit(source, passed);
    if (releases && sink.owner == &source) {
        sink.owner = nullptr;
        pump_others(sink);
    }
}

void Output::pump_others(Sink& sink) {
    for (const auto& source : sources_) {
        if (sink.owner != nullptr) break;
        if (source->sink != &sink || source->held.empty()) continue;
        pump(*source, false);
    }
    watch_all(sink);
}

void Output::emit(Source& source, std::string_view bytes) {
    Sink& sink = *source.sink;
    if (!tag_) {
        sink.waiting.append(bytes);
    } else {
        const std::string tag = fmt::format("[{}] ", source.rank);
        bool tagged = sink.mid_line && sink.open == &source;
        if (sink.mid_line && !tagged) sink.waiting.push_back('\n');
        for (std::size_t begin = 0; begin < bytes.size();) {
            const auto newline = bytes.find('\n', begin);
            const std::size_t end = newline == std::string_view::npos ? bytes.size() : newline + 1;
            if (!tagged) sink.waiting.append(tag);
            sink.waiting.append(bytes.substr(begin, end - begin));
            tagged = false;
            begin = end;
        }
    }
    sink.open = &source;
    sink.mid_line = bytes.back() != '\n';
    flush(sink);
}

void Output::say(std::string_view sentence) {
    Sink& sink = *error_;
    if (sink.broken) return;
    if (sink.mid_line) sink.waiting.push_back('\n');
    sink.waiting.append(sentence).push_back('\n');
    sink.mid_line = false;
    flush(sink);
}

void Output::flush(Sink& sink) {
    while (sink.size() > 0 && !sink.broken) {
        const char* const data = sink.waiting.data() + sink.written;
        ssize_t count = 0;
        if (sink.kind == Sink::socket) {
            count = ::send(sink.descriptor, data, sink.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        } else if (sink.kind == Sink::shared_stream) {
            pollfd room{sink.descriptor, POLLOUT, 0};
            if (::poll(&room, 1, 0) == 0) {
                errno = EAGAIN;
                count = -1;
            } else {
                count = ::write(sink.descriptor, data, std::min<std::size_t>(sink.size(), PIPE_BUF));
            }
        } else {
            count = ::write(sink.descriptor, data, sink.size());
        }
        if (count >= 0) {
            sink.written += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN && sink.polled) {
            break;
        } else if (errno != EINTR) {
            broken(sink, errno);
            return;
        }
    }
    if (sink.size() == 0) {
        sink.waiting.clear();
        sink.written = 0;
    } else if (sink.written > sink.waiting.size() / 2) {
        sink.waiting.erase(0, sink.written);
        sink.written = 0;
    }
    const bool arm = sink.size() > 0;
    if (sink.polled && arm != sink.armed) poller_.change(sink.descriptor, arm ? EPOLLOUT : 0u);
    sink.armed = arm;
    if (sink.stopped == sink.full()) return;
    sink.stopped = sink.full();
    watch_all(sink);
}

void Output::broken(Sink& sink, int error) {
    if (sink.broken) return;
    sink.broken = true;
    sink.waiting.clear();
    sink.written = 0;
    sink.owner = nullptr;
    if (sink.polled) poller_.remove(sink.descriptor);
    if (error != EPIPE && failure_.empty()) {
        failure_ = &sink != out_ && &sink != error_
                       ? fmt::format("a file in '{}' cannot be written: {}", directory_, std::strerror(error))
                       : fmt::format("standard {} cannot be written: {}", &sink == out_ ? "output" : "error", std::strerror(error));
    }
    for (const auto& source : sources_) {
        if (source->sink != &sink) continue;
        close(*source);
        source->held.clear();
        source->unread.clear();
        if (source->fed) taken_(source->rank, source->error, std::numeric_limits<std::int64_t>::max());
    }
}

Nanoseconds Output::tick_at() const {
    Nanoseconds due = kNever;
    for (const auto& source : sources_) {
        if (!source->watched) continue;
        if (!source->held.empty() || source->sink->owner == source.get()) due = std::min(due, source->heard + kMoment);
    }
    return due;
}

void Output::tick() {
    const Nanoseconds moment = now() - kMoment;
    for (const auto& source : sources_) {
        if (!source->watched || source->heard > moment) continue;
        Sink& sink = *source->sink;
        if (sink.owner != nullptr && sink.owner != source.get()) {
            source->heard = now();  // waits for the owner's turn to end, for another moment
        } else if (!source->held.empty() || sink.owner == source.get()) {
            pump(*source, true);
        }
    }
}

void Output::finish() {
    finishing_ = true;
    for (const auto& source : sources_) {
        // Until the pipe is empty, or its sink takes no more and the poller must go on.
        while (source->pipe && source->watched) readable(*source);
    }
}

bool Output::idle() const {
    for (const auto& source : sources_) {
        if (source->open() || !source->held.empty() || !source->unread.empty()) return false;
    }
    return std::all_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink->size() == 0; });
}

}  // namespace rollcall::launcher
