/// \file
/// Finds the known name that is nearest to a misspelt one.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace rollcall::inline foundation {

/// Returns the number of edits that turn one text into the other. An edit changes, adds or removes a letter, or exchanges two neighbours.
std::size_t edits_between(std::string_view from, std::string_view to);

struct Nearest {
    std::string_view name;  ///< "": there are no names.
    std::size_t edits = 0;
};

/// Returns the name that differs from `written` by the fewest edits, and the first of several ones.
Nearest nearest_to(std::string_view written, std::span<const std::string_view> names);

/// Whether a name of so many letters that differs from another one by so many edits counts as that one, misspelt.
bool is_misspelt(std::size_t edits, std::size_t letters);

}  // namespace rollcall::inline foundation
