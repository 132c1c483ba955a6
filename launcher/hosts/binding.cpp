#include "launcher/hosts/binding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall::launcher {
namespace {

/// A processor of a core.
struct Thread {
    const Core* core;
    std::size_t index;
};

/// The cores in the order in which ranks are given to them.
std::vector<const Core*> order_cores(const std::vector<const Core*>& cores, MapBy map) {
    if (map != MapBy::socket && map != MapBy::numa) return cores;
    std::vector<std::vector<const Core*>> groups;
    std::map<int, std::size_t> group_of;
    for (const Core* core : cores) {
        const auto [found, fresh] = group_of.try_emplace(map == MapBy::socket ? core->socket : core->numa, groups.size());
        if (fresh) groups.emplace_back();
        groups[found->second].push_back(core);
    }
    std::vector<const Core*> order;
    for (std::size_t turn = 0; order.size() < cores.size(); ++turn) {
        for (const auto& group : groups) {
            if (turn < group.size()) order.push_back(group[turn]);
        }
    }
    return order;
}

std::vector<Thread> order_threads(const Machine& machine, MapBy map, BindTo bind) {
    std::vector<const Core*> cores;
    for (const Core& core : machine.cores) cores.push_back(&core);
    std::vector<Thread> threads;
    for (std::size_t index = 0; !cores.empty(); ++index) {
        std::erase_if(cores, [&](const Core* core) { return core->processors.size() <= index; });
        for (const Core* core : order_cores(cores, map)) threads.push_back({core, index});
        if (bind != BindTo::hwthread) break;  // all other bindings take whole cores
    }
    return threads;
}

/// Joins neighbouring cores into `parts` cores. Their sizes differ by at most one.
Machine join_cores(const Machine& machine, std::size_t parts) {
    Machine joined;
    const std::size_t cores = machine.cores.size();
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t first = part * cores / parts;
        Core whole = machine.cores[first];
        for (std::size_t i = first + 1; i < (part + 1) * cores / parts; ++i) {
            const auto& more = machine.cores[i].processors;
            whole.processors.insert(whole.processors.end(), more.begin(), more.end());
        }
        joined.cores.push_back(std::move(whole));
    }
    return joined;
}

}  // namespace

BindTo parse_bind_to(std::string_view text) {
    if (text == "auto") return BindTo::automatic;
    if (text == "none") return BindTo::none;
    if (text == "hwthread") return BindTo::hwthread;
    if (text == "core") return BindTo::core;
    if (text == "socket") return BindTo::socket;
    if (text == "numa") return BindTo::numa;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--bind-to takes auto, none, hwthread, core, socket or numa, not {}", quote(text)));
}

std::vector<std::vector<int>> bind_ranks(const Machine& machine, int local_ranks, MapBy map, BindTo bind) {
    if (local_ranks < 0) throw Error(ErrorCode::invalid_argument, fmt::format("a host cannot have {} ranks", local_ranks));
    std::vector<std::vector<int>> bound(static_cast<std::size_t>(local_ranks));
    if (bind == BindTo::none || bound.empty()) return bound;
    if (bind == BindTo::automatic) {
        if (local_ranks == 1 || machine.cores.size() < bound.size()) return bound;
        return bind_ranks(join_cores(machine, bound.size()), local_ranks, map, BindTo::core);
    }
    const auto threads = order_threads(machine, map, bind);
    if (threads.empty()) throw Error(ErrorCode::invalid_argument, "there is no processor to bind ranks to; give --bind-to none");

    std::map<int, std::vector<int>> processors_of;  // by socket or NUMA node
    for (const Core& core : machine.cores) {
        auto& all = processors_of[bind == BindTo::socket ? core.socket : core.numa];
        all.insert(all.end(), core.processors.begin(), core.processors.end());
    }
    for (std::size_t rank = 0; rank < bound.size(); ++rank) {
        const auto [core, index] = threads[rank % threads.size()];
        switch (bind) {
            case BindTo::none:
            case BindTo::automatic: break;
            case BindTo::hwthread: bound[rank] = {core->processors[index]}; break;
            case BindTo::core: bound[rank] = core->processors; break;
            case BindTo::socket: bound[rank] = processors_of[core->socket]; break;
            case BindTo::numa: bound[rank] = processors_of[core->numa]; break;
        }
        std::sort(bound[rank].begin(), bound[rank].end());
    }
    return bound;
}

std::string name_place(const Machine& machine, const std::vector<int>& processors, BindTo bind) {
    if (processors.empty() || bind == BindTo::none || bind == BindTo::automatic) return {};
    for (const Core& core : machine.cores) {
        if (std::find(core.processors.begin(), core.processors.end(), processors.front()) == core.processors.end()) continue;
        if (bind == BindTo::socket) return fmt::format("socket {}", core.socket);
        if (bind == BindTo::numa) return fmt::format("numa {}", core.numa);
        return fmt::format("core {}", core.number);
    }
    return {};
}

}  // namespace rollcall::launcher
