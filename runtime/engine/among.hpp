/// \file
/// Runs an algorithm among some ranks of an operation.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/engine/operation.hpp"

namespace rollcall::runtime {

/// While it lives, the vocabulary of an operation speaks of some of its ranks only, which are numbered from 0 on, and the operation has
/// these arguments. So an algorithm of the catalogue can be run among these ranks, as a part of another algorithm. All of them must do so.
/// Steps count from `first_step` on. Arrivals, signals and sizes that differ are not available.
///
/// Inside another one, it speaks of some of the ranks of that one: `ranks` and `first_step` count there. So an algorithm that is made of
/// such parts can itself be run among some ranks.
class Operation::Among {
  public:
    /// What the numbers in `ranks` are, and from where `first_step` counts.
    enum class Counted : std::uint8_t { in_vocabulary, in_communicator };

    /// `ranks` outlive the object; ranks[own] is this one. `root` is a place in `ranks`.
    Among(Operation& operation, std::span<const int> ranks, int own, int root, const Arguments& arguments, std::uint64_t first_step = 0,
          Counted counted = Counted::in_vocabulary)
        : operation_(operation),
          members_(operation.ranks_.of && counted == Counted::in_vocabulary ? members(operation, ranks) : std::vector<int>()),
          ranks_(
              std::exchange(operation.ranks_, {members_.empty() ? ranks.data() : members_.data(), static_cast<int>(ranks.size()), own, root,
                                               counted == Counted::in_vocabulary ? operation.ranks_.first_step + first_step : first_step})),
          arguments_(std::exchange(operation.arguments_, arguments)) {}
    ~Among() {
        operation_.ranks_ = ranks_;
        operation_.arguments_ = arguments_;
    }
    Among(const Among&) = delete;
    Among& operator=(const Among&) = delete;

  private:
    static std::vector<int> members(const Operation& operation, std::span<const int> ranks) {
        std::vector<int> members;
        members.reserve(ranks.size());
        for (const int rank : ranks) members.push_back(operation.member(rank));
        return members;
    }

    Operation& operation_;
    std::vector<int> members_;  ///< The ranks in the communicator, if they were counted in another one of these.
    Ranks ranks_;
    Arguments arguments_;
};

}  // namespace rollcall::runtime
