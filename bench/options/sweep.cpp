#include "bench/options/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <span>

#include <rollcall/error.hpp>

#include "bench/cases/intergroup_cases.hpp"
#include "bench/cases/lists.hpp"
#include "bench/cases/payload.hpp"
#include "bench/plots/plot.hpp"
#include "bench/ranks/start.hpp"
#include "collectives/catalogue.hpp"
#include "foundation/error_text.hpp"
#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

constexpr std::uint64_t kMostIterations = 1'000'000;

using runtime::OperationKind;

std::vector<Choice> choices(OperationKind operation, Ranks ranks, bool own_sizes) {
    std::vector<Choice> all;
    collectives::Conditions has = ranks == Ranks::real ? collectives::kReal : kSimulated;
    if (own_sizes) has = has.without(collectives::Condition::equal_blocks);
    for (const auto& entry : collectives::operation(operation).algorithms)
        if (has.contains(entry.needs)) all.push_back({std::string(entry.name), {entry.aliases.begin(), entry.aliases.end()}});
    all.push_back({.name = "auto", .in_all = false});
    return all;
}

/// The default of --bytes.
const char* default_sizes(OperationKind operation, Ranks ranks) {
    if (runtime::is_between_groups(operation)) return "64,1Ki,16Ki";
    return ranks == Ranks::real ? "8,64Ki,8Mi" : "8Mi";
}

std::string comma_separated(const std::vector<std::string>& entries) { return fmt::format("{}", fmt::join(entries, ",")); }

/// Returns the names of the tables and figures for this operation.
std::string paper_names(OperationKind operation) {
    std::vector<std::string> names;
    for (const PaperTable& table : paper_tables())
        if (table.operation == operation) names.emplace_back(table.name);
    for (const PaperFigure& figure : paper_figures())
        if (figure.operation == operation) names.emplace_back(figure.name);
    return comma_separated(names);
}

double parse_scale(const std::string& text) {
    const auto scale = number_of_text<double>(text);
    if (!scale || !(*scale > 0 && *scale <= 1))
        throw Error(ErrorCode::invalid_argument, fmt::format("--scale {}; allowed: a number above 0, up to 1", quote(text)));
    return *scale;
}

/// Takes the sizes, patterns and algorithms of the table or figure. If the user asked for some of its sizes or delays, takes only those.
void use_paper(Sweep& sweep, const SweepWords& words) {
    const PaperFigure* figure = nullptr;
    for (const PaperTable& table : paper_tables())
        if (table.operation == sweep.operation && table.name == *words.paper) sweep.paper = &table;
    for (const PaperFigure& one : paper_figures())
        if (one.operation == sweep.operation && one.name == *words.paper) figure = &one;
    if (!sweep.paper && !figure)
        throw Error(ErrorCode::invalid_argument, fmt::format("--paper {}; allowed: {}", quote(*words.paper), paper_names(sweep.operation)));
    sweep.as_in_paper = true;
    if (!words.arrivals.empty() || words.algorithms)
        throw Error(ErrorCode::invalid_argument, fmt::format("--paper with --arrival or --algorithm; allowed: --bytes and --delays, out of "
                                                             "the {}'s",
                                                             figure ? "figure" : "table"));
    const double scale = words.scale ? parse_scale(*words.scale) : 1;
    const std::span<const std::uint64_t> sizes = figure ? std::span<const std::uint64_t>(PaperFigure::kSizes) : PaperTable::kSizes;
    std::vector<std::string> rows;
    for (const std::uint64_t size : sizes) rows.push_back(format_bytes(size));
    sweep.sizes = parse_sizes(words.bytes.value_or(comma_separated(rows)), "--bytes");
    for (std::uint64_t& size : sweep.sizes) {
        if (std::find(sizes.begin(), sizes.end(), size) == sizes.end())
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--bytes {} with --paper; allowed: {}", format_bytes(size), comma_separated(rows)));
        size = scaled_bytes(size, scale);
    }
    std::vector<Choice> columns;
    for (const Nanoseconds delay : figure ? figure->delays : std::span<const Nanoseconds>(PaperTable::kDelays))
        columns.push_back({.name = fmt::format("{}ms", delay / 1'000'000), .aliases = {std::to_string(delay / 1'000'000)}});
    for (const std::string& name : parse_names(words.delays.value_or("all"), "delay", columns))
        sweep.patterns.push_back(Pattern::parse(paper_pattern(scaled_time(parse_duration(name), scale)), sweep.seed));
    if (scale < 1 && !words.phases.compute) {
        sweep.phases->compute = scaled_time(sweep.phases->compute, scale);
        sweep.phases->compute_text = format_duration(static_cast<double>(sweep.phases->compute) / 1e9);
    }
    if (figure)
        sweep.algorithms.assign(figure->algorithms.begin(), figure->algorithms.end());
    else
        sweep.algorithms = {std::string(sweep.paper->base), std::string(sweep.paper->algorithm)};
}

