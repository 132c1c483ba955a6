/// \file
/// Questions to ranks that keep a call waiting, and the answers. They show that calls do not match where no message would, and they bring
/// notices and signals that were lost on a board.
#pragma once

#include <cstdint>
#include <span>

#include "foundation/clock.hpp"
#include "runtime/messages/message.hpp"

namespace rollcall::runtime {

class Engine;
class Operation;
struct CommunicatorState;

/// Owner-only. The engine owns it.
class Questions {
  public:
    explicit Questions(Engine& engine) noexcept : engine_(engine) {}

    /// Asks the peers of all operations that are stuck. Returns when the next operation wants to ask.
    Nanoseconds ask(Nanoseconds now);
    /// When ask() last looked at the operations.
    Nanoseconds asked_at() const noexcept { return asked_at_; }
    void answer(const CollectiveHeader& question);  ///< Another rank asks this one.
    void hear(const CollectiveHeader& answer);      ///< Another rank has answered that it has come to the call.

  private:
    void answer(const CollectiveHeader& question, CommunicatorState& communicator);
    void answer_for_gone(const CollectiveHeader& question);
    void tell_entered(const CollectiveHeader& question, bool arrived, std::span<const std::uint64_t> signalled);
    void ask_about(Operation& operation);
    void ask_for_readers(const Operation& operation);

    Engine& engine_;
    Nanoseconds asked_at_ = 0;
};

}  // namespace rollcall::runtime
