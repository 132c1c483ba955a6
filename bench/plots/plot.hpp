/// \file
/// Draws results with gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <rollcall/time.hpp>

#include "bench/results/statistics.hpp"

namespace rollcall::bench {

/// An axis of a line chart.
struct Axis {
    std::string label;                                       ///< For example "mean elapsed time". For a time, the unit is added.
    bool is_time = false;                                    ///< Values are in seconds. The chart chooses ns, µs, ms or s.
    std::vector<std::pair<std::string, double>> marks = {};  ///< Labels and their values. Empty: the chart chooses.
};

/// Lines with confidence bands: time against imbalance, size or ranks, with one line for each algorithm. An axis is logarithmic if it has
/// marks, or if its positive values span more than a factor of 20. Zeros on a logarithmic x axis are drawn at its left end, marked "0".
/// Lines of one point each are bars, side by side.
struct LineChart {
    struct Point {
        double x = 0;
        Estimate y;
    };
    struct Series {
        std::string name;
        std::vector<Point> points;  ///< In any order. A point that is not finite is left out.
    };
    std::string title;
    Axis x, y;
    std::vector<Series> series;
};

/// One call, with one row for each rank: the time before the arrival, the call, and the transfers in it. The rest of the call is waiting. A
/// transfer may begin before the arrival, if data came early.
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
    std::vector<Row> rows;  ///< From top to bottom. All times come from one clock. The picture begins with the earliest time.
    Nanoseconds span = 0;   ///< How much time the axis shows, if more than there is.
};

/// Charts, one above the other.
using Chart = std::variant<LineChart, GanttChart>;
using Picture = std::vector<Chart>;
/// Gives all Gantt charts the same span.
void share_time_axis(Picture& picture);

enum class PictureType { svg, png, pdf };
/// By the end of the name. Throws Error{invalid_argument} that lists what is allowed.
PictureType picture_type(const std::filesystem::path& path);

/// Returns the input of gnuplot: the commands, with all data in them. Throws Error{invalid_argument} if there is nothing to draw.
std::string gnuplot_script(const Picture& picture, PictureType type = PictureType::svg);

/// Throws Error{state} with a sentence that names the package if gnuplot cannot be started. Call it before a long run, not after it.
void require_gnuplot(const std::string& program = "gnuplot");

/// Draws into the file `path`, which is created or replaced only if the drawing succeeds. Its name chooses the type. gnuplot runs as a
/// child process, without a shell and without temporary files. Throws Error{state} if gnuplot is missing (naming the package), if it fails
/// (with its output), or if the file cannot be written. Throws Error{invalid_argument} if there is nothing to draw.
void write_picture(const std::filesystem::path& path, const Picture& picture, const std::string& program = "gnuplot");

}  // namespace rollcall::bench
