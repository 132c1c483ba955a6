/// \file
/// What one rank brings to the calls of a collective operation: the one place of the benchmark that knows how broadcast,
/// scatter and gather differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rollcall/communicator.hpp>

#include "runtime/group/call.hpp"
#include "runtime/lane/operation.hpp"

namespace rollcall::bench {

/// What a call of this operation is told as its size, for a sweep's size: the message of a broadcast; of a vector that is
/// scattered or gathered a rank's block, rounded down to whole elements.
std::uint64_t call_bytes(runtime::OperationKind operation, std::uint64_t bytes, int ranks);
/// The size of an element of such vectors: a float, as in Proficz 2020.
inline constexpr std::uint64_t kElement = 4;

/// The arguments of a simulated rank: sizes without memory.
runtime::Arguments phantom(runtime::OperationKind operation, std::uint64_t call_bytes, int ranks, bool is_root);

/// The buffers of one rank for calls of one size.
class Operands {
  public:
    /// `bytes`: as call_bytes() gives them. The communicator must stay.
    Operands(const Communicator& world, runtime::OperationKind operation, std::uint64_t bytes, int root);

    /// Makes the data of this key where the operation reads, and what is wrong in every byte where it writes.
    void prepare(std::uint64_t key);
    void call(const CollectiveOptions& options);
    /// Of a scatter or gather.
    Plan plan(const PlanOptions& options);
    std::string explain(const CollectiveOptions& options) const;
    /// "gather linear of 1000 bytes to rank 0"
    std::string describe(const std::string& algorithm) const;

    /// A sentence about the first byte that is not what it should be, or nothing.
    std::optional<std::string> find_wrong(std::uint64_t key) const;
    /// Changes a byte of what this rank received, if it received any: for the test of find_wrong().
    void spoil();

  private:
    bool is_root() const { return world_.rank() == root_; }
    std::span<std::byte> part(int rank);

    const Communicator& world_;
    runtime::OperationKind operation_;
    std::uint64_t bytes_;
    int root_;
    std::vector<std::byte> data_;   ///< The message; at the root all blocks.
    std::vector<std::byte> block_;  ///< This rank's block.
};

}  // namespace rollcall::bench
