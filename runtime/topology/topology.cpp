#include "runtime/topology/topology.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include <hwloc.h>
#include <unistd.h>

#include "foundation/host_name.hpp"
#include "runtime/topology/hwloc.hpp"

namespace rollcall::runtime {
namespace {

struct FreeBitmap {
    void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

constexpr std::array kCaches = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE};

/// Calls `visit` for each object of a type that contains at least one of the CPUs.
template <typename Visit>
void for_each_usable(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_cpuset_t usable, Visit visit) {
    for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
         object = hwloc_get_next_obj_by_type(topology, type, object)) {
        if (hwloc_bitmap_intersects(object->cpuset, usable)) visit(*object);
    }
}

int count(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_cpuset_t usable) {
    int number = 0;
    for_each_usable(topology, type, usable, [&](const hwloc_obj&) { ++number; });
    return number;
}

std::string cache_name(const hwloc_obj& cache) {
    const auto& attributes = cache.attr->cache;
    const char* suffix = attributes.type == HWLOC_OBJ_CACHE_DATA ? "d" : "";
    return "L" + std::to_string(attributes.depth) + suffix;
}

void fill(Topology& view, hwloc_topology_t topology) {
    const Bitmap usable(hwloc_bitmap_alloc());
    if (!usable) return;
    for (const int cpu : view.cpus) hwloc_bitmap_set(usable.get(), static_cast<unsigned>(cpu));

    // Not every machine reports its packages or cores. A missing number keeps the value that it has without hwloc.
    if (const int packages = count(topology, HWLOC_OBJ_PACKAGE, usable.get()); packages > 0) view.packages = packages;
    if (const int cores = count(topology, HWLOC_OBJ_CORE, usable.get()); cores > 0) view.cores = cores;
    for_each_usable(topology, HWLOC_OBJ_NUMANODE, usable.get(), [&](const hwloc_obj& object) {
        NumaNode node{.number = static_cast<int>(object.os_index), .memory_bytes = object.attr->numanode.local_memory, .cpus = {}};
        for (const int cpu : view.cpus) {
            if (hwloc_bitmap_isset(object.cpuset, static_cast<unsigned>(cpu))) node.cpus.push_back(cpu);
        }
        view.numa_nodes.push_back(std::move(node));
    });
    for (const auto type : kCaches) {
        for_each_usable(topology, type, usable.get(), [&](const hwloc_obj& object) {
            const auto name = cache_name(object);
            const auto bytes = object.attr->cache.size;
            const auto same = [&](const CacheLevel& level) { return level.name == name && level.bytes == bytes; };
            const auto known = std::find_if(view.caches.begin(), view.caches.end(), same);
            if (known != view.caches.end()) {
                ++known->count;
            } else {
                view.caches.push_back({.name = name, .bytes = bytes, .count = 1});
            }
        });
    }
}

}  // namespace

Topology load_topology() {
    Topology view;
    view.host = host_name();
    view.cpus = cpus_of();
    view.packages = 1;
    view.cores = std::max(1, static_cast<int>(view.cpus.size()));
    view.cpus_online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
    view.memory_bytes =
        static_cast<std::uint64_t>(std::max(0l, sysconf(_SC_PHYS_PAGES))) * static_cast<std::uint64_t>(std::max(0l, sysconf(_SC_PAGESIZE)));
    if (const Hwloc loaded = load_hwloc(true)) fill(view, loaded.get());
    return view;
}

const Topology& topology() {
    static const Topology view = load_topology();
    return view;
}

}  // namespace rollcall::runtime
