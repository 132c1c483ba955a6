/// \file
/// A binomial tree of hosts, and one within each host. Pure functions of numbers.
#pragma once

#include <span>

#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {

/// One rank's place in both. The first rank of each host stands for it; rank 0 is the root of all.
struct HostTreePlace {
    TreePlace hosts;   ///< Ranks that stand for other hosts; of others than the first rank of a host: nobody.
    TreePlace within;  ///< Of this rank's host; its root, without a parent, is the one that stands for it.
};

/// `host_of`: the host of each rank, as any number. Example: hosts 5 5 7 5 7 9: between them 0 -> 2, 5; within 0 -> 1, 3; 2 -> 4.
HostTreePlace host_tree(std::span<const int> host_of, int rank);

/// How many different hosts there are.
int count_hosts(std::span<const int> host_of);

}  // namespace rollcall::collectives
