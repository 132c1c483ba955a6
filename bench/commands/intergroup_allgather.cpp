#include "bench/commands/intergroup_allgather.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/rollcall.hpp>

#include "bench/cases/intergroup_cases.hpp"
#include "bench/cases/lists.hpp"
#include "bench/cases/patterns.hpp"
#include "bench/cases/payload.hpp"
#include "bench/options/seed.hpp"
#include "bench/options/sweep.hpp"
#include "bench/peers/peer.hpp"
#include "bench/peers/peer_calls.hpp"
#include "bench/peers/peer_plan.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/job_time.hpp"
#include "bench/ranks/operands.hpp"
#include "bench/ranks/rounds.hpp"
#include "bench/results/figures.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace intergroup_allgather_command {
namespace {

constexpr int kRanks = 8, kPaperRanksOfGroups = 32;
/// The settings with a ratio of 25:7 need two groups of at least one rank.
constexpr int kFewestRanks = 2, kFewestPaperRanks = 4;
constexpr std::uint64_t kDefaultIterations = 10, kDefaultRounds = 3;
/// What patterns such as root_late take for the root.
constexpr int kPatternRoot = 0;

struct Words : RoundWords {
    Words() { iterations = kDefaultIterations, rounds = kDefaultRounds; }
    bool own_sizes = false, paper = false;
    std::string bytes = "64Ki,1Mi", algorithms = "all", settings;
    std::string groups, seed = kDefaultSeed;
    std::vector<std::string> arrivals, peers;
    const char* operation() const { return own_sizes ? "intergroup_allgatherv" : "intergroup_allgather"; }
};

/// What is measured, and by which algorithms. Each iteration of a case calls all of them, in random order.
struct Contest {
    std::vector<GroupCase> cases;
    std::vector<std::uint64_t> bytes;  ///< The mean block of each case, before the settings make that of one group larger.
    std::vector<Pattern> patterns;     ///< The arrival pattern of each case.
    std::vector<std::string> algorithms;
    bool leaves_out_impossible = false;
    std::uint64_t iterations = 0;
    std::uint64_t first = 0;  ///< The number of the first iteration of this job.
    std::vector<const Peer*> peers;

    void add(const GroupCase& what, std::uint64_t mean, const Pattern& pattern) {
        cases.push_back(what);
        bytes.push_back(mean);
        patterns.push_back(pattern);
    }
    /// The delays of all ranks.
    std::vector<Nanoseconds> delays(std::size_t number, std::uint64_t iteration) const {
        const GroupCase& what = cases[number];
        return patterns[number].delays(static_cast<int>(what.first.size() + what.second.size()), kPatternRoot, iteration, 0);
    }
    std::string key(std::size_t number, const std::string& algorithm) const { return fmt::format("{} {}", number, algorithm); }
};

/// The work of one rank in one case.
class Runner {
  public:
    Runner(Job& job, const GroupCase& what)
        : job_(job),
          world_(job.world()),
          own_sizes_(what.own_sizes),
          is_first_(world_.rank() < static_cast<int>(what.first.size())),
          own_(is_first_ ? what.first : what.second),
          others_(is_first_ ? what.second : what.first) {
        between_ = divided(world_, static_cast<int>(what.first.size()));
        block_.resize(own_[static_cast<std::size_t>(between_.rank())]);
        all_.resize(std::accumulate(others_.begin(), others_.end(), std::uint64_t{0}));
    }

