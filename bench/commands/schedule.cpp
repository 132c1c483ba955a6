#include "bench/commands/schedule.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <random>

#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "bench/options/seed.hpp"
#include "bench/ranks/rounds.hpp"
#include "bench/results/figures.hpp"
#include "bench/results/progress_line.hpp"
#include "collectives/schedules/clairvoyant.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace schedule_command {
namespace {

using collectives::ReductionPlan;
using collectives::Schedule;
using collectives::SearchKind;

constexpr std::uint64_t kDefaultIterations = 250;  // The paper's.
constexpr std::uint64_t kMostProcesses = 100'000, kMostSegments = 100'000;
/// Limit of processes times segments. Pairing heaps need 49 bytes for each of them.
constexpr std::uint64_t kMostCells = std::uint64_t{1} << 26;
constexpr const char *kUniform = "uniform", *kSkewed = "skewed";

struct Words {
    std::string ranks = "32,64,128,256,512", patterns = "uniform,skewed", searches = "all", seed = kDefaultSeed;
    std::optional<std::string> segments;
    std::uint64_t iterations = kDefaultIterations;
    output::Format format = output::Format::text;
};

struct Plan {
    std::vector<std::uint64_t> ranks;
    std::optional<int> segments;
    std::vector<std::string> patterns;
    std::vector<SearchKind> searches;
    std::uint64_t iterations, seed;
};

std::vector<Choice> search_choices() {
    std::vector<Choice> choices;
    for (const SearchKind kind : collectives::kSearchKinds) choices.push_back({.name = std::string(name(kind))});
    return choices;
}

Plan plan_of(const Words& words) {
    Plan plan{.ranks = parse_counts(words.ranks, "--ranks", 1, kMostProcesses),
              .segments = {},
              .patterns = parse_names(words.patterns, "pattern", std::vector<Choice>{{.name = kUniform}, {.name = kSkewed}}),
              .searches = {},
              .iterations = words.iterations,
              .seed = parse_seed(words.seed)};
    if (words.segments) plan.segments = static_cast<int>(parse_count(*words.segments, "--segments", 1, kMostSegments));
    for (const std::uint64_t ranks : plan.ranks)
        if (const std::uint64_t segments = plan.segments ? static_cast<std::uint64_t>(*plan.segments) : ranks;
            ranks * segments > kMostCells)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} ranks with {} segments; allowed: up to {} of both, multiplied", ranks, segments, kMostCells));
    for (const std::string& chosen : parse_names(words.searches, "search", search_choices()))
        for (const SearchKind kind : collectives::kSearchKinds)
            if (name(kind) == chosen) plan.searches.push_back(kind);
    return plan;
}

// Section 5.7 of the paper. The unit of its times corresponds to one second here.
ReductionPlan random_reduction(const std::string& pattern, int P, int N, std::uint64_t seed, std::uint64_t iteration) {
    constexpr double second = 1e9;
    std::seed_seq seeds{seed, seed >> 32, iteration, static_cast<std::uint64_t>(P), static_cast<std::uint64_t>(N)};  // 32 bits of each.
    std::mt19937_64 random(seeds);
    const auto between = [&](double low, double high) {
        return static_cast<Nanoseconds>(second * std::uniform_real_distribution<double>(low, high)(random));
    };
    ReductionPlan reduction{.arrivals = {}, .segments = N, .root = 0, .round_time = between(0.001, 1)};
    reduction.arrivals.assign(static_cast<std::size_t>(P), 0);
    if (pattern == kSkewed) {
        reduction.arrivals.back() = static_cast<Nanoseconds>(N * second);
    } else {
        for (Nanoseconds& arrival : reduction.arrivals) arrival = between(0, P + 0.1);
        reduction.root = static_cast<int>(random() % static_cast<std::uint64_t>(P));
    }
    return reduction;
}

// The processor time of this thread. Other programs do not influence it.
Nanoseconds processor_time() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return Nanoseconds{1'000'000'000} * now.tv_sec + now.tv_nsec;
}

