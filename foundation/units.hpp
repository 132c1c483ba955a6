/// \file
/// Sizes and durations as people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::inline foundation {

/// "64Ki", "8Mi", "1k", "123" to bytes (Ki, Mi, Gi, Ti binary; k, M, G, T decimal; an optional trailing B). Throws Error{invalid_argument}
/// naming the text.
std::uint64_t parse_bytes(std::string_view text);
/// "50ms", "1.5s", "20us", "100ns", "2min", "0" to nanoseconds. Throws Error{invalid_argument} naming the text.
Nanoseconds parse_duration(std::string_view text);
/// The shortest exact text of a size: 65536 is "64Ki".
std::string format_bytes(std::uint64_t bytes);
/// A duration as parse_duration() reads it: 1500000 is "1500us".
std::string exact_duration(Nanoseconds duration);
/// Three significant digits with a unit: "12.3 us".
std::string format_duration(double seconds);

}  // namespace rollcall::inline foundation
