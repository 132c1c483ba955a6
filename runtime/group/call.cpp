#include "runtime/group/call.hpp"

#include <fmt/format.h>

namespace rollcall::runtime {

std::string_view name(OperationKind kind) noexcept {
    switch (kind) {
        case OperationKind::point_to_point: return "send/receive";
        case OperationKind::broadcast: return "broadcast";
        case OperationKind::barrier: return "barrier";
        case OperationKind::split: return "split";
        case OperationKind::duplicate: return "duplicate";
    }
    return "an unknown operation";
}

std::uint16_t method_of(std::string_view algorithm, std::uint64_t segment_bytes) noexcept {
    std::uint64_t h = segment_bytes * 0x9e3779b97f4a7c15ull + 1;
    for (const char c : algorithm) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
    return static_cast<std::uint16_t>(h ^ (h >> 16) ^ (h >> 32) ^ (h >> 48));
}

std::string to_string(const Call& call) {
    if (call.root < 0) return fmt::format("{}()", name(call.kind));
    return fmt::format("{}(root={}, {} bytes)", name(call.kind), call.root, call.bytes);
}

}  // namespace rollcall::runtime
