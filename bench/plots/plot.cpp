#include "bench/plots/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <rollcall/error.hpp>
#include <string_view>
#include <utility>

#include "bench/plots/charts.hpp"
#include "bench/ranks/child.hpp"
#include "foundation/error_text.hpp"
#include "foundation/quote.hpp"

namespace rollcall::bench {
namespace {

struct Type {
    PictureType type;
    const char* ending;
    const char* terminal;  ///< The beginning of gnuplot's command.
    double unit;           ///< The size of a pixel in gnuplot's unit for this terminal.
    const char* unit_name;
    const char* more;
    const char* begins;  ///< The bytes at the beginning of every such file.
};
/// A sheet of PDF has inches, 96 pixels each, and letters in points.
constexpr std::array<Type, 3> kTypes = {{
    {PictureType::svg, ".svg", "svg", 1, "", "font 'sans-serif,14' background rgb 'white'", "<?xml"},
    {PictureType::png, ".png", "pngcairo", 1, "", "font 'sans-serif,10.5' background rgb 'white'", "\x89PNG"},
    {PictureType::pdf, ".pdf", "pdfcairo", 1.0 / 96, "in", "font 'sans-serif,14' fontscale 0.75", "%PDF"},
}};

const Type& row_of(PictureType type) {
    return *std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& row) { return row.type == type; });
}

[[noreturn]] void reject_missing(const std::string& program) {
    throw Error(ErrorCode::state,
                fmt::format("a plot needs {}, which cannot be found: install the package gnuplot-nox (apt-get install gnuplot-nox), "
                            "or run without --plot",
                            program));
}

/// Returns the output of a program as one line.
std::string one_line(std::string_view text) {
    std::string line;
    bool blank_due = false;
    for (const char c : text) {
        if (static_cast<unsigned char>(c) <= ' ') {
            blank_due = !line.empty();
            continue;
        }
        if (std::exchange(blank_due, false)) line += ' ';
        line += c;
    }
    return line;
}

void require_success(const std::string& program, const ChildResult& result) {
    if (!result.found) reject_missing(program);
    if (result.exit_code != 0)
        throw Error(ErrorCode::state, fmt::format("{} failed with exit code {}: {}", program, result.exit_code, one_line(result.errors)));
}

}  // namespace

void share_time_axis(Picture& picture) {
    Nanoseconds span = 0;
    for (const Chart& chart : picture)
        if (const auto* const gantt = std::get_if<GanttChart>(&chart); gantt != nullptr && !gantt->rows.empty()) {
            Nanoseconds begin = gantt->rows.front().arrival, end = gantt->rows.front().exit;
            for (const GanttChart::Row& row : gantt->rows) {
                begin = std::min(begin, row.arrival);
                end = std::max(end, row.exit);
            }
            span = std::max(span, end - begin);
        }
    for (Chart& chart : picture)
        if (auto* const gantt = std::get_if<GanttChart>(&chart)) gantt->span = span;
}

PictureType picture_type(const std::filesystem::path& path) {
    for (const Type& row : kTypes)
        if (path.extension() == row.ending) return row.type;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--plot {}; allowed: a name that ends in .svg, .png or .pdf", quote(path.string())));
}

std::string gnuplot_script(const Picture& picture, PictureType type) {
    if (picture.empty()) throw Error(ErrorCode::invalid_argument, "there is nothing to draw: no chart");
    int height = 0, width = 0;
    for (const Chart& chart : picture) {
        height += height_of(chart);
        width = std::max(width, width_of(chart));
    }
    const Type& row = row_of(type);
    std::string script = fmt::format("set encoding utf8\nset terminal {} noenhanced size {:g}{},{:g}{} {}\nset multiplot\n", row.terminal,
                                     width * row.unit, row.unit_name, height * row.unit, row.unit_name, row.more);
    int top = 0;
    for (const Chart& chart : picture) {
        const Area area{top, height_of(chart), height, width};
        script += std::visit([&](const auto& one) { return commands_of(one, area); }, chart);
        top += area.height;
    }
    return script + "unset multiplot\n";
}

void require_gnuplot(const std::string& program) { require_success(program, run_child({program, "--version"}, {})); }

void write_picture(const std::filesystem::path& path, const Picture& picture, const std::string& program) {
    const Type& row = row_of(picture_type(path));
    // -d ignores the user's own start-up file, which could change every setting.
    const ChildResult result = run_child({program, "-d"}, gnuplot_script(picture, row.type));
    require_success(program, result);
    if (!result.output.starts_with(row.begins))
        throw Error(ErrorCode::state, fmt::format("{} drew no picture: {}", program, one_line(result.errors)));
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << result.output;
    file.close();
    if (!file) throw Error(ErrorCode::state, fmt::format("the plot cannot be written to '{}': {}", path.string(), error_text(errno)));
}

}  // namespace rollcall::bench
