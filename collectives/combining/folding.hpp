/// \file
/// Reduces the ranks to a power of two, where there are more, as in R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective
/// communication operations in MPICH", 2005, the section on reduce-scatter.
#pragma once

#include <bit>

#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

/// Ranks are counted from the root on. The first ranks form pairs, and the first rank of a pair takes part for both. The ranks that take
/// part have consecutive numbers. Each number stands for one rank, or for two consecutive ranks.
///
/// Example, 6 ranks, root 0: numbers 0 to 3 are ranks 0 (for 1, too), 2 (for 3), 4, 5.
class Folding {
  public:
    explicit Folding(const runtime::Operation& op, int root = 0)
        : n_(op.size()),
          root_(root),
          own_((op.rank() - root + n_) % n_),
          all_(static_cast<int>(std::bit_floor(static_cast<unsigned>(n_)))) {}

    /// How many numbers there are: the largest power of two that does not exceed the number of ranks.
    int all() const { return all_; }
    /// is_paired(): whether this rank belongs to a pair. is_idle(): whether its partner takes part for it.
    bool is_paired() const { return own_ < 2 * pairs(); }
    bool is_idle() const { return is_paired() && own_ % 2 == 1; }
    int partner() const { return rank_at(own_ ^ 1); }
    /// The number of this rank, which must not be idle.
    int number() const { return is_paired() ? own_ / 2 : own_ - pairs(); }
    /// The distance of this number's first rank from the root. For the number behind the last one: the number of ranks.
    int first_of(int number) const { return number < pairs() ? 2 * number : number + pairs(); }
    /// The rank that takes part for this number.
    int rank_of(int number) const { return rank_at(first_of(number)); }

  private:
    int pairs() const { return n_ - all_; }
    int rank_at(int distance) const { return (root_ + distance) % n_; }
    int n_, root_, own_, all_;
};

}  // namespace rollcall::collectives
