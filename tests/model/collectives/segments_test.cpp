// Gathers and scatters over trees of segments: the places that ranks find for themselves, the worked examples, blocks that go straight to
// the root, and every distribution of sizes.
#include <bit>
#include <utility>

#include "bench/cases/block_sizes.hpp"
#include "collectives/trees/adaptive.hpp"
#include "collectives/trees/completion.hpp"
#include "collectives/trees/halving.hpp"
#include "collectives/trees/unordered.hpp"
#include "tests/model/collectives/segments.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test {
namespace {

using collectives::BlockTree;
using collectives::SegmentPlace;
using runtime::Block;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Simulation;

collectives::SegmentTree by_rank(BlockTree tree) {
    std::vector<int> order(tree.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    return {std::move(tree), std::move(order)};
}

void expect_places(const std::vector<SegmentPlace>& found, const collectives::SegmentTree& tree,
                   const std::vector<std::uint64_t>& in_segments) {
    for (int rank = 0; rank < tree.tree.ranks(); ++rank) {
        const SegmentPlace& place = found[static_cast<std::size_t>(rank)];
        const SegmentPlace expected = collectives::place_in(tree, in_segments, rank);
        ASSERT_EQ(place.parent, expected.parent) << "rank " << rank;
        ASSERT_EQ(place.own, expected.own) << "rank " << rank;
        ASSERT_EQ(place.children.size(), expected.children.size()) << "rank " << rank;
        for (std::size_t i = 0; i < place.children.size(); ++i) {
            const auto &child = place.children[i], &other = expected.children[i];
            ASSERT_EQ(child.rank, other.rank) << "rank " << rank;
            ASSERT_EQ(child.first, other.first) << "rank " << rank;
            ASSERT_EQ(child.last, other.last) << "rank " << rank;
            ASSERT_EQ(child.bytes, other.bytes) << "rank " << rank;
        }
    }
}

TEST(Segments, RanksFindTheAdaptiveTreeThemselves) {
    Random random(81);
    for (int repetition = 0; repetition < repetitions(10'000); ++repetition) {
        const int n = static_cast<int>(random.between(1, repetition % 10 ? 9 : 40)), root = static_cast<int>(random.between(0, n - 1));
        const Costs costs = repetition % 2 ? kBuiltInCosts : random_costs(random);
        const std::uint64_t straight = collectives::straight_from(costs);
        const auto most = random.pick(std::vector<std::uint64_t>{1, 5, 1000, std::min<std::uint64_t>(2 * straight, 500'000)});
        std::vector<std::uint64_t> sizes, in_segments;
        for (int rank = 0; rank < n; ++rank) {
            sizes.push_back(random.chance(0.2) ? 0 : random.below(most + 1));
            in_segments.push_back(sizes.back() < straight ? sizes.back() : 0);
        }
        auto call = BlocksCall{.entry = entry_of(random.chance(0.5) ? OperationKind::gather : OperationKind::scatter, "adaptive"),
                               .root = root,
                               .blocks = {},
                               .own_sizes = sizes};
        std::uint64_t end = 0;
        for (const std::uint64_t size : sizes) call.blocks.push_back({std::exchange(end, end + size), size});
        call.data.resize(end);
        for (const std::uint64_t size : sizes) call.own.emplace_back(size);
        const auto found = places(call, &only_adaptive_place, random_machine(random, n, 3000), random_delays(random, n, root, 1000), costs);
        expect_places(found, by_rank(collectives::adaptive_tree(in_segments, root)), in_segments);
        if (HasFailure()) {
            ADD_FAILURE() << call.text();
            return;
        }
    }
}

TEST(Segments, AllRanksGetTheTreeThatTheRootFinds) {
    Random random(82);
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        const ToldTree& told = kToldTrees[repetition % 3];
        const int n = static_cast<int>(random.between(1, 20)), root = static_cast<int>(random.between(0, n - 1));
        const bool has_two_sizes = random.chance(0.5);
        std::vector<std::uint64_t> sizes;
        for (int rank = 0; rank < n; ++rank)
            sizes.push_back(has_two_sizes ? random.pick(std::vector<std::uint64_t>{7, 50'000})
                                          : (random.chance(0.2) ? 0 : random.below(100'000)));
        BlocksCall call = call_of_sizes(entry_of(OperationKind::gather, told.name), root, sizes);
        const Costs costs = random_costs(random);
        const auto found = places(call, told.place, random_machine(random, n, 3000), random_delays(random, n, root, 1000), costs);
        const collectives::SegmentTree tree = told.choose({.sizes = sizes}, collectives::tree_costs(costs), root);
        EXPECT_TRUE(collectives::is_tree(tree.tree));
        EXPECT_EQ(tree.tree.root, root);
        expect_places(found, tree, sizes);
        if (HasFailure()) {
            ADD_FAILURE() << call.text();
            return;
        }
    }
    // More ranks than the dynamic program supports.
    const std::vector<std::uint64_t> many(static_cast<std::size_t>(collectives::kMostOptimalRanks) + 7, 3);
    BlocksCall call = call_of_sizes(entry_of(OperationKind::gather, "optimal"), 5, many);
    const int n = call.ranks();
    const auto found = places(call, &only_optimal_place, random_machine(random, n, 3), random_delays(random, n, 5, 1000));
    expect_places(found, by_rank(collectives::adaptive_tree(many, 5)), many);
}

// A rank is sent 32 bytes for itself and for each rank below it in the halving tree, and 128 more. If these ranks have more children, it is
// sent 16 bytes for each of these ranks and for each of their children. It is never sent more than there is.
TEST(Segments, RanksAreToldOnlyWhatTheyNeedOrPassOn) {
    Random random(87);
    for (int repetition = 0; repetition < 40; ++repetition) {
        const ToldTree& told = kToldTrees[repetition % 3];
        const int n = repetition == 2 ? 1000 : static_cast<int>(random.between(1, 70)), root = static_cast<int>(random.between(0, n - 1));
        std::vector<std::uint64_t> sizes;
        for (int rank = 0; rank < n; ++rank) sizes.push_back(random.pick(std::vector<std::uint64_t>{0, 7, 5000}));
        BlocksCall call = call_of_sizes(entry_of(OperationKind::scatter, told.name), root, sizes);
        const auto found = places(call, told.place, {.ranks = n, .model = {}}, std::vector<Nanoseconds>(sizes.size(), 0));
        std::uint64_t words = 0;
        for (int rank = 0; rank < n; ++rank) {
            if (rank == root) continue;
            const auto below = static_cast<std::size_t>(collectives::halving_blocks(n, root, rank));
            std::size_t all = below;
            for (std::size_t i = 0; i < below; ++i) all += found[(static_cast<std::size_t>(rank) + i) % sizes.size()].children.size();
            words += std::max(all, std::min(2 * below + 8, 2 * sizes.size() - 3));
        }
        EXPECT_EQ(bytes_of_places, 16 * words) << call.text();
        EXPECT_LE(words, sizes.size() * (3 * static_cast<std::size_t>(std::bit_width(sizes.size())) + 8)) << call.text();
    }
}

// In whatever order blocks stand in segments, a segment is the blocks of successive positions, and no order is worse than that of ranks.
TEST(Segments, TreesInOtherOrders) {
    Random random(86);
    for (int repetition = 0; repetition < repetitions(200); ++repetition) {
        const int n = static_cast<int>(random.between(1, 24)), root = static_cast<int>(random.between(0, n - 1));
        std::vector<std::uint64_t> sizes;
        std::vector<double> arrivals;
        for (int rank = 0; rank < n; ++rank) {
            sizes.push_back(random.pick(std::vector<std::uint64_t>{0, 1, 900, 60'000}));
            arrivals.push_back(repetition % 2 ? static_cast<double>(random.below(300'000)) : 0);
        }
        const collectives::BlockProblem problem{.sizes = sizes, .arrivals = arrivals};
        const collectives::LinearCosts costs = collectives::tree_costs(random_costs(random));
        for (const ToldTree& told : kToldTrees) {
            const collectives::SegmentTree tree = told.choose(problem, costs, root);
            for (int rank = 0; rank < n; ++rank) {
                const SegmentPlace place = collectives::place_in(tree, sizes, rank);
                int first = place.position, last = place.position, count = 1;
                for (const auto& child : place.children) {
                    first = std::min(first, child.first);
                    last = std::max(last, child.last);
                    count += child.last - child.first + 1;
                }
                ASSERT_EQ(last - first + 1, count) << told.name << " rank " << rank << " seed 86 repetition " << repetition;
            }
        }
        const auto time = [&](const collectives::SegmentTree& tree) { return collectives::completion_time(tree.tree, problem, costs); };
        EXPECT_LE(time(collectives::best_sorted_tree(problem, costs, root)),
                  time(collectives::best_segment_tree(problem, costs, root)) + 1e-6);
        EXPECT_LE(
            time(collectives::two_part_segment_tree(problem, costs, root)),
            collectives::completion_time(collectives::two_part_tree(problem, collectives::large_from(sizes), costs, root), problem, costs) +
                1e-6);
    }
}

// Returns which rank sends to which, as "from>to", in the order of ranks and then of children.
std::string connections(const std::vector<SegmentPlace>& places) {
    std::string text;
    for (std::size_t rank = 0; rank < places.size(); ++rank)
        for (const auto& child : places[rank].children) text += fmt::format("{}{}>{}", text.empty() ? "" : " ", child.rank, rank);
    return text;
}

TEST(Segments, TheWorkedExamples) {
    const auto shape = [](std::string_view name, std::vector<std::uint64_t> sizes, int root = 0,
                          const Costs& costs = costs_of_network(8192, 1)) {
        BlocksCall call = call_of_sizes(entry_of(OperationKind::gather, name), root, sizes);
        const auto told = std::find_if(std::begin(kToldTrees), std::end(kToldTrees), [&](const ToldTree& one) { return one.name == name; });
        return connections(places(call, told == std::end(kToldTrees) ? &only_adaptive_place : told->place,
                                  {.ranks = call.ranks(), .model = {}}, std::vector<Nanoseconds>(sizes.size(), 0), costs));
    };
    EXPECT_EQ(shape("adaptive", {1, 1, 1, 9}), "1>0 3>0 2>3");
    EXPECT_EQ(shape("adaptive", {1, 1, 40'000, 40'000}), "1>0 3>0 2>3");
    EXPECT_EQ(shape("optimal", {1, 1, 40'000, 40'000}), "1>0 2>0 3>0");
    EXPECT_EQ(shape("optimal", {1, 1, 1, 1}), "1>0 3>0 2>3");
    const std::vector<std::uint64_t> mixed = {1, 40'000, 1, 40'000, 1};
    EXPECT_EQ(shape("optimal", mixed, 1), "2>1 3>1 0>1 4>3");
    EXPECT_EQ(shape("two_part", mixed, 1), "3>1 2>1 0>2 4>2");
    EXPECT_EQ(shape("sorted_optimal", mixed, 1), "3>1 4>1 2>4 0>4");
    // On a network on which a byte costs a tenth, large blocks travel together with others. On one on which it costs ten times as much,
    // blocks of 9000 bytes go straight, and are none in their segment.
    EXPECT_EQ(shape("optimal", {1, 1, 40'000, 40'000}, 0, costs_of_network(8192, 0.1)), "1>0 3>0 2>3");
    EXPECT_EQ(shape("adaptive", {1, 1, 1, 9000}, 0, costs_of_network(8192, 10)), "1>0 2>0 3>2");
    // Rank 1 is late. The others go on without it.
    const std::vector<std::uint64_t> ones(5, 1);
    const std::vector<double> arrivals = {0, 100'000, 0, 0, 0};
    const auto late =
        collectives::best_sorted_tree({.sizes = ones, .arrivals = arrivals}, collectives::tree_costs(costs_of_network(8192, 1)), 0);
    std::vector<SegmentPlace> found;
    for (int rank = 0; rank < 5; ++rank) found.push_back(collectives::place_in(late, ones, rank));
    EXPECT_EQ(connections(found), "2>0 4>0 1>0 3>4");
}

// In a plan the place is found in the first iteration, unless it depends on arrivals.
TEST(Segments, PlansKeepTheirPlaces) {
    const int n = 6;
    const auto others = static_cast<std::uint64_t>(n - 1);
    for (const OperationKind kind : {OperationKind::gather, OperationKind::scatter})
        for (const char* name : {"adaptive", "optimal", "sorted_optimal", "two_part"}) {
            const auto& entry = entry_of(kind, name);
            Simulation simulation({.ranks = n, .model = {.alpha = 100, .beta = 1}});
            for (int rank = 0; rank < n; ++rank) simulation.world(rank).kept.emplace();
            std::vector<std::uint64_t> messages;
            for (int iteration = 0; iteration < 3; ++iteration) {
                BlocksCall call = call_of_sizes(entry, 2, {5, 6, 7, 8, 9, 5000});
                const auto outcome = simulation.run(
                    [&](int rank) {
                        Simulation::RankCall made = call.of(rank);
                        made.algorithm = collectives::planned(entry);
                        made.begin = 0;
                        return made;
                    },
                    std::vector<Nanoseconds>(static_cast<std::size_t>(n), 100'000));
                for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
                call.expect_moved();
                messages.push_back(outcome.messages);
            }
            SCOPED_TRACE(call_of_sizes(entry, 2, {5, 6, 7, 8, 9, 5000}).text());
            EXPECT_EQ(messages[1], messages[2]);
            if (kind == OperationKind::gather && std::string_view(name) == "sorted_optimal") {
                EXPECT_EQ(messages[0], messages[1]);
                EXPECT_EQ(messages[1], 2 * others);
            } else {
                EXPECT_EQ(messages[1], others);
                EXPECT_GE(messages[0], messages[1] + others);
            }
        }
}

// The root of a planned gather sorts by the arrivals that are predicted. The root itself counts as the first one.
TEST(Segments, PlannedGathersSortByPredictions) {
    const Costs costs = costs_of_network(8192, 1);
    const auto shape = [&](const std::vector<Nanoseconds>& predictions) {
        BlocksCall call = call_of_sizes(entry_of(OperationKind::gather, "sorted_optimal"), 0, std::vector<std::uint64_t>(5, 1));
        found_places.assign(5, {});
        Simulation simulation({.ranks = 5, .model = {}});
        set_costs(simulation, costs);
        const auto outcome = simulation.run(
            [&](int rank) {
                Simulation::RankCall made = call.of(rank);
                made.algorithm = &only_predicted_place;
                made.begin = 0;
                made.predictions = {{1000 * rank, predictions[static_cast<std::size_t>(rank)]}};
                return made;
            },
            std::vector<Nanoseconds>(5, 500'000));
        for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
        return connections(found_places);
    };
    EXPECT_EQ(shape({10'000, 110'000, 10'000, 10'000, 10'000}), "2>0 4>0 1>0 3>4");
    EXPECT_EQ(shape({110'000, 110'000, 10'000, 10'000, 10'000}), "2>0 4>0 1>0 3>4");
    EXPECT_EQ(shape({10'000, 10'000, 10'000, 10'000, 110'000}), "1>0 3>0 4>0 2>3");
    EXPECT_EQ(shape(std::vector<Nanoseconds>(5, 10'000)), "1>0 2>0 4>0 3>4");
}

// Checks what is sent and that it arrives: distributions with large and empty blocks, every number of ranks.
TEST(Segments, EveryDistributionEveryNumberOfRanks) {
    Random random(83);
    for (const auto* entry : algorithms_of_blocks()) {
        if (entry->name != "binomial" && entry->name != "adaptive" &&
            std::none_of(std::begin(kToldTrees), std::end(kToldTrees), [&](const ToldTree& told) { return told.name == entry->name; }))
            continue;
        for (int n = 1; n <= 33; ++n)
            for (const auto distribution : bench::kSizeDistributions) {
                const int root = static_cast<int>(random.between(0, n - 1));
                const std::uint64_t b = distribution == bench::SizeDistribution::skewed && n % 4 == 1 ? 30'000 : 90;
                BlocksCall call = call_of_sizes(*entry, root, bench::block_sizes(distribution, n, b, 5, 7));
                const auto options = random_machine(random, n, 3000);
                SCOPED_TRACE(describe(options) + "\n  " + call.text());
                Simulation simulation(options);
                const auto outcome = simulation.run([&](int rank) { return call.of(rank); },
                                                    random_delays(random, n, root, random.pick(std::array{0, 5000})));
                for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
                call.expect_moved();
                if (HasFailure()) return;
            }
    }
}

// Long blocks go straight to the root. Other blocks are sent once for each rank that passes them on.
TEST(Segments, LongBlocksGoStraight) {
    for (const Costs& costs : {kBuiltInCosts, costs_of_network(700, 0.05), costs_of_network(2000, 8)})
        for (const OperationKind kind : {OperationKind::gather, OperationKind::scatter})
            for (const std::uint64_t less : {0, 1}) {
                const std::uint64_t large = collectives::straight_from(costs);
                std::vector<std::uint64_t> sizes(8, 10);
                sizes[6] = large - less;
                sizes[5] = 0;
                BlocksCall call = call_of_sizes(entry_of(kind, "adaptive"), 1, sizes);
                Simulation simulation({.ranks = 8, .model = {}});
                set_costs(simulation, costs);
                const auto outcome = simulation.run([&](int rank) { return call.of(rank); }, std::vector<Nanoseconds>(8, 0));
                for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
                call.expect_moved();
                // A block that goes straight is none in its segment. So its rank collects nothing.
                const auto found = places(call, &only_adaptive_place, {.ranks = 8, .model = {}}, std::vector<Nanoseconds>(8, 0), costs);
                EXPECT_EQ(found[6].own, less ? large - 1 : 0);
                EXPECT_EQ(found[6].children.size(), less ? 2u : 0u);
                EXPECT_EQ(found[6].bytes(), less ? large - 1 + 20 : 0);
            }
}

// Sizes and offsets beyond 32 bits, without memory for them. A byte takes 1 ns.
TEST(Segments, SizesBeyond32Bits) {
    Random random(85);
    for (const auto* entry : algorithms_of_blocks()) {
        if (!entry->needs.empty()) continue;  // Shared memory is real.
        for (const bool gaps : {false, true}) {
            const int n = 9, root = 4;
            std::vector<Block> blocks;
            std::uint64_t end = 0;
            for (int rank = 0; rank < n; ++rank) {
                // Some blocks go straight to the root, others travel in segments.
                const std::uint64_t size = rank % 3 == 0 ? (std::uint64_t{5} << 30) + 1 : 100;
                blocks.push_back({end + (gaps ? std::uint64_t{1} << 33 : 0), size});
                end = blocks.back().offset + size;
            }
            Simulation simulation({.ranks = n, .model = {}, .node_memory = false});
            const auto outcome = simulation.run(
                [&](int rank) {
                    const std::uint64_t own = blocks[static_cast<std::size_t>(rank)].size;
                    Simulation::RankCall made{
                        collectives::make_call(*entry, root, rank == root ? runtime::kManySizes : own, 0), entry->algorithm, {}};
                    made.call.own_sizes = true;
                    made.arguments = collectives::arguments_of(collectives::operation(entry->operation), {}, own, end, rank == root);
                    if (rank == root) made.arguments.blocks = blocks.data();
                    return made;
                },
                random_delays(random, n, root, 1000));
            for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << entry->name << ": " << error->what();
            std::uint64_t of_others = 0;
            for (const Block& block : blocks) of_others += block.size;
            of_others -= blocks[root].size;
            EXPECT_GE(outcome.bytes, of_others) << entry->name;
            EXPECT_GE(outcome.exits[root], static_cast<Nanoseconds>(of_others)) << entry->name;
        }
    }
}

// If one rank has another size than the root counts, the error names it by its weight, wherever it is in a tree. If several ranks do, the
// error gives a range.
TEST(Segments, SeveralSizesThatDoNotMatch) {
    Random random(84);
    for (const char* name : {"binomial", "adaptive"})
        for (const OperationKind kind : {OperationKind::gather, OperationKind::scatter})
            for (int repetition = 0; repetition < 50; ++repetition) {
                const int n = 8;
                BlocksCall call = call_of_sizes(entry_of(kind, name), 0, std::vector<std::uint64_t>(8, 100));
                // The sum of the two sizes stays the same.
                const int first = static_cast<int>(random.between(4, 6)), second = static_cast<int>(random.between(first + 1, 7));
                call.own_sizes[static_cast<std::size_t>(first)] = 107;
                call.own_sizes[static_cast<std::size_t>(second)] = 93;
                call.fill();
                SCOPED_TRACE(call.text());
                Simulation simulation(random_machine(random, n, 3000));
                simulation.run([&](int rank) { return call.of(rank); }, random_delays(random, n, 0, 1000));
                std::string told;
                for (int rank = 0; rank < n; ++rank) {
                    const Error* error = simulation.world(rank).broken.get();
                    ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
                    EXPECT_EQ(error->code(), ErrorCode::mismatch);
                    told = error->what();
                }
                // One of the two may send straight to the root, and is then named first.
                const bool as_range = told.find(
                                          "the root counts 400 bytes for ranks 4 to 7 together, but their blocks have 400, and several "
                                          "of them have other sizes than the root counts") != std::string::npos;
                const bool one =
                    told.find(fmt::format("the root counts 100 bytes for rank {}, but its block has 107", first)) != std::string::npos ||
                    told.find(fmt::format("the root counts 100 bytes for rank {}, but its block has 93", second)) != std::string::npos;
                EXPECT_TRUE(as_range || one) << told;
                if (HasFailure()) return;
            }
}

}  // namespace
}  // namespace rollcall::model_test
