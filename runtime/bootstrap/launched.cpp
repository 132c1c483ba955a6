#include "runtime/bootstrap/launched.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include <rollcall/error.hpp>

#include "runtime/bootstrap/waiting.hpp"

namespace rollcall::bootstrap {
namespace {

using Clock = Waiting::Clock;

/// abort() sends at once; when the socket is full it tries this long, because the caller probably exits next.
constexpr auto kAbortPatience = std::chrono::milliseconds(500);
constexpr auto kAbortNap = std::chrono::microseconds(500);

[[noreturn]] void unusable(std::string_view number, std::string_view why) {
    throw Error(ErrorCode::bootstrap,
                fmt::format("{}={} says that `rollcall run` started this process, but {}; start the program by `rollcall "
                            "run` directly, let wrappers pass the descriptor on (Python: close_fds=False), or unset the "
                            "variable to run alone",
                            kDescriptorVariable, number, why));
}

int parse_descriptor(std::string_view number) {
    int descriptor = -1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), descriptor);
    if (error != std::errc() || end != number.data() + number.size() || descriptor < 0) {
        unusable(number, "its value is not a descriptor number");
    }
    return descriptor;
}

}  // namespace

Launched::Launched(std::string_view number) {
    const int inherited = parse_descriptor(number);
    if (::fcntl(inherited, F_GETFD) < 0) unusable(number, "that descriptor is not open");
    int domain = 0;
    int type = 0;
    socklen_t domain_size = sizeof domain;
    socklen_t type_size = sizeof type;
    if (::getsockopt(inherited, SOL_SOCKET, SO_DOMAIN, &domain, &domain_size) != 0 ||
        ::getsockopt(inherited, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || domain != AF_UNIX || type != SOCK_STREAM) {
        unusable(number, "that descriptor is not the launcher's socket");
    }

    // The welcome was put there before this process began. Look without taking: what another process of this rank is
    // about to read must stay.
    std::array<std::byte, kHeaderBytes + kLongestWelcome> bytes;
    const ssize_t seen = ::recv(inherited, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (seen == 0) unusable(number, "the launcher is gone");
    if (seen < 0) unusable(number, "no welcome is waiting there: another process of this rank has already joined");
    Inbox peeked(kLongestWelcome);
    peeked.append(std::span(bytes).first(static_cast<std::size_t>(seen)));
    std::optional<Frame> frame;
    try {
        frame = peeked.next();
    } catch (const Error& error) {
        unusable(number, error.what());
    }
    if (!frame || frame->type != FrameType::welcome) {
        unusable(number, "no welcome is waiting there: another process of this rank has already joined");
    }
    place_ = decode_welcome(frame->body);

    ::fcntl(inherited, F_SETFD, FD_CLOEXEC);
    control_.reset(inherited);

    // Now take it, and the notice socket that comes with it.
    iovec vector{bytes.data(), kHeaderBytes + frame->body.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    const ssize_t taken = ::recvmsg(inherited, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const cmsghdr* const control = taken > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS) {
        int descriptor = -1;
        std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
        notices_.reset(descriptor);
    }
    if (taken != static_cast<ssize_t>(vector.iov_len) || !notices_) {
        unusable(number, "the launcher's welcome is incomplete (is the limit of open files reached?)");
    }

    notice_events_.reset(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event interest{};
    interest.events = EPOLLIN;
    if (!notice_events_ || ::epoll_ctl(notice_events_.get(), EPOLL_CTL_ADD, notices_.get(), &interest) != 0) {
        throw Error(ErrorCode::bootstrap, fmt::format("cannot watch for notices of the launcher: {}", std::strerror(errno)));
    }
    post(FrameWriter(FrameType::join).i32(::getpid()).finish());
}

void Launched::post(Blob frame) {
    const std::lock_guard lock(sending_);
    outbox_.add(std::move(frame));
    outbox_.send(control_.get());  // a launcher that is gone shows when the answer is read
}

bool Launched::flush() {
    const std::lock_guard lock(sending_);
    return outbox_.send(control_.get());
}

bool Launched::unsent() {
    const std::lock_guard lock(sending_);
    return !outbox_.empty();
}

Frame Launched::answer(const char* operation, std::uint64_t sequence, const Meanwhile& meanwhile, Timeout timeout) {
    Waiting waiting(meanwhile, timeout);
    for (;;) {
        flush();
        const auto state = inbox_.receive(control_.get());
        while (auto frame = inbox_.next()) {
            FrameReader reader(frame->body);
            const auto answered = reader.u64();
            if (answered < sequence) continue;  // of a call that gave up at its deadline
            if (frame->type != FrameType::failed) return std::move(*frame);
            const auto code = static_cast<ErrorCode>(reader.u32());
            const int rank = reader.i32();
            throw Error(code,
                        fmt::format("rank {} on host {}: bootstrap {} (sequence {}) failed: {}", place_.rank, place_.host, operation,
                                    sequence, reader.text()),
                        rank);
        }
        if (state == Inbox::State::closed) {
            throw Error(ErrorCode::bootstrap,
                        fmt::format("rank {} on host {}: bootstrap {} (sequence {}) failed: the launcher, `rollcall run`, "
                                    "is gone",
                                    place_.rank, place_.host, operation, sequence));
        }
        if (waiting.over()) {
            throw Error(ErrorCode::timeout, fmt::format("rank {} on host {}: bootstrap {} (sequence {}) was not answered within {} ms: not "
                                                        "every rank has called it",
                                                        place_.rank, place_.host, operation, sequence,
                                                        std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()));
        }
        waiting.on(control_.get(), static_cast<short>(POLLIN | (unsent() ? POLLOUT : 0)));
    }
}

std::vector<Blob> Launched::exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) {
    if (mine.size() > kLongestBlob) {
        throw Error(ErrorCode::invalid_argument, fmt::format("rank {}: a bootstrap exchange of {} bytes; the longest blob has {}",
                                                             place_.rank, mine.size(), kLongestBlob));
    }
    const auto sequence = ++sequence_;
    post(FrameWriter(FrameType::exchange).u64(sequence).blob(mine).finish());
    const Frame frame = answer("exchange", sequence, meanwhile, timeout);
    FrameReader reader(frame.body);
    reader.u64();
    if (frame.type != FrameType::gathered || reader.u32() != static_cast<std::uint32_t>(place_.size)) {
        throw Error(ErrorCode::bootstrap, "the launcher answered an exchange with something else");
    }
    std::vector<Blob> all(static_cast<std::size_t>(place_.size));
    for (Blob& blob : all) {
        const auto bytes = reader.blob();
        blob.assign(bytes.begin(), bytes.end());
    }
    reader.end();
    return all;
}

void Launched::barrier(const Meanwhile& meanwhile, Timeout timeout) {
    const auto sequence = ++sequence_;
    post(FrameWriter(FrameType::barrier).u64(sequence).finish());
    if (answer("barrier", sequence, meanwhile, timeout).type != FrameType::released) {
        throw Error(ErrorCode::bootstrap, "the launcher answered a barrier with something else");
    }
}

std::optional<Notice> Launched::take_notice() {
    const std::lock_guard lock(noticing_);
    std::array<std::byte, kHeaderBytes + kLongestWelcome> record;
    while (!launcher_gone_) {
        const ssize_t count = ::recv(notices_.get(), record.data(), record.size(), MSG_DONTWAIT);
        if (count > 0) {
            Inbox inbox(kLongestWelcome);
            inbox.append(std::span(record).first(static_cast<std::size_t>(count)));
            const auto frame = inbox.next();
            if (frame && frame->type == FrameType::notice) return decode_notice(frame->body);
            continue;
        }
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
        // The end of the stream stays readable for ever; whoever sleeps on the descriptor must not be woken by it
        // again.
        launcher_gone_ = true;
        ::epoll_ctl(notice_events_.get(), EPOLL_CTL_DEL, notices_.get(), nullptr);
        return Notice{-1, "has lost its launcher: `rollcall run` is gone"};
    }
    return std::nullopt;
}

void Launched::leave() noexcept {
    try {
        post(FrameWriter(FrameType::leave).finish());
        const auto deadline = Clock::now() + kAbortPatience;
        while (unsent() && flush() && Clock::now() < deadline) wait_on(control_.get(), POLLOUT, kAbortNap);
    } catch (...) {  // out of memory: the exit then counts as a death, which is true enough
    }
}

void Launched::abort(int code, std::string_view why) noexcept {
    try {
        post(FrameWriter(FrameType::abort).i32(code).text(why).finish());
        const auto deadline = Clock::now() + kAbortPatience;
        while (unsent() && flush() && Clock::now() < deadline) wait_on(control_.get(), POLLOUT, kAbortNap);
    } catch (...) {  // out of memory: the caller's own exit code must do
    }
}

}  // namespace rollcall::bootstrap
