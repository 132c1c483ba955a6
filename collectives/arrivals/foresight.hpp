/// \file
/// The arrival times of all ranks, as all ranks know them, for schedules that every rank computes by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <rollcall/time.hpp>

#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// The step of the messages that carry the times. (Data uses other steps.)
inline constexpr std::uint64_t kTimesStep = 0;

/// About how long a message of so many bytes takes between ranks of this call, by the job's costs. At least 1 ns, and the same on all
/// ranks.
Nanoseconds foreseen_time(runtime::Operation& op, std::uint64_t bytes);

/// Into how many pieces at most elements are cut for such a schedule: the time to compute it grows with the number of pieces.
inline constexpr std::uint64_t kMostForeseenPieces = 256;

/// The same for a schedule whose time also grows with the number of ranks. With 64 ranks and 256 pieces a schedule takes 2 ms, and with
/// more ranks fewer pieces take the same time, up to 2048 ranks. (1024 ranks and 256 pieces took 29 ms.)
constexpr std::uint64_t most_foreseen_pieces(int ranks) {
    constexpr std::uint64_t kOfAllRanks = 64 * kMostForeseenPieces, kLeast = 8;
    return std::clamp(kOfAllRanks / static_cast<std::uint64_t>(ranks), kLeast, kMostForeseenPieces);
}

/// Decides at this rank when each rank arrives, by rank, in ns from the time of the decision on. Ranks that have arrived have 0. Ends as
/// soon as each other rank has arrived or is predicted, or this rank's caller has arrived. Another rank of which nothing is known then
/// counts as the last one. If nothing is known of this rank's own caller, it counts as `own_lateness` after the last of the others. `times`
/// has an element for each rank.
runtime::Task decide_arrivals(runtime::Operation& op, std::vector<Nanoseconds>& times, Nanoseconds own_lateness = 0);

struct Foresight {
    /// By rank, in ns from the time of the decision on. Ranks that had arrived by then have 0. If all are expected at the same time, all
    /// have 0. The same on all ranks.
    std::vector<Nanoseconds> arrivals;
    std::vector<runtime::Pending> telling;  ///< At the leader: sends that must be awaited in the end, while `arrivals` stays in place.
    /// At the leader: when the last of the others comes, on the clock of now(). Elsewhere kUnknownTime.
    Nanoseconds last_of_others = runtime::kUnknownTime;
};

/// The leader decides from what its board shows, as soon as it knows of all other ranks or its own caller arrives. Another rank without a
/// prediction counts as the last one. In a plan, a leader without a prediction counts as late as it was in both of the last two iterations.
/// The leader tells the decision to all other ranks, which takes no bytes if all are expected at the same time. They tell the leader when
/// they expect to arrive, and that they have arrived. The caller of this rank need not have come.
runtime::Task foresee_arrivals(runtime::Operation& op, int leader, Foresight& foresight);

/// To be called when this rank's caller has arrived. In a plan, the leader remembers how late it was. (This is what the algorithm keeps
/// from one iteration to the next.)
void remember_lateness(runtime::Operation& op, const Foresight& foresight);

}  // namespace rollcall::collectives
