/// \file
/// What one rank knows of a communicator's operations.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <rollcall/error.hpp>

#include "runtime/clock/common_clock.hpp"
#include "runtime/group/call.hpp"
#include "runtime/group/group.hpp"

namespace rollcall::runtime {

/// One rank's side of a communicator. `next_sequence` belongs to the thread that calls operations (one at a time for each
/// communicator); everything below it to the owner of the lane.
struct CommunicatorState {
    CommunicatorState(std::shared_ptr<const Group> its_group, int its_rank) : group(std::move(its_group)), rank(its_rank) {}

    std::shared_ptr<const Group> group;
    int rank;
    std::atomic<std::uint64_t> next_sequence{1};

    std::uint64_t begun = 0;        ///< Highest sequence number begun here.
    std::vector<Call> history;      ///< What was called at the last sequence numbers, a ring.
    std::unique_ptr<Error> broken;  ///< Why no operation from `broken_from` on can succeed.
    std::uint64_t broken_from = 0;  ///< Earlier ones may: all ranks go through with them.
    bool broken_told = false;       ///< A caller here was told of it.
    bool retired = false;           ///< Nobody here will call anything more; parts of calls go on without their callers.
    /// What times that its ranks tell each other are converted by. Null: they have one clock (simulation).
    const CommonClock* clock = nullptr;

    std::uint64_t turns_taken = 0;  ///< Operations begun that use signals; see Operation::turn().
    std::uint64_t turns_ended = 0;  ///< The last of them that has ended well.
    /// The sequence numbers of those in which this rank has signalled, in the last two turns.
    std::array<std::uint64_t, 2> signalled{};

    bool is_broken_at(std::uint64_t sequence) const noexcept { return broken && sequence >= broken_from; }

    static constexpr std::uint64_t kHistory = 64;
    void remember(std::uint64_t sequence, const Call& call) {
        if (history.size() < kHistory) history.resize(std::min(kHistory, std::bit_ceil(sequence + 1)));
        history[sequence % history.size()] = call;
    }
    /// What was called here at this sequence number, or null when it is not known (any more, or yet).
    const Call* recall(std::uint64_t sequence) const noexcept {
        if (sequence > begun || sequence + history.size() <= begun || history.empty()) return nullptr;
        return &history[sequence % history.size()];
    }
};

}  // namespace rollcall::runtime
