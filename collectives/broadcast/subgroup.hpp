/// \file
/// The sub-group broadcast of the arrival-aware algorithms. Only the root knows which ranks take part, and it tells them.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/relay.hpp"

namespace rollcall::collectives {

/// What the root tells a member before data comes, as numbers: the form of the broadcast and the member's place in it. A header is only as
/// long as it needs to be.
using SubgroupHeader = std::vector<std::int64_t>;

/// The root's side of a message to one rank that has not arrived. It goes in up to kMostInstalments instalments, which move while the root
/// does other things. Between two of them the root may turn to ranks that have arrived. The object must live until done().
class MessageAhead {
  public:
    static constexpr std::uint64_t kMostInstalments = 8;

    /// Begins to send the next instalment to this rank, or the first one, if the last was for another rank. Only if done().
    void send_next(Operation& op, int rank);
    /// Whether the last instalment has left.
    bool done() const { return header_sent_.done() && data_sent_.done(); }
    /// Whether it waits here, because its receiver has not arrived and has no room for it.
    bool stuck() const { return !done() && (header_sent_.deferred() || data_sent_.deferred()); }
    /// The number of instalments that this rank has been sent.
    std::uint64_t sent_to(int rank) const { return rank == rank_ ? sent_ : 0; }
    /// The number of instalments of a message.
    static std::uint64_t instalments(std::uint64_t bytes);

  private:
    int rank_ = -1;
    std::uint64_t sent_ = 0;
    SubgroupHeader header_;
    Pending header_sent_, data_sent_;
};

/// The root's side of one sub-group broadcast (Patarasuk and Yuan, section 4). It tells each member its place. Then the message travels as
/// fastest_group_way() says for the costs of the job: whole down a tree, in pieces down a chain or a tree, or by a scatter and a ring
/// allgather. The paper does the same, with the form that was fastest on each machine (section 5: a chain on Cetus, scatter-allgather on
/// Draco). With a segment size, the message goes in pieces of this size. The task ends when the root has sent its part. A member that was
/// sent instalments gets the whole message once more.
///
/// The root sends each member a header that lists only the neighbours of that member. If every member got the whole list, k members would
/// cost k^2 numbers (80 GB for 100,000 members). If the list were passed along the chain, it would come from a rank that its receiver
/// cannot name.
Task subgroup_root(Operation& op, std::vector<int> members, const MessageAhead& ahead);

/// A receiver's side: takes instalments, until it has the message or is told its place in a sub-group. Then it takes the message there and
/// passes it on.
Task subgroup_member(Operation& op);

/// Whether the last instalment is on its way to this rank or here already. Then the root needs no notice of its arrival.
bool message_is_ahead(Operation& op);

}  // namespace rollcall::collectives
