/// \file
/// What a rank called: compared between ranks, so that different calls at the same sequence number are told, not left hanging.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rollcall::runtime {

enum class OperationKind : std::uint8_t { point_to_point, broadcast, barrier, split, duplicate };

std::string_view name(OperationKind kind) noexcept;

/// The part of a collective call that must agree on all ranks. Travels in every message of the operation.
struct Call {
    std::uint64_t bytes = 0;
    std::int32_t root = -1;  ///< -1: the operation has none.
    OperationKind kind = OperationKind::point_to_point;
    std::uint8_t reserved = 0;
    std::uint16_t method = 0;  ///< Stands for the algorithm and its segment size; see method_of().

    bool same_request(const Call& other) const noexcept { return kind == other.kind && root == other.root && bytes == other.bytes; }
    bool agrees_with(const Call& other) const noexcept { return same_request(other) && method == other.method; }
};

/// A number that ranks which use different algorithms or segment sizes will hardly ever have in common.
std::uint16_t method_of(std::string_view algorithm, std::uint64_t segment_bytes) noexcept;

/// "broadcast(root=0, 8 bytes)"
std::string to_string(const Call& call);

}  // namespace rollcall::runtime
