/// \file
/// Pure functions that make a model of two clocks from measured offsets between them.
#pragma once

#include <span>
#include <vector>

#include "runtime/clock/model.hpp"

namespace rollcall::runtime {

/// One question to another clock, and its answer.
struct OffsetSample {
    Nanoseconds local = 0;       ///< The middle of the time between question and answer, on this clock.
    Nanoseconds offset = 0;      ///< The other clock's time in the answer, minus `local`. The error is at most round_trip / 2.
    Nanoseconds round_trip = 0;  ///< The time from the question to its answer.
};

/// Divides the time into stretches and keeps, for each stretch, the sample with the shortest round trip. Whatever delays a message, in
/// either direction, makes the round trip longer. (This is the offset measurement of SKaMPI.) Therefore the number of kept samples depends
/// on the time, not on the number of samples added.
class BestSamples {
  public:
    /// `stretch`: in nanoseconds, above 0.
    explicit BestSamples(Nanoseconds stretch) : stretch_(stretch) {}
    /// Samples must be added in order of time.
    void add(const OffsetSample& sample);
    std::span<const OffsetSample> samples() const noexcept { return best_; }

  private:
    Nanoseconds stretch_;
    Nanoseconds until_ = 0;  ///< The end of the stretch of the last sample.
    std::vector<OffsetSample> best_;
};

struct ClockFit {
    ClockModel model;            ///< Converts from the local clock to the other one.
    double drift_deviation = 0;  ///< Standard deviation of the drift. Infinite if the samples show more drift than crystals have.
    Nanoseconds round_trip = 0;  ///< The shortest round trip. At its reference, the model is wrong by at most this.
};

/// Fits a line to the offsets by least squares. A sample with a shorter round trip has a larger weight. `samples` must be in order of time
/// and contain at least one sample. If the samples are too few or too noisy to show a drift that differs from that of usual clocks, the
/// resulting drift is smaller, down to zero.
ClockFit fit(std::span<const OffsetSample> samples);

}  // namespace rollcall::runtime
