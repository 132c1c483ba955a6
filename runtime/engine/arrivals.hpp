/// \file
/// The arrivals at an operation.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "foundation/clock.hpp"
#include "runtime/messages/pending.hpp"

namespace rollcall::runtime {

/// Which ranks have arrived at this operation and when others expect to arrive, as far as this rank's board shows. It is filled while the
/// operation runs.
class Arrivals {
  public:
    /// Ranks that have arrived since the last call, in the order in which they were seen.
    std::vector<int> take() { return std::exchange(fresh_, {}); }
    bool any() const noexcept { return !fresh_.empty(); }

    struct Prediction {
        int rank;
        Nanoseconds when;  ///< In the communicator's common time.
    };
    /// Predictions that are new or changed since the last call; the last one of a rank counts. None without slots on the board.
    std::vector<Prediction> take_predictions() { return std::exchange(predictions_, {}); }
    bool any_prediction() const noexcept { return !predictions_.empty(); }

  private:
    friend class BoardWatch;
    friend class Engine;
    friend class Operation;
    // Both return whether the information was new.
    bool see(int rank) {
        if (seen_[static_cast<std::size_t>(rank)]) return false;
        seen_[static_cast<std::size_t>(rank)] = true;
        fresh_.push_back(rank);
        return true;
    }
    bool predicts(int rank, Nanoseconds when) {
        if (predicted_.empty()) predicted_.assign(seen_.size(), kUnknownTime);
        if (std::exchange(predicted_[static_cast<std::size_t>(rank)], when) == when) return false;
        predictions_.push_back({rank, when});
        return true;
    }
    std::vector<int> fresh_;
    std::vector<Prediction> predictions_;
    std::vector<Nanoseconds> predicted_;  ///< The latest of each rank; empty: there is none.
    std::vector<bool> seen_;
    std::vector<int> unseen_;       ///< The ranks still to be looked for, where the board must be polled.
    std::size_t next_look_ = 0;     ///< The index in it at which the next look begins.
    std::vector<Pending> notices_;  ///< The receives that replace the board where there is none.
};

}  // namespace rollcall::runtime
