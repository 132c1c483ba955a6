/// \file
/// Lists on the command line: sizes, counts and names, separated by commas.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::bench {

/// A name that may be chosen, and its aliases.
struct Choice {
    std::string name;
    std::vector<std::string> aliases = {};
    bool in_all = true;  ///< Whether "all" includes it.
};

/// Splits a list at its commas. Blanks around an entry do not count.
std::vector<std::string_view> entries(std::string_view text);

/// What the help of an option that takes such a list says about the form of the list.
inline constexpr const char* kSizeList = "separated by commas; 8..8Mi: from 8 to 8Mi by doubling, 8..8Mi:x4: by multiplying by 4";
inline constexpr const char* kCountList = "separated by commas; 2..64: from 2 to 64 by doubling, 2..64:x4: by multiplying by 4";

/// What becomes of a number that a list has twice. Things that are measured are kept once. A list of one number for each rank or group
/// keeps all.
enum class Repeated { once, kept };

/// Converts "8,64Ki,8Mi" to bytes, in the given order. An entry may be a range, "8..8Mi" or "8..8Mi:x4": its first size, and then each
/// size multiplied by 2, or by the factor, up to its last size. Throws Error{invalid_argument} with one line that names the option and the
/// entry.
std::vector<std::uint64_t> parse_sizes(std::string_view text, std::string_view option, Repeated repeated = Repeated::once);

/// Converts "2,4,8" to whole numbers from `low` to `high`. An entry may be a range as in parse_sizes(). Throws Error{invalid_argument} with
/// one line that names the option, the entry and the allowed numbers.
std::vector<std::uint64_t> parse_counts(std::string_view text, std::string_view option, std::uint64_t low, std::uint64_t high,
                                        Repeated repeated = Repeated::once);

/// Parses one such number, which `what` names in the error. Throws the same errors.
std::uint64_t parse_count(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high);

/// Parses a duration of `least` or more. Throws Error{invalid_argument} with one line that names the option and what is allowed.
Nanoseconds parse_time(std::string_view text, std::string_view option, Nanoseconds least);

/// Converts "binomial,flat" to names out of `choices`, in the given order, each one once. Aliases are replaced by the names. "all" stands
/// for every choice with in_all. `what` names the entries in the error ("algorithm"). Throws Error{invalid_argument} with one line that
/// names the unknown entry and lists what is allowed.
std::vector<std::string> parse_names(std::string_view text, std::string_view what, std::span<const Choice> choices);

}  // namespace rollcall::bench
