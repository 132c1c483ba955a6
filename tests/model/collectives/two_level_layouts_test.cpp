// Algorithms for several nodes that combine elements, in every layout of up to 17 ranks on nodes.
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/reduced.hpp"
#include "tests/model/two_level.hpp"

namespace rollcall::model_test {
namespace {

// Each rank's elements are combined once and in rank order, in every layout of ranks: nodes of one size or not, and ranks in turn or not.
TEST(TwoLevelLayouts, ScansKeepTheRankOrderInEveryLayout) {
    struct Pair {
        std::uint32_t factor, term;
        bool operator==(const Pair&) const = default;
    };
    constexpr auto kCompose = [](const Pair& x, const Pair& y) noexcept { return Pair{x.factor * y.factor, x.term * y.factor + y.term}; };
    const Reduction reduction = reduction_of<Pair>(kCompose);
    Random random(90);
    for (const OperationKind kind : {OperationKind::scan, OperationKind::exclusive_scan})
        for (int n = 2; n <= 17; ++n)
            for (int of_node = 2; of_node <= n; ++of_node) {
                if (random.leaves_out(6)) continue;
                auto options = random_machine(random, n, 1000);
                options.board = true;
                options.ranks_per_node = of_node;
                options.ranks_in_turn = random.chance(0.2);
                const std::size_t count = random.pick(std::vector<std::size_t>{1, 40, 700, 20'000});
                const bool in_place = random.chance(0.5);
                SCOPED_TRACE(fmt::format("{} count={} in_place={} {}", runtime::name(kind), count, in_place, describe(options)));
                std::vector<std::vector<Pair>> operands(static_cast<std::size_t>(n), std::vector<Pair>(count));
                for (auto& operand : operands)
                    for (std::size_t i = 0; i < count; ++i) {
                        const auto number = static_cast<std::uint32_t>(i < 50 || i + 50 > count ? random.below(1000) : i);
                        operand[i] = {2 * number + 3, number};
                    }
                const Reduced<Pair> made(options, two_level(kind), -1, reduction, operands, 0, in_place,
                                         random_delays(random, n, 0, 20'000));
                std::vector<Pair> expected = operands[0];
                for (std::size_t rank = 0; rank < operands.size(); ++rank) {
                    const bool exclusive = kind == OperationKind::exclusive_scan;
                    const std::vector<Pair> before = expected;
                    for (std::size_t i = 0; i < count && rank > 0; ++i) expected[i] = kCompose(expected[i], operands[rank][i]);
                    ASSERT_TRUE((exclusive && rank == 0) || made.results[rank] == (exclusive ? before : expected)) << rank;
                }
                if (HasFailure()) return;
            }
}

// The same for blocks, in one lane and in several ones.
TEST(TwoLevelLayouts, BlocksAreCombinedInEveryLayout) {
    Random random(91);
    for (int n = 2; n <= 17; ++n)
        for (int of_node = 2; of_node <= n; ++of_node) {
            if (random.leaves_out(6)) continue;
            auto options = random_machine(random, n, 1000);
            options.board = true;
            options.ranks_per_node = of_node;
            options.ranks_in_turn = random.chance(0.4);
            const auto ranks = static_cast<std::size_t>(n);
            const std::size_t count = random.pick(std::vector<std::size_t>{1, 40, 700, 20'000 / ranks});
            const bool in_place = random.chance(0.5);
            SCOPED_TRACE(fmt::format("count={} in_place={} {}", count, in_place, describe(options)));
            std::vector<std::vector<std::uint64_t>> operands(ranks, std::vector<std::uint64_t>(count * ranks));
            std::vector<std::uint64_t> expected(count * ranks);
            for (auto& operand : operands)
                for (std::size_t i = 0; i < operand.size(); ++i) expected[i] += operand[i] = random.below(~std::uint64_t{0});
            const Reduction reduction = random.chance(0.5) ? reduction_of<std::uint64_t>(sum) : reduction_of<std::uint64_t>(by_rank(sum));
            const Reduced<std::uint64_t> made(options, two_level(OperationKind::reduce_scatter), -1, reduction, operands, 0, in_place,
                                              random_delays(random, n, 0, 20'000));
            for (std::size_t rank = 0; rank < ranks; ++rank)
                ASSERT_TRUE(std::equal(made.results[rank].begin(), made.results[rank].end(),
                                       expected.begin() + static_cast<std::ptrdiff_t>(rank * count)))
                    << rank;
            if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace rollcall::model_test
