// The catalogue, selection, and trees.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <rollcall/error.hpp>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "collectives/pieces.hpp"
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

constexpr Conditions kAll = kReal | Condition::oracle;

TEST(Catalogue, FindsByNameAndByAlias) {
    int entries = 0;
    for (const AlgorithmEntry& entry : catalogue()) {
        ++entries;
        EXPECT_EQ(&find_algorithm(entry.operation, entry.name, kAll), &entry);
        for (const std::string_view alias : entry.aliases) EXPECT_EQ(&find_algorithm(entry.operation, alias, kAll), &entry);
    }
    EXPECT_GT(entries, 20);
}

TEST(Catalogue, AnUnknownNameIsToldAllThereAre) {
    for (const OperationRow& row : operations()) try {
            find_algorithm(row, "bcast17");
            FAIL();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            const std::string text = error.what();
            EXPECT_NE(text.find("'bcast17'"), std::string::npos) << text;
            EXPECT_EQ(text.find('\n'), std::string::npos) << text;
            for (const std::string_view name : algorithm_names(row)) EXPECT_NE(text.find(name), std::string::npos) << text;
        }
}

TEST(Catalogue, TheOracleIsForSimulationsOnly) {
    EXPECT_THROW(find_algorithm(OperationKind::broadcast, "near_optimal", kReal), Error);
    for (const std::string_view name : algorithm_names(OperationKind::broadcast, kReal)) EXPECT_NE(name, "near_optimal");
}

TEST(Catalogue, ACallSaysHowItIsDone) {
    const auto in_words = [](const runtime::Call& call) { return to_string(call, &algorithm_name); };
    const auto& binomial = find_algorithm(OperationKind::broadcast, "binomial");
    EXPECT_EQ(in_words(make_call(binomial, 2, 8, 8192)), "broadcast(root=2, 8 bytes) with binomial in segments of 8192 bytes");
    EXPECT_EQ(in_words(make_call(binomial, 2, 8, 0)), "broadcast(root=2, 8 bytes) with binomial");
    EXPECT_EQ(in_words(runtime::Call{.kind = OperationKind::split}), "split()");
    for (const AlgorithmEntry& entry : catalogue())
        EXPECT_EQ(algorithm_name(entry.operation, make_call(entry, -1, 0, 0).algorithm), entry.name);
    // From a peer with other algorithms than this one's, or with none.
    EXPECT_EQ(algorithm_name(OperationKind::broadcast, number_of("quick")), "an unknown algorithm");
    EXPECT_EQ(algorithm_name(OperationKind::barrier, number_of("pipelined")), "an unknown algorithm");
    EXPECT_EQ(algorithm_name(OperationKind::broadcast, 0), "an unknown algorithm");
    EXPECT_EQ(algorithm_name(static_cast<OperationKind>(200), number_of("linear")), "an unknown algorithm");
}

// The number that is sent for an algorithm does not depend on its place in the table, and is the same in every build.
TEST(Catalogue, ANumberIsAHashOfTheName) {
    static_assert(number_of("") == (0x811c9dc5u >> 16 ^ (0x811c9dc5u & 0xffff)));
    // FNV-1a's published value for "foobar".
    static_assert(number_of("foobar") == (0xbf9cf968u >> 16 ^ (0xbf9cf968u & 0xffff)));
    for (const AlgorithmEntry& entry : catalogue()) EXPECT_EQ(entry.number, number_of(entry.name));
}

// --- made-up rows ----------------------------------------------------------------------------------------------------

Task nothing(Operation&) { co_return; }

