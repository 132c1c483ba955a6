/// \file
/// Sizes, durations and counts in the form in which people write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::inline foundation {

/// Parses a size in bytes: "64Ki", "8Mi", "1k", "123". Ki, Mi, Gi and Ti are binary units; k, M, G and T are decimal ones; a trailing B is
/// optional. Throws Error{invalid_argument} that names the text.
std::uint64_t parse_bytes(std::string_view text);
/// Parses a duration into nanoseconds: "50ms", "1.5s", "20us", "100ns", "2min", "0". Throws Error{invalid_argument} that names the text.
Nanoseconds parse_duration(std::string_view text);
/// Returns the shortest exact text of a size. For example, 65536 gives "64Ki".
std::string format_bytes(std::uint64_t bytes);
/// Returns a duration in a form that parse_duration() reads. For example, 1500000 gives "1500us".
std::string exact_duration(Nanoseconds duration);
/// Returns three significant digits and a unit, for example "12.3 us".
std::string format_duration(double seconds);
/// Returns a number and what it counts, in the singular or plural: "1 rank", "2 ranks". The plural has an `s` more.
std::string counted(std::uint64_t count, std::string_view what);

}  // namespace rollcall::inline foundation
