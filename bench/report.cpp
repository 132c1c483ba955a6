#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/settings/settings.hpp"

namespace rollcall::bench {
namespace {

const Estimate& value_of(const Cell& cell, std::string_view name) {
    return std::find_if(cell.metrics.begin(), cell.metrics.end(), [&](const Metric& m) { return m.name == name; })->value;
}

/// The call whose mean elapsed time is the median.
const Call& median_call(const Measured& measured) {
    std::vector<std::pair<double, const Call*>> order;
    for (const Call& call : measured.calls)
        order.emplace_back(measure(call.times.arrivals, call.times.exits, measured.setup).mean_elapsed, &call);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>((order.size() - 1) / 2);
    std::nth_element(order.begin(), middle, order.end());
    return *middle->second;
}

GanttChart gantt_of(const Measured& measured) {
    const Call& call = median_call(measured);
    GanttChart chart;
    chart.title =
        fmt::format("{}, {}, {}: call {}, the median of {}", measured.identity.algorithm, runtime::format_bytes(measured.identity.bytes),
                    measured.identity.pattern, call.times.iteration, measured.calls.size());
    for (int rank = 0; rank < measured.identity.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        const bool is_root = rank == measured.setup.root;
        GanttChart::Row row{.label = fmt::format("{}{}", rank, is_root ? " (root)" : ""),
                            .arrival = call.times.arrivals[r],
                            .exit = call.times.exits[r],
                            .transfers = {}};
        // The root has nothing to wait for but its own sends.
        if (is_root)
            row.transfers.push_back({row.arrival, row.exit});
        else if (call.first_data[r] > 0)
            row.transfers.push_back({call.first_data[r], row.exit});
        chart.rows.push_back(std::move(row));
    }
    return chart;
}

}  // namespace

Report::Report(const Sweep& sweep, std::ostream& out)
    : plot_(sweep.plot), plotted_bytes_(*std::max_element(sweep.sizes.begin(), sweep.sizes.end())), printer_(out, sweep.format) {
    if (!sweep.raw.empty()) raw_.emplace(sweep.raw);
    lines_.title = fmt::format("broadcast of {} to {} ranks: time against imbalance", runtime::format_bytes(plotted_bytes_), sweep.ranks);
    lines_.y = {"mean elapsed time", true};
}

void Report::add(const Measured& measured) {
    std::vector<CallSample> samples;
    for (const Call& call : measured.calls) samples.push_back(call.times);
    Cell cell = collective_cell(measured.identity, measured.setup, samples);
    cell.notes.insert(cell.notes.end(), measured.notes.begin(), measured.notes.end());
    printer_.add(cell);
    if (raw_)
        for (const CallSample& sample : samples) raw_->append(cell.identity, measured.setup, sample);
    if (!plot_.empty() && measured.identity.bytes == plotted_bytes_) keep_for_plot(measured, cell);
}

void Report::keep_for_plot(const Measured& measured, const Cell& cell) {
    const bool has_message_time = measured.setup.message_time > 0;
    lines_.x =
        has_message_time ? Axis{"imbalance factor: spread of the arrivals in message times", false} : Axis{"spread of the arrivals", true};
    auto series =
        std::find_if(lines_.series.begin(), lines_.series.end(), [&](const auto& one) { return one.name == measured.identity.algorithm; });
    if (series == lines_.series.end())
        series = lines_.series.insert(lines_.series.end(), {.name = measured.identity.algorithm, .points = {}});
    series->points.push_back({value_of(cell, has_message_time ? "imbalance_factor" : "spread").median, value_of(cell, "mean_elapsed")});

    // One call of the first algorithm that knows arrivals, or else of the first one, with the widest spread.
    const bool knows_arrivals = measured.identity.algorithm.starts_with("arrival_");
    const double spread = value_of(cell, "spread").median;
    const bool better_algorithm = gantt_algorithm_.empty() || (knows_arrivals && !gantt_knows_arrivals_);
    if (!better_algorithm && (measured.identity.algorithm != gantt_algorithm_ || spread <= gantt_spread_)) return;
    gantt_ = gantt_of(measured);
    gantt_algorithm_ = measured.identity.algorithm;
    gantt_knows_arrivals_ = knows_arrivals;
    gantt_spread_ = spread;
}

void Report::finish() {
    printer_.finish();
    if (raw_) raw_->close();
    if (!plot_.empty()) write_svg(plot_, lines_, gantt_);
}

}  // namespace rollcall::bench
