// Elements whose size does not divide a piece of node memory.
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/selection.hpp"
#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

struct Three {
    std::int64_t a, b, c;
    bool operator==(const Three&) const = default;
};
constexpr auto kAddThree = [](const Three& left, const Three& right) noexcept {
    return Three{left.a + right.a, left.b + right.b, left.c + right.c};
};

/// `sum(first, last)` has the elements of these ranks together.
template <class Sum>
std::vector<Three> expected_of(OperationKind kind, int root, int rank, int ranks, const Sum& sum) {
    switch (kind) {
        case OperationKind::reduce: return rank == root ? sum(0, ranks - 1) : std::vector<Three>{};
        case OperationKind::scan: return sum(0, rank);
        case OperationKind::exclusive_scan: return sum(0, rank - 1);
        default: return sum(0, ranks - 1);
    }
}

void expect_right(const AlgorithmEntry& entry, const Simulation::Options& options, std::size_t count, const Reduction& reduction) {
    const auto& row = collectives::operation(entry.operation);
    const auto ranks = static_cast<std::size_t>(options.ranks);
    std::vector<std::vector<Three>> operands(ranks);
    std::int64_t next = 1;
    for (auto& own : operands)
        for (std::size_t i = 0; i < count * (row.in_blocks ? ranks : 1); ++i, next += 3) own.push_back({next, -next, 7 * next});
    const auto sum = [&](int first, int last) {
        std::vector<Three> all(operands[0].size());
        for (int rank = first; rank <= last; ++rank)
            for (std::size_t i = 0; i < all.size(); ++i) all[i] = kAddThree(all[i], operands[static_cast<std::size_t>(rank)][i]);
        return all;
    };
    for (const bool in_place : {false, true}) {
        const int root = row.has_root ? 1 : 0;
        const Reduced<Three> reduced(options, entry, root, reduction, operands, 0, in_place, Times(ranks));
        for (int rank = 0; rank < options.ranks; ++rank) {
            if (entry.operation == OperationKind::exclusive_scan && rank == 0) continue;  // it gets nothing
            auto expected = expected_of(entry.operation, root, rank, options.ranks, sum);
            if (row.in_blocks)
                expected = std::vector<Three>(expected.begin() + static_cast<std::ptrdiff_t>(count) * rank,
                                              expected.begin() + static_cast<std::ptrdiff_t>(count) * (rank + 1));
            ASSERT_EQ(reduced.results[static_cast<std::size_t>(rank)], expected) << "rank " << rank << (in_place ? ", in place" : "");
        }
    }
}

TEST(OddElements, AreCombinedInNodeMemory) {
    Reduction reduction = reduction_of<Three>(kAddThree);
    for (const bool commutes : {true, false}) {
        reduction.is_commutative = commutes;
        int entries = 0;
        for (const std::size_t count : {1, 2, 5, 170, 171, 546, 2730, 2731, 5461, 20'000})  // A piece holds 2730.
            for (const OperationKind kind : {OperationKind::reduce, OperationKind::allreduce, OperationKind::reduce_scatter,
                                             OperationKind::scan, OperationKind::exclusive_scan})
                for (const AlgorithmEntry* const entry : algorithms(kind)) {
                    using enum collectives::Condition;
                    if (!entry->needs.contains(whole_pieces)) continue;
                    Simulation::Options options;
                    options.ranks = 5;
                    options.ranks_per_node = entry->needs.contains(several_nodes) ? 2 : 0;
                    if (!collectives::conditions_of(collectives::combiner_of(reduction), collectives::kReal).contains(entry->needs))
                        continue;
                    SCOPED_TRACE(fmt::format("{} {}, {} elements, {}", runtime::name(kind), entry->name, count,
                                             commutes ? "in any order" : "by rank"));
                    expect_right(*entry, options, count, reduction);
                    ++entries;
                    if (testing::Test::HasFailure()) return;
                }
        EXPECT_GE(entries, 60);
    }
}

}  // namespace
}  // namespace rollcall::model_test
