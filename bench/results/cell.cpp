#include "bench/results/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <ostream>
#include <rollcall/error.hpp>

#include "foundation/units.hpp"
#include "runtime/group/call.hpp"

namespace rollcall::bench {
namespace {

/// A row of the measures that collective_cell takes from Metrics, in the order in which they are printed.
struct Measure {
    const char* name;
    Unit unit;
    double Metrics::*member;
    bool in_table;
    bool of_broadcasts = false;
};
constexpr Measure kMeasures[] = {
    {"run_time", Unit::seconds, &Metrics::run_time, true},
    {"mean_elapsed", Unit::seconds, &Metrics::mean_elapsed, true},
    {"worst_elapsed", Unit::seconds, &Metrics::worst_elapsed, true},
    {"last_delay", Unit::seconds, &Metrics::last_delay, true},
    {"spread", Unit::seconds, &Metrics::spread, true},
    {"imbalance_factor", Unit::ratio, &Metrics::imbalance_factor, true},
    {"performance_ratio", Unit::ratio, &Metrics::performance_ratio, true, true},
    {"mean_deviation", Unit::seconds, &Metrics::mean_deviation, false},
    {"average_imbalance_factor", Unit::ratio, &Metrics::average_imbalance_factor, false},
    {"lower_bound", Unit::seconds, &Metrics::lower_bound, false, true},
};

/// If an interval is wider than this percentage of the median, the text shows both of its ends instead of a percentage.
constexpr double kLargestPercentage = 100;
/// Rounding errors of the division up to this size do not raise a whole percentage to the next one.
constexpr double kRounding = 1e-6;

std::string per_second(double value, std::string_view what) {
    constexpr std::pair<double, const char*> units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    for (const auto& [size, prefix] : units)
        if (value >= size) return fmt::format("{:.3g} {}{}", value / size, prefix, what);
    return fmt::format("{:.3g} {}", value, what);
}

std::string human(Unit unit, double value) {
    if (!std::isfinite(value)) return "-";
    switch (unit) {
        case Unit::seconds: return value < 0 ? "-" + format_duration(-value) : format_duration(value);
        case Unit::ratio: return fmt::format("{:.3g}", value);
        case Unit::bytes_per_second: return per_second(value, "B/s");
        case Unit::per_second: return per_second(value, "/s");
    }
    return {};
}

std::string human(const Metric& metric) {
    const Estimate& value = metric.value;
    const double half = std::max(value.high - value.median, value.median - value.low);
    std::string text = human(metric.unit, value.median);
    if (!std::isfinite(half) || half == 0) return text;
    const double percent = 100 * half / std::abs(value.median);  // infinite if the median is 0
    if (percent > kLargestPercentage) return text + fmt::format(" [{}, {}]", human(metric.unit, value.low), human(metric.unit, value.high));
    if (percent <= kRounding) return text;
    return text + fmt::format(" ±{:.0f}%", std::ceil(percent - kRounding));
}

/// The columns that are printed once, above the table, if all rows agree.
constexpr std::string_view kCommon[] = {"operation",        "transport",         "ranks", "iterations", "model", "compute", "predictor",
                                        "prediction_noise", "unpredicted_calls", "paper", "base",       "pairs", "window"};

/// The columns that a narrow screen does not show, from the least important one on. mean_elapsed and its quotient are always shown, and
/// run_time where there is no mean_elapsed.
const std::vector<std::string> kLeastImportant = {"fastest_ratio",
                                                  "imbalance_factor",
                                                  "worst_elapsed",
                                                  "performance_ratio",
                                                  "competitive_ratio",
                                                  "unpredicted_calls",
                                                  "last_delay",
                                                  "background",
                                                  "lost",
                                                  "spread",
                                                  "run_time",
                                                  "prediction_error",
                                                  "pattern_error",
                                                  "elapsed_over_first",
                                                  "elapsed"};

output::Row file_row(const Cell& cell) {
    const CellIdentity& identity = cell.identity;
    output::Row row;
    row.emplace_back("operation", identity.operation);
    row.emplace_back("algorithm", identity.algorithm);
    row.emplace_back("transport", identity.transport);
    row.emplace_back("ranks", identity.ranks);
    row.emplace_back("bytes", identity.bytes);
    row.emplace_back("pattern", identity.pattern);
    row.emplace_back("iterations", identity.iterations);
    for (const Metric& metric : cell.metrics)
        row.emplace_back(metric.name, output::Interval{metric.value.median, metric.value.low, metric.value.high, metric.is_mean});
    for (const auto& [key, note] : cell.notes) row.emplace_back(key, note);
    return row;
}

/// Converts every value to text, because output::Interval would show ratios as durations.
output::Row text_row(const Cell& cell) {
    const CellIdentity& identity = cell.identity;
    output::Row row;
    row.emplace_back("operation", identity.operation);
    row.emplace_back("transport", identity.transport);
    row.emplace_back("ranks", std::to_string(identity.ranks));
    row.emplace_back("iterations", std::to_string(identity.iterations));
    for (const auto& [key, note] : cell.notes) row.emplace_back(key, note);
    row.emplace_back("algorithm", identity.algorithm);
    row.emplace_back("bytes", format_bytes(identity.bytes));
    row.emplace_back("pattern", identity.pattern);
    for (const Metric& metric : cell.metrics)
        if (metric.in_table) row.emplace_back(metric.name, human(metric));
    return row;
}

/// The mean over all calls. If another rank is late in each call, the times of calls are of several kinds, and the median shows only one.
Metric mean_elapsed_of(const std::vector<Metrics>& calls) {
    std::vector<double> values;
    for (const Metrics& call : calls) values.push_back(call.mean_elapsed);
    return {.name = "elapsed", .unit = Unit::seconds, .value = estimate_mean(values), .is_mean = true};
}

/// Returns the text of a column, or null if the row has no such column.
const std::string* text_of(const output::Row& row, std::string_view column) {
    const auto found = std::find_if(row.begin(), row.end(), [&](const auto& entry) { return entry.first == column; });
    return found == row.end() ? nullptr : std::get_if<std::string>(&found->second.held());
}

/// Whether rows with the same text in the column `of` have the same text in this column, so that this column need not be seen.
bool follows(const std::vector<output::Row>& rows, std::string_view of, std::string_view column) {
    std::map<std::string, std::string> known;
    return std::all_of(rows.begin(), rows.end(), [&](const output::Row& row) {
        const std::string *cause = text_of(row, of), *text = text_of(row, column);
        return cause != nullptr && text != nullptr && known.try_emplace(*cause, *text).first->second == *text;
    });
}

}  // namespace

std::ostream& explanations(output::Format format) { return format == output::Format::text ? std::cout : std::cerr; }

Metric metric(std::string name, Unit unit, std::span<const double> samples, bool in_table) {
    return {std::move(name), unit, estimate(samples), in_table};
}

Metric constant(std::string name, Unit unit, double value, bool in_table) {
    return {std::move(name), unit, {value, value, value}, in_table};
}

Metric undefined(std::string name, Unit unit) { return constant(std::move(name), unit, std::numeric_limits<double>::quiet_NaN()); }

Cell collective_cell(CellIdentity identity, const CallSetup& setup, std::span<const CallSample> samples) {
    std::vector<Metrics> calls;
    std::vector<double> largest_errors, rms_errors, message_times;
    CallSetup own = setup;
    for (const CallSample& sample : samples) {
        const auto ranks = static_cast<std::size_t>(std::max(identity.ranks, 0));
        if (sample.asked.size() != ranks || sample.arrivals.size() != ranks || sample.exits.size() != ranks)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("iteration {} of {} {} has {} delays, {} arrivals and {} exits, but there are {} ranks",
                                    sample.iteration, identity.operation, identity.algorithm, sample.asked.size(), sample.arrivals.size(),
                                    sample.exits.size(), identity.ranks));
        own.message_time = message_time_of(sample, setup);
        message_times.push_back(static_cast<double>(own.message_time) / 1e9);
        calls.push_back(measure(sample.arrivals, sample.exits, own));
        const PatternError error = pattern_error(sample.asked, sample.arrivals, sample.start);
        largest_errors.push_back(error.maximum);
        rms_errors.push_back(error.rms);
    }
    Cell cell;
    cell.identity = std::move(identity);
    cell.identity.iterations = samples.size();
    std::vector<double> values(calls.size());
    for (const Measure& row : kMeasures) {
        if (row.of_broadcasts && cell.identity.operation != runtime::name(runtime::OperationKind::broadcast)) continue;
        std::transform(calls.begin(), calls.end(), values.begin(), [&](const Metrics& call) { return call.*row.member; });
        cell.metrics.push_back(metric(row.name, row.unit, values, row.in_table));
        if (row.member == &Metrics::last_delay) cell.metrics.push_back(mean_elapsed_of(calls));
    }
    const auto after_ratio = std::find_if(cell.metrics.begin(), cell.metrics.end(), [](const Metric& m) { return !m.in_table; });
    cell.metrics.insert(after_ratio, metric("pattern_error", Unit::seconds, largest_errors));
    cell.metrics.push_back(metric("pattern_error_rms", Unit::seconds, rms_errors, false));
    cell.metrics.push_back(metric("message_time", Unit::seconds, message_times, false));
    cell.notes.emplace_back("model", name(setup.model));
    if (!setup.landing.empty()) cell.notes.emplace_back("landing", setup.landing);
    return cell;
}

