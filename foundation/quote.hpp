/// \file
/// Prints foreign text inside one-line messages.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::inline foundation {

/// Returns the text with its control characters written as \xNN, so that it cannot move a terminal's cursor or begin a new line.
inline std::string printable(std::string_view text) {
    std::string shown;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            shown += fmt::format("\\x{:02x}", byte);
        } else {
            shown += c;
        }
    }
    return shown;
}

/// Returns the text printable, in single quotes, and cut off if it is very long. So a message stays one readable line, whatever a user or
/// an environment provides.
inline std::string quote(std::string_view text) {
    constexpr std::size_t kLongest = 120;  // Longer than any sensible value, shorter than a terminal screen.
    return "'" + printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace rollcall::inline foundation
