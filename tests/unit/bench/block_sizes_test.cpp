// The sizes of blocks in each distribution.
#include "bench/cases/block_sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

TEST(BenchBlockSizes, AFewRanksHaveAllBytesOfASkewedDistribution) {
    EXPECT_EQ(block_sizes(SizeDistribution::skewed, 2, 1000), (std::vector<std::uint64_t>{1000, 1000})) << "fewer ranks than rho";
    EXPECT_EQ(block_sizes(SizeDistribution::skewed, 6, 1000), (std::vector<std::uint64_t>{1200, 1200, 1200, 1200, 1200, 1}));
}

TEST(BenchBlockSizes, TheMeanIsAboutB) {
    for (const SizeDistribution distribution : kSizeDistributions) {
        SCOPED_TRACE(name(distribution));
        const std::uint64_t b = std::min<std::uint64_t>(largest_mean(distribution), std::uint64_t{1} << 40);
        const auto sizes = block_sizes(distribution, 4000, b);
        const double mean = std::accumulate(sizes.begin(), sizes.end(), 0.0) / 4000;
        EXPECT_NEAR(mean / static_cast<double>(b), 1, 0.1) << "also of the largest b";
    }
    EXPECT_EQ(largest_mean(SizeDistribution::random), std::uint64_t{1} << 30);
    EXPECT_EQ(largest_mean(SizeDistribution::bucket), std::uint64_t{1} << 31);
}

}  // namespace
}  // namespace rollcall::bench
