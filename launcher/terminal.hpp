/// \file
/// Rank 0's standard input when the launcher's is a terminal.
#pragma once

#include <string>

#include <rollcall/time.hpp>

#include "launcher/poller.hpp"
#include "runtime/bootstrap/descriptor.hpp"

namespace rollcall::launcher {

/// Copies what is typed into a pipe. A rank is not in the terminal's foreground group, so it may not read there itself;
/// from anything but a terminal it reads directly.
class Terminal {
  public:
    /// Reads `terminal`, writes to `pipe` (made non-blocking).
    Terminal(Poller& poller, int terminal, bootstrap::Descriptor pipe);
    /// When retry() is due.
    Nanoseconds retry_at() const { return retry_at_; }
    void retry();

  private:
    void readable();
    void writable(bool broken);
    void stop();

    Poller& poller_;
    int terminal_;
    bootstrap::Descriptor pipe_;
    std::string typed_;
    Nanoseconds retry_at_;
};

}  // namespace rollcall::launcher