/// Called before a long run, so that it does not fail after it. Creates nothing.
void require_writable(const char* option, const std::filesystem::path& path) {
    std::error_code ignored;  // access() gives the reason
    const auto status = std::filesystem::status(path, ignored);
    const auto directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const bool is_writable = ::access(std::filesystem::exists(status) ? path.c_str() : directory.c_str(), W_OK) == 0;
    const int reason = std::filesystem::is_directory(status) ? EISDIR : is_writable ? 0 : errno;
    if (reason == 0) return;
    throw Error(ErrorCode::invalid_argument, fmt::format("{} {} cannot be written: {}", option, quote(path.string()), error_text(reason)));
}

constexpr const char* kRealFooter = R"(
For each call there is a barrier, then a common start that rank 0 announces. Then each rank waits for its delay and
calls. All algorithms and patterns of a size are interleaved in a random order, which is new in each iteration. Every
byte received is checked. The common start is a time of CLOCK_MONOTONIC, which the ranks of one host share. On several
hosts it is job time: clocks are synchronised before and after each size, and their drift is spread evenly in between.

Columns:
  run_time            latest exit - earliest arrival
  mean_elapsed        exit - arrival, mean of the ranks
  worst_elapsed       exit - arrival, largest of the ranks
  last_delay          latest exit - latest arrival
  elapsed             the mean of mean_elapsed over all calls
  over_first          mean_elapsed / that of the first algorithm, in pairs of calls with the same delays
  elapsed_over_first  elapsed / that of the first algorithm, over the same pairs of calls
  spread              latest arrival - earliest arrival
  imbalance_factor    spread / message time T (between the root and one rank, on another host if there is one)
  pattern_error       the largest difference between an arrival and what the pattern asked for
Except for the means, these are medians over all calls. Behind them stands the larger half of the 95 % interval in
percent, or the ends of the interval in brackets. Text omits columns that do not fit the screen; csv and json (in
seconds) have all.)";

constexpr const char* kBroadcastFooter = R"(
performance_ratio is the mean elapsed time divided by the lower bound of Patarasuk and Yuan ("Efficient MPI_Bcast across
different process arrival patterns", Lemma 2), PERF(r, PAP) there. It may be below 1, because data that moves before a rank
arrives costs that rank no time. competitive_ratio is the largest performance_ratio of the patterns that were measured.)";

constexpr const char* kBlocksFooter = R"(
T is the time of a message of one block.)";

constexpr const char* kGroupsFooter = R"(

The first ranks are the first group, and the other ranks are the second one. The root may be in either group. The other
ranks of its group take no part in the operation, but all columns count them, too.)";

constexpr const char* kPhasesFooter = R"(

