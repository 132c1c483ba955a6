#include "bench/commands/simulate_intergroup.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bench/cases/intergroup_cases.hpp"
#include "bench/cases/lists.hpp"
#include "bench/options/simulated_model.hpp"
#include "bench/results/interruptible_progress.hpp"
#include "bench/results/number.hpp"
#include "collectives/catalogue.hpp"
#include "foundation/quote.hpp"
#include "runtime/simulation/simulation.hpp"
#include "support/output.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace simulate_intergroup_command {
namespace {

using collectives::AlgorithmEntry;
using runtime::OperationKind;

constexpr const char *kRanks = "64,256", *kBlock = "64Ki", *kSettings = "all", *kGroups = "12,4", *kBlocks = "1Mi,1Mi";

struct Words {
    std::string algorithms = "all", model = "alpha=0,beta=1";
    std::optional<std::string> ranks, block, settings;  ///< Of the paper's settings.
    std::optional<std::string> groups, blocks;          ///< Instead of these.
    output::Format format = output::Format::text;
};

std::vector<GroupCase> cases_of(const Words& words) {
    if (words.groups || words.blocks) {
        if (words.ranks || words.block || words.settings)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("{} with {}; allowed: --groups and --blocks, or the paper's --settings with --ranks and --block",
                                    words.ranks   ? "--ranks"
                                    : words.block ? "--block"
                                                  : "--settings",
                                    words.groups ? "--groups" : "--blocks"));
        const auto groups = parse_groups(words.groups.value_or(kGroups));
        const auto blocks = parse_sizes(words.blocks.value_or(kBlocks), "--blocks", Repeated::kept);
        if (blocks.size() != 2)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--blocks {}; allowed: two sizes, such as 1Mi,64Ki", quote(*words.blocks)));
        return {{"", blocks_of(groups[0], blocks[0], false), blocks_of(groups[1], blocks[1], false)}};
    }
    return cases_of_settings(words.settings.value_or(kSettings), {},
                             parse_counts(words.ranks.value_or(kRanks), "--ranks", 4, kMostSimulatedRanks),
                             parse_sizes(words.block.value_or(kBlock), "--block"));
}

/// Returns the time when the last rank has all data, if all ranks arrive at once.
Nanoseconds run_time(const AlgorithmEntry& entry, const GroupCase& what, const transport::Model& model) {
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
            made.arguments.data = {nullptr, is_first ? what.bytes_of_second() : what.bytes_of_first()};
            if (what.own_sizes) made.arguments.blocks = (is_first ? of_second : of_first).data();
            return made;
        },
        std::vector<Nanoseconds>(static_cast<std::size_t>(options.ranks)));
    for (const auto& error : outcome.errors)
        if (error) throw Error(*error);
    return *std::max_element(outcome.exits.begin(), outcome.exits.end());
}

