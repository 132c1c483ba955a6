/// \file
/// The full-duplex exchange of Kang, Träff et al., as a part of algorithms (allgather_full_duplex.cpp), and allgathers between two groups
/// whose blocks are known.
#pragma once

#include <cstdint>

#include "collectives/intergroup/sides.hpp"

namespace rollcall::collectives {

/// Allgather between two groups by algorithm 2, for blocks of any sizes, which all ranks know. A rank has its own block as its
/// contribution. In the end `data` holds the blocks of the other group, one behind the other. Uses the steps from `step` on, at most one
/// more than the larger group has ranks.
Task exchange_full_duplex(Operation& op, const Sides& sides, const BothBlocks& blocks, transport::Bytes data, std::uint64_t step);

/// An allgather by one of these algorithms, for these blocks. Uses the steps from kStepsForSizes on.
Task gather_all_full_duplex(Operation& op, const Sides& sides, const BothBlocks& blocks);
Task gather_all_two_level(Operation& op, const Sides& sides, const BothBlocks& blocks);
Task gather_all_root_gathering(Operation& op, const Sides& sides, const BothBlocks& blocks);

}  // namespace rollcall::collectives
