/// \file
/// Sizes and durations in the form in which people write them. Both are exact. A text that does not give a whole number of bytes or
/// nanoseconds is refused and not rounded. Therefore "1.5Ki" and "1e3" are not sizes, while "1.5s" is a duration.
#include "foundation/units.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/quote.hpp"

namespace rollcall::inline foundation {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};

// Binary units come before decimal ones. If both give a text of the same length, format_bytes() writes the binary unit.
constexpr std::array kSizeUnits = {
    Unit{"", 1},      Unit{"Ki", 1ull << 10}, Unit{"Mi", 1ull << 20},   Unit{"Gi", 1ull << 30},      Unit{"Ti", 1ull << 40},
    Unit{"k", 1'000}, Unit{"M", 1'000'000},   Unit{"G", 1'000'000'000}, Unit{"T", 1'000'000'000'000}};

constexpr std::array kTimeUnits = {Unit{"ns", 1},         Unit{"us", 1'000},        Unit{"\u00b5s", 1'000},
                                   Unit{"ms", 1'000'000}, Unit{"s", 1'000'000'000}, Unit{"min", 60'000'000'000}};

[[noreturn]] void refuse(std::string_view text, std::string_view why, std::string_view allowed) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} {}; allowed: {}", quote(text), why, allowed));
}

[[noreturn]] void refuse_size(std::string_view text, std::string_view why) {
    refuse(text, why, "a whole number of bytes, alone or with k, M, G, T (decimal) or Ki, Mi, Gi, Ti (binary): 123, 64Ki, 8MiB");
}

[[noreturn]] void refuse_duration(std::string_view text, std::string_view why) {
    refuse(text, why, "0, or a number with ns, us, ms, s or min: 50ms, 1.5s");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Removes the leading digits from `text` and returns them.
std::string_view take_digits(std::string_view& text) {
    std::size_t length = 0;
    while (length < text.size() && is_digit(text[length])) ++length;
    const auto digits = text.substr(0, length);
    text.remove_prefix(length);
    return digits;
}

/// Adds a * b to `sum`. Returns false if the product or the sum does not fit.
bool add_times(std::uint64_t& sum, std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(sum, product, &sum);
}

bool whole_number(std::string_view digits, std::uint64_t& number) {
    number = 0;
    for (const char digit : digits) {
        std::uint64_t next = static_cast<std::uint64_t>(digit - '0');
        if (!add_times(next, number, 10)) return false;
        number = next;
    }
    return true;
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text) {
    constexpr auto kNotASize = "is not a size";
    auto rest = text;
    const auto digits = take_digits(rest);
    if (digits.empty()) refuse_size(text, kNotASize);
    if (rest.ends_with('B')) rest.remove_suffix(1);
    for (const auto& unit : kSizeUnits) {
        if (rest != unit.name) continue;
        std::uint64_t number = 0;
        std::uint64_t bytes = 0;
        if (!whole_number(digits, number) || !add_times(bytes, number, unit.factor)) {
            refuse_size(text, "is a size too large for 64 bits");
        }
        return bytes;
    }
    refuse_size(text, kNotASize);
}

Nanoseconds parse_duration(std::string_view text) {
    constexpr auto kNotADuration = "is not a duration";
    constexpr auto kTooLong = "is a duration too long for 64 bits of nanoseconds";
    auto rest = text;
    const auto digits = take_digits(rest);
    std::string_view fraction;
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        fraction = take_digits(rest);
        if (fraction.empty()) refuse_duration(text, kNotADuration);
    }
    if (digits.empty()) refuse_duration(text, kNotADuration);
    std::uint64_t number = 0;
    if (!whole_number(digits, number)) refuse_duration(text, kTooLong);
    if (rest.empty()) {
        if (number == 0 && fraction.empty()) return 0;
        refuse_duration(text, "is a duration without a unit");
    }
    for (const auto& unit : kTimeUnits) {
        if (rest != unit.name) continue;
        std::uint64_t nanoseconds = 0;
        bool fits = add_times(nanoseconds, number, unit.factor);
        std::uint64_t place = unit.factor;  // The value of the last digit in nanoseconds, 0 if that is less than one.
        for (const char digit : fraction) {
            if ((place == 0 || place % 10 != 0) && digit != '0') refuse_duration(text, "is a duration finer than a nanosecond");
            place /= 10;
            fits = fits && add_times(nanoseconds, static_cast<std::uint64_t>(digit - '0'), place);
        }
        if (!fits || nanoseconds > static_cast<std::uint64_t>(std::numeric_limits<Nanoseconds>::max())) {
            refuse_duration(text, kTooLong);
        }
        return static_cast<Nanoseconds>(nanoseconds);
    }
    refuse_duration(text, kNotADuration);
}

std::string format_bytes(std::uint64_t bytes) {
    std::string shortest;
    for (const auto& unit : kSizeUnits) {
        if (bytes % unit.factor != 0) continue;
        auto text = fmt::format("{}{}", bytes / unit.factor, unit.name);
        if (shortest.empty() || text.size() < shortest.size()) shortest = std::move(text);
    }
    return shortest;
}

std::string exact_duration(Nanoseconds duration) {
    struct Scale {
        Nanoseconds unit;
        const char* name;
    };
    static constexpr std::array kScales = {Scale{1'000'000'000, "s"}, Scale{1'000'000, "ms"}, Scale{1'000, "us"}};
    if (duration == 0) return "0";
    for (const auto& scale : kScales) {
        if (duration % scale.unit == 0) return fmt::format("{}{}", duration / scale.unit, scale.name);
    }
    return fmt::format("{}ns", duration);
}

std::string format_duration(double seconds) {
    struct Scale {
        double unit;
        const char* name;
    };
    static constexpr std::array kScales = {Scale{1e-9, "ns"}, Scale{1e-6, "us"}, Scale{1e-3, "ms"}, Scale{1.0, "s"}};
    if (!std::isfinite(seconds)) return fmt::format("{} s", seconds);
    if (seconds == 0) return "0 s";
    for (const auto& scale : kScales) {
        const double value = std::abs(seconds) / scale.unit;
        // A value of 999.5 or more would need four digits. The next unit is used instead.
        if (value >= 999.5 && &scale != &kScales.back()) continue;
        // 9.995 is rounded to 10.0, and 99.95 to 100. So the number of decimals depends on the rounded value.
        const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
        return fmt::format("{}{:.{}f} {}", seconds < 0 ? "-" : "", value, decimals, scale.name);
    }
    return {};  // Not reached: the last scale accepts every value.
}

std::string counted(std::uint64_t count, std::string_view what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

}  // namespace rollcall::inline foundation
