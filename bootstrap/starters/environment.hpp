/// \file
/// What starters read from the environment.
#pragma once

#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/number.hpp"

namespace rollcall::bootstrap {

/// More ranks than any job has. A larger number is a mistake.
inline constexpr int kMostCredibleRanks = 1 << 24;

/// Returns the value of a variable. Empty if it is not set.
inline std::string environment(const char* variable) {
    const char* const value = std::getenv(variable);
    return value != nullptr ? value : "";
}

/// Reads a variable. Throws Error{bootstrap} if it is not a whole number from `least` to `most`.
inline int whole_number(const char* variable, std::string_view starter, int least, int most) {
    const std::string text = environment(variable);
    if (text.empty()) {
        throw Error(ErrorCode::bootstrap,
                    fmt::format("this process seems to be started by {}, but {} is not set; it is a number from {} to {}", starter,
                                variable, least, most));
    }
    const auto value = number_of_text<int>(text);
    if (!value || *value < least || *value > most) {
        throw Error(ErrorCode::bootstrap, fmt::format("this process seems to be started by {}, but {}={} is not a number from {} to {}",
                                                      starter, variable, text, least, most));
    }
    return *value;
}

}  // namespace rollcall::bootstrap
