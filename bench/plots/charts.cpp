#include "bench/plots/charts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <rollcall/error.hpp>
#include <string_view>
#include <utility>

namespace rollcall::bench {
namespace {

// The palette of Okabe and Ito. Its colours can be told apart with every common form of colour blindness. Its yellow is left out, because
// it is invisible on white. Point shapes and dashes tell lines apart in black and white as well.
constexpr std::array kColours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
constexpr std::array kPoints = {7, 5, 9, 11, 13, 4, 6};  // filled circle, square, triangles, diamond; open square, circle
constexpr std::array kFills = {"solid 0.8", "pattern 2", "pattern 1", "pattern 4"};
constexpr const char* kBarInterval = "#404040";
constexpr const char* kWaitColour = "#F0B940";
constexpr const char* kTransferColour = "#0072B2";
constexpr const char* kBeforeColour = "#D0D0D0";

// In pixels.
constexpr int kLeftMargin = 115;
constexpr int kPlotWidth = 640;
/// A legend has room for its line, and for this many pixels for each character.
constexpr int kLeastLegendWidth = 245, kLegendLine = 60, kCharacterWidth = 8;
constexpr int kTopMargin = 60, kBottomMargin = 85;
constexpr int kLineChartHeight = 540;
constexpr int kRowHeight = 28;
constexpr int kFrame = kTopMargin + kBottomMargin;  // title, axis and its label
constexpr int kLargestGantt = 1400;
/// Height of one entry of a legend. If a chart were lower than its legend, gnuplot would break the legend into columns outside the picture.
constexpr int kLegendEntry = 28;
constexpr int kGanttLegend = 5;  // entries

/// If the positive values of an axis without marks span more than this factor, the axis is logarithmic. A linear axis would press most of
/// them together. Values with marks (sizes, numbers of ranks) usually grow by a factor.
constexpr double kLogarithmicSpan = 20;
/// With more rows than this there is no room for a label for each.
constexpr std::size_t kMostRowLabels = 48;
/// The distance of the marks of arrival and exit from the middle of a row of height 1.
constexpr double kMarkOffset = 0.3;
/// With more rows than this there is no room for the marks of arrival and exit.
constexpr std::size_t kMostMarkedRows = 128;

struct TimeUnit {
    double seconds;
    const char* name;
};

/// Returns the largest unit in which the largest value is at least 1.
TimeUnit time_unit(double largest_seconds) {
    constexpr std::array<TimeUnit, 4> units{{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
    for (const TimeUnit& unit : units)
        if (largest_seconds >= unit.seconds) return unit;
    return units.back();
}

/// Returns a string literal of gnuplot in which no character has a special meaning.
std::string gnuplot_string(std::string_view text) {
    std::string result = "'";
    for (const char c : text) {
        if (c == '\'') result += '\'';
        result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return result + "'";
}

/// The range of one axis, and the mapping of values onto it.
struct Scale {
    double unit = 1;
    std::string label;
    bool is_logarithmic = false;
    double low = 0, high = 1;  // in units
    double zero_at = 0;        // position of zeros on a logarithmic axis
    std::vector<std::pair<std::string, double>> marks = {};

    double place(double value) const {
        const double scaled = value / unit;
        return is_logarithmic && scaled <= 0 ? zero_at : scaled;
    }
};

Scale make_scale(const Axis& axis, const std::vector<double>& values, bool may_show_zero) {
    Scale scale;
    scale.label = axis.label;
    scale.marks = axis.marks;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    if (axis.is_time) {
        const TimeUnit unit = time_unit(*most);
        scale.unit = unit.seconds;
        scale.label += fmt::format(" [{}]", unit.name);
    }
    const double low = *least / scale.unit, high = *most / scale.unit;
    double least_positive = std::numeric_limits<double>::infinity();
    bool has_zero = false;
    for (const double value : values) {
        if (value > 0) least_positive = std::min(least_positive, value / scale.unit);
        has_zero = has_zero || value == 0;
    }
    const double span = axis.marks.empty() ? kLogarithmicSpan : 1;
    scale.is_logarithmic = low >= 0 && high > span * least_positive && (may_show_zero || !has_zero);
    if (scale.is_logarithmic) {
        scale.zero_at = least_positive / 3;
        scale.low = (has_zero ? scale.zero_at : least_positive) / 1.3;
        scale.high = high * 1.3;
        if (!has_zero) scale.zero_at = 0;
    } else {
        const double margin = high > low ? 0.04 * (high - std::min(0.0, low)) : 1;
        scale.low = low < 0 ? low - margin : 0;
        scale.high = high + margin;
    }
    return scale;
}

/// Returns marks at 1, 2, 5, 10, ... for a logarithmic axis, or at powers of ten if there would be too many.
std::string logarithmic_marks(const Scale& scale) {
    constexpr double kMostDecadesWithSteps = 3.5;
    std::vector<double> steps{1};
    if (std::log10(scale.high / scale.low) < kMostDecadesWithSteps) steps = {1, 2, 5};
    std::string marks;
    const auto add = [&](std::string_view label, double at) {
        marks += fmt::format("{}{} {:.10g}", marks.empty() ? "" : ", ", gnuplot_string(label), at);
    };
    const double first_real = scale.zero_at > 0 ? scale.zero_at * 2 : scale.low;
    if (scale.zero_at > 0) add("0", scale.zero_at);
    for (int exponent = static_cast<int>(std::floor(std::log10(scale.low))); exponent <= std::log10(scale.high); ++exponent)
        for (const double step : steps) {
            const double at = step * std::pow(10.0, exponent);
            if (at >= first_real && at <= scale.high) add(fmt::format("{:g}", at), at);
        }
    return marks;
}

std::string axis_commands(char axis, const Scale& scale) {
    std::string text = fmt::format("set {}label {}\nset {}range [{}:{}]\n", axis, gnuplot_string(scale.label), axis, scale.low, scale.high);
    if (scale.is_logarithmic) text += fmt::format("set logscale {}\n", axis);
    if (!scale.marks.empty()) {
        std::vector<std::string> marks;
        for (const auto& [mark, value] : scale.marks) marks.push_back(fmt::format("{} {:.10g}", gnuplot_string(mark), scale.place(value)));
        text += fmt::format("set {}tics ({})\n", axis, fmt::join(marks, ", "));
    } else if (scale.is_logarithmic) {
        text += fmt::format("set {}tics ({})\n", axis, logarithmic_marks(scale));
    }
    if (!scale.is_logarithmic) text += fmt::format("unset logscale {}\n", axis);
    if (!scale.is_logarithmic && scale.marks.empty()) text += fmt::format("set {}tics autofreq\n", axis);
    return text;
}

bool is_finite(const LineChart::Point& point) {
    return std::isfinite(point.x) && std::isfinite(point.y.median) && std::isfinite(point.y.low) && std::isfinite(point.y.high);
}

/// The step between rows with a label: 1, 2, 5, 10, 20, 50, ...
std::size_t label_step(std::size_t rows) {
    for (std::size_t decade = 1;; decade *= 10)
        for (const std::size_t digit : {1, 2, 5})
            if (rows <= kMostRowLabels * decade * digit) return decade * digit;
}

/// Draws what commands_of() has written into $line0, $line1 and so on.
std::string plot_command(const std::vector<LineChart::Series>& series, const std::vector<std::size_t>& order, bool has_lines) {
    std::vector<std::string> intervals, lines;
    for (const std::size_t i : order) {
        const char* colour = kColours[i % kColours.size()];
        const std::size_t round = i / kColours.size();
        intervals.push_back(
            series[i].points.size() > 1
                ? fmt::format("$line{} using 1:3:4 with filledcurves linecolor rgb '{}' fillstyle transparent solid "
                              "0.15 noborder notitle",
                              i, colour)
                : fmt::format("$line{} using 1:2:3:4 with yerrorbars linecolor rgb '{}' linewidth 2 pointtype 7 pointsize 0.3 notitle", i,
                              has_lines ? colour : kBarInterval));
        if (!has_lines) {
            lines.push_back(fmt::format("$line{} using 1:2 with boxes linecolor rgb '{}' fillstyle {} border title {}", i, colour,
                                        kFills[round % kFills.size()], gnuplot_string(series[i].name)));
            continue;
        }
        lines.push_back(
            fmt::format("$line{} using 1:2 with linespoints linecolor rgb '{}' linewidth 2 dashtype {} pointtype {} pointsize 0.9 "
                        "title {}",
                        i, colour, round % 4 + 1, kPoints[(i + round) % kPoints.size()], gnuplot_string(series[i].name)));
    }
    // Intervals are below lines, but above bars.
    return has_lines
               ? fmt::format("plot {}, {}\n", fmt::join(intervals, ", "), fmt::join(lines, ", "))
               : fmt::format("set boxwidth 0.7\nset pointintervalbox 0\nplot {}, {}\n", fmt::join(lines, ", "), fmt::join(intervals, ", "));
}

}  // namespace

std::string Area::commands() const {
    const auto across = [this](int pixels) { return static_cast<double>(pixels) / total_width; };
    const auto up = [this](int pixels) { return 1.0 - static_cast<double>(pixels) / total_height; };
    // Sets the positions of the margins and the legend. gnuplot's estimate of the width of a text is too rough to place them.
    return fmt::format(
               "set origin 0,0\nset size 1,1\nset lmargin at screen {}\nset rmargin at screen {}\nset tmargin at "
               "screen {}\n"
               "set bmargin at screen {}\n",
               across(kLeftMargin), across(kLeftMargin + kPlotWidth), up(top + kTopMargin), up(top + height - kBottomMargin)) +
           fmt::format(
               "set key at screen {},{} left center vertical Left reverse samplen 2.5 spacing 1.25\n"
               "set border 3\nset xtics\nset tics out nomirror\nset grid xtics ytics linecolor rgb '#E4E4E4' linetype 1\n",
               across(kLeftMargin + kPlotWidth + 10), up(top + (kTopMargin + height - kBottomMargin) / 2));
}

int height_of(const Chart& chart) {
    const auto tall_enough = [](std::size_t rows, int row_height, std::size_t legend_entries) {
        return kFrame + static_cast<int>(std::max(rows * static_cast<std::size_t>(row_height), legend_entries * kLegendEntry));
    };
    if (const auto* lines = std::get_if<LineChart>(&chart)) return std::max(kLineChartHeight, tall_enough(0, 0, lines->series.size()));
    return std::min(kLargestGantt, tall_enough(std::get<GanttChart>(chart).rows.size(), kRowHeight, kGanttLegend));
}

int width_of(const Chart& chart) {
    int legend = kLeastLegendWidth;
    if (const auto* lines = std::get_if<LineChart>(&chart))
        for (const auto& series : lines->series)
            legend = std::max(legend, kLegendLine + kCharacterWidth * static_cast<int>(series.name.size()));
    return kLeftMargin + kPlotWidth + legend;
}

std::string commands_of(const LineChart& chart, const Area& area) {
    std::vector<LineChart::Series> series = chart.series;
    std::vector<double> xs, ys;
    for (LineChart::Series& line : series) {
        std::erase_if(line.points, [](const LineChart::Point& point) { return !is_finite(point); });
        std::stable_sort(line.points.begin(), line.points.end(),
                         [](const LineChart::Point& a, const LineChart::Point& b) { return a.x < b.x; });
        for (const LineChart::Point& point : line.points) {
            xs.push_back(point.x);
            ys.insert(ys.end(), {point.y.median, point.y.low, point.y.high});
        }
    }
    if (xs.empty()) throw Error(ErrorCode::invalid_argument, "there is nothing to draw: no line has a point");
    // Colours follow the given order. The legend follows the order in which the lines end, from top to bottom.
    std::vector<std::size_t> order(series.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::erase_if(order, [&](std::size_t i) { return series[i].points.empty(); });
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return series[a].points.back().y.median > series[b].points.back().y.median; });

    const Scale x = make_scale(chart.x, xs, true);
    const Scale y = make_scale(chart.y, ys, false);
    // Lines of one point each would cover each other. They are bars, side by side.
    const bool has_lines = std::any_of(series.begin(), series.end(), [](const LineChart::Series& line) { return line.points.size() > 1; });

    std::string script = area.commands();
    script += fmt::format("set title {} font ',17'\n", gnuplot_string(chart.title));
    script += axis_commands('y', y);
    if (has_lines) {
        script += axis_commands('x', x);
    } else {
        const auto [least, most] = std::minmax_element(xs.begin(), xs.end());
        const std::string first = fmt::format("{:.3g}", *least / x.unit), last = fmt::format("{:.3g}", *most / x.unit);
        script += fmt::format("unset logscale x\nunset xtics\nset xlabel {}\nset xrange [-0.7:{}]\n",
                              gnuplot_string(x.label.empty() ? "" : x.label + ": " + (first == last ? first : first + " to " + last)),
                              static_cast<double>(order.size()) - 0.3);
    }
    for (std::size_t position = 0; position < order.size(); ++position) {
        script += fmt::format("$line{} << EOD\n", order[position]);
        for (const LineChart::Point& point : series[order[position]].points)
            script += fmt::format("{:.10g} {:.10g} {:.10g} {:.10g}\n", has_lines ? x.place(point.x) : static_cast<double>(position),
                                  y.place(point.y.median), y.place(point.y.low), y.place(point.y.high));
        script += "EOD\n";
    }

    return script + plot_command(series, order, has_lines);
}

std::string commands_of(const GanttChart& chart, const Area& area) {
    if (chart.rows.empty()) throw Error(ErrorCode::invalid_argument, "there is nothing to draw: no rank took part in the call");
    Nanoseconds begin = std::numeric_limits<Nanoseconds>::max(), end = std::numeric_limits<Nanoseconds>::min();
    for (const GanttChart::Row& row : chart.rows) {
        begin = std::min(begin, row.arrival);
        end = std::max({end, row.arrival, row.exit});
        for (const GanttChart::Interval& transfer : row.transfers) {
            begin = std::min(begin, transfer.begin);
            end = std::max(end, transfer.end);
        }
    }
    end = std::max(end, begin + chart.span);
    const TimeUnit unit = time_unit(static_cast<double>(end - begin) * 1e-9);
    const auto place = [&](Nanoseconds time) { return static_cast<double>(time - begin) * 1e-9 / unit.seconds; };
    const double width = std::max(place(end), 1e-3);
    const std::size_t rows = chart.rows.size();

    std::string before, wait, transfer, arrivals, exits;
    for (std::size_t i = 0; i < rows; ++i) {
        const GanttChart::Row& row = chart.rows[i];
        const auto box = [&](Nanoseconds from, Nanoseconds to, double half_height) {
            return fmt::format("{:.10g} {} {:.10g} {:.10g} {:.10g} {:.10g}\n", place(from), i, place(from), place(to),
                               static_cast<double>(i) - half_height, static_cast<double>(i) + half_height);
        };
        before += box(begin, row.arrival, 0.10);
        wait += box(row.arrival, row.exit, 0.36);
        for (const GanttChart::Interval& part : row.transfers) transfer += box(part.begin, part.end, 0.36);
        // One mark is at the upper edge and the other one at the lower edge, so that both are visible if the times are equal.
        arrivals += fmt::format("{:.10g} {:.10g}\n", place(row.arrival), static_cast<double>(i) - kMarkOffset);
        exits += fmt::format("{:.10g} {:.10g}\n", place(row.exit), static_cast<double>(i) + kMarkOffset);
    }

    std::string marks;
    const std::size_t step = label_step(rows);
    for (std::size_t i = 0; i < rows; i += step)
        marks += fmt::format("{}{} {}", i == 0 ? "" : ", ", gnuplot_string(chart.rows[i].label), i);

    std::string script = area.commands();
    script += fmt::format("set title {} font ',17'\n", gnuplot_string(chart.title));
    script += fmt::format(
        "unset logscale\nset xlabel 'time since the first event [{}]'\nset xrange [{}:{}]\n"
        "set xtics autofreq\n",
        unit.name, -0.015 * width, 1.015 * width);
    script += fmt::format("set ylabel 'rank'\nset yrange [{}:-0.7]\nset ytics scale 0 ({})\n", static_cast<double>(rows) - 0.3, marks);
    script += "unset grid\nset grid xtics linecolor rgb '#E4E4E4' linetype 1\n";
    // The legend does not depend on the data. It explains all colours, even if the call has no transfer.
    const bool with_marks = rows <= kMostMarkedRows;
    for (const auto& [name, data] :
         {std::pair{"before", &before}, {"wait", &wait}, {"transfer", &transfer}, {"arrivals", &arrivals}, {"exits", &exits}})
        script += fmt::format("${} << EOD\n{}EOD\n", name, data->empty() ? "NaN NaN NaN NaN NaN NaN\n" : *data);
    const auto boxes = [](const char* data, const char* colour, const char* title) {
        return fmt::format("${} using 1:2:3:4:5:6 with boxxyerror linecolor rgb '{}' fillstyle solid noborder title '{}'", data, colour,
                           title);
    };
    script += "plot \\\n" + boxes("before", kBeforeColour, "before the call") + ", \\\n" + boxes("wait", kWaitColour, "wait") + ", \\\n" +
              boxes("transfer", kTransferColour, "transfer");
    if (with_marks)
        script +=
            ", \\\n$arrivals using 1:2 with points pointtype 11 pointsize 1.0 linecolor rgb '#000000' title 'arrival', "
            "\\\n"
            "$exits using 1:2 with points pointtype 9 pointsize 1.0 linecolor rgb '#C03000' title 'exit'";
    return script + "\n";
}

}  // namespace rollcall::bench
