/// \file
/// A line that tells how far a long run is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// Shows done/total, percentage and the estimated rest on a terminal, once the run has lasted longer than kPatience.
/// Into a file or a pipe nothing is written. One thread.
class ProgressLine {
  public:
    /// A run shorter than this shows nothing.
    static constexpr Nanoseconds kPatience = 2'000'000'000;
    /// Between two pictures: a terminal need not be kept busy.
    static constexpr Nanoseconds kInterval = 100'000'000;

    /// Where the line goes and what time it is; replaced in tests.
    struct Surroundings {
        bool is_terminal = false;
        std::size_t columns = 80;
        std::function<void(std::string_view)> write;
        std::function<Nanoseconds()> now;
    };
    /// Standard error and CLOCK_MONOTONIC.
    static Surroundings standard_error();

    explicit ProgressLine(std::size_t total, Surroundings surroundings = standard_error());
    /// Erases the line.
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// `done` of the total are finished; `what` names what comes next ("binomial 64Ki").
    void update(std::size_t done, std::string_view what = {});
    /// Takes the line away, before something else is printed on the terminal; the next update may bring it back.
    void erase();

  private:
    const std::size_t total_;
    const Surroundings surroundings_;
    const Nanoseconds begin_;
    Nanoseconds last_shown_;
    bool is_shown_ = false;
};

}  // namespace rollcall::bench
