/// \file
/// A line that shows how far a long run has come.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// Shows done/total, the percentage and the estimated remaining time on a terminal, once the run has lasted longer than kPatience. Writes
/// nothing to a file or a pipe. Must be used by one thread only.
class ProgressLine {
  public:
    /// A run shorter than this (nanoseconds) shows nothing.
    static constexpr Nanoseconds kPatience = 2'000'000'000;
    /// The time between two updates (nanoseconds), so that the terminal is not kept busy.
    static constexpr Nanoseconds kInterval = 100'000'000;

    /// Where the line goes, and the clock. Tests replace both.
    struct Surroundings {
        bool is_terminal = false;
        std::size_t columns = 80;
        std::function<void(std::string_view)> write;
        std::function<Nanoseconds()> now;
    };
    /// Standard error, and CLOCK_MONOTONIC.
    static Surroundings standard_error();

    explicit ProgressLine(std::size_t total, Surroundings surroundings = standard_error());
    /// Erases the line.
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// `done` of the total are finished, and `part` (0 to 1) of the next one. `what` names the next one ("binomial 64Ki").
    void update(std::size_t done, std::string_view what = {}, double part = 0);
    /// Erases the line before something else is printed on the terminal. The next update may show it again.
    void erase();

  private:
    const std::size_t total_;
    const Surroundings surroundings_;
    const Nanoseconds begin_;
    Nanoseconds last_shown_;
    bool is_shown_ = false;
};

}  // namespace rollcall::bench
