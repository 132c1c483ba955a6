#include "bench/cases/delay.hpp"

#include <fmt/format.h>

#include <cmath>
#include <rollcall/error.hpp>

#include "foundation/number.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {

Nanoseconds bounded(double nanoseconds) {
    if (!(nanoseconds > 0)) return 0;
    return nanoseconds >= static_cast<double>(kLongestDelay) ? kLongestDelay : std::llround(nanoseconds);
}

std::string Delay::text() const {
    if (relative) return fmt::format("{}T", message_times);
    return exact_duration(absolute);
}

std::optional<double> parse_number(std::string_view text) {
    const auto value = number_of_text<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<Delay> parse_delay(std::string_view text) {
    if (text.ends_with('T')) {
        const auto times = parse_number(text.substr(0, text.size() - 1));
        if (!times || *times < 0) return std::nullopt;
        return Delay{true, *times, 0};
    }
    try {
        const Nanoseconds absolute = parse_duration(text);
        if (absolute < 0 || absolute > kLongestDelay) return std::nullopt;
        return Delay{false, 0, absolute};
    } catch (const Error&) {
        return std::nullopt;  // The caller's message says more, because it names the whole pattern.
    }
}

}  // namespace rollcall::bench
