/// \file
/// What a rank called: compared between ranks, so that different calls at the same sequence number are told, not left hanging.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall::runtime {

enum class OperationKind : std::uint8_t { point_to_point, broadcast, scatter, gather, barrier, split, duplicate, clocks, plan };

std::string_view name(OperationKind kind) noexcept;

/// The part of a collective call that must agree on all ranks. Travels in every message of the operation.
struct Call {
    std::uint64_t bytes = 0;
    std::int32_t root = -1;  ///< -1: the operation has none.
    OperationKind kind = OperationKind::point_to_point;
    std::uint8_t algorithm = 0;  ///< A number of whoever knows the algorithms; 0: the operation has only one.
    std::uint16_t reserved = 0;
    std::uint64_t segment_bytes = 0;  ///< 0: whole, or the algorithm knows no segments.

    bool same_request(const Call& other) const noexcept { return kind == other.kind && root == other.root && bytes == other.bytes; }
    bool agrees_with(const Call& other) const noexcept {
        return same_request(other) && algorithm == other.algorithm && segment_bytes == other.segment_bytes;
    }
};

/// "broadcast(root=0, 8 bytes)"
std::string to_string(const Call& call);

/// The name of an algorithm by its number in a Call. Given to the runtime by whoever knows the algorithms: it does not.
using AlgorithmName = std::string_view (*)(std::uint8_t number) noexcept;

/// "broadcast(root=0, 8 bytes) with pipelined in segments of 8192 bytes"
std::string to_string(const Call& call, AlgorithmName algorithm_name);

}  // namespace rollcall::runtime