constexpr AlgorithmEntry kMadeUp[] = {
    {.operation = OperationKind::gather, .name = "any", .aliases = {"simple"}, .algorithm = &nothing, .summary = "."},
    {.operation = OperationKind::gather, .name = "equal", .algorithm = &nothing, .summary = ".", .needs = Condition::equal_blocks},
    {.operation = OperationKind::gather,
     .name = "ring",
     .algorithm = &nothing,
     .summary = ".",
     .needs = Condition::commutative | Condition::whole_pieces},
    {.operation = OperationKind::gather, .name = "greedy", .algorithm = &nothing, .summary = ".", .needs = Condition::any_order},
    {.operation = OperationKind::gather, .name = "near", .algorithm = &nothing, .summary = ".", .needs = Condition::shared_boards},
};
constexpr Rule kMadeUpRules[] = {
    {kAnyBytes, kAnyRanks, named(kMadeUp, "near"), "near"},
    {100, kAnyRanks, named(kMadeUp, "ring"), "short"},
    {100, kAnyRanks, named(kMadeUp, "equal"), "equal, and early", Condition::landing},
    {kAnyBytes, kAnyRanks, named(kMadeUp, "any"), "the rest"},
};
constexpr OperationRow kMadeUpRow = {.kind = OperationKind::gather, .reaches = "from", .algorithms = kMadeUp, .rules = kMadeUpRules};
static_assert(are_complete(kMadeUp, OperationKind::gather) && !are_complete(kMadeUp, OperationKind::scatter));
static_assert(names_are_unique(kMadeUp) && numbers_are_unique(kMadeUp) && are_enough(kMadeUpRules));
static_assert(!are_enough(std::span(kMadeUpRules).first(3)), "there are calls without a rule");

// These tables do not compile: an alias that is the name or alias of another algorithm, an algorithm called `auto`, the same alias twice,
// two names with the same hash.
constexpr AlgorithmEntry entry_called(std::string_view name, Aliases aliases = {}) {
    return {.operation = OperationKind::gather, .name = name, .aliases = aliases, .algorithm = &nothing, .summary = "."};
}
template <class... Entries>
constexpr bool unique(Entries... entries) {
    const AlgorithmEntry all[] = {entries...};
    return names_are_unique(all);
}
static_assert(unique(entry_called("a", {"x"}), entry_called("b", {"y"})));
static_assert(!unique(entry_called("a"), entry_called("a")));
static_assert(!unique(entry_called("pipelined", {"chain"}), entry_called("chain")));
static_assert(!unique(entry_called("chain"), entry_called("pipelined", {"chain"})));
static_assert(!unique(entry_called("a", {"x"}), entry_called("b", {"x"})));
static_assert(!unique(entry_called("a", {"a"})) && !unique(entry_called("a", {"x", "x"})));
static_assert(!unique(entry_called("auto")) && !unique(entry_called("a", {"auto"})) && !unique(entry_called("")));
constexpr bool numbers_of_equal_hash_differ() {
    AlgorithmEntry all[] = {entry_called("a"), entry_called("b")};
    all[1].number = all[0].number;
    return numbers_are_unique(all);
}
static_assert(!numbers_of_equal_hash_differ());

std::string refused(std::string_view name, Conditions has) {
    try {
        find_algorithm(kMadeUpRow, name, has);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.what();
    }
    ADD_FAILURE() << name << " was not refused";
    return {};
}

TEST(Limits, AnAlgorithmIsFoundOnlyForCallsThatHaveWhatItNeeds) {
    for (const AlgorithmEntry& entry : kMadeUp) EXPECT_EQ(&find_algorithm(kMadeUpRow, entry.name, kReal), &entry);
    EXPECT_EQ(refused("equal", kUsual.without(Condition::equal_blocks)),
              "gather algorithm 'equal' needs blocks of one size; allowed: auto, any, ring, greedy");
    EXPECT_EQ(refused("ring", kReal.without(Condition::commutative)),
              "gather algorithm 'ring' needs an operation that commutes; allowed: auto, any, equal, greedy, near");
    EXPECT_EQ(refused("ring", kReal.without(Condition::whole_pieces)),
              "gather algorithm 'ring' needs elements of at most 64 KiB each; allowed: auto, any, equal, "
              "greedy, near");
    EXPECT_EQ(refused("greedy", kReal.without(Condition::any_order)),
              "gather algorithm 'greedy' combines in the order of arrival, but this call must give the same result in any order; allowed: "
              "auto, any, "
              "equal, ring, near");
    EXPECT_NE(refused("near", kUsual).find("'near' needs ranks of one node that share memory"), std::string::npos);
}