Metric prediction_error(std::span<const CallSample> samples) {
    std::vector<double> of_calls;
    for (const CallSample& sample : samples) {
        std::vector<double> of_ranks;
        for (std::size_t rank = 0; rank < sample.predicted.size(); ++rank)
            if (sample.predicted[rank] != kNoTime)
                of_ranks.push_back(std::abs(static_cast<double>(sample.predicted[rank] - sample.arrivals[rank])) * 1e-9);
        if (!of_ranks.empty()) of_calls.push_back(estimate(of_ranks).median);
    }
    if (of_calls.empty()) of_calls.push_back(std::numeric_limits<double>::quiet_NaN());
    return metric("prediction_error", Unit::seconds, of_calls);
}

std::size_t unpredicted_calls(std::span<const CallSample> samples) {
    return static_cast<std::size_t>(std::count_if(samples.begin(), samples.end(), [](const CallSample& sample) {
        return std::all_of(sample.predicted.begin(), sample.predicted.end(), [](Nanoseconds time) { return time == kNoTime; });
    }));
}

ElapsedTimes elapsed_times(std::span<const CallSample> calls, const CallSetup& setup) {
    ElapsedTimes times;
    for (const CallSample& call : calls) times[call.iteration] = measure(call.arrivals, call.exits, setup).mean_elapsed;
    return times;
}

