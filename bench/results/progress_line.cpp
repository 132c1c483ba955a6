#include "bench/results/progress_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace rollcall::bench {
namespace {

std::string clock_text(Nanoseconds time) {
    const Nanoseconds seconds = (time + 999'999'999) / 1'000'000'000;
    if (seconds < 60) return fmt::format("{} s", seconds);
    if (seconds < 3600) return fmt::format("{}:{:02} min", seconds / 60, seconds % 60);
    return fmt::format("{}:{:02} h", seconds / 3600, seconds / 60 % 60);
}

}  // namespace

ProgressLine::Surroundings ProgressLine::standard_error() {
    Surroundings surroundings;
    surroundings.is_terminal = ::isatty(STDERR_FILENO) == 1;
    winsize size{};
    if (surroundings.is_terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) surroundings.columns = size.ws_col;
    surroundings.write = [](std::string_view text) {
        while (!text.empty()) {
            const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
            if (written <= 0) return;  // not worth an error
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    };
    surroundings.now = [] {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
    return surroundings;
}

ProgressLine::ProgressLine(std::size_t total, Surroundings surroundings)
    : total_(total), surroundings_(std::move(surroundings)), begin_(surroundings_.now()), last_shown_(begin_) {}

ProgressLine::~ProgressLine() {
    try {
        erase();
    } catch (...) {  // a destructor must not throw, and nothing is lost
    }
}

void ProgressLine::update(std::size_t done, std::string_view what, double part) {
    if (!surroundings_.is_terminal || total_ == 0) return;
    const Nanoseconds now = surroundings_.now();
    if (now - begin_ < kPatience || (is_shown_ && now - last_shown_ < kInterval)) return;
    done = std::min(done, total_);

    const auto all = static_cast<double>(total_);
    const double finished = std::min(static_cast<double>(done) + part, all);
    std::string line = fmt::format("{}/{}  {:.0f}%", done, total_, 100 * finished / all);
    if (finished > 0) {
        const double rest = static_cast<double>(now - begin_) * (all - finished) / finished;
        line += fmt::format("  about {} left", clock_text(static_cast<Nanoseconds>(rest)));
    }
    if (!what.empty()) line += fmt::format("  {}", what);
    // A line that wraps could not be erased, and some terminals wrap in the last column. So the line is cut before it.
    if (line.size() >= surroundings_.columns) line.resize(surroundings_.columns - 1);
    surroundings_.write("\r" + line + "\033[K");
    is_shown_ = true;
    last_shown_ = now;
}

void ProgressLine::erase() {
    if (!is_shown_) return;
    is_shown_ = false;
    surroundings_.write("\r\033[K");
}

}  // namespace rollcall::bench
