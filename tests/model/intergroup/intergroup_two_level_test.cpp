// Operations between two groups on two levels: the worked examples, what leaves a node, and late ranks. (That all data comes where it
// belongs is in intergroup_operations_test.cpp.)
#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/intergroup.hpp"
#include "tests/model/two_level.hpp"

namespace rollcall::model_test {
namespace {

constexpr OperationKind kBroadcast = OperationKind::intergroup_broadcast, kScatter = OperationKind::intergroup_scatter,
                        kGather = OperationKind::intergroup_gather, kReduce = OperationKind::intergroup_reduce,
                        kAllreduce = OperationKind::intergroup_allreduce, kAlltoall = OperationKind::intergroup_alltoall;

/// Two groups of these sizes. Their ranks are on nodes one after the other, or dealt out to the nodes in turn.
struct Layout {
    int p, q, per_node;
    bool in_turn = false;

    Simulation::Options options() const {
        Simulation::Options options = two_on_each_node(p + q);
        options.ranks_per_node = per_node;
        options.ranks_in_turn = in_turn;
        options.first_group = p;
        return options;
    }
    int node_of(int rank) const {
        const int nodes = (p + q + per_node - 1) / per_node;
        return in_turn ? rank % nodes : rank / per_node;
    }
    /// The nodes of the group that `root` is not in, without its own one.
    std::set<int> other_nodes(int root) const {
        std::set<int> nodes;
        for (int rank = root < p ? p : 0; rank < (root < p ? p + q : p); ++rank)
            if (node_of(rank) != node_of(root)) nodes.insert(node_of(rank));
        return nodes;
    }
    std::uint64_t nodes(bool of_first) const {
        std::set<int> nodes;
        for (int rank = of_first ? 0 : p; rank < (of_first ? p : p + q); ++rank) nodes.insert(node_of(rank));
        return nodes.size();
    }
    /// The ranks of the group that `root` is not in, without those on its node.
    int others_elsewhere(int root) const {
        int count = 0;
        for (int rank = root < p ? p : 0; rank < (root < p ? p + q : p); ++rank) count += node_of(rank) != node_of(root);
        return count;
    }
};

/// A call by two levels. The ranks have no memory, unless they combine elements.
Simulation::Outcome outcome_of(OperationKind kind, const Layout& layout, int root, std::uint64_t bytes, const Simulation::Options& options,
                               const Times& arrivals) {
    const AlgorithmEntry& entry = two_level(kind);
    const auto& row = collectives::operation(kind);
    std::vector<std::vector<std::byte>> memory;
    Simulation simulation(options);
    auto outcome = simulation.run(
        [&](int rank) {
            Simulation::RankCall call{call_between(entry, layout.p, root, bytes, bytes, rank), entry.algorithm,
                                      arguments_between(row, layout.p, layout.q, root, bytes, bytes, rank)};
            if (!row.combines) return call;
            call.arguments.contribution.data = memory.emplace_back(call.arguments.contribution.size).data();
            call.arguments.data.data = memory.emplace_back(call.arguments.data.size).data();
            return call;
        },
        arrivals);
    for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
    return outcome;
}
Simulation::Outcome outcome_of(OperationKind kind, const Layout& layout, int root, std::uint64_t bytes,
                               const Simulation::Options& options) {
    return outcome_of(kind, layout, root, bytes, options, Times(static_cast<std::size_t>(layout.p + layout.q)));
}

// The examples at the heads of the algorithms, with all times twice as long: nodes {a0 b0} {b1 b2}.
TEST(IntergroupTwoLevelExamples, WithARoot) {
    constexpr Layout kExample{.p = 1, .q = 3, .per_node = 2};
    const auto exits = [&](OperationKind kind) { return outcome_of(kind, kExample, 0, 10, kExample.options()).exits; };
    EXPECT_EQ(exits(kBroadcast), (Times{12, 14, 12, 14}));
    EXPECT_EQ(exits(kScatter), (Times{20, 4, 24, 24}));
    EXPECT_EQ(exits(kGather), (Times{24, 2, 24, 2}));
    EXPECT_EQ(exits(kReduce), (Times{20, 18, 14, 2}));
}
// Nodes {a0 a1} {b0 b1}.
TEST(IntergroupTwoLevelExamples, WithoutARoot) {
    constexpr Layout kExample{.p = 2, .q = 2, .per_node = 2};
    const auto exits = [&](OperationKind kind) { return outcome_of(kind, kExample, -1, 10, kExample.options()).exits; };
    EXPECT_EQ(exits(kAllreduce), (Times{16, 18, 16, 18}));
    EXPECT_EQ(exits(kAlltoall), (Times{64, 64, 64, 64}));
}

constexpr Layout kLayouts[] = {
    {.p = 8, .q = 8, .per_node = 4},                   // Each group has nodes of its own.
    {.p = 6, .q = 9, .per_node = 4},                   // They share a node.
    {.p = 6, .q = 9, .per_node = 4, .in_turn = true},  // They share all nodes.
    {.p = 1, .q = 11, .per_node = 5},
    {.p = 3, .q = 2, .per_node = 3},
    {.p = 10, .q = 3, .per_node = 3, .in_turn = true},
};

// What the other group gets enters each of its nodes once, and nothing else leaves a node. The same holds for what it sends.
TEST(IntergroupTwoLevel, DataEntersEachNodeOnce) {
    constexpr std::uint64_t kBytes = 1000;
    for (const Layout& layout : kLayouts)
        for (int root = 0; root < layout.p + layout.q; ++root) {
            SCOPED_TRACE(
                fmt::format("p={} q={} per_node={} in_turn={} root={}", layout.p, layout.q, layout.per_node, layout.in_turn, root));
            const std::uint64_t nodes = layout.other_nodes(root).size();
            const auto elsewhere = static_cast<std::uint64_t>(layout.others_elsewhere(root));
            auto options = layout.options();
            options.eager_bytes = 1 << 20;  // A message is one message, without a word before it.
            const auto broadcast = outcome_of(kBroadcast, layout, root, kBytes, options);
            EXPECT_EQ(broadcast.messages, nodes);
            EXPECT_EQ(broadcast.bytes, nodes * kBytes);
            for (const OperationKind kind : {kScatter, kGather}) {
                const auto outcome = outcome_of(kind, layout, root, kBytes, options);
                EXPECT_EQ(outcome.messages, nodes) << runtime::name(kind);
                EXPECT_EQ(outcome.bytes, elsewhere * kBytes) << runtime::name(kind);
            }
        }
}

// Elements leave each node of the other group once, and come to the root once, in one lane or in several.
TEST(IntergroupTwoLevel, ANodeReducesBeforeItSends) {
    for (const Layout& layout : kLayouts)
        for (int root = 0; root < layout.p + layout.q; ++root)
            for (const std::uint64_t bytes : {1000, 9000}) {
                SCOPED_TRACE(fmt::format("p={} q={} per_node={} in_turn={} root={} bytes={}", layout.p, layout.q, layout.per_node,
                                         layout.in_turn, root, bytes));
                EXPECT_EQ(outcome_of(kReduce, layout, root, bytes, layout.options()).bytes, layout.other_nodes(root).size() * bytes);
            }
}

// In each group they leave each node but one, cross over, and come to each node but one.
TEST(IntergroupTwoLevel, AnAllreduceEntersEachNodeOnce) {
    for (const Layout& layout : kLayouts)
        for (const std::uint64_t bytes : {1000, 70'000}) {
            SCOPED_TRACE(
                fmt::format("p={} q={} per_node={} in_turn={} bytes={}", layout.p, layout.q, layout.per_node, layout.in_turn, bytes));
            const std::uint64_t nodes = layout.nodes(true) + layout.nodes(false);
            EXPECT_EQ(outcome_of(kAllreduce, layout, -1, bytes, layout.options()).bytes, (2 * (nodes - 2) + 2) * bytes);
        }
}

// One message for each pair of nodes on which ranks of different groups are, each way, and no block goes over the network twice.
TEST(IntergroupTwoLevel, ANodeCombinesBlocksForAnotherOne) {
    constexpr std::uint64_t kBytes = 100;
    for (const Layout& layout : kLayouts) {
        SCOPED_TRACE(fmt::format("p={} q={} per_node={} in_turn={}", layout.p, layout.q, layout.per_node, layout.in_turn));
        std::set<std::pair<int, int>> pairs;
        std::uint64_t blocks = 0;
        for (int from = 0; from < layout.p + layout.q; ++from)
            for (int to = 0; to < layout.p + layout.q; ++to) {
                if ((from < layout.p) == (to < layout.p) || layout.node_of(from) == layout.node_of(to)) continue;
                pairs.emplace(layout.node_of(from), layout.node_of(to));
                ++blocks;
            }
        auto options = layout.options();
        options.eager_bytes = 1 << 20;
        const auto outcome = outcome_of(kAlltoall, layout, -1, kBytes, options);
        EXPECT_EQ(outcome.messages, pairs.size());
        EXPECT_EQ(outcome.bytes, blocks * kBytes);
    }
}

// In an allgather of blocks of different sizes: two levels if they are short, and the rings of full_duplex if there is much data, whoever
// has it.
TEST(IntergroupTwoLevel, SizesDecideWhereBlocksDiffer) {
    constexpr Layout kFiveNodes{.p = 8, .q = 12, .per_node = 4};
    auto options = kFiveNodes.options();
    options.model.alpha = 1000;
    for (const std::uint64_t longest : {std::uint64_t{100}, std::uint64_t{4000}, std::uint64_t{1} << 20}) {
        const auto size_of = [&](int rank) { return rank == 3 ? longest : rank < 8 ? std::uint64_t{50} : std::uint64_t{70}; };
        std::vector<runtime::Block> of_first, of_second;
        for (int rank = 0; rank < 20; ++rank) {
            auto& blocks = rank < 8 ? of_first : of_second;
            blocks.push_back({blocks.empty() ? 0 : blocks.back().offset + blocks.back().size, size_of(rank)});
        }
        const auto exits = [&](std::string_view name) {
            const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::intergroup_allgather, name, collectives::kReal);
            Simulation simulation(options);
            return simulation
                .run(
                    [&](int rank) {
                        Simulation::RankCall call{collectives::make_call(entry, -1, size_of(rank), 0), entry.algorithm, {}};
                        const auto& others = rank < 8 ? of_second : of_first;
                        call.call.own_sizes = true;
                        call.arguments.contribution.size = size_of(rank);
                        call.arguments.data.size = others.back().offset + others.back().size;
                        call.arguments.blocks = others.data();
                        return call;
                    },
                    Times(20))
                .exits;
        };
        const bool is_short = longest < 1 << 20;
        EXPECT_EQ(exits("by_sizes"), exits(is_short ? "two_level" : "full_duplex")) << longest;
        EXPECT_NE(exits("by_sizes"), exits(is_short ? "full_duplex" : "two_level")) << longest;
    }
}

// Ranks of the root's group have no part: they leave at once, and nobody waits for them.
TEST(IntergroupTwoLevel, RanksOfTheRootsGroupAreNotWaitedFor) {
    constexpr Nanoseconds kLate = 1'000'000;
    for (const Layout& layout : kLayouts)
        for (int root = 0; root < layout.p + layout.q; ++root)
            for (const OperationKind kind : {kBroadcast, kScatter, kGather, kReduce}) {
                SCOPED_TRACE(fmt::format("{} p={} q={} per_node={} in_turn={} root={}", runtime::name(kind), layout.p, layout.q,
                                         layout.per_node, layout.in_turn, root));
                const auto balanced = outcome_of(kind, layout, root, 1000, layout.options());
                Times arrivals(balanced.exits.size());
                for (int rank = 0; rank < layout.p + layout.q; ++rank)
                    if (rank != root && (rank < layout.p) == (root < layout.p)) arrivals[static_cast<std::size_t>(rank)] = kLate;
                const auto late = outcome_of(kind, layout, root, 1000, layout.options(), arrivals);
                for (std::size_t rank = 0; rank < arrivals.size(); ++rank)
                    EXPECT_EQ(late.exits[rank], balanced.exits[rank] + arrivals[rank]) << rank;
            }
}

// Data goes on, and into the memory of a node, whether the rank that passes it on has arrived or not.
TEST(IntergroupTwoLevel, ALateRankOfEachNodeDelaysNobody) {
    constexpr Nanoseconds kLate = 1'000'000;
    constexpr Layout kThreeNodes{.p = 3, .q = 9, .per_node = 3};
    auto options = kThreeNodes.options();
    options.find_part_alone = &collectives::part_alone;
    for (const OperationKind kind : {kBroadcast, kScatter}) {
        const auto balanced = outcome_of(kind, kThreeNodes, 1, 1000, options);
        const Nanoseconds longest = *std::max_element(balanced.exits.begin(), balanced.exits.end());
        Times arrivals(12);
        for (const int rank : {3, 6, 9}) arrivals[static_cast<std::size_t>(rank)] = kLate;
        const auto late = outcome_of(kind, kThreeNodes, 1, 1000, options, arrivals);
        // A rank that takes over what has come copies it once more.
        for (std::size_t rank = 0; rank < arrivals.size(); ++rank)
            EXPECT_LE(late.exits[rank], std::max(arrivals[rank], longest) + 600) << runtime::name(kind) << ' ' << rank;
    }
    // Only the root of a gather waits.
    const auto balanced = outcome_of(kGather, kThreeNodes, 1, 1000, options);
    for (int late_place = 0; late_place < 3; ++late_place) {
        Times arrivals(12);
        for (int node = 1; node < 4; ++node) arrivals[static_cast<std::size_t>(3 * node + late_place)] = kLate;
        const auto late = outcome_of(kGather, kThreeNodes, 1, 1000, options, arrivals);
        for (std::size_t rank = 0; rank < arrivals.size(); ++rank)
            EXPECT_LE(late.exits[rank], rank == 1 ? kLate + balanced.exits[1] : arrivals[rank] + 200) << rank << ' ' << late_place;
    }
}

}  // namespace
}  // namespace rollcall::model_test
