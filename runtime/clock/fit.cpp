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

namespace rollcall::runtime {
namespace {

// Two crystals of 50 ppm each differ by no more than this.
constexpr double kUsualDrift = 100e-6;
// What cannot be told from no delay: this fraction of the shortest round trip, and no less than a look at the clock takes.
constexpr double kIndistinct = 0.02;
constexpr double kLeastIndistinct = 20;
// With fewer samples their spread says nothing.
constexpr std::size_t kFewestForDrift = 8;

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
    ClockFit result;
    result.drift_deviation = kUsualDrift;
    result.round_trip = std::min_element(samples.begin(), samples.end(), [](const auto& left, const auto& right) {
                            return left.round_trip < right.round_trip;
                        })->round_trip;
    const double indistinct = std::max(kLeastIndistinct, kIndistinct * static_cast<double>(result.round_trip));
    const OffsetSample& first = samples.front();  // differences from it are small: a double holds them
    const auto time = [&](const OffsetSample& sample) { return static_cast<double>(sample.local - first.local); };
    const auto offset = [&](const OffsetSample& sample) { return static_cast<double>(sample.offset - first.offset); };
    const auto weight = [&](const OffsetSample& sample) {
        const double error = static_cast<double>(sample.round_trip - result.round_trip) / 2 + indistinct;
        return 1 / (error * error);
    };

    double weights = 0, mean_time = 0, mean_offset = 0;
    for (const OffsetSample& sample : samples) {
        weights += weight(sample);
        mean_time += weight(sample) * time(sample);
        mean_offset += weight(sample) * offset(sample);
    }
    mean_time /= weights;
    mean_offset /= weights;
    result.model.reference = first.local + std::llround(mean_time);
    result.model.offset = first.offset + std::llround(mean_offset);
    if (samples.size() < kFewestForDrift) return result;

    double time_time = 0, time_offset = 0, offset_offset = 0;
    for (const OffsetSample& sample : samples) {
        const double t = time(sample) - mean_time, o = offset(sample) - mean_offset;
        time_time += weight(sample) * t * t;
        time_offset += weight(sample) * t * o;
        offset_offset += weight(sample) * o * o;
    }
    if (time_time <= 0) return result;
    // The slope is the mean of what the samples say, with the variance `seen`, and of no drift, with that of usual clocks.
    const double slope = time_offset / time_time;
    const double residual = std::max(0.0, offset_offset - slope * time_offset) / static_cast<double>(samples.size() - 2);
    const double seen = residual / time_time;
    constexpr double usual = kUsualDrift * kUsualDrift;
    result.model.drift = slope * usual / (usual + seen);
    result.drift_deviation = std::sqrt(usual * seen / (usual + seen));
    return result;
}

}  // namespace rollcall::runtime
