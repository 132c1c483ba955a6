/// \file
/// The numbers that benchmarks compute from their samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rollcall/time.hpp>

#include "bench/results/cell.hpp"

namespace rollcall::bench {

/// Returns how many seconds one of `count` took, if all together took this time.
inline double seconds_each(double nanoseconds, std::uint64_t count) { return nanoseconds * 1e-9 / static_cast<double>(count); }

/// Calls `what` so many times. Returns how many seconds a call took on average, by this clock, which returns nanoseconds.
template <class Clock, class What>
double seconds_of_each(const Clock& now, std::uint64_t count, What&& what) {
    const Nanoseconds begin = now();
    for (std::uint64_t i = 0; i < count; ++i) what();
    return seconds_each(static_cast<double>(now() - begin), count);
}

/// Makes so many round trips. Returns how many seconds one direction took on average.
template <class Clock, class What>
double seconds_of_direction(const Clock& now, std::uint64_t count, What&& round_trip) {
    return seconds_of_each(now, count, round_trip) / 2;
}

/// The samples of one competitor: one list for each round.
using Rounds = std::vector<std::vector<double>>;
/// Returns all samples of all rounds.
std::vector<double> together(const Rounds& rounds);
/// Returns, for each round, the median of the numerator divided by the median of the denominator.
std::vector<double> ratios(const Rounds& numerator, const Rounds& denominator);
/// Returns the competitor with the smallest median of all samples. Requires at least one.
const Rounds& fastest_of(std::span<const Rounds> competitors);

/// The rates of a bandwidth benchmark: so many messages of so many bytes take each of these times, in seconds.
std::vector<Metric> bandwidth_figures(double messages, std::uint64_t bytes, std::span<const double> times);

/// What sends to a receiver that computes are compared with: as many sends to a receiver that waits, and how long the receiver still
/// computed when the sends began. All in seconds.
std::vector<Metric> overlap_figures(std::span<const double> computing, std::span<const double> waiting, std::span<const double> left);

/// The work of background threads.
struct BackgroundCost {
    Nanoseconds cpu_time = 0;
    std::uint64_t looks = 0, takeovers = 0, parks = 0;
};
std::vector<Metric> idle_figures(const BackgroundCost& cost, Nanoseconds duration);

/// What the iterations of a loop lose: their times are compared with the limits, in seconds. If the limit is 0, there is no ratio.
std::vector<Metric> loop_figures(std::span<const double> times, std::span<const double> limits);

/// The samples of one way to compute schedules.
struct ScheduleSamples {
    std::vector<double> seconds, transfers, rounds;
    std::size_t memory = 0;
};
/// `segment_tree`: the samples with which they are compared, or null.
std::vector<Metric> schedule_figures(const ScheduleSamples& samples, const ScheduleSamples* segment_tree);

/// Returns the seconds from the first arrival until an end. The end and the delays of all ranks are in nanoseconds from a common start.
double seconds_since_first_arrival(double end, std::span<const Nanoseconds> delays);
/// How many times as fast as the baseline this one is.
Metric improvement(const Rounds& baseline, const Rounds& times);
/// In the row of a peer: the time of Rollcall relative to the peer's.
Metric rollcall_ratio(const Rounds& rollcall, const Rounds& peer);
/// The same for the fastest of several algorithms of Rollcall.
Metric fastest_ratio(const Rounds& fastest, const Rounds& peer);

/// Returns what 1 MiB adds to a message: the times of such messages, without the median of short ones, but at least the
/// unit of the file of costs. All in seconds.
std::vector<double> added_by_mebibyte(std::span<const double> mebibyte, std::span<const double> shortest);
/// Returns the median in the unit of the file of costs, but at least 1.
Nanoseconds cost_of(std::span<const double> samples);

}  // namespace rollcall::bench
