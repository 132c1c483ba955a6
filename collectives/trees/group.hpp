/// \file
/// How a message gets from a root to a group of ranks. Pure functions of sizes.
#pragma once

#include <cstdint>

#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {

enum class GroupForm : std::int64_t {
    binomial,      ///< The whole message goes down a binomial tree.
    chain,         ///< The message goes from rank to rank in pieces.
    binary,        ///< The message goes in pieces down a tree in which the root has one child and each other rank has up to two.
    scatter_ring,  ///< Each rank of the group but the root gets a part, down a halving tree. Then these ranks pass the parts round a ring.
};

struct GroupWay {
    GroupForm form = GroupForm::binomial;
    std::uint64_t segment = 0;  ///< The size of a piece, in bytes; 0: the message is not cut into pieces.
    double cost = 0;            ///< The time, in units of the time that a byte takes. 0 if the way was not chosen by its cost.
};

/// The way that takes the least time for a message of m bytes to n ranks, the root among them (n >= 2), where a message of b bytes takes
/// a + b (Hockney's model; a > 0 is what a message costs besides its bytes, in bytes):
/// - binomial: ceil(log2 n) (a + m).
/// - chain: (X + n - 2) (a + m/X) for X pieces (Patarasuk and Yuan, "Efficient MPI_Bcast across different process arrival patterns",
///   section 3.3). The derivative is 0 at X = sqrt((n - 2) m/a).
/// - binary: (2X + d - 1) (a + m/X), because a rank sends each piece twice. The last rank gets a piece d piece times after the root's
///   child: 1 for each first child on the way, and 2 for each second one. The derivative is 0 at X = sqrt((d - 1) m/(2a)).
/// - scatter_ring: ceil(log2 n) a + m for the scatter, (n - 2) (a + m/(n - 1)) for the ring (Thakur, Rabenseifner and Gropp,
///   ANL/MCS-P1140-0304). The root leaves after the scatter.
///
/// Examples: n = 128 and a = 8 KiB: binomial for 8 KiB, binary for 128 KiB, scatter_ring for 2 MiB, chain for 8 MiB. n = 2: binomial,
/// always.
GroupWay fastest_group_way(int n, std::uint64_t m, double a);

/// The way for pieces of a size that was asked for (not 0): a chain while there are no more ranks besides the root than pieces, otherwise a
/// binary tree. One piece goes down a binomial tree.
GroupWay group_way(int n, std::uint64_t m, std::uint64_t segment);

/// The place of rank v of the group in its tree. Rank 0 is the root. Not for scatter_ring, which has halving_place(n, 0, v). Examples:
/// chain: 0 -> 1 -> 2. binary, n = 8: 0 -> 1; 1 -> 2, 3; 2 -> 4, 5; 3 -> 6, 7.
TreePlace group_place(GroupForm form, int n, int v);

}  // namespace rollcall::collectives
