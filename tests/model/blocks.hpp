/// \file
/// Calls on blocks whose sizes differ, with the memory of all ranks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {

inline constexpr std::byte kUntouched{0xDB};

/// Returns random sizes, some of them zero. The blocks are in any order, with gaps or without.
inline std::vector<runtime::Block> random_blocks(Random& random, int n) {
    std::vector<runtime::Block> blocks(static_cast<std::size_t>(n));
    std::vector<std::size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    const auto sizes = random.pick(std::vector<std::uint64_t>{1, 20, 300, 3000});
    const bool gaps = random.chance(0.5);
    std::uint64_t end = 0;
    for (const std::size_t rank : order) {
        blocks[rank].size = random.chance(0.3) ? 0 : random.below(sizes + 1);
        blocks[rank].offset = end + (gaps ? random.below(50) : 0);
        end = blocks[rank].offset + blocks[rank].size;
    }
    return blocks;
}

inline std::uint64_t end_of(const std::vector<runtime::Block>& blocks) {
    std::uint64_t end = 0;
    for (const runtime::Block& block : blocks) end = std::max(end, block.offset + block.size);
    return end;
}

inline std::byte byte_of_block(int rank, std::uint64_t position) {
    return static_cast<std::byte>(1 + (static_cast<std::uint64_t>(rank) * 37 + position) % 200);
}

/// One call, with the memory of all ranks.
struct BlocksCall {
    const collectives::AlgorithmEntry& entry;
    int root;
    std::vector<runtime::Block> blocks;    ///< The blocks as the root counts them.
    std::vector<std::uint64_t> own_sizes;  ///< The sizes that the ranks give.
    std::uint64_t segment = 0;
    bool in_place = false;
    bool planned = false;
    std::vector<std::byte> data = {};
    std::vector<std::vector<std::byte>> own = {};

    std::string text() const {
        std::string text = fmt::format("{} {} root={} segment={} in_place={} planned={}:", name(entry.operation), entry.name, root, segment,
                                       in_place, planned);
        for (const runtime::Block& block : blocks) text += fmt::format(" {}+{}", block.offset, block.size);
        return text;
    }
    bool scatters() const { return entry.operation == runtime::OperationKind::scatter; }
    int ranks() const { return static_cast<int>(blocks.size()); }

    void fill() {
        data.assign(end_of(blocks), kUntouched);
        own.resize(blocks.size());
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const int rank = static_cast<int>(i);
            own[i].assign(own_sizes[i], kUntouched);
            const bool in_data = scatters() || (in_place && rank == root);
            std::byte* const to = in_data ? data.data() + blocks[i].offset : own[i].data();
            for (std::uint64_t at = 0; at < (in_data ? blocks[i].size : own_sizes[i]); ++at) to[at] = byte_of_block(rank, at);
        }
    }
    runtime::Simulation::RankCall of(int rank) {
        const auto i = static_cast<std::size_t>(rank);
        runtime::Simulation::RankCall call{
            collectives::make_call(entry, root, rank == root ? runtime::kManySizes : own_sizes[i], segment), entry.algorithm, {}};
        call.call.own_sizes = true;
        std::byte* const block = in_place && rank == root ? data.data() + blocks[i].offset : own[i].data();
        const collectives::Buffers buffers = {.contribution = block, .data = data.data(), .result = block};
        call.arguments =
            collectives::arguments_of(collectives::operation(entry.operation), buffers, own_sizes[i], data.size(), rank == root);
        if (rank == root) call.arguments.blocks = blocks.data();
        call.arguments.segment_bytes = segment;
        return call;
    }
    /// Expects the data that a serial copy would produce.
    void expect_moved() const {
        std::vector<std::byte> expected(data.size(), kUntouched);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const int rank = static_cast<int>(i);
            std::vector<std::byte> block(blocks[i].size);
            for (std::uint64_t at = 0; at < block.size(); ++at) block[at] = byte_of_block(rank, at);
            std::copy(block.begin(), block.end(), expected.begin() + static_cast<std::ptrdiff_t>(blocks[i].offset));
            if (!in_place || rank != root) {
                EXPECT_EQ(own[i], block) << "rank " << rank;
            }
        }
        EXPECT_EQ(data, expected);
    }
};

inline BlocksCall random_call(Random& random, const collectives::AlgorithmEntry& entry, int n, int root) {
    BlocksCall call{.entry = entry, .root = root, .blocks = random_blocks(random, n), .own_sizes = {}};
    for (const runtime::Block& block : call.blocks) call.own_sizes.push_back(block.size);
    call.segment = entry.segmented ? random.pick(std::vector<std::uint64_t>{0, 1, 7, 100}) : 0;
    call.in_place = random.chance(0.3);
    call.planned = random.chance(0.4);
    return call;
}

/// Returns the algorithms for operations in which only the root knows all sizes.
inline std::vector<const collectives::AlgorithmEntry*> algorithms_of_blocks() {
    std::vector<const collectives::AlgorithmEntry*> found;
    for (const auto& entry : collectives::catalogue())
        if (collectives::operation(entry.operation).has_own_sizes && collectives::operation(entry.operation).has_root &&
            !entry.needs.contains(collectives::Condition::equal_blocks))
            found.push_back(&entry);
    return found;
}

}  // namespace rollcall::model_test
