#include "bootstrap/member.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>

#include <rollcall/error.hpp>

#include "bootstrap/passing.hpp"
#include "bootstrap/waiting.hpp"
#include "foundation/error_text.hpp"
#include "foundation/units.hpp"

namespace rollcall::bootstrap {
namespace {

using Clock = Waiting::Clock;

/// leave(), farewell() and abort() send at once. If the socket is full, they try for this long.
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kNap = std::chrono::microseconds(500);

}  // namespace

Peeked peek_frame(int socket) {
    std::array<std::byte, kHeaderBytes + kLongestWelcome> bytes;
    const ssize_t seen = ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
    if (seen == 0) return {Peeked::State::closed, {}};
    if (seen < 0) return {errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Peeked::State::nothing : Peeked::State::closed, {}};
    Inbox inbox(kLongestWelcome);
    inbox.append(std::span(bytes).first(static_cast<std::size_t>(seen)));
    auto frame = inbox.next();
    if (!frame) return {};
    return {Peeked::State::frame, std::move(*frame)};
}

bool take_frame(int socket, const Frame& seen, Descriptor& passed) {
    std::array<std::byte, kHeaderBytes + kLongestWelcome> bytes;
    const auto whole = std::span(bytes).first(kHeaderBytes + seen.body.size());
    return receive_with_descriptor(socket, whole, passed) == static_cast<ssize_t>(whole.size());
}

Member::Member(Place place, Descriptor control, Descriptor notices, Loss loss, Descriptor hub_process)
    : place_(std::move(place)),
      loss_(std::move(loss)),
      control_(std::move(control)),
      notices_(std::move(notices)),
      hub_process_(std::move(hub_process)) {
    // Otherwise a child that outlives this process would hide its end, and a child that changed the epoll set would change that of its
    // parent.
    control_.keep_from_children();
    notices_.keep_from_children();
    notice_events_.reset(::epoll_create1(EPOLL_CLOEXEC));
    notice_events_.keep_from_children();
    const auto watch = [&](const Descriptor& descriptor) {
        epoll_event interest{};
        interest.events = EPOLLIN;
        return ::epoll_ctl(notice_events_.get(), EPOLL_CTL_ADD, descriptor.get(), &interest) == 0;
    };
    if (!notice_events_ || !watch(notices_) || (hub_process_ && !watch(hub_process_))) {
        throw Error(ErrorCode::bootstrap, fmt::format("rank {} cannot watch for notices: {}", place_.rank, error_text(errno)));
    }
    inbox_.keep_descriptors();
    post(FrameWriter(FrameType::join).i32(::getpid()).finish());
}

void Member::post(Blob frame) {
    const std::lock_guard lock(sending_);
    outbox_.add(std::move(frame));
    outbox_.send(control_.get());  // if the launcher is gone, that shows when the answer is read
}

bool Member::flush() {
    const std::lock_guard lock(sending_);
    return outbox_.send(control_.get());
}

bool Member::unsent() {
    const std::lock_guard lock(sending_);
    return !outbox_.empty();
}

/// Sends everything now, because the caller probably exits next.
void Member::push_out() {
    const auto deadline = Clock::now() + kPatience;
    while (unsent() && flush() && Clock::now() < deadline) wait_on(control_.get(), POLLOUT, kNap);
}

Frame Member::answer(std::uint64_t sequence, const Meanwhile& meanwhile, Timeout timeout) {
    Waiting waiting(meanwhile, timeout);
    for (;;) {
        flush();
        const bool dead = is_readable(hub_process_.get());  // asked first, so that all that it said before its death is there
        const auto state = inbox_.receive(control_.get());
        while (auto frame = inbox_.next()) {
            FrameReader reader(frame->body);
            const auto answered = reader.u64();
            if (answered < sequence) continue;  // the answer to a call that gave up at its deadline
            if (frame->type != FrameType::failed) return std::move(*frame);
            const auto code = static_cast<ErrorCode>(reader.u32());
            const int rank = reader.i32();
            throw Error(code, fmt::format("rank {} on host {}: {}", place_.rank, place_.host, reader.text()), rank);
        }
        if (dead || state == Inbox::State::closed) {
            throw Error(loss_.code, fmt::format("rank {} on host {}: {}", place_.rank, place_.host, loss_.sentence), loss_.rank);
        }
        if (waiting.over()) {
            throw Error(ErrorCode::timeout,
                        fmt::format("rank {} on host {}: not all ranks have come within {}", place_.rank, place_.host,
                                    exact_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(timeout).count())));
        }
        waiting.on(control_.get(), static_cast<short>(POLLIN | (unsent() ? POLLOUT : 0)), hub_process_.get());
    }
}

