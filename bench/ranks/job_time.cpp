#include "bench/ranks/job_time.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "bench/ranks/clock.hpp"

namespace rollcall::bench {
namespace {

constexpr Nanoseconds kStartMargin = 1'000'000;
constexpr Nanoseconds kStartMarginPerRank = 50'000;

}  // namespace

Nanoseconds common_start(Job& job) {
    job.world().barrier();
    Nanoseconds start = job.time() + kStartMargin + kStartMarginPerRank * job.size();
    job.world().broadcast(start, 0, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
    return start;
}

Nanoseconds ClockCorrection::at(Nanoseconds time) const {
    if (missing == 0 || checked <= right) return time;
    const double part = static_cast<double>(time - right) / static_cast<double>(checked - right);
    return time + std::llround(part * static_cast<double>(missing));
}

JobTime::JobTime(Job& job) : job_(job), error_(job.synchronize_clocks()), synchronized_(monotonic_now()) {}

void JobTime::check() {
    const Nanoseconds right = job_.time_at(synchronized_), moment = monotonic_now(), before = job_.time_at(moment);
    error_ = job_.synchronize_clocks();
    correction_ = {right, before, job_.time_at(moment) - before};
    synchronized_ = monotonic_now();
}

Nanoseconds JobTime::worst_error() const {
    std::vector<Nanoseconds> all(static_cast<std::size_t>(job_.size()));
    job_.world().gather(std::span(&error_, 1), all, 0);
    Nanoseconds worst = *std::max_element(all.begin(), all.end());
    job_.world().broadcast(worst, 0);
    return worst;
}

}  // namespace rollcall::bench
