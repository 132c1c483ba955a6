#include "bench/results/figures.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

namespace rollcall::bench {
namespace {

/// The unit of the file of costs, in seconds. Nothing takes less.
constexpr double kUnitOfCosts = 1e-9;

double mean(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Returns the result of `combine` for each pair of the two lists, which are equally long.
template <class Combine>
std::vector<double> each_pair(std::span<const double> a, std::span<const double> b, Combine combine) {
    std::vector<double> results;
    std::transform(a.begin(), a.end(), b.begin(), std::back_inserter(results), combine);
    return results;
}

Metric count(const char* name, double value, bool in_table = true) { return constant(name, Unit::ratio, value, in_table); }

}  // namespace

std::vector<double> together(const Rounds& rounds) {
    std::vector<double> all;
    for (const auto& round : rounds) all.insert(all.end(), round.begin(), round.end());
    return all;
}

std::vector<double> ratios(const Rounds& numerator, const Rounds& denominator) {
    std::vector<double> all;
    for (std::size_t round = 0; round < std::min(numerator.size(), denominator.size()); ++round)
        all.push_back(estimate(numerator[round]).median / estimate(denominator[round]).median);
    return all;
}

const Rounds& fastest_of(std::span<const Rounds> competitors) {
    const auto median = [](const Rounds& rounds) { return estimate(together(rounds)).median; };
    return *std::ranges::min_element(competitors, {}, median);
}

std::vector<Metric> bandwidth_figures(double messages, std::uint64_t bytes, std::span<const double> times) {
    std::vector<double> rates, bandwidths;
    for (const double time : times) {
        rates.push_back(messages / time);
        bandwidths.push_back(messages * static_cast<double>(bytes) / time);
    }
    return {metric("bandwidth", Unit::bytes_per_second, bandwidths), metric("message_rate", Unit::per_second, rates)};
}

std::vector<Metric> overlap_figures(std::span<const double> computing, std::span<const double> waiting, std::span<const double> left) {
    return {metric("to_waiting_receiver", Unit::seconds, waiting),
            metric("ratio", Unit::ratio, each_pair(computing, waiting, std::divides<>())), metric("compute_left", Unit::seconds, left),
            metric("share_of_left", Unit::ratio, each_pair(computing, left, std::divides<>()))};
}

std::vector<Metric> idle_figures(const BackgroundCost& cost, Nanoseconds duration) {
    return {count("background_cpu_percent", 100 * static_cast<double>(cost.cpu_time) / static_cast<double>(duration)),
            count("looks", static_cast<double>(cost.looks)), count("takeovers", static_cast<double>(cost.takeovers)),
            count("parks", static_cast<double>(cost.parks))};
}

std::vector<Metric> loop_figures(std::span<const double> times, std::span<const double> limits) {
    const auto ratio = [](double time, double limit) { return limit > 0 ? time / limit : std::numeric_limits<double>::quiet_NaN(); };
    return {metric("limit", Unit::seconds, limits), metric("lost", Unit::seconds, each_pair(times, limits, std::minus<>())),
            metric("ratio", Unit::ratio, each_pair(times, limits, ratio))};
}

std::vector<Metric> schedule_figures(const ScheduleSamples& samples, const ScheduleSamples* segment_tree) {
    std::vector<Metric> metrics = {constant("mean_time", Unit::seconds, mean(samples.seconds))};
    if (segment_tree != nullptr) metrics.push_back(count("over_segment_tree", mean(samples.seconds) / mean(segment_tree->seconds)));
    metrics.push_back(count("transfers", mean(samples.transfers), false));
    metrics.push_back(count("busy_rounds", mean(samples.rounds), false));
    metrics.push_back(count("memory_bytes", static_cast<double>(samples.memory), false));
    return metrics;
}

double seconds_since_first_arrival(double end, std::span<const Nanoseconds> delays) {
    return seconds_each(end - static_cast<double>(*std::min_element(delays.begin(), delays.end())), 1);
}

Metric improvement(const Rounds& baseline, const Rounds& times) { return metric("improvement", Unit::ratio, ratios(baseline, times)); }
Metric rollcall_ratio(const Rounds& rollcall, const Rounds& peer) { return metric("rollcall_ratio", Unit::ratio, ratios(rollcall, peer)); }
Metric fastest_ratio(const Rounds& fastest, const Rounds& peer) { return metric("fastest_ratio", Unit::ratio, ratios(fastest, peer)); }

std::vector<double> added_by_mebibyte(std::span<const double> mebibyte, std::span<const double> shortest) {
    std::vector<double> added;
    const double latency = estimate(shortest).median;
    for (const double time : mebibyte) added.push_back(std::max(time - latency, kUnitOfCosts));
    return added;
}

Nanoseconds cost_of(std::span<const double> samples) {
    return static_cast<Nanoseconds>(std::max(std::round(estimate(samples).median / kUnitOfCosts), 1.0));
}

}  // namespace rollcall::bench
