#include "collectives/arrivals/foresight.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>

#include "collectives/arrivals/roster.hpp"
#include "runtime/clock/common_clock.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::collectives {

using runtime::kUnknownTime;
using runtime::Operation;
using runtime::Pending;
using runtime::Task;

namespace {

/// What the leader of a plan keeps: by how much its caller came after the last of the others, in the last two iterations. One late arrival
/// says little of the next one, so only what both have in common is expected.
struct Lateness {
    std::array<Nanoseconds, 2> last{};  ///< From 0. An iteration that there was not counts as 0.

    Nanoseconds expected() const { return std::min(last[0], last[1]); }
};

Nanoseconds expected_lateness(Operation& op) {
    const auto& kept = op.communicator().kept;
    return kept && *kept ? std::static_pointer_cast<const Lateness>(*kept)->expected() : 0;
}

}  // namespace

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

Task decide_arrivals(Operation& op, std::vector<Nanoseconds>& times, Nanoseconds own_lateness) {
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
    // Without an arrival of its own, this rank has waited until it knows of all others.
    if (times[own] == kUnknownTime) times[own] = last + own_lateness;
    for (Nanoseconds& time : times) time = (time == kUnknownTime ? last : time) - now;
}

Task foresee_arrivals(Operation& op, int leader, Foresight& foresight) {
    std::vector<Nanoseconds>& times = foresight.arrivals;
    times.assign(static_cast<std::size_t>(op.size()), kUnknownTime);
    const transport::Bytes words{times.data(), times.size() * sizeof(times[0])};
    if (op.rank() == leader) {
        if (op.size() > 1) co_await decide_arrivals(op, times, expected_lateness(op));
        Nanoseconds last = 0;
        for (int rank = 0; rank < op.size(); ++rank)
            if (rank != leader) last = std::max(last, times[static_cast<std::size_t>(rank)]);
        foresight.last_of_others = op.now() + last;
        const bool all_together = std::adjacent_find(times.begin(), times.end(), std::not_equal_to<>()) == times.end();
        if (all_together) std::fill(times.begin(), times.end(), 0);
        const transport::ConstBytes message{words.data, all_together ? 0 : words.size};
        for (int i = 1; i < op.size(); ++i) foresight.telling.push_back(op.send((leader + i) % op.size(), message, kTimesStep));
    } else {
        const Pending told = op.receive(leader, words, kTimesStep);
        co_await announce_to(op, leader, &told);
        co_await told;
        if (times[0] == kUnknownTime) std::fill(times.begin(), times.end(), 0);  // the message was empty
    }
}

void remember_lateness(Operation& op, const Foresight& foresight) {
    std::optional<std::shared_ptr<void>>& kept = op.communicator().kept;
    if (!kept || foresight.last_of_others == kUnknownTime) return;
    if (!*kept) *kept = std::make_shared<Lateness>();
    auto& last = std::static_pointer_cast<Lateness>(*kept)->last;
    // Not the present time: the caller may have come while this rank computed its schedule.
    const Nanoseconds arrival = op.arrived_at() == kUnknownTime ? op.now() : op.arrived_at();
    last = {std::max<Nanoseconds>(arrival - foresight.last_of_others, 0), last[0]};
}

}  // namespace rollcall::collectives
