#include "runtime/group/call.hpp"

#include <fmt/format.h>

#include "foundation/reductions.hpp"

namespace rollcall::runtime {

std::optional<std::uint64_t> SumOfSizes::in_other(const SumOfSizes& other, int rank, std::uint64_t size) const {
    // If the block of this rank is not the one that differs, the result is a possible size only with a chance of 1 in 2^24.
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
    const std::uint64_t weight = weight_of(rank);
    std::uint64_t inverse = weight;  // Correct in the lowest three bits. Each iteration of Newton's method doubles their number.
    for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - weight * inverse;
    const std::uint64_t its_size = size + (other.sum_ - sum_) * inverse;
    if (its_size > kLargest) return std::nullopt;
    return its_size;
}

std::string to_string(const Call& call) {
    const std::string root = call.root < 0 ? "" : fmt::format("root={}, ", call.root);
    if (call.reduction)
        return fmt::format("{}({}{}{})", name(call.kind), root, call.bytes == kManySizes ? "" : fmt::format("{} bytes, ", call.bytes),
                           reduction_name(static_cast<std::uint16_t>(call.reduction)));
    if (is_between_groups(call.kind) && call.root < 0)
        return call.own_sizes
                   ? fmt::format("{}(blocks of different sizes)", name(call.kind))
                   : fmt::format("{}(blocks of {} and {} bytes)", name(call.kind), call.bytes, std::uint64_t{call.segment_bytes});
    const bool moves_blocks = call.kind == OperationKind::allgather || call.kind == OperationKind::alltoall;
    if (call.root < 0 && !moves_blocks) return fmt::format("{}()", name(call.kind));
    if (call.own_sizes) return fmt::format("{}({}blocks of different sizes)", name(call.kind), root);
    if (call.bytes == kManySizes) return fmt::format("{}(root={})", name(call.kind), call.root);
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
