// Reduce_scatter and scans: the worked examples and the number of messages. (placement_test.cpp and reduce_test.cpp test the results.)
#include <bit>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

std::uint64_t messages_of(OperationKind operation, std::string_view name, int n) {
    return example(operation, name, n, 0, 8, 0, Times(static_cast<std::size_t>(n))).messages;
}
std::uint64_t log2_up(std::uint64_t n) { return static_cast<std::uint64_t>(std::bit_width(n - 1)); }

TEST(ReduceScatterExamples, Ring) {
    EXPECT_EQ(exits_of(OperationKind::reduce_scatter, "ring", 3, 0, 10, 0, Times(3)), (Times{20, 20, 20}));
}
TEST(ReduceScatterExamples, RecursiveHalving) {
    EXPECT_EQ(exits_of(OperationKind::reduce_scatter, "recursive_halving", 6, 0, 10, 0, Times(6)), (Times{130, 130, 130, 130, 110, 110}));
}
TEST(ReduceScatterExamples, Pairwise) {
    EXPECT_EQ(exits_of(OperationKind::reduce_scatter, "pairwise", 4, 0, 10, 0, Times(4)), (Times{30, 30, 30, 30}));
}
TEST(ReduceScatterExamples, ReduceThenScatter) {
    EXPECT_EQ(exits_of(OperationKind::reduce_scatter, "reduce_then_scatter", 4, 0, 10, 0, Times(4)), (Times{110, 110, 110, 110}));
}
TEST(ReduceScatterExamples, SharedMemory) {
    EXPECT_EQ(exits_of(OperationKind::reduce_scatter, "shared_memory", 3, 0, 2000, 0, Times(3), 1), (Times{10'000, 10'000, 10'000}));
    EXPECT_EQ(exits_of(OperationKind::reduce_scatter, "shared_memory", 3, 0, 10, 0, Times(3), 1), (Times{60, 60, 60}));
}

// A byte takes 1 ns and nothing else takes time, so that the time shows each algorithm's theoretical bandwidth. Blocks have 16 bytes.
TEST(ReduceScatter, TakesWhatTheorySays) {
    for (int n = 2; n <= 17; ++n) {
        SCOPED_TRACE(n);
        const auto ranks = static_cast<std::size_t>(n);
        const Nanoseconds block = 16, folded = static_cast<Nanoseconds>(std::bit_floor(ranks));
        for (const char* const name : {"ring", "pairwise"})
            EXPECT_EQ(exits_of(OperationKind::reduce_scatter, name, n, 0, 16, 0, Times(ranks)), Times(ranks, (n - 1) * block)) << name;
        if (folded == n) {
            EXPECT_EQ(exits_of(OperationKind::reduce_scatter, "recursive_halving", n, 0, 16, 0, Times(ranks)),
                      Times(ranks, (n - 1) * block));
        }
    }
}

TEST(ReduceScatter, AsManyMessagesAsTheySay) {
    for (int n = 2; n <= 17; ++n) {
        SCOPED_TRACE(n);
        const auto ranks = static_cast<std::uint64_t>(n), folded = std::bit_floor(ranks);
        EXPECT_EQ(messages_of(OperationKind::reduce_scatter, "ring", n), ranks * (ranks - 1));
        EXPECT_EQ(messages_of(OperationKind::reduce_scatter, "pairwise", n), ranks * (ranks - 1));
        EXPECT_EQ(messages_of(OperationKind::reduce_scatter, "reduce_then_scatter", n), 2 * (ranks - 1));
        EXPECT_EQ(messages_of(OperationKind::reduce_scatter, "recursive_halving", n), folded * log2_up(folded) + 2 * (ranks - folded));
    }
}

TEST(ScanExamples, Linear) {
    for (const OperationKind operation : {OperationKind::scan, OperationKind::exclusive_scan})
        EXPECT_EQ(exits_of(operation, "linear", 4, 0, 30, 10, Times(4)), (Times{30, 40, 50, 50}));
}
TEST(ScanExamples, RecursiveDoubling) {
    for (const OperationKind operation : {OperationKind::scan, OperationKind::exclusive_scan}) {
        EXPECT_EQ(exits_of(operation, "recursive_doubling", 6, 0, 10, 0, Times(6)), (Times{30, 30, 20, 20, 30, 30}));
        EXPECT_EQ(messages_of(operation, "recursive_doubling", 6), 5u + 4u + 2u);
    }
}
TEST(ScanExamples, SharedMemory) {
    EXPECT_EQ(exits_of(OperationKind::scan, "shared_memory", 3, 0, 10, 0, Times(3), 1), (Times{20, 30, 40}));
}

// A piece goes down a link when the piece before it has, so that X pieces take X + P - 2 times. Recursive doubling takes ceil(log2 P)
// messages.
TEST(Scan, TakesWhatTheorySays) {
    for (const OperationKind operation : {OperationKind::scan, OperationKind::exclusive_scan})
        for (int n = 2; n <= 17; ++n)
            for (const int pieces : {1, 2, 7, 30}) {
                SCOPED_TRACE(fmt::format("{} of {} ranks, {} pieces", name(operation), n, pieces));
                const auto bytes = static_cast<std::uint64_t>(pieces) * 16;
                const auto ranks = static_cast<std::size_t>(n);
                EXPECT_EQ(exits_of(operation, "linear", n, 0, bytes, 16, Times(ranks)).back(), (pieces + n - 2) * 16);
                EXPECT_EQ(exits_of(operation, "recursive_doubling", n, 0, bytes, 0, Times(ranks)).back(),
                          static_cast<Nanoseconds>(log2_up(ranks) * bytes));
                EXPECT_EQ(messages_of(operation, "linear", n), ranks - 1);
                EXPECT_EQ(messages_of(operation, "recursive_doubling", n), ranks * log2_up(ranks) - (std::bit_ceil(ranks) - 1));
            }
}

// A rank does not wait for the ranks after it. With room for early data, the ranks before a late rank are done as if it were not late.
TEST(Scan, NobodyWaitsForALaterRank) {
    for (const OperationKind operation : {OperationKind::scan, OperationKind::exclusive_scan})
        for (const AlgorithmEntry* const entry : algorithms(operation))
            for (std::size_t late = 0; late < 9; ++late) {
                SCOPED_TRACE(fmt::format("{} {} {}", name(operation), entry->name, late));
                Simulation::Options options;
                options.ranks = 9;
                // Nodes of four ranks, four ranks, and one.
                if (entry->needs.contains(collectives::Condition::several_nodes)) options.ranks_per_node = 4;
                options.model.alpha = 20;
                options.model.beta = 1;
                Times arrivals(9);
                arrivals[late] = 1'000'000;
                const std::vector<std::vector<std::uint8_t>> operands(9, std::vector<std::uint8_t>(6000, 1));
                const Reduced<std::uint8_t> made(options, *entry, 0, reduction_of<std::uint8_t>(sum), operands, 0, false, arrivals);
                for (std::size_t rank = 0; rank < 9; ++rank) EXPECT_EQ(made.exits[rank] >= arrivals[late], rank >= late) << rank;
            }
}

}  // namespace
}  // namespace rollcall::model_test
