/// \file
/// Lists on the command line: sizes, counts and names, separated by commas.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::bench {

/// A name that may be chosen, with the other ways to write it.
struct Choice {
    std::string name;
    std::vector<std::string> aliases = {};
    bool in_all = true;  ///< Whether "all" means it too.
};

/// "8,64Ki,8Mi" to bytes, in the order given. Throws Error{invalid_argument} in one line that names the list and the
/// entry.
std::vector<std::uint64_t> parse_sizes(std::string_view text, std::string_view option);

/// "2,4,8" to whole numbers from `low` to `high`; `what` names them in the error ("ranks").
/// Throws Error{invalid_argument} in one line that names the entry and the range.
std::vector<std::uint64_t> parse_counts(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high);

/// One such number. Throws the same.
std::uint64_t parse_count(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high);

/// "binomial,flat" to names out of `choices`, in the order given, aliases replaced by their names, each once. "all"
/// stands for every choice that is in_all. `what` names them in the error ("algorithm"). Throws Error{invalid_argument} in one line
/// that names the unknown entry and lists what is allowed.
std::vector<std::string> parse_names(std::string_view text, std::string_view what, std::span<const Choice> choices);

}  // namespace rollcall::bench
