/// \file
/// When a compute phase will end: what an iterative program says of its progress, made into a time of arrival.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <rollcall/plan.hpp>

#include "runtime/arrivals/board.hpp"

namespace rollcall::runtime {

/// Watches the compute phases of one call site. Times are of one clock, in nanoseconds, and do not go back. Not thread-safe.
class ArrivalPredictor {
  public:
    explicit ArrivalPredictor(Predictor kind) noexcept : kind_(kind) {}

    /// A phase begins.
    void begin(Nanoseconds now) noexcept;
    /// A fraction (above 0, at most 1) of it is done.
    void edge(double fraction, Nanoseconds now) noexcept;
    /// It has ended: learns how long it took.
    void end(Nanoseconds now) noexcept;

    bool in_phase() const noexcept { return begun_ != kUnknownTime; }
    /// When the phase is expected to end, or kUnknownTime. Kept after its end, until the next begins.
    Nanoseconds predicted() const noexcept { return predicted_; }

  private:
    static constexpr std::size_t kAveraged = 8;

    Nanoseconds typical() const noexcept;

    Predictor kind_;
    Nanoseconds begun_ = kUnknownTime;
    Nanoseconds predicted_ = kUnknownTime;
    std::size_t phases_ = 0;                          ///< Ended so far.
    std::array<Nanoseconds, kAveraged> durations_{};  ///< Of the last phases, a ring.
    double smoothed_ = 0;                             ///< Exponentially.
};

}  // namespace rollcall::runtime
