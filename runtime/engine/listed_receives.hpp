/// \file
/// Receives of which an algorithm asks which have ended. It need not look at each of them whenever it is resumed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/engine/operation.hpp"

namespace rollcall::runtime {

/// An operation may have one of these at a time. It lives until its receives have ended, or the operation has failed.
class ListedReceives {
  public:
    explicit ListedReceives(Operation& operation) : operation_(operation) { operation.listed_ = this; }
    ~ListedReceives() { operation_.listed_ = nullptr; }
    ListedReceives(const ListedReceives&) = delete;
    ListedReceives& operator=(const ListedReceives&) = delete;

    /// As Operation::receive().
    Pending receive(int from, transport::Bytes bytes, std::uint64_t step) {
        first_step_ = operation_.ranks_.first_step;
        return operation_.receive(from, bytes, step, true);
    }
    /// Whether any has ended that take() has not returned.
    bool any() const noexcept { return taken_ < ended_.size(); }
    /// The step of the one of these that ended first.
    std::uint64_t take() { return ended_[taken_++] - first_step_; }

  private:
    friend class Operation;
    Operation& operation_;
    std::uint64_t first_step_ = 0;
    std::vector<std::uint64_t> ended_;  ///< Their steps in the communicator, in the order of their ends.
    std::size_t taken_ = 0;
};

}  // namespace rollcall::runtime
