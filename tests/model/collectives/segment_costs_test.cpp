// Trees of segments and the costs of the job: which trees are chosen, what goes straight, and what a given root costs.
#include "bench/cases/traeff_tables.hpp"
#include "collectives/trees/completion.hpp"
#include "runtime/simulation/model_costs.hpp"
#include "tests/model/collectives/segments.hpp"

namespace rollcall::model_test {
namespace {

using runtime::OperationKind;
using runtime::Simulation;

// Träff's formula for a given root (arXiv:1702.05967), for the tree that 2000 ranks build: what the root waits for is the part that takes
// longest after those before it. With gamma = 0 and without empty blocks it gives the printed times of Tables 1 to 3.
TEST(SegmentCosts, PenaltyOfTheGivenRootInTheTreeThatRanksBuild) {
    const Costs costs = costs_of_network(1'000'000'000, 0.001);  // no block goes straight
    for (const auto distribution : bench::kSizeDistributions) {
        if (distribution == bench::SizeDistribution::two_blocks) continue;  // it has empty blocks
        const auto sizes = bench::block_sizes(distribution, bench::kTraeffRanks, bench::kTraeffBlock);
        BlocksCall call = call_of_sizes(entry_of(OperationKind::gather, "adaptive"), bench::kTraeffRoot, sizes);
        const auto found = places(call, &only_adaptive_place, {.ranks = bench::kTraeffRanks, .model = {}},
                                  std::vector<Nanoseconds>(sizes.size(), 0), costs);
        double before = 0, waits = 0;
        for (const auto& child : found[bench::kTraeffRoot].children) {
            const auto segment = static_cast<double>(child.bytes);
            waits = std::max(waits, segment - static_cast<double>(sizes[static_cast<std::size_t>(child.rank)]) - before);
            before += segment;
        }
        int rows = 0;
        for (const bench::TraeffRow& row : bench::kTraeffRows) {
            if (row.distribution != distribution || row.gamma != 0) continue;
            EXPECT_EQ(11.0 * row.alpha + before + waits, row.with_root[3]) << name(distribution) << ", alpha " << row.alpha;
            ++rows;
        }
        EXPECT_EQ(rows, 3);
    }
}

// Trees that are made for the costs of the network take less time, together, than trees that are made for another one.
TEST(SegmentCosts, TreesForTheCostsOfTheNetwork) {
    const auto time = [](const transport::Model& model, const Costs& costs, const std::vector<std::uint64_t>& sizes, int root) {
        BlocksCall call = call_of_sizes(entry_of(OperationKind::gather, "optimal"), root, sizes);
        Simulation simulation({.ranks = call.ranks(), .model = model});
        set_costs(simulation, costs);
        const auto outcome = simulation.run([&](int rank) { return call.of(rank); }, std::vector<Nanoseconds>(sizes.size(), 0));
        for (const auto& error : outcome.errors)
            if (error) ADD_FAILURE() << error->what();
        call.expect_moved();
        return *std::max_element(outcome.exits.begin(), outcome.exits.end());
    };
    // A network whose messages cost as much as many bytes, and one where they cost as much as few: the blocks are of sizes for which the
    // built-in costs give other trees.
    struct Network {
        Nanoseconds gap;
        double byte;
        std::vector<std::uint64_t> sizes;
    };
    for (const Network& network : {Network{50'000, 0.02, {1, 30'000, 100'000}}, Network{500, 8, {1, 60, 300, 1000}}}) {
        Random random(87);
        const Costs costs = costs_of_network(network.gap, network.byte);
        const transport::Model model{.alpha = static_cast<double>(network.gap), .beta = network.byte, .gamma = network.byte / 10};
        Nanoseconds all = 0, all_of_other = 0;
        for (int repetition = 0; repetition < 40; ++repetition) {
            std::vector<std::uint64_t> sizes(static_cast<std::size_t>(random.between(3, 24)));
            for (std::uint64_t& size : sizes) size = random.pick(network.sizes);
            const int root = static_cast<int>(random.below(sizes.size()));
            all += time(model, costs, sizes, root);
            all_of_other += time(model, kBuiltInCosts, sizes, root);
        }
        // Not in each case: the messages with the places also take time, and the tree does not know it. Together 0.95 to 0.98.
        EXPECT_LT(all, all_of_other) << network.byte << " ns for a byte";
    }
}

/// The tree of these places.
collectives::BlockTree tree_of(const std::vector<collectives::SegmentPlace>& places) {
    collectives::BlockTree tree(static_cast<int>(places.size()));
    for (int rank = 0; rank < tree.ranks(); ++rank) {
        const auto& place = places[static_cast<std::size_t>(rank)];
        if (place.parent < 0) tree.root = rank;
        for (const auto& child : place.children) tree.connect(child.rank, rank);
    }
    return tree;
}

// Träff's formula for the time of a tree, without copies. The places are kept in a plan, so that in its second iteration only blocks are
// sent. A scatter takes exactly that time. In a gather a segment may come before one that the formula receives first.
TEST(SegmentCosts, CallsTakeTheTimeOfTheFormula) {
    Random random(88);
    constexpr double kAlpha = 1000;
    const transport::Model model{.alpha = kAlpha, .beta = 1, .gamma = 0};
    for (const auto& [name, algorithm] : {std::pair<std::string_view, runtime::Algorithm>{"adaptive", &only_adaptive_place},
                                          {"optimal", &only_optimal_place},
                                          {"sorted_optimal", &only_sorted_place},
                                          {"two_part", &only_two_part_place}})
        for (int repetition = 0; repetition < 20; ++repetition) {
            std::vector<std::uint64_t> sizes(static_cast<std::size_t>(random.between(2, 24)));
            for (std::uint64_t& size : sizes) size = random.pick(std::vector<std::uint64_t>{0, 1, 300, 7000});  // None goes straight.
            const int root = static_cast<int>(random.below(sizes.size()));
            const std::vector<Nanoseconds> arrivals(sizes.size(), 100'000);
            for (const OperationKind kind : {OperationKind::scatter, OperationKind::gather}) {
                const auto& entry = entry_of(kind, name);
                BlocksCall call = call_of_sizes(entry, root, sizes);
                SCOPED_TRACE(call.text());
                const auto found = places(call, algorithm, {.ranks = call.ranks(), .model = model}, arrivals, runtime::costs_of(model));
                double into_root = 0;
                for (const auto& child : found[static_cast<std::size_t>(root)].children)
                    if (child.bytes > 0) into_root += kAlpha + static_cast<double>(child.bytes);
                const double time =
                    collectives::completion_time(tree_of(found), {.sizes = sizes}, {.alpha = kAlpha, .beta = 1, .gamma = 0});
                Simulation simulation({.ranks = call.ranks(), .model = model});
                for (int rank = 0; rank < call.ranks(); ++rank) simulation.world(rank).kept.emplace();
                Nanoseconds last = 0;
                for (int iteration = 0; iteration < 2; ++iteration) {
                    const auto outcome = simulation.run(
                        [&](int rank) {
                            Simulation::RankCall made = call.of(rank);
                            made.begin = 0;
                            return made;
                        },
                        arrivals);
                    for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
                    last = *std::max_element(outcome.exits.begin(), outcome.exits.end()) - arrivals[0];
                }
                if (kind == OperationKind::scatter) {
                    EXPECT_EQ(static_cast<double>(last), time);
                } else {
                    EXPECT_LE(static_cast<double>(last), time);
                    EXPECT_GE(static_cast<double>(last), into_root);
                }
                if (HasFailure()) return;
            }
        }
}

// Two parts cost more than other trees where the root has a small block: all large blocks would be sent twice.
TEST(SegmentCosts, BlocksTooLargeForTheirTreeGoStraight) {
    const Costs costs = costs_of_network(8192, 1);
    const std::vector<std::uint64_t> sizes = {1, 200'000, 1, 1, 200'000, 1, 200'000, 1};
    for (const OperationKind kind : {OperationKind::gather, OperationKind::scatter}) {
        BlocksCall call = call_of_sizes(entry_of(kind, "two_part"), 0, sizes);
        const auto found = places(call, &only_two_part_place, {.ranks = 8, .model = {}}, std::vector<Nanoseconds>(8, 0), costs);
        for (const int large : {1, 4, 6}) {
            EXPECT_EQ(found[static_cast<std::size_t>(large)].parent, 0);
            EXPECT_TRUE(found[static_cast<std::size_t>(large)].children.empty());
        }
        Simulation simulation({.ranks = 8, .model = {.alpha = 8192, .beta = 1, .gamma = 0.1}});
        set_costs(simulation, costs);
        const auto outcome = simulation.run([&](int rank) { return call.of(rank); }, std::vector<Nanoseconds>(8, 0));
        for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
        call.expect_moved();
        // Each large block is sent once.
        EXPECT_LT(outcome.bytes, 3 * 200'000u + 10'000u);
    }
}

}  // namespace
}  // namespace rollcall::model_test
