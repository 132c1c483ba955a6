#include "launcher/hosts/job_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "runtime/topology/binding.hpp"

namespace rollcall::launcher {
namespace {

std::string list_numbers(std::string_view what, const std::vector<int>& numbers) {
    return fmt::format("{}{} {}", what, numbers.size() == 1 ? "" : "s", runtime::format_cpus(numbers));
}

}  // namespace

MappedRank mapped_rank(const std::string& host, const HostBinding& binding, int local_rank) {
    MappedRank row{.host = host, .processors = {}, .place = {}, .not_bound = binding.not_bound};
    if (binding.processors.empty()) return row;
    row.processors = binding.processors.at(static_cast<std::size_t>(local_rank));
    row.place = binding.places.at(static_cast<std::size_t>(local_rank));
    return row;
}

std::string draw_map(const std::vector<MappedRank>& ranks) {
    std::vector<std::string_view> hosts;
    std::vector<std::vector<int>> ranks_of;
    std::vector<std::string_view> not_bound;
    std::unordered_map<std::string_view, std::size_t> index;
    std::size_t widest_host = 0;
    std::size_t widest_place = 0;
    bool bound = false;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto [found, fresh] = index.try_emplace(ranks[rank].host, hosts.size());
        if (fresh) {
            hosts.emplace_back(ranks[rank].host);
            ranks_of.emplace_back();
            not_bound.emplace_back(ranks[rank].not_bound);
        }
        ranks_of[found->second].push_back(static_cast<int>(rank));
        widest_host = std::max(widest_host, ranks[rank].host.size());
        widest_place = std::max(widest_place, ranks[rank].place.size());
        bound |= !ranks[rank].processors.empty();
    }

    std::string map =
        fmt::format("{} rank{} on {} host{}\n", ranks.size(), ranks.size() == 1 ? "" : "s", hosts.size(), hosts.size() == 1 ? "" : "s");
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        map += fmt::format("{:{}}  {}", hosts[host], widest_host, list_numbers("rank", ranks_of[host]));
        if (!not_bound[host].empty()) map += fmt::format("  not bound: {}", not_bound[host]);
        map += '\n';
    }
    if (!bound) return map;
    const std::size_t widest_rank = std::to_string(ranks.size() - 1).size();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const MappedRank& one = ranks[rank];
        map += fmt::format("rank {:<{}}  {:{}}  ", rank, widest_rank, one.host, widest_host);
        if (widest_place > 0) map += fmt::format("{:{}}  ", one.place, widest_place);
        map += one.processors.empty() ? std::string("not bound") : list_numbers("cpu", one.processors);
        map += '\n';
    }
    return map;
}

}  // namespace rollcall::launcher
