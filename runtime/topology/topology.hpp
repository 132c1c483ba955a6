/// \file
/// The machine as this process sees it through hwloc: packages, cores, NUMA nodes, caches and memory.
///
/// Loading takes a few milliseconds. Therefore it happens at the first use, and only for callers that ask for it. What a process start and
/// a lane need (the CPUs that the process may use, and binding) is in binding.hpp, which does not load the topology.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/topology/binding.hpp"

namespace rollcall::runtime {

/// A NUMA node of which this process may use at least one CPU.
struct NumaNode {
    int number = 0;  ///< As the operating system counts.
    std::uint64_t memory_bytes = 0;
    Cpus cpus;  ///< The CPUs of the node that this process may use.
};

/// One kind of cache, for all usable cores together.
struct CacheLevel {
    std::string name;         ///< "L1d", "L2", "L3"
    std::uint64_t bytes = 0;  ///< Size of one such cache.
    int count = 0;            ///< Number of such caches.
};

/// A snapshot of the machine. A package or core counts if this process may use at least one of its CPUs.
struct Topology {
    std::string host;
    int packages = 0;
    int cores = 0;
    int cpus_online = 0;  ///< Online CPUs of the machine, whether usable or not.
    Cpus cpus;            ///< The CPUs that this process may use.
    std::vector<NumaNode> numa_nodes;
    std::vector<CacheLevel> caches;  ///< The smallest level comes first.
    std::uint64_t memory_bytes = 0;  ///< Memory of the machine.
};

/// Queries the machine now. If hwloc fails, returns what is known without it (one package, and one core for each CPU).
Topology load_topology();

/// Returns the snapshot made by the first call in this process. Thread-safe.
const Topology& topology();

}  // namespace rollcall::runtime
