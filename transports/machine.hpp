/// \file
/// What a rank runs on, apart from the movement of data between ranks: the clock, and copies within the rank. In a simulation both are
/// virtual.
#pragma once

#include "transports/transport.hpp"

namespace rollcall::transport {

/// Owner-only, like the transport. completion.complete() is called from Transport::progress(), never from copy().
class Machine {
  public:
    virtual Nanoseconds now() const = 0;
    /// Whether a copy takes the time of a model. If not, a copy is done when copy() returns, and memcpy() has the same effect.
    virtual bool has_model_time() const = 0;
    /// Copies within this process. Both buffers have the same size. Phantoms are only timed.
    virtual Started copy(Bytes into, ConstBytes from, Completion& completion) = 0;
    /// Spends the time of a copy of this size, on account of other work on memory that is done already.
    virtual Started spend_copy(std::uint64_t bytes, Completion& completion) = 0;
    /// Ends when everything has happened that happens at this moment of a virtual clock. On a real clock it is done at once.
    virtual Started pass_moment(Completion& completion) = 0;

  protected:
    ~Machine() = default;
};

/// The machine of this process: the clock is CLOCK_MONOTONIC, and copies are done at once.
class RealMachine final : public Machine {
  public:
    Nanoseconds now() const override;
    bool has_model_time() const override { return false; }
    Started copy(Bytes into, ConstBytes from, Completion& completion) override;
    Started spend_copy(std::uint64_t, Completion&) override { return Started::done; }
    Started pass_moment(Completion&) override { return Started::done; }
};

}  // namespace rollcall::transport
