/// \file
/// The MPI libraries that benchmarks compare with. Small programs of this project are built with them and started by their launchers.
#pragma once

#include <string>
#include <vector>

#include "bench/emulated_cluster.hpp"

namespace rollcall::bench {

struct Peer {
    std::string name;                   ///< For example "openmpi".
    std::vector<std::string> launcher;  ///< The command that starts ranks on this host, up to their number.
    std::string preload;                ///< A library beside the program, or empty.
    std::string packages;               ///< The packages that must be installed.
};

const std::vector<Peer>& peers();

/// Returns the file of a program such as "barrier" for this peer. Throws Error{state} if it was not built.
std::string peer_program(const Peer& peer, const std::string& program);

/// Returns the command that starts `program` with ranks on this host, or on the hosts of a cluster that exists.
std::vector<std::string> peer_command(const Peer& peer, int ranks, const std::vector<std::string>& program, const EmulatedCluster* cluster);

/// Runs that command and returns the numbers that it prints. Throws Error{state} if it fails, takes more than two minutes, or does not
/// print `count` numbers.
std::vector<double> run_peer(const Peer& peer, int ranks, const std::vector<std::string>& program, const EmulatedCluster* cluster,
                             std::size_t count);

}  // namespace rollcall::bench