Gathered Member::exchange(std::span<const std::byte> mine, const Meanwhile& meanwhile, Timeout timeout) {
    if (mine.size() > kLongestBlob) {
        throw Error(ErrorCode::invalid_argument, fmt::format("rank {}: a bootstrap exchange of {} bytes; a blob has at most {}",
                                                             place_.rank, mine.size(), kLongestBlob));
    }
    const auto sequence = ++sequence_;
    post(FrameWriter(FrameType::exchange).u64(sequence).blob(mine).finish());
    Frame frame = answer(sequence, meanwhile, timeout);
    if (frame.type == FrameType::gathered) return Gathered(std::move(frame.body), place_.size);
    if (frame.type != FrameType::gathered_memory) throw Error(ErrorCode::bootstrap, "the hub answered an exchange with something else");
    Descriptor memory = inbox_.take_descriptor();
    if (!memory) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("rank {} on host {}: the answer to an exchange came without its memory (is the limit of "
                                "open files reached?)",
                                place_.rank, place_.host));
    }
    FrameReader reader(frame.body);
    reader.u64();
    return Gathered(std::move(memory), reader.u64(), place_.size);
}

void Member::barrier(const Meanwhile& meanwhile, Timeout timeout) {
    const auto sequence = ++sequence_;
    post(FrameWriter(FrameType::barrier).u64(sequence).finish());
    if (answer(sequence, meanwhile, timeout).type != FrameType::released) {
        throw Error(ErrorCode::bootstrap, "the hub answered a barrier with something else");
    }
}

std::optional<Notice> Member::take_notice() {
    const std::lock_guard lock(noticing_);
    if (!last_notices_.empty()) {
        Notice notice = std::move(last_notices_.front());
        last_notices_.pop_front();
        return notice;
    }
    std::array<std::byte, kHeaderBytes + kLongestWelcome> record;
    const bool dead = is_readable(hub_process_.get());
    while (!hub_gone_) {
        const ssize_t count = ::recv(notices_.get(), record.data(), record.size(), MSG_DONTWAIT);
        if (count > 0) {
            Inbox inbox(kLongestWelcome);
            inbox.append(std::span(record).first(static_cast<std::size_t>(count)));
            const auto frame = inbox.next();
            if (!frame || frame->type != FrameType::notice) continue;
            Notice notice = decode_notice(frame->body);
            // The process of the hub has said why it goes.
            if (notice.rank >= 0 && notice.rank == loss_.notices.front().rank) {
                loss_.notices.erase(loss_.notices.begin());
                loss_.notices.front().how += fmt::format(": it {}", notice.how);
            }
            return notice;
        }
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && !dead && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
        // A stream that has ended, and a process that has ended, stay readable forever. They must not wake a thread that sleeps on the
        // descriptor again.
        hub_gone_ = true;
        for (const int descriptor : {notices_.get(), hub_process_.get()})
            ::epoll_ctl(notice_events_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
        last_notices_.assign(loss_.notices.begin() + 1, loss_.notices.end());
        return loss_.notices.front();
    }
    return std::nullopt;
}

void Member::leave() noexcept {
    try {
        post(FrameWriter(FrameType::leave).finish());
        push_out();
    } catch (...) {  // out of memory: the exit then counts as a death, which is nearly true
    }
}

void Member::farewell(std::string_view how) noexcept {
    try {
        post(FrameWriter(FrameType::farewell).text(how).finish());
        push_out();
    } catch (...) {  // out of memory: the others hear only that this process is gone
    }
}

// The descriptor stays open, because another thread may be about to use it.
void Member::vanish() noexcept { ::shutdown(control_.get(), SHUT_RDWR); }

void Member::abort(int code, std::string_view why) noexcept {
    try {
        post(FrameWriter(FrameType::abort).i32(code).text(why).finish());
        push_out();
    } catch (...) {  // out of memory: the caller's own exit code must do
    }
}

}  // namespace rollcall::bootstrap
