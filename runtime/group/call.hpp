/// \file
/// The description of a collective call. Ranks compare their descriptions, so that different calls at the same sequence number are reported
/// and do not hang.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "foundation/operation_kind.hpp"

namespace rollcall::runtime {

using foundation::is_between_groups;
using foundation::name;
using foundation::OperationKind;

/// Stands in place of a size if blocks have sizes of their own and another rank, or this one, knows all of them.
inline constexpr std::uint64_t kManySizes = std::numeric_limits<std::uint64_t>::max();

/// The longest segment. A longer one counts as the whole message.
inline constexpr std::uint64_t kLongestSegment = (std::uint64_t{1} << 48) - 1;

/// The weight of a rank in a SumOfSizes. It is odd, so that no difference between sizes is lost. Weights of different ranks differ in all
/// bits (the finalizer of MurmurHash3).
constexpr std::uint64_t weight_of(int rank) noexcept {
    std::uint64_t x = static_cast<std::uint64_t>(rank) + 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return (x ^ x >> 33) | 1;
}

/// A checksum of the sizes of all blocks, which all ranks must count alike: the sum of the size of each block times the weight of its rank,
/// modulo 2^64. If the sizes of exactly one block differ between two ranks, the two checksums tell which block it is.
class SumOfSizes {
  public:
    constexpr explicit SumOfSizes(std::uint64_t sum = 0) : sum_(sum) {}
    constexpr void add(int rank, std::uint64_t size) { sum_ += weight_of(rank) * size; }
    constexpr std::uint64_t sum() const { return sum_; }
    /// Assumes that the block of `rank` is the only one that differs, and that this rank counts `size` bytes for it. Returns what the other
    /// rank counts for it, or nothing if that is not a possible size.
    std::optional<std::uint64_t> in_other(const SumOfSizes& other, int rank, std::uint64_t size) const;

  private:
    std::uint64_t sum_;
};

/// The part of a collective call that must agree on all ranks. Every message of the operation carries it.
struct Call {
    /// A size in bytes. With `own_sizes` it is the size of this rank's block, or kManySizes at the root, which knows all sizes. If there is
    /// no root and all ranks know all sizes, it is a SumOfSizes. If each rank knows only its own sizes, it is kManySizes. In an operation
    /// between two groups it is the size of a block of the first group; if there is a root, it is kManySizes at a rank that has no part in
    /// the operation.
    std::uint64_t bytes = 0;
    std::int32_t root = -1;  ///< -1: the operation has no root.
    OperationKind kind = OperationKind::point_to_point;
    bool own_sizes = false;       ///< The blocks have sizes of their own.
    std::uint16_t algorithm = 0;  ///< A number given by the component that knows the algorithms; 0: the operation has only one.
    /// At most kLongestSegment. 0: the message is not divided, or the algorithm has no segments. In an operation between two groups: the
    /// size of a block of the second group.
    std::uint64_t segment_bytes : 48 = 0;
    /// The number of the reduction (foundation/reductions.hpp); 0: nothing is combined.
    std::uint64_t reduction : 16 = 0;

    /// Whether the two calls are equal in every bit.
    bool is_same_as(const Call& other) const noexcept {
        const auto words = std::bit_cast<Words>(*this), others = std::bit_cast<Words>(other);
        return ((words[0] ^ others[0]) | (words[1] ^ others[1]) | (words[2] ^ others[2])) == 0;
    }
    bool same_request(const Call& other) const noexcept {
        return kind == other.kind && root == other.root && reduction == other.reduction && own_sizes == other.own_sizes &&
               (bytes == other.bytes || (own_sizes && !is_among_all()) ||
                (is_between_groups(kind) && (bytes == kManySizes || other.bytes == kManySizes)));
    }
    /// Whether the operation has one group and no root, and its blocks have sizes of their own.
    bool is_among_all() const noexcept { return own_sizes && root < 0 && !is_between_groups(kind); }
    /// Whether the calls differ only in the sizes, in an operation in which each rank counts the sizes of all blocks. Ranks that count other
    /// sizes may have chosen another algorithm.
    bool counts_others(const Call& other) const noexcept {
        Call same = other;
        same.bytes = bytes;
        same.algorithm = algorithm;
        same.segment_bytes = segment_bytes;
        return is_among_all() && bytes != other.bytes && is_same_as(same);
    }
    /// Whether this rank has no part in the operation, which is one between two groups with a root in its own group. It then knows no size,
    /// and not which algorithm the others choose by the size.
    bool has_no_part() const noexcept { return is_between_groups(kind) && root >= 0 && !own_sizes && bytes == kManySizes; }
    /// Whether two ranks can have made these as the same call. Own sizes are not compared here, but where the data comes in (Engine::fits).
    bool agrees_with(const Call& other) const noexcept {
        return is_same_as(other) || ((own_sizes || is_between_groups(kind)) && same_request(other) &&
                                     (algorithm == other.algorithm || has_no_part() || other.has_no_part()) &&
                                     segment_bytes == other.segment_bytes);
    }

  private:
    using Words = std::array<std::uint64_t, 3>;
};

/// For example "broadcast(root=0, 8 bytes)", "scatter(root=0, blocks of different sizes)" or "allreduce(8 bytes, sum of float64)".
std::string to_string(const Call& call);

/// Returns the name of an algorithm of an operation, from its number in a Call. The component that knows the algorithms gives this function
/// to the runtime, which does not know them.
using AlgorithmName = std::string_view (*)(OperationKind operation, std::uint16_t number) noexcept;

/// For example "broadcast(root=0, 8 bytes) with pipelined in segments of 8192 bytes".
std::string to_string(const Call& call, AlgorithmName algorithm_name);

}  // namespace rollcall::runtime
