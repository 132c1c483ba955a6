#include "collectives/arrivals/foresight.hpp"

#include <algorithm>

#include "collectives/arrivals/roster.hpp"
#include "runtime/clock/common_clock.hpp"
#include "runtime/lane/publication.hpp"

namespace rollcall::collectives {

using runtime::kUnknownTime;
using runtime::Operation;
using runtime::Pending;
using runtime::Task;

Nanoseconds foreseen_time(Operation& op, std::uint64_t bytes) {
    const Costs& costs = op.costs();
    const bool on_one_node = runtime::are_on_one_node(op);
    const Nanoseconds latency = on_one_node ? costs.node_latency : costs.network_latency;
    // Without floating point, so that all ranks get the same number. Costs of a MiB are below 2^43 ns.
    const auto mebibyte = static_cast<std::uint64_t>(on_one_node ? costs.node_mebibyte : costs.network_mebibyte);
    constexpr std::uint64_t kMebibyte = 1 << 20;
    const std::uint64_t of_bytes = bytes / kMebibyte * mebibyte + bytes % kMebibyte * mebibyte / kMebibyte;
    return std::max<Nanoseconds>(latency + static_cast<Nanoseconds>(of_bytes), 1);
}

Task decide_arrivals(Operation& op, std::vector<Nanoseconds>& times) {
    std::fill(times.begin(), times.end(), kUnknownTime);
    runtime::Arrivals& arrivals = op.arrivals();
    std::vector<bool> has_arrived(times.size());
    const auto own = static_cast<std::size_t>(op.rank());
    std::size_t unknown = times.size() - 1;
    const auto is_unknown = [&](std::size_t rank) { return rank != own && !has_arrived[rank] && times[rank] == kUnknownTime; };
    const auto learn = [&](int of, auto&& set) {
        const auto rank = static_cast<std::size_t>(of);
        const bool was_unknown = is_unknown(rank);
        set(rank);
        unknown = unknown - (was_unknown ? 1 : 0) + (is_unknown(rank) ? 1 : 0);
    };
    co_await op.until([&] {
        for (const auto& prediction : arrivals.take_predictions())
            learn(prediction.rank, [&](std::size_t rank) { times[rank] = prediction.when; });
        for (const int of : arrivals.take()) learn(of, [&](std::size_t rank) { has_arrived[rank] = true; });
        return unknown == 0 || op.has_arrived();
    });
    const auto clock = op.communicator().clock;
    const auto common = [&](Nanoseconds time) { return clock ? clock->at(time) : time; };
    const Nanoseconds now = common(op.now());
    has_arrived[own] = op.has_arrived();
    if (!has_arrived[own] && op.predicted_arrival() != kUnknownTime) times[own] = common(op.predicted_arrival());
    Nanoseconds last = now;
    for (std::size_t rank = 0; rank < times.size(); ++rank) {
        if (has_arrived[rank]) times[rank] = now;
        if (times[rank] != kUnknownTime) last = std::max(last, times[rank] = std::max(times[rank], now));
    }
    for (Nanoseconds& time : times) time = (time == kUnknownTime ? last : time) - now;
}

Task foresee_arrivals(Operation& op, int leader, Foresight& foresight) {
    foresight.arrivals.assign(static_cast<std::size_t>(op.size()), kUnknownTime);
    const transport::Bytes words{foresight.arrivals.data(), foresight.arrivals.size() * sizeof(foresight.arrivals[0])};
    if (op.rank() == leader) {
        if (op.size() > 1) co_await decide_arrivals(op, foresight.arrivals);
        for (int i = 1; i < op.size(); ++i) foresight.telling.push_back(op.send((leader + i) % op.size(), words, kTimesStep));
    } else {
        const Pending told = op.receive(leader, words, kTimesStep);
        co_await announce_to(op, leader, &told);
        co_await told;
    }
}

}  // namespace rollcall::collectives
