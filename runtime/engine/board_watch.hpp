/// \file
/// What an engine has to do with boards: it looks at its own for the arrivals and signals of other ranks, and writes signals on theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/arrivals/board.hpp"

namespace rollcall::runtime {

class Engine;
class Operation;

/// Owner-only. The engine owns it.
class BoardWatch {
  public:
    explicit BoardWatch(Engine& engine) noexcept : engine_(engine) {}

    /// From now on the operation sees arrivals. The first look is made at once.
    void watch(Operation& operation);
    /// From now on the operation hears the signals of the ranks that it listens to.
    void listen_for(Operation& operation);
    void forget(Operation& operation);  ///< Takes both back.

    bool is_watched() const noexcept { return !watching_.empty(); }
    bool is_listened() const noexcept { return !listening_.empty(); }
    unsigned look(bool at_all_slots);  ///< Looks for arrivals. Returns how many it has seen.
    unsigned listen();                 ///< Looks for signals. Returns the number of operations that have heard all theirs.
    /// Something was written at this offset of this rank's board.
    void on_changed(std::uint64_t offset);
    /// This rank's board. It is valid for operations that listen.
    const std::byte* board() const noexcept { return board_; }

    /// As Operation::signal().
    void put_signals(Operation& operation, int first, int count);
    /// The operation has ended, and used signals: the next one of its communicator may use them.
    void end_turn(Operation& operation);
    /// Nudges a peer that sleeps, after a put that does not wake it.
    void wake(int peer);

  private:
    void see(Operation& operation, int rank, const BoardSlot& slot);

    Engine& engine_;
    std::vector<Operation*> watching_, listening_;
    const std::byte* board_ = nullptr;
};

}  // namespace rollcall::runtime
