#include "runtime/group/call.hpp"

#include <fmt/format.h>

namespace rollcall::runtime {

std::string_view name(OperationKind kind) noexcept {
    switch (kind) {
        case OperationKind::point_to_point: return "send/receive";
        case OperationKind::broadcast: return "broadcast";
        case OperationKind::scatter: return "scatter";
        case OperationKind::gather: return "gather";
        case OperationKind::barrier: return "barrier";
        case OperationKind::split: return "split";
        case OperationKind::duplicate: return "duplicate";
        case OperationKind::clocks: return "synchronize_clocks";
        case OperationKind::plan: return "plan";
    }
    return "an unknown operation";
}

std::string to_string(const Call& call) {
    if (call.root < 0) return fmt::format("{}()", name(call.kind));
    return fmt::format("{}(root={}, {} bytes)", name(call.kind), call.root, call.bytes);
}

std::string to_string(const Call& call, AlgorithmName algorithm_name) {
    std::string text = to_string(call);
    if (call.algorithm)
        text +=
            algorithm_name ? fmt::format(" with {}", algorithm_name(call.algorithm)) : fmt::format(" with algorithm {}", call.algorithm);
    if (call.segment_bytes) text += fmt::format(" in segments of {} bytes", call.segment_bytes);
    return text;
}

}  // namespace rollcall::runtime
