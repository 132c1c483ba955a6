/// \file
/// The order in which the root serves the other ranks, and what they tell it for this.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "collectives/blocks/blocks.hpp"
#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// In which order ranks that have arrived are served.
enum class Arrived { first_come_first_served, by_rank };

/// The ranks other than the root that are still to be served, in the order in which to serve them as far as is known now. First come the
/// ranks that have arrived, either first come, first served, or by rank from the root on. Then come the ranks with predictions, the
/// earliest first. The other ranks come last, by rank from the root on. Each step and each new notice costs O(log n).
class Roster {
  public:
    Roster(int size, int root, Arrived order = Arrived::first_come_first_served);
    /// Serves only these ranks.
    Roster(int size, int root, std::span<const int> served, Arrived order);
    Roster(const Roster&) = delete;
    Roster& operator=(const Roster&) = delete;

    void arrived(int rank);
    /// kUnknownTime: the rank no longer has a prediction.
    void predicted(int rank, Nanoseconds when);
    /// Takes in everything that the board shows.
    void update(runtime::Arrivals& arrivals);

    bool empty() const { return remaining_.empty(); }
    /// Whether the rank to be served next has arrived.
    bool someone_waits() const { return !empty() && std::get<Knowledge>(*remaining_.begin()) == Knowledge::arrived; }
    /// Whether each remaining rank has arrived or has a prediction.
    bool all_known() const { return unknown_ == 0; }
    /// Also valid for a rank that was taken.
    bool has_arrived(int rank) const { return has_arrived_[static_cast<std::size_t>(rank)]; }
    /// Removes and returns the rank to be served next.
    int take();

  private:
    enum class Knowledge { arrived, predicted, unknown };
    /// What is known of a rank, its order among the ranks of which the same is known, and the rank.
    using Place = std::tuple<Knowledge, Nanoseconds, int>;
    void move(int rank, Knowledge knowledge, Nanoseconds order);
    Nanoseconds distance(int rank) const;

    int size_, root_;
    Arrived order_;
    std::set<Place> remaining_;
    std::vector<std::set<Place>::const_iterator> place_of_;  ///< The end iterator: the rank was taken.
    std::vector<bool> has_arrived_;
    Nanoseconds arrivals_ = 0;
    int unknown_ = 0;
};

/// Writes on the board of rank `to` when this rank expects to arrive, whenever that changes, and that it has arrived. Ends after that, or
/// earlier when `unless` has ended.
runtime::Task announce_to(runtime::Operation& op, int to, const runtime::Pending* unless = nullptr);
inline runtime::Task announce_to_root(runtime::Operation& op, const runtime::Pending* unless = nullptr) {
    return announce_to(op, op.root(), unless);
}

/// Waits for this rank's caller. Then sends each rank of the roster what `message` gives for it, in one message of step 0. Ranks that have
/// arrived come first, in the order of the roster. While none of them waits, one message at a time is sent ahead to the rank that is
/// expected next. If it finds no room there, it stays here while ranks that arrive are served.
Task serve_as_they_arrive(Operation& op, Roster& roster, const std::function<transport::ConstBytes(int rank)>& message);
/// The same for all other ranks.
Task serve_as_they_arrive(Operation& op, BlockFor block, Arrived order);

}  // namespace rollcall::collectives
