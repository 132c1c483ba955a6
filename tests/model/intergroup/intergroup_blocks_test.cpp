// Scatter, gather and alltoall between two groups with blocks of different sizes: data placement, and sizes that do not match. (The
// allgather is in intergroup_test.cpp.)
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/blocks.hpp"
#include "tests/model/intergroup.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::Block;
using runtime::OperationKind;
using runtime::Simulation;

/// The algorithms of these operations that take blocks of different sizes.
std::vector<const AlgorithmEntry*> algorithms_for_blocks() {
    std::vector<const AlgorithmEntry*> all;
    for (const OperationKind kind :
         {OperationKind::intergroup_scatter, OperationKind::intergroup_gather, OperationKind::intergroup_alltoall})
        for (const AlgorithmEntry& entry : collectives::operation(kind).algorithms)
            if (!entry.needs.contains(collectives::Condition::equal_blocks)) all.push_back(&entry);
    return all;
}

/// Places blocks of these sizes one behind the other, or backwards with gaps.
std::vector<Block> placed(Random& random, const std::vector<std::uint64_t>& sizes) {
    std::vector<Block> blocks(sizes.size());
    const bool is_dense = random.chance(0.5);
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::size_t at = is_dense ? i : sizes.size() - 1 - i;
        blocks[at] = {end + (is_dense ? 0 : random.below(20)), sizes[at]};
        end = blocks[at].offset + sizes[at];
    }
    return blocks;
}

/// One call with the memory of all ranks. A rank sends a block to each member of `sent`, and gets one from each member of `received`.
struct CallOfBlocks {
    CallOfBlocks(Random& random, const AlgorithmEntry& its_entry, int p, int q, int its_root)
        : entry(its_entry), first(p), root(its_root), ranks(static_cast<std::size_t>(p + q)) {
        const std::size_t second = static_cast<std::size_t>(q);
        // The size of the block from each rank to each member of the other group.
        std::vector<std::vector<std::uint64_t>> sizes(ranks.size());
        for (std::size_t r = 0; r < ranks.size(); ++r)
            for (const Block& block : random_blocks(random, static_cast<int>(r < ranks.size() - second ? second : ranks.size() - second)))
                sizes[r].push_back(block.size);
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            const bool is_root = static_cast<int>(r) == root, is_other = root >= 0 && is_first(root) != is_first(static_cast<int>(r));
            std::vector<std::uint64_t> from_others;
            for (std::size_t i = 0; i < sizes[r].size(); ++i) from_others.push_back(sizes[other(r, i)][number(r)]);
            const auto rooted = static_cast<std::size_t>(std::max(root, 0));
            switch (entry.operation) {
                case OperationKind::intergroup_scatter:
                    if (is_root) ranks[r].sent = placed(random, sizes[r]);
                    if (is_other) ranks[r].received = {{0, sizes[rooted][number(r)]}};
                    break;
                case OperationKind::intergroup_gather:
                    if (is_root) ranks[r].received = placed(random, from_others);
                    if (is_other) ranks[r].sent = {{0, sizes[r][number(rooted)]}};
                    break;
                default: ranks[r].sent = placed(random, sizes[r]); ranks[r].received = placed(random, from_others);
            }
        }
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            ranks[r].from.assign(end_of(ranks[r].sent), kUntouched);
            ranks[r].into.assign(end_of(ranks[r].received), kUntouched);
            ranks[r].expected = ranks[r].into;
            // A rank with one block has it for the root, or from there.
            const auto peer = [&](std::size_t i) {
                return root >= 0 && static_cast<int>(r) != root ? static_cast<std::size_t>(root) : other(r, i);
            };
            for (std::size_t i = 0; i < ranks[r].sent.size(); ++i) fill(ranks[r].from, ranks[r].sent[i], r, peer(i));
            for (std::size_t i = 0; i < ranks[r].received.size(); ++i) fill(ranks[r].expected, ranks[r].received[i], peer(i), r);
        }
    }

    bool is_first(int rank) const { return rank < first; }
    /// Rank `r`'s number in its group.
    std::size_t number(std::size_t r) const { return is_first(static_cast<int>(r)) ? r : r - static_cast<std::size_t>(first); }
    /// Member `i` of the other group.
    std::size_t other(std::size_t r, std::size_t i) const {
        return is_first(static_cast<int>(r)) ? static_cast<std::size_t>(first) + i : i;
    }
    static void fill(std::vector<std::byte>& memory, const Block& block, std::size_t from, std::size_t to) {
        for (std::uint64_t at = 0; at < block.size; ++at)
            memory[block.offset + at] = content(static_cast<int>(from), at, static_cast<int>(to));
    }

    Simulation::RankCall of(int rank) {
        Memory& its = ranks[static_cast<std::size_t>(rank)];
        Simulation::RankCall made{{}, entry.algorithm, {}};
        made.call.kind = entry.operation;
        made.call.algorithm = entry.number;
        made.call.root = root;
        made.call.own_sizes = true;
        made.call.bytes = runtime::kManySizes;
        const bool scatters = entry.operation == OperationKind::intergroup_scatter, is_root = rank == root;
        const bool reads_data = scatters && is_root, has_result = scatters && !is_root;
        auto& arguments = made.arguments;
        if (reads_data)
            arguments.data = {its.from.data(), its.from.size()};
        else
            (has_result ? arguments.result : arguments.data) = transport::Bytes{its.into.data(), its.into.size()};
        if (!reads_data) arguments.contribution = {its.from.data(), its.from.size()};
        if (root < 0 || is_root) arguments.blocks = reads_data ? its.sent.data() : its.received.data();
        if (root < 0) arguments.contribution_blocks = its.sent.data();
        if (root >= 0 && !is_root && is_first(rank) != is_first(root)) made.call.bytes = scatters ? its.into.size() : its.from.size();
        return made;
    }

    struct Memory {
        std::vector<Block> sent, received;
        std::vector<std::byte> from, into, expected;
    };
    const AlgorithmEntry& entry;
    int first, root;
    std::vector<Memory> ranks;
};

