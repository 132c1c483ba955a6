/// \file
/// Decides which rank runs on which host. Pure functions; any thread may call them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "launcher/hosts/hosts.hpp"

namespace rollcall::launcher {

/// The order in which ranks go to hosts, and within a host to its cores.
enum class MapBy {
    slot,    ///< Host by host, as many as each has slots; core by core.
    node,    ///< To each host in turn; core by core.
    socket,  ///< Host by host; on a host to each socket in turn.
    numa,    ///< Host by host; on a host to each NUMA node in turn.
    core,    ///< As slot.
};

/// Reads "slot", "node", "socket", "numa" or "core". Throws Error{invalid_argument} for anything else.
MapBy parse_map_by(std::string_view text);

/// Returns the index in `hosts` of each rank's host. `ranks` is at least 1.
///
/// With `per_node`, each host takes that many ranks instead of its slots. Slots then matter only if they were given:
/// there they must suffice, unless `oversubscribe` is set. Without `per_node`, more ranks than slots need
/// `oversubscribe`. The further ranks begin again at the first host, in rounds of all slots. The last round is
/// divided in proportion to the slots. No host ever gets more than its max_slots.
///
/// Throws Error{invalid_argument} when the ranks do not fit.
std::vector<int> place_ranks(const std::vector<Host>& hosts, int ranks, MapBy map, std::optional<int> per_node, bool oversubscribe);

/// One rank among those of its host.
struct Placement {
    int host = 0;        ///< Index of the host.
    int local_rank = 0;  ///< In the order of ranks.
    int local_size = 0;  ///< How many ranks the host has.

    bool operator==(const Placement&) const = default;
};

/// Numbers the ranks of each host, from the index of each rank's host (none negative).
std::vector<Placement> number_local_ranks(const std::vector<int>& hosts_of_ranks);

}  // namespace rollcall::launcher
