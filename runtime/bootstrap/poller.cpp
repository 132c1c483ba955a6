#include "runtime/bootstrap/poller.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <rollcall/error.hpp>

#include "runtime/bootstrap/clock.hpp"

namespace rollcall::bootstrap {

Poller::Poller() : set_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!set_) {
        throw Error(ErrorCode::bootstrap, fmt::format("the bootstrap cannot make an epoll set: {}", std::strerror(errno)));
    }
}

bool Poller::add(int descriptor, std::uint32_t events, Handler handler) {
    epoll_event interest{};
    interest.events = events;
    interest.data.fd = descriptor;
    if (::epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &interest) != 0) {
        if (errno == EPERM) return false;
        throw Error(ErrorCode::bootstrap, fmt::format("the bootstrap cannot watch descriptor {}: {}", descriptor, std::strerror(errno)));
    }
    handlers_[descriptor] = std::make_shared<Handler>(std::move(handler));
    return true;
}

void Poller::change(int descriptor, std::uint32_t events) {
    epoll_event interest{};
    interest.events = events;
    interest.data.fd = descriptor;
    ::epoll_ctl(set_.get(), EPOLL_CTL_MOD, descriptor, &interest);
}

void Poller::remove(int descriptor) {
    ::epoll_ctl(set_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    handlers_.erase(descriptor);
}

void Poller::wait(Nanoseconds until) {
    std::array<epoll_event, 64> events;
    int milliseconds = -1;
    if (until != kNever) {
        // Rounded up: waking before the moment would only turn the caller round once more.
        const auto rest = (std::max<Nanoseconds>(0, until - now()) + kMillisecond - 1) / kMillisecond;
        milliseconds = static_cast<int>(std::min<Nanoseconds>(rest, 3'600'000));
    }
    const int count = ::epoll_wait(set_.get(), events.data(), static_cast<int>(events.size()), milliseconds);
    for (int i = 0; i < count; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        const auto found = handlers_.find(event.data.fd);
        if (found == handlers_.end()) continue;  // removed by a handler before it
        const auto handler = found->second;      // stays alive while it removes itself
        (*handler)(event.events);
    }
}

}  // namespace rollcall::bootstrap
