// The floats that ranks bring to a sum: no sum is rounded, whatever the number of ranks.
#include "bench/cases/summands.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace rollcall::bench {
namespace {

TEST(BenchSummands, SumsAreExact) {
    for (const int ranks : {1, 2, 7, 4859, 4860, 46'341, 100'000, 1'000'000}) {
        SCOPED_TRACE(ranks);
        const Summands summands(ranks);
        for (const auto& [first, count] : {std::pair(0, ranks), std::pair(0, ranks / 2), std::pair(ranks / 3, ranks - ranks / 3)}) {
            const std::uint64_t key = 77;
            float up = 0, down = 0;
            double exact = 0;
            for (int rank = first; rank < first + count; ++rank) {
                up += summands.of(key, 5, rank);
                exact += static_cast<double>(summands.of(key, 5, rank));
            }
            for (int rank = first + count - 1; rank >= first; --rank) down += summands.of(key, 5, rank);
            EXPECT_EQ(static_cast<double>(up), exact);
            EXPECT_EQ(down, up);
            EXPECT_EQ(summands.sum(key, 5, first, count), up);
        }
    }
}

TEST(BenchSummands, NoSumIsAboveWhatAFloatCounts) {
    for (const int ranks : {1, 4096, 4860, 5'000'000, 1 << 23})
        for (std::uint64_t i = 0; i < 100; ++i) EXPECT_LE(Summands(ranks).sum(3, i, 0, ranks), 0x1p24f) << ranks;
}

TEST(BenchSummands, DifferBetweenKeysElementsAndRanks) {
    const Summands few(8), many(100'000);
    EXPECT_NE(few.of(1, 0, 0), few.of(2, 0, 0));
    EXPECT_NE(few.of(1, 0, 0), few.of(1, 1, 0));
    for (const Summands& summands : {few, many}) {
        EXPECT_EQ(summands.of(1, 0, 3) - summands.of(1, 0, 2), 1);
        bool differs = false;
        for (std::uint64_t i = 1; i < 100; ++i) differs = differs || summands.of(1, i, 0) != summands.of(1, 0, 0);
        EXPECT_TRUE(differs);
    }
}

}  // namespace
}  // namespace rollcall::bench
