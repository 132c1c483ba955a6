/// \file
/// How texts are cut. The parts are views of the text.
#pragma once

#include <string_view>
#include <vector>

namespace rollcall::inline foundation {

inline constexpr std::string_view kBlanks = " \t\r\v\f";

/// The text without the blanks at its ends.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = kBlanks) noexcept {
    const auto first = text.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// What stands before, between and after the commas: one part more than there are commas. Parts may be empty.
inline std::vector<std::string_view> split_at_commas(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto comma = text.find(',');
        parts.push_back(text.substr(0, comma));
        if (comma == std::string_view::npos) return parts;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace rollcall::inline foundation
