#include "bench/ranks/clock.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

namespace rollcall::bench {
namespace {

constexpr Nanoseconds kNanosecondsOfASecond = 1'000'000'000;
/// On an idle core, a sleeping thread is woken within this time (nanoseconds).
constexpr Nanoseconds kPolled = 60'000;

}  // namespace

void make_sleep_exact() { ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

void wait_until(Nanoseconds moment, Compute how) {
    if (how == Compute::spin) {
        while (monotonic_now() < moment) {
        }
        return;
    }
    const Nanoseconds wake = moment - kPolled;
    const timespec time{wake / kNanosecondsOfASecond, wake % kNanosecondsOfASecond};
    if (monotonic_now() < wake)
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
        }
    while (monotonic_now() < moment) ::sched_yield();
}

}  // namespace rollcall::bench
