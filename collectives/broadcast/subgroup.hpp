/// \file
/// The sub-group broadcast of the arrival-aware algorithms: the root alone knows who takes part, and tells them.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/relay.hpp"

namespace rollcall::collectives {

/// What the root tells a member before the message comes, as numbers: the segment size, the rank the message comes from, and
/// the ranks it is to be sent on to. As long as it needs to be.
using SubgroupHeader = std::vector<std::int64_t>;

/// Root's side of one sub-group broadcast (Patarasuk and Yuan, section 4): tells each member its neighbours, then sends
/// the message to members[0], from where it runs down pipelined_tree(): a chain, but for groups so large that a chain
/// would be longer than the message has pieces. Ends when the root's part has left.
///
/// The header goes from the root to each member and lists, of the group, those it has to do with. The whole list for
/// everybody would cost k^2 numbers for k members (40 GB for 100,000), and passed along the chain it would come from a
/// rank that its receiver cannot name.
Task subgroup_root(Operation& op, std::vector<int> members);

/// A receiver's side: learns its neighbours, takes the message from the one and passes it on to the others.
Task subgroup_member(Operation& op);

/// Whether the root has already turned to this rank.
bool subgroup_called(Operation& op);

/// Root's side of a message to one rank that has not arrived: it goes its own way while the root does other things.
/// Must live until done().
class MessageAhead {
  public:
    void start(Operation& op, int rank);
    bool done() const { return header_sent_.done() && data_sent_.done(); }
    /// It does not move: there is no room for it at its receiver, which has not arrived.
    bool stuck() const { return !done() && (header_sent_.deferred() || data_sent_.deferred()); }

  private:
    SubgroupHeader header_;
    Pending header_sent_, data_sent_;
};

}  // namespace rollcall::collectives
