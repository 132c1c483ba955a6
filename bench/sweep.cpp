#include "bench/sweep.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <numeric>
#include <system_error>

#include <rollcall/error.hpp>

#include "bench/lists.hpp"
#include "bench/payload.hpp"
#include "bench/plot.hpp"
#include "collectives/catalogue.hpp"
#include "runtime/settings/quote.hpp"
#include "runtime/settings/settings.hpp"

namespace rollcall::bench {
namespace {

constexpr std::uint64_t kMostIterations = 1'000'000;

std::vector<Choice> choices(Ranks ranks) {
    std::vector<Choice> all;
    for (const auto& entry : collectives::catalogue()) {
        if (entry.operation != runtime::OperationKind::broadcast) continue;
        if (entry.simulated_only && ranks == Ranks::real) continue;
        all.push_back({std::string(entry.name), {entry.aliases.begin(), entry.aliases.end()}});
    }
    all.push_back({.name = "auto", .in_all = false});
    return all;
}

/// Before a long run, not after it. Nothing is created.
void require_writable(const char* option, const std::filesystem::path& path) {
    const bool exists = std::filesystem::exists(path);
    const auto directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    if (::access(exists ? path.c_str() : directory.c_str(), W_OK) == 0 && !std::filesystem::is_directory(path)) return;
    const int reason = std::filesystem::is_directory(path) ? EISDIR : errno;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {} cannot be written: {}", option, runtime::quote(path.string()), std::generic_category().message(reason)));
}

}  // namespace

void add_sweep_options(CLI::App& command, SweepWords& words, Ranks ranks) {
    command.add_option("--bytes", words.bytes, "Sizes of the message, separated by commas")->type_name("SIZES")->capture_default_str();
    command
        .add_option("--arrival", words.arrivals, "Arrival patterns, separated by commas; may be given again (see below; default balanced)")
        ->type_name("PATTERNS")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command
        .add_option("--algorithm", words.algorithms,
                    "Algorithms by name or alias (rollcall info --algorithms), separated by commas; all; auto")
        ->type_name("NAMES")
        ->capture_default_str();
    command.add_option("--root", words.root, "The rank that has the message")->type_name("R")->capture_default_str();
    command.add_option("--iterations", words.iterations, "Calls that are measured, for each cell")->type_name("N");
    command.add_option("--seed", words.seed, "Of the patterns and of the order of the calls")->type_name("S")->capture_default_str();
    command
        .add_option("--segment", words.segment,
                    "Piece of algorithms that pass pieces on; 0: whole (default: ROLLCALL_SEGMENT_BYTES; binomial: whole)")
        ->type_name("BYTES");
    output::add_format_option(command, words.format);
    command
        .add_option("--plot", words.plot,
                    "Draw into this SVG file: time against imbalance for the largest size, and one call (needs gnuplot)")
        ->type_name("FILE");
    command.add_option("--raw", words.raw, "Write what every rank did in every call to this csv file")->type_name("FILE");
    command.add_flag("--explain", words.explain, "Say what `auto` chooses for each size, and why");
    command.footer("\nArrival patterns:\n" + pattern_help() +
                   (ranks == Ranks::real ? R"(
Each call: a barrier, then a common start that rank 0 announces, then each rank waits for its delay and calls. All
algorithms and patterns of a size are interleaved in random order, anew for each iteration; every byte received is
checked. The common start is a time of CLOCK_MONOTONIC, which the ranks of one host share.

Columns: run_time is latest exit - earliest arrival; elapsed is exit - arrival of a rank; last_delay is latest exit -
latest arrival; spread is latest - earliest arrival, and imbalance_factor the same in message times T (measured point
to point); pattern_error is the largest distance of an arrival from what the pattern asked for; competitive_ratio is
mean elapsed time over the paper's lower bound (it may be below 1: data that moves before a rank arrives costs it no
time). Medians; behind ± the larger half of the 95 % interval. csv and json: seconds.)"
                                         : ""));
}

std::vector<Pattern> parse_patterns(const std::string& text, std::uint64_t seed) {
    constexpr std::string_view kFile = "file:";
    std::vector<Pattern> patterns;
    for (std::size_t begin = 0; begin <= text.size();) {
        const bool is_file = std::string_view(text).substr(begin).starts_with(kFile);
        const std::size_t end = is_file ? text.size() : std::min(text.find(',', begin), text.size());
        patterns.push_back(Pattern::parse(std::string_view(text).substr(begin, end - begin), seed));
        begin = end + 1;
    }
    return patterns;
}

Sweep checked(const SweepWords& words, int ranks, Ranks kind) {
    Sweep sweep;
    sweep.ranks = ranks;
    sweep.sizes = parse_sizes(words.bytes);
    sweep.seed = parse_count(words.seed, "--seed", 0, std::numeric_limits<std::uint64_t>::max());
    for (const std::string& text : words.arrivals)
        for (Pattern& pattern : parse_patterns(text, sweep.seed)) sweep.patterns.push_back(std::move(pattern));
    if (sweep.patterns.empty()) sweep.patterns.emplace_back();
    sweep.algorithms = parse_names(words.algorithms, "algorithm", choices(kind));
    sweep.root = static_cast<int>(parse_count(words.root, "--root", 0, static_cast<std::uint64_t>(ranks) - 1));
    if (!words.iterations.empty()) sweep.iterations = parse_count(words.iterations, "--iterations", 1, kMostIterations);
    if (!words.segment.empty()) {
        const auto sizes = parse_sizes(words.segment);
        if (sizes.size() != 1)
            throw Error(ErrorCode::invalid_argument, fmt::format("--segment '{}'; allowed: one size, such as 128Ki, or 0", words.segment));
        sweep.segment_bytes = sizes.front();
    }
    sweep.plot = words.plot;
    sweep.raw = words.raw;
    sweep.explain = words.explain;
    sweep.format = words.format;
    for (const Pattern& pattern : sweep.patterns) pattern.delays(ranks, sweep.root, 0, 0);
    if (!sweep.raw.empty()) require_writable("--raw", sweep.raw);
    if (!sweep.plot.empty()) require_writable("--plot", sweep.plot);
    if (!sweep.plot.empty()) require_gnuplot();
    return sweep;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t iteration) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t left = count; left > 1; --left)  // Fisher and Yates
        std::swap(order[left - 1], order[key_of({seed, iteration, left}) % left]);
    return order;
}

}  // namespace rollcall::bench
