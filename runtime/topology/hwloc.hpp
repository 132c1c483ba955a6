/// \file
/// hwloc, set up in one way for all who look at the machine by it: those who show it and those who bind to it.
#pragma once

#include <memory>
#include <string>

struct hwloc_topology;

namespace rollcall::runtime {

struct DestroyHwloc {
    void operator()(hwloc_topology* topology) const noexcept;
};
using Hwloc = std::unique_ptr<hwloc_topology, DestroyHwloc>;

/// Packages, NUMA nodes, cores and CPUs of the machine, those that this process may not use included; and `caches`, which take
/// longer. `description` is another machine, in hwloc's words; empty: this one. Null when hwloc cannot.
Hwloc load_hwloc(bool caches, const std::string& description = {});

}  // namespace rollcall::runtime
