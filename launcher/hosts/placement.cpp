#include "launcher/hosts/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <queue>

#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall::launcher {
namespace {

[[noreturn]] void refuse_placement(const std::string& sentence) { throw Error(ErrorCode::invalid_argument, sentence); }

std::string count_of(std::int64_t number, const char* what) { return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s"); }

/// How many ranks a host takes in one round. Only hosts that take some are listed.
struct Quota {
    int host;
    int ranks;
};

void append_round(const std::vector<Quota>& quotas, MapBy map, std::size_t ranks, std::vector<int>& placed) {
    if (map != MapBy::node) {
        for (const Quota& quota : quotas) {
            placed.insert(placed.end(), std::min(static_cast<std::size_t>(quota.ranks), ranks - placed.size()), quota.host);
        }
        return;
    }
    // Hosts that are full are removed, because otherwise each would be asked once for every slot of the largest host.
    auto open = quotas;
    while (!open.empty()) {
        for (Quota& quota : open) {
            placed.push_back(quota.host);
            if (placed.size() == ranks) return;
            --quota.ranks;
        }
        std::erase_if(open, [](const Quota& quota) { return quota.ranks == 0; });
    }
}

/// Cuts the quotas down to `ranks` in all, in proportion. Each rank goes to the host whose quota it fills least, and among equal hosts to
/// the first (d'Hondt's method).
void share_out(std::vector<Quota>& quotas, std::int64_t ranks) {
    struct Next {
        std::size_t index;
        std::int64_t taken;  // how many it would have with the next rank
        std::int64_t quota;
        bool operator<(const Next& other) const {
            const auto mine = taken * other.quota;
            const auto others = other.taken * quota;
            return mine != others ? mine > others : index > other.index;
        }
    };
    std::priority_queue<Next> queue;
    for (std::size_t index = 0; index < quotas.size(); ++index) {
        queue.push({index, 1, quotas[index].ranks});
        quotas[index].ranks = 0;
    }
    for (; ranks > 0; --ranks) {
        Next next = queue.top();
        queue.pop();
        quotas[next.index].ranks = static_cast<int>(next.taken++);
        queue.push(next);
    }
    std::erase_if(quotas, [](const Quota& quota) { return quota.ranks == 0; });
}

std::int64_t total(const std::vector<Quota>& quotas) {
    return std::accumulate(quotas.begin(), quotas.end(), std::int64_t{0},
                           [](std::int64_t sum, const Quota& quota) { return sum + quota.ranks; });
}

std::vector<int> place_per_node(const std::vector<Host>& hosts, int ranks, MapBy map, int per_node, bool oversubscribe) {
    if (per_node < 1) refuse_placement(fmt::format("--per-node takes a number of at least 1, not {}", per_node));
    const auto most = static_cast<std::int64_t>(hosts.size()) * per_node;
    if (ranks > most) {
        refuse_placement(
            fmt::format("{} do not fit on {} with --per-node {}: that makes {} at most; give more hosts or a larger --per-node",
                        count_of(ranks, "rank"), count_of(static_cast<std::int64_t>(hosts.size()), "host"), per_node, most));
    }
    std::vector<Quota> quotas;
    for (std::size_t host = 0; host < hosts.size(); ++host) quotas.push_back({static_cast<int>(host), per_node});
    std::vector<int> placed;
    append_round(quotas, map, static_cast<std::size_t>(ranks), placed);

    std::vector<int> load(hosts.size());
    for (const int host : placed) ++load[static_cast<std::size_t>(host)];
    for (std::size_t index = 0; index < hosts.size(); ++index) {
        const Host& host = hosts[index];
        if (load[index] > host.max_slots.value_or(load[index])) {
            refuse_placement(fmt::format("--per-node {} puts {} on host {}, which takes {} at most (max_slots); give a smaller --per-node",
                                         per_node, count_of(load[index], "rank"), quote(host.name), *host.max_slots));
        }
        if (host.slots_given && load[index] > host.slots && !oversubscribe) {
            refuse_placement(
                fmt::format("--per-node {} puts {} on host {}, which has {}; give it more slots, a smaller --per-node, or --oversubscribe",
                            per_node, count_of(load[index], "rank"), quote(host.name), count_of(host.slots, "slot")));
        }
    }
    return placed;
}

}  // namespace

MapBy parse_map_by(std::string_view text) {
    if (text == "slot") return MapBy::slot;
    if (text == "node") return MapBy::node;
    if (text == "socket") return MapBy::socket;
    if (text == "numa") return MapBy::numa;
    if (text == "core") return MapBy::core;
    refuse_placement(fmt::format("--map-by takes slot, node, socket, numa or core, not {}", quote(text)));
}

std::vector<int> place_ranks(const std::vector<Host>& hosts, int ranks, MapBy map, std::optional<int> per_node, bool oversubscribe) {
    if (hosts.empty()) refuse_placement("there is no host to place ranks on");
    if (ranks < 1) refuse_placement(fmt::format("a job has at least 1 rank, not {}", ranks));
    if (per_node) return place_per_node(hosts, ranks, map, *per_node, oversubscribe);

    std::int64_t slots = 0;
    for (const Host& host : hosts) slots += host.slots;
    if (ranks > slots && !oversubscribe) {
        refuse_placement(fmt::format(
            "{} need {} slots, but {} {}; give a host more slots (such as a:4 in --hosts, or slots=4 in a hostfile), or --oversubscribe",
            count_of(ranks, "rank"), ranks, hosts.size() == 1 ? "the host has" : fmt::format("the {} hosts have", hosts.size()), slots));
    }

    std::vector<int> placed;
    placed.reserve(static_cast<std::size_t>(ranks));
    std::vector<int> load(hosts.size());
    std::vector<int> open(hosts.size());  // the hosts that are below their limit
    std::iota(open.begin(), open.end(), 0);
    for (bool first = true; placed.size() < static_cast<std::size_t>(ranks); first = false) {
        std::vector<Quota> quotas;
        for (const int index : open) {
            const Host& host = hosts[static_cast<std::size_t>(index)];
            int& taken = load[static_cast<std::size_t>(index)];
            const int room = host.max_slots ? std::min(host.slots, *host.max_slots - taken) : host.slots;
            if (room > 0) quotas.push_back({index, room});
            taken += room;
        }
        if (quotas.empty()) {
            refuse_placement(fmt::format("{} do not fit: the hosts' max_slots allow {} in all; give more hosts or higher limits",
                                         count_of(ranks, "rank"), placed.size()));
        }
        open.clear();
        for (const Quota& quota : quotas) open.push_back(quota.host);
        // In the first round the slots decide: a host is filled before the next one. After that all hosts should carry equal shares.
        const auto left = static_cast<std::int64_t>(ranks) - static_cast<std::int64_t>(placed.size());
        if (!first && map != MapBy::node && left < total(quotas)) share_out(quotas, left);
        append_round(quotas, map, static_cast<std::size_t>(ranks), placed);
    }
    return placed;
}

std::vector<Placement> number_local_ranks(const std::vector<int>& hosts_of_ranks) {
    std::vector<Placement> placements;
    placements.reserve(hosts_of_ranks.size());
    std::vector<int> size;
    for (const int host : hosts_of_ranks) {
        const auto index = static_cast<std::size_t>(host);
        if (index >= size.size()) size.resize(index + 1);
        placements.push_back({host, size[index]++, 0});
    }
    for (Placement& placement : placements) placement.local_size = size[static_cast<std::size_t>(placement.host)];
    return placements;
}

}  // namespace rollcall::launcher
