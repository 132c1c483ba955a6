/// \file
/// The way of elements to the root of a reduce, in pieces, up a tree in which each rank has at most two children.
#pragma once

#include "collectives/combining/combining.hpp"
#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {

/// The rank at which the trees of such a reduce end: the root or, if the operation does not commute, rank 0. From there the pieces go to
/// the root one by one.
inline int top_of(const Operation& op) { return op.arguments().combiner.is_commutative ? op.root() : 0; }

/// A rank combines each piece of its contribution with those that its children send, and passes the result on to its parent as soon as it
/// has it. Operands: first its own, then those of the first child, then those of the second one. Which is rank order, if these are those of
/// consecutive ranks. `place` is the rank's place in a tree whose root is top_of(). The part of a rank whose caller has not come takes the
/// pieces of its children into memory that becomes its result: one message of each child.
Task combine_pieces_up_tree(Operation& op, TreePlace place);

}  // namespace rollcall::collectives
