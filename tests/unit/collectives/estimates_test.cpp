// The estimates by which `auto` compares algorithms.
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/selection.hpp"
#include "tests/unit/collectives/comparisons.hpp"

namespace rollcall::collectives {
namespace {

TEST(Estimates, GrowWithTheSizeAndWithTheCosts) {
    for_each_comparison([](const OperationRow& row, const Rule& rule) {
        for (std::size_t i = 0; i < rule.candidates(); ++i)
            for (const int ranks : {1, 2, 3, 4, 5, 8, 16, 17, 48, 1000}) {
                SCOPED_TRACE(fmt::format("{} {} among {}", name(row.kind), rule.candidate(i)->name, ranks));
                const auto time = [&](const Costs& costs, std::uint64_t bytes) {
                    return rule.candidate(i)->cost(cost_input_of(costs, bytes, ranks, false, ranks % 4 == 0 ? ranks / 4 : 0));
                };
                double before = 0;
                for (int power = 0; power < 48; ++power) {
                    const double now = time({}, std::uint64_t{1} << power);
                    ASSERT_TRUE(std::isfinite(now));
                    // A chain has another piece for another size, and rounds up to whole pieces.
                    ASSERT_GE(now * kRounding, before) << power;
                    before = now;
                    for (const CostName& cost : kCostNames) {
                        Costs dearer;
                        dearer.*cost.member *= 2;
                        // A binary tree has the pieces that are the best for a chain.
                        const double little = rule.candidate(i)->name == "binary" ? 1.1 : kRounding;
                        ASSERT_GE(time(dearer, std::uint64_t{1} << power) * little, now) << cost.name << ' ' << power;
                    }
                }
            }
    });
}

// Worked examples: a message of b bytes takes 1000 + b, and a gap is 100.
TEST(Estimates, FollowTheirFormulas) {
    CostInput input{.bytes = 50, .ranks = 5, .latency = 1000, .gap = 100, .byte = 1, .copied_byte = 0.5, .combined_byte = 2};
    EXPECT_DOUBLE_EQ(cost::linear(input), 1000 + 3 * 100 + 4 * 50);
    EXPECT_DOUBLE_EQ(cost::binomial(input), 3 * 1050);
    EXPECT_DOUBLE_EQ(cost::binomial_combining(input), 3 * (1050 + 100));
    EXPECT_DOUBLE_EQ(cost::binomial_of_blocks(input), 3 * 1000 + 4 * 50);
    EXPECT_DOUBLE_EQ(cost::chain(input), 4 * 1050) << "one piece";
    EXPECT_DOUBLE_EQ(cost::binary(input), 2 * (150 + 1050)) << "one piece";
    EXPECT_DOUBLE_EQ(cost::broadcast_linear(input), cost::linear(input)) << "short";
    EXPECT_DOUBLE_EQ(cost::broadcast_binomial(input), cost::binomial(input));
    EXPECT_DOUBLE_EQ(cost::reduce_linear(input), cost::linear(input) + 4 * 100);
    CostInput longer = input;
    longer.bytes = 10'000;
    EXPECT_DOUBLE_EQ(cost::broadcast_linear(longer), cost::linear(longer) + 1.5 * 4 * 10'000) << "the root's port";
    EXPECT_DOUBLE_EQ(cost::broadcast_binomial(longer), cost::binomial(longer) + 1.5 * 3 * 10'000);
    EXPECT_DOUBLE_EQ(cost::broadcast_chain(longer), cost::chain(longer) + 1.5 * 10'000);
    EXPECT_DOUBLE_EQ(cost::broadcast_binary(longer), cost::binary(longer) + 1.5 * 2 * 10'000);
    EXPECT_DOUBLE_EQ(cost::reduce_binary(longer), 2 * ((100 + 10'000 + 20'000) + (11'000 + 20'000)) + 1.5 * 2 * 10'000) << "one piece";
    EXPECT_DOUBLE_EQ(cost::reduce_linear(longer), cost::broadcast_linear(longer) + 4 * 20'000);
    EXPECT_DOUBLE_EQ(cost::reduce_binomial(longer), cost::binomial_combining(longer) + 1.5 * 3 * 10'000);
    EXPECT_DOUBLE_EQ(cost::reduce_chain(longer), cost::chain_combining(longer) + 1.5 * 10'000);
    EXPECT_DOUBLE_EQ(cost::exchange(input), 1000 + 3 * 400 + 4 * 50) << "a rank on each node";
    longer = input;
    longer.gap = 500;
    EXPECT_DOUBLE_EQ(cost::exchange(longer), cost::linear(longer)) << "the gap is long";
    EXPECT_DOUBLE_EQ(cost::allgather_bruck(input), 3 * 1000 + 4 * 50 + 5 * 25);
    EXPECT_DOUBLE_EQ(cost::alltoall_bruck(input), 3 * (1100 + 100));
    EXPECT_DOUBLE_EQ(cost::allreduce_recursive_doubling(input), 2 * 1150 + 2 * 1050 + 100);
    EXPECT_DOUBLE_EQ(cost::allreduce_rabenseifner(input), 4 * 1000 + 40 * 2 + 40 * 2 + 2 * 1050 + 100);
    EXPECT_DOUBLE_EQ(cost::allreduce_ring(input), 8 * 1000 + 40 * 2 + 40 * 2);

    EXPECT_DOUBLE_EQ(cost::reduce_scatter_ring(input), 4 * (1050 + 100));
    EXPECT_DOUBLE_EQ(cost::reduce_scatter_halving(input), 2 * 1000 + 4 * 50 + 4 * 100 + 1250 + 1050 + 500);
    EXPECT_DOUBLE_EQ(cost::scan_recursive_doubling(input), cost::binomial_combining(input)) << "a rank on each node";

    input.ranks = 16;
    input.ranks_of_node = 4;
    input.signal = 7;
    EXPECT_DOUBLE_EQ(cost::reduce_scatter_halving(input), 4 * 1000 + 4 * 12 * 50 + 15 * 100) << "the ranks of a node share its link";
    EXPECT_DOUBLE_EQ(cost::reduce_scatter_two_level(input), 2 * 1000 + 3 * 200 + 3 * 400 + 2 * 7 + (800 + 200) * 0.5 + 3 * 800 * 2)
        << "one lane, halving";
    EXPECT_DOUBLE_EQ(cost::scan_recursive_doubling(input), 4 * (1000 + 100) + (1 + 2 + 4 + 4) * 50);
    EXPECT_DOUBLE_EQ(cost::chain_combining(input), 3 * (1050 + 100) + 12 * (7 + 50 * (2 * 0.5 + 2))) << "one piece";
    EXPECT_DOUBLE_EQ(cost::binomial(input), 2 * 1050 + 2 * (7 + 50)) << "two steps between nodes, two within";
    CostInput tree = input;
    tree.bytes = 10'000;
    EXPECT_DOUBLE_EQ(cost::reduce_binomial(tree), 2 * 11'000 + 2 * 10'007 + 4 * 20'000 + 1.5 * 2 * 10'000);
    EXPECT_DOUBLE_EQ(cost::reduce_binary(tree), 4 * (30'100 + 31'000) + 1.5 * 5 * 10'000) << "up to five messages enter a node";
    EXPECT_DOUBLE_EQ(cost::reduce_two_level(tree), 7 + 5000 + 3 * 20'000 + 2 * (11'000 + 20'000) + 1.5 * 2 * 10'000) << "a tree";
    tree.ranks = 18;
    tree.ranks_of_node = 6;
    EXPECT_DOUBLE_EQ(cost::broadcast_binomial(tree), 3 * 11'000 + 2 * 10'007 + 1.5 * 3 * 10'000) << "four of six ranks are a tree";
    EXPECT_DOUBLE_EQ(cost::scan_two_level(input), 3 * 7 + 50 * (3 * 0.5 + (4 + 2) * 2) + 2 * (1000 + 100) + (2 + 1) * 50);
    EXPECT_DOUBLE_EQ(cost::exchange(input), 1000 + 14 * 400 + 4 * 12 * 50) << "the ranks of a node share its link";
    EXPECT_DOUBLE_EQ(cost::allgather_two_level(input), 3 * (1000 + 200) + 2 * 7 + (200 + 2 * 800) * 0.5);
    EXPECT_DOUBLE_EQ(cost::two_level_of_blocks(input), 7 + (4 + 1) * 50 * 0.5 + 1000 + 2 * 100 + 3 * 200);
    EXPECT_DOUBLE_EQ(cost::barrier_linear(input), 2 * (1000 + 14 * 100));
    EXPECT_DOUBLE_EQ(cost::barrier_dissemination(input), 4 * 1000);
    EXPECT_DOUBLE_EQ(cost::barrier_two_level(input), 2 * 7 + 2 * 1000);
    EXPECT_DOUBLE_EQ(cost::alltoall_two_level(input), 1000 + 2 * 400 + 4 * 12 * 50 + 2 * 7 + (9 * 16 + 16) * 25) << "one lane";
    input.bytes = 1000;
    EXPECT_DOUBLE_EQ(cost::alltoall_two_level(input), 1000 + 2 * 400 + 4 * 12 * 1000 + 2 * 7 + (4 * 16 - 4) * 500)
        << "a lane for each rank";
    EXPECT_DOUBLE_EQ(cost::intergroup_full_duplex(input), (1000 + 4000) + 7 * 2000) << "8 and 8 ranks";
    EXPECT_DOUBLE_EQ(cost::intergroup_two_level(input), 1000 + 8000 + 400 + 2 * 7 + (4000 + 2 * 8000) * 0.5) << "short data: 2 and 2 nodes";
    EXPECT_DOUBLE_EQ(cost::intergroup_root_gathering(input), (3 * 1000 + 7000) + (1000 + 8000) + 9000 + 2 * 8007);
    input.bytes = 2000;
    input.ranks_of_group = 12;
    input.nodes_of_group = 3;
    EXPECT_DOUBLE_EQ(cost::intergroup_full_duplex(input), (1000 + 8000) + 11 * 3000);
    EXPECT_DOUBLE_EQ(cost::intergroup_two_level(input), 3 * (1000 + 8000) + 2 * 7 + (8000 + 2 * 24'000) * 0.5);
    EXPECT_DOUBLE_EQ(cost::intergroup_broadcast_two_level(input), 2 * 3000 + 7 + 2 * 2000 * 0.5) << "a root and 3 nodes of 4 ranks";
    EXPECT_DOUBLE_EQ(cost::intergroup_two_level_of_blocks(input), 7 + (8000 + 2000) * 0.5 + 1000 + 2 * 100 + 3 * 8000);
    EXPECT_DOUBLE_EQ(cost::intergroup_reduce_binomial(input), 2 * 3000 + 2 * 2007 + 4 * 4000 + 3000);
    EXPECT_DOUBLE_EQ(cost::intergroup_reduce_chain(input), 2 * (3000 + 4000) + 9 * (2007 + 4000) + (3000 + 4000))
        << "12 ranks and the root, one piece";
    EXPECT_DOUBLE_EQ(cost::intergroup_allreduce_chain(input), 2 * (3000 + 4000) + 12 * (2007 + 4000) + (1000 + 2 * 2000 + 4000))
        << "all ranks";
    EXPECT_DOUBLE_EQ(cost::intergroup_reduce_two_level(input), 7 + 2000 * (0.5 + 4 * 2) + 2 * (3000 + 4000) + 3000);
    EXPECT_DOUBLE_EQ(cost::intergroup_allreduce_binomial(input), cost::intergroup_reduce_binomial(input) + 2 * 3000 + 2 * 2007);
    EXPECT_DOUBLE_EQ(cost::intergroup_allreduce_two_level(input), cost::intergroup_reduce_two_level(input) + 2 * 3000 + 7 + 2 * 2000 * 0.5);
    EXPECT_DOUBLE_EQ(cost::intergroup_alltoall_linear(input), 1000 + 11 * 400 + 4 * 12 * 2000);
    EXPECT_DOUBLE_EQ(cost::intergroup_alltoall_two_level(input), 1000 + 2 * 400 + 4 * 12 * 2000 + 2 * 7 + (2 + 3 * 4) * 12 * 2000 * 0.5);
    input.ranks = 1;
    for (const auto estimate : {&cost::linear, &cost::binomial, &cost::binomial_of_blocks, &cost::chain})
        EXPECT_EQ(estimate(input), 0) << "one rank sends nothing";
}

// In the model: the power of two nearest to the square root of m latency / ((n - 2) byte).
TEST(Estimates, ThePieceOfAChainIsTheOneThatWasMeasuredToBeGood) {
    struct {
        std::uint64_t bytes;
        int ranks;
        std::uint64_t piece;
    } const measured[] = {{256 << 10, 16, 16 << 10}, {1 << 20, 16, 32 << 10}, {8 << 20, 16, 128 << 10},
                          {1 << 20, 48, 16 << 10},   {8 << 20, 48, 64 << 10}, {8 << 20, 128, 32 << 10}};
    for (const auto& [bytes, ranks, piece] : measured)
        EXPECT_EQ(cost::chain_segment(cost_input_of({}, bytes, ranks, false, 0)), piece) << bytes << " bytes, " << ranks << " ranks";
}

}  // namespace
}  // namespace rollcall::collectives
