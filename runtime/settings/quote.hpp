/// \file
/// Foreign text inside an error's one line.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace rollcall::runtime {

/// The text in single quotes, with control characters written as \xNN and the end of a very long text left out, so that
/// whatever a user or an environment holds, a message stays one readable line.
inline std::string quote(std::string_view text) {
    constexpr std::size_t kLongest = 120;  // longer than any sensible value, shorter than a terminal screen
    std::string quoted = "'";
    for (const char c : text.substr(0, kLongest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) {
            quoted += fmt::format("\\x{:02x}", byte);
        } else {
            quoted += c;
        }
    }
    return quoted + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace rollcall::runtime
