// A linear model of the drift between two clocks, as in S. Hunold and A. Carpen-Amarie, "Hierarchical Clock Synchronization in MPI",
// CLUSTER 2018 (HCA3), section III. The weights and the treatment of uncertain drifts are our own.
//
// Idea: the offset grows by `drift` in each unit of time. So the slope of a line through the measured offsets is the drift. If the round
// trip of a sample took e longer than the shortest one, its offset may be wrong by e/2 more, so its weight is the inverse square of that
// error.
//
// Example: the offsets 100, 102 and 104 at the times 0, 10 and 20, all with the same round trip, give the drift 0.2 and the offset 102 at
// time 10.
#include "runtime/clock/fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rollcall::runtime {
namespace {

// The drift between two crystals of 50 ppm each is at most this.
constexpr double kUsualDrift = 100e-6;
// The smallest error that a sample is given, in addition to half its excess round trip. It is the largest of three: this fraction of the
// shortest round trip; kLeastIndistinct nanoseconds, the time of one look at the clock; half the excess of the best tenth of the samples.
// The last one ensures that more than one or two samples determine the line.
constexpr double kIndistinct = 0.02;
constexpr double kLeastIndistinct = 20;
constexpr std::size_t kBest = 10;
// The largest drift that fit() returns, whatever the samples say. Crystals drift less. A clock that is being adjusted may drift more;
// line_through() finds that.
constexpr double kMostDrift = 2 * kUsualDrift;
// The spread of fewer samples than this, of about the same weight, says nothing.
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
    // Times and offsets are relative to the best sample, so that they are small and a double represents them exactly.
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
    // The effective number of samples: a few good samples among many bad ones count as few.
    const double count = weights * weights / squares;
    if (count > kFewestForDrift - 0.5 && time_time > 0) {
        // The mean of two drifts, weighted by the inverse of their variances: the slope of the samples, with the variance `seen`, and a
        // drift of zero, with the variance of usual clocks.
        const double slope = time_offset / time_time;
        const double residual = std::max(0.0, offset_offset - slope * time_offset) / (count - 2);
        const double seen = residual / time_time;
        constexpr double usual = kUsualDrift * kUsualDrift;
        const double believed = slope * usual / (usual + seen);
        drift = std::clamp(believed, -kMostDrift, kMostDrift);
        drift_deviation = drift == believed ? std::sqrt(usual * seen / (usual + seen)) : std::numeric_limits<double>::infinity();
    }
    // At the best sample, the true offset differs from the measured one by at most half of the round trip. So the line must pass within
    // that distance.
    const double half = static_cast<double>(best.round_trip) / 2;
    const double there = std::clamp(mean_offset - drift * mean_time, -half, half);
    return {
        .model = {best.local, best.offset + std::llround(there), drift}, .drift_deviation = drift_deviation, .round_trip = best.round_trip};
}

}  // namespace rollcall::runtime
