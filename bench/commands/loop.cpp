#include "bench/commands/loop.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <rollcall/rollcall.hpp>
#include <utility>

#include "bench/cases/lists.hpp"
#include "bench/cases/patterns.hpp"
#include "bench/cases/payload.hpp"
#include "bench/options/seed.hpp"
#include "bench/options/sweep.hpp"
#include "bench/peers/peer_plan.hpp"
#include "bench/plots/plot.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/operands.hpp"
#include "bench/ranks/rounds.hpp"
#include "bench/results/after_error.hpp"
#include "collectives/operations.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace loop_command {
namespace {

constexpr int kDefaultRanks = 8;
constexpr std::uint64_t kWarmup = 3;
constexpr Tag kTag = 5;
constexpr const char *kBothWays = "auto,no", *kAutomatic = "auto";

struct Words : RoundWords {
    Words() {
        iterations = 200;
        rounds = 3;
    }
    std::string operations = "broadcast,gather";
    std::string bytes = "64Ki";
    std::string compute = "uniform:0..10ms";
    std::string how = "sleep";
    std::string seed = kDefaultSeed;
    std::string decouple, algorithms;  ///< Empty: kBothWays and what the settings say, or what a running job has.
    std::vector<std::string> peers;
    std::string plot;
};

struct Plan {
    std::vector<std::string> operations;
    std::vector<std::uint64_t> sizes;
    std::vector<std::string> decouple, algorithms;
    Pattern compute;
    Compute how = Compute::sleep;
    std::uint64_t iterations = 0;
    std::uint64_t first = 0;  ///< The number of the first iteration of this job.
    std::vector<const Peer*> peers;

    std::vector<Nanoseconds> computes(int ranks, std::uint64_t iteration) const { return compute.delays(ranks, 0, iteration, 0); }
};

std::string key(const std::string& operation, std::uint64_t bytes, const char* what) {
    return fmt::format("{} {} {}", operation, bytes, what);
}
constexpr const char *kTime = "time", *kLimit = "limit", *kBackground = "background";

std::uint64_t content_key(runtime::OperationKind kind, std::uint64_t bytes) { return key_of({bytes, static_cast<std::uint64_t>(kind)}); }

/// The work of one rank. As in a program, there is no barrier between iterations.
class Runner {
  public:
    Runner(Job& job, const Plan& plan) : job_(job), world_(job.world()), plan_(plan) { make_sleep_exact(); }

    Samples run() {
        samples_.transport = transport_name(job_);
        for (const std::string& operation : plan_.operations)
            for (const std::uint64_t bytes : plan_.sizes) measure(operation, bytes);
        return std::move(samples_);
    }

  private:
    struct Took {
        Nanoseconds all, computed, background;
    };

    void measure(const std::string& operation, std::uint64_t bytes) {
        const runtime::OperationKind kind = collectives::find_operation(operation)->kind;
        const std::uint64_t size = call_bytes(kind, bytes, job_.size());
        Operands operands(world_, kind, size, 0);
        const std::uint64_t content = content_key(kind, bytes);
        operands.prepare(content);
        // A pattern computes the times of all ranks, which must not count.
        std::vector<Nanoseconds> computes(kWarmup + plan_.iterations);
        for (std::uint64_t i = 0; i < computes.size(); ++i)
            computes[i] = plan_.computes(job_.size(), plan_.first + i)[static_cast<std::size_t>(job_.rank())];
        Took mine{};
        const auto background = [this] { return job_.progress_statistics().background_cpu_time; };
        for (std::uint64_t i = 0; i < computes.size(); ++i) {
            if (i == kWarmup) {
                world_.barrier();
                mine = {-monotonic_now(), 0, -background()};
            }
            mine.computed += computes[i];
            wait_until(monotonic_now() + computes[i], plan_.how);
            operands.call({});
        }
        mine.all += monotonic_now();
        mine.background += background();
        check(operands, content);
        // All calls of the loop have the same data. One more call shows that data moves.
        operands.prepare(key_of({content}));
        operands.call({});
        check(operands, key_of({content}));
        if (job_.rank() != 0) return world_.send(mine, 0, kTag);
        Took longest = mine;
        for (int rank = 1; rank < job_.size(); ++rank) {
            Took its{};
            world_.receive(its, rank, kTag);
            longest.all = std::max(longest.all, its.all);
            longest.computed = std::max(longest.computed, its.computed);
            longest.background = std::max(longest.background, its.background);
        }
        const auto add = [&](const char* what, Nanoseconds time) {
            samples_.values[key(operation, bytes, what)].push_back(seconds_each(static_cast<double>(time), plan_.iterations));
        };
        add(kTime, longest.all);
        add(kLimit, longest.computed);
        add(kBackground, longest.background);
    }

