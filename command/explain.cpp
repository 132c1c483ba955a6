#include "command/explain.hpp"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "collectives/selection.hpp"
#include "foundation/costs.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "runtime/limits.hpp"

namespace rollcall::command {
namespace {

/// Where the ranks of a call are.
enum class Place { one_node, several_nodes, own_nodes };
constexpr std::pair<Place, std::string_view> kPlaces[] = {
    {Place::one_node, "one node"}, {Place::several_nodes, "several nodes"}, {Place::own_nodes, "a node each"}};
/// How many "several nodes" are at least, where it matters. With two groups, each of them is on as many.
constexpr int kSeveral = 2;

/// Whether `ranks` ranks can be there, where nodes have at most `most` ranks (ROLLCALL_NODE_RANKS; 0: any number).
bool can_be(Place place, std::uint64_t ranks, std::uint64_t most) {
    if (most == 0 || ranks == 1) return true;
    return place == Place::own_nodes || (place == Place::several_nodes ? most > 1 : ranks <= most);
}

/// On how many nodes `ranks` ranks are, if they are on several.
int several_nodes(std::uint64_t ranks, std::uint64_t most) {
    return most == 0 ? kSeveral : std::max(kSeveral, static_cast<int>((ranks + most - 1) / most));
}

/// Whether these nodes have about as many ranks each (runtime::are_even()). The last node has what is left.
bool are_even(std::uint64_t ranks, std::uint64_t most) {
    if (most == 0 || ranks <= most) return true;
    const std::uint64_t last = ranks % most;
    return last == 0 || 2 * last >= most;
}

/// As for a communicator of a job with `ranks` ranks, where ranks of a node can share memory.
collectives::Conditions conditions(const Settings& settings, Place place, int ranks) {
    const bool share_node = place != Place::own_nodes && runtime::may_share_node(settings, ranks);
    const bool are_on_several = share_node && place == Place::several_nodes;
    return collectives::conditions_of(settings,
                                      {.boards = place == Place::one_node,
                                       .node_memory = share_node && place == Place::one_node,
                                       .several_nodes = are_on_several,
                                       .even_nodes = are_on_several && are_even(static_cast<std::uint64_t>(ranks), settings.node_ranks)});
}

const collectives::OperationRow& row_of(const std::string& operation) {
    std::vector<std::string_view> names;
    for (const collectives::OperationRow& row : collectives::all_operations()) {
        if (name(row.kind) == operation) return row;
        names.push_back(name(row.kind));
    }
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--explain: unknown operation {}; allowed: {}", quote(operation), fmt::join(names, ", ")));
}

// As for calls of an intercommunicator (api/intercommunicator.cpp). Each group has half of the ranks, and nodes of its own.
void divide(collectives::SelectionInput& input, const collectives::OperationRow& row, std::uint64_t most_on_node) {
    const int group = (input.ranks + 1) / 2;
    input.ranks_of_group = group;
    if (row.has_root) input.ranks = group + 1;
    if (input.nodes == 0) return;
    input.nodes_of_group = several_nodes(static_cast<std::uint64_t>(group), most_on_node);
    input.nodes = row.has_root ? input.nodes_of_group + 1 : 2 * input.nodes_of_group;
}

}  // namespace

void explain(const Explained& asked, output::Format format) {
    const collectives::OperationRow& row = row_of(asked.operation);
    const Settings settings = Settings::from_environment();
    const auto* const setting = collectives::algorithm_of_setting(row, settings.algorithms[index_of(row.kind)]);
    const std::vector<std::uint64_t> sizes = row.moves_data ? bench::parse_sizes(asked.sizes, "--bytes") : std::vector<std::uint64_t>{0};
    const Costs costs = costs_of_setting(settings.costs);
    output::Table table(std::cout, format);
    table.fit(output::screen_columns(), {"others"});
    table.break_after(output::columns_before_break());
    const int fewest = is_between_groups(row.kind) ? 2 : 1;
    for (const std::uint64_t ranks : bench::parse_counts(asked.ranks, "--ranks", fewest, 10'000'000))
        for (const auto& [place, where] : kPlaces)
            for (const std::uint64_t bytes : sizes) {
                if (!can_be(place, ranks, settings.node_ranks)) continue;
                collectives::SelectionInput input{.bytes = bytes,
                                                  .ranks = static_cast<int>(ranks),
                                                  .has = conditions(settings, place, static_cast<int>(ranks)),
                                                  .nodes = place == Place::several_nodes ? several_nodes(ranks, settings.node_ranks) : 0,
                                                  .costs = &costs};
                if (is_between_groups(row.kind)) divide(input, row, settings.node_ranks);
                const collectives::Selection chosen = collectives::choose(row, input, {}, setting);
                std::vector<std::string_view> others;
                for (const auto& entry : row.algorithms)
                    if (&entry != chosen.entry && input.has.contains(entry.needs)) others.push_back(entry.name);
                const std::uint64_t segment = collectives::segment_of(chosen, input, settings.segment_bytes);
                std::string because = collectives::reason(input, chosen);
                std::string own_part;
                // Shorter messages are sent at once.
                if (bytes > runtime::eager_limits(settings).usual)
                    own_part = collectives::stay_or_leave(row, input, *chosen.entry,
                                                          {.room = runtime::most_kept(settings, static_cast<int>(ranks)),
                                                           .longest = runtime::longest_landing(settings),
                                                           .has_background = settings.progress == ProgressMode::thread});
                if (!own_part.empty()) because += "; " + own_part;
                const std::string_view whole = chosen.entry->chooses_pieces ? "root's choice" : "whole";
                table.add({{"ranks", ranks},
                           {"on", where},
                           {"bytes", row.moves_data ? output::Value(output::Bytes{bytes}) : output::Value("-")},
                           {"algorithm", chosen.entry->name},
                           {"segment", segment > 0 && segment < bytes ? output::Value(output::Bytes{segment}) : output::Value(whole)},
                           {"because", because},
                           {"others", fmt::format("{}", fmt::join(others, " "))}});
            }
    table.finish();
}

}  // namespace rollcall::command
