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

namespace {

/// Copies what is wanted of the piece that is here.
Task copy_next(Operation& op, Reading& in, std::uint64_t size, std::span<const Wanted> wanted) {
    const bool by_message = in.by_message();
    if (!by_message) co_await copy_wanted(op, in.bytes(), in.offset(), wanted);
    if (!in.let_go()) co_await op.failure();
    if (!by_message) co_return;
    const Scratch received(size, op.arguments().data);
    co_await op.receive(in.from(), received.bytes(), kPublishedStep);
    co_await copy_wanted(op, received.bytes(), 0, wanted);
}

}  // namespace

Task copy_all_wanted(Operation& op, int from, bool for_everybody, std::uint64_t size, std::span<const Wanted> wanted) {
    Reading in(op, from, for_everybody, size);
    while (!in.complete()) {
        co_await op.until([&] { return in.is_here(); });
        co_await copy_next(op, in, size, wanted);
    }
}

Task copy_as_they_come(Operation& op, std::span<const WantedFrom> all) {
    struct Use {
        Use(Operation& op, const WantedFrom& its) : reading(op, its.from, false, its.size), what(its) {}
        bool can_go_on() { return reading.can_go_on(); }
        Reading reading;
        const WantedFrom& what;
    };
    Uses<Use> uses(static_cast<int>(all.size()));
    for (const WantedFrom& one : all) uses.add(op, one);
    Use* come = nullptr;
    for (int missing = uses.size(); missing > 0;) {
        co_await op.until([&] { return (come = find_ready(uses)) != nullptr; });
        co_await copy_next(op, come->reading, come->what.size, come->what.wanted);
        if (come->reading.complete()) --missing;
    }
}

}  // namespace rollcall::collectives
