/// \file
/// The communicators of one rank: those that are, those that are being made, and what must be known of those that were.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <rollcall/error.hpp>

#include "runtime/lane/communicator_state.hpp"

namespace rollcall::runtime {

/// Knows no transport. Owner-only.
class Communicators {
  public:
    /// Of this rank of a job of so many.
    Communicators(int rank, int size) : rank_(static_cast<std::uint64_t>(rank)), size_(static_cast<std::uint64_t>(size)) {}

    /// A number for a communicator that this rank is about to make with others. No rank brings it a second time, and it is
    /// above the ids of all communicators this rank has known. The highest number of a communicator's members becomes its
    /// id: so an unknown one below all that is expected was here, and is no more.
    std::uint64_t expect();
    /// The communicator that this number was brought for has been added, or will never be.
    void stop_expecting(std::uint64_t number);

    void add(CommunicatorState& communicator);
    void remove(CommunicatorState& communicator);
    CommunicatorState* find(std::uint64_t id) const {
        const auto found = present_.find(id);
        return found == present_.end() ? nullptr : found->second;
    }
    /// Whether the communicator was here, or will never be.
    bool is_past(std::uint64_t id) const { return !find(id) && (turn_of(id) < lowest_turn_expected() || removed_.contains(id)); }

    template <class F>
    void for_each(F&& visit) const {
        for (const auto& [id, communicator] : present_) visit(*communicator);
    }

    /// What is answered for a communicator that was: it may be the notices and signals of its last operations that others
    /// miss. Members as those of CommunicatorState.
    struct Past {
        std::uint64_t begun = 0;
        std::array<std::uint64_t, 2> signalled{};
        std::uint64_t broken_from = 0;
        std::unique_ptr<Error> broken;
    };
    /// Null: it has not been here, or so many have been since that it was forgotten.
    const Past* past(std::uint64_t id) const {
        const auto found = past_.find(id);
        return found == past_.end() ? nullptr : &found->second;
    }
    /// How many are remembered. Who waits for a rank in one of them asks it within a fraction of a second.
    static constexpr std::size_t kRemembered = 4096;

    /// Communicators that were removed while others are expected, whose ids do not tell which of the two they are.
    std::size_t ambiguous() const noexcept { return removed_.size(); }

  private:
    /// Ranks take turns with numbers: rank 0 to n-1 have those of the first turn, and so on.
    std::uint64_t turn_of(std::uint64_t id) const noexcept { return id / size_; }
    std::uint64_t lowest_turn_expected() const noexcept { return expected_.empty() ? next_turn_ : turn_of(expected_.front()); }

    std::uint64_t rank_, size_;
    std::unordered_map<std::uint64_t, CommunicatorState*> present_;
    std::uint64_t next_turn_ = 0;                ///< Above those of all communicators that were ever here.
    std::vector<std::uint64_t> expected_;        ///< Numbers brought for communicators that are being made, ascending.
    std::unordered_set<std::uint64_t> removed_;  ///< Communicators that were, in turns that may still come.
    std::unordered_map<std::uint64_t, Past> past_;
    std::deque<std::uint64_t> past_order_;  ///< Oldest first.
};

}  // namespace rollcall::runtime
