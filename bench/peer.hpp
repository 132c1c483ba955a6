/// \file
/// MPI libraries that a benchmark is compared with: small programs of ours, built with them, and started by their launchers.
#pragma once

#include <string>
#include <vector>

#include "bench/emulated_cluster.hpp"

namespace rollcall::bench {

struct Peer {
    std::string name;                   ///< "openmpi"
    std::vector<std::string> launcher;  ///< How ranks are started on this host, up to their number.
    std::string preload;                ///< A library beside the program, or empty.
    std::string packages;               ///< What must be installed.
};

const std::vector<Peer>& peers();

/// "barrier" and such a name to the file of the program. Throws Error{state} when it was not built.
std::string peer_program(const Peer& peer, const std::string& program);

/// The words that start `program` with ranks on this host, or on those of a cluster that is up.
std::vector<std::string> peer_command(const Peer& peer, int ranks, const std::vector<std::string>& program, const EmulatedCluster* cluster);

/// Runs that, and returns the numbers that it prints. Throws Error{state} when it fails, takes more than two minutes, or
/// does not print `count` numbers.
std::vector<double> run_peer(const Peer& peer, int ranks, const std::vector<std::string>& program, const EmulatedCluster* cluster,
                             std::size_t count);

}  // namespace rollcall::bench
