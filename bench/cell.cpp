#include "bench/cell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <rollcall/error.hpp>

#include "bench/csv.hpp"
#include "runtime/settings/quote.hpp"
#include "runtime/settings/settings.hpp"

namespace rollcall::bench {
namespace {

/// A row of measures that collective_cell takes out of Metrics, in the order in which they are printed.
struct Measure {
    const char* name;
    Unit unit;
    double Metrics::*member;
    bool in_table;
};
constexpr Measure kMeasures[] = {
    {"run_time", Unit::seconds, &Metrics::run_time, true},
    {"mean_elapsed", Unit::seconds, &Metrics::mean_elapsed, true},
    {"worst_elapsed", Unit::seconds, &Metrics::worst_elapsed, true},
    {"last_delay", Unit::seconds, &Metrics::last_delay, true},
    {"spread", Unit::seconds, &Metrics::spread, true},
    {"imbalance_factor", Unit::ratio, &Metrics::imbalance_factor, true},
    {"competitive_ratio", Unit::ratio, &Metrics::competitive_ratio, true},
    {"mean_deviation", Unit::seconds, &Metrics::mean_deviation, false},
    {"average_imbalance_factor", Unit::ratio, &Metrics::average_imbalance_factor, false},
    {"lower_bound", Unit::seconds, &Metrics::lower_bound, false},
};

/// Beyond this an interval is shown as a multiple of the median instead of as a percentage.
constexpr double kLargestPercentage = 999;

std::string human(Unit unit, double value) {
    if (!std::isfinite(value)) return "-";
    switch (unit) {
        case Unit::seconds:
            return value < 0 ? "-" + runtime::format_duration(-value) : runtime::format_duration(value);
        case Unit::ratio:
            return fmt::format("{:.3g}", value);
        case Unit::bytes_per_second: {
            constexpr std::pair<double, const char*> units[] = {
                {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}};
            for (const auto& [size, suffix] : units)
                if (value >= size) return fmt::format("{:.3g} {}", value / size, suffix);
            return fmt::format("{:.3g} B/s", value);
        }
    }
    return {};
}

std::string human(const Metric& metric) {
    const Estimate& value = metric.value;
    const double half = std::max(value.high - value.median, value.median - value.low);
    std::string text = human(metric.unit, value.median);
    if (!std::isfinite(half) || half == 0 || value.median == 0) return text;
    const double percent = 100 * half / std::abs(value.median);
    if (percent > kLargestPercentage) return text + fmt::format(" ±{:.0f}x", percent / 100);
    return text + fmt::format(" ±{:.0f}%", std::ceil(percent));
}

/// Columns a text takes on a terminal, for UTF-8 without wide characters.
std::size_t display_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string exact(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

bool same_columns(const Cell& one, const Cell& other) {
    return std::equal(one.metrics.begin(), one.metrics.end(), other.metrics.begin(), other.metrics.end(),
                      [](const Metric& a, const Metric& b) { return a.name == b.name; }) &&
           std::equal(one.notes.begin(), one.notes.end(), other.notes.begin(), other.notes.end(),
                      [](const auto& a, const auto& b) { return a.first == b.first; });
}

struct Column {
    std::string heading;
    std::vector<std::string> texts;
    bool is_number = true;   // aligned to the right
    bool may_hoist = false;  // moves above the table when it is the same in every row
};

std::vector<Column> table_columns(const std::vector<Cell>& cells) {
    std::vector<Column> columns;
    const auto column = [&](std::string heading, bool is_number, bool may_hoist, auto&& text_of) {
        Column result{std::move(heading), {}, is_number, may_hoist};
        for (const Cell& cell : cells) result.texts.push_back(text_of(cell));
        columns.push_back(std::move(result));
    };
    column("operation", false, true, [](const Cell& cell) { return cell.identity.operation; });
    column("transport", false, true, [](const Cell& cell) { return cell.identity.transport; });
    column("ranks", true, true, [](const Cell& cell) { return std::to_string(cell.identity.ranks); });
    column("iterations", true, true, [](const Cell& cell) { return std::to_string(cell.identity.iterations); });
    for (std::size_t i = 0; i < cells.front().notes.size(); ++i)
        column(cells.front().notes[i].first, false, true, [i](const Cell& cell) { return cell.notes[i].second; });
    column("algorithm", false, false, [](const Cell& cell) { return cell.identity.algorithm; });
    column("bytes", true, false, [](const Cell& cell) { return runtime::format_bytes(cell.identity.bytes); });
    column("pattern", false, false, [](const Cell& cell) { return cell.identity.pattern; });
    for (std::size_t i = 0; i < cells.front().metrics.size(); ++i)
        if (cells.front().metrics[i].in_table)
            column(cells.front().metrics[i].name, true, false,
                   [i](const Cell& cell) { return human(cell.metrics[i]); });
    return columns;
}

}  // namespace

Metric metric(std::string name, Unit unit, std::span<const double> samples, bool in_table) {
    return {std::move(name), unit, estimate(samples), in_table};
}

Cell collective_cell(CellIdentity identity, const CallSetup& setup, std::span<const CallSample> samples) {
    std::vector<Metrics> calls;
    std::vector<double> largest_errors, rms_errors;
    for (const CallSample& sample : samples) {
        const auto ranks = static_cast<std::size_t>(std::max(identity.ranks, 0));
        if (sample.asked.size() != ranks || sample.arrivals.size() != ranks || sample.exits.size() != ranks)
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format("iteration {} of {} {} has {} delays, {} arrivals and {} exits, but there are {} ranks",
                            sample.iteration, identity.operation, identity.algorithm, sample.asked.size(),
                            sample.arrivals.size(), sample.exits.size(), identity.ranks));
        calls.push_back(measure(sample.arrivals, sample.exits, setup));
        const PatternError error = pattern_error(sample.asked, sample.arrivals, sample.start);
        largest_errors.push_back(error.maximum);
        rms_errors.push_back(error.rms);
    }
    Cell cell;
    cell.identity = std::move(identity);
    cell.identity.iterations = samples.size();
    std::vector<double> values(calls.size());
    for (const Measure& row : kMeasures) {
        std::transform(calls.begin(), calls.end(), values.begin(),
                       [&](const Metrics& call) { return call.*row.member; });
        cell.metrics.push_back(metric(row.name, row.unit, values, row.in_table));
    }
    const auto after_ratio =
        std::find_if(cell.metrics.begin(), cell.metrics.end(), [](const Metric& m) { return !m.in_table; });
    cell.metrics.insert(after_ratio, metric("pattern_error", Unit::seconds, largest_errors));
    cell.metrics.push_back(metric("pattern_error_rms", Unit::seconds, rms_errors, false));
    const double message_time = static_cast<double>(setup.message_time) / 1e9;
    cell.metrics.push_back({"message_time", Unit::seconds, {message_time, message_time, message_time}, false});
    cell.notes.emplace_back("model", name(setup.model));
    return cell;
}

Format parse_format(std::string_view text) {
    if (text == "text") return Format::text;
    if (text == "csv") return Format::csv;
    if (text == "json") return Format::json;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("unknown format {}; allowed: text, csv, json", runtime::quote(text)));
}

