/// \file
/// The sub-group broadcast of the arrival-aware algorithms. Only the root knows which ranks take part, and it tells them.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/relay.hpp"

namespace rollcall::collectives {

/// What the root tells a member before the message comes, as numbers: the form of the broadcast and the member's place in it. A header is
/// only as long as it needs to be.
using SubgroupHeader = std::vector<std::int64_t>;

/// The root's side of one sub-group broadcast (Patarasuk and Yuan, section 4). It tells each member its place. Then the message travels as
/// group_way() says: whole down a tree, in pieces down a chain or a tree, or by a scatter and a ring allgather. The paper does the same,
/// with the form that was fastest on each machine (section 5: a chain on Cetus, scatter-allgather on Draco). With a segment size, the
/// message goes in pieces of this size. The task ends when the root has sent its part.
///
/// The root sends each member a header that lists only the neighbours of that member. If every member got the whole list, k members would
/// cost k^2 numbers (40 GB for 100,000 members). If the list were passed along the chain, it would come from a rank that its receiver
/// cannot name.
Task subgroup_root(Operation& op, std::vector<int> members);

/// A receiver's side: learns its place, takes the message and passes it on.
Task subgroup_member(Operation& op);

/// Whether the root's header is here already. Then the root sends the message to this rank, and needs no notice of its arrival.
bool subgroup_called(Operation& op);

/// The root's side of a message to one rank that has not arrived. The message moves while the root does other things. The object must live
/// until done().
class MessageAhead {
  public:
    void start(Operation& op, int rank);
    bool done() const { return header_sent_.done() && data_sent_.done(); }
    /// Whether the message waits here, because its receiver has not arrived and has no room for it.
    bool stuck() const { return !done() && (header_sent_.deferred() || data_sent_.deferred()); }

  private:
    SubgroupHeader header_;
    Pending header_sent_, data_sent_;
};

}  // namespace rollcall::collectives
