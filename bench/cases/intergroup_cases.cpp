#include "bench/cases/intergroup_cases.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "collectives/catalogue.hpp"
#include "foundation/quote.hpp"

namespace rollcall::bench {
namespace {

/// One of the settings of Kang, Träff et al., section 5: the part of the ranks in the first group, and the mean block sizes of the two
/// groups relative to each other.
struct Setting {
    std::string_view name;
    double first_part;
    std::uint64_t first, second;
    bool own_sizes, is_sequence;  ///< is_sequence: the block sizes are 1, 2, 3, ... times a constant.
};
constexpr double kHalf = 0.5, kMost = 25.0 / 32;
constexpr Setting kSettingsOfPaper[] = {
    {"1", kHalf, 1, 1, false, false}, {"2", kMost, 1, 1, false, false}, {"3", kMost, 4, 1, false, false}, {"4", kMost, 1, 4, false, false},
    {"5", kHalf, 1, 1, true, false},  {"6", kHalf, 1, 1, true, true},   {"7", kMost, 1, 1, true, false},  {"8", kMost, 1, 1, true, true},
};

std::uint64_t sum_of(const std::vector<std::uint64_t>& sizes) { return std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}); }

}  // namespace

std::uint64_t GroupCase::bytes_of_first() const { return sum_of(first); }
std::uint64_t GroupCase::bytes_of_second() const { return sum_of(second); }
std::uint64_t GroupCase::most_received() const { return std::max(bytes_of_first(), bytes_of_second()); }
double GroupCase::expected_improvement() const {
    const auto both = static_cast<double>(bytes_of_first() + bytes_of_second());
    return 1 + 3 * both / std::max(static_cast<double>(most_received()), 1.0);
}

std::vector<std::string> parse_intergroup_algorithms(std::string_view names, bool are_real) {
    std::vector<Choice> choices;
    for (const auto& entry : collectives::operation(runtime::OperationKind::intergroup_allgather).algorithms)
        if (are_real || collectives::kUsual.contains(entry.needs))
            choices.push_back({.name = std::string(entry.name), .aliases = {entry.aliases.begin(), entry.aliases.end()}});
    if (are_real) choices.push_back({.name = std::string(kIntergroupAutomatic), .in_all = false});
    return parse_names(names, "algorithm", choices);
}

std::vector<GroupCase> cases_of_settings(std::string_view settings, std::optional<bool> own_sizes, std::span<const std::uint64_t> ranks,
                                         std::span<const std::uint64_t> blocks) {
    std::vector<Choice> choices;
    for (const Setting& setting : kSettingsOfPaper)
        if (setting.own_sizes == own_sizes.value_or(setting.own_sizes)) choices.push_back({.name = std::string(setting.name)});
    std::vector<GroupCase> cases;
    for (const std::string& chosen : parse_names(settings, "setting", choices))
        for (const std::uint64_t all : ranks)
            for (const std::uint64_t block : blocks) {
                const Setting& setting = kSettingsOfPaper[static_cast<std::size_t>(chosen[0] - '1')];
                const auto first = static_cast<std::uint64_t>(std::lround(static_cast<double>(all) * setting.first_part));
                cases.push_back({chosen, blocks_of(first, block * setting.first, setting.is_sequence),
                                 blocks_of(all - first, block * setting.second, setting.is_sequence), setting.own_sizes});
            }
    return cases;
}

std::vector<std::uint64_t> parse_groups(const std::string& text) {
    auto groups = parse_counts(text, "--groups", 1, kMostSimulatedRanks, Repeated::kept);
    if (groups.size() != 2)
        throw Error(ErrorCode::invalid_argument, fmt::format("--groups {}; allowed: two numbers, such as 12,4", quote(text)));
    return groups;
}

std::vector<std::uint64_t> groups_of(const std::string& text, int ranks) {
    const auto all = static_cast<std::uint64_t>(ranks);
    if (text.empty()) return {all - all / 2, all / 2};
    const std::vector<std::uint64_t> groups = parse_groups(text);
    if (groups[0] + groups[1] != all)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--groups {} of {} ranks; allowed: two numbers whose sum is that of --ranks", text, ranks));
    return groups;
}

std::vector<std::uint64_t> blocks_of(std::uint64_t ranks, std::uint64_t mean, bool is_sequence) {
    std::vector<std::uint64_t> sizes(ranks, mean);
    for (std::uint64_t i = 0; is_sequence && i < ranks; ++i) sizes[i] = 2 * mean * (i + 1) / (ranks + 1);
    return sizes;
}

}  // namespace rollcall::bench
