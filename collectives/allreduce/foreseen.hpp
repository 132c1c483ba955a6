/// \file
/// What the allreduces that follow a schedule have in common. The schedule is made for the times at which ranks are expected.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "collectives/combining/carry_out.hpp"
#include "collectives/schedules/chunk_messages.hpp"

namespace rollcall::collectives {

struct ForeseenPart {
    std::vector<Share> segments;
    std::vector<Step> steps;  ///< What this rank does, in order.
};
using MakePart = ForeseenPart (*)(Operation& op, std::span<const Nanoseconds> arrivals);

/// Rank 0 tells all ranks when each rank is expected. Each rank makes its part of the schedule for these times, and carries it out when its
/// caller has arrived.
Task allreduce_foreseen(Operation& op, MakePart make);

/// Schedules are compared among at most so many ranks, because each rank computes all messages of each schedule.
inline constexpr int kMostCompared = 64;

/// The same with up to kMostCompared ranks. With more ranks it is a ring, which costs no rank more than its own messages.
Task allreduce_by_comparison(Operation& op, MakePart make);

/// The schedule whose end is predicted to be the earliest one. All ranks choose the same one.
class EarliestEnd {
  public:
    EarliestEnd(Operation& op, std::span<const Nanoseconds> arrivals) : op_(op), arrivals_(arrivals) {}

    /// The messages are those of all ranks. Of schedules that end at about the same time, the first one is kept.
    void consider(std::vector<Share> segments, std::vector<ChunkMessage> messages);
    /// Considers a ring, and, where some ranks come later than the others, schedules in which the others begin without them.
    void consider_ring_and_late_groups();
    /// Whether a schedule would be kept that ends at this time. If not, it need not be made.
    bool would_keep(Nanoseconds end) const;
    ForeseenPart part() const { return {segments_, steps_of(messages_, op_.rank())}; }

  private:
    std::vector<Share> equal_segments(int count) const;
    void consider_ring();
    void consider_late(std::span<const int> order, int late);
    void keep(std::vector<Share> segments, std::vector<ChunkMessage> messages, Nanoseconds end);

    Operation& op_;
    std::span<const Nanoseconds> arrivals_;
    const Nanoseconds last_ = *std::max_element(arrivals_.begin(), arrivals_.end());
    std::vector<Share> segments_;
    std::vector<ChunkMessage> messages_;  ///< At least those of this rank.
    Nanoseconds end_ = -1;                ///< -1: there is no schedule yet.
};

}  // namespace rollcall::collectives
