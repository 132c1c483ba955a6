// What is left to do in a lane before a program ends, and when its job has ended.
#include <sched.h>

#include "runtime/lane/lane.hpp"

namespace rollcall::runtime {
namespace {

// A connection that is being made takes a round trip, and the peer must attend to it.
constexpr Nanoseconds kWordsLeaveWithin = 50 * kMillisecond;

}  // namespace

void Lane::let_words_leave() {
    as_owner([&](Engine& engine) {
        Nanoseconds now = monotonic_now();
        for (const Nanoseconds until = now + kWordsLeaveWithin; engine.has_words_under_way() && now < until; now = monotonic_now()) {
            tick_if_due(now);
            if (poll() == 0) sched_yield();
        }
    });
}

void Lane::end() noexcept {
    take();
    {
        const Baton baton(*this);
        ended_.store(true, std::memory_order_release);
    }
    wake_loop();  // (Whoever gives the baton back has woken the followers.)
}

}  // namespace rollcall::runtime
