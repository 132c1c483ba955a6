// A linear model of the drift between two clocks, as in S. Hunold and A. Carpen-Amarie, "Hierarchical Clock Synchronization in
// MPI", CLUSTER 2018 (HCA3), section III; the weights and the doubt about the drift are our own.
//
// Idea: the offset grows by `drift` in each unit of time, so a line through measured offsets has the drift as its slope. An
// offset whose round trip took e longer than the shortest one may be off by e/2, so it counts by 1/e^2.
//
// Example: offsets 100, 102, 104 at the times 0, 10, 20, all with the same round trip: drift 0.2, offset 102 at time 10.
#include "runtime/clock/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::runtime {
namespace {

// Two crystals of 50 ppm each differ by no more than this.
constexpr double kUsualDrift = 100e-6;
// Delays that cannot be told from none: this fraction of the shortest round trip, and no less than a look at the clock takes;
// and those of the best tenth of the samples, so that it is more than one or two that the line is made of.
constexpr double kIndistinct = 0.02;
constexpr double kLeastIndistinct = 20;
constexpr std::size_t kBest = 10;
// More than crystals have, whatever the samples say. (Clocks that are being adjusted may: line_through() finds that.)
constexpr double kMostDrift = 2 * kUsualDrift;
// With fewer samples of about the same weight their spread says nothing.
constexpr double kFewestForDrift = 5;

double indistinct_error(std::span<const OffsetSample> samples, Nanoseconds shortest) {
    std::vector<Nanoseconds> round_trips;
    for (const OffsetSample& sample : samples) round_trips.push_back(sample.round_trip);
    const auto tenth = round_trips.begin() + static_cast<std::ptrdiff_t>(round_trips.size() / kBest);
    std::nth_element(round_trips.begin(), tenth, round_trips.end());
    return std::max({kLeastIndistinct, kIndistinct * static_cast<double>(shortest), static_cast<double>(*tenth - shortest) / 2});
}

}  // namespace

void BestSamples::add(const OffsetSample& sample) {
    if (best_.empty() || sample.local >= until_) {
        until_ = sample.local + stretch_;
        best_.push_back(sample);
    } else if (sample.round_trip < best_.back().round_trip) {
        best_.back() = sample;
    }
}

ClockFit fit(std::span<const OffsetSample> samples) {
    const OffsetSample& best = *std::min_element(samples.begin(), samples.end(),
                                                 [](const auto& left, const auto& right) { return left.round_trip < right.round_trip; });
    const double indistinct = indistinct_error(samples, best.round_trip);
    // Times and offsets as differences from the best ones are small: a double holds them.
    const auto time = [&](const OffsetSample& sample) { return static_cast<double>(sample.local - best.local); };
    const auto offset = [&](const OffsetSample& sample) { return static_cast<double>(sample.offset - best.offset); };
    const auto weight = [&](const OffsetSample& sample) {
        const double error = static_cast<double>(sample.round_trip - best.round_trip) / 2 + indistinct;
        return 1 / (error * error);
    };

    double weights = 0, squares = 0, mean_time = 0, mean_offset = 0;
    for (const OffsetSample& sample : samples) {
        weights += weight(sample);
        squares += weight(sample) * weight(sample);
        mean_time += weight(sample) * time(sample);
        mean_offset += weight(sample) * offset(sample);
    }
    mean_time /= weights;
    mean_offset /= weights;
    double time_time = 0, time_offset = 0, offset_offset = 0;
    for (const OffsetSample& sample : samples) {
        const double t = time(sample) - mean_time, o = offset(sample) - mean_offset;
        time_time += weight(sample) * t * t;
        time_offset += weight(sample) * t * o;
        offset_offset += weight(sample) * o * o;
    }

    double drift = 0, drift_deviation = kUsualDrift;
    // A few good samples among many bad ones are few samples.
    const double count = weights * weights / squares;
    if (count > kFewestForDrift - 0.5 && time_time > 0) {
        // The mean of what the samples say, with the variance `seen`, and of no drift, with that of usual clocks.
        const double slope = time_offset / time_time;
        const double residual = std::max(0.0, offset_offset - slope * time_offset) / (count - 2);
        const double seen = residual / time_time;
        constexpr double usual = kUsualDrift * kUsualDrift;
        const double believed = slope * usual / (usual + seen);
        drift = std::clamp(believed, -kMostDrift, kMostDrift);
        drift_deviation = drift == believed ? std::sqrt(usual * seen / (usual + seen)) : std::numeric_limits<double>::infinity();
    }
    // At the best sample the truth is within half of its round trip from what was measured: so must be the line.
    const double half = static_cast<double>(best.round_trip) / 2;
    const double there = std::clamp(mean_offset - drift * mean_time, -half, half);
    return {
        .model = {best.local, best.offset + std::llround(there), drift}, .drift_deviation = drift_deviation, .round_trip = best.round_trip};
}

}  // namespace rollcall::runtime
