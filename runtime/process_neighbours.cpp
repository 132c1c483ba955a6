// The start of a process: what the cards of the other ranks say, and the memory that it shares with the ranks of its host.
#include <atomic>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "foundation/job_in_log.hpp"
#include "foundation/log.hpp"
#include "runtime/process.hpp"
#include "transports/process_memory.hpp"

namespace rollcall::runtime {

Process::Met Process::meet(const Card& mine, const bootstrap::Gathered& cards) {
    Met met;
    met.addresses.assign(transports_.size(), std::vector<std::span<const std::byte>>(cards.size()));
    std::unordered_map<std::string_view, int> first_on;
    std::unordered_map<std::uint64_t, int> clocks;
    for (std::size_t i = 0; i < cards.size(); ++i) {
        const int rank = static_cast<int>(i);
        const auto card = read_card(cards[i]);
        if (!card)
            throw Error(
                ErrorCode::bootstrap,
                fmt::format("rank {} of the job uses another version of Rollcall: build all programs of a job against the same version",
                            rank),
                rank);
        check_transports(mine, place().rank, *card, rank);
        if (rank == 0 && card->costs.size() == sizeof costs_) std::memcpy(&costs_, card->costs.data(), sizeof costs_);
        const bool on_own_host = card->host == mine.host, has_own_clock = card->clock == mine.clock;
        met.hosts.emplace_back(card->host);
        met.eager.push_back({card->allowance, card->accepts_eager_data});
        met.handles.push_back(card->node);
        met.memories.push_back(card->memory);
        for (std::size_t own = 0; own < transports_.size(); ++own) met.addresses[own][i] = card->addresses[own].bytes;
        // Hosts with one clock are containers of one kernel. Their ranks share its CPUs, even if the containers have different host names.
        if (on_own_host || has_own_clock) met.neighbours.push_back(parse_cpus(card->cpus));
        if (!on_own_host && has_own_clock) met.woken_by_kernel = transport().uses_tcp();
        hosts_.push_back(first_on.try_emplace(card->host, rank).first->second);
        clock_hosts_.push_back(clocks.try_emplace(card->clock, static_cast<int>(clocks.size())).first->second);
        if (lifelines_ && !on_own_host) lifelines_->add(rank, card->lifeline);
    }
    return met;
}

void Process::connect(const Met& met, const std::shared_ptr<const void>& storage) {
    for (std::size_t i = 0; i < transports_.size(); ++i) transports_[i]->connect(met.addresses[i], storage);
    const int own_host = hosts_[static_cast<std::size_t>(place().rank)];
    for (std::size_t peer = 0; peer < hosts_.size(); ++peer) {
        const int rank = static_cast<int>(peer);
        by_memory_.push_back(hosts_[peer] == own_host && transport().shares_memory_with(rank));
        const auto [allowance, accepts_data] = met.eager[peer];
        engine_->set_peer(rank, allowance, accepts_data, transport().uses_tcp() && !by_memory_.back());
    }
}

// A rank may leave as soon as it has started, and its memory goes with it. UCX 1.13 ends a process that opens such memory at this moment.
// So no rank goes on before the others of its host have opened its memory.
void Process::wait_for_neighbours() {
    for (std::size_t rank = 0; rank < hosts_.size(); ++rank)
        if (hosts_[rank] != static_cast<int>(rank)) return bootstrap_->barrier({}, kForever);
}

void Process::share_memory(const Met& met) {
    if (!segment_) return;
    const std::vector<node::Handle>& handles = met.handles;
    const node::Handle& mine = handles[static_cast<std::size_t>(place().rank)];
    if (mine.domain == 0) {
        if (segment_->why_not().empty())
            node_memory_in_words_ = "none: a rank of this node may not make a file of the size that is needed (ulimit -f)";
        return segment_->close();
    }
    std::vector<int> rank_on_node(handles.size(), -1);
    std::vector<node::Handle> regions;
    int owner = -1;
    for (std::size_t rank = 0; rank < handles.size(); ++rank) {
        if (handles[rank].domain != mine.domain) continue;
        if (owner < 0) owner = static_cast<int>(rank);
        rank_on_node[rank] = static_cast<int>(regions.size());
        regions.push_back(handles[rank]);
    }
    if (regions.size() < 2) {
        node_memory_in_words_ = "none, because " + why_alone(met);
        return segment_->close();
    }
    const std::size_t first = static_cast<std::size_t>(owner);
    const node::Shared shared = segment_->map(handles[first], owner, fmt::format("rank {} on host {}", owner, met.hosts[first]),
                                              node::geometry_of(regions), static_cast<int>(regions.size()));
    const int own = rank_on_node[static_cast<std::size_t>(place().rank)];
    node_ = std::make_unique<node::NodeMemory>(shared, own, std::move(rank_on_node), engine_->landing());
    engine_->set_node(node_.get());
    all_share_memory_ = regions.size() == handles.size();
    node_memory_in_words_ = fmt::format("shared by {} ranks", regions.size());
    if (!single_copy_) return;
    for (std::size_t rank = 0; rank < met.memories.size(); ++rank)
        if (node_->has(static_cast<int>(rank)) && !transport::can_read(met.memories[rank])) return;
    node_->set_reads_processes();
}

std::string Process::why_alone(const Met& met) const {
    const std::string& host = met.hosts[static_cast<std::size_t>(place().rank)];
    std::uint64_t on_host = 0;
    const auto part_of = [&](std::uint64_t local) { return settings_.node_ranks == 0 ? 0 : local / settings_.node_ranks; };
    for (std::size_t rank = 0; rank < met.handles.size(); ++rank) {
        if (met.hosts[rank] != host) continue;
        const bool is_in_part = part_of(on_host++) == part_of(static_cast<std::uint64_t>(place().local_rank));
        if (!is_in_part || static_cast<int>(rank) == place().rank) continue;
        if (met.handles[rank].domain == 0) return fmt::format("rank {} on this host can share none", rank);
        return fmt::format("rank {} on this host is in another PID or user namespace, or belongs to another user", rank);
    }
    return on_host == 1 ? "no other rank is on this host" : "ROLLCALL_NODE_RANKS makes this rank a node of its own";
}

void Process::find_sharing(const std::vector<node::Handle>& handles) {
    std::unordered_map<std::uint64_t, int> first_in;
    for (std::size_t i = 0; i < handles.size(); ++i) {
        const int rank = static_cast<int>(i);
        sharing_.push_back(handles[i].domain == 0 ? rank : first_in.try_emplace(handles[i].domain, rank).first->second);
    }
}

void Process::warn_of_limits(const std::vector<node::TooLong>& too_long) const {
    if (too_long.empty() || place().rank != 0) return;
    // A program may connect itself with other jobs again and again.
    static std::atomic_flag told;
    if (told.test_and_set()) return;
    constexpr double kMebi = 1 << 20;
    const node::TooLong& first = too_long.front();
    const std::size_t others = too_long.size() - 1;
    log_message(
        LogLevel::warn,
        "{}the {} ranks on the node of {}{} exchange messages instead of sharing memory: the memory would be a file of {:.1f} MiB, and "
        "rank {} may only make files of {:.1f} MiB. Raise this limit (ulimit -f), or set ROLLCALL_NODE_MEMORY=no to use messages without "
        "this warning",
        in_log(), first.ranks, name_of(first.limited),
        others == 0 ? "" : fmt::format(" (and those of {} other node{})", others, others == 1 ? "" : "s"),
        static_cast<double>(first.bytes) / kMebi, first.limited, static_cast<double>(first.limit) / kMebi);
}

}  // namespace rollcall::runtime
