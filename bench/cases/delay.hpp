/// \file
/// Delays as the user writes them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// The longest delay, about 31 years. Products of long delays and long messages are limited to it, so that they do not overflow.
constexpr Nanoseconds kLongestDelay = 1'000'000'000'000'000'000;

/// Rounds to the nearest whole number from 0 to kLongestDelay.
Nanoseconds bounded(double nanoseconds);

/// A delay in nanoseconds, or in message times.
struct Delay {
    bool relative = false;
    double message_times = 0;
    Nanoseconds absolute = 0;

    Nanoseconds at(Nanoseconds message_time) const {
        return relative ? bounded(message_times * static_cast<double>(message_time)) : absolute;
    }
    /// The text in the form that parse_delay() reads.
    std::string text() const;
};

/// Parses the whole text as a finite number.
std::optional<double> parse_number(std::string_view text);
/// Parses a number with a unit ("50ms") or a number of message times ("16T").
std::optional<Delay> parse_delay(std::string_view text);

}  // namespace rollcall::bench
