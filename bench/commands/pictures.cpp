#include "bench/commands/pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "collectives/operations.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

/// The picture shows at most this many calls, so that it stays readable. If the user has named the algorithms, it shows a call of each.
constexpr std::size_t kMostCalls = 4;

const Estimate& value_of(const Cell& cell, std::string_view name) {
    return std::find_if(cell.metrics.begin(), cell.metrics.end(), [&](const Metric& m) { return m.name == name; })->value;
}

/// Whether the root gets data of the other ranks.
bool collects(const std::string& operation) {
    const auto is_result = [](const collectives::Operand& operand) { return operand.writes == collectives::RankSet::root; };
    for (const collectives::OperationRow& row : collectives::all_operations())
        if (runtime::name(row.kind) == operation) return row.any_operand(is_result);
    return false;
}

/// The number of ranks in the first group, as the note says it. 0: the operation is not between two groups.
std::size_t in_first_group(const Measured& measured) {
    for (const auto& [key, note] : measured.notes)
        if (key == "groups") return std::strtoul(note.c_str(), nullptr, 10);
    return 0;
}

/// When data of other ranks moved to the root, at most: a block moves for one message time after its rank has arrived, and the last blocks
/// until the root leaves. The measurement tells only when the first data came. Between two groups (`in_first` > 0), data comes from ranks
/// of the other group only.
std::vector<GanttChart::Interval> transfers_to_root(const CallSample& call, std::size_t root, Nanoseconds message_time,
                                                    std::size_t in_first) {
    const Nanoseconds exit = call.exits[root];
    const bool is_told = !call.first_data.empty() && call.first_data[root] != kNoTime;
    const Nanoseconds first = is_told ? call.first_data[root] : call.arrivals[root];
    std::vector<Nanoseconds> others;
    for (std::size_t rank = 0; rank < call.arrivals.size(); ++rank)
        if (in_first > 0 ? (rank < in_first) != (root < in_first) : rank != root) others.push_back(call.arrivals[rank]);
    std::sort(others.begin(), others.end());
    std::vector<GanttChart::Interval> transfers;
    for (std::size_t i = 0; i < others.size(); ++i) {
        const bool is_last = i + 1 == others.size();
        const Nanoseconds begin = std::clamp(others[i], std::min(first, exit), exit),
                          end = is_last ? exit : std::clamp(others[i] + message_time, begin, exit);
        if (!transfers.empty() && begin <= transfers.back().end)
            transfers.back().end = std::max(transfers.back().end, end);
        else if (end > begin)
            transfers.push_back({begin, end});
    }
    return transfers;
}

/// The name of a line: the algorithm, and the landing if there are several.
std::string line_of(const Measured& measured) {
    return measured.setup.landing.empty() ? measured.identity.algorithm
                                          : fmt::format("{}, landing {}", measured.identity.algorithm, measured.setup.landing);
}

/// The iterations of which all cells have a call. A simulation makes fewer calls of an algorithm that takes longer to simulate.
std::set<std::uint64_t> common_iterations(const std::vector<const Measured*>& cells) {
    std::set<std::uint64_t> common;
    for (const Measured* cell : cells) {
        std::set<std::uint64_t> own;
        for (const CallSample& call : cell->calls)
            if (cell == cells.front() || common.contains(call.iteration)) own.insert(call.iteration);
        common.swap(own);
    }
    return common;
}

/// Of the calls of these iterations, the one with the median of the mean elapsed times.
std::uint64_t iteration_of_median_call(const Measured& measured, const std::set<std::uint64_t>& iterations) {
    std::vector<std::pair<double, std::uint64_t>> order;
    for (const CallSample& call : measured.calls)
        if (iterations.contains(call.iteration))
            order.emplace_back(measure(call.arrivals, call.exits, measured.setup).mean_elapsed, call.iteration);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
    std::nth_element(order.begin(), middle, order.end());
    return middle->second;
}

}  // namespace

