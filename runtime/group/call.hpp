/// \file
/// What a rank called: compared between ranks, so that different calls at the same sequence number are told, not left hanging.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <limits>
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

/// The part of a collective call that must agree on all ranks. Travels in every message of the operation.
struct Call {
    /// With `own_sizes`: of this rank's block, or kManySizes at the root, which knows all of them. Between two groups: of a block of the
    /// first one; with a root, kManySizes at a rank that has no part in it.
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
               (bytes == other.bytes || own_sizes || (is_between_groups(kind) && (bytes == kManySizes || other.bytes == kManySizes)));
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
