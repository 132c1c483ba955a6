#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

const Estimate& value_of(const Cell& cell, std::string_view name) {
    return std::find_if(cell.metrics.begin(), cell.metrics.end(), [&](const Metric& m) { return m.name == name; })->value;
}

/// Returns the call with the median of the mean elapsed times.
const CallSample& median_call(const Measured& measured) {
    std::vector<std::pair<double, const CallSample*>> order;
    for (const CallSample& call : measured.calls)
        order.emplace_back(measure(call.arrivals, call.exits, measured.setup).mean_elapsed, &call);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
    std::nth_element(order.begin(), middle, order.end());
    return *middle->second;
}

GanttChart gantt_of(const Measured& measured) {
    const CallSample& call = median_call(measured);
    GanttChart chart;
    chart.title = fmt::format("{}, {}, {}: call {}, the median of {}", measured.identity.algorithm, format_bytes(measured.identity.bytes),
                              measured.identity.pattern, call.iteration, measured.calls.size());
    for (int rank = 0; rank < measured.identity.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const bool is_root = rank == measured.setup.root;
        GanttChart::Row row{.label = fmt::format("{}{}", rank, is_root ? " (root)" : ""),
                            .arrival = call.arrivals[r],
                            .exit = call.exits[r],
                            .transfers = {}};
        // A root that receives nothing waits only for its own sends. For a leaf, the time when its send began is not known.
        if (call.first_data[r] != kNoTime)
            row.transfers.push_back({call.first_data[r], row.exit});
        else if (is_root)
            row.transfers.push_back({row.arrival, row.exit});
        chart.rows.push_back(std::move(row));
    }
    return chart;
}

}  // namespace

Report::Report(const Sweep& sweep, std::ostream& out)
    : sweep_(sweep), plotted_bytes_(*std::max_element(sweep.sizes.begin(), sweep.sizes.end())), printer_(out, sweep.format) {
    if (!sweep.raw.empty()) raw_.emplace(sweep.raw);
    lines_.title = fmt::format("{} of {} with {} ranks: time against imbalance", runtime::name(sweep.operation),
                               format_bytes(plotted_bytes_), sweep.ranks);
    lines_.y = {"mean elapsed time", true};
}

void Report::add(Measured measured) {
    Cell cell = collective_cell(measured.identity, measured.setup, measured.calls);
    if (sweep_.phases) {
        const auto files_only = std::find_if(cell.metrics.begin(), cell.metrics.end(), [](const Metric& m) { return !m.in_table; });
        cell.metrics.insert(files_only, prediction_error(measured.calls));
        for (auto& note : sweep_.phases->notes()) cell.notes.push_back(std::move(note));
    }
    if (!sweep_.paper) {
        const auto after = std::find_if(cell.metrics.begin(), cell.metrics.end(), [](const Metric& m) { return m.name == "elapsed"; });
        cell.metrics.insert(after + 1, compare_with_first(measured));
    }
    cell.notes.insert(cell.notes.end(), measured.notes.begin(), measured.notes.end());
    if (raw_)
        for (const CallSample& call : measured.calls) raw_->append(cell.identity, measured.setup, call);
    if (!sweep_.plot.empty() && measured.identity.bytes == plotted_bytes_) keep_for_plot(measured, cell);
    if (sweep_.paper && measured.identity.algorithm == sweep_.paper->base) {
        base_ = std::move(measured.calls);
        return;
    }
    if (sweep_.paper) compare(cell, *sweep_.paper, measured.calls, base_);
    printer_.add(cell);
}

Metric Report::compare_with_first(const Measured& measured) {
    std::string key = fmt::format("{} {}", measured.identity.bytes, measured.identity.pattern);
    for (const auto& [name, note] : measured.notes)
        if (name == "sizes") key += " " + note;
    const auto [known, is_new] = first_.try_emplace(key, measured);
    // The same algorithm again begins the cells of another model, such as another landing budget.
    if (!is_new && known->second.identity.algorithm == measured.identity.algorithm) known->second = measured;
    const Measured& first = known->second;
    Metric metric = over_first(measured.calls, measured.setup, first.calls, first.setup);
    metric.in_table = sweep_.has_peers || sweep_.algorithms.size() > 1;
    return metric;
}

void Report::keep_for_plot(const Measured& measured, const Cell& cell) {
    const bool has_message_time = measured.setup.message_time > 0;
    lines_.x =
        has_message_time ? Axis{"imbalance factor: spread of the arrivals in message times", false} : Axis{"spread of the arrivals", true};
    if (!first_model_) first_model_ = measured.setup.model;
    std::string line = measured.identity.algorithm;
    if (measured.setup.model != *first_model_) line += fmt::format(" ({})", name(measured.setup.model));
    auto series = std::find_if(lines_.series.begin(), lines_.series.end(), [&](const auto& one) { return one.name == line; });
    if (series == lines_.series.end()) series = lines_.series.insert(lines_.series.end(), {.name = line, .points = {}});
    series->points.push_back({value_of(cell, has_message_time ? "imbalance_factor" : "spread").median, value_of(cell, "mean_elapsed")});

    // Takes one call of the last algorithm on the command line, for the widest spread.
    const double spread = value_of(cell, "spread").median;
    if (measured.identity.algorithm != sweep_.algorithms.back() || spread <= gantt_spread_) return;
    gantt_ = gantt_of(measured);
    gantt_spread_ = spread;
}

void Report::finish() {
    printer_.finish();
    if (raw_) raw_->close();
    if (!sweep_.plot.empty()) write_svg(sweep_.plot, lines_, gantt_);
}

}  // namespace rollcall::bench