// All searches get the same reductions, in turn, and must return the same schedules.
std::vector<ScheduleSamples> measure(const Plan& plan, const std::string& pattern, int P, int N, const std::function<void()>& before_each) {
    std::vector<ScheduleSamples> measured(plan.searches.size());
    for (std::uint64_t iteration = 0; iteration < plan.iterations; ++iteration) {
        const ReductionPlan reduction = random_reduction(pattern, P, N, plan.seed, iteration);
        std::optional<Schedule> first;
        for (std::size_t k = 0; k < plan.searches.size(); ++k) {
            before_each();
            const std::size_t which = (k + iteration) % plan.searches.size();
            const Nanoseconds begin = processor_time();
            const auto search = collectives::make_search(plan.searches[which], P, N);
            Schedule schedule = clairvoyant(reduction, *search);
            const Nanoseconds end = processor_time();
            ScheduleSamples& of = measured[which];
            of.seconds.push_back(seconds_each(static_cast<double>(end - begin), 1));
            of.transfers.push_back(static_cast<double>(schedule.transfers.size()));
            of.rounds.push_back(static_cast<double>(schedule.rounds - schedule.idle_rounds));
            of.memory = search->bytes();
            if (!first)
                first = std::move(schedule);
            else if (schedule.transfers != first->transfers)
                throw Error(ErrorCode::state,
                            fmt::format("the searches gave different schedules: {}, {} ranks, {} segments, seed {}, iteration {}; "
                                        "this is an error in Rollcall, please report it",
                                        pattern, P, N, plan.seed, iteration));
        }
    }
    return measured;
}

void run(const Words& words) {
    const Plan plan = plan_of(words);
    CellPrinter printer(std::cout, words.format);
    ProgressLine progress(plan.ranks.size() * plan.patterns.size() * plan.searches.size() * plan.iterations);
    std::size_t done = 0;
    for (const std::string& pattern : plan.patterns) {
        for (const std::uint64_t ranks : plan.ranks) {
            const int P = static_cast<int>(ranks);
            const int N = plan.segments.value_or(P);
            const auto measured =
                measure(plan, pattern, P, N, [&] { progress.update(done++, fmt::format("{} ranks, {} segments, {}", P, N, pattern)); });
            progress.erase();
            const auto tree = std::find(plan.searches.begin(), plan.searches.end(), SearchKind::segment_tree);
            const ScheduleSamples* const of_tree =
                tree == plan.searches.end() ? nullptr : &measured[static_cast<std::size_t>(tree - plan.searches.begin())];
            for (std::size_t k = 0; k < measured.size(); ++k) {
                const ScheduleSamples& of = measured[k];
                Cell cell = plain_cell({.operation = "schedule",
                                        .algorithm = std::string(name(plan.searches[k])),
                                        .transport = "none",
                                        .ranks = P,
                                        .pattern = pattern},
                                       of.seconds);
                for (Metric& figure : schedule_figures(of, of_tree)) cell.metrics.push_back(std::move(figure));
                cell.notes = {{"segments", std::to_string(N)}};
                printer.add(cell);
            }
        }
    }
    printer.finish();
}

}  // namespace
}  // namespace schedule_command

void add_schedule_command(usage::Command& bench) {
    using namespace schedule_command;
    usage::Command* const command =
        bench.add_subcommand("schedule", "Measure how long it takes to compute schedules of the Clairvoyant reduce; starts no ranks");
    const auto words = std::make_shared<Words>();
    command->add_option("-n,--ranks", words->ranks, fmt::format("Numbers of processes in a schedule, {}", kCountList))
        ->type_name("LIST")
        ->capture_default_str();
    command->add_option("--segments", words->segments, "Segments of the data (default: as many as processes)")->type_name("N");
    command->add_option("--pattern", words->patterns, "When processes arrive (see below)")
        ->type_name("uniform|skewed|all,...")
        ->capture_default_str();
    command->add_option("--search", words->searches, "How a schedule finds peers")
        ->type_name("linear|pairing_heap|segment_tree|all,...")
        ->capture_default_str();
    add_count_option(*command, "--iterations", words->iterations, "Reductions in each cell, each with a new pattern");
    add_seed_option(*command, words->seed, "Seed of the patterns");
    output::add_format_option(*command, words->format);
    command->footer(R"(
This is the test of Proficz and Ocetkiewicz, "Improving Clairvoyant" (2020), section 5.7.
  uniform  P processes arrive at random times within P + 0.1 time units; the root is random
  skewed   all processes arrive at the same time, except the last one, which is N units late, for N segments
A round takes 0.001 to 1 units. All searches get the same reductions in turn. It is an error if their schedules differ.

Times are processor times. run_time is the median, mean_time the mean, and over_segment_tree the mean of a search divided
by that of segment_tree. csv and json also have the mean numbers of transfers and of rounds in which something happens,
and memory_bytes, all the memory that a search needs. With all defaults this takes hours, nearly
all of them for linear and pairing_heap at 256 and 512 processes; --iterations 5 takes minutes.)");
    command->callback([words] { run(*words); });
}

}  // namespace rollcall::bench
