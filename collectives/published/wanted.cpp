// Copies parts of what another rank publishes.
#include <algorithm>

#include "collectives/blocks/parts.hpp"
#include "collectives/published/published.hpp"

namespace rollcall::collectives {

std::span<const Wanted> wanted_in(Range here, std::span<const Wanted> wanted) {
    const auto ends_before = [&](const Wanted& one) { return one.begin + one.into.size <= here.begin; };
    const auto begins_before_end = [&](const Wanted& one) { return one.begin < here.end; };
    const auto first = std::partition_point(wanted.begin(), wanted.end(), ends_before);
    return {first, std::partition_point(first, wanted.end(), begins_before_end)};
}

Task copy_wanted(Operation& op, transport::ConstBytes piece, std::uint64_t offset, std::span<const Wanted> wanted) {
    const Range here{offset, offset + piece.size};
    for (const auto& [begin, into] : wanted_in(here, wanted)) {
        const Range common = common_part(here, {begin, begin + into.size});
        if (common.empty()) continue;
        co_await op.copy(runtime::slice(into, common.begin - begin, common.size()),
                         runtime::slice(piece, common.begin - offset, common.size()));
    }
}

Task copy_all_wanted(Operation& op, int from, bool for_everybody, std::uint64_t size, std::span<const Wanted> wanted) {
    Reading in(op, from, for_everybody, size);
    while (!in.complete()) {
        co_await op.until([&] { return in.is_here(); });
        const bool by_message = in.by_message();
        if (!by_message) co_await copy_wanted(op, in.bytes(), in.offset(), wanted);
        if (!in.let_go()) co_await op.failure();
        if (!by_message) continue;
        const Scratch received(size, op.arguments().data);
        co_await op.receive(from, received.bytes(), kPublishedStep);
        co_await copy_wanted(op, received.bytes(), 0, wanted);
    }
}

}  // namespace rollcall::collectives
