/// \file
/// What starters read from the environment.
#pragma once

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <rollcall/error.hpp>

namespace rollcall::bootstrap {

/// More ranks than any job has. A larger number is a mistake.
inline constexpr int kMostRanks = 1 << 24;

/// Returns the value of a variable. Empty if it is not set.
inline std::string environment(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr ? value : "";
}

/// Reads a variable. Throws Error{bootstrap} if it is not a whole number from `least` to `most`.
inline int whole_number(const char* variable, std::string_view starter, int least, int most) {
    const std::string text = environment(variable);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
        throw Error(ErrorCode::bootstrap, fmt::format("this process seems to be started by {}, but {}={} is not a number from {} to {}",
                                                      starter, variable, text, least, most));
    }
    return value;
}

}  // namespace rollcall::bootstrap
