/// \file
/// What communication costs in the model of trees for blocks of different sizes: J. L. Träff, "On Optimal Trees for Irregular Gather and
/// Scatter Collectives", sections 2.1 and 3.2. Pure values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rollcall::collectives {

/// A block whose bytes take as long as so many messages may go straight to the root. To send it by itself costs at most an eighth more than
/// to send it together with others, and in a tree it may be sent several times.
inline constexpr std::uint64_t kStraightMessages = 8;

/// Costs that are the same between all ranks. The units are the caller's (the benchmark uses nanoseconds and bytes). Integers stay exact up
/// to 2^53.
struct LinearCosts {
    double alpha = 0;  ///< To begin a message. A message of no bytes is not sent, and costs nothing.
    double beta = 1;   ///< For each byte sent. The trees are optimal only if gamma <= beta.
    double gamma = 0;  ///< For each byte copied at a rank that collects.

    double transfer(double size) const { return size > 0 ? alpha + beta * size : 0; }
    double transfer(int, int, double size) const { return transfer(size); }
    double copy(int, double size) const { return gamma * size; }
};

/// Costs that differ between each two ranks. Stored row by row: at [from * ranks + to].
struct LinkCosts {
    int ranks = 0;
    std::vector<double> alpha, beta;
    std::vector<double> gamma;  ///< One for each rank.

    double transfer(int from, int to, double size) const {
        const std::size_t link = static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(to);
        return size > 0 ? alpha[link] + beta[link] * size : 0;
    }
    double copy(int rank, double size) const { return gamma[static_cast<std::size_t>(rank)] * size; }
};

/// A gather for which a tree is wanted; or a scatter, which is a gather run backwards and takes the same time.
struct BlockProblem {
    std::span<const std::uint64_t> sizes;  ///< The size of each rank's block.
    /// When each rank arrives. Empty: all arrive at 0. Before it arrives, a rank can neither send nor receive.
    std::span<const double> arrivals = {};

    int ranks() const { return static_cast<int>(sizes.size()); }
    double size(int rank) const { return static_cast<double>(sizes[static_cast<std::size_t>(rank)]); }
    double arrival(int rank) const { return arrivals.empty() ? 0 : arrivals[static_cast<std::size_t>(rank)]; }
};

}  // namespace rollcall::collectives
