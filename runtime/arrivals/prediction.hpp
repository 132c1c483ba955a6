/// \file
/// Predicts when a compute phase ends, from what an iterative program reports about its progress.
#pragma once

#include <array>
#include <cstddef>

#include <rollcall/plan.hpp>

#include "runtime/arrivals/board.hpp"

namespace rollcall::runtime {

/// Watches the compute phases of one call site. All times are in nanoseconds, come from one clock, and never decrease. Not thread-safe.
class ArrivalPredictor {
  public:
    explicit ArrivalPredictor(Predictor kind) noexcept : kind_(kind) {}

    /// Reports that a phase begins.
    void begin(Nanoseconds now) noexcept;
    /// Reports that a fraction (above 0, at most 1) of the phase is done.
    void edge(double fraction, Nanoseconds now) noexcept;
    /// Reports that the phase has ended. The predictor learns how long it took.
    void end(Nanoseconds now) noexcept;

    bool in_phase() const noexcept { return begun_ != kUnknownTime; }
    /// When the phase is expected to end, or kUnknownTime. The value is kept after the end of the phase, until the next one begins.
    Nanoseconds predicted() const noexcept { return predicted_; }

  private:
    static constexpr std::size_t kAveraged = 8;

    Nanoseconds typical() const noexcept;

    Predictor kind_;
    Nanoseconds begun_ = kUnknownTime;
    Nanoseconds predicted_ = kUnknownTime;
    std::size_t phases_ = 0;                          ///< Number of phases that have ended.
    std::array<Nanoseconds, kAveraged> durations_{};  ///< Durations of the last phases, as a ring.
    double smoothed_ = 0;                             ///< Exponential average of the durations.
};

}  // namespace rollcall::runtime
