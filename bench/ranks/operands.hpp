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
#include <rollcall/intercommunicator.hpp>

#include "api/collective.hpp"
#include "api/intergroup_forms.hpp"
#include "bench/cases/block_sizes.hpp"
#include "bench/cases/summands.hpp"
#include "collectives/operations.hpp"

namespace rollcall::bench {

/// Converts a size of a sweep to the size that a call of this operation gets. For most operations this is the size of the message. If a
/// vector is moved in blocks, it is the size of a rank's block, rounded down to whole elements. Between two groups, the sweep has the sizes
/// of blocks.
std::uint64_t call_bytes(runtime::OperationKind operation, std::uint64_t bytes, int ranks);
/// Converts it to the sizes of the blocks of all ranks, if these have sizes of their own.
std::vector<std::uint64_t> call_sizes(runtime::OperationKind operation, SizeDistribution distribution, std::uint64_t bytes, int ranks);

/// Makes the intercommunicator of the first `in_first` ranks and the others. Collective.
Intercommunicator divided(const Communicator& world, int in_first);

/// For self-tests: whether this rank is to change a byte of the data that it has received, before it checks the data. The variable
/// ROLLCALL_TEST_CORRUPT names the rank.
bool is_spoiler(int rank);

/// The buffers of one rank for calls of one size.
class Operands {
  public:
    /// `bytes`: as call_bytes() returns it. `root` is a rank of `world`. `between`: what divided() returns, if the operation is between two
    /// groups. It and the communicator must outlive this object.
    Operands(const Communicator& world, runtime::OperationKind operation, std::uint64_t bytes, int root,
             const Intercommunicator* between = nullptr);
    /// Blocks have sizes of their own; `sizes` contains one for each rank, as call_sizes() returns them.
    Operands(const Communicator& world, runtime::OperationKind operation, std::vector<std::uint64_t> sizes, int root,
             const Intercommunicator* between = nullptr);

    /// Writes the data of this key into the buffers that the operation reads, and bytes that are all wrong into the buffers that it writes.
    void prepare(std::uint64_t key);
    void call(const CollectiveOptions& options);
    Plan plan(const PlanOptions& options);
    /// Not for operations between two groups.
    std::string explain(const CollectiveOptions& options, bool is_planned) { return collective().explain(options, is_planned); }
    /// For example "gather linear of 1000 bytes to rank 0".
    std::string describe(const std::string& algorithm) const;

    /// Returns a sentence about the first wrong byte, or nothing if all bytes are right.
    std::optional<std::string> find_wrong(std::uint64_t key);
    /// Changes a byte of the data that this rank received, if there is any. Used to test find_wrong().
    void spoil();

  private:
    /// A message or a block. `rank` says to which rank it belongs. The number identifies its content, which another rank has, too.
    struct Piece {
        int rank;
        std::uint64_t number;
        std::span<std::byte> bytes;
    };
    /// Takes the ranks of the other group for partners.
    void look_across();
    bool is_partner(int rank) const { return rank >= first_partner_ && rank < first_partner_ + partners_; }
    bool has(const collectives::Operand& operand) const { return has_part_ && operand.is_had(is_root()); }
    std::vector<std::byte>& buffer(collectives::Slot slot) { return buffers_[static_cast<std::size_t>(slot)]; }
    std::vector<Piece> pieces(collectives::Slot slot);
    collectives::Buffers buffers();
    CollectiveOfBlocks collective_of_blocks();
    std::optional<std::string> find_wrong_sum(std::uint64_t key);
    Collective collective();
    detail::IntergroupForms between_groups();
    bool is_root() const { return world_.rank() == root_; }

    const Communicator& world_;
    const collectives::OperationRow& row_;
    std::uint64_t bytes_;                ///< kOwnSizes: sizes_ has the sizes.
    std::vector<std::uint64_t> sizes_;   ///< The sizes of the blocks, if they have sizes of their own.
    std::vector<std::uint64_t> blocks_;  ///< The same: those of the blocks in a buffer of this rank that has a block for each partner.
    int root_;
    const Intercommunicator* between_;
    int first_partner_ = 0, partners_;  ///< The ranks with which this one exchanges data: all ranks, or those of the other group.
    bool has_part_ = true;              ///< False: another rank of its group is the root.
    std::array<std::vector<std::byte>, collectives::kSlots.size()> buffers_;
};

}  // namespace rollcall::bench