std::vector<Metric> comparisons(const ElapsedTimes& times, const ElapsedTimes& first) {
    std::vector<double> own, others, quotients;
    for (const auto& [iteration, time] : times) {
        const auto partner = first.find(iteration);
        if (partner == first.end() || partner->second <= 0) continue;
        own.push_back(time);
        others.push_back(partner->second);
        quotients.push_back(time / partner->second);
    }
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const Estimate none{kNone, kNone, kNone};
    return {{.name = "over_first", .unit = Unit::ratio, .value = quotients.empty() ? none : estimate(quotients)},
            {.name = "elapsed_over_first",
             .unit = Unit::ratio,
             .value = quotients.empty() ? none : estimate_ratio_of_means(own, others),
             .is_mean = true}};
}

CellPrinter::CellPrinter(std::ostream& out, output::Format format, std::size_t columns)
    : out_(out), format_(format), columns_(columns), table_(out, format) {}

void CellPrinter::add(const Cell& cell) {
    if (format_ == output::Format::text) {
        rows_.push_back(text_row(cell));
    } else {
        table_.add(file_row(cell));
    }
}

void CellPrinter::finish() {
    std::string heading;
    for (const std::string_view column : kCommon) {
        if (rows_.empty()) break;
        const std::string* text = text_of(rows_.front(), column);
        const bool is_common = text != nullptr && std::all_of(rows_.begin(), rows_.end(), [&](const output::Row& row) {
                                   const std::string* other = text_of(row, column);
                                   return other != nullptr && *other == *text;
                               });
        if (!is_common) continue;
        const std::string part = fmt::format("{}: {}", column, *text);
        if (!heading.empty()) heading += heading.size() - (heading.rfind('\n') + 1) + part.size() + 2 > columns_ ? ",\n" : ", ";
        heading += part;
        for (output::Row& row : rows_) std::erase_if(row, [&](const auto& entry) { return entry.first == column; });
    }
    if (!heading.empty()) out_ << heading << '\n';
    std::vector<std::string> least_important;
    for (const char* column : {"transport", "model"})
        if (follows(rows_, "algorithm", column) || follows(rows_, "landing", column)) least_important.emplace_back(column);
    least_important.insert(least_important.end(), kLeastImportant.begin(), kLeastImportant.end());
    if (!rows_.empty() && text_of(rows_.front(), "mean_elapsed") == nullptr) std::erase(least_important, "run_time");
    table_.fit(columns_, least_important);
    for (const output::Row& row : rows_) table_.add(row);
    rows_.clear();
    table_.finish();
}

}  // namespace rollcall::bench
