#include "bench/peers/peer_calls.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <rollcall/error.hpp>
#include <string_view>

#include "bench/cases/payload.hpp"
#include "bench/options/sweep.hpp"
#include "bench/peers/peer_plan.hpp"
#include "bench/ranks/operands.hpp"

namespace rollcall::bench {
namespace {

runtime::OperationKind kind_of(std::string_view operation) {
    const auto known = [&](const OperationName& one) { return one.name == operation; };
    return std::find_if(kOperationNames.begin(), kOperationNames.end(), known)->kind;
}

bool same_calls(const CellIdentity& a, const CellIdentity& b) { return a.bytes == b.bytes && a.pattern == b.pattern; }

}  // namespace

PeerCalls::PeerCalls(const std::vector<RawCell>& ours, const PeerSetup& setup) : setup_(setup) {
    for (const RawCell& cell : ours)
        if (std::none_of(cells_.begin(), cells_.end(), [&](const RawCell& known) { return same_calls(known.identity, cell.identity); }))
            cells_.push_back(cell);
    if (cells_.empty()) throw Error(ErrorCode::state, "the job ended well, but left no samples");
    std::vector<std::uint64_t> sizes;
    for (const RawCell& cell : cells_)
        if (std::find(sizes.begin(), sizes.end(), cell.identity.bytes) == sizes.end()) sizes.push_back(cell.identity.bytes);
    for (const std::uint64_t bytes : sizes) {
        std::vector<std::size_t> of_size;
        for (std::size_t cell = 0; cell < cells_.size(); ++cell)
            if (cells_[cell].identity.bytes == bytes) of_size.push_back(cell);
        calls_.insert(calls_.end(), setup.warmup, Call{of_size.front(), kWarmup});
        const std::vector<CallSample>& samples = cells_[of_size.front()].samples;
        for (std::size_t sample = 0; sample < samples.size(); ++sample)
            for (const std::size_t i : shuffled(of_size.size(), key_of({setup.seed, bytes}), samples[sample].iteration))
                calls_.push_back({of_size[i], sample});
    }
    require_short_plan(calls_.size(), ranks(), setup.distribution.has_value());
}

std::string PeerCalls::plan() const {
    const RawCell& first = cells_.front();
    const runtime::OperationKind operation = kind_of(first.identity.operation);
    const auto& distribution = setup_.distribution;
    std::string text =
        fmt::format("{}{} {} {} 0 {}{}\n", first.identity.operation, distribution ? "v" : "", first.setup.root,
                    setup_.wait == Compute::sleep ? 1 : 0, calls_.size(), setup_.in_first > 0 ? fmt::format(" {}", setup_.in_first) : "");
    const std::vector<Nanoseconds> balanced(static_cast<std::size_t>(ranks()));
    std::vector<Nanoseconds> waits;
    for (std::size_t number = 0; number < calls_.size(); ++number) {
        const Call& call = calls_[number];
        const RawCell& cell = cells_[call.cell];
        waits = call.sample == kWarmup ? balanced : cell.samples[call.sample].asked;
        for (Nanoseconds& wait : waits) wait += setup_.compute;
        text += fmt::format("{} {} {}", call_bytes(operation, cell.identity.bytes, ranks()), key_of({setup_.seed, number}),
                            fmt::join(waits, " "));
        if (distribution) text += fmt::format(" {}", fmt::join(call_sizes(operation, *distribution, cell.identity.bytes, ranks()), " "));
        text += '\n';
    }
    return text;
}

std::vector<RawCell> PeerCalls::cells(const std::string& peer, const std::string& transport, std::span<const double> times) const {
    std::vector<RawCell> measured = cells_;
    for (RawCell& cell : measured) {
        cell.identity.algorithm = peer;
        cell.identity.transport = transport;
        // MPI libraries buffer short messages only.
        cell.setup.model = Model::eager;
    }
    auto next = times.begin();
    for (const Call& call : calls_) {
        if (call.sample == kWarmup) {
            next += 2 * ranks();
            continue;
        }
        CallSample& sample = measured[call.cell].samples[call.sample];
        sample.start = setup_.compute;
        sample.first_data.clear();
        sample.predicted.clear();
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks()); ++rank) {
            sample.arrivals[rank] = static_cast<Nanoseconds>(*next++);
            sample.exits[rank] = static_cast<Nanoseconds>(*next++);
        }
    }
    return measured;
}

std::vector<RawCell> PeerCalls::measure(const Peer& peer, const EmulatedCluster* cluster, Timeout limit) const {
    return cells(peer.name, peer_transport(cluster), run_peer_plan(peer, ranks(), plan(), cluster, count(), limit));
}

void append(std::vector<RawCell>& all, const std::vector<RawCell>& more) {
    for (const RawCell& cell : more) {
        const auto known = std::find_if(all.begin(), all.end(), [&](const RawCell& one) {
            return same_calls(one.identity, cell.identity) && one.identity.operation == cell.identity.operation &&
                   one.identity.algorithm == cell.identity.algorithm && one.identity.transport == cell.identity.transport &&
                   one.identity.ranks == cell.identity.ranks && one.setup.model == cell.setup.model;
        });
        if (known == all.end()) {
            all.push_back(cell);
            continue;
        }
        for (CallSample sample : cell.samples) {
            sample.message_time = message_time_of(sample, cell.setup);
            known->samples.push_back(std::move(sample));
        }
        known->identity.iterations = known->samples.size();
    }
}

std::vector<RawCell> grouped(std::vector<RawCell> cells) {
    std::vector<RawCell> ordered;
    while (!cells.empty()) {
        const CellIdentity first = cells.front().identity;
        const auto rest =
            std::stable_partition(cells.begin(), cells.end(), [&](const RawCell& cell) { return same_calls(cell.identity, first); });
        std::move(cells.begin(), rest, std::back_inserter(ordered));
        cells.erase(cells.begin(), rest);
    }
    return ordered;
}

}  // namespace rollcall::bench