void print(const Words& words) {
    const auto& row = collectives::operation(OperationKind::intergroup_allgather);
    const auto names = parse_intergroup_algorithms(words.algorithms, false);
    transport::Model model;
    change_model(model, words.model);
    const auto cases = cases_of(words);
    for (const GroupCase& what : cases) require_countable(model, what.most_received(), what.first.size() + what.second.size(), 1);
    output::Table table(std::cout, words.format);
    const auto without_baseline = names.size() - static_cast<std::size_t>(std::count(names.begin(), names.end(), kIntergroupBaseline));
    InterruptibleProgress progress(cases.size() * (without_baseline + 1));
    std::size_t done = 0;
    for (const GroupCase& what : cases) {
        const auto time_of = [&](std::string_view name) {
            progress.update(done++, fmt::format("{} and {} ranks, {}", what.first.size(), what.second.size(), name));
            return static_cast<double>(run_time(collectives::find_algorithm(row, name, collectives::kReal), what, model));
        };
        const double least = model.beta * static_cast<double>(what.most_received()), baseline = time_of(kIntergroupBaseline);
        for (const std::string& name : names) {
            const double time = name == kIntergroupBaseline ? baseline : time_of(name);
            const double over_least = time / std::max(least, 1.0), improvement = baseline / std::max(time, 1.0);
            const auto number = [&](double value, const std::string& text) { return number_or_text(words.format, value, text); };
            const double expected = what.expected_improvement();
            output::Row line = {{"setting", what.setting},
                                {"first_group", what.first.size()},
                                {"second_group", what.second.size()},
                                {"bytes_of_first", what.bytes_of_first()},
                                {"bytes_of_second", what.bytes_of_second()},
                                {"own_sizes", what.own_sizes},
                                {"algorithm", name},
                                {"time", number(time, fmt::format("{:.12g}", time))},
                                {"over_least", number(over_least, fmt::format("{:.4g}", over_least))},
                                {"improvement", number(improvement, fmt::format("{:.3f}", improvement))},
                                {"expected", name == "full_duplex" ? number(expected, fmt::format("{:.2f}", expected)) : output::Value()}};
            progress.erase();
            table.add(line);
        }
    }
    table.finish();
}

}  // namespace
}  // namespace simulate_intergroup_command

void add_intergroup_command(usage::Command& simulate) {
    using namespace simulate_intergroup_command;
    usage::Command* const command =
        simulate.add_subcommand("intergroup_allgather", "Simulate the allgather between two groups of ranks that arrive at the same time");
    const auto words = std::make_shared<Words>();
    command->add_option("--settings", words->settings, "Settings of the paper: 1 to 8, or all")->type_name("LIST")->default_str(kSettings);
    command
        ->add_option("-n,--ranks", words->ranks, fmt::format("With --settings: numbers of ranks of both groups together, {}", kCountList))
        ->type_name("LIST")
        ->default_str(kRanks);
    command->add_option("--block,--bytes", words->block, fmt::format("With --settings: (mean) sizes of a block, {}", kSizeList))
        ->type_name("SIZES")
        ->default_str(kBlock);
    command->add_option("--groups", words->groups, "Instead of --settings: the sizes of the two groups")
        ->type_name("P,Q")
        ->default_str(kGroups);
    command->add_option("--blocks", words->blocks, "With --groups: the size of a block in each group")
        ->type_name("BYTES,BYTES")
        ->default_str(kBlocks);
    command->add_option("--algorithms,--algorithm", words->algorithms, "Algorithms by name, separated by commas")
        ->type_name("NAMES")
        ->capture_default_str();
    command
        ->add_option("--model", words->model, "What a message costs: alpha=T, beta=T per byte, and more (see rollcall simulate broadcast)")
        ->type_name("LIST")
        ->capture_default_str();
    output::add_format_option(*command, words->format);
    command->footer(R"(
Q. Kang, J. L. Traeff, R. Al-Bahrani, A. Agrawal, A. Choudhary and W. Liao, "Scalable algorithms for MPI intergroup allgather and
allgatherv" (2019).
  time         until the last rank has the blocks of the other group, in nanoseconds; with the default of --model this is
               the number of bytes that are sent one after the other
  over_least   time, divided by the time of the bytes of the larger group, which each rank of the other group must receive
  improvement  the time of the sequential root gathering of MPI libraries, divided by this time
  expected     the improvement that equation (5) gives for long blocks

With p ranks in the first group and q in the second one, the settings are:
  1  p = q, blocks of one size
  2  p/q = 25/7, blocks of one size
  3  as 2, but blocks of the first group are four times as large
  4  as 2, but blocks of the second group are four times as large
  5  as 1, by the algorithms for blocks of different sizes
  6  p = q, blocks of 1, 2, 3, ... units
  7  as 2, by the algorithms for blocks of different sizes
  8  p/q = 25/7, blocks as in 6, with equal means in both groups)");
    command->callback([words] { print(*words); });
}

}  // namespace rollcall::bench
