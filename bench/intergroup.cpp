#include "bench/intergroup.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bench/lists.hpp"
#include "bench/simulated_model.hpp"
#include "collectives/catalogue.hpp"
#include "foundation/quote.hpp"
#include "runtime/simulation/simulation.hpp"
#include "support/output.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

using collectives::AlgorithmEntry;
using runtime::OperationKind;
using Sizes = std::vector<std::uint64_t>;

constexpr std::uint64_t kMostRanks = 4096;
constexpr std::string_view kBaseline = "root_gathering_sequential";

/// One of the settings of Kang, Träff et al., section 5: the part of the ranks in the first group, the mean block sizes of the two groups
/// relative to each other, and the value of equation (5) for many ranks.
struct Setting {
    std::string_view name;
    double first_part;
    std::uint64_t first, second;
    bool own_sizes, is_sequence;  ///< is_sequence: the block sizes are 1, 2, 3, ... times a constant.
    double expected;
};
constexpr double kHalf = 0.5, kMost = 25.0 / 32;
constexpr Setting kSettings[] = {
    {"1", kHalf, 1, 1, false, false, 7.0},  {"2", kMost, 1, 1, false, false, 4.84}, {"3", kMost, 4, 1, false, false, 4.21},
    {"4", kMost, 1, 4, false, false, 6.68}, {"5", kHalf, 1, 1, true, false, 7.0},   {"6", kHalf, 1, 1, true, true, 7.0},
    {"7", kMost, 1, 1, true, false, 4.84},  {"8", kMost, 1, 1, true, true, 4.84},
};

struct Words {
    std::string ranks = "64,256", block = "64Ki", settings = "all", algorithms = "all", model = "alpha=0,beta=1";
    std::optional<std::string> groups, blocks;
    output::Format format = output::Format::text;
};

struct Case {
    std::string setting;  ///< Empty: none of the paper's settings.
    Sizes first, second;
    bool own_sizes = false;
    std::optional<double> expected = {};
};

Sizes blocks_of(int ranks, std::uint64_t mean, bool is_sequence) {
    Sizes sizes(static_cast<std::size_t>(ranks), mean);
    if (is_sequence)
        for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = 2 * mean * (i + 1) / (sizes.size() + 1);
    return sizes;
}

std::vector<Case> cases_of(const Words& words) {
    if (words.groups || words.blocks) {
        const auto groups = parse_counts(words.groups.value_or("12,4"), "--groups", 1, kMostRanks);
        const auto blocks = parse_sizes(words.blocks.value_or("1Mi,1Mi"), "--blocks");
        if (groups.size() != 2)
            throw Error(ErrorCode::invalid_argument, fmt::format("--groups {}; allowed: two numbers, such as 12,4", quote(*words.groups)));
        if (blocks.size() != 2)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--blocks {}; allowed: two sizes, such as 1Mi,64Ki", quote(*words.blocks)));
        return {{"", Sizes(groups[0], blocks[0]), Sizes(groups[1], blocks[1])}};
    }
    std::vector<Choice> choices;
    for (const Setting& setting : kSettings) choices.push_back({.name = std::string(setting.name)});
    const auto blocks = parse_sizes(words.block, "--block");
    std::vector<Case> cases;
    for (const std::string& chosen : parse_names(words.settings, "setting", choices))
        for (const std::uint64_t ranks : parse_counts(words.ranks, "--ranks", 4, kMostRanks))
            for (const std::uint64_t block : blocks) {
                const Setting& setting = kSettings[static_cast<std::size_t>(chosen[0] - '1')];
                const int first = static_cast<int>(std::lround(static_cast<double>(ranks) * setting.first_part));
                cases.push_back({chosen, blocks_of(first, block * setting.first, setting.is_sequence),
                                 blocks_of(static_cast<int>(ranks) - first, block * setting.second, setting.is_sequence), setting.own_sizes,
                                 setting.expected});
            }
    return cases;
}

std::uint64_t sum_of(const Sizes& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); }

/// Returns the time when the last rank has all data, if all ranks arrive at once.
Nanoseconds run_time(const AlgorithmEntry& entry, const Case& what, const transport::Model& model) {
    runtime::Simulation::Options options;
    options.first_group = static_cast<int>(what.first.size());
    options.ranks = static_cast<int>(what.first.size() + what.second.size());
    options.model = model;
    options.landing_bytes = 0;
    options.eager_bytes = 0;
    options.node_memory = false;
    options.board = false;
    runtime::Simulation simulation(options);
    std::vector<runtime::Block> of_first, of_second;
    std::uint64_t end = 0;
    for (const std::uint64_t size : what.first) of_first.push_back({std::exchange(end, end + size), size});
    end = 0;
    for (const std::uint64_t size : what.second) of_second.push_back({std::exchange(end, end + size), size});
    const auto outcome = simulation.run(
        [&](int rank) {
            const auto r = static_cast<std::size_t>(rank);
            const bool is_first = r < what.first.size();
            const std::uint64_t own = is_first ? what.first[r] : what.second[r - what.first.size()];
            runtime::Call call =
                collectives::make_call(entry, -1, what.own_sizes ? own : what.first[0], what.own_sizes ? 0 : what.second[0]);
            call.own_sizes = what.own_sizes;
            runtime::Simulation::RankCall made{call, entry.algorithm, {}};
            made.arguments.contribution = {nullptr, own};
            made.arguments.data = {nullptr, sum_of(is_first ? what.second : what.first)};
            if (what.own_sizes) made.arguments.blocks = (is_first ? of_second : of_first).data();
            return made;
        },
        std::vector<Nanoseconds>(static_cast<std::size_t>(options.ranks)));
    for (const auto& error : outcome.errors)
        if (error) throw Error(*error);
    return *std::max_element(outcome.exits.begin(), outcome.exits.end());
}

