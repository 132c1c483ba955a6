/// \file
/// The two levels of a call whose ranks are on several nodes. The ranks of a node share what they have through its memory, and messages go
/// between nodes only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/combining/combining.hpp"
#include "runtime/engine/among.hpp"
#include "runtime/engine/operation.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::collectives {

using Among = Operation::Among;

/// How many ranks the smallest node has, and the largest one.
struct NodeSizes {
    int fewest, most;
};
NodeSizes sizes_of(const runtime::Nodes& nodes);

class Levels {
  public:
    /// The nodes of the operation's ranks (Operation::size()).
    explicit Levels(const Operation& op);
    /// The nodes of some ranks of the communicator, which are counted by their places in `ranks`. `own`: the place of this rank. -1: it is
    /// not among them, and the functions about its own node must not be called.
    Levels(const Operation& op, std::span<const int> ranks, int own);

    int nodes() const { return static_cast<int>(members().size()); }
    /// The node of a rank.
    int node_of(int rank) const { return all().of[static_cast<std::size_t>(rank)]; }
    int node() const { return node_of(rank_); }
    /// The ranks of a node, in rank order.
    const std::vector<int>& on(int node) const { return members()[static_cast<std::size_t>(node)]; }
    const std::vector<int>& here() const { return on(node()); }
    /// The place of a rank of this node in here().
    int place_of(int rank) const;
    int place() const { return place_of(rank_); }
    /// How many ranks the smallest node has.
    int fewest() const { return sizes_of(all()).fewest; }
    /// How many the largest one has.
    int most() const { return sizes_of(all()).most; }
    /// Whether the nodes' ranks, node after node, are in rank order.
    bool is_in_rank_order() const;
    /// A rank of each node: the one at this place.
    std::vector<int> at_place(int place) const;
    /// A rank of each node that exchanges messages with those of other nodes: the root on its own node, elsewhere the lowest rank.
    std::vector<int> leaders(int root) const;

  private:
    const runtime::Nodes& all() const { return nodes_ ? *nodes_ : of_some_; }
    const std::vector<std::vector<int>>& members() const { return all().members; }

    int rank_;
    const runtime::Nodes* nodes_;
    /// Of some ranks of the communicator, or where the communicator has no nodes. Then all ranks are on one node.
    runtime::Nodes of_some_;
};

/// The algorithm that `auto` takes for elements of `bytes` bytes among `ranks` ranks, of which no two are on one node.
runtime::Algorithm between_nodes(OperationKind kind, const Operation& op, std::uint64_t bytes, int ranks);
/// Up to this size, in bytes, a broadcast goes from node to node whole, and down a tree.
inline constexpr std::uint64_t kWholeToNodes = 128 << 10;

/// The elements, cut into a share for each of the first `lanes` ranks of a node. The ranks behind them have no share.
struct Lanes {
    Lanes(const Operation& op, int count);
    template <class Bytes>
    Bytes part(Bytes all, int place) const {
        return static_cast<std::size_t>(place) < shares.size() ? part_of(all, shares[static_cast<std::size_t>(place)])
                                                               : runtime::slice(all, 0, 0);
    }
    int count() const { return static_cast<int>(shares.size()); }
    std::vector<Share> shares;
};

/// Combines what the ranks of a node bring, in shares, through its memory. The rank at each place of `here` gets its share in `own`. This
/// rank is at `place`. Takes the steps before kResultSteps. `in_place`: as PublishedParts::in_place.
Task combine_on_node(Operation& op, const std::vector<int>& here, int place, const Lanes& lanes, transport::Bytes own,
                     runtime::InPlace in_place);
/// The first step of what is published on the node afterwards.
inline constexpr std::uint64_t kResultSteps = 2;

/// Publishes the shares of the elements in `arguments.data` on the node: each rank that has one publishes it, and all copy the others.
/// Comes after combine_on_node() in the same operation.
Task share_with_node(Operation& op, const Levels& levels, const Lanes& lanes, runtime::Arguments arguments);

/// Up to this size, in bytes, one rank of each node has all of the elements, or sends all of what goes to another node. With fewer bytes
/// for each message, the latency of the messages counts more than the copies.
inline constexpr std::uint64_t kOneLane = 8192;
/// The same where every rank combines, on nodes of up to kRanksOfOneLane ranks. Each further lane sends as many messages as the first one,
/// and wakes as many ranks: where ranks share cores, four lanes of an allreduce took twice as long for 64 KiB (4 hosts with 4 ranks).
inline constexpr std::uint64_t kOneLaneOfAll = 64 << 10;
inline constexpr int kRanksOfOneLane = 4;
/// How many lanes there are where every rank combines. `most` and `fewest`: the ranks of the largest and of the smallest node. Up to
/// kOneLaneOfAll there are so many that none of them combines more than one lane of kRanksOfOneLane ranks does.
inline double lanes_of_all(double bytes, double most, double fewest) {
    constexpr double kMost = kOneLaneOfAll;
    return bytes > kMost ? fewest : std::clamp(std::ceil(bytes * most / (kRanksOfOneLane * kMost)), 1.0, fewest);
}
inline int lanes_of_all(std::uint64_t bytes, const Levels& levels) {
    return static_cast<int>(lanes_of_all(static_cast<double>(bytes), levels.most(), levels.fewest()));
}

}  // namespace rollcall::collectives
