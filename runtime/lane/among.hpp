/// \file
/// Runs an algorithm among some ranks of an operation.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "runtime/lane/operation.hpp"

namespace rollcall::runtime {

/// While it lives, the vocabulary of an operation speaks of some of its ranks only, which are numbered from 0 on, and the operation has
/// these arguments. So an algorithm of the catalogue can be run among these ranks, as a part of another algorithm. All of them must do so.
/// Steps count from `first_step` on. Arrivals, signals and sizes that differ are not available.
class Operation::Among {
  public:
    /// `ranks` are ranks of the communicator and outlive the object; ranks[own] is this one. `root` is a place in `ranks`.
    Among(Operation& operation, std::span<const int> ranks, int own, int root, const Arguments& arguments, std::uint64_t first_step = 0)
        : operation_(operation),
          ranks_(std::exchange(operation.ranks_, {ranks.data(), static_cast<int>(ranks.size()), own, root, first_step})),
          arguments_(std::exchange(operation.arguments_, arguments)) {}
    ~Among() {
        operation_.ranks_ = ranks_;
        operation_.arguments_ = arguments_;
    }
    Among(const Among&) = delete;
    Among& operator=(const Among&) = delete;

  private:
    Operation& operation_;
    Ranks ranks_;
    Arguments arguments_;
};

}  // namespace rollcall::runtime
