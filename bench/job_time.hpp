/// \file
/// Times of all ranks on one clock, however many hosts they are on.
#pragma once

#include <rollcall/job.hpp>

namespace rollcall::bench {

/// What is known afterwards about times that a clock gave: that it was right at one moment, and how far it was off at a later
/// one. In between it is taken to have gone wrong at a constant rate.
struct ClockCorrection {
    Nanoseconds right = 0;    ///< When it was right.
    Nanoseconds checked = 0;  ///< When it was compared, as it counted then; later than `right`, or nothing is corrected.
    Nanoseconds missing = 0;  ///< By how much it was too early then.

    Nanoseconds at(Nanoseconds time) const;
};

/// Job time during a measurement. Clocks are synchronised before it and again after it; where the job is on one host, that does nothing
/// and costs nothing.
class JobTime {
  public:
    /// Synchronises. Collective over the job, and so is check().
    explicit JobTime(Job& job);

    /// Synchronises again. corrected() is of times since the last call of it, or the construction, from now on.
    void check();
    Nanoseconds corrected(Nanoseconds time) const { return correction_.at(time); }
    /// How far the job time of any rank may have been off at the last synchronisation, at most; at all ranks. Collective.
    Nanoseconds worst_error() const;

  private:
    Job& job_;
    Nanoseconds error_;
    Nanoseconds synchronized_;  ///< When, on this host's clock.
    ClockCorrection correction_;
};

}  // namespace rollcall::bench
