/// \file
/// Which processors each rank of a host may use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/placement.hpp"

namespace rollcall::launcher {

/// A core, with those of its processors (hardware threads) that may be used: at least one.
struct Core {
    int number = 0;               ///< hwloc's logical index in its machine, as `lstopo --disallowed` shows it.
    int socket = 0;               ///< The same of its package.
    int numa = 0;                 ///< The same of the NUMA node nearest to it.
    std::vector<int> processors;  ///< As the operating system counts.

    bool operator==(const Core&) const = default;
};

/// The cores that may be used, neighbours beside each other. A machine that does not tell its cores has one for each
/// processor; one without sockets or NUMA nodes has one of each.
struct Machine {
    std::vector<Core> cores;
};

/// What the calling thread, and so a process that it starts, may use of this machine: its own affinity, cgroups
/// included. Takes some milliseconds. When hwloc cannot tell, the kernel's list of each core's hardware threads is used.
/// Thread-safe.
Machine load_machine();

/// A machine by hwloc's synthetic description, such as "package:2 numa:2 core:4 pu:2"; of it the processors that are
/// `allowed`, or all when that is empty. Throws Error{invalid_argument} for a description that hwloc does not
/// understand, and when no processor is left.
Machine describe_machine(const std::string& description, const std::vector<int>& allowed = {});

/// What a rank has to itself, or shares with those that come after all have been given out.
enum class BindTo { none, hwthread, core, socket, numa };

/// "none", "hwthread", "core", "socket", "numa". Throws Error{invalid_argument} for anything else.
BindTo parse_bind_to(std::string_view text);

/// The processors of each local rank, ascending; all empty for BindTo::none: such a rank is left as it is.
///
/// Ranks go to the cores in order, or with map socket or numa to each of these in turn and there to the next core that
/// is free, until every core has one; then again from the first. Bound to hardware threads, all cores' first ones are
/// given out before the second ones. A rank is then bound to all of what its core lies in, as `bind` says.
///
/// Throws Error{invalid_argument} when the machine has no core or `local_ranks` is negative.
std::vector<std::vector<int>> bind_ranks(const Machine& machine, int local_ranks, MapBy map, BindTo bind);

/// "core 2", "socket 0", "numa 1": where processors of bind_ranks() are, for people. Empty when there are none.
std::string name_place(const Machine& machine, const std::vector<int>& processors, BindTo bind);

}  // namespace rollcall::launcher
