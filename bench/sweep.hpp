/// \file
/// What a benchmark of a collective operation is to go through: the same words for real and for simulated ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/block_sizes.hpp"
#include "bench/paper.hpp"
#include "bench/patterns.hpp"
#include "bench/phases.hpp"
#include "collectives/operations.hpp"
#include "support/output.hpp"

namespace rollcall::usage {
class Command;
}

namespace rollcall::bench {

enum class Ranks { real, simulated };

/// The words as they came; checked by us, so that a message says what is allowed.
struct SweepWords {
    std::optional<std::string> bytes, algorithms, paper, delays;
    std::optional<std::string> sizes;  ///< Distributions; not given: blocks have one size.
    std::vector<std::string> arrivals;
    PhaseWords phases;
    std::string root = "0";
    std::string iterations;
    std::string seed = "1";
    std::string segment;
    std::string plot, raw;
    bool explain = false;
    output::Format format = output::Format::text;
};
/// What calls of simulated ranks can have.
inline constexpr collectives::Conditions kSimulated = collectives::kUsual | collectives::Condition::oracle;
/// Whether tables of a paper have been measured with this operation.
bool has_paper(runtime::OperationKind operation);
/// `default_sizes`: of --bytes.
void add_sweep_options(usage::Command& command, SweepWords& words, runtime::OperationKind operation, Ranks ranks);
constexpr const char* default_sizes(Ranks ranks) { return ranks == Ranks::real ? "8,64Ki,8Mi" : "8Mi"; }

struct Sweep {
    runtime::OperationKind operation = runtime::OperationKind::broadcast;
    int ranks = 0;
    std::optional<Phases> phases;
    const PaperTable* paper = nullptr;  ///< Compared with: sizes, patterns and algorithms are those of the table.
    std::vector<std::uint64_t> sizes;
    std::vector<Pattern> patterns;
    std::vector<std::string> algorithms;          ///< Names of the catalogue, or "auto".
    std::vector<SizeDistribution> distributions;  ///< Of blocks of own sizes; empty: they have one size.
    int root = 0;
    std::optional<std::uint64_t> iterations;
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> segment_bytes;
    std::string plot, raw;  ///< Files; empty: none.
    bool explain = false;
    output::Format format = output::Format::text;
};
/// Throws Error{invalid_argument} in one line that names what is wrong and lists what is allowed.
Sweep checked(const SweepWords& words, runtime::OperationKind operation, int ranks, Ranks kind);

/// "max_if:1,max_if:4" to patterns; one that begins with file: takes the rest of the text, because a path may hold
/// commas. Throws Error{invalid_argument}.
std::vector<Pattern> parse_patterns(const std::string& text, std::uint64_t seed);

/// "spikes,skewed" or "all". Throws Error{invalid_argument}.
std::vector<SizeDistribution> parse_distributions(std::string_view text);

/// The order of things that are interleaved: a permutation of 0 to count-1 that depends on the numbers only.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t iteration);

}  // namespace rollcall::bench