    /// Checks the data of the last call.
    void check(Operands& operands, std::uint64_t content) {
        // What calls have handed over must have arrived before it is checked.
        world_.barrier();
        if (is_spoiler(job_.rank())) operands.spoil();
        if (const auto wrong = operands.find_wrong(content))
            job_.abort(1, fmt::format("{} gave a wrong result: {}", operands.describe("auto"), *wrong));
    }

    Job& job_;
    const Communicator& world_;
    const Plan& plan_;
    Samples samples_;
};

/// `auto`, and the algorithms that each of these operations has. They have the aliases that mean the same in each operation.
std::vector<Choice> algorithms_of_all(const std::vector<std::string>& operations) {
    const auto all_have = [&](std::string_view name, std::string_view word) {
        return std::ranges::all_of(operations, [&](const std::string& operation) {
            return std::ranges::any_of(collectives::find_operation(operation)->algorithms, [&](const collectives::AlgorithmEntry& entry) {
                return entry.name == name && entry.is_called(word) && collectives::kReal.contains(entry.needs);
            });
        });
    };
    std::vector<Choice> common = {{.name = "auto"}};
    for (const collectives::AlgorithmEntry& entry : collectives::find_operation(operations.front())->algorithms) {
        if (!all_have(entry.name, entry.name)) continue;
        common.push_back({.name = std::string(entry.name)});
        for (const std::string_view alias : entry.aliases)
            if (all_have(entry.name, alias)) common.back().aliases.emplace_back(alias);
    }
    return common;
}

Plan plan_of(const Words& words, int ranks) {
    Plan plan;
    std::vector<Choice> operations;
    for (const collectives::OperationRow& row : collectives::operations())
        if (row.moves_data) operations.push_back({.name = std::string(runtime::name(row.kind))});
    plan.operations = parse_names(words.operations, "operation", operations);
    plan.sizes = parse_sizes(words.bytes, "--bytes");
    const Choice modes[] = {{.name = "auto"}, {.name = "no"}};
    plan.decouple = parse_names(words.decouple.empty() ? kBothWays : words.decouple, "way to decouple", modes);
    plan.algorithms =
        parse_names(words.algorithms.empty() ? kAutomatic : words.algorithms, "algorithm", algorithms_of_all(plan.operations));
    plan.compute = Pattern::parse_option("--compute", words.compute, parse_seed(words.seed));
    if (plan.compute.needs_message_time())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--compute {}; allowed: a pattern in units of time, such as uniform:0..10ms", words.compute));
    plan.computes(ranks, 0);  // fails if the pattern does not fit the ranks
    const Choice hows[] = {{.name = "sleep"}, {.name = "spin"}};
    const std::vector<std::string> how = parse_names(words.how, "way to compute", hows);
    if (how.size() != 1) throw Error(ErrorCode::invalid_argument, fmt::format("--wait {}; allowed: sleep or spin", words.how));
    plan.how = how[0] == "spin" ? Compute::spin : Compute::sleep;
    plan.iterations = words.iterations;
    plan.first = words.inherited.first_iteration;
    plan.peers = parse_peers(words.peers);
    if (!plan.peers.empty()) require_short_plan(kWarmup + plan.iterations, ranks, false);
    return plan;
}

/// The same loop on a peer. Returns the samples that a job of Rollcall would leave. `ours` are those of the job before, which had the same
/// iterations.
Samples run_loops_of(const Peer& peer, const Plan& plan, const Start& start, const Samples& ours) {
    const Timeout limit = peer_limit(start, ours.took);
    Samples samples;
    samples.transport = peer_transport(start.cluster.get());
    for (const std::string& operation : plan.operations)
        for (const std::uint64_t bytes : plan.sizes) {
            const runtime::OperationKind kind = collectives::find_operation(operation)->kind;
            std::string text =
                fmt::format("{} 0 {} {} {}\n", operation, plan.how == Compute::sleep ? 1 : 0, kWarmup, kWarmup + plan.iterations);
            std::vector<Nanoseconds> computed(static_cast<std::size_t>(start.ranks));
            for (std::uint64_t i = 0; i < kWarmup + plan.iterations; ++i) {
                const std::vector<Nanoseconds> own = plan.computes(start.ranks, ours.first_iteration + i);
                text += fmt::format("{} {} {}\n", call_bytes(kind, bytes, start.ranks), content_key(kind, bytes), fmt::join(own, " "));
                for (std::size_t rank = 0; rank < own.size() && i >= kWarmup; ++rank) computed[rank] += own[rank];
            }
            const double time = run_peer_plan(peer, start.ranks, text, start.cluster.get(), 1, limit).front();
            const double longest = static_cast<double>(*std::max_element(computed.begin(), computed.end()));
            samples.values[key(operation, bytes, kTime)].push_back(seconds_each(time, plan.iterations));
            samples.values[key(operation, bytes, kLimit)].push_back(seconds_each(longest, plan.iterations));
        }
    return samples;
}

/// Bars for each operation and size: the limit, and the time of each way.
class Bars {
  public:
    /// `transport`: empty if there is only one.
    void add(const Plan& plan, int ranks, const Cell& cell, const std::string& operation, const std::string& transport,
             const Estimate& limit) {
        const std::string title =
            fmt::format("{} of {} with {} ranks, which compute for {}{}", operation, format_bytes(cell.identity.bytes), ranks,
                        plan.compute.describe(), transport.empty() ? "" : ", over " + transport);
        auto chart = std::find_if(charts_.begin(), charts_.end(), [&](const LineChart& one) { return one.title == title; });
        if (chart == charts_.end()) {
            chart = charts_.insert(chart, {.title = title, .x = {"", false, {}}, .y = {"time of an iteration", true, {}}, .series = {}});
            chart->series.push_back({"limit: the longest own compute time", {{0, limit}}});
        }
        chart->series.push_back({cell.identity.algorithm, {{0, cell.metrics.front().value}}});
    }
    Picture picture() const { return {charts_.begin(), charts_.end()}; }

