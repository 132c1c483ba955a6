/// \file
/// What a benchmark of a collective operation measures, and how its ranks are started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/options/sweep.hpp"
#include "bench/peers/peer.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/start.hpp"

namespace rollcall::bench {

inline constexpr int kDefaultRanks = 8;

/// The options as the user gave them.
struct AgendaWords {
    StartWords start;
    SweepWords sweep;
    Inherited inherited;
    std::string warmup;
    std::string wait;
    std::string rounds;
    std::optional<std::string> landing;
    std::vector<std::string> peers;
};
/// Adds all options of the benchmark of this operation.
void add_agenda_options(usage::Command& command, AgendaWords& words, runtime::OperationKind operation);

struct Agenda {
    Sweep sweep;
    std::uint64_t warmup = 0;
    std::uint64_t iterations = 0;  ///< The number for each job.
    std::uint64_t first = 0;       ///< The number of the first iteration of this job.
    std::optional<Compute> wait;
    std::vector<std::string> landing;  ///< Empty: the present setting.
    std::vector<const Peer*> peers;
    std::uint64_t rounds = 1;  ///< With peers: this many jobs, and as many runs of each peer, take turns.
};
/// Throws Error{invalid_argument} with one line that names the mistake and lists what is allowed.
Agenda checked(const AgendaWords& words, runtime::OperationKind operation, const Start& start);

/// Each plan has a communicator of its own, and needs arrival slots for its predictions. Returns the environment with which the ranks must
/// be started so that there are enough slots.
std::vector<std::string> enough_slots(const Agenda& agenda);

}  // namespace rollcall::bench
