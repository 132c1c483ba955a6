/// \file
/// The floats that ranks bring to a sum in benchmarks.
#pragma once

#include <cstdint>

namespace rollcall::bench {

/// The size of an element of a vector that is combined or divided, in bytes: a float, as in Proficz 2020.
inline constexpr std::uint64_t kElement = sizeof(float);

/// Whole numbers of at least 0. They are so small that no sum of them is rounded, in whatever order they are added: a float holds all whole
/// numbers up to 2^24. So they are the smaller the more ranks there are.
class Summands {
  public:
    /// Requires at least one rank, and 2^23 at most.
    explicit Summands(int ranks);

    /// What this rank brings for element `i`.
    float of(std::uint64_t key, std::uint64_t i, int rank) const;
    /// The sum of what `count` ranks from `first` on bring for it.
    float sum(std::uint64_t key, std::uint64_t i, int first, int count) const;

  private:
    /// The part of an element that all ranks have in common.
    std::uint64_t common(std::uint64_t key, std::uint64_t i) const;
    /// The sum of the other parts, of the ranks before this one.
    std::uint64_t before(std::uint64_t rank) const;

    std::uint64_t end_;  ///< Each part is below this number.
};

}  // namespace rollcall::bench