CellPrinter::CellPrinter(std::ostream& out, Format format) : out_(out), format_(format) {}

void CellPrinter::add(const Cell& cell) {
    if (!cells_.empty() && !same_columns(cells_.front(), cell))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the metrics of {} {} are not those of the cell before it, {} {}: print them apart",
                                cell.identity.operation, cell.identity.algorithm, cells_.front().identity.operation,
                                cells_.front().identity.algorithm));
    const bool is_first = cells_.empty();
    if (format_ == Format::text || is_first) cells_.push_back(cell);
    if (format_ == Format::text) return;
    if (format_ == Format::csv && is_first) {
        std::vector<std::string> heading{"operation", "algorithm", "transport", "ranks",
                                         "bytes",     "pattern",   "iterations"};
        for (const Metric& metric : cell.metrics)
            for (const char* part : {"median", "low", "high"})
                heading.push_back(fmt::format("{}_{}", metric.name, part));
        for (const auto& note : cell.notes) heading.push_back(note.first);
        out_ << csv_line(heading) << '\n';
    }
    if (format_ == Format::csv) print_csv(cell);
    if (format_ == Format::json) print_json(cell);
    out_.flush();  // whoever reads along sees each cell when it is done
}

void CellPrinter::finish() {
    if (format_ == Format::text && !cells_.empty()) print_table();
    out_.flush();
}

void CellPrinter::print_csv(const Cell& cell) {
    const CellIdentity& identity = cell.identity;
    std::vector<std::string> fields{identity.operation,
                                    identity.algorithm,
                                    identity.transport,
                                    std::to_string(identity.ranks),
                                    std::to_string(identity.bytes),
                                    identity.pattern,
                                    std::to_string(identity.iterations)};
    for (const Metric& metric : cell.metrics)
        for (const double value : {metric.value.median, metric.value.low, metric.value.high})
            fields.push_back(exact(value));
    for (const auto& note : cell.notes) fields.push_back(note.second);
    out_ << csv_line(fields) << '\n';
}

void CellPrinter::print_json(const Cell& cell) {
    const CellIdentity& identity = cell.identity;
    nlohmann::ordered_json object{{"operation", identity.operation},  {"algorithm", identity.algorithm},
                                  {"transport", identity.transport},  {"ranks", identity.ranks},
                                  {"bytes", identity.bytes},          {"pattern", identity.pattern},
                                  {"iterations", identity.iterations}};
    for (const Metric& metric : cell.metrics)
        object[metric.name] = {{"median", metric.value.median}, {"low", metric.value.low}, {"high", metric.value.high}};
    for (const auto& note : cell.notes) object[note.first] = note.second;
    // A path in a pattern may hold bytes that are no UTF-8: replaced, rather than losing the results.
    out_ << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

void CellPrinter::print_table() {
    std::vector<Column> columns = table_columns(cells_);
    std::string heading;
    std::erase_if(columns, [&](const Column& column) {
        const bool is_constant = std::all_of(column.texts.begin(), column.texts.end(),
                                             [&](const std::string& text) { return text == column.texts.front(); });
        if (!column.may_hoist || !is_constant) return false;
        heading += fmt::format("{}{}: {}", heading.empty() ? "" : ", ", column.heading, column.texts.front());
        return true;
    });
    if (!heading.empty()) out_ << heading << '\n';

    std::vector<std::size_t> widths;
    for (const Column& column : columns) {
        widths.push_back(column.heading.size());
        for (const std::string& text : column.texts) widths.back() = std::max(widths.back(), display_width(text));
    }
    const auto print_row = [&](auto&& text_of) {
        std::string line;
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::string& text = text_of(columns[i]);
            const std::string padding(widths[i] - display_width(text), ' ');
            line += (i > 0 ? "  " : "") + (columns[i].is_number ? padding + text : text + padding);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out_ << line << '\n';
    };
    print_row([](const Column& column) -> const std::string& { return column.heading; });
    for (std::size_t row = 0; row < cells_.size(); ++row)
        print_row([row](const Column& column) -> const std::string& { return column.texts[row]; });
}

}  // namespace rollcall::bench
