/// \file
/// The synchronised exchange of linear gathers. A rank sends its block when the root calls it, in two pieces. So only few blocks come in at
/// the same time, each goes into its place, and the root calls the next rank while the second piece still moves.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

/// The root's side.
class SynchronizedReceives {
  public:
    explicit SynchronizedReceives(Operation& op) : op_(op) {}
    /// Calls this rank. Returns the receive of the first piece of its block. second_pieces() has the receive of the second one.
    Pending call(int rank);
    /// The receives of the second pieces. They write into this rank's data until they have ended.
    std::vector<Pending>& second_pieces() { return second_pieces_; }

  private:
    Operation& op_;
    std::vector<Pending> second_pieces_;
};

/// The side of a rank whose caller has arrived: waits for the call of rank `root`, and then sends both pieces.
Task synchronized_send(Operation& op, int root);

/// The root that works in the background. It calls the ranks that have arrived, one at a time. If `ahead`, it also calls one rank that is
/// expected next while no rank waits, once every rank has arrived or is predicted, or the root's own caller has arrived. The task ends when
/// all blocks are here and the root's own block is in its place. This rank is the root.
Task gather_by_arrival_root(Operation& op, bool ahead);

/// The steps of these messages are below this one.
inline constexpr std::uint64_t kAfterSynchronized = 3;

}  // namespace rollcall::collectives
