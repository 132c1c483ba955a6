// What the tests of schedules have in common.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <random>
#include <string>
#include <vector>

#include "collectives/schedules/clairvoyant.hpp"

namespace rollcall::collectives {

/// Carries a schedule out with sets of contributions. Returns what is wrong with it; "": nothing. Up to 512 processes.
inline std::string fault_of(const Schedule& schedule) {
    const auto P = static_cast<std::size_t>(schedule.processes), N = static_cast<std::size_t>(schedule.segments);
    using Contributions = std::bitset<512>;
    if (P > Contributions().size()) return "too many processes for this test";
    std::vector<Contributions> has(P * N);
    for (std::size_t p = 0; p < P; ++p)
        for (std::size_t s = 0; s < N; ++s) has[p * N + s].set(p);
    const auto cell = [&](int process, int segment) { return static_cast<std::size_t>(process) * N + static_cast<std::size_t>(segment); };

    for (auto begin = schedule.transfers.begin(); begin != schedule.transfers.end();) {
        const auto end = std::find_if(begin, schedule.transfers.end(), [&](const Transfer& t) { return t.round != begin->round; });
        if (end != schedule.transfers.end() && end->round < begin->round) return "rounds are not in order";
        std::vector<int> sends(P, -1), receives(P, -1);
        std::vector<Contributions> payloads;
        for (auto t = begin; t != end; ++t) {
            const auto fault = [&](const char* what) {
                return fmt::format("round {}, {} -{}-> {}: {}", t->round, t->sender, t->segment, t->receiver, what);
            };
            if (t->sender == t->receiver) return fault("to itself");
            if (sends[static_cast<std::size_t>(t->sender)] >= 0) return fault("sends twice");
            if (receives[static_cast<std::size_t>(t->receiver)] >= 0) return fault("receives twice");
            sends[static_cast<std::size_t>(t->sender)] = receives[static_cast<std::size_t>(t->receiver)] = t->segment;
            Contributions& from = has[cell(t->sender, t->segment)];
            if (from.none()) return fault("has nothing to send");
            payloads.push_back(from);
            from.reset();
        }
        for (std::size_t p = 0; p < P; ++p)
            if (sends[p] >= 0 && sends[p] == receives[p])
                return fmt::format("round {}: {} sends segment {}, which comes in", begin->round, p, sends[p]);
        for (auto t = begin; t != end; ++t) {
            const Contributions& payload = payloads[static_cast<std::size_t>(t - begin)];
            Contributions& to = has[cell(t->receiver, t->segment)];
            if ((to & payload).any()) return fmt::format("round {}: {} gets a contribution twice", t->round, t->receiver);
            to |= payload;
        }
        begin = end;
    }
    for (std::size_t p = 0; p < P; ++p)
        for (std::size_t s = 0; s < N; ++s)
            if (has[p * N + s].count() != (p == static_cast<std::size_t>(schedule.root) ? P : 0))
                return fmt::format("in the end {} has {} contributions of segment {}", p, has[p * N + s].count(), s);
    return "";
}

/// Small, because builds with sanitizers try thousands; one of a hundred has rows of two words. With patterns of every kind: balanced,
/// whole rounds apart, anything, one far behind, rounds much shorter than gaps.
inline ReductionPlan random_reduction(std::mt19937_64& random) {
    const auto below = [&](std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); };
    ReductionPlan reduction;
    const std::int64_t P = 1 + below(below(8) ? 8 : 17);
    reduction.segments = static_cast<int>(below(100) ? 1 + below(8) : 60 + below(10));
    reduction.root = static_cast<int>(below(P));
    reduction.round_time = 1 + below(40);
    const std::int64_t kind = below(6), offset = below(1000) - 500;
    for (std::int64_t p = 0; p < P; ++p) {
        std::int64_t arrival = 0;
        if (kind == 1) arrival = reduction.round_time * below(P + 1);
        if (kind == 2) arrival = below(P * reduction.round_time);
        if (kind == 3) arrival = p == P - 1 ? reduction.segments * reduction.round_time : 0;
        if (kind == 4) arrival = below(P * 100);
        if (kind == 5) arrival = p % 2 ? below(reduction.round_time) : below(3 * reduction.round_time);
        reduction.arrivals.push_back(arrival + offset);
    }
    return reduction;
}

inline std::string describe(const ReductionPlan& reduction) {
    std::string text = fmt::format("{} segments to {}, {} ns each; arrivals", reduction.segments, reduction.root, reduction.round_time);
    for (const Nanoseconds arrival : reduction.arrivals) text += fmt::format(" {}", arrival);
    return text;
}

}  // namespace rollcall::collectives