TEST(Limits, SelectionObeysThem) {
    const auto taken = [](std::uint64_t bytes, Conditions has) {
        return select(kMadeUpRow, {.bytes = bytes, .ranks = 4, .has = has}).entry->name;
    };
    EXPECT_EQ(taken(8, kReal), "near");
    EXPECT_EQ(taken(8, kUsual), "ring");
    EXPECT_EQ(taken(8, kUsual.without(Condition::commutative)), "equal");
    EXPECT_EQ(taken(8, kUsual.without(Condition::commutative | Condition::landing)), "any");
    EXPECT_EQ(taken(8, kUsual.without(Condition::whole_pieces | Condition::equal_blocks)), "any");
    EXPECT_EQ(taken(101, kUsual), "any");
}

TEST(Limits, ACallThatAsksForTooMuchIsRefusedAndASettingPassedOver) {
    const SelectionInput plain{.bytes = 8, .ranks = 4, .has = kUsual.without(Condition::commutative)};
    const AlgorithmEntry& ring = kMadeUp[2];
    EXPECT_THROW(choose(kMadeUpRow, plain, "ring", nullptr), Error);
    EXPECT_EQ(choose(kMadeUpRow, plain, "simple", &ring).entry->name, "any");
    const Selection instead = choose(kMadeUpRow, plain, "", &ring);
    EXPECT_EQ(instead.entry->name, "equal");
    EXPECT_EQ(explain(kMadeUpRow, plain, instead),
              "gather from 4 ranks: equal, because: equal, and early; ring, which a setting asks for, needs an operation that commutes");

    const SelectionInput good{.bytes = 8, .ranks = 4};
    EXPECT_EQ(choose(kMadeUpRow, good, "", &ring).why, "a setting asks for it");
    EXPECT_EQ(choose(kMadeUpRow, good, "", &ring).entry, &ring);
    EXPECT_EQ(choose(kMadeUpRow, good, "greedy", &ring).entry->name, "greedy");
    EXPECT_EQ(choose(kMadeUpRow, good, "auto", &kMadeUp[3]).entry, &ring) << "`auto` goes before the setting";
    EXPECT_EQ(choose(kMadeUpRow, good, "", nullptr).entry, &ring);
}

// --- the table -------------------------------------------------------------------------------------------------------

TEST(Operations, ARowSaysWhoHasHowMuch) {
    const int n = 5, root = 2;
    const Buffers buffers = {.contribution = &root, .data = const_cast<int*>(&n), .result = const_cast<int*>(&n)};
    const auto sizes = [&](OperationKind kind, int rank) {
        const auto arguments = arguments_of(operation(kind), buffers, 10, n, rank == root);
        // A rank that has no such buffer gets none, even if the caller passed one.
        EXPECT_EQ(arguments.contribution.data != nullptr, arguments.contribution.size > 0);
        EXPECT_EQ(arguments.data.data != nullptr, arguments.data.size > 0);
        EXPECT_EQ(arguments.result.data != nullptr, arguments.result.size > 0);
        return std::array{arguments.contribution.size, arguments.data.size, arguments.result.size};
    };
    using Sizes = std::array<std::uint64_t, 3>;
    EXPECT_EQ(sizes(OperationKind::broadcast, root), (Sizes{0, 10, 0}));
    EXPECT_EQ(sizes(OperationKind::broadcast, 1), (Sizes{0, 10, 0}));
    EXPECT_EQ(sizes(OperationKind::scatter, root), (Sizes{0, 50, 10}));
    EXPECT_EQ(sizes(OperationKind::scatter, 1), (Sizes{0, 0, 10}));
    EXPECT_EQ(sizes(OperationKind::gather, root), (Sizes{10, 50, 0}));
    EXPECT_EQ(sizes(OperationKind::gather, 1), (Sizes{10, 0, 0}));
    EXPECT_EQ(sizes(OperationKind::allgather, 1), (Sizes{10, 50, 0}));
    EXPECT_EQ(sizes(OperationKind::alltoall, 1), (Sizes{50, 50, 0}));
    EXPECT_EQ(sizes(OperationKind::reduce, root), (Sizes{10, 10, 0}));
    EXPECT_EQ(sizes(OperationKind::reduce, 1), (Sizes{10, 0, 0}));
    EXPECT_EQ(sizes(OperationKind::allreduce, 1), (Sizes{10, 10, 0}));
    EXPECT_EQ(sizes(OperationKind::reduce_scatter, 1), (Sizes{50, 10, 0}));
    EXPECT_EQ(sizes(OperationKind::scan, 1), (Sizes{10, 10, 0}));
    EXPECT_EQ(sizes(OperationKind::exclusive_scan, 0), (Sizes{10, 10, 0}));
    EXPECT_EQ(sizes(OperationKind::barrier, 1), (Sizes{0, 0, 0}));
}

