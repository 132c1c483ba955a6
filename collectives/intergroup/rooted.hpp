/// \file
/// An operation with a root in one group is the operation of one group that consists of the ranks of the other group and the root.
#pragma once

#include <vector>

#include "collectives/intergroup/sides.hpp"
#include "runtime/engine/among.hpp"

namespace rollcall::collectives {

/// What this rank's part in the operation is.
struct RootedPart {
    explicit RootedPart(const Operation& op) : sides(sides_of(op)) {
        is_root = op.rank() == op.root();
        is_other = op.root() < sides.own.first || op.root() >= sides.own.first + sides.own.size;
        others = is_other ? sides.own : sides.other;
    }
    bool takes_part() const { return is_root || is_other; }

    Sides sides;
    bool is_root, is_other;  ///< `is_other`: this rank is in the group that the root is not in.
    Members others;
};

/// The ranks of the other group, and the root behind them. So the number of a rank of the other group is that of its block.
inline std::vector<int> with_root_last(const Members& others, int root) {
    std::vector<int> ranks = ranks_of(others);
    ranks.push_back(root);
    return ranks;
}

}  // namespace rollcall::collectives
