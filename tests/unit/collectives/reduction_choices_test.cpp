// What `auto` takes to combine long vectors of many ranks.
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "collectives/selection.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

constexpr Conditions kOneRankOnEachHost = kUsual.with(Condition::background);

std::string_view choice(OperationKind kind, std::uint64_t bytes, int ranks, const Costs& costs = kBuiltInCosts) {
    return select(kind, {.bytes = bytes, .ranks = ranks, .has = kOneRankOnEachHost, .costs = &costs}).entry->name;
}

// A ring has as many steps as there are ranks. It is worth them only where what goes in a step is long.
TEST(ReductionChoices, TheManyStepsOfARingAreForLongSharesOnly) {
    using enum OperationKind;
    for (const int ranks : {1024, 100'000}) {
        for (const std::uint64_t bytes : {256 << 10, 1 << 20, 8 << 20})
            EXPECT_EQ(choice(allreduce, bytes, ranks), "rabenseifner") << bytes << " bytes, " << ranks << " ranks";
        EXPECT_EQ(choice(allreduce, static_cast<std::uint64_t>(ranks) << 20, ranks), "ring") << ranks;
        EXPECT_EQ(choice(reduce_scatter, 4 << 10, ranks), "recursive_halving") << ranks;
        EXPECT_EQ(choice(reduce_scatter, 1 << 20, ranks), "ring") << ranks;
    }
    // So few ranks as were measured.
    for (const int ranks : {5, 8, 16})
        for (const std::uint64_t bytes : {129 << 10, 256 << 10, 1 << 20}) EXPECT_EQ(choice(allreduce, bytes, ranks), "ring") << ranks;
    // If the number of ranks is not a power of two, all elements are sent twice more, and that takes longer where steps take no time.
    const Costs fast{.network_latency = 100, .network_gap = 100};
    EXPECT_EQ(choice(allreduce, 1 << 20, 1000, fast), "ring");
    EXPECT_EQ(choice(allreduce, 1 << 20, 1024, fast), "rabenseifner");
    EXPECT_EQ(choice(reduce_scatter, 4 << 10, 1000, fast), "ring");
}

// The estimate of two levels counts what the ranks of a lane take between the nodes.
TEST(ReductionChoices, AreKnownToTheEstimateOfTwoLevels) {
    for (const Costs& costs : {Costs{}, Costs{.network_latency = 100, .network_gap = 100}, Costs{.network_mebibyte = 100'000}})
        for (const int ranks : {2, 3, 4, 12, 16, 17, 64, 250, 1024, 1500})
            for (std::uint64_t bytes = 1; bytes <= 1 << 20; bytes *= 2)
                EXPECT_EQ(cost::takes_halving(cost_input_of(costs, bytes, ranks, false, 0)),
                          choice(OperationKind::reduce_scatter, bytes, ranks, costs) == "recursive_halving")
                    << bytes << " bytes, " << ranks << " ranks";
}

// Among three ranks recursive doubling takes three steps of all elements, one after the other.
TEST(ReductionChoices, AmongThreeRanksDoNotSendLongElementsThreeTimes) {
    using enum OperationKind;
    for (const std::uint64_t bytes : {8, 1 << 10, 8 << 10}) EXPECT_EQ(choice(allreduce, bytes, 3), "recursive_doubling") << bytes;
    for (const std::uint64_t bytes : {16 << 10, 64 << 10, 128 << 10, 1 << 20}) EXPECT_EQ(choice(allreduce, bytes, 3), "ring") << bytes;
    for (const int ranks : {2, 4}) EXPECT_EQ(choice(allreduce, 64 << 10, ranks), "recursive_doubling") << ranks;
    for (const std::uint64_t bytes : {16 << 10, 64 << 10})
        EXPECT_LT(cost::allreduce_ring(cost_input_of(kBuiltInCosts, bytes, 3, false, 0)),
                  cost::allreduce_recursive_doubling(cost_input_of(kBuiltInCosts, bytes, 3, false, 0)));
}

// On two levels, only as many ranks of each node combine as the smallest node has.
TEST(ReductionChoices, OnUnevenNodesLeaveLongElementsToAllRanks) {
    using enum OperationKind;
    const auto taken = [](OperationKind kind, std::uint64_t bytes, Conditions nodes) {
        return select(kind, {.bytes = bytes, .ranks = 65, .has = kOneRankOnEachHost.with(nodes), .nodes = 2}).entry->name;
    };
    const Conditions uneven = Condition::several_nodes, even = uneven.with(Condition::even_nodes);
    EXPECT_EQ(taken(allreduce, 64 << 10, uneven), "two_level") << "one rank of a node combines so few elements anyway";
    EXPECT_EQ(taken(allreduce, 64 << 20, even), "two_level");
    EXPECT_EQ(taken(allreduce, 64 << 20, uneven), "ring");
    EXPECT_EQ(taken(reduce_scatter, 1 << 20, even), "two_level");
    EXPECT_EQ(taken(reduce_scatter, 1 << 20, uneven), "ring");
}

// Worked examples on 4 nodes: a message of b bytes takes 1000 + b, and its bytes count once for each rank of a node that sends one.
TEST(ReductionEstimates, CountTheRanksThatShareALink) {
    CostInput input{.bytes = 48,
                    .ranks = 16,
                    .ranks_of_node = 4,
                    .latency = 1000,
                    .gap = 100,
                    .byte = 1,
                    .signal = 7,
                    .copied_byte = 0.5,
                    .combined_byte = 2};
    constexpr double kWithin = 7 + 48, kCombined = 96;
    EXPECT_DOUBLE_EQ(cost::allreduce_recursive_doubling(input), 2 * kWithin + 2 * (1000 + 4 * 48) + 4 * kCombined);
    EXPECT_DOUBLE_EQ(cost::allreduce_rabenseifner(input), 2 * (4 * 1000 + 4 * 12 * 3) + 15 * 6);
    EXPECT_DOUBLE_EQ(cost::allreduce_ring(input), 30 * 1000 + 45 * 2 + 45 * 2) << "one rank of a node sends to the next node";
    EXPECT_DOUBLE_EQ(cost::allreduce_reduce_then_broadcast(input), 2 * (2 * kWithin + 2 * 1048) + 4 * kCombined);
    EXPECT_DOUBLE_EQ(cost::allreduce_pairwise(input), (1000 + 14 * 400 + 4 * 12 * 3) + 15 * 6 + 15 * (1000 + 3));
    EXPECT_DOUBLE_EQ(cost::reduce_scatter_pairwise(input), cost::exchange(input) + 15 * kCombined);
    EXPECT_DOUBLE_EQ(cost::reduce_scatter_reduce_then_scatter(input),
                     2 * (7 + 768) + 2 * 1768 + 4 * 16 * kCombined + 4 * 1000 + 12 * 48 + 3 * 48);
    input.ranks = 18;
    input.ranks_of_node = 3;
    EXPECT_DOUBLE_EQ(cost::allreduce_recursive_doubling(input), kWithin + 3 * (1000 + 3 * 48) + 4 * kCombined + 2 * kWithin + kCombined)
        << "neighbours are on one node";
}

// Where two levels are excluded.
TEST(ReductionChoices, OnNodesSendLittleOverALinkThatManyRanksShare) {
    const auto taken = [](std::uint64_t bytes, int nodes) {
        const Conditions on_nodes = kOneRankOnEachHost.with(Condition::several_nodes);
        return select(OperationKind::allreduce,
                      {.bytes = bytes, .ranks = 64, .has = nodes > 0 ? on_nodes : kOneRankOnEachHost, .nodes = nodes})
            .entry->name;
    };
    for (const std::uint64_t bytes : {128 << 10, 512 << 10}) {
        EXPECT_EQ(taken(bytes, 0), "rabenseifner") << bytes;
        EXPECT_EQ(taken(bytes, 4), "ring") << bytes;
    }
}

// Of algorithms that keep the rank order, one rank of a node sends, or all do.
TEST(ReductionChoices, ThatKeepTheRankOrderDependOnTheRanksOfANode) {
    using enum OperationKind;
    const auto taken = [](OperationKind kind, std::uint64_t bytes, int ranks, int nodes) {
        const Conditions has = kOneRankOnEachHost.without(Condition::commutative);
        const Conditions on_nodes = has.with(Condition::several_nodes | Condition::even_nodes);
        return select(kind, {.bytes = bytes, .ranks = ranks, .has = nodes > 0 ? on_nodes : has, .nodes = nodes}).entry->name;
    };
    for (const int ranks : {5, 16, 100, 1024})
        for (const std::uint64_t bytes : {8, 1 << 10, 64 << 10, 1 << 20, 64 << 20}) {
            const bool is_long = bytes >= (ranks == 5 ? 64 << 10 : ranks == 1024 ? 64 << 20 : 1 << 20);
            EXPECT_EQ(taken(allreduce, bytes, ranks, 0), is_long ? "pairwise" : "recursive_doubling")
                << bytes << " bytes, " << ranks << " ranks";
            EXPECT_EQ(taken(reduce_scatter, bytes, ranks, 0), bytes == 8 && ranks >= 100 ? "reduce_then_scatter" : "pairwise")
                << bytes << " bytes, " << ranks << " ranks";
        }
    for (const std::uint64_t bytes : {16 << 10, 64 << 10, 1 << 20}) EXPECT_EQ(taken(allreduce, bytes, 3, 0), "pairwise") << bytes;
    EXPECT_EQ(taken(allreduce, 8 << 10, 3, 0), "recursive_doubling");
    EXPECT_EQ(taken(allreduce, 64 << 10, 2, 0), "recursive_doubling");
    EXPECT_EQ(taken(allreduce, 8, 1024, 16), "recursive_doubling");
    EXPECT_EQ(taken(allreduce, 1 << 10, 1024, 16), "reduce_then_broadcast");
    EXPECT_EQ(taken(allreduce, 1 << 20, 1024, 16), "reduce_then_broadcast");
    EXPECT_EQ(taken(allreduce, 64 << 10, 16, 8), "recursive_doubling") << "two ranks on each node";
    EXPECT_EQ(taken(allreduce, 1 << 20, 16, 8), "pairwise");
    EXPECT_EQ(taken(reduce_scatter, 1 << 10, 1024, 16), "reduce_then_scatter");
    EXPECT_EQ(taken(reduce_scatter, 64 << 10, 16, 8), "pairwise");
}

// In a tree or a chain of ranks that follow one another on their nodes, most messages stay within a node. On two levels none of them is
// one within a node.
TEST(ReductionChoices, OfAReduceDependOnTheRanksOfANode) {
    constexpr Conditions kEvenNodes = kOneRankOnEachHost.with(Condition::several_nodes | Condition::even_nodes);
    const auto taken = [](std::uint64_t bytes, int ranks, int nodes, Conditions on_nodes) {
        return select(OperationKind::reduce,
                      {.bytes = bytes, .ranks = ranks, .has = nodes > 0 ? on_nodes : kOneRankOnEachHost, .nodes = nodes})
            .entry->name;
    };
    EXPECT_EQ(taken(1 << 20, 1024, 0, kOneRankOnEachHost), "binary");
    EXPECT_EQ(taken(32 << 10, 1024, 0, kOneRankOnEachHost), "binary");
    Reduction function;
    function.operation = Operator::function;
    const Combiner of_program = combiner_of(function);
    for (const Conditions has : {kEvenNodes.without(Condition::even_nodes), kEvenNodes.without(Condition::background),
                                 kEvenNodes.without(Condition::commutative), conditions_of(of_program, kEvenNodes)}) {
        EXPECT_EQ(taken(1 << 20, 1024, 32, has), "pipelined");
        EXPECT_EQ(taken(32 << 10, 1024, 32, has), "binomial");
        EXPECT_EQ(taken(32 << 10, 16, 4, has), "binomial");
        EXPECT_EQ(taken(128 << 10, 16, 4, has), "pipelined");
    }
    for (const std::uint64_t bytes : {32 << 10, 128 << 10, 1 << 20}) EXPECT_EQ(taken(bytes, 1024, 32, kEvenNodes), "two_level") << bytes;
    for (const std::uint64_t bytes : {32 << 10, 64 << 10, 128 << 10}) EXPECT_EQ(taken(bytes, 16, 4, kEvenNodes), "two_level") << bytes;
    for (const std::uint64_t bytes : {8, 1 << 10, 2 << 10}) EXPECT_EQ(taken(bytes, 16, 4, kEvenNodes), "linear") << bytes;
    EXPECT_NE(taken(8 << 10, 16, 4, kEvenNodes), "two_level") << "so short data is not handed over, so ranks would wait for their node";
}

// With more than four ranks on a node, what one rank combines stays as long as with four.
TEST(ReductionChoices, OnLargeNodesShareOutWhatIsCombined) {
    EXPECT_EQ(lanes_of_all(64 << 10, 4, 4), 1);
    EXPECT_EQ(lanes_of_all((64 << 10) + 1, 4, 4), 4);
    EXPECT_EQ(lanes_of_all(64 << 10, 2, 2), 1);
    EXPECT_EQ(lanes_of_all(64 << 10, 8, 8), 2);
    EXPECT_EQ(lanes_of_all(64 << 10, 9, 8), 3);
    EXPECT_EQ(lanes_of_all(64 << 10, 128, 128), 32);
    EXPECT_EQ(lanes_of_all(16 << 10, 128, 128), 8);
    EXPECT_EQ(lanes_of_all(8 << 10, 128, 128), 4);
    EXPECT_EQ(lanes_of_all(8 << 10, 32, 32), 1);
    EXPECT_EQ(lanes_of_all(8, 128, 128), 1);
    EXPECT_EQ(lanes_of_all(0, 128, 128), 1);
    EXPECT_EQ(lanes_of_all(64 << 10, 128, 3), 3) << "no more than the smallest node has ranks";
    EXPECT_EQ(lanes_of_all(64 << 10, 128, 1), 1);
}

// Elements of any size are combined in node memory as long as one piece of it holds an element.
TEST(ReductionChoices, OfElementsThatDoNotDivideAPiece) {
    Combiner combiner;
    combiner.element_bytes = 24;
    const auto taken = [&](OperationKind kind, std::uint64_t bytes, Conditions has) {
        const int nodes = has.contains(Condition::several_nodes) ? 2 : 0;
        return select(kind, {.bytes = bytes, .ranks = 8, .has = conditions_of(combiner, has), .nodes = nodes}).entry->name;
    };
    const Conditions on_one_node = kOneRankOnEachHost.with(Condition::shared_boards | Condition::node_memory);
    const Conditions on_nodes = kOneRankOnEachHost.with(Condition::several_nodes | Condition::even_nodes);
    using enum OperationKind;
    for (const std::uint32_t element : {16, 24, 64 << 10}) {
        combiner.element_bytes = element;
        for (const std::uint64_t count : {1, 3, 2730, 2731, 100'000}) {
            const std::uint64_t bytes = element * count;
            for (const OperationKind kind : {allreduce, reduce, reduce_scatter})
                EXPECT_EQ(taken(kind, bytes, on_one_node), "shared_memory") << runtime::name(kind) << ' ' << element << ' ' << count;
            for (const OperationKind kind : {allreduce, reduce_scatter})
                EXPECT_EQ(taken(kind, bytes, on_nodes), "two_level") << runtime::name(kind) << ' ' << element << ' ' << count;
            EXPECT_EQ(taken(scan, bytes, on_one_node), "shared_memory") << element << ' ' << count;
        }
    }
    combiner.element_bytes = (64 << 10) + 1;
    for (const OperationKind kind : {allreduce, reduce, reduce_scatter, scan})
        EXPECT_NE(taken(kind, combiner.element_bytes, on_one_node), "shared_memory") << "an element would be cut";
}

}  // namespace
}  // namespace rollcall::collectives
