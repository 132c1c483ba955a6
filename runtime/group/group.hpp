/// \file
/// Who belongs to a communicator, and what one rank knows of its operations.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "runtime/clock/common_clock.hpp"
#include "runtime/group/call.hpp"

namespace rollcall::runtime {

class Operation;
struct EarlyMessage;

inline constexpr std::uint64_t kNoSlots = ~std::uint64_t{0};

/// The members of a communicator: the same on all of them, and never changed.
struct Group {
    std::uint64_t id = 0;
    std::string name;
    int size = 1;
    std::vector<int> world;                 ///< World rank of each member; empty: the identity.
    std::vector<std::uint64_t> first_slot;  ///< On each member's board; empty: slot 0 on all.
    bool has_slots = true;                  ///< False when some member had no slots left: notices go by message.

    int world_rank(int rank) const noexcept { return world.empty() ? rank : world[static_cast<std::size_t>(rank)]; }
    std::uint64_t slot_of(int on, int writer) const noexcept {
        return (first_slot.empty() ? 0 : first_slot[static_cast<std::size_t>(on)]) + static_cast<std::uint64_t>(writer);
    }
};

/// One rank's side of a communicator. `next_sequence` belongs to the thread that calls operations (one at a time for each
/// communicator); everything below it to the owner of the lane.
struct CommunicatorState {
    CommunicatorState(std::shared_ptr<const Group> its_group, int its_rank) : group(std::move(its_group)), rank(its_rank) {}

    std::shared_ptr<const Group> group;
    int rank;
    std::atomic<std::uint64_t> next_sequence{1};

    Operation* active = nullptr;    ///< Operations under way, linked by Operation::next_active.
    EarlyMessage* early = nullptr;  ///< Collective messages that no receive has claimed yet.
    std::uint64_t begun = 0;        ///< Highest sequence number begun here.
    std::vector<Call> history;      ///< What was called at the last sequence numbers, a ring.
    std::unique_ptr<Error> broken;  ///< Why no operation from `broken_from` on can succeed.
    std::uint64_t broken_from = 0;  ///< Earlier ones may: all ranks go through with them.
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
