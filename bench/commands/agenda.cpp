#include "bench/commands/agenda.hpp"

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "bench/options/landing.hpp"
#include "bench/peers/peer_plan.hpp"
#include "bench/ranks/operands.hpp"
#include "foundation/settings.hpp"
#include "runtime/process.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

/// Enough samples that the interval of the median leaves out the five largest and the five smallest ones.
constexpr std::uint64_t kDefaultIterations = 20;
constexpr std::uint64_t kDefaultWarmup = 2;
constexpr std::uint64_t kMostWarmup = 10'000;
constexpr std::uint64_t kDefaultRounds = 3, kMostRounds = 1000;

constexpr const char* kPeerFooter = R"(

With --peer, jobs of Rollcall and runs of each library take turns --rounds times, with --iterations calls each. The
library's calls have the same delays, data and checks as Rollcall's. With --compute, its ranks wait as long as those of
Rollcall do in their phases; a library has no plans. The column `algorithm` names the library. T is measured with
Rollcall.)";

void check_landing(const AgendaWords& words, Agenda& agenda) {
    if (!words.landing) {
        if (agenda.sweep.as_in_paper && !inside_job() && landing_now() == kLandingOn) agenda.landing = {kLandingOfPapers};
        return;
    }
    agenda.landing = parse_landing(*words.landing);
    const std::string now_set = landing_now();
    // Inside a job, the ranks already have their settings. A job that this command starts can be given less landing memory than is set,
    // but not more.
    for (const std::string& wanted : agenda.landing)
        if (wanted != now_set && (inside_job() || (now_set != kLandingOn && wanted != kLandingOff)))
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--landing {}, but ROLLCALL_LANDING_BYTES and ROLLCALL_LANDING_LONGEST make it {}; allowed: {}",
                                    *words.landing, now_set, now_set));
}

void check_peers(const AgendaWords& words, Agenda& agenda) {
    agenda.peers = parse_peers(words.peers);
    if (agenda.peers.empty()) {
        if (!words.rounds.empty()) throw Error(ErrorCode::invalid_argument, "--rounds without --peer; allowed: --iterations");
        return;
    }
    const auto refuse = [](const char* what, const char* allowed) {
        throw Error(ErrorCode::invalid_argument, fmt::format("--peer {}; allowed: {}", what, allowed));
    };
    if (agenda.sweep.paper) refuse("with a table of --paper", "a figure, or --compute");
    if (agenda.landing.size() > 1) refuse("with several values of --landing", "one");
    if (agenda.sweep.distributions.size() > 1) refuse("with several distributions in --sizes", "one");
    for (const std::uint64_t bytes : agenda.sweep.sizes) {
        if (call_bytes(agenda.sweep.operation, bytes, agenda.sweep.ranks) > std::numeric_limits<int>::max())
            refuse("with messages or blocks of 2 GiB or more, which MPI 3 does not count", "smaller ones");
        for (const SizeDistribution distribution : agenda.sweep.distributions) {
            const auto sizes = call_sizes(agenda.sweep.operation, distribution, bytes, agenda.sweep.ranks);
            if (std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}) > std::numeric_limits<int>::max())
                refuse("with blocks of 2 GiB or more together, which MPI 3 does not count", "smaller ones");
        }
    }
    agenda.rounds = words.rounds.empty() ? kDefaultRounds : parse_count(words.rounds, "--rounds", 1, kMostRounds);
    agenda.sweep.has_peers = true;
    require_peers(agenda.peers, words.inherited, kCollectiveProgram);
}

}  // namespace

void add_agenda_options(usage::Command& command, AgendaWords& words, runtime::OperationKind operation) {
    words.start.several_ranks = true;
    add_start_options(command, words.start, kDefaultRanks);
    add_sweep_options(command, words.sweep, operation, Ranks::real);
    command
        .add_option("--warmup", words.warmup,
                    "Balanced calls before the measured ones, of each algorithm and size (with plans: of each cell)")
        ->type_name("N")
        ->default_str(std::to_string(kDefaultWarmup));
    command.get_option("--iterations")->default_str(std::to_string(kDefaultIterations));
    command
        .add_option("--wait", words.wait,
                    "How ranks spend the time until they arrive (default: spin; sleep if there are more ranks than cores, and in phases)")
        ->type_name("sleep|spin")
        ->take_last();
    command
        .add_option(
            "--landing", words.landing,
            fmt::format("Early data. on: the landing budget is as it is set; off: ROLLCALL_LANDING_BYTES=0, so a sender waits for its "
                        "receiver; eager:SIZE: a sender of more than SIZE waits, as in MPI{}. Each is a job of its own; the column `model` "
                        "says which: nonblocking, blocking, eager; with several values, `landing` does",
                        has_paper(operation) && !words.sweep.sizes ? kLandingOfPapersInWords : ""))
        ->type_name("on|off|eager:SIZE,...")
        ->take_last();
    add_inherited_options(command, words.inherited);
    add_peer_option(command, words.peers);
    command.add_option("--rounds", words.rounds, "With --peer: how many times jobs of Rollcall and of each peer take turns")
        ->type_name("N")
        ->default_str(std::to_string(kDefaultRounds));
    command.footer(command.footer() + kPeerFooter);
}

Agenda checked(const AgendaWords& words, runtime::OperationKind operation, const Start& start) {
    Agenda agenda;
    agenda.sweep = checked(words.sweep, operation, start.ranks, Ranks::real);
    agenda.iterations = agenda.sweep.iterations.value_or(kDefaultIterations);
    agenda.warmup = words.warmup.empty() ? kDefaultWarmup : parse_count(words.warmup, "--warmup", 0, kMostWarmup);
    agenda.first = words.inherited.first_iteration;
    if (words.wait == "sleep") {
        agenda.wait = Compute::sleep;
    } else if (words.wait == "spin") {
        agenda.wait = Compute::spin;
    } else if (!words.wait.empty()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("--wait '{}'; allowed: sleep, spin", words.wait));
    }
    check_landing(words, agenda);
    check_peers(words, agenda);
    return agenda;
}

std::vector<std::string> enough_slots(const Agenda& agenda) {
    const Sweep& sweep = agenda.sweep;
    const Settings settings = Settings::from_environment();
    const std::size_t plans = sweep.phases ? sweep.patterns.size() * sweep.algorithms.size() : 0;
    // The world needs as many as a plan, and so do an intercommunicator and its two groups together.
    const std::uint64_t others = sweep.in_first > 0 ? 3 : 1, needed = (plans + others) * static_cast<std::uint64_t>(sweep.ranks);
    if (needed <= runtime::slots_of(settings, sweep.ranks)) return {};
    if (inside_job() || settings.board_slots)
        throw Error(ErrorCode::invalid_argument, fmt::format("{} plans of {} ranks; allowed: as many as there are arrival slots for, here "
                                                             "with ROLLCALL_BOARD_SLOTS={}",
                                                             plans, sweep.ranks, needed));
    return {fmt::format("ROLLCALL_BOARD_SLOTS={}", needed)};
}

}  // namespace rollcall::bench
