/// \file
/// How late somebody comes, as the user writes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// Longest delay there can be (about 31 years): products of long delays and long messages end here, not in an overflow.
constexpr Nanoseconds kLongestDelay = 1'000'000'000'000'000'000;

/// The nearest number of nanoseconds from 0 to kLongestDelay.
Nanoseconds bounded(double nanoseconds);

/// Absolute, or in message times.
struct Delay {
    bool relative = false;
    double message_times = 0;
    Nanoseconds absolute = 0;

    Nanoseconds at(Nanoseconds message_time) const {
        return relative ? bounded(message_times * static_cast<double>(message_time)) : absolute;
    }
    /// As parse_delay() reads it.
    std::string text() const;
};

/// The whole text as a finite number.
std::optional<double> parse_number(std::string_view text);
/// A number with a unit ("50ms"), or of message times ("16T").
std::optional<Delay> parse_delay(std::string_view text);

}  // namespace rollcall::bench
