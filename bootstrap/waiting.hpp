/// \file
/// How a bootstrap call waits for its answer: on a descriptor, until a deadline, with its caller's other work in
/// between.
#pragma once

#include <chrono>

#include "bootstrap/bootstrap.hpp"

namespace rollcall::bootstrap {

/// One wait. Not thread-safe.
class Waiting {
  public:
    using Clock = std::chrono::steady_clock;

    Waiting(const Meanwhile& meanwhile, Timeout timeout);

    /// Whether the deadline has passed.
    bool over() const { return Clock::now() >= deadline_; }
    /// Calls `meanwhile`. Then waits until the descriptor has one of these events (poll) or `other` (-1: none) is
    /// readable, but only for a moment.
    void on(int descriptor, short events, int other = -1);

  private:
    const Meanwhile& meanwhile_;
    Clock::time_point start_, deadline_;
    Clock::duration nap_;
};

/// Waits until the descriptor has one of these events or `other` (-1: none) is readable, at most for `longest`. May
/// return early.
void wait_on(int descriptor, short events, Waiting::Clock::duration longest, int other = -1);
/// Whether something can be read there now, or the other side is gone. Always false for -1.
bool is_readable(int descriptor);

}  // namespace rollcall::bootstrap
