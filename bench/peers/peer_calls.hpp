/// \file
/// Calls of a collective operation by an MPI library, with the delays that calls of Rollcall had.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/cases/block_sizes.hpp"
#include "bench/peers/peer.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/results/raw.hpp"

namespace rollcall::bench {

/// What the calls need besides delays.
struct PeerSetup {
    Compute wait = Compute::sleep;
    std::uint64_t warmup = 0;  ///< Balanced calls of each size before the measured ones.
    std::uint64_t seed = 0;
    Nanoseconds compute = 0;  ///< How long each rank waits before its delay begins, as in the phases of Rollcall's calls.
    std::optional<SizeDistribution> distribution = {};  ///< That of the blocks' sizes, if these are their own.
    int in_first = 0;                                   ///< Between two groups: the number of ranks in the first one.
};

class PeerCalls {
  public:
    /// `ours` are the cells of one job of Rollcall. For each size and pattern, a peer gets the delays of the first cell that has them.
    /// Throws Error{invalid_argument} if there are more calls than the program can take.
    PeerCalls(const std::vector<RawCell>& ours, const PeerSetup& setup);

    /// Returns the plan that the program reads (bench/peers/collective.c describes it). The patterns of a size are in random order, a new
    /// one for each iteration.
    std::string plan() const;
    /// The numbers that the program prints for it.
    std::size_t count() const { return 2 * calls_.size() * static_cast<std::size_t>(ranks()); }
    /// Returns the cells that these numbers describe, one for each size and pattern. T is that of Rollcall's cells. Requires count()
    /// numbers.
    std::vector<RawCell> cells(const std::string& peer, const std::string& transport, std::span<const double> times) const;

    /// Runs the program. Errors as run_peer().
    std::vector<RawCell> measure(const Peer& peer, const EmulatedCluster* cluster, Timeout limit) const;

  private:
    /// A call. `sample` is an index in the samples of the cell; kWarmup: the call is not measured.
    struct Call {
        std::size_t cell, sample;
    };
    static constexpr std::size_t kWarmup = static_cast<std::size_t>(-1);
    int ranks() const { return cells_.front().identity.ranks; }

    std::vector<RawCell> cells_;  ///< For each size and pattern, Rollcall's first cell.
    std::vector<Call> calls_;
    PeerSetup setup_;
};

/// Appends the calls of further jobs to the cells that are the same but for the number of iterations and T. Other cells are added.
void append(std::vector<RawCell>& all, const std::vector<RawCell>& more);
/// Returns the cells in an order in which those of one size and pattern follow each other. Else the order remains.
std::vector<RawCell> grouped(std::vector<RawCell> cells);

}  // namespace rollcall::bench
