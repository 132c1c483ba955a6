/// \file
/// What a rank called: compared between ranks, so that different calls at the same sequence number are told, not left hanging.
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

/// In the place of a size, where blocks have sizes of their own and somebody knows all of them.
inline constexpr std::uint64_t kManySizes = std::numeric_limits<std::uint64_t>::max();

/// A piece that is longer is as long as the whole.
inline constexpr std::uint64_t kLongestSegment = (std::uint64_t{1} << 48) - 1;

/// Odd, so that no difference of sizes is lost, and different between ranks in all bits (the finalizer of MurmurHash3).
constexpr std::uint64_t weight_of(int rank) noexcept {
    std::uint64_t x = static_cast<std::uint64_t>(rank) + 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return (x ^ x >> 33) | 1;
}

/// Of the sizes of blocks that all ranks must count alike: of each block, its size times the weight of its rank, modulo 2^64. Two that
/// differ tell whose block it is that is counted otherwise, if it is one alone.
class SumOfSizes {
  public:
    constexpr explicit SumOfSizes(std::uint64_t sum = 0) : sum_(sum) {}
    constexpr void add(int rank, std::uint64_t size) { sum_ += weight_of(rank) * size; }
    constexpr std::uint64_t sum() const { return sum_; }
    /// What the other one counts for this rank's block, of which this one counts `size`, if that is the only difference between them.
    std::optional<std::uint64_t> in_other(const SumOfSizes& other, int rank, std::uint64_t size) const;

  private:
    std::uint64_t sum_;
};

/// The part of a collective call that must agree on all ranks. Travels in every message of the operation.
struct Call {
    /// With `own_sizes`: of this rank's block, or kManySizes at the root, which knows all of them; where there is no root, and all ranks
    /// know all sizes, a SumOfSizes; where ranks know theirs only, kManySizes. Between two groups: of a block of the first one; with a
    /// root, kManySizes at a rank that has no part in it.
    std::uint64_t bytes = 0;
    std::int32_t root = -1;  ///< -1: the operation has none.
    OperationKind kind = OperationKind::point_to_point;
    bool own_sizes = false;       ///< Blocks have sizes of their own.
    std::uint16_t algorithm = 0;  ///< A number of whoever knows the algorithms; 0: the operation has only one.
    /// 0: whole, or the algorithm knows no segments. At most kLongestSegment. Between two groups: the size of a block of the second one.
    std::uint64_t segment_bytes : 48 = 0;
    /// What is combined, and how (foundation/reductions.hpp); 0: nothing is.
    std::uint64_t reduction : 16 = 0;

    /// To the last bit.
    bool is_same_as(const Call& other) const noexcept {
        const auto words = std::bit_cast<Words>(*this), others = std::bit_cast<Words>(other);
        return ((words[0] ^ others[0]) | (words[1] ^ others[1]) | (words[2] ^ others[2])) == 0;
    }
    bool same_request(const Call& other) const noexcept {
        return kind == other.kind && root == other.root && reduction == other.reduction && own_sizes == other.own_sizes &&
               (bytes == other.bytes || (own_sizes && !is_among_all()) ||
                (is_between_groups(kind) && (bytes == kManySizes || other.bytes == kManySizes)));
    }
    /// Whether all ranks of one group have blocks of own sizes for all.
    bool is_among_all() const noexcept { return own_sizes && root < 0 && !is_between_groups(kind); }
    /// Whether only the sizes differ, of which each counts all.
    bool counts_others(const Call& other) const noexcept {
        Call same = other;
        same.bytes = bytes;
        return is_among_all() && bytes != other.bytes && is_same_as(same);
    }
    /// Whether they can be the same call of two ranks. Own sizes are compared where data comes in (Engine::fits).
    bool agrees_with(const Call& other) const noexcept {
        return is_same_as(other) || ((own_sizes || is_between_groups(kind)) && same_request(other) && algorithm == other.algorithm &&
                                     segment_bytes == other.segment_bytes);
    }

  private:
    using Words = std::array<std::uint64_t, 3>;
};

/// "broadcast(root=0, 8 bytes)"; "scatter(root=0, blocks of own sizes)"; "allreduce(8 bytes, sum of float64)"
std::string to_string(const Call& call);

/// The name of an operation's algorithm by its number in a Call. Given to the runtime by whoever knows the algorithms: it does not.
using AlgorithmName = std::string_view (*)(OperationKind operation, std::uint16_t number) noexcept;

/// "broadcast(root=0, 8 bytes) with pipelined in segments of 8192 bytes"
std::string to_string(const Call& call, AlgorithmName algorithm_name);

}  // namespace rollcall::runtime
