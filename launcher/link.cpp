#include "launcher/link.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/units.hpp"
#include "launcher/protocol.hpp"

namespace rollcall::launcher {
namespace {

constexpr Nanoseconds kHeartbeatsPerSilence = 6;
/// While a link is watched, its turns are at most a heartbeat apart. If two turns are further apart than so many heartbeats, this process
/// was stopped, or its host was asleep.
constexpr Nanoseconds kHeldUpHeartbeats = 2;

}  // namespace

Link::Link(Poller& poller, Descriptor in, Descriptor out, OnFrame on_frame, OnClosed on_closed)
    : poller_(poller),
      in_(std::move(in)),
      out_(std::move(out)),
      on_frame_(std::move(on_frame)),
      on_closed_(std::move(on_closed)),
      inbox_(kLongestAgentFrame),
      silence_(kNever),
      patience_(kNever),
      heard_(monotonic_now()),
      said_(heard_),
      turn_(heard_),
      alive_(std::make_shared<bool>(true)) {
    ::fcntl(in_.get(), F_SETFL, ::fcntl(in_.get(), F_GETFL) | O_NONBLOCK);
    if (out_) ::fcntl(out_.get(), F_SETFL, ::fcntl(out_.get(), F_GETFL) | O_NONBLOCK);
    poller_.add(in_.get(), EPOLLIN, [this](std::uint32_t events) {
        if (!out_ && (events & EPOLLOUT) != 0) flush();
        if ((events & ~EPOLLOUT) != 0) take();  // that the other side takes bytes is no sign that it lives: a remote shell may hold them
    });
    if (out_) poller_.add(out_.get(), 0, [this](std::uint32_t) { flush(); });
}

Link::~Link() {
    *alive_ = false;
    stop();
}

void Link::stop() {
    if (std::exchange(stopped_, true)) return;
    silence_ = kNever;
    poller_.remove(in_.get());
    if (out_) poller_.remove(out_.get());
}

void Link::begin_with(FrameType type, std::function<void(const std::string&)> on_text) {
    first_ = type;
    on_text_ = std::move(on_text);
}

void Link::watch(Nanoseconds silence, Nanoseconds patience) {
    silence_ = silence;
    patience_ = patience;
    heard_ = turn_ = monotonic_now();
}

void Link::send(std::shared_ptr<const Blob> frame) {
    if (stopped_) return;
    outbox_.add(std::move(frame));
    said_ = monotonic_now();
    flush();
}

void Link::flush() {
    outbox_.send(out());  // if the connection is broken, the next read or the silence shows it
    const bool arm = !outbox_.empty();
    if (arm == armed_) return;
    armed_ = arm;
    if (out_) {
        poller_.change(out_.get(), arm ? EPOLLOUT : 0u);
    } else {
        poller_.change(in_.get(), arm ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

void Link::take() {
    const auto alive = alive_;
    const bool open = inbox_.receive(in_.get()) == bootstrap::Inbox::State::open;
    heard_ = monotonic_now();
    if (on_text_) {
        std::string text;
        const bool begun = inbox_.skip_to(first_, text);
        if (!text.empty()) on_text_(text);
        if (begun) on_text_ = nullptr;
    }
    try {
        while (auto frame = on_text_ ? std::nullopt : inbox_.next()) {
            on_frame_(*frame);
            if (!*alive) return;
        }
    } catch (const Error& error) {
        if (*alive) close(Cause::invalid, error.what());
        return;
    }
    if (!open) close(Cause::closed, "its connection was closed");
}

void Link::close(Cause cause, const std::string& how) {
    const auto on_closed = on_closed_;  // a copy, because the call may destroy this object
    on_closed(cause, how);
}

Nanoseconds Link::lost_at() const { return heard_ < kNever - patience_ ? heard_ + patience_ : kNever; }

Nanoseconds Link::tick_at() const {
    if (silence_ == kNever) return kNever;
    return std::min(said_ + silence_ / kHeartbeatsPerSilence, lost_at());
}

void Link::beat() {
    if (silence_ == kNever || said_ + silence_ / kHeartbeatsPerSilence > monotonic_now()) return;
    send(FrameWriter(FrameType::heartbeat).finish());
}

void Link::tick() {
    if (silence_ == kNever) return;
    const Nanoseconds time = monotonic_now();
    // The other side may not have run either, and may go on later than this process. So the time until now does not count as silence.
    if (time - turn_ > kHeldUpHeartbeats * (silence_ / kHeartbeatsPerSilence)) heard_ = std::min(time, heard_ + (time - turn_));
    turn_ = time;
    beat();
    if (lost_at() <= monotonic_now()) {
        // Perhaps only this process did not run. So it first takes what has come in the meantime.
        pollfd waiting{in_.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 0) > 0) return take();
        silence_ = kNever;
        close(Cause::silent, fmt::format("nothing was heard of it for {}", exact_duration(patience_)));
    }
}

}  // namespace rollcall::launcher
