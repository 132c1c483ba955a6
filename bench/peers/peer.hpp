/// \file
/// The MPI libraries that benchmarks compare with. Small programs of this project are built with them and started by their launchers.
#pragma once

#include <string>
#include <vector>

#include <rollcall/time.hpp>

#include "bench/ranks/emulated_cluster.hpp"
#include "bench/ranks/start.hpp"

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

struct Peer {
    std::string name;                   ///< For example "openmpi".
    std::vector<std::string> launcher;  ///< The command that starts ranks on this host.
    /// Where ranks share CPUs, they must yield while they poll: more words of that command, or a library beside the program that is loaded
    /// before it. Either may be empty. On a cluster the library is always loaded.
    std::vector<std::string> yielding;
    std::string preload;
    std::string packages;               ///< The packages of Debian and Ubuntu.
    bool must_be_told_to_bind = false;  ///< The launcher is hydra, which binds ranks only to the CPUs that its -bind-to names.
};

const std::vector<Peer>& peers();

/// Adds --peer.
void add_peer_option(usage::Command& command, std::vector<std::string>& words);
/// Parses the words of --peer, such as "openmpi,mpich" or "all". Throws Error{invalid_argument}.
std::vector<const Peer*> parse_peers(const std::vector<std::string>& words);

/// Returns the file of a program such as "barrier" for this peer. Throws Error{state} if it was not built.
std::string peer_program(const Peer& peer, const std::string& program);
/// Throws Error{invalid_argument} if there are peers in a job that this command has not started. Outside of a job throws Error{state} if
/// the program of one was not built: before the first job.
void require_peers(const std::vector<const Peer*>& chosen, const Inherited& inherited, const std::string& program);
/// What the column `transport` says in the rows of peers.
std::string peer_transport(const EmulatedCluster* cluster);

/// Returns the command that starts `program` with ranks on this host, or on the hosts of a cluster that exists.
std::vector<std::string> peer_command(const Peer& peer, int ranks, const std::vector<std::string>& program, const EmulatedCluster* cluster);

/// How long a peer may take for what a job of Rollcall did in the time `ours`: --timeout, or else much longer than that job.
Timeout peer_limit(const Start& start, Nanoseconds ours);

/// The numbers that a program prints, line by line.
using PeerLines = std::vector<std::vector<double>>;

/// Runs that command and returns what it prints. Throws Error{state} if it fails, and usage::EarlyEnd if it takes longer than the limit, or
/// if a signal asks this process to end.
PeerLines run_peer(const Peer& peer, int ranks, const std::vector<std::string>& program, const EmulatedCluster* cluster, Timeout limit);

/// Throws Error{state} unless there are `count` lines, each with a number at least and `most` numbers at most. A program that takes samples
/// until its time is over prints fewer than `most`.
void require_lines(const Peer& peer, const PeerLines& lines, std::size_t count, std::size_t most);

}  // namespace rollcall::bench
