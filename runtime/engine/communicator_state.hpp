/// \file
/// What one rank knows of the operations of a communicator.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <rollcall/error.hpp>

#include "runtime/clock/common_clock.hpp"
#include "runtime/group/call.hpp"
#include "runtime/group/group.hpp"
#include "runtime/group/slots.hpp"
#include "runtime/node/layout.hpp"

namespace rollcall::runtime {

class Operation;

/// One rank's side of a communicator. `next_sequence` belongs to the thread that calls operations (one at a time for each communicator).
/// All members below it belong to the owner of the lane.
struct CommunicatorState {
    CommunicatorState(std::shared_ptr<const Group> its_group, int its_rank, Slots its_slots = {})
        : group(std::move(its_group)), rank(its_rank), slots(std::move(its_slots)) {}

    std::shared_ptr<const Group> group;
    int rank;
    const Slots slots;  ///< Those of this rank. The communicator of all ranks has none of its own.
    std::atomic<std::uint64_t> next_sequence{1};
    std::uint64_t agreements = 0;  ///< How often the caller has come to one (Agreements). Belongs to the thread that calls operations.

    std::uint64_t begun = 0;        ///< Highest sequence number begun here.
    std::vector<Call> history;      ///< The calls at the last sequence numbers, as a ring. Its size is a power of two.
    std::unique_ptr<Error> broken;  ///< Why no operation from `broken_from` on can succeed.
    std::uint64_t broken_from = 0;  ///< Earlier operations may succeed: all ranks go through with them.
    bool broken_told = false;       ///< A caller here was told of the failure.
    /// Why data was not delivered that a call had handed over. Null: that did not happen, or a later call has told it.
    std::unique_ptr<Error> undelivered;
    bool retired = false;  ///< The caller makes no more calls here. Deputies may still be under way.
    /// By operation: how long recent callers have waited that could have handed their data over, divided by what they expected
    /// (PartAlone::wait). At least 1.
    std::array<float, kOperationKinds> waits = filled_with_one();
    /// Converts the times that ranks tell each other. Null: the ranks have one clock (simulation).
    const CommonClock* clock = nullptr;

    /// Where each rank publishes in node memory: the first entry of the communicator's slots in its region; null: it is on another node.
    /// Empty: no operation has used node memory yet.
    std::vector<node::Entry*> places;
    /// The last call for which this rank published before there was an operation (ShortMove::Does::exchange).
    std::uint64_t shown_at_once = 0;

    /// Only in the communicator of a plan: what its algorithm keeps from one iteration to the next. The algorithm begins with null.
    std::optional<std::shared_ptr<void>> kept;

    /// Only there: the iteration that begins with its caller (Operation::await_caller()), until that has come or something fails.
    Operation* announced = nullptr;

    std::uint64_t turns_taken = 0;  ///< Number of operations begun here that use signals; see Operation::turn().
    std::uint64_t turns_ended = 0;  ///< The turn of the last such operation that has ended well.
    /// The sequence numbers of the operations in which this rank has signalled, for the last two turns.
    std::array<std::uint64_t, 2> signalled{};

    bool is_broken_at(std::uint64_t sequence) const noexcept { return broken && sequence >= broken_from; }

    static constexpr std::array<float, kOperationKinds> filled_with_one() {
        std::array<float, kOperationKinds> ones{};
        ones.fill(1);
        return ones;
    }

    static constexpr std::uint64_t kHistory = 64;
    void remember(std::uint64_t sequence, const Call& call) {
        if (history.size() < kHistory) [[unlikely]] {
            history.resize(std::min(kHistory, std::bit_ceil(sequence + 1)));
            history[sequence & (history.size() - 1)] = call;
            return;
        }
        history[sequence % kHistory] = call;
    }
    /// The call at this sequence number, or null when it is not known (no longer, or not yet).
    const Call* recall(std::uint64_t sequence) const noexcept {
        if (sequence > begun || sequence + history.size() <= begun || history.empty()) return nullptr;
        return &history[sequence & (history.size() - 1)];
    }
};

}  // namespace rollcall::runtime
