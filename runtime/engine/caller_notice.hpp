/// \file
/// What the caller of a planned operation tells the owner of the lane.
#pragma once

#include "runtime/engine/operation.hpp"

namespace rollcall::runtime {

/// A notice for Lane::start(), so that its thread need not wait for the lane: the caller arrives, or is expected, at a time on the clock of
/// now(). It is lost if the operation is done by then. It must live until it is done, and the operation must, too. It does not count as
/// something that is under way.
class CallerNotice final : public Waitable {
  public:
    using Tell = void (Operation::*)(Nanoseconds when);
    CallerNotice(Operation& operation, Tell tell, Nanoseconds when) noexcept : operation_(operation), tell_(tell), when_(when) {}

    void begin(Engine& engine) override;
    void abandon(Engine& engine, const Error& error) override;  ///< Fails the operation: it would wait for its caller forever.

  private:
    void end(Engine& engine) noexcept;

    Operation& operation_;
    Tell tell_;
    Nanoseconds when_;
};

}  // namespace rollcall::runtime
