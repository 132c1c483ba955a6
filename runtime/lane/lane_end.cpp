// What is left to do in a lane before a program ends, and when its job has ended.
#include <cstdlib>

#include <sched.h>

#include "foundation/log.hpp"
#include "runtime/lane/lane.hpp"

namespace rollcall::runtime {

namespace {

// A connection that is being made takes a round trip, and the peer must attend to it.
constexpr Nanoseconds kFlushNoticesWithin = 50 * kMillisecond;

}  // namespace

void Lane::end_without_memory() noexcept {
    log_message(LogLevel::critical,
                "this process has no memory to give up a call; raise its limit (ulimit -v), or start fewer ranks on this host");
    std::abort();
}

void Lane::flush_failure_notices() {
    const Nanoseconds until = monotonic_now() + kFlushNoticesWithin;
    for (bool over = false; !over; sched_yield())
        as_owner([&](Engine& engine) {
            for (;;) {
                const Nanoseconds now = monotonic_now();
                over = !engine.has_failure_notices_under_way() || now >= until;
                if (over || wanted_.load(std::memory_order_relaxed)) return;
                tick_if_due(now);
                const unsigned happened = poll() + drain();
                tell_of_ends();  // other threads may wait for what ends here
                if (happened == 0) sched_yield();
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