void print(const Words& words) {
    std::vector<Choice> choices;
    const auto& row = collectives::operation(OperationKind::intergroup_allgather);
    for (const AlgorithmEntry& entry : row.algorithms)
        if (collectives::kUsual.contains(entry.needs)) choices.push_back({.name = std::string(entry.name)});  // (Ranks share no memory.)
    const auto names = parse_names(words.algorithms, "algorithm", choices);
    transport::Model model;
    change_model(model, words.model);
    const auto cases = cases_of(words);
    output::Table table(std::cout, words.format);
    for (const Case& what : cases) {
        const std::uint64_t most = std::max(sum_of(what.first), sum_of(what.second));
        const double least = model.beta * static_cast<double>(most);
        const auto baseline = static_cast<double>(run_time(collectives::find_algorithm(row, kBaseline, collectives::kReal), what, model));
        for (const std::string& name : names) {
            const auto time = name == kBaseline
                                  ? baseline
                                  : static_cast<double>(run_time(collectives::find_algorithm(row, name, collectives::kReal), what, model));
            output::Row line = {{"setting", what.setting},
                                {"first_group", what.first.size()},
                                {"second_group", what.second.size()},
                                {"bytes_of_first", sum_of(what.first)},
                                {"bytes_of_second", sum_of(what.second)},
                                {"own_sizes", what.own_sizes},
                                {"algorithm", name},
                                {"time", fmt::format("{:.12g}", time)},
                                {"over_least", fmt::format("{:.4g}", time / std::max(least, 1.0))},
                                {"improvement", fmt::format("{:.3f}", baseline / std::max(time, 1.0))},
                                {"expected", what.expected && name == "full_duplex" ? fmt::format("{:.2f}", *what.expected) : ""}};
            table.add(line);
        }
    }
    table.finish();
}

}  // namespace

void add_intergroup_command(usage::Command& simulate) {
    usage::Command* const command =
        simulate.add_subcommand("intergroup_allgather", "The allgather between two groups of simulated ranks that arrive at once");
    const auto words = std::make_shared<Words>();
    command->add_option("--settings", words->settings, "Those of the paper: 1 to 8, or all")->type_name("LIST")->capture_default_str();
    command->add_option("-n,--ranks", words->ranks, fmt::format("How many ranks both groups have, for --settings, {}", kCountList))
        ->type_name("LIST")
        ->capture_default_str();
    command->add_option("--block", words->block, fmt::format("(Mean) blocks, for --settings, {}", kSizeList))
        ->type_name("SIZES")
        ->capture_default_str();
    command->add_option("--groups", words->groups, "Instead of --settings: the sizes of the two groups")
        ->type_name("P,Q")
        ->default_str("12,4");
    command->add_option("--blocks", words->blocks, "And of a block in each")->type_name("BYTES,BYTES")->default_str("1Mi,1Mi");
    command->add_option("--algorithms", words->algorithms, "Which")->type_name("NAMES")->capture_default_str();
    command
        ->add_option("--model", words->model, "What a message costs: alpha=T, beta=T per byte, and more (see rollcall simulate broadcast)")
        ->type_name("LIST")
        ->capture_default_str();
    output::add_format_option(*command, words->format);
    command->footer(R"(
Q. Kang, J. L. Traeff, R. Al-Bahrani, A. Agrawal, A. Choudhary and W. Liao, "Scalable algorithms for MPI intergroup allgather and
allgatherv" (2019). time: until the last rank has the blocks of the other group. over_least: its ratio to the bytes of the larger side, which each
rank of the other one must receive. improvement: how many times as long the sequential root gathering of MPI libraries takes;
expected: what equation (5) gives for many ranks and long blocks.

Settings, p ranks in the first group and q in the second one: 1: p = q. 2: p/q = 25/7. 3: the same, blocks of the first group four times as
large. 4: of the second. 5 to 8, of own sizes: 5: as 1. 6: p = q, blocks of 1, 2, 3, ... times something. 7: as 2. 8: p/q = 25/7, blocks
as in 6, with equal means.)");
    command->callback([words] { print(*words); });
}

}  // namespace rollcall::bench
