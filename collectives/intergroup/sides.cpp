#include "collectives/intergroup/sides.hpp"

#include <algorithm>
#include <span>

#include "foundation/hash.hpp"

namespace rollcall::collectives {

BothBlocks equal_blocks(const Operation& op, const Sides& sides) {
    const auto& arguments = op.arguments();
    const auto all_of = [](const Members& members, std::uint64_t block) {
        Parts parts;
        for (int member = 0; member < members.size; ++member) parts.add(block);
        return parts;
    };
    return {all_of(sides.own, arguments.contribution.size),
            all_of(sides.other, arguments.data.size / static_cast<std::uint64_t>(sides.other.size))};
}

namespace {

// Dissemination: after k steps, each member knows the sizes of the 2^k members from itself on.
Task sizes_of_group(Operation& op, const Sides& sides, std::uint64_t step, std::vector<std::uint64_t>& sizes) {
    const int n = sides.own.size;
    std::vector<std::uint64_t> known{op.arguments().contribution.size};
    known.reserve(static_cast<std::size_t>(n));
    const auto bytes = [&](std::size_t first, std::size_t count) {
        return transport::Bytes{known.data() + first, count * sizeof(std::uint64_t)};
    };
    for (int distance = 1; distance < n; distance *= 2, ++step) {
        const auto count = static_cast<std::size_t>(std::min(distance, n - distance));
        const auto sent = op.send(sides.own.rank((sides.member - distance + n) % n), bytes(0, count), step);
        const std::size_t old = known.size();
        known.resize(old + count);
        co_await op.receive(sides.own.rank((sides.member + distance) % n), bytes(old, count), step);
        co_await sent;
    }
    sizes.resize(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) sizes[static_cast<std::size_t>((sides.member + i) % n)] = known[static_cast<std::size_t>(i)];
}

}  // namespace

Task blocks_of_both(Operation& op, const Sides& sides, std::uint64_t step, BothBlocks& blocks) {
    std::vector<std::uint64_t> own, other;
    for (int member = 0; member < sides.other.size; ++member) other.push_back(op.arguments().blocks[member].size);
    co_await sizes_of_group(op, sides, step, own);
    for (const std::uint64_t size : own) blocks.own.add(size);
    for (const std::uint64_t size : other) blocks.other.add(size);

    // Member i is told by the member of the other group whose number is i modulo the size of that group.
    struct Known {
        std::uint64_t own, other;
    };
    const Known mine{hash_of(std::as_bytes(std::span(own))), hash_of(std::as_bytes(std::span(other)))};
    const std::uint64_t compared = step + kStepsForSizes - 1;
    const int partner = sides.other.rank(sides.member % sides.other.size);
    std::vector<Pending> telling;
    for (int member = sides.member; member < sides.other.size; member += sides.own.size)
        telling.push_back(op.send(sides.other.rank(member), {&mine, sizeof mine}, compared));
    Known theirs{};
    co_await op.receive(partner, {&theirs, sizeof theirs}, compared);
    co_await op.all_of(telling);
    if (theirs.own == mine.other && theirs.other == mine.own) co_return;
    op.tell_groups_differ(partner);
    co_await op.failure();
}

Task find_blocks(Operation& op, const Sides& sides, BothBlocks& blocks) {
    if (op.call().own_sizes)
        co_await blocks_of_both(op, sides, kSizesStep, blocks);
    else
        blocks = equal_blocks(op, sides);
}

Assembled::Assembled(const Operation& op, const Parts& blocks) : bytes_(op.arguments().data) {
    const runtime::Block* const layout = op.arguments().blocks;
    if (!layout) return;
    if (const auto begin = begin_if_contiguous(blocks.count(), [&](int member) { return layout[member]; })) {
        bytes_ = runtime::slice(bytes_, *begin, blocks.total());
    } else {
        scratch_.emplace(blocks.total(), bytes_);
        bytes_ = scratch_->bytes();
    }
}

Task place_blocks(Operation& op, const Assembled& data, const Parts& blocks) {
    if (!data.is_beside()) co_return;
    for (int member = 0; member < blocks.count(); ++member) {
        const runtime::Block& block = op.arguments().blocks[member];
        co_await op.copy(runtime::slice(op.arguments().data, block.offset, block.size),
                         runtime::slice(data.bytes(), blocks[member].begin, block.size));
    }
}

}  // namespace rollcall::collectives