With --compute C each call is planned (Proficz 2020, fig. 13): the plan begins, the rank computes for C + x/2, announces
that half of its phase is over, computes as long again, and calls. x is its delay, so it arrives 2 C + x after the common
start. prediction_error is the median of |predicted - real arrival| over the calls that had a prediction.
unpredicted_calls is the number of calls that had none. With root_late:100ms and --compute 0, only the root computes, for
100 ms, and last_delay is what the call still takes after that.)";

constexpr const char* kFigureFooter = R"(

--paper fig10 compares algorithms with delays of up to 0, 1, 5, 10, 50, 100 and 500 ms, and fig11 with up to 500 ms, for
several --ranks. The figures show the run time. Their values are not printed in the paper.)";

constexpr const char* kPaperFooter = R"(

--paper compares the two algorithms of the table, by calls with the same delays. It prints difference = run_time -
base_run_time and quotient = base_run_time / run_time, with the paper's numbers beside them.)";

const char* root_help(const collectives::OperationRow& row) {
    if (!row.has_root) return "The rank that patterns such as root_late take for the root";
    const auto is_result = [](const collectives::Operand& operand) { return operand.writes == collectives::RankSet::root; };
    return row.any_operand(is_result) ? "The rank that gets the result" : "The rank that has the data";
}

}  // namespace

bool has_paper(OperationKind operation) { return !paper_names(operation).empty(); }

bool has_figures(OperationKind operation) {
    return std::any_of(paper_figures().begin(), paper_figures().end(),
                       [&](const PaperFigure& figure) { return figure.operation == operation; });
}

void add_sweep_options(usage::Command& command, SweepWords& words, OperationKind operation, Ranks ranks) {
    const collectives::OperationRow& row = collectives::operation(operation);
    const bool blocks = row.in_blocks, combines = row.combines, between = runtime::is_between_groups(operation),
               paper = has_paper(operation) && !words.sizes;
    command
        .add_option("--bytes", words.bytes,
                    fmt::format("{}, {}{}",
                                between && words.sizes ? "Approximate mean sizes of a block"
                                : between && blocks    ? "Sizes of a block"
                                : words.sizes          ? "Approximate sizes of all blocks together"
                                : blocks               ? "Sizes of the whole vector"
                                : combines             ? "Bytes that each rank brings"
                                                       : "Sizes of the message",
                                kSizeList,
                                blocks && !between && !words.sizes
                                    ? ". The block of a rank is size / ranks, rounded down to whole elements of 4 bytes"
                                    : ""))
        ->type_name("SIZES")
        ->default_str(default_sizes(operation, ranks));
    if (between)
        command.add_option("--groups", words.groups, "The sizes of the two groups (default: half of the ranks each)")->type_name("P,Q");
    command
        .add_option("--arrival", words.arrivals,
                    "Arrival patterns (see below), separated by commas; may be given again (default: balanced)")
        ->type_name("PATTERNS")
        ->one_word_each_time();
    command
        .add_option("--algorithm", words.algorithms,
                    "Algorithms by name or alias (rollcall info --algorithms), separated by commas; or all, or auto")
        ->type_name("NAMES")
        ->default_str("all");
    if (words.sizes)
        command
            .add_option("--sizes", words.sizes,
                        "Distributions of the sizes of blocks, separated by commas, or all (see rollcall simulate tree --help)")
            ->type_name("NAMES")
            ->capture_default_str();
    add_phase_options(command, words.phases);
    if (paper) {
        command
            .add_option(
                "--paper", words.paper,
                has_figures(operation)
                    ? fmt::format("Measure under the conditions of this figure of Proficz, Ocetkiewicz 2020: {}", paper_names(operation))
                    : fmt::format("Measure what is in this table of Proficz 2020, and print the paper's numbers beside it: {}",
                                  paper_names(operation)))
            ->type_name(has_figures(operation) ? "FIGURE" : "TABLE");
        if (has_figures(operation))
            command
                .add_option("--scale", words.scale,
                            "With --paper: the factor for the figure's sizes, delays and compute time; 0.05 takes a twentieth of the time")
                ->type_name("FACTOR");
        command.add_option("--delays", words.delays, "With --paper: only these largest delays (50ms), separated by commas")
            ->type_name("TIMES");
    }
    command.add_option("--root", words.root, root_help(collectives::operation(operation)))->type_name("R")->capture_default_str();
    command.add_option("--iterations", words.iterations, "Measured calls in each cell")->type_name("N");
    add_seed_option(command, words.seed, "Seed of the patterns and of the order of the calls");
    // Calls between two groups have no such option.
    if (!between)
        command
            .add_option("--segment", words.segment,
                        fmt::format("Size of a piece, in algorithms that pass pieces on; 0: the whole (default: {}; binomial: the whole)",
                                    ranks == Ranks::real ? "ROLLCALL_SEGMENT_BYTES" : format_bytes(Settings().segment_bytes)))
            ->type_name("BYTES");
    output::add_format_option(command, words.format);
    command
        .add_option(
            "--plot", words.plot,
            "Draw into this file (.svg, .png or .pdf): time against imbalance, size and ranks, or bars, and one call of each algorithm "
            "that --algorithm names, or of the four fastest; needs gnuplot")
        ->type_name("FILE");
    command.add_option("--raw", words.raw, "Write what every rank did in every call to this csv file")->type_name("FILE");
    if (!between) command.add_flag("--explain", words.explain, "Say what `auto` chooses for each size, and why");
    command.footer("\nArrival patterns:\n" + pattern_help() + (ranks == Ranks::real ? kRealFooter : "") + (blocks ? kBlocksFooter : "") +
                   (between ? kGroupsFooter : "") + (operation == OperationKind::broadcast ? kBroadcastFooter : "") + kPhasesFooter +
                   (!paper                   ? ""
                    : has_figures(operation) ? kFigureFooter
                                             : kPaperFooter));
}

