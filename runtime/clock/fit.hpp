/// \file
/// From measured offsets of two clocks to a model of them: pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/clock/model.hpp"

namespace rollcall::runtime {

/// One question to another clock, and its answer.
struct OffsetSample {
    Nanoseconds local = 0;       ///< Half way between question and answer, on this clock.
    Nanoseconds offset = 0;      ///< The other clock's time in the answer, minus `local`. Off by at most round_trip / 2.
    Nanoseconds round_trip = 0;  ///< From the question to its answer.
};

/// Keeps the sample with the shortest round trip of each stretch of time: all that delays a message, on whichever way, makes
/// its round trip longer (this is the offset measurement of SKaMPI). So its size is bounded by the time, not by the samples.
class BestSamples {
  public:
    /// `stretch`: above 0.
    explicit BestSamples(Nanoseconds stretch) : stretch_(stretch) {}
    /// In order of time.
    void add(const OffsetSample& sample);
    std::span<const OffsetSample> samples() const noexcept { return best_; }

  private:
    Nanoseconds stretch_;
    Nanoseconds until_ = 0;  ///< The end of the last sample's stretch.
    std::vector<OffsetSample> best_;
};

struct ClockFit {
    ClockModel model;            ///< From the local clock to the other.
    double drift_deviation = 0;  ///< Standard deviation of the drift; infinite where more was seen than crystals have.
    Nanoseconds round_trip = 0;  ///< The shortest. The model is off by no more than that at its reference, whatever the others say.
};

/// A line through the offsets by least squares, in which a sample counts the more the shorter its round trip was; samples in
/// order of time, at least one. A drift is believed as far as the samples show it: where they are too few or too noisy to tell
/// it from what clocks usually have, it comes out smaller, down to none.
ClockFit fit(std::span<const OffsetSample> samples);

}  // namespace rollcall::runtime