    /// Makes one call on all ranks, which arrive after these delays. Returns the time from the first arrival that was asked for until the
    /// last rank has left the call, in seconds, at all ranks.
    /// Throws the error with which all ranks refuse an algorithm that cannot run here.
    double seconds_of(const std::string& algorithm, std::uint64_t key, const std::vector<Nanoseconds>& delays) {
        fill(block_, key_of({key, is_first_, static_cast<std::uint64_t>(between_.rank())}));
        each_block([&](std::uint64_t member, std::span<std::byte> block) { poison(block, key_of({key, !is_first_, member})); });
        const Nanoseconds start = job_.local_time_at(common_start(job_));
        wait_until(start + delays[static_cast<std::size_t>(world_.rank())], Compute::sleep);
        // Programs that want `auto` give no name. Then the setting must not name another algorithm.
        call({.algorithm = algorithm == kIntergroupAutomatic && auto_is_set_ ? "" : algorithm, .segment_bytes = {}, .timeout = {}});
        double longest = seconds_since_first_arrival(static_cast<double>(monotonic_now() - start), delays);
        world_.allreduce(longest, maximum);
        each_block([&](std::uint64_t member, std::span<std::byte> block) {
            if (const auto wrong = find_wrong(block, key_of({key, !is_first_, member})))
                job_.abort(1,
                           fmt::format("an allgather between groups by {} gave a wrong result: byte {} of block {} on rank {} is not what "
                                       "that rank of the other group sent",
                                       algorithm, *wrong, member, world_.rank()));
        });
        return longest;
    }

  private:
    void call(const CollectiveOptions& options) {
        if (own_sizes_)
            between_.allgather(block_, all_, Blocks(others_), options);
        else
            between_.allgather(block_, all_, options);
    }
    void each_block(auto use) {
        std::uint64_t offset = 0;
        for (std::size_t member = 0; member < others_.size(); ++member)
            use(member, std::span(all_).subspan(std::exchange(offset, offset + others_[member]), others_[member]));
    }

