// The catalogue, selection, and trees.
#include <gtest/gtest.h>

#include <bit>
#include <rollcall/error.hpp>
#include <set>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/relay.hpp"
#include "collectives/selection.hpp"
#include "collectives/trees/binomial.hpp"

namespace rollcall::collectives {
namespace {

using runtime::OperationKind;

TEST(BinomialTree, SpansAllRanksWithTheLeastDepth) {
    for (int n = 1; n <= 130; ++n)
        for (int root = 0; root < n; ++root) {
            std::vector<int> parent(static_cast<std::size_t>(n), -2), depth(static_cast<std::size_t>(n), -1);
            for (int rank = 0; rank < n; ++rank)
                for (const int child : binomial_tree(n, root, rank).children) {
                    ASSERT_EQ(parent[static_cast<std::size_t>(child)], -2) << "two parents";
                    parent[static_cast<std::size_t>(child)] = rank;
                }
            for (int rank = 0; rank < n; ++rank) {
                const int expected = rank == root ? -1 : parent[static_cast<std::size_t>(rank)];
                ASSERT_EQ(binomial_tree(n, root, rank).parent, expected) << n << " " << root << " " << rank;
            }
            int deepest = 0;
            for (int rank = 0; rank < n; ++rank) {
                int steps = 0;
                for (int at = rank; at != root; at = parent[static_cast<std::size_t>(at)]) ASSERT_LE(++steps, n);
                deepest = std::max(deepest, steps);
            }
            // No rank is further from the root than there are rounds, and the last round is needed.
            const int rounds = std::bit_width(static_cast<unsigned>(n - 1));
            ASSERT_LE(deepest, rounds);
            ASSERT_EQ(static_cast<int>(binomial_tree(n, root, root).children.size()), rounds);
        }
}

// In round i every rank below 2^(i-1), counted from the root, sends one message: so the k-th child is served in time.
TEST(BinomialTree, FinishesInLog2Rounds) {
    for (const int n : {1, 2, 3, 7, 8, 9, 64, 100, 1000}) {
        std::vector<int> has(static_cast<std::size_t>(n), -1);
        has[0] = 0;
        int last = 0;
        for (int v = 0; v < n; ++v) {  // parents come before their children
            int round = has[static_cast<std::size_t>(v)];
            ASSERT_GE(round, 0);
            for (const int child : binomial_tree(n, 0, v).children) last = std::max(last, has[static_cast<std::size_t>(child)] = ++round);
        }
        EXPECT_EQ(last, std::bit_width(static_cast<unsigned>(n - 1)));
    }
}

TEST(BinomialTree, TheExampleInItsHeader) {
    EXPECT_EQ(binomial_tree(8, 0, 0).children, (std::vector<int>{1, 2, 4}));
    EXPECT_EQ(binomial_tree(8, 0, 1).children, (std::vector<int>{3, 5}));
    EXPECT_EQ(binomial_tree(8, 0, 2).children, (std::vector<int>{6}));
    EXPECT_EQ(binomial_tree(8, 0, 3).children, (std::vector<int>{7}));
}

TEST(BinomialTree, LargestSizes) {
    const int n = 2147483647;
    const TreePlace root = binomial_tree(n, n - 1, n - 1);
    EXPECT_EQ(root.children.size(), 31u);
    EXPECT_EQ(root.children.front(), 0);
    for (const int child : root.children) EXPECT_EQ(binomial_tree(n, n - 1, child).parent, n - 1);
}

TEST(Relay, SegmentCount) {
    EXPECT_EQ(segment_count(0, 0), 1u);
    EXPECT_EQ(segment_count(0, 10), 1u);
    EXPECT_EQ(segment_count(10, 10), 1u);
    EXPECT_EQ(segment_count(11, 10), 2u);
    EXPECT_EQ(segment_count(100, 10), 10u);
    EXPECT_EQ(segment_count(std::uint64_t{1} << 40, 1), std::uint64_t{1} << 40);
}

TEST(Catalogue, NamesAndAliasesAreUnique) {
    std::set<std::pair<OperationKind, std::string_view>> names;
    for (const AlgorithmEntry& entry : catalogue()) {
        EXPECT_TRUE(names.emplace(entry.operation, entry.name).second) << entry.name;
        for (const std::string_view alias : entry.aliases) EXPECT_TRUE(names.emplace(entry.operation, alias).second) << alias;
        EXPECT_NE(entry.algorithm, nullptr);
        EXPECT_FALSE(entry.summary.empty());
        EXPECT_NE(entry.name, "auto");
    }
}

TEST(Catalogue, FindsByNameAndByAlias) {
    for (const AlgorithmEntry& entry : catalogue()) {
        EXPECT_EQ(&find_algorithm(entry.operation, entry.name, true), &entry);
        for (const std::string_view alias : entry.aliases) EXPECT_EQ(&find_algorithm(entry.operation, alias, true), &entry);
    }
}

TEST(Catalogue, AnUnknownNameIsToldAllThereAre) {
    for (const OperationKind kind : {OperationKind::broadcast, OperationKind::scatter, OperationKind::gather, OperationKind::barrier}) try {
            find_algorithm(kind, "bcast17");
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            const std::string text = error.what();
            EXPECT_NE(text.find("'bcast17'"), std::string::npos) << text;
            EXPECT_EQ(text.find('\n'), std::string::npos) << text;
            for (const std::string_view name : algorithm_names(kind)) EXPECT_NE(text.find(name), std::string::npos) << text;
        }
}

TEST(Catalogue, TheOracleIsForSimulationsOnly) {
    EXPECT_THROW(find_algorithm(OperationKind::broadcast, "near_optimal"), Error);
    for (const std::string_view name : algorithm_names(OperationKind::broadcast)) EXPECT_NE(name, "near_optimal");
}

TEST(Catalogue, ACallSaysHowItIsDone) {
    const auto in_words = [](const runtime::Call& call) { return to_string(call, &algorithm_name); };
    const auto& binomial = find_algorithm(OperationKind::broadcast, "binomial");
    EXPECT_EQ(in_words(make_call(binomial, 2, 8, 8192)), "broadcast(root=2, 8 bytes) with binomial in segments of 8192 bytes");
    EXPECT_EQ(in_words(make_call(binomial, 2, 8, 0)), "broadcast(root=2, 8 bytes) with binomial");
    EXPECT_EQ(in_words(runtime::Call{.kind = OperationKind::split}), "split()");
    for (const AlgorithmEntry& entry : catalogue()) EXPECT_EQ(algorithm_name(make_call(entry, -1, 0, 0).algorithm), entry.name);
    // From a peer with other algorithms than this one's.
    EXPECT_EQ(algorithm_name(255), "an unknown algorithm");
    EXPECT_EQ(algorithm_name(0), "an unknown algorithm");
}

TEST(Selection, ABarrierOfRanksThatShareMemoryGoesOverTheirBoards) {
    for (const int ranks : {2, 8, 16, 17, 64, 65, 1000}) {
        const std::string_view apart = select(OperationKind::barrier, {.ranks = ranks}).entry->name;
        const std::string_view together = select(OperationKind::barrier, {.ranks = ranks, .shared_boards = true}).entry->name;
        EXPECT_FALSE(apart.starts_with("board_")) << ranks;
        EXPECT_EQ(together, ranks <= 16 ? "board_all_to_all" : ranks <= 64 ? "board_linear" : "dissemination");
    }
}

TEST(Selection, ThereIsAChoiceForEverySituation) {
    for (const OperationKind kind : {OperationKind::broadcast, OperationKind::scatter, OperationKind::gather, OperationKind::barrier})
        for (const bool landing : {false, true})
            for (const int ranks : {1, 2, 3, 7, 8, 9, 16, 17, 1000, 2147483647})
                for (int power = 0; power <= 64; ++power) {
                    const std::uint64_t middle = power == 64 ? ~std::uint64_t{0} : std::uint64_t{1} << power;
                    for (const std::uint64_t bytes : {std::uint64_t{0}, middle - 1, middle, middle + 1}) {
                        const Situation situation{bytes, ranks, landing};
                        const Selection selection = select(kind, situation);
                        ASSERT_EQ(selection.entry->operation, kind);
                        ASSERT_FALSE(selection.entry->simulated_only);
                        ASSERT_FALSE(selection.why.empty());
                        const std::string text = explain(kind, situation, selection);
                        ASSERT_NE(text.find(selection.entry->name), std::string::npos);
                        if (!landing) {
                            ASSERT_NE(selection.entry->name, "arrival_nonblocking");
                        }
                    }
                }
}

}  // namespace
}  // namespace rollcall::collectives
