/// \file
/// Shows as text where the ranks of a job run.
#pragma once

#include <string>
#include <vector>

#include "launcher/hosts/binding.hpp"

namespace rollcall::launcher {

/// One rank of the map.
struct MappedRank {
    std::string host;
    std::vector<int> processors;  ///< Ascending; empty: not bound.
    std::string place;            ///< "core 2"; may be empty.
    std::string not_bound;        ///< Why none of this host's ranks is bound; empty if they are bound, or if binding was not asked for.
};

/// Throws std::out_of_range if the host's ranks are bound, but not this one.
MappedRank mapped_rank(const std::string& host, const HostBinding& binding, int local_rank);

/// Returns lines for people, each ended by a newline: the numbers of ranks and hosts, the ranks of each host and why they
/// are not bound, if that is known, and, if any rank is bound, the processors of each rank. Hosts come in the order of their first rank.
/// Pure; any thread may call it.
///
///     3 ranks on 2 hosts
///     node1  ranks 0,2
///     node2  rank 1
///     rank 0  node1  core 0  cpus 0,4
///     rank 1  node2  core 0  cpus 0,4
///     rank 2  node1  core 1  cpus 1,5
std::string draw_map(const std::vector<MappedRank>& ranks);

}  // namespace rollcall::launcher
