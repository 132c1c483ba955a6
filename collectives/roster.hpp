/// \file
/// Who is to be served next: the order the root keeps, and what the others tell it.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "collectives/blocks.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::collectives {

/// In what order those are served who have arrived.
enum class Arrived { first_come_first_served, by_rank };

/// The ranks other than the root that are still to be served, in the order in which to serve them as far as is known now:
/// those who have arrived, first come, first served, or by rank from the root on; then those who are predicted to, the earliest first; then
/// the others by rank, from the root on. O(log n) for each step and each piece of news.
class Roster {
  public:
    Roster(int size, int root, Arrived order = Arrived::first_come_first_served);
    Roster(const Roster&) = delete;
    Roster& operator=(const Roster&) = delete;

    void arrived(int rank);
    /// kUnknownTime: no longer predicted.
    void predicted(int rank, Nanoseconds when);
    /// All that the board shows.
    void update(runtime::Arrivals& arrivals);

    bool empty() const { return remaining_.empty(); }
    /// Whether the next one has arrived.
    bool someone_waits() const { return !empty() && std::get<Knowledge>(*remaining_.begin()) == Knowledge::arrived; }
    /// Whether each of those that remain has arrived or is predicted.
    bool all_known() const { return unknown_ == 0; }
    /// Also of a rank that was taken.
    bool has_arrived(int rank) const { return has_arrived_[static_cast<std::size_t>(rank)]; }
    /// Takes out the next one.
    int take();

  private:
    enum class Knowledge { arrived, predicted, unknown };
    /// What is known, the order among those of whom the same is known, the rank.
    using Place = std::tuple<Knowledge, Nanoseconds, int>;
    void move(int rank, Knowledge knowledge, Nanoseconds order);
    Nanoseconds distance(int rank) const;

    int size_, root_;
    Arrived order_;
    std::set<Place> remaining_;
    std::vector<std::set<Place>::const_iterator> place_of_;  ///< The end: taken.
    std::vector<bool> has_arrived_;
    Nanoseconds arrivals_ = 0;
    int unknown_ = 0;
};

/// Tells the board of rank `to` when this rank expects to arrive, as often as that changes, and that it has arrived. Ends with
/// that, or earlier when `unless` has ended.
runtime::Task announce_to(runtime::Operation& op, int to, const runtime::Pending* unless = nullptr);
inline runtime::Task announce_to_root(runtime::Operation& op, const runtime::Pending* unless = nullptr) {
    return announce_to(op, op.root(), unless);
}

/// Waits for this rank's caller; then sends each other rank what `block` gives for it, in one message of step 0: those who have arrived
/// first, in the order of the roster, and while nobody waits one at a time ahead, to the rank that is expected next. What finds no room
/// there stays here, while those who arrive are served.
Task serve_as_they_arrive(Operation& op, BlockFor block, Arrived order);

}  // namespace rollcall::collectives