GanttChart gantt_of(const Measured& measured, const CallSample& call) {
    GanttChart chart;
    chart.title = fmt::format("{}, {}, {}: call {}", line_of(measured), format_bytes(measured.identity.bytes), measured.identity.pattern,
                              call.iteration);
    const bool to_root = collects(measured.identity.operation);
    for (int rank = 0; rank < measured.identity.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const bool is_root = rank == measured.setup.root, has_data = !call.first_data.empty() && call.first_data[r] != kNoTime;
        GanttChart::Row row{.label = fmt::format("{}{}", rank, is_root ? " (root)" : ""),
                            .arrival = call.arrivals[r],
                            .exit = call.exits[r],
                            .transfers = {}};
        // A root that receives nothing waits only for its own sends. For a leaf, the time when its send began is not known.
        if (is_root && to_root)
            row.transfers = transfers_to_root(call, r, message_time_of(call, measured.setup), in_first_group(measured));
        else if (has_data)
            row.transfers.push_back({call.first_data[r], row.exit});
        else if (is_root)
            row.transfers.push_back({row.arrival, row.exit});
        chart.rows.push_back(std::move(row));
    }
    return chart;
}

Pictures::Pictures(const Sweep& sweep) : sweep_(sweep), largest_(*std::max_element(sweep.sizes.begin(), sweep.sizes.end())) {}

void Pictures::add(const Measured& measured, const Cell& cell) {
    const CellIdentity& identity = measured.identity;
    std::string line = line_of(measured);
    if (sweep_.distributions.size() > 1)
        for (const auto& [key, note] : measured.notes)
            if (key == "sizes") line += " " + note;
    has_message_time_ = measured.setup.message_time > 0;
    drawn_.push_back({line, identity.ranks, identity.bytes, identity.pattern, value_of(cell, "spread").median,
                      value_of(cell, "imbalance_factor").median, value_of(cell, "mean_elapsed")});
    if (identity.ranks > most_ranks_) calls_.clear();
    most_ranks_ = std::max(most_ranks_, identity.ranks);
    if (identity.bytes == largest_ && identity.ranks == most_ranks_) calls_.emplace_back(line, measured);
}

LineChart Pictures::chart(std::string title, Axis x, const std::function<std::optional<double>(const Drawn&)>& place) const {
    LineChart chart{.title = std::move(title), .x = std::move(x), .y = {"mean elapsed time", true, {}}, .series = {}};
    for (const Drawn& drawn : drawn_) {
        auto series = std::find_if(chart.series.begin(), chart.series.end(), [&](const auto& one) { return one.name == drawn.line; });
        if (series == chart.series.end()) series = chart.series.insert(series, {.name = drawn.line, .points = {}});
        if (const auto at = place(drawn)) series->points.push_back({*at, drawn.elapsed});
    }
    return chart;
}

LineChart Pictures::against_imbalance(bool has_patterns) const {
    const std::string what = fmt::format("{} of {} with {} ranks", runtime::name(sweep_.operation), format_bytes(largest_), most_ranks_);
    return chart(has_patterns ? what + ": time against imbalance" : fmt::format("{}, {}", what, drawn_.front().pattern),
                 has_message_time_ ? Axis{"imbalance factor: spread of the arrivals in message times", false, {}}
                                   : Axis{"spread of the arrivals", true, {}},
                 [&](const Drawn& drawn) -> std::optional<double> {
                     if (drawn.bytes != largest_ || drawn.ranks != most_ranks_) return std::nullopt;
                     return has_message_time_ ? drawn.imbalance : drawn.spread;
                 });
}