std::vector<Pattern> parse_patterns(const std::string& text, std::uint64_t seed) {
    constexpr std::string_view kFile = "file:";
    std::vector<Pattern> patterns;
    for (std::size_t begin = 0; begin <= text.size();) {
        const bool is_file = std::string_view(text).substr(begin).starts_with(kFile);
        const std::size_t end = is_file ? text.size() : std::min(text.find(',', begin), text.size());
        patterns.push_back(Pattern::parse_option("--arrival", std::string_view(text).substr(begin, end - begin), seed));
        begin = end + 1;
    }
    return patterns;
}

namespace {

/// These algorithms are there, but not in a simulation. So the user is told why they are refused.
void refuse_shared_memory(std::string_view names, OperationKind operation) {
    using enum collectives::Condition;
    for (const std::string_view name : entries(names))
        for (const auto& entry : collectives::operation(operation).algorithms)
            if (entry.is_called(name) && (entry.needs.contains(node_memory) || entry.needs.contains(several_nodes)))
                throw Error(ErrorCode::invalid_argument,
                            fmt::format("{} algorithm '{}' shares the memory of a node, and simulated ranks have a node each; allowed: {}",
                                        runtime::name(operation), name,
                                        fmt::join(collectives::algorithm_names(collectives::operation(operation), kSimulated), ", ")));
}

/// A cell is found by what identifies it, so a pattern that is written in two ways is measured once.
void add_pattern(std::vector<Pattern>& patterns, Pattern added) {
    const std::string text = added.describe();
    const auto is_same = [&](const Pattern& other) { return other.describe() == text; };
    if (std::ranges::none_of(patterns, is_same)) patterns.push_back(std::move(added));
}

}  // namespace

