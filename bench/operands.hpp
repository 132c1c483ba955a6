/// \file
/// What one rank brings to the calls of a collective operation, made from the operation's row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rollcall/communicator.hpp>

#include "api/collective.hpp"
#include "collectives/operations.hpp"

namespace rollcall::bench {

/// What a call of this operation is told as its size, for a sweep's size: that of the message; where a vector is moved in blocks, of
/// a rank's block, rounded down to whole elements.
std::uint64_t call_bytes(runtime::OperationKind operation, std::uint64_t bytes, int ranks);
/// The size of an element of such vectors: a float, as in Proficz 2020.
inline constexpr std::uint64_t kElement = 4;

/// The buffers of one rank for calls of one size.
class Operands {
  public:
    /// `bytes`: as call_bytes() gives them. The communicator must stay.
    Operands(const Communicator& world, runtime::OperationKind operation, std::uint64_t bytes, int root);
    /// The same of blocks of own sizes, one for each rank.
    Operands(const Communicator& world, runtime::OperationKind operation, std::vector<std::uint64_t> sizes, int root);

    /// Makes the data of this key where the operation reads, and what is wrong in every byte where it writes.
    void prepare(std::uint64_t key);
    void call(const CollectiveOptions& options) { sizes_.empty() ? collective().call(options) : collective_of_blocks().call(options); }
    Plan plan(const PlanOptions& options) { return sizes_.empty() ? collective().plan(options) : collective_of_blocks().plan(options); }
    std::string explain(const CollectiveOptions& options) { return collective().explain(options); }
    /// "gather linear of 1000 bytes to rank 0"
    std::string describe(const std::string& algorithm) const;

    /// A sentence about the first byte that is not what it should be, or nothing.
    std::optional<std::string> find_wrong(std::uint64_t key);
    /// Changes a byte of what this rank received, if it received any: for the test of find_wrong().
    void spoil();

  private:
    /// A message, or a block: of this rank. The number is that of what it holds, which another rank has, too.
    struct Piece {
        int rank, number;
        std::span<std::byte> bytes;
    };
    std::vector<std::byte>& buffer(collectives::Slot slot) { return buffers_[static_cast<std::size_t>(slot)]; }
    std::vector<Piece> pieces(collectives::Slot slot);
    collectives::Buffers buffers();
    CollectiveOfBlocks collective_of_blocks();
    std::optional<std::string> find_wrong_sum(std::uint64_t key);
    Collective collective();
    bool is_root() const { return world_.rank() == root_; }

    const Communicator& world_;
    const collectives::OperationRow& row_;
    std::uint64_t bytes_;                 ///< kOwnSizes: see sizes_.
    std::vector<std::uint64_t> sizes_;    ///< Of the blocks, where they have own ones.
    std::vector<std::uint64_t> between_;  ///< Of those of this rank for each, which its last call was told.
    int root_;
    std::array<std::vector<std::byte>, collectives::kSlots.size()> buffers_;
};

}  // namespace rollcall::bench
