#include "runtime/lane/event_loop.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"

namespace rollcall::runtime {

void EventLoop::open(int transport, int notices) {
    Descriptor descriptor(epoll_create1(EPOLL_CLOEXEC));
    Descriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    bool added = descriptor && timer;
    for (const int watched : {transport, notices, timer.get(), wake_.get()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (watched >= 0) added = added && epoll_ctl(descriptor.get(), EPOLL_CTL_ADD, watched, &event) == 0;
    }
    if (!added)
        throw Error(ErrorCode::state,
                    fmt::format("cannot make a descriptor for host-driven progress: {}; raise the limit of open files (ulimit -n)",
                                error_text(errno)));
    // If that fails, a later call may try again.
    transport_ = transport;
    descriptor_ = std::move(descriptor);
    timer_ = std::move(timer);
}

void EventLoop::wake_at(Nanoseconds when) noexcept {
    // A timer that has expired stays readable until it is set again.
    if (when == wakes_at_ && (when == kNever || when > monotonic_now())) return;
    wakes_at_ = when;
    itimerspec time{};  // zero: never
    if (when != kNever) {
        const Nanoseconds at = std::max<Nanoseconds>(when, 1);
        time.it_value = {at / 1'000'000'000, at % 1'000'000'000};
    }
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &time, nullptr);
}

void EventLoop::watch_transport(bool watched) noexcept {
    if (watched == watched_ || transport_ < 0) return;
    watched_ = watched;
    epoll_event event{};
    if (watched) event.events = EPOLLIN;
    epoll_ctl(descriptor_.get(), EPOLL_CTL_MOD, transport_, &event);
}

}  // namespace rollcall::runtime
