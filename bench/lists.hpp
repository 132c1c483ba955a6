/// \file
/// Lists on the command line: sizes, counts and names, separated by commas.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::bench {

/// A name that may be chosen, and its aliases.
struct Choice {
    std::string name;
    std::vector<std::string> aliases = {};
    bool in_all = true;  ///< Whether "all" includes it.
};

/// Converts "8,64Ki,8Mi" to bytes, in the given order. Throws Error{invalid_argument} with one line that names the list and the entry.
std::vector<std::uint64_t> parse_sizes(std::string_view text, std::string_view option);

/// Converts "2,4,8" to whole numbers from `low` to `high`. `what` names the numbers in the error ("ranks"). Throws Error{invalid_argument}
/// with one line that names the entry and the range.
std::vector<std::uint64_t> parse_counts(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high);

/// Parses one such number. Throws the same errors.
std::uint64_t parse_count(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high);

/// Converts "binomial,flat" to names out of `choices`, in the given order, each one once. Aliases are replaced by the names. "all" stands
/// for every choice with in_all. `what` names the entries in the error ("algorithm"). Throws Error{invalid_argument} with one line that
/// names the unknown entry and lists what is allowed.
std::vector<std::string> parse_names(std::string_view text, std::string_view what, std::span<const Choice> choices);

}  // namespace rollcall::bench
