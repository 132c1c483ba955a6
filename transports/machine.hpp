/// \file
/// What a rank runs on, apart from what moves data between ranks: the clock, and copies inside the rank. In a simulation both are virtual.
#pragma once

#include "transports/transport.hpp"

namespace rollcall::transport {

/// Owner-only, as the transport is. completion.complete() is called from Transport::progress(), and from copy() never.
class Machine {
  public:
    virtual Nanoseconds now() const = 0;
    /// Whether a copy takes time of a model. Otherwise it is done when copy() returns, and memcpy() is the same.
    virtual bool has_model_time() const = 0;
    /// Copies inside this process (both of the same size; phantoms are only timed).
    virtual Started copy(Bytes into, ConstBytes from, Completion& completion) = 0;
    /// Lets the time of a copy of this size go by: of what else works through memory, and is done.
    virtual Started spend_copy(std::uint64_t bytes, Completion& completion) = 0;

  protected:
    ~Machine() = default;
};

/// That of this process: CLOCK_MONOTONIC, and copies that are done at once.
class RealMachine final : public Machine {
  public:
    Nanoseconds now() const override;
    bool has_model_time() const override { return false; }
    Started copy(Bytes into, ConstBytes from, Completion& completion) override;
    Started spend_copy(std::uint64_t, Completion&) override { return Started::done; }
};

}  // namespace rollcall::transport
