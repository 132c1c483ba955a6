/// \file
/// A progress line for long work in this process, which a signal can end without loss.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <string_view>

#include "bench/results/progress_line.hpp"

namespace rollcall::bench {

/// While it lives, SIGINT, SIGTERM and SIGHUP end the work at the next update. Those that this process ignores remain ignored. A
/// signal that comes later than 0.2 s after it ends the process at once, because an update may be far away. There may be one such object at
/// a time.
class InterruptibleProgress {
  public:
    explicit InterruptibleProgress(std::size_t total);
    ~InterruptibleProgress();
    InterruptibleProgress(const InterruptibleProgress&) = delete;
    InterruptibleProgress& operator=(const InterruptibleProgress&) = delete;

    /// As ProgressLine::update(). Throws usage::EarlyEnd, with the exit code of a signal, if one has come.
    void update(std::size_t done, std::string_view what = {}, double part = 0);
    void erase() { line_.erase(); }

  private:
    static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};

    ProgressLine line_;
    std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace rollcall::bench
