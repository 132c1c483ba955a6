/// \file
/// The part of a reduce on two levels that brings all elements to one node (collectives/reduce/two_level.cpp).
#pragma once

#include <vector>

#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

/// The node on which the lanes end.
struct LaneEnds {
    int node;
    const std::vector<int>& ranks;  ///< Its ranks, in the order of their lanes. On other nodes that is the order of ranks.
    int place;                      ///< This rank's place on its own node, in that order.
    transport::Bytes own;           ///< Memory for this rank's share.
    transport::Bytes spare = {};    ///< Memory for what its lane brings, if there is any. Otherwise, and if it is too small, it is made.
};

/// Combines the elements of all ranks. In the end, each rank of that node that has a lane has its share in `to.own`. Takes the steps before
/// kResultSteps between the ranks of a node.
Task reduce_to_node(Operation& op, const Levels& levels, const Lanes& lanes, LaneEnds to);

}  // namespace rollcall::collectives