TEST(IntergroupBlocks, GoWhereTheyBelong) {
    Random random(166);
    for (const AlgorithmEntry* const entry : algorithms_for_blocks())
        for (int p = 1; p <= 12; ++p)
            for (int q = 1; q <= 12; ++q) {
                if (random.leaves_out(6)) continue;
                const bool has_root = entry->operation != OperationKind::intergroup_alltoall;
                const int root = has_root ? static_cast<int>(random.below(static_cast<std::uint64_t>(p + q))) : -1;
                Simulation::Options machine = random_machine(random, p + q, 3000, *entry);
                machine.first_group = p;
                SCOPED_TRACE(fmt::format("{} {} p={} q={} root={} {}", name(entry->operation), entry->name, p, q, root, describe(machine)));
                CallOfBlocks call(random, *entry, p, q, root);
                Simulation simulation(machine);
                const auto outcome =
                    simulation.run([&](int rank) { return call.of(rank); }, random_delays(random, p + q, std::max(root, 0), 1000));
                for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
                for (std::size_t r = 0; r < call.ranks.size(); ++r)
                    ASSERT_TRUE(call.ranks[r].into == call.ranks[r].expected) << "rank " << r;
            }
}

// One rank gives another size for one block. All ranks are told whose it is.
TEST(IntergroupBlocks, WhatDoesNotMatchIsToldEverywhere) {
    Random random(167);
    for (const AlgorithmEntry* const entry : algorithms_for_blocks())
        for (int p = 1; p <= 4; ++p)
            for (int q = 1; q <= 4; ++q)
                for (int repetition = 0; repetition < repetitions(4); ++repetition) {
                    const bool has_root = entry->operation != OperationKind::intergroup_alltoall;
                    const int root = has_root ? static_cast<int>(random.below(static_cast<std::uint64_t>(p + q))) : -1;
                    Simulation::Options machine = random_machine(random, p + q, 3000, *entry);
                    machine.first_group = p;
                    machine.tick_for = kHour;
                    CallOfBlocks call(random, *entry, p, q, root);
                    // A receiver counts another size: the root, or another rank.
                    std::vector<std::size_t> receivers;
                    for (std::size_t r = 0; r < call.ranks.size(); ++r)
                        if (!call.ranks[r].received.empty()) receivers.push_back(r);
                    const std::size_t wrong = random.pick(receivers);
                    auto& [sent, received, from, into, expected] = call.ranks[wrong];
                    const std::size_t at = random.below(received.size());
                    const std::uint64_t right = received[at].size;
                    received[at].size = right > 0 && random.chance(0.5) ? right - 1 : right + 1 + random.below(200);
                    into.resize(entry->operation == OperationKind::intergroup_scatter ? received[at].size : end_of(received) + 300);
                    SCOPED_TRACE(fmt::format("{} {} p={} q={} root={} {}: rank {} counts {} for {}, not {}", name(entry->operation),
                                             entry->name, p, q, root, describe(machine), wrong, received[at].size, at, right));
                    const auto member = [&](std::size_t r) {
                        return fmt::format("rank {} of the {} group", call.number(r), static_cast<int>(r) < p ? "first" : "second");
                    };
                    std::string words;
                    if (entry->operation == OperationKind::intergroup_alltoall)
                        words = fmt::format("{} sends {} bytes to {}, which counts {} from it", member(call.other(wrong, at)), right,
                                            member(wrong), received[at].size);
                    else if (entry->operation == OperationKind::intergroup_gather)
                        words = fmt::format("the root counts {} bytes for {}, but its block has {}", received[at].size,
                                            member(call.other(wrong, at)), right);
                    else
                        words =
                            fmt::format("the root counts {} bytes for {}, but its block has {}", right, member(wrong), received[at].size);
                    Simulation simulation(machine);
                    simulation.run([&](int rank) { return call.of(rank); }, random_delays(random, p + q, std::max(root, 0), 1000));
                    for (int rank = 0; rank < p + q; ++rank) {
                        const Error* const error = simulation.world(rank).broken.get();
                        ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
                        EXPECT_EQ(error->code(), ErrorCode::mismatch);
                        EXPECT_NE(std::string(error->what()).find(words), std::string::npos) << error->what() << "\nnot: " << words;
                    }
                    if (HasFailure()) return;
                }
}

}  // namespace
}  // namespace rollcall::model_test
