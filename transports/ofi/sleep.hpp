/// \file
/// What the owner of the lane sleeps on.
#pragma once

#include "foundation/descriptor.hpp"

namespace rollcall::transport::ofi {

/// A descriptor that becomes readable when one of the watched descriptors is readable, or when it is time to look again.
class Sleep {
  public:
    /// Throws Error{transport}.
    Sleep();

    void watch(int descriptor);
    void forget(int descriptor) noexcept;
    int descriptor() const { return all_.get(); }
    /// Sets whether the descriptor becomes readable after kPollInterval at the latest. Each call restarts the timer.
    void set_poll(bool polls) noexcept;

    /// In nanoseconds: one millisecond, about as long as the kernel may take to wake a thread. Used for events that no descriptor reports.
    static constexpr long kPollInterval = 1'000'000;

  private:
    Descriptor all_, timer_;
    bool set_ = false;
};

}  // namespace rollcall::transport::ofi