TEST(Operations, TheShapeOfACallFollowsFromItsRow) {
    const auto shape = [](OperationKind kind) {
        const OperationRow& row = operation(kind);
        EXPECT_EQ(row.kind, kind);
        return std::array{row.moves_data, row.has_root, row.in_blocks};
    };
    using Shape = std::array<bool, 3>;
    EXPECT_EQ(shape(OperationKind::broadcast), (Shape{true, true, false}));
    EXPECT_EQ(shape(OperationKind::scatter), (Shape{true, true, true}));
    EXPECT_EQ(shape(OperationKind::gather), (Shape{true, true, true}));
    EXPECT_EQ(shape(OperationKind::allgather), (Shape{true, false, true}));
    EXPECT_EQ(shape(OperationKind::alltoall), (Shape{true, false, true}));
    EXPECT_EQ(shape(OperationKind::reduce), (Shape{true, true, false}));
    EXPECT_EQ(shape(OperationKind::allreduce), (Shape{true, false, false}));
    EXPECT_EQ(shape(OperationKind::reduce_scatter), (Shape{true, false, true}));
    EXPECT_EQ(shape(OperationKind::scan), (Shape{true, false, false}));
    EXPECT_EQ(shape(OperationKind::exclusive_scan), (Shape{true, false, false}));
    EXPECT_EQ(shape(OperationKind::barrier), (Shape{false, false, false}));
}

TEST(Operations, AResultIsOfAllRanksOrOfThoseUpToOne) {
    const auto ranks = [](OperationKind kind, int rank) { return operation(kind).combined_ranks(5, rank); };
    EXPECT_EQ(ranks(OperationKind::reduce, 2), 5);
    EXPECT_EQ(ranks(OperationKind::reduce_scatter, 2), 5);
    EXPECT_EQ(ranks(OperationKind::scan, 2), 3);
    EXPECT_EQ(ranks(OperationKind::exclusive_scan, 2), 2);
    EXPECT_EQ(ranks(OperationKind::exclusive_scan, 0), 0);
    EXPECT_TRUE(operation(OperationKind::scatter).has_own_sizes);
    EXPECT_FALSE(operation(OperationKind::reduce_scatter).has_own_sizes);
}

TEST(Operations, PartsOfTheVector) {
    const Operand one = {.reads = RankSet::everybody, .extent = Extent::block}, all = {.writes = RankSet::root, .extent = Extent::blocks};
    EXPECT_EQ(part_of(one, 10, 5, 3).offset, 30u);
    EXPECT_EQ(part_of(one, 10, 5, 3).size, 10u);
    EXPECT_EQ(part_of(all, 10, 5, 3).offset, 0u);
    EXPECT_EQ(part_of(all, 10, 5, 3).size, 50u);
    EXPECT_EQ(part_of({}, 10, 5, 3).size, 10u);
}

