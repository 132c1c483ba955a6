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
    std::int64_t round;  ///< From 0, in which the first process arrives.
    int sender, receiver;
    int segment;

    bool operator==(const Transfer&) const = default;
};

/// What is to be reduced.
struct ReductionPlan {
    std::vector<Nanoseconds> arrivals;  ///< a: of each process, by any clock that is the same for all.
    int segments = 1;                   ///< N, from 1.
    int root = 0;                       ///< r
    Nanoseconds round_time = 1;         ///< d, above 0: about what the transfer of a segment takes.
};

struct Schedule {
    int processes = 0, segments = 0, root = 0;
    std::int64_t rounds = 0;       ///< Up to the last transfer.
    std::int64_t idle_rounds = 0;  ///< Of these, skipped because only one process was there.
    /// By round; within a round by the order in which the receivers were considered.
    std::vector<Transfer> transfers;
};

/// In each round a process sends at most one segment and receives at most one, and sends what it had when the round began.
/// In the end `root` has all segments, with each contribution once. The combination's order is arbitrary, so the operation must
/// be commutative. The result is the same for every search, and the same wherever it is computed: only integers are compared.
///
/// Throws Error{invalid_argument} where the reduction is not as its fields say, has more than 2^30 processes or segments, or arrivals more
/// than 2^62 ns apart. O(R P N / 64 log P) time with the segment tree, for R rounds that are not idle.
Schedule clairvoyant(const ReductionPlan& reduction, SearchKind kind = SearchKind::segment_tree);

/// The same with the caller's search, which must be new, for as many processes and segments.
Schedule clairvoyant(const ReductionPlan& reduction, PeerSearch& search);

}  // namespace rollcall::collectives
