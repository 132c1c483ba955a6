/// \file
/// Runs the program of a peer that makes the collective calls of a plan.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/peers/peer.hpp"

namespace rollcall::bench {

/// The program of bench/peers that makes the calls. Its source describes the plan that it reads, and what it prints.
inline constexpr const char* kCollectiveProgram = "collective";

/// The program counts the numbers of its plan as MPI does. Throws Error{invalid_argument} if a plan of so many calls has more of them.
void require_short_plan(std::size_t calls, int ranks, bool own_sizes);

/// Runs it and returns the `count` numbers that it prints. Throws Error{state} if the plan cannot be written, or if it
/// prints another count, and as run_peer().
std::vector<double> run_peer_plan(const Peer& peer, int ranks, const std::string& plan, const EmulatedCluster* cluster, std::size_t count,
                                  Timeout limit);

}  // namespace rollcall::bench
