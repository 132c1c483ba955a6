#include "bench/cases/summands.hpp"

#include <algorithm>

#include "bench/cases/payload.hpp"

namespace rollcall::bench {
namespace {

constexpr std::uint64_t kLargestSum = 1 << 24;
/// Larger common parts would tell no more.
constexpr std::uint64_t kCommonEnd = 1024;

}  // namespace

// Two parts of each rank together are at most the largest sum. bench/peers/collective.c computes the same.
Summands::Summands(int ranks) : end_(std::max<std::uint64_t>(kLargestSum / 2 / static_cast<std::uint64_t>(ranks), 2)) {}

std::uint64_t Summands::common(std::uint64_t key, std::uint64_t i) const { return key_of({key, i}) % std::min(kCommonEnd, end_); }

std::uint64_t Summands::before(std::uint64_t rank) const {
    const std::uint64_t times = rank / end_, rest = rank % end_;
    return times * (end_ * (end_ - 1) / 2) + rest * (rest - 1) / 2;
}

float Summands::of(std::uint64_t key, std::uint64_t i, int rank) const {
    return static_cast<float>(common(key, i) + static_cast<std::uint64_t>(rank) % end_);
}

float Summands::sum(std::uint64_t key, std::uint64_t i, int first, int count) const {
    const auto begin = static_cast<std::uint64_t>(first), n = static_cast<std::uint64_t>(count);
    return static_cast<float>(n * common(key, i) + before(begin + n) - before(begin));
}

}  // namespace rollcall::bench
