/// \file
/// What this process sees of its machine: packages, cores, NUMA nodes, caches and memory, by hwloc.
///
/// Loading takes a few milliseconds, so it happens at the first use and only for those who ask. What a process start
/// and a lane need (the CPUs it may use, binding) is in binding.hpp and does not load it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/topology/binding.hpp"

namespace rollcall::runtime {

/// A NUMA node some of whose CPUs this process may use.
struct NumaNode {
    int number = 0;  ///< As the operating system counts.
    std::uint64_t memory_bytes = 0;
    Cpus cpus;  ///< Those this process may use.
};

/// One kind of cache, of all usable cores together.
struct CacheLevel {
    std::string name;         ///< "L1d", "L2", "L3"
    std::uint64_t bytes = 0;  ///< Of one of them.
    int count = 0;            ///< How many there are.
};

/// A snapshot. Packages and cores count when this process may use at least one of their CPUs.
struct Topology {
    std::string host;
    int packages = 0;
    int cores = 0;
    int cpus_online = 0;  ///< Of the machine, whether usable or not.
    Cpus cpus;            ///< That this process may use.
    std::vector<NumaNode> numa_nodes;
    std::vector<CacheLevel> caches;  ///< Smallest level first.
    std::uint64_t memory_bytes = 0;  ///< Of the machine.
};

/// Looks now. When hwloc fails, says what can be known without it (one package, a core per CPU).
Topology load_topology();

/// As of the first call in this process. Thread-safe.
const Topology& topology();

/// Cores on which this process may run, at least 1. Loads the topology.
int usable_cores();

}  // namespace rollcall::runtime