  private:
    std::vector<LineChart> charts_;
};

void print(CellPrinter& printer, Bars& bars, const Plan& plan, int ranks, const std::string& competitor, const std::string& transport,
           const std::vector<Samples>& rounds) {
    for (const std::string& operation : plan.operations)
        for (const std::uint64_t bytes : plan.sizes) {
            const auto times = together(rounds_of(rounds, key(operation, bytes, kTime)));
            const auto limits = together(rounds_of(rounds, key(operation, bytes, kLimit)));
            Cell cell = plain_cell({.operation = "loop",
                                    .algorithm = competitor,
                                    .transport = rounds.front().transport,
                                    .ranks = ranks,
                                    .bytes = bytes,
                                    .pattern = plan.compute.describe(),
                                    .iterations = plan.iterations * times.size()},
                                   times);
            for (Metric& figure : loop_figures(times, limits)) cell.metrics.push_back(std::move(figure));
            // Peers do not tell it.
            if (const std::string background = key(operation, bytes, kBackground); rounds.front().values.contains(background))
                cell.metrics.push_back(metric("background", Unit::seconds, together(rounds_of(rounds, background))));
            cell.notes.emplace_back("calls", operation);
            printer.add(cell);
            bars.add(plan, ranks, cell, operation, transport, metric("limit", Unit::seconds, limits).value);
        }
}

std::string way_name(const std::string& algorithm, const std::string& decouple) {
    return (algorithm == "auto" ? "" : algorithm + ", ") + (decouple == "auto" ? "decoupled" : "coupled");
}

/// The algorithm that the settings name for all of the operations, or the word for several.
std::string algorithm_of_job(const Plan& plan) {
    const Settings settings = Settings::from_environment();
    std::string found;
    for (const std::string& operation : plan.operations) {
        const collectives::OperationRow& row = *collectives::find_operation(operation);
        std::string one = settings.algorithms[static_cast<std::size_t>(row.kind)];
        const auto entry = std::ranges::find_if(row.algorithms, [&](const auto& each) { return each.is_called(one); });
        if (entry != row.algorithms.end()) one = entry->name;  // The job refuses a word that names no algorithm.
        if (!found.empty() && found != one) return "as_set";
        found = one;
    }
    return found;
}

/// The ways of Rollcall that are compared. In a job that is already running: its own.
/// Without --algorithm, jobs follow the settings.
std::vector<Variant> ways_of(const Plan& plan, bool names_algorithms) {
    if (inside_job()) return {{way_name(algorithm_of_job(plan), Settings::from_environment().decouple)}};
    std::vector<Variant> ways;
    for (const std::string& algorithm : names_algorithms ? plan.algorithms : std::vector{algorithm_of_job(plan)})
        for (const std::string& decouple : plan.decouple) {
            ways.push_back({way_name(algorithm, decouple), {"ROLLCALL_DECOUPLE=" + decouple}});
            for (const OperationName& row : kOperationNames)
                if (names_algorithms && std::count(plan.operations.begin(), plan.operations.end(), row.name) > 0)
                    ways.back().environment.push_back(fmt::format("{}={}", row.setting, algorithm));
        }
    return ways;
}

int run(const Words& words) {
    const Start start = checked(words.start, kDefaultRanks, 1);
    const Plan plan = plan_of(words, start.ranks);
    refuse_other_settings(words.inherited, "--decouple", words.decouple, plan.decouple, Settings::from_environment().decouple);
    refuse_other_settings(words.inherited, "--algorithm", words.algorithms, plan.algorithms, algorithm_of_job(plan));
    const std::vector<Variant> ways = ways_of(plan, !words.algorithms.empty());
    if (!plan.peers.empty()) refuse_other_than_peers(parse_transports(words.transports), start.cluster != nullptr);
    require_peers(plan.peers, words.inherited, kCollectiveProgram);
    if (!inside_job()) require_plot(words.plot);

    std::vector<std::vector<Samples>> theirs(plan.peers.size());  // of the present transport
    std::size_t jobs = 0;
    const auto run_peers = [&](const TransportChoice&, const Samples& ours) {
        if (++jobs % ways.size() != 0) return;  // they take their turn after all ways of Rollcall
        for (std::size_t i = 0; i < plan.peers.size(); ++i) theirs[i].push_back(run_loops_of(*plan.peers[i], plan, start, ours));
    };
    Bars bars;
    const bool several_transports = parse_transports(words.transports).size() > 1;
    std::string transport;  // of the present bars; that of peers has another name
    const auto print_way = [&](CellPrinter& printer, const Variant& way, const std::vector<Samples>& rounds) {
        // Bars of different transports are no alternatives.
        if (way.name == ways.front().name && several_transports) transport = rounds.front().transport;
        print(printer, bars, plan, start.ranks, way.name, transport, rounds);
        if (way.name != ways.back().name) return;
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            keep_complete(theirs[i], rounds.size());
            print(printer, bars, plan, start.ranks, plan.peers[i]->name, transport, std::exchange(theirs[i], {}));
        }
    };
    const auto measure = [&](Job& job) {
        // Only rank 0 draws, unless a process waits for its samples. If it refused before it joins, the other ranks would wait.
        if (job.rank() == 0 && samples_path(words.inherited).empty()) check_for_all(job, [&] { require_plot(words.plot); });
        return Runner(job, plan).run();
    };
    const auto draw = [&] {  // also what was measured before a failure
        if (!words.plot.empty() && samples_path(words.inherited).empty() && !bars.picture().empty())
            write_picture(words.plot, bars.picture());
    };
    int code = 0;
    try {
        code = run_rounds(start, words, {.measure = measure, .variants = ways, .after_job = run_peers, .print = print_way});
    } catch (...) {
        after_error(draw);
        throw;
    }
    draw();
    return code;
}

}  // namespace
}  // namespace loop_command

