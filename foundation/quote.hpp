/// \file
/// Foreign text inside an error's one line.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::inline foundation {

/// The text with its control characters written as \xNN, so that it cannot move a terminal's cursor or begin another line.
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

/// The text in single quotes, printable, and with the end of a very long text left out, so that whatever a user or an environment
/// holds, a message stays one readable line.
inline std::string quote(std::string_view text) {
    constexpr std::size_t kLongest = 120;  // longer than any sensible value, shorter than a terminal screen
    return "'" + printable(text.substr(0, kLongest)) + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace rollcall::inline foundation
