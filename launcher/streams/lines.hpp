/// \file
/// Lines of output.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::launcher {

/// Returns, for example, "14:03:07.250 ".
inline std::string time_of_day() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    tm local{};
    ::localtime_r(&now.tv_sec, &local);
    return fmt::format("{:02}:{:02}:{:02}.{:03} ", local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1'000'000);
}

/// The length of what is finished: lines, and pieces of a line that a carriage return ends (a progress bar). Whether a carriage return at
/// the very end belongs to a newline is not known yet.
inline std::size_t finished_part(std::string_view held) {
    auto end = held.find_last_of("\r\n");
    if (end != std::string_view::npos && end + 1 == held.size() && held.back() == '\r') {
        end = end == 0 ? std::string_view::npos : held.find_last_of("\r\n", end - 1);
    }
    return end == std::string_view::npos ? 0 : end + 1;
}

}  // namespace rollcall::launcher