void add_loop_command(usage::Command& bench, int& exit_code) {
    using namespace loop_command;
    usage::Command* const command = bench.add_subcommand("loop", "Measure how much time an iterative program loses to late ranks");
    const auto words = std::make_shared<Words>();
    add_round_options(*command, *words, loop_command::kDefaultRanks, "Iterations of the loop");
    add_count_option(*command, "--rounds", words->rounds,
                     "Jobs that are started for each value of --decouple, in turn (a job that is already running is the only one)");
    command->add_option("--operation", words->operations, "Operations that move data, separated by commas, or all")
        ->type_name("NAMES")
        ->capture_default_str();
    add_sizes_option(*command, "--bytes", words->bytes, "Sizes of the message, or of the vector of all blocks");
    command
        ->add_option("--compute", words->compute,
                     "How long each rank computes in each iteration: a pattern, as in --arrival of `rollcall bench broadcast`")
        ->type_name("PATTERN")
        ->capture_default_str();
    add_seed_option(*command, words->seed, "Seed of the pattern");
    command->add_option("--wait", words->how, "sleep: the ranks sleep instead of computing; spin: they occupy their cores")
        ->type_name("sleep|spin")
        ->capture_default_str();
    command->add_option("--by", words->how)->group("");  // an earlier name
    command
        ->add_option("--algorithm", words->algorithms,
                     "Algorithms that all of the operations have, separated by commas; each is a job in each round")
        ->type_name("NAMES")
        ->default_str("what ROLLCALL_BROADCAST and so on say");
    command->add_option("--decouple", words->decouple, "Values of ROLLCALL_DECOUPLE, separated by commas; each is a job in each round")
        ->type_name("auto|no,...")
        ->default_str(kBothWays);
    add_peer_option(*command, words->peers);
    command->add_option("--plot", words->plot, "Draw bars into this file, which ends in .svg, .png or .pdf (needs gnuplot)")
        ->type_name("FILE");
    command->footer(R"(
Each rank computes, then calls the operation, then goes on. There is no barrier.
  run_time    the time of an iteration, until the last rank is done
  limit       the longest compute time of any rank; no library can be faster
  lost        run_time - limit
  ratio       run_time / limit
  background  the processor time of a background thread in an iteration, the longest of all ranks
If all ranks are on one node, data goes through node memory with both values of --decouple. --cluster 8 puts each rank
on a host of its own. --env ROLLCALL_NODE_MEMORY=no uses messages instead of node memory.
With --peer, MPI libraries run the same loop in each round.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
