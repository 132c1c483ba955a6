/// \file
/// gnuplot's commands for one chart.
#pragma once

#include <string>

#include "bench/plots/plot.hpp"

namespace rollcall::bench {

/// The rectangle of a chart, in pixels from the top of the picture.
struct Area {
    int top, height, total_height, total_width;

    std::string commands() const;
};

int height_of(const Chart& chart);
/// The width of a picture with this chart.
int width_of(const Chart& chart);

/// Throws Error{invalid_argument} if there is nothing to draw.
std::string commands_of(const LineChart& chart, const Area& area);
std::string commands_of(const GanttChart& chart, const Area& area);

}  // namespace rollcall::bench
