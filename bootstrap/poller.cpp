#include "bootstrap/poller.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/error_text.hpp"

namespace rollcall::bootstrap {

namespace {

epoll_event interest_in(int descriptor, std::uint32_t events, std::uint32_t generation) {
    epoll_event interest{};
    interest.events = events;
    interest.data.u64 = std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(descriptor);
    return interest;
}

}  // namespace

Poller::Poller() : set_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!set_) {
        throw Error(ErrorCode::bootstrap, fmt::format("the bootstrap cannot make an epoll set: {}", error_text(errno)));
    }
}

bool Poller::add(int descriptor, std::uint32_t events, Handler handler) {
    const std::uint32_t generation = ++generation_;
    epoll_event interest = interest_in(descriptor, events, generation);
    if (::epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &interest) != 0) {
        if (errno == EPERM) return false;
        throw Error(ErrorCode::bootstrap, fmt::format("the bootstrap cannot watch descriptor {}: {}", descriptor, error_text(errno)));
    }
    entries_[descriptor] = {std::make_shared<Handler>(std::move(handler)), generation};
    return true;
}

void Poller::change(int descriptor, std::uint32_t events) {
    const auto found = entries_.find(descriptor);
    if (found == entries_.end()) return;
    epoll_event interest = interest_in(descriptor, events, found->second.generation);
    ::epoll_ctl(set_.get(), EPOLL_CTL_MOD, descriptor, &interest);
}

void Poller::remove(int descriptor) {
    ::epoll_ctl(set_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    entries_.erase(descriptor);
}

void Poller::wait(Nanoseconds until) {
    std::array<epoll_event, 64> events;
    int milliseconds = -1;
    if (until != kNever) {
        // The time is rounded up. A thread that woke too early would only wait again.
        const auto rest = (std::max<Nanoseconds>(0, until - monotonic_now()) + kMillisecond - 1) / kMillisecond;
        milliseconds = static_cast<int>(std::min<Nanoseconds>(rest, 3'600'000));
    }
    const int count = ::epoll_wait(set_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        const auto found = entries_.find(static_cast<int>(event.data.u64 & 0xffff'ffff));
        if (found == entries_.end() || found->second.generation != event.data.u64 >> 32) continue;  // an earlier handler has removed it
        // The copy keeps the handler alive if it removes itself.
        const auto handler = found->second.handler;
        (*handler)(event.events);
    }
}

}  // namespace rollcall::bootstrap
