/// \file
/// hwloc, set up in the same way for the code that shows the machine and the code that binds to it.
#pragma once

#include <memory>
#include <string>

struct hwloc_topology;

namespace rollcall::runtime {

struct DestroyHwloc {
    void operator()(hwloc_topology* topology) const noexcept;
};
using Hwloc = std::unique_ptr<hwloc_topology, DestroyHwloc>;

/// Loads the packages, NUMA nodes, cores and CPUs of the machine, including those that this process may not use. With `caches` it loads the
/// caches too, which takes longer. `description` describes another machine in hwloc's synthetic format; empty: this machine. Returns null
/// if hwloc fails.
Hwloc load_hwloc(bool caches, const std::string& description = {});

}  // namespace rollcall::runtime
