/// \file
/// Which processors each rank of a host may use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/placement.hpp"

namespace rollcall::launcher {

/// A core, and those of its processors (hardware threads) that may be used: at least one.
struct Core {
    int number = 0;               ///< hwloc's logical index in its machine, as `lstopo --disallowed` shows it.
    int socket = 0;               ///< The same of its package.
    int numa = 0;                 ///< The same of the NUMA node nearest to it.
    std::vector<int> processors;  ///< As the operating system counts.

    bool operator==(const Core&) const = default;
};

/// The cores that may be used. Cores that are near each other follow each other. If a machine does not report its
/// cores, each processor counts as a core. If it does not report sockets or NUMA nodes, it has one of each.
struct Machine {
    std::vector<Core> cores;
};

/// Returns what the calling thread, and so a process that it starts, may use of this machine: its own affinity,
/// including cgroups. Takes some milliseconds. If hwloc cannot tell, the kernel's list of the hardware threads of
/// each core is used. Thread-safe.
Machine load_machine();

/// The cores of this machine that have the processors `allowed` (ascending), as the kernel's files in /sys describe
/// them. Takes about 20 us for each core and does not load hwloc. Cores are numbered from 0, and sockets as the kernel
/// numbers packages. Thread-safe.
Machine load_cores(const std::vector<int>& allowed);

/// Makes a machine from hwloc's synthetic description, such as "package:2 numa:2 core:4 pu:2". The machine has those
/// of its processors that are `allowed`, or all if `allowed` is empty. Throws Error{invalid_argument} if hwloc does
/// not understand the description, or if no processor is left.
Machine describe_machine(const std::string& description, const std::vector<int>& allowed = {});

/// The unit that a rank gets to itself. When all units are given out, further ranks share them.
enum class BindTo {
    none,
    hwthread,
    core,
    socket,
    numa,
    automatic,  ///< An equal part of the cores, where each rank can have at least one; else as `none`.
};

/// Reads "auto", "none", "hwthread", "core", "socket" or "numa". Throws Error{invalid_argument} for anything else.
BindTo parse_bind_to(std::string_view text);

/// Returns the processors of each local rank, ascending. For BindTo::none all are empty: such a rank keeps the
/// affinity that it has.
///
/// For BindTo::automatic, each rank gets the same number of cores, or one more than others, and all cores are given
/// out. The cores of a rank follow each other in the machine. Where there are fewer cores than ranks, and for a single
/// rank, all are empty: two ranks never share a core that one of them is bound to. What follows is about the others.
///
/// Ranks go to the cores in order. With map socket or numa they go to each socket or NUMA node in turn, and there to
/// the next free core. When every core has a rank, this begins again at the first core. If ranks are bound to
/// hardware threads, the first thread of every core is given out before the second ones. A rank is then bound to
/// everything that its core lies in, as `bind` says.
///
/// Throws Error{invalid_argument} when the machine has no core or `local_ranks` is negative.
std::vector<std::vector<int>> bind_ranks(const Machine& machine, int local_ranks, MapBy map, BindTo bind);

/// Describes for people where processors of bind_ranks() are: "core 2", "socket 0" or "numa 1". Empty if there are
/// none, and for BindTo::automatic, where a rank may have several cores.
std::string name_place(const Machine& machine, const std::vector<int>& processors, BindTo bind);

/// Where the ranks of a host run.
struct HostBinding {
    std::vector<std::vector<int>> processors;  ///< By local rank; empty: they are not bound.
    std::vector<std::string> places;           ///< Where these are, for people.
    std::string not_bound;                     ///< Why BindTo::automatic did not bind them; empty if it did, or was not asked.
};

}  // namespace rollcall::launcher
