// Clairvoyant reduce. J. Proficz and K. M. Ocetkiewicz, "Improving Clairvoyant: reduction algorithm resilient to imbalanced process arrival
// patterns", 2020, after Marendic et al., 2016.
//
// Idea: from the times at which ranks are expected all compute the same schedule (collectives/schedules/clairvoyant.hpp): in each round
// those who are there by then exchange pieces, so that what early ranks bring has been combined when the last one comes, and then takes
// about one message. The root knows the times from its board, and tells them to all, before they arrive where the call is planned. Who is
// not expected counts as the last one. The schedule decides only who sends what to whom: nobody waits for a time.
//
// Example, 4 ranks, 4 pieces, root 0, rank 3 late: round by round in collectives/schedules/clairvoyant.cpp.
#include <algorithm>
#include <optional>
#include <vector>

#include "collectives/combining.hpp"
#include "collectives/reduce/reduce.hpp"
#include "collectives/relay.hpp"
#include "collectives/roster.hpp"
#include "collectives/schedules/steps.hpp"
#include "runtime/clock/common_clock.hpp"

namespace rollcall::collectives {
namespace {

using runtime::kUnknownTime;
using transport::Bytes;
using transport::ConstBytes;

constexpr std::uint64_t kTimes = 0, kRounds = 1;

// About what a message takes over a network of 10 Gbit/s. It only says how many rounds apart two arrivals are.
constexpr double kMessage = 10'000, kByte = 0.8;
/// The schedule is computed by every rank, in time that grows with the pieces.
constexpr std::uint64_t kMostPieces = 256;

/// At the root: when each rank arrives, as far as is known when all are known, or when its own caller arrives.
Task foresee(Operation& op, std::vector<Nanoseconds>& times) {
    runtime::Arrivals& arrivals = op.arrivals();
    std::vector<bool> has_arrived(times.size());
    const auto own = static_cast<std::size_t>(op.rank());
    co_await op.until([&] {
        for (const auto& [rank, when] : arrivals.take_predictions()) times[static_cast<std::size_t>(rank)] = when;
        for (const int rank : arrivals.take()) has_arrived[static_cast<std::size_t>(rank)] = true;
        const auto unknown = [&](std::size_t rank) { return rank != own && !has_arrived[rank] && times[rank] == kUnknownTime; };
        bool all_known = true;
        for (std::size_t rank = 0; rank < times.size(); ++rank) all_known = all_known && !unknown(rank);
        return all_known || op.has_arrived();
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

}  // namespace

Task reduce_clairvoyant(Operation& op) {
    const bool is_root = op.rank() == op.root();
    const auto contribution = op.arguments().contribution;
    std::vector<Nanoseconds> times(static_cast<std::size_t>(op.size()), kUnknownTime);
    const Bytes words{times.data(), times.size() * sizeof(times[0])};
    std::vector<Pending> telling;
    if (is_root) {
        if (op.size() > 1) co_await foresee(op, times);
        for (int i = 1; i < op.size(); ++i) telling.push_back(op.send((op.rank() + i) % op.size(), words, kTimes));
    } else {
        const Pending told = op.receive(op.root(), words, kTimes);
        co_await announce_to_root(op, &told);
        co_await told;
    }
    co_await op.arrival();
    if (op.size() == 1) {
        co_await copy_own(op, op.arguments().data, contribution);
        co_return;
    }

    const std::uint64_t asked = op.arguments().segment_bytes;
    const std::uint64_t least = (contribution.size + kMostPieces - 1) / kMostPieces;
    const auto& combiner = op.arguments().combiner;
    const std::uint64_t segment =
        asked ? combiner.whole_elements(std::max(asked, least + combiner.element_bytes)) : std::max<std::uint64_t>(contribution.size, 1);
    const std::uint64_t pieces = segment_count(contribution.size, segment);
    const auto piece_of = [&](auto bytes, std::uint64_t number) {
        return runtime::slice(bytes, number * segment, std::min(segment, bytes.size - number * segment));
    };
    const Schedule schedule = clairvoyant({.arrivals = times,
                                           .segments = static_cast<int>(pieces),
                                           .root = op.root(),
                                           .round_time = static_cast<Nanoseconds>(kMessage + kByte * static_cast<double>(segment))});

    std::optional<Scratch> scratch;
    if (!is_root) scratch.emplace(contribution.size, contribution);
    const Bytes own = is_root ? op.arguments().data : scratch->bytes();
    const Scratch received(std::min(segment, contribution.size), contribution);
    std::vector<bool> is_touched(pieces);  // else what this rank has of it is its contribution
    std::vector<Pending> sending(pieces);
    const auto mine = [&](std::uint64_t number) {
        return is_touched[number] ? ConstBytes(piece_of(own, number)) : piece_of(contribution, number);
    };
    for (const Step& step : steps_of(schedule, op.rank())) {
        const std::uint64_t number = step.segment, tag = kRounds + static_cast<std::uint64_t>(step.round);
        if (step.kind == Step::send) {
            sending[number] = op.send(step.peer, mine(number), tag);
            continue;
        }
        const Bytes into = piece_of(own, number);
        co_await sending[number];
        if (step.kind == Step::combine) {
            const Bytes come = runtime::slice(received.bytes(), 0, into.size);
            co_await op.receive(step.peer, come, tag);
            co_await op.combine(into, mine(number), come);
        } else {
            co_await op.receive(step.peer, into, tag);
        }
        is_touched[number] = true;
    }
    co_await op.all_of(sending);
    co_await op.all_of(telling);
}

}  // namespace rollcall::collectives