Sweep checked(const SweepWords& words, OperationKind operation, int ranks, Ranks kind) {
    Sweep sweep;
    sweep.operation = operation;
    sweep.ranks = ranks;
    if (runtime::is_between_groups(operation)) sweep.in_first = static_cast<int>(groups_of(words.groups, ranks).front());
    sweep.seed = parse_seed(words.seed);
    sweep.phases = checked(words.phases, words.paper ? kPaperCompute : kNoCompute);
    if (words.paper) {
        use_paper(sweep, words);
    } else {
        if (words.scale) throw Error(ErrorCode::invalid_argument, "--scale without --paper; allowed: --bytes and --arrival");
        if (words.delays) throw Error(ErrorCode::invalid_argument, "--delays without --paper; allowed: --arrival uniform:0..T");
        sweep.sizes = parse_sizes(words.bytes.value_or(default_sizes(operation, kind)), "--bytes");
        for (const std::string& text : words.arrivals)
            for (Pattern& pattern : parse_patterns(text, sweep.seed)) add_pattern(sweep.patterns, std::move(pattern));
        if (sweep.patterns.empty()) sweep.patterns.emplace_back();
        const std::string names = words.algorithms.value_or("all");
        const auto allowed = choices(operation, kind, words.sizes.has_value());
        if (kind == Ranks::simulated) refuse_shared_memory(names, operation);
        sweep.algorithms = parse_names(names, "algorithm", allowed);
        for (const std::string_view entry : entries(names))
            if (entry != "all") sweep.named.push_back(parse_names(entry, "algorithm", allowed).front());
        if (words.sizes) sweep.distributions = parse_distributions(*words.sizes);
        for (const SizeDistribution distribution : sweep.distributions)
            for (const std::uint64_t bytes : sweep.sizes)
                require_sizes(distribution, sweep.in_first > 0 ? bytes : mean_block(ranks, bytes));
    }
    sweep.root = static_cast<int>(parse_count(words.root, "--root", 0, static_cast<std::uint64_t>(ranks) - 1));
    if (!words.iterations.empty()) sweep.iterations = parse_count(words.iterations, "--iterations", 1, kMostIterations);
    if (!words.segment.empty()) {
        const auto sizes = parse_sizes(words.segment, "--segment");
        if (sizes.size() != 1)
            throw Error(ErrorCode::invalid_argument, fmt::format("--segment '{}'; allowed: one size, such as 128Ki, or 0", words.segment));
        sweep.segment_bytes = sizes.front();
    }
    sweep.plot = words.plot;
    sweep.raw = words.raw;
    sweep.explain = words.explain;
    sweep.format = words.format;
    for (const Pattern& pattern : sweep.patterns) pattern.delays(ranks, sweep.root, 0, 0);
    if (kind == Ranks::simulated || !inside_job()) require_files(sweep);
    return sweep;
}

void require_files(const Sweep& sweep) {
    if (!sweep.raw.empty()) require_writable("--raw", sweep.raw);
    require_plot(sweep.plot);
}

void require_plot(const std::filesystem::path& path) {
    if (path.empty()) return;
    require_writable("--plot", path);
    picture_type(path);
    require_gnuplot();
}

std::vector<SizeDistribution> parse_distributions(std::string_view text) {
    std::vector<Choice> all;
    for (const SizeDistribution each : kSizeDistributions) all.push_back({.name = std::string(name(each))});
    std::vector<SizeDistribution> found;
    for (const std::string& chosen : parse_names(text, "distribution of sizes", all))
        for (const SizeDistribution each : kSizeDistributions)
            if (name(each) == chosen) found.push_back(each);
    return found;
}

void require_sizes(SizeDistribution distribution, std::uint64_t mean) {
    if (mean <= largest_mean(distribution)) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("blocks of {} in the mean, in the distribution {}; allowed: up to {}, because its random numbers have 31 bits",
                            format_bytes(mean), name(distribution), format_bytes(largest_mean(distribution))));
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t iteration) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = count; left > 1; --left)  // Fisher and Yates
        std::swap(order[left - 1], order[key_of({seed, iteration, left}) % left]);
    return order;
}

}  // namespace rollcall::bench
