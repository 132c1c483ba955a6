/// \file
/// A binomial tree of hosts, and one within each host. Pure functions of numbers.
#pragma once

#include <span>

#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {

/// One rank's place in both trees. The first rank of each host represents the host. Rank 0 is the root of all.
struct HostTreePlace {
    TreePlace hosts;   ///< The ranks that represent other hosts. Empty unless this is the first rank of its host.
    TreePlace within;  ///< The ranks of this host. The root has no parent here, and represents the host.
};

/// `host_of` gives the host of each rank, as any number. Example: hosts 5 5 7 5 7 9: between the hosts 0 -> 2, 5; within them 0 -> 1, 3; 2
/// -> 4.
HostTreePlace host_tree(std::span<const int> host_of, int rank);

/// The number of different hosts.
int count_hosts(std::span<const int> host_of);

}  // namespace rollcall::collectives
