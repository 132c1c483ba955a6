#include "runtime/topology/hwloc.hpp"

#include <hwloc.h>

namespace rollcall::runtime {

void DestroyHwloc::operator()(hwloc_topology* topology) const noexcept { hwloc_topology_destroy(topology); }

Hwloc load_hwloc(bool caches, const std::string& description) {
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) return nullptr;
    Hwloc topology(raw);
    hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (caches) hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
    // If a NUMA node is smaller than a package, hwloc needs a group to represent it. Without groups it gives the node the whole package.
    hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    // The affinity of the process already excludes what a cgroup forbids. If hwloc excluded it too, a forbidden NUMA node would disappear
    // together with its cores.
    hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
                                      HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
    // The x86 component moves the calling thread over all processors of the machine to query them. Linux has provided all the information.
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    if (!description.empty() && hwloc_topology_set_synthetic(raw, description.c_str()) != 0) return nullptr;
    if (hwloc_topology_load(raw) != 0) return nullptr;
    return topology;
}

}  // namespace rollcall::runtime
