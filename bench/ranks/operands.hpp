/// \file
/// The data that one rank brings to the calls of a collective operation. It is derived from the operation's row in the table.
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

/// Converts a size of a sweep to the size that a call of this operation gets. For most operations this is the size of the message. If a
/// vector is moved in blocks, it is the size of a rank's block, rounded down to whole elements.
std::uint64_t call_bytes(runtime::OperationKind operation, std::uint64_t bytes, int ranks);
/// The size in bytes of an element of such vectors: a float, as in Proficz 2020.
inline constexpr std::uint64_t kElement = 4;

/// The buffers of one rank for calls of one size.
class Operands {
  public:
    /// `bytes`: as call_bytes() returns it. The communicator must outlive this object.
    Operands(const Communicator& world, runtime::OperationKind operation, std::uint64_t bytes, int root);
    /// Blocks have sizes of their own; `sizes` contains one for each rank.
    Operands(const Communicator& world, runtime::OperationKind operation, std::vector<std::uint64_t> sizes, int root);

    /// Writes the data of this key into the buffers that the operation reads, and bytes that are all wrong into the buffers that it writes.
    void prepare(std::uint64_t key);
    void call(const CollectiveOptions& options) { sizes_.empty() ? collective().call(options) : collective_of_blocks().call(options); }
    Plan plan(const PlanOptions& options) { return sizes_.empty() ? collective().plan(options) : collective_of_blocks().plan(options); }
    std::string explain(const CollectiveOptions& options) { return collective().explain(options); }
    /// For example "gather linear of 1000 bytes to rank 0".
    std::string describe(const std::string& algorithm) const;

    /// Returns a sentence about the first wrong byte, or nothing if all bytes are right.
    std::optional<std::string> find_wrong(std::uint64_t key);
    /// Changes a byte of the data that this rank received, if there is any. Used to test find_wrong().
    void spoil();

  private:
    /// A message or a block. `rank` says to which rank it belongs. The number identifies its content, which another rank has, too.
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
    std::uint64_t bytes_;                 ///< kOwnSizes: sizes_ has the sizes.
    std::vector<std::uint64_t> sizes_;    ///< The sizes of the blocks, if they have sizes of their own.
    std::vector<std::uint64_t> between_;  ///< The sizes of this rank's blocks for each rank, as its last call got them.
    int root_;
    std::array<std::vector<std::byte>, collectives::kSlots.size()> buffers_;
};

}  // namespace rollcall::bench
