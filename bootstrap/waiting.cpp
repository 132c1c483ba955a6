#include "bootstrap/waiting.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace rollcall::bootstrap {
namespace {

using std::chrono::microseconds;

/// A caller that has something to do in the meantime polls for this long before it naps. An exchange between ranks that arrive together
/// takes tens of microseconds.
constexpr auto kSpin = microseconds(50);
/// The naps between two calls of `meanwhile`. They are short at first, and never so long that the timers of a transport come too late.
constexpr auto kShortestNap = microseconds(50);
constexpr auto kLongestNap = microseconds(500);

}  // namespace

void wait_on(int descriptor, short events, Waiting::Clock::duration longest, int other) {
    std::array<pollfd, 2> entries = {pollfd{descriptor, events, 0}, pollfd{other, POLLIN, 0}};
    const auto nanoseconds = std::max<std::int64_t>(0, std::chrono::nanoseconds(longest).count());
    const timespec limit{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
    // It may return early without harm.
    ::ppoll(entries.data(), entries.size(), longest == Waiting::Clock::duration::max() ? nullptr : &limit, nullptr);
}

bool is_readable(int descriptor) {
    pollfd entry{descriptor, POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
}

Waiting::Waiting(const Meanwhile& meanwhile, Timeout timeout) : meanwhile_(meanwhile), start_(Clock::now()), nap_(kShortestNap) {
    deadline_ = timeout >= Clock::time_point::max() - start_ ? Clock::time_point::max() : start_ + timeout;
}

void Waiting::on(int descriptor, short events, int other) {
    const auto now = Clock::now();
    const auto rest = deadline_ == Clock::time_point::max() ? Clock::duration::max() : deadline_ - now;
    if (!meanwhile_) return wait_on(descriptor, events, rest, other);
    meanwhile_();
    if (now - start_ < kSpin) {
        ::sched_yield();  // the rank we wait for may need this core
    } else {
        wait_on(descriptor, events, std::min(nap_, rest), other);
        nap_ = std::min<Clock::duration>(2 * nap_, kLongestNap);
    }
}

}  // namespace rollcall::bootstrap