TEST(Selection, ExplainsACallInItsOwnWords) {
    const auto of = [](OperationKind kind, const SelectionInput& input) {
        const std::string text = explain(kind, input, select(kind, input));
        return text.substr(0, text.find(", because: "));
    };
    const auto in_words = [&](OperationKind kind) { return of(kind, {.bytes = 8, .ranks = 4}); };
    EXPECT_EQ(of(OperationKind::broadcast, {.bytes = 1, .ranks = 1}), "broadcast of 1 byte to 1 rank: linear");
    EXPECT_EQ(of(OperationKind::broadcast, {.bytes = 0, .ranks = 2}), "broadcast of 0 bytes to 2 ranks: linear");
    EXPECT_EQ(of(OperationKind::scatter, {.bytes = 1, .ranks = 2, .is_average = true}),
              "scatter of blocks of different sizes (1 byte on the average) to each of 2 ranks: linear");
    EXPECT_EQ(in_words(OperationKind::broadcast), "broadcast of 8 bytes to 4 ranks: linear");
    EXPECT_EQ(in_words(OperationKind::scatter), "scatter of 8 bytes to each of 4 ranks: linear");
    EXPECT_EQ(in_words(OperationKind::gather), "gather of 8 bytes from each of 4 ranks: linear");
    EXPECT_EQ(in_words(OperationKind::allgather), "allgather of 8 bytes from each of 4 ranks: linear");
    EXPECT_EQ(in_words(OperationKind::alltoall), "alltoall of 8 bytes from each to each of 4 ranks: linear");
    EXPECT_EQ(in_words(OperationKind::reduce), "reduce of 8 bytes of 4 ranks: linear");
    EXPECT_EQ(in_words(OperationKind::allreduce), "allreduce of 8 bytes of 4 ranks: recursive_doubling");
    EXPECT_EQ(in_words(OperationKind::reduce_scatter), "reduce_scatter of 8 bytes to each of 4 ranks: recursive_halving");
    EXPECT_EQ(in_words(OperationKind::scan), "scan of 8 bytes of 4 ranks: recursive_doubling");
    EXPECT_EQ(in_words(OperationKind::exclusive_scan), "exclusive_scan of 8 bytes of 4 ranks: recursive_doubling");
    EXPECT_EQ(in_words(OperationKind::barrier), "barrier of 4 ranks: linear");
}

TEST(Selection, ABarrierOfRanksThatShareMemoryGoesOverTheirBoards) {
    for (const int ranks : {2, 8, 16, 17, 64, 65, 1000}) {
        const std::string_view apart = select(OperationKind::barrier, {.ranks = ranks}).entry->name;
        const std::string_view together = select(OperationKind::barrier, {.ranks = ranks, .has = kReal}).entry->name;
        EXPECT_FALSE(apart.starts_with("board_")) << ranks;
        EXPECT_EQ(together, ranks <= 16 ? "board_all_to_all" : ranks <= 64 ? "board_linear" : "dissemination");
    }
}

TEST(Selection, ThereIsAChoiceForEverySituation) {
    for (const OperationRow& row : operations())
        for (const bool landing : {false, true})
            for (const int ranks : {1, 2, 3, 7, 8, 9, 16, 17, 1000, 2147483647})
                for (int power = 0; power <= 64; ++power) {
                    const std::uint64_t middle = power == 64 ? ~std::uint64_t{0} : std::uint64_t{1} << power;
                    for (const std::uint64_t bytes : {std::uint64_t{0}, middle - 1, middle, middle + 1}) {
                        const SelectionInput input{bytes, ranks, landing ? kUsual : kUsual.without(Condition::landing)};
                        const Selection selection = select(row, input);
                        ASSERT_EQ(selection.entry->operation, row.kind);
                        ASSERT_TRUE(kReal.contains(selection.entry->needs));
                        ASSERT_FALSE(selection.why.empty());
                        const std::string text = explain(row, input, selection);
                        ASSERT_NE(text.find(selection.entry->name), std::string::npos);
                        if (!landing) {
                            ASSERT_NE(selection.entry->name, "arrival_nonblocking");
                        }
                    }
                }
}

}  // namespace
}  // namespace rollcall::collectives
