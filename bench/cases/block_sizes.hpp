/// \file
/// The sizes of the blocks of a gather or scatter, in eleven distributions. Source: J. L. Träff, "On Optimal Trees for Irregular Gather and
/// Scatter Collectives", section 5.1.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace rollcall::bench {

enum class SizeDistribution : std::uint8_t {
    same,               ///< b
    random,             ///< 1 .. 2b
    random_decreasing,  ///< The same, sorted.
    random_increasing,
    bucket,       ///< b/2 (rounded up), plus a random number of 0 .. b-1.
    spikes,       ///< rho*b with probability 1/rho, else 1.
    decreasing,   ///< 2b(n-i)/n + 1
    increasing,   ///< 2b(i+1)/n + 1
    alternating,  ///< 3b/2 and b/2 (rounded up)
    skewed,       ///< n*b/rho for the first rho ranks, else 1. With fewer ranks than rho: b.
    two_blocks,   ///< n*b/2 for the first and the last rank, else 0.
};
inline constexpr std::array kSizeDistributions = {
    SizeDistribution::same,        SizeDistribution::random, SizeDistribution::random_decreasing, SizeDistribution::random_increasing,
    SizeDistribution::bucket,      SizeDistribution::spikes, SizeDistribution::decreasing,        SizeDistribution::increasing,
    SizeDistribution::alternating, SizeDistribution::skewed, SizeDistribution::two_blocks};

std::string_view name(SizeDistribution distribution);

/// Whether rho, or random numbers, determine the sizes.
bool has_rho(SizeDistribution distribution);
bool is_random(SizeDistribution distribution);

/// Returns the largest b of this distribution. Random numbers have 31 bits.
std::uint64_t largest_mean(SizeDistribution distribution);

/// Returns the sizes, about ranks * b in sum. With rho = 5 and the seed 1 they are those of the paper, whose random numbers come from
/// glibc's rand(), seeded anew for each distribution. The result is the same on all systems. Requires b <= largest_mean() and
/// rho >= 1.
std::vector<std::uint64_t> block_sizes(SizeDistribution distribution, int ranks, std::uint64_t b, int rho = 5, std::uint32_t seed = 1);

/// The b with which blocks have about `bytes` bytes together.
inline std::uint64_t mean_block(int ranks, std::uint64_t bytes) {
    return std::max<std::uint64_t>(bytes / static_cast<std::uint64_t>(ranks), 1);
}
/// Returns the sizes of such blocks.
inline std::vector<std::uint64_t> sizes_together(SizeDistribution distribution, int ranks, std::uint64_t bytes) {
    return block_sizes(distribution, ranks, mean_block(ranks, bytes));
}

}  // namespace rollcall::bench
