// Proficz, Ocetkiewicz: Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival patterns (2020), sections 4 and
// 5, after Marendic et al. (2016).
//
// Each round takes as long as the transfer of one segment. In a round, every process that is there looks for the smallest segment that
// neither it nor some other process has sent yet, and receives it from the earliest such process. The process that looks first is the sink.
// This is the root, or the earliest process as long as the root has not arrived. The sink takes any segment, even one that it has sent
// before, so that all segments end there. A segment that came in a round is sent only in a later round (state P'). Rounds in which only one
// process is there are skipped.
//
// Example (section 4.2): P = 4, N = 4, a = (0, 0, 0, 1.1), d = 1, root 0. Round 0: p1 -0-> p0, p0 -1-> p1. Round 1: p2 -0-> p0, p3 -1-> p1,
// p0 -2-> p2, p1 -2-> p3. Without P', p1 would send segment 1 in round 1, in which it receives it.
#include "collectives/schedules/clairvoyant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include <rollcall/error.hpp>

#include "collectives/schedules/active_set.hpp"

namespace rollcall::collectives {
namespace {

constexpr int kMost = 1 << 30;
constexpr Nanoseconds kLongest = Nanoseconds{1} << 62;

std::atomic<std::uint64_t> computed{0};

void check(const ReductionPlan& reduction) {
    const auto reject = [](const std::string& what) { throw Error(ErrorCode::invalid_argument, "schedule of a reduction: " + what); };
    const std::vector<Nanoseconds>& a = reduction.arrivals;
    if (a.empty() || a.size() > kMost) reject(fmt::format("{} processes; allowed: 1 to {}", a.size(), kMost));
    if (reduction.segments < 1 || reduction.segments > kMost)
        reject(fmt::format("{} segments; allowed: 1 to {}", reduction.segments, kMost));
    if (reduction.root < 0 || reduction.root >= static_cast<int>(a.size()))
        reject(fmt::format("root {}; allowed: 0 to {}", reduction.root, a.size() - 1));
    if (reduction.round_time < 1) reject(fmt::format("a round time of {} ns; allowed: above 0", reduction.round_time));
    const auto [first, last] = std::minmax_element(a.begin(), a.end());
    if (static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first) > static_cast<std::uint64_t>(kLongest))
        reject(fmt::format("arrivals at {} ns and {} ns; allowed: up to {} ns apart", *first, *last, kLongest));
}

}  // namespace

std::uint64_t schedules_computed() noexcept { return computed.load(std::memory_order_relaxed); }

Schedule clairvoyant(const ReductionPlan& reduction, PeerSearch& search) {
    check(reduction);
    computed.fetch_add(1, std::memory_order_relaxed);
    const int P = static_cast<int>(reduction.arrivals.size());
    const int N = reduction.segments;
    const int r = reduction.root;
    Schedule schedule{.processes = P, .segments = N, .root = r, .transfers = {}};
    // The number of transfers of a balanced reduction.
    schedule.transfers.reserve(static_cast<std::size_t>(P) * static_cast<std::size_t>(N));

    ActiveSet active(reduction.arrivals, reduction.round_time);
    std::vector<int> held(static_cast<std::size_t>(P), N);  // For each process, the number of segments that it has not sent.
    std::vector<int> order;
    while (active.next(held)) {
        order = active.members();
        if (const auto root = std::find(order.begin(), order.end(), r); root != order.end()) std::rotate(order.begin(), root, root + 1);
        search.begin_round(order);
        for (int place = 0; place < static_cast<int>(order.size()); ++place) {
            const Match match = search.match(place);
            if (match.segment < 0) continue;
            const int receiver = order[static_cast<std::size_t>(place)];
            const int sender = order[static_cast<std::size_t>(match.sender_place)];
            --held[static_cast<std::size_t>(sender)];
            if (match.was_given) ++held[static_cast<std::size_t>(receiver)];
            schedule.transfers.push_back({active.round(), sender, receiver, match.segment});
        }
        search.end_round();
    }
    schedule.rounds = schedule.transfers.empty() ? 0 : schedule.transfers.back().round + 1;
    schedule.idle_rounds = active.idle_rounds();
    return schedule;
}

Schedule clairvoyant(const ReductionPlan& reduction, SearchKind kind) {
    check(reduction);
    return clairvoyant(reduction, *make_search(kind, static_cast<int>(reduction.arrivals.size()), reduction.segments));
}

}  // namespace rollcall::collectives
