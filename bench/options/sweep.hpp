/// \file
/// The sweep of a benchmark of a collective operation. The options are the same for real and for simulated ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/block_sizes.hpp"
#include "bench/cases/paper.hpp"
#include "bench/cases/patterns.hpp"
#include "bench/cases/phases.hpp"
#include "bench/options/seed.hpp"
#include "collectives/operations.hpp"
#include "support/output.hpp"

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

enum class Ranks { real, simulated };

/// The options as the user gave them. checked() checks them, so that its messages can say what is allowed.
struct SweepWords {
    std::optional<std::string> bytes, algorithms, paper, delays, scale;
    std::optional<std::string> sizes;  ///< The distributions. Not given: all blocks have one size.
    std::string groups;                ///< The sizes of the two groups. Empty: half of the ranks each.
    std::vector<std::string> arrivals;
    PhaseWords phases;
    std::string root = "0";
    std::string iterations;
    std::string seed = kDefaultSeed;
    std::string segment;
    std::string plot, raw;
    bool explain = false;
    output::Format format = output::Format::text;
};
/// The conditions that calls of simulated ranks can meet.
inline constexpr collectives::Conditions kSimulated = collectives::kUsual | collectives::Condition::oracle;
/// Whether a paper has tables or figures for this operation, and whether these are figures.
bool has_paper(runtime::OperationKind operation);
bool has_figures(runtime::OperationKind operation);
void add_sweep_options(usage::Command& command, SweepWords& words, runtime::OperationKind operation, Ranks ranks);

struct Sweep {
    runtime::OperationKind operation = runtime::OperationKind::broadcast;
    int ranks = 0;
    int in_first = 0;  ///< Between two groups: the number of ranks in the first group, which are the first ranks.
    std::optional<Phases> phases;
    const PaperTable* paper = nullptr;  ///< The table to compare with. Sizes, patterns and algorithms are those of the table.
    bool as_in_paper = false;           ///< They are those of a table or figure of a paper, whose other conditions hold, too.
    std::vector<std::uint64_t> sizes;
    std::vector<Pattern> patterns;
    std::vector<std::string> algorithms;          ///< Names in the catalogue, or "auto".
    std::vector<std::string> named;               ///< Those of them that the user has named, and not with the word "all".
    std::vector<SizeDistribution> distributions;  ///< The distributions of own sizes. Empty: all blocks have one size.
    int root = 0;
    std::optional<std::uint64_t> iterations;
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> segment_bytes;
    std::string plot, raw;  ///< File names. Empty: no file.
    bool explain = false;
    bool has_peers = false;  ///< MPI libraries are compared as well.
    output::Format format = output::Format::text;
};
/// Throws Error{invalid_argument} if the files of --raw and --plot cannot be written, or Error{state} if a plot cannot be drawn.
void require_files(const Sweep& sweep);
/// The same for the file of --plot alone. An empty path is no file.
void require_plot(const std::filesystem::path& path);
/// Throws Error{invalid_argument} with one line that names the mistake and lists what is allowed. A rank does not check the files: only one
/// of a job writes them, and calls require_files().
Sweep checked(const SweepWords& words, runtime::OperationKind operation, int ranks, Ranks kind);

/// Converts "max_if:1,max_if:4" to patterns. A pattern that begins with file: takes the rest of the text, because a path may contain
/// commas. Throws Error{invalid_argument}.
std::vector<Pattern> parse_patterns(const std::string& text, std::uint64_t seed);

/// Parses "spikes,skewed" or "all". Throws Error{invalid_argument}.
std::vector<SizeDistribution> parse_distributions(std::string_view text);

/// Throws Error{invalid_argument} if this mean of the blocks is too large for the distribution.
void require_sizes(SizeDistribution distribution, std::uint64_t mean);

/// Returns the order of things that take turns: a permutation of 0 to count-1 that depends only on the arguments.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t iteration);

}  // namespace rollcall::bench
