/// \file
/// Clairvoyant: a schedule of a segmented reduction for processes that arrive at known times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <rollcall/time.hpp>

#include "collectives/schedules/search.hpp"

namespace rollcall::collectives {

/// A segment goes from one process to another, which combines it with its own.
struct Transfer {
    std::int64_t round;  ///< Counted from 0, the round in which the first process arrives.
    int sender, receiver;
    int segment;

    bool operator==(const Transfer&) const = default;
};

/// The reduction for which a schedule is wanted. The letters are those of the paper.
struct ReductionPlan {
    std::vector<Nanoseconds> arrivals;  ///< a: when each process arrives, by any clock that is the same for all.
    int segments = 1;                   ///< N, from 1.
    int root = 0;                       ///< r
    Nanoseconds round_time = 1;         ///< d, above 0: about the time that the transfer of a segment takes.
};

struct Schedule {
    int processes = 0, segments = 0, root = 0;
    std::int64_t rounds = 0;       ///< The number of rounds up to the last transfer.
    std::int64_t idle_rounds = 0;  ///< Those of them that were skipped, because only one process was there.
    /// Sorted by round; within a round, in the order in which the receivers were considered.
    std::vector<Transfer> transfers;
};

/// Computes the schedule. In each round a process sends at most one segment and receives at most one. It sends what it had when the round
/// began. In the end `root` has all segments, and each contribution is contained once. The order of combination is arbitrary, so the
/// operation must be commutative. The result is the same for every search and wherever it is computed, because only integers are compared.
///
/// Throws Error{invalid_argument} if the reduction is not as its fields say, has more than 2^30 processes or segments, or arrivals more
/// than 2^62 ns apart. Takes O(R P N / 64 log P) time with the segment tree, for R rounds that are not idle.
Schedule clairvoyant(const ReductionPlan& reduction, SearchKind kind = SearchKind::segment_tree);

/// The same with the caller's search. The search must be new, and for the same numbers of processes and segments.
Schedule clairvoyant(const ReductionPlan& reduction, PeerSearch& search);

/// How many schedules this process has computed so far. It shows when that happens.
std::uint64_t schedules_computed() noexcept;

}  // namespace rollcall::collectives
