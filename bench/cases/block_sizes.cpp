#include "bench/cases/block_sizes.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace rollcall::bench {
namespace {

/// The generator of glibc's rand(): additive feedback over 31 numbers ("TYPE_3"), which a linear congruential generator initialises.
class GlibcRandom {
  public:
    explicit GlibcRandom(std::uint32_t seed) {
        std::int64_t number = seed == 0 ? 1 : static_cast<std::int32_t>(seed);
        for (std::size_t i = 0; i < kNumbers; ++i) {
            numbers_[i] = static_cast<std::uint32_t>(number);
            number = 16807 * number % 2147483647;
            if (number < 0) number += 2147483647;
        }
        for (std::size_t i = 0; i < 10 * kNumbers; ++i) (*this)();
    }
    std::uint64_t operator()() {
        const std::uint32_t sum = numbers_[next_] += numbers_[(next_ + kNumbers - kApart) % kNumbers];
        next_ = (next_ + 1) % kNumbers;
        return sum >> 1;
    }

  private:
    static constexpr std::size_t kNumbers = 31, kApart = 3;
    std::array<std::uint32_t, kNumbers> numbers_;
    std::size_t next_ = kApart;
};

}  // namespace

std::string_view name(SizeDistribution distribution) {
    switch (distribution) {
        case SizeDistribution::same: return "same";
        case SizeDistribution::random: return "random";
        case SizeDistribution::random_decreasing: return "random_decreasing";
        case SizeDistribution::random_increasing: return "random_increasing";
        case SizeDistribution::bucket: return "bucket";
        case SizeDistribution::spikes: return "spikes";
        case SizeDistribution::decreasing: return "decreasing";
        case SizeDistribution::increasing: return "increasing";
        case SizeDistribution::alternating: return "alternating";
        case SizeDistribution::skewed: return "skewed";
        case SizeDistribution::two_blocks: return "two_blocks";
    }
    return "";
}

std::uint64_t largest_mean(SizeDistribution distribution) {
    constexpr std::uint64_t kNumbers = std::uint64_t{1} << 31;
    switch (distribution) {
        case SizeDistribution::random:
        case SizeDistribution::random_decreasing:
        case SizeDistribution::random_increasing: return kNumbers / 2;
        case SizeDistribution::bucket: return kNumbers;
        default: return std::numeric_limits<std::uint64_t>::max();
    }
}

bool has_rho(SizeDistribution distribution) { return distribution == SizeDistribution::spikes || distribution == SizeDistribution::skewed; }

bool is_random(SizeDistribution distribution) {
    switch (distribution) {
        case SizeDistribution::random:
        case SizeDistribution::random_decreasing:
        case SizeDistribution::random_increasing:
        case SizeDistribution::bucket:
        case SizeDistribution::spikes: return true;
        default: return false;
    }
}

std::vector<std::uint64_t> block_sizes(SizeDistribution distribution, int ranks, std::uint64_t b, int rho, std::uint32_t seed) {
    const auto n = static_cast<std::uint64_t>(ranks), few = static_cast<std::uint64_t>(rho);
    GlibcRandom random(seed);
    const auto size_of = [&](std::uint64_t i) -> std::uint64_t {
        switch (distribution) {
            case SizeDistribution::same: return b;
            case SizeDistribution::random:
            case SizeDistribution::random_decreasing:
            case SizeDistribution::random_increasing: return 1 + random() % std::max<std::uint64_t>(2 * b, 1);
            case SizeDistribution::bucket: return (b + 1) / 2 + random() % std::max<std::uint64_t>(b, 1);
            case SizeDistribution::spikes: return random() % few == 0 ? few * b : 1;
            case SizeDistribution::decreasing: return 2 * b * (n - i) / n + 1;
            case SizeDistribution::increasing: return 2 * b * (i + 1) / n + 1;
            case SizeDistribution::alternating: return i % 2 == 0 ? b + b / 2 : b - b / 2;
            case SizeDistribution::skewed: return i < few ? n * b / std::min(few, n) : 1;
            case SizeDistribution::two_blocks: return i == 0 || i + 1 == n ? n * b / 2 : 0;
        }
        return 0;
    };
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = 0; i < n; ++i) sizes.push_back(size_of(i));
    if (distribution == SizeDistribution::random_decreasing) std::sort(sizes.begin(), sizes.end(), std::greater<>());
    if (distribution == SizeDistribution::random_increasing) std::sort(sizes.begin(), sizes.end());
    return sizes;
}

}  // namespace rollcall::bench
