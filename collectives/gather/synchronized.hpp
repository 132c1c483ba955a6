/// \file
/// The synchronised exchange of linear gathers: a rank sends when the root calls it, in two pieces, so that few blocks come
/// in at once, each into its place, and the root calls the next rank while the second piece still moves.
#pragma once

#include <vector>

#include "collectives/blocks.hpp"

namespace rollcall::collectives {

/// The root's side.
class SynchronizedReceives {
  public:
    explicit SynchronizedReceives(Operation& op) : op_(op) {}
    /// Calls this rank. The first piece of its block is returned; the second comes by itself.
    Pending call(int rank);
    /// Those of second pieces. They belong to this rank's data until they have ended.
    std::vector<Pending>& second_pieces() { return second_pieces_; }

  private:
    Operation& op_;
    std::vector<Pending> second_pieces_;
};

/// The side of a rank whose caller has arrived: waits for the root's call, then sends both pieces.
Task synchronized_send(Operation& op);

/// The background root: calls, one at a time, whoever has arrived, and while nobody has, one rank that is expected next (if
/// `ahead`), once every rank has arrived or is predicted or its own caller has arrived. Ends when all is here and its own
/// block is in its place.
Task gather_by_arrival_root(Operation& op, bool ahead);

}  // namespace rollcall::collectives
