#include "bench/commands/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcall::bench {
Report::Report(const Sweep& sweep, std::ostream& out)
    : sweep_(sweep), printer_(out, sweep.format, sweep.patterns.size() > 1), pictures_(sweep) {
    if (!sweep.raw.empty()) raw_.emplace(sweep.raw);
}

void Report::add(Measured measured) {
    Cell cell = collective_cell(measured.identity, measured.setup, measured.calls);
    if (sweep_.phases) {
        const auto files_only = std::find_if(cell.metrics.begin(), cell.metrics.end(), [](const Metric& m) { return !m.in_table; });
        cell.metrics.insert(files_only, prediction_error(measured.calls));
        cell.notes.emplace_back("unpredicted_calls", std::to_string(unpredicted_calls(measured.calls)));
        for (auto& note : sweep_.phases->notes()) cell.notes.push_back(std::move(note));
    }
    if (!sweep_.paper) {
        const auto after = std::find_if(cell.metrics.begin(), cell.metrics.end(), [](const Metric& m) { return m.name == "elapsed"; });
        const std::vector<Metric> compared = compare_with_first(measured);
        cell.metrics.insert(after + 1, compared.begin(), compared.end());
    }
    cell.notes.insert(cell.notes.end(), measured.notes.begin(), measured.notes.end());
    if (raw_)
        for (const CallSample& call : measured.calls) raw_->append(cell.identity, measured.setup, call);
    if (raw_) raw_->flush();
    if (!sweep_.plot.empty()) pictures_.add(measured, cell);
    if (sweep_.paper && measured.identity.algorithm == sweep_.paper->base) {
        base_ = std::move(measured.calls);
        return;
    }
    if (sweep_.paper) compare(cell, *sweep_.paper, measured.calls, base_);
    if (sweep_.as_in_paper && !sweep_.paper)
        for (Metric& metric : cell.metrics) metric.in_table = metric.name == "run_time" || metric.name == "last_delay";
    printer_.add(std::move(cell));
    has_cells_ = true;
}

std::vector<Metric> Report::compare_with_first(const Measured& measured) {
    std::string key =
        fmt::format("{} {} {} {}", measured.identity.ranks, measured.identity.bytes, measured.setup.landing, measured.identity.pattern);
    for (const auto& [name, note] : measured.notes)
        if (name == "sizes") key += " " + note;
    const ElapsedTimes times = elapsed_times(measured.calls, measured.setup);
    std::vector<Metric> metrics = comparisons(times, first_.try_emplace(key, times).first->second);
    for (Metric& metric : metrics) metric.in_table = sweep_.has_peers || sweep_.algorithms.size() > 1;
    return metrics;
}

void Report::finish() {
    printer_.finish();
    if (raw_) raw_->close();
    if (!sweep_.plot.empty() && has_cells_) write_picture(sweep_.plot, pictures_.picture());
}

void Report::finish_after(const std::function<void()>& work) {
    try {
        work();
    } catch (...) {
        printer_.finish(true);
        throw;
    }
    finish();
}

}  // namespace rollcall::bench
