// Reads the machines of launcher/hosts/binding.hpp from hwloc.
#include <fmt/format.h>
#include <hwloc.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <rollcall/error.hpp>

#include "foundation/file.hpp"
#include "foundation/quote.hpp"
#include "launcher/hosts/binding.hpp"
#include "runtime/topology/binding.hpp"
#include "runtime/topology/hwloc.hpp"

namespace rollcall::launcher {
namespace {

/// Returns the NUMA node with the fewest processors of those around this processor. Memory of a special kind (high-bandwidth, attached by
/// CXL) may belong to a whole package, while the package's cores belong to smaller nodes.
int nearest_numa(hwloc_topology_t topology, hwloc_obj_t processor) {
    int nearest = 0;
    int fewest = 0;
    for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
        if (!hwloc_bitmap_isset(node->cpuset, processor->os_index)) continue;
        const int processors = hwloc_bitmap_weight(node->cpuset);
        if (fewest != 0 && processors >= fewest) continue;
        nearest = static_cast<int>(node->logical_index);
        fewest = processors;
    }
    return nearest;
}

Machine read_machine(hwloc_topology_t topology, const std::optional<std::set<int>>& allowed) {
    Machine machine;
    hwloc_obj_t last = nullptr;
    for (hwloc_obj_t processor = nullptr; (processor = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, processor)) != nullptr;) {
        const auto number = static_cast<int>(processor->os_index);
        if (allowed && !allowed->contains(number)) continue;
        const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, processor);
        const hwloc_obj_t core = found != nullptr ? found : processor;
        if (core != last) {  // in hwloc's order the processors of a core are neighbours
            const hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, processor);
            machine.cores.push_back({.number = static_cast<int>(core->logical_index),
                                     .socket = package != nullptr ? static_cast<int>(package->logical_index) : 0,
                                     .numa = nearest_numa(topology, processor),
                                     .processors = {}});
            last = core;
        }
        machine.cores.back().processors.push_back(number);
    }
    return machine;
}

/// Reads a list from a file of the kernel. Empty if there is no such file.
std::vector<int> read_list(const std::string& path) {
    try {
        return runtime::parse_cpus(read_line(path));
    } catch (const Error&) {
        return {};
    }
}

/// Returns the NUMA node of each processor.
std::map<int, int> numa_nodes() {
    std::map<int, int> node_of;
    for (const int node : read_list("/sys/devices/system/node/online")) {
        for (const int processor : read_list(fmt::format("/sys/devices/system/node/node{}/cpulist", node))) node_of[processor] = node;
    }
    return node_of;
}

}  // namespace

Machine load_cores(const std::vector<int>& allowed) {
    Machine machine;
    std::map<int, std::size_t> core_of;  // the index of each processor's core
    auto node_of = numa_nodes();
    for (const int processor : allowed) {
        const auto [found, fresh] = core_of.try_emplace(processor, machine.cores.size());
        if (fresh) {
            for (const int sibling : runtime::cpus_of_core(processor)) core_of.emplace(sibling, found->second);
            const auto package = read_list(fmt::format("/sys/devices/system/cpu/cpu{}/topology/physical_package_id", processor));
            machine.cores.push_back(
                {.number = 0, .socket = package.empty() ? 0 : package.front(), .numa = node_of[processor], .processors = {}});
        }
        machine.cores[found->second].processors.push_back(processor);
    }
    std::stable_sort(machine.cores.begin(), machine.cores.end(),
                     [](const Core& a, const Core& b) { return std::pair(a.socket, a.numa) < std::pair(b.socket, b.numa); });
    for (std::size_t i = 0; i < machine.cores.size(); ++i) machine.cores[i].number = static_cast<int>(i);
    return machine;
}

Machine load_machine() {
    const auto mine = runtime::cpus_of();
    const std::set<int> allowed(mine.begin(), mine.end());
    Machine machine;
    if (const runtime::Hwloc topology = runtime::load_hwloc(false)) {
        machine = read_machine(topology.get(), allowed.empty() ? std::nullopt : std::optional(allowed));
    }
    // hwloc's environment variables may have given it the description of another machine.
    std::size_t known = 0;
    for (const Core& core : machine.cores) known += core.processors.size();
    return known == 0 || known < allowed.size() ? load_cores(mine) : machine;
}

Machine describe_machine(const std::string& description, const std::vector<int>& allowed) {
    const auto refuse_machine = [&](const char* why) {
        throw Error(ErrorCode::invalid_argument, fmt::format("the machine {} {}", quote(description), why));
    };
    const runtime::Hwloc topology = description.empty() ? nullptr : runtime::load_hwloc(false, description);
    if (!topology) refuse_machine("is not understood; allowed: a synthetic description of hwloc, such as 'package:2 core:4 pu:2'");
    std::optional<std::set<int>> only;
    if (!allowed.empty()) only.emplace(allowed.begin(), allowed.end());
    Machine machine = read_machine(topology.get(), only);
    if (machine.cores.empty()) refuse_machine("has none of the processors that are allowed");
    return machine;
}

}  // namespace rollcall::launcher
