/// \file
/// The descriptor on which a host program's own event loop sleeps, where the program drives progress itself.
#pragma once

#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "runtime/lane/event_descriptor.hpp"

namespace rollcall::runtime {

/// An epoll descriptor that watches the transport's events, the notices of deaths, a timer, and a wake-up.
class EventLoop {
  public:
    /// Either descriptor may be -1. Throws Error{state} when the process has no descriptors left.
    void open(int transport, int notices);
    bool is_open() const noexcept { return static_cast<bool>(descriptor_); }
    int get() const noexcept { return descriptor_.get(); }

    /// The descriptor becomes readable at this time at the latest; kNever: not on account of time.
    void wake_at(Nanoseconds when) noexcept;
    /// Sets whether the transport's events make the descriptor readable. They must not while another thread takes them.
    void watch_transport(bool watched) noexcept;
    void signal() noexcept { wake_.signal(); }
    void clear_signal() noexcept { wake_.clear(); }

  private:
    Descriptor descriptor_;
    int transport_ = -1;
    Descriptor timer_;
    bool watched_ = true;
    Nanoseconds wakes_at_ = kNever;
    EventDescriptor wake_;
};

}  // namespace rollcall::runtime
