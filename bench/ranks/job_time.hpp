/// \file
/// Times of all ranks on one clock, even if they are on several hosts.
#pragma once

#include <rollcall/job.hpp>

namespace rollcall::bench {

/// Passes a barrier and returns a moment, in job time, that lies so far ahead that all ranks hear of it before. Collective.
Nanoseconds common_start(Job& job);

/// Corrects the times of a clock afterwards. It is known that the clock was right at one moment, and by how much it was wrong at a later
/// moment. In between, its error is assumed to have grown at a constant rate.
struct ClockCorrection {
    Nanoseconds right = 0;    ///< The time at which it was right.
    Nanoseconds checked = 0;  ///< The time it showed when it was compared. If this is not later than `right`, nothing is corrected.
    Nanoseconds missing = 0;  ///< How much too early its time was at that moment.

    Nanoseconds at(Nanoseconds time) const;
};

/// Job time during a measurement. The clocks are synchronised before the measurement and again after it. If the job is on one host, the
/// synchronisation does nothing and costs nothing.
class JobTime {
  public:
    /// Synchronises the clocks. The constructor and check() are collective over the job.
    explicit JobTime(Job& job);

    /// Synchronises again. From now on, corrected() applies to times since the previous call of check(), or since the construction.
    void check();
    Nanoseconds corrected(Nanoseconds time) const { return correction_.at(time); }
    /// Returns an upper bound of the error of any rank's job time at the last synchronisation. Returns the same at all ranks. Collective.
    Nanoseconds worst_error() const;

  private:
    Job& job_;
    Nanoseconds error_;
    Nanoseconds synchronized_;  ///< The time of the synchronisation, on this host's clock.
    ClockCorrection correction_;
};

}  // namespace rollcall::bench
