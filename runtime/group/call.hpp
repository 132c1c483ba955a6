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
    std::uint8_t reserved[3] = {};

    bool agrees_with(const Call& other) const noexcept {
        return kind == other.kind && root == other.root && bytes == other.bytes;
    }
};

/// "broadcast(root=0, 8 bytes)"
std::string to_string(const Call& call);

}  // namespace rollcall::runtime
