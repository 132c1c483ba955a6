#include "runtime/group/call.hpp"

#include <fmt/format.h>

#include "foundation/reductions.hpp"

namespace rollcall::runtime {

std::string to_string(const Call& call) {
    const std::string root = call.root < 0 ? "" : fmt::format("root={}, ", call.root);
    if (call.reduction)
        return fmt::format("{}({}{} bytes, {})", name(call.kind), root, call.bytes,
                           reduction_name(static_cast<std::uint16_t>(call.reduction)));
    if (is_between_groups(call.kind) && call.root < 0)
        return call.own_sizes
                   ? fmt::format("{}(blocks of own sizes)", name(call.kind))
                   : fmt::format("{}(blocks of {} and {} bytes)", name(call.kind), call.bytes, std::uint64_t{call.segment_bytes});
    if (call.root < 0) return fmt::format("{}()", name(call.kind));
    if (call.own_sizes) return fmt::format("{}({}blocks of own sizes)", name(call.kind), root);
    return fmt::format("{}({}{} bytes)", name(call.kind), root, call.bytes);
}

std::string to_string(const Call& call, AlgorithmName algorithm_name) {
    std::string text = to_string(call);
    if (call.algorithm)
        text += algorithm_name ? fmt::format(" with {}", algorithm_name(call.kind, call.algorithm))
                               : fmt::format(" with algorithm {}", call.algorithm);
    if (call.segment_bytes && !is_between_groups(call.kind))
        text += fmt::format(" in segments of {} bytes", std::uint64_t{call.segment_bytes});
    return text;
}

}  // namespace rollcall::runtime
