#include "collectives/allreduce/foreseen.hpp"

#include <algorithm>
#include <utility>

#include "collectives/allreduce/allreduce.hpp"
#include "collectives/arrivals/foresight.hpp"
#include "collectives/schedules/late_group.hpp"
#include "collectives/schedules/pre_reduced_ring.hpp"
#include "collectives/schedules/predicted_end.hpp"
#include "collectives/schedules/straggler.hpp"

namespace rollcall::collectives {
namespace {

/// So many of the largest gaps between arrivals are considered as the one before the late ranks.
constexpr std::size_t kMostGaps = 3;
/// Another schedule must be predicted to be faster by so much (one part in this many), after the last arrival. Predictions are not exact.
constexpr Nanoseconds kLeastGain = 20;
/// More chunks fill the ports better, but each costs a message, and time to compute the schedule.
constexpr int kChunksEach = 4, kMostChunks = 128;

/// The ranks behind a gap count as late together if they come within this part (one in so many) of the time that all elements take. If they
/// come one by one, a schedule for late ranks keeps some of them waiting that could do more.
constexpr Nanoseconds kTogether = 4;

struct Gap {
    Nanoseconds length;
    int late;  ///< The number of ranks behind it.
};

/// Gaps before ranks that come within this time.
std::vector<Gap> largest_gaps(std::span<const Nanoseconds> arrivals, std::span<const int> order, Nanoseconds within) {
    const auto arrival = [&](std::size_t place) { return arrivals[static_cast<std::size_t>(order[place])]; };
    std::vector<Gap> gaps;
    for (std::size_t place = 1; place < order.size(); ++place)
        if (const Nanoseconds length = arrival(place) - arrival(place - 1);
            length > 0 && arrival(order.size() - 1) - arrival(place) <= within)
            gaps.push_back({length, static_cast<int>(order.size() - place)});
    std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& one, const Gap& other) { return one.length > other.length; });
    if (gaps.size() > kMostGaps) gaps.resize(kMostGaps);
    return gaps;
}

}  // namespace

Task allreduce_foreseen(Operation& op, MakePart make) {
    const auto data = op.arguments().data;
    Foresight foresight;
    co_await foresee_arrivals(op, 0, foresight);
    if (op.size() == 1) {
        co_await op.arrival();
        co_await copy_own(op, data, op.arguments().contribution);
        co_return;
    }
    const ForeseenPart part = make(op, foresight.arrivals);
    co_await op.arrival();
    remember_lateness(op, foresight);
    co_await carry_out(op, part.steps, part.segments, data, kTimesStep + 1);
    co_await op.all_of(foresight.telling);
}

Task allreduce_by_comparison(Operation& op, MakePart make) {
    if (op.size() <= kMostCompared) {
        co_await allreduce_foreseen(op, make);
    } else {
        co_await op.arrival();
        co_await allreduce_ring(op);
    }
}

bool EarliestEnd::would_keep(Nanoseconds end) const { return end_ < 0 || end < end_ - (end_ - last_) / kLeastGain; }

void EarliestEnd::keep(std::vector<Share> segments, std::vector<ChunkMessage> messages, Nanoseconds end) {
    end_ = end;
    segments_ = std::move(segments);
    messages_ = std::move(messages);
}

void EarliestEnd::consider(std::vector<Share> segments, std::vector<ChunkMessage> messages) {
    const Nanoseconds end = predicted_end(messages, arrivals_, foreseen_time(op_, segments[0].size()));
    if (would_keep(end)) keep(std::move(segments), std::move(messages), end);
}

std::vector<Share> EarliestEnd::equal_segments(int count) const {
    std::vector<Share> segments;
    for (int number = 0; number < count; ++number) segments.push_back(share_of(op_, number, count));
    return segments;
}

void EarliestEnd::consider_ring() {
    const std::vector<Nanoseconds> balanced(arrivals_.size(), 0);
    std::vector<Share> segments = equal_segments(op_.size());
    if (*std::min_element(arrivals_.begin(), arrivals_.end()) < last_) return consider(std::move(segments), pre_reduced_ring(balanced, 1));
    // As in every call without a plan. All ports are then always busy, so that the end is known without the messages of other ranks.
    const Nanoseconds end = last_ + 2 * (op_.size() - 1) * foreseen_time(op_, segments[0].size());
    keep(std::move(segments), pre_reduced_ring(balanced, 1, op_.rank()), end);
}

void EarliestEnd::consider_ring_and_late_groups() {
    consider_ring();
    const std::vector<int> order = order_of_arrival(arrivals_);
    const Nanoseconds within = foreseen_time(op_, op_.arguments().contribution.size) / kTogether;
    for (const Gap& gap : largest_gaps(arrivals_, order, within)) consider_late(order, gap.late);
}

void EarliestEnd::consider_late(std::span<const int> order, int late) {
    const int P = op_.size();
    if (late == 1) {
        StragglerSchedule schedule = straggler_allreduce(P, order.back());
        for (ChunkMessage& message : schedule.late) message.round += schedule.early_rounds;
        schedule.early.insert(schedule.early.end(), schedule.late.begin(), schedule.late.end());
        consider(equal_segments(schedule.chunks), std::move(schedule.early));
    }
    const int most = std::clamp(kMostChunks / P, 1, kChunksEach);
    consider(equal_segments(P), late_group_allreduce(order, late, 1));
    if (most > 1) consider(equal_segments(P * most), late_group_allreduce(order, late, most));
}

}  // namespace rollcall::collectives
