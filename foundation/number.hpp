/// \file
/// Texts that are numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace rollcall::inline foundation {

/// Returns the number that is written in the text, or nothing if the whole text is not a number in the type's range.
template <class Number>
std::optional<Number> number_of_text(std::string_view text) noexcept {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

}  // namespace rollcall::inline foundation