LineChart Pictures::against_size(const std::string& pattern) const {
    Axis x{"size", false, {}};
    for (const std::uint64_t bytes : std::set<std::uint64_t>(sweep_.sizes.begin(), sweep_.sizes.end()))
        x.marks.emplace_back(format_bytes(bytes), static_cast<double>(bytes));
    return chart(fmt::format("{} with {} ranks, {}: time against size", runtime::name(sweep_.operation), most_ranks_, pattern),
                 std::move(x), [&](const Drawn& drawn) -> std::optional<double> {
                     if (drawn.pattern != pattern || drawn.ranks != most_ranks_) return std::nullopt;
                     return static_cast<double>(drawn.bytes);
                 });
}

LineChart Pictures::against_ranks(const std::string& pattern) const {
    Axis x{"ranks", false, {}};
    for (const int ranks : numbers_of_ranks()) x.marks.emplace_back(std::to_string(ranks), ranks);
    return chart(fmt::format("{} of {}, {}: time against ranks", runtime::name(sweep_.operation), format_bytes(largest_), pattern),
                 std::move(x), [&](const Drawn& drawn) -> std::optional<double> {
                     if (drawn.pattern != pattern || drawn.bytes != largest_) return std::nullopt;
                     return drawn.ranks;
                 });
}

std::set<int> Pictures::numbers_of_ranks() const {
    std::set<int> numbers;
    for (const Drawn& drawn : drawn_) numbers.insert(drawn.ranks);
    return numbers;
}

std::string Pictures::widest() const {
    const auto spread = [&](const Drawn& drawn) { return drawn.ranks == most_ranks_ ? drawn.spread : -1; };
    return std::max_element(drawn_.begin(), drawn_.end(), [&](const Drawn& a, const Drawn& b) { return spread(a) < spread(b); })->pattern;
}

void Pictures::add_calls(Picture& picture) const {
    const std::string pattern = widest();
    // Each one with its mean elapsed time.
    std::vector<std::pair<double, const Measured*>> candidates;
    for (const auto& [line, measured] : calls_)
        if (measured.identity.pattern == pattern)
            candidates.emplace_back(collective_cell(measured.identity, measured.setup, measured.calls).metrics[1].value.median, &measured);
    if (candidates.empty()) return;
    auto fastest = candidates;
    std::stable_sort(fastest.begin(), fastest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    if (sweep_.named.size() < sweep_.algorithms.size()) fastest.resize(std::min(fastest.size(), kMostCalls));
    std::vector<const Measured*> shown;
    for (const auto& candidate : candidates)
        if (std::find(fastest.begin(), fastest.end(), candidate) != fastest.end()) shown.push_back(candidate.second);
    const std::set<std::uint64_t> common = common_iterations(shown);
    if (common.empty()) return;
    const std::uint64_t iteration = iteration_of_median_call(*shown.front(), common);
    for (const Measured* measured : shown) {
        const auto& calls = measured->calls;
        picture.emplace_back(gantt_of(
            *measured, *std::find_if(calls.begin(), calls.end(), [&](const CallSample& one) { return one.iteration == iteration; })));
    }
}

Picture Pictures::picture() const {
    Picture picture;
    const std::set<std::uint64_t> sizes(sweep_.sizes.begin(), sweep_.sizes.end());
    std::set<std::string> patterns;
    for (const Drawn& drawn : drawn_) patterns.insert(drawn.pattern);
    const bool several_sizes = sizes.size() > 1, several_ranks = numbers_of_ranks().size() > 1;
    if (patterns.size() > 1 || !(several_sizes || several_ranks)) picture.emplace_back(against_imbalance(patterns.size() > 1));
    std::vector<std::string> compared = {drawn_.front().pattern};
    if (std::string other = widest(); other != compared.front()) compared.push_back(std::move(other));
    if (several_sizes)
        for (const std::string& pattern : compared) picture.emplace_back(against_size(pattern));
    if (several_ranks)
        for (const std::string& pattern : compared) picture.emplace_back(against_ranks(pattern));
    add_calls(picture);
    share_time_axis(picture);
    return picture;
}

}  // namespace rollcall::bench
