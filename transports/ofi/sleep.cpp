#include "transports/ofi/sleep.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"

namespace rollcall::transport::ofi {

Sleep::Sleep() : all_(::epoll_create1(EPOLL_CLOEXEC)), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    watch(timer_.get());
}

void Sleep::watch(int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(all_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return;
    throw Error(ErrorCode::transport,
                fmt::format("a descriptor to sleep on cannot be made: {}; raise the limit of open files (ulimit -n)", error_text(errno)));
}

void Sleep::forget(int descriptor) noexcept { ::epoll_ctl(all_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

void Sleep::set_poll(bool polls) noexcept {
    if (!polls && !set_) return;
    itimerspec time{};  // zero: the timer is off
    if (polls) time.it_value.tv_nsec = kPollInterval;
    ::timerfd_settime(timer_.get(), 0, &time, nullptr);
    set_ = polls;
}

}  // namespace rollcall::transport::ofi