    Job& job_;
    const Communicator& world_;
    bool own_sizes_, is_first_;
    const std::vector<std::uint64_t>&own_, &others_;
    Intercommunicator between_;
    std::vector<std::byte> block_, all_;
    const bool auto_is_set_ =
        Settings::from_environment().algorithms[static_cast<std::size_t>(runtime::OperationKind::intergroup_allgather)] ==
        kIntergroupAutomatic;
};

/// The algorithms take turns, in another order in each iteration, which is the same on all ranks.
Samples measure(Job& job, const Contest& contest) {
    Samples samples;
    samples.transport = transport_name(job);
    make_sleep_exact();
    for (std::size_t number = 0; number < contest.cases.size(); ++number) {
        job.synchronize_clocks();  // for each case, because they drift
        Runner runner(job, contest.cases[number]);
        const std::vector<Nanoseconds> balanced(static_cast<std::size_t>(job.size()));
        std::vector<std::string> possible;
        for (const std::string& algorithm : contest.algorithms) {
            try {
                runner.seconds_of(algorithm, key_of({number}), balanced);  // warms up
                possible.push_back(algorithm);
            } catch (const Error& error) {
                if (!contest.leaves_out_impossible || error.code() != ErrorCode::invalid_argument) throw;
            }
        }
        for (std::uint64_t iteration = contest.first; iteration < contest.first + contest.iterations; ++iteration) {
            const std::vector<Nanoseconds> delays = contest.delays(number, iteration);
            for (const std::size_t chosen : shuffled(possible.size(), key_of({number}), iteration))
                samples.values[contest.key(number, possible[chosen])].push_back(
                    runner.seconds_of(possible[chosen], key_of({number, iteration, chosen}), delays));
        }
    }
    return samples;
}

std::vector<Pattern> patterns_of(const Words& words, int ranks) {
    std::vector<Pattern> patterns;
    const std::uint64_t seed = parse_seed(words.seed);
    for (const std::string& text : words.arrivals)
        for (Pattern& pattern : parse_patterns(text, seed)) patterns.push_back(std::move(pattern));
    if (patterns.empty()) patterns.emplace_back();
    for (const Pattern& pattern : patterns) {
        if (pattern.needs_message_time())
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--arrival {}; allowed: patterns in units of time, such as uniform:0..10ms", pattern.describe()));
        pattern.delays(ranks, kPatternRoot, 0, 0);  // fails if it does not fit the ranks
    }
    return patterns;
}

/// One run of a peer measures cases that follow each other and have the same groups. Returns the number of those from `first` on.
std::size_t cases_of_run(const Contest& contest, std::size_t first) {
    const auto same_groups = [&](const GroupCase& one) {
        return one.first.size() == contest.cases[first].first.size() && one.second.size() == contest.cases[first].second.size();
    };
    const std::span<const GroupCase> cases = std::span(contest.cases).subspan(first);
    return static_cast<std::size_t>(std::find_if_not(cases.begin(), cases.end(), same_groups) - cases.begin());
}

Contest contest_of(const Words& words, int ranks) {
    Contest contest{.cases = {},
                    .bytes = {},
                    .patterns = {},
                    .algorithms = parse_intergroup_algorithms(words.algorithms, true),
                    .leaves_out_impossible = words.algorithms == "all",
                    .iterations = words.iterations,
                    .first = words.inherited.first_iteration,
                    .peers = parse_peers(words.peers)};
    const auto require = [&](std::string_view algorithm) {
        if (std::find(contest.algorithms.begin(), contest.algorithms.end(), algorithm) == contest.algorithms.end())
            contest.algorithms.emplace_back(algorithm);
    };
    require(kIntergroupBaseline);
    // A library chooses by itself, so it is compared with what Rollcall chooses.
    if (!contest.peers.empty()) require(kIntergroupAutomatic);
    const auto all = static_cast<std::uint64_t>(ranks);
    const std::vector<std::uint64_t> groups = groups_of(words.groups, ranks);
    const std::vector<Pattern> patterns = patterns_of(words, ranks);
    for (const std::uint64_t bytes : parse_sizes(words.bytes, "--bytes")) {
        std::vector<GroupCase> cases;
        if (words.paper)
            cases = cases_of_settings(words.settings.empty() ? "all" : words.settings, words.own_sizes, {{all}}, {{bytes}});
        else
            cases.push_back(
                {"", blocks_of(groups[0], bytes, words.own_sizes), blocks_of(groups[1], bytes, words.own_sizes), words.own_sizes});
        for (const GroupCase& what : cases)
            for (const Pattern& pattern : patterns) contest.add(what, bytes, pattern);
    }
    for (const GroupCase& what : contest.cases)
        if (!contest.peers.empty() && what.most_received() > std::numeric_limits<int>::max())
            throw Error(ErrorCode::invalid_argument,
                        "--peer with groups whose blocks have 2 GiB or more together, which MPI 3 does not count; allowed: smaller ones");
    for (std::size_t done = 0; !contest.peers.empty() && done < contest.cases.size(); done += cases_of_run(contest, done))
        require_short_plan(cases_of_run(contest, done) * (contest.iterations + 1), ranks, true);
    return contest;
}

/// The calls of a peer in `cases` cases from `first` on, which have the same groups. The first call of each case warms up, as the first one
/// of each algorithm does in Rollcall's jobs. Ranks sleep until they arrive, as they do there.
std::string plan_of(const Contest& contest, std::size_t first, std::size_t cases, std::uint64_t calls, std::uint64_t first_iteration,
                    const char* operation) {
    const std::size_t in_first = contest.cases[first].first.size(), ranks = in_first + contest.cases[first].second.size();
    const std::vector<Nanoseconds> balanced(ranks);
    std::string text = fmt::format("{} 0 1 0 {} {}\n", operation, cases * calls, in_first);
    for (std::size_t number = first; number < first + cases; ++number)
        for (std::uint64_t call = 0; call < calls; ++call)
            text += fmt::format("0 {} {} {} {}\n", key_of({number, call}),
                                fmt::join(call == 0 ? balanced : contest.delays(number, first_iteration + call - 1), " "),
                                fmt::join(contest.cases[number].first, " "), fmt::join(contest.cases[number].second, " "));
    return text;
}

/// Measures a peer in all cases. Returns samples as a job of Rollcall leaves them. `ours` are those of the job before, which had the same
/// iterations.
Samples measure_peer(const Peer& peer, const Contest& contest, const char* operation, const Start& start, const Samples& ours) {
    Samples samples;
    samples.transport = peer_transport(start.cluster.get());
    const Timeout limit = peer_limit(start, ours.took);
    const std::size_t calls = contest.iterations + 1, ranks = static_cast<std::size_t>(start.ranks);
    for (std::size_t done = 0; done < contest.cases.size();) {
        const std::size_t cases = cases_of_run(contest, done);
        const std::vector<double> times =
            run_peer_plan(peer, start.ranks, plan_of(contest, done, cases, calls, ours.first_iteration, operation), start.cluster.get(),
                          2 * ranks * calls * cases, limit);
        for (std::size_t call = 0; call < calls * cases; ++call) {
            if (call % calls == 0) continue;
            const std::size_t number = done + call / calls;
            double longest = 0;  // until the last exit
            for (std::size_t rank = 0; rank < ranks; ++rank) longest = std::max(longest, times[2 * (call * ranks + rank) + 1]);
            samples.values[contest.key(number, peer.name)].push_back(
                seconds_since_first_arrival(longest, contest.delays(number, ours.first_iteration + call % calls - 1)));
        }
        done += cases;
    }
    return samples;
}

/// The samples of a peer, one element for each round.
using PeerSamples = std::map<std::string, std::vector<Samples>>;

void print(CellPrinter& printer, const Contest& contest, const char* operation, const std::vector<Samples>& rounds,
           const PeerSamples& theirs) {
    for (std::size_t number = 0; number < contest.cases.size(); ++number) {
        const GroupCase& what = contest.cases[number];
        const Rounds baseline = rounds_of(rounds, contest.key(number, std::string(kIntergroupBaseline)));
        const auto add = [&](const std::string& competitor, const std::string& transport, const Rounds& times, Metric expected,
                             const std::vector<Metric>& beside_peers) {
            Cell cell = plain_cell({.operation = operation,
                                    .algorithm = competitor,
                                    .transport = transport,
                                    .ranks = static_cast<int>(what.first.size() + what.second.size()),
                                    .bytes = contest.bytes[number],
                                    .pattern = contest.patterns[number].describe()},
                                   together(times));
            cell.metrics.push_back(improvement(baseline, times));
            cell.metrics.push_back(std::move(expected));
            cell.metrics.insert(cell.metrics.end(), beside_peers.begin(), beside_peers.end());
            if (!what.setting.empty()) cell.notes.emplace_back("setting", what.setting);
            cell.notes.emplace_back("groups", fmt::format("{}+{}", what.first.size(), what.second.size()));
            printer.add(cell);
        };
        std::vector<Metric> of_peers_only;
        if (!contest.peers.empty()) of_peers_only = {undefined("rollcall_ratio", Unit::ratio), undefined("fastest_ratio", Unit::ratio)};
        std::vector<Rounds> measured;
        for (const std::string& algorithm : contest.algorithms) {
            const std::string key = contest.key(number, algorithm);
            if (!rounds.front().values.contains(key)) continue;
            const Rounds times = rounds_of(rounds, key);
            measured.push_back(times);
            add(algorithm, rounds.front().transport, times,
                algorithm == "full_duplex" && contest.patterns[number].describe() == Pattern().describe()
                    ? constant("expected", Unit::ratio, what.expected_improvement())
                    : undefined("expected", Unit::ratio),
                of_peers_only);
        }
        for (const Peer* peer : contest.peers) {
            std::vector<Samples> its = theirs.at(peer->name);
            keep_complete(its, rounds.size());
            const Rounds times = rounds_of(its, contest.key(number, peer->name));
            const Rounds ours = rounds_of(rounds, contest.key(number, std::string(kIntergroupAutomatic)));
            add(peer->name, its.front().transport, times, undefined("expected", Unit::ratio),
                {rollcall_ratio(ours, times), fastest_ratio(fastest_of(measured), times)});
        }
    }
}

int run(const Words& words) {
    const Start start = checked(words.start, words.paper ? kPaperRanksOfGroups : kRanks, words.paper ? kFewestPaperRanks : kFewestRanks);
    if (words.paper && !words.groups.empty())
        throw Error(ErrorCode::invalid_argument, "--groups with --paper; allowed: one of them, because the settings say the groups");
    if (!words.paper && !words.settings.empty())
        throw Error(ErrorCode::invalid_argument, "--settings without --paper; allowed: --paper --settings LIST");
    const Contest contest = contest_of(words, start.ranks);
    if (!contest.peers.empty()) refuse_other_than_peers(parse_transports(words.transports), start.cluster != nullptr);
    require_peers(contest.peers, words.inherited, kCollectiveProgram);
    PeerSamples theirs;  // of the present transport
    const auto run_peers = [&](const TransportChoice&, const Samples& ours) {
        for (const Peer* peer : contest.peers) theirs[peer->name].push_back(measure_peer(*peer, contest, words.operation(), start, ours));
    };
    const auto print_rounds = [&](CellPrinter& printer, const Variant&, const std::vector<Samples>& rounds) {
        print(printer, contest, words.operation(), rounds, std::exchange(theirs, {}));
    };
    return run_rounds(start, words,
                      {.measure = [&](Job& job) { return measure(job, contest); }, .after_job = run_peers, .print = print_rounds});
}

void add_command(usage::Command& bench, bool own_sizes, int& exit_code) {
    const auto words = std::make_shared<Words>();
    words->own_sizes = own_sizes;
    usage::Command* const command = bench.add_subcommand(
        words->operation(), own_sizes ? "Measure the allgather between two groups, of blocks of different sizes, all algorithms interleaved"
                                      : "Measure the allgather between two groups, all algorithms interleaved");
    add_round_options(*command, *words, kRanks, "Calls of each algorithm in each round");
    add_rounds_option(*command, *words);
    add_sizes_option(*command, "--bytes", words->bytes, "(Mean) sizes of a block");
    command->add_option("--groups", words->groups, "The sizes of the two groups (default: half of the ranks each)")->type_name("P,Q");
    command
        ->add_option("--arrival", words->arrivals,
                     "Arrival patterns in units of time (see rollcall bench intergroup_gather --help), separated by commas; may be given "
                     "again (default: balanced)")
        ->type_name("PATTERNS")
        ->one_word_each_time();
    add_seed_option(*command, words->seed, "Seed of the patterns");
    command
        ->add_option("--algorithm", words->algorithms,
                     "Algorithms by name or alias, separated by commas; or all; and auto, which is also measured with --peer")
        ->type_name("NAMES")
        ->capture_default_str();
    command->add_flag("--paper", words->paper,
                      fmt::format("Measure the settings {} of Kang and others (default of --ranks: {})", own_sizes ? "5 to 8" : "1 to 4",
                                  kPaperRanksOfGroups));
    command->add_option("--settings", words->settings, "With --paper: only these settings")->type_name("LIST");
    add_peer_option(*command, words->peers);
    command->footer(fmt::format(R"(
Q. Kang, J. L. Traeff, R. Al-Bahrani, A. Agrawal, A. Choudhary and W. Liao, "Scalable algorithms for MPI intergroup
allgather and allgatherv" (2019). The first ranks are the first group{}.
  run_time        from the first arrival until the last rank has the blocks of the other group; every byte is checked
  improvement     run_time of root_gathering_sequential, which MPI libraries use, divided by this run_time, round by round
  expected        the improvement that equation (5) gives for long blocks between hosts, if all ranks arrive at once
  rollcall_ratio  in the row of an MPI library: run_time of auto, divided by that of the library, round by round
  fastest_ratio   the same for the algorithm above it that was the fastest in these very calls
`rollcall simulate intergroup_allgather --help` explains the settings.)",
                                own_sizes ? ". Blocks have 1, 2, 3, ... units" : ""));
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace
}  // namespace intergroup_allgather_command

void add_intergroup_allgather_commands(usage::Command& bench, int& exit_code) {
    using namespace intergroup_allgather_command;
    for (const bool own_sizes : {false, true}) add_command(bench, own_sizes, exit_code);
}

}  // namespace rollcall::bench
