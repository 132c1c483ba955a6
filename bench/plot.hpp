/// \file
/// Pictures of results, drawn by gnuplot as SVG.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <rollcall/time.hpp>

#include "bench/statistics.hpp"

namespace rollcall::bench {

/// An axis of a line chart.
struct Axis {
    std::string label;     ///< "mean elapsed time"; the unit is added for a time.
    bool is_time = false;  ///< Values are seconds; the chart chooses ns, µs, ms or s.
};

/// Lines with confidence bands: time against imbalance, a line per algorithm. An axis becomes logarithmic where its
/// positive values span more than a factor of 20; zeros on a logarithmic x axis stand at its left end, marked "0".
struct LineChart {
    struct Point {
        double x = 0;
        Estimate y;
    };
    struct Series {
        std::string name;
        std::vector<Point> points;  ///< In any order; a point that is not finite is left out.
    };
    std::string title;
    Axis x, y;
    std::vector<Series> series;
};

/// One call, a row per rank: the time before the arrival, the call, and in it what was transfer; the rest of the call
/// is waiting. A transfer may lie before the arrival, where data came early.
struct GanttChart {
    struct Interval {
        Nanoseconds begin = 0, end = 0;
    };
    struct Row {
        std::string label;  ///< "0", "1 (root)"
        Nanoseconds arrival = 0, exit = 0;
        std::vector<Interval> transfers;
    };
    std::string title;
    std::vector<Row> rows;  ///< From top to bottom. Times of one clock; the picture begins with the earliest.
};

/// What gnuplot is given: the commands with all data in them. It holds the one chart, or both, one above the other.
/// Throws Error{invalid_argument} when there is nothing to draw.
std::string gnuplot_script(const std::optional<LineChart>& lines, const std::optional<GanttChart>& gantt);

/// Throws Error{state} with a sentence that names the package when gnuplot cannot be started: to be called before a
/// long run, not after.
void require_gnuplot(const std::string& program = "gnuplot");

/// Draws into the file `path`, which is created or replaced only when the drawing succeeded. gnuplot runs as a child
/// process, without a shell and without temporary files. Throws Error{state} when gnuplot is missing (naming the
/// package), when it fails (with what it said), or when the file cannot be written; Error{invalid_argument} when there
/// is nothing to draw.
void write_svg(const std::filesystem::path& path, const std::optional<LineChart>& lines, const std::optional<GanttChart>& gantt,
               const std::string& program = "gnuplot");

}  // namespace rollcall::bench
