/// \file
/// The communicators of one rank: those that exist, those that are being made, and what the rank must remember of those that it has
/// destroyed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <rollcall/error.hpp>

#include "runtime/engine/communicator_state.hpp"

namespace rollcall::runtime {

/// Knows no transport. Owner-only.
class Communicators {
  public:
    /// `rank` is this rank in a job of `size` ranks.
    Communicators(int rank, int size) : rank_(static_cast<std::uint64_t>(rank)), size_(static_cast<std::uint64_t>(size)) {}

    /// Returns a number for a communicator that this rank is about to make with other ranks. No rank gives a number twice, and each number
    /// is above the ids of all communicators that this rank has known. The highest number that a communicator's members give becomes its
    /// id. Therefore an unknown id below all expected numbers belongs to a communicator that was here and has been destroyed.
    std::uint64_t expect();
    /// The communicator for which this number was given has been added, or will never be. `id`: the id that it has, or would have had, if
    /// this rank knows it. It may be of a later turn than the number, and other ranks may have made the communicator.
    void stop_expecting(std::uint64_t number, std::optional<std::uint64_t> id = std::nullopt);

    /// A rank that has made the communicator already says that no operation of it from `from` on can succeed. Here it is still being made.
    void foretell(std::uint64_t id, std::uint64_t from, const Error& error);

    /// A rank says that no operation from `from` on can succeed of a communicator that was destroyed here.
    void fail_past(std::uint64_t id, std::uint64_t from, const Error& error);
    /// A failure that no caller here was told of, also if its communicator was destroyed: calls that do not match, or data that was not
    /// delivered after a call had handed it over. Failures that are excused do not count. Null: there is none.
    const Error* untold(const std::function<bool(const Error&)>& is_excused) const;

    void add(CommunicatorState& communicator);
    void remove(CommunicatorState& communicator);
    CommunicatorState* find(std::uint64_t id) const {
        const auto found = present_.find(id);
        return found == present_.end() ? nullptr : found->second;
    }
    /// Whether the communicator was here and has been destroyed, or will never be here.
    bool is_past(std::uint64_t id) const { return !find(id) && (turn_of(id) < lowest_turn_expected() || removed_.contains(id)); }

    template <class F>
    void for_each(F&& visit) const {
        for (const auto& [id, communicator] : present_) visit(*communicator);
    }

    /// What a destroyed communicator needs in order to answer probes: other ranks may have missed notices and signals of its last
    /// operations. The members have the meaning that they have in CommunicatorState.
    struct Past {
        std::uint64_t begun = 0;
        std::array<std::uint64_t, 2> signalled{};
        std::uint64_t broken_from = 0;
        std::unique_ptr<Error> broken;
    };
    /// Null: the communicator was never here, or was forgotten because so many were destroyed after it.
    const Past* past(std::uint64_t id) const {
        const auto found = past_.find(id);
        return found == past_.end() ? nullptr : &found->second;
    }
    /// The number of destroyed communicators that are remembered. A rank that waits for another in one of them asks within a fraction of a
    /// second.
    static constexpr std::size_t kRemembered = 4096;

    /// The number of communicators that were destroyed while others were expected, so that their ids alone do not tell the two apart.
    std::size_t ambiguous() const noexcept { return removed_.size(); }

  private:
    /// Ranks take turns with numbers: the ranks 0 to n-1 have the numbers 0 to n-1 in the first turn, and so on.
    std::uint64_t turn_of(std::uint64_t id) const noexcept { return id / size_; }
    void remember(std::uint64_t id, Past past);
    void note_untold(const Error& error);
    std::uint64_t lowest_turn_expected() const noexcept { return expected_.empty() ? next_turn_ : turn_of(expected_.front()); }

    std::uint64_t rank_, size_;
    std::unordered_map<std::uint64_t, CommunicatorState*> present_;
    std::uint64_t next_turn_ = 0;                ///< Above the turns of all communicators that were ever here.
    std::vector<std::uint64_t> expected_;        ///< Numbers given for communicators that are being made, in ascending order.
    std::unordered_set<std::uint64_t> removed_;  ///< Destroyed communicators whose turns may still come.
    struct Failure {
        std::uint64_t from;
        Error error;
    };
    std::unordered_map<std::uint64_t, Failure> foretold_;
    std::unordered_map<std::uint64_t, Past> past_;
    std::deque<std::uint64_t> past_order_;  ///< The oldest first.
    /// The first failure of a destroyed communicator that no caller here was told of. A mismatch goes before the loss of a rank.
    std::unique_ptr<Error> untold_of_past_;
};

}  // namespace rollcall::runtime
