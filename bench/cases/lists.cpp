#include "bench/cases/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <rollcall/error.hpp>

#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/text.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

constexpr std::string_view kAll = "all";

using Read = std::function<std::optional<std::uint64_t>(std::string_view)>;

/// Reads "8", "8..64" or "8..64:x4". Returns no values if the entry is not one of these, or if its range is empty or never ends.
std::vector<std::uint64_t> read_entry(std::string_view entry, const Read& read) {
    const std::size_t dots = entry.find("..");
    if (dots == std::string_view::npos) {
        const auto value = read(entry);
        return value ? std::vector{*value} : std::vector<std::uint64_t>{};
    }
    const std::string_view behind = entry.substr(dots + 2);
    const std::size_t colon = behind.find(':');
    std::optional<std::uint64_t> factor = 2;
    if (colon != std::string_view::npos)
        factor = behind.substr(colon).starts_with(":x") ? number_of_text<std::uint64_t>(behind.substr(colon + 2)) : std::nullopt;
    const auto first = read(entry.substr(0, dots)), last = read(behind.substr(0, colon));
    if (!first || !last || !factor || *first == 0 || *factor < 2) return {};
    std::vector<std::uint64_t> values;
    for (std::uint64_t value = *first; value <= *last; value *= *factor) {
        values.push_back(value);
        if (value > *last / *factor) break;
    }
    return values;
}

std::vector<std::uint64_t> read_list(std::string_view text, Repeated repeated, const Read& read,
                                     const std::function<std::string(std::string_view)>& refusal) {
    std::vector<std::uint64_t> all;
    for (const auto entry : entries(text)) {
        const auto values = read_entry(entry, read);
        if (values.empty()) throw Error(ErrorCode::invalid_argument, refusal(entry));
        for (const std::uint64_t value : values)
            if (repeated == Repeated::kept || std::find(all.begin(), all.end(), value) == all.end()) all.push_back(value);
    }
    return all;
}

/// "'9Qi' in '8,9Qi'", or "'9Qi'" if the list has no other entry.
std::string quote_in(std::string_view entry, std::string_view text) {
    return entry == text ? quote(entry) : fmt::format("{} in {}", quote(entry), quote(text));
}

}  // namespace

std::vector<std::string_view> entries(std::string_view text) {
    std::vector<std::string_view> parts = split_at_commas(text);
    for (std::string_view& part : parts) part = trimmed(part, " ");
    return parts;
}

std::vector<std::uint64_t> parse_sizes(std::string_view text, std::string_view option, Repeated repeated) {
    const auto read = [](std::string_view entry) -> std::optional<std::uint64_t> {
        try {
            return parse_bytes(entry);
        } catch (const Error&) {
            return std::nullopt;
        }
    };
    return read_list(text, repeated, read, [&](std::string_view entry) {
        return fmt::format(
            "{}: unknown size {}; allowed: bytes as whole numbers alone, with Ki (1024), Mi, Gi, Ti, or with k (1000), M, G, T, and ranges "
            "from 1 on "
            "upwards, which double (8..8Mi) or grow by a factor (8..8Mi:x4), separated by commas",
            option, quote_in(entry, text));
    });
}

std::vector<std::uint64_t> parse_counts(std::string_view text, std::string_view option, std::uint64_t low, std::uint64_t high,
                                        Repeated repeated) {
    const auto read = [&](std::string_view entry) -> std::optional<std::uint64_t> {
        const auto value = number_of_text<std::uint64_t>(entry);
        return value && *value >= low && *value <= high ? value : std::nullopt;
    };
    return read_list(text, repeated, read, [&](std::string_view entry) {
        return fmt::format(
            "{} {}; allowed: whole numbers from {} to {}, and ranges from 1 on upwards, which double (2..64) or grow by "
            "a factor (2..64:x4), separated by commas",
            option, quote_in(entry, text), low, high);
    });
}

std::uint64_t parse_count(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high) {
    const auto value = number_of_text<std::uint64_t>(text);
    if (!value || *value < low || *value > high)
        throw Error(ErrorCode::invalid_argument, fmt::format("{} {}; allowed: a whole number from {} to {}", what, quote(text), low, high));
    return *value;
}

Nanoseconds parse_time(std::string_view text, std::string_view option, Nanoseconds least) {
    Nanoseconds time = -1;
    try {
        time = parse_duration(text);
    } catch (const Error&) {
        // The sentence below says more.
    }
    if (time < least)
        throw Error(ErrorCode::invalid_argument, fmt::format("{} {}; allowed: a duration such as 500ms or 30s, {}", option, quote(text),
                                                             least == 1 ? "above 0" : exact_duration(least) + " or more"));
    return time;
}

std::vector<std::string> parse_names(std::string_view text, std::string_view what, std::span<const Choice> choices) {
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const auto entry : entries(text)) {
        if (entry == kAll) {
            for (const Choice& choice : choices)
                if (choice.in_all) add(choice.name);
            continue;
        }
        const auto found = std::find_if(choices.begin(), choices.end(), [&](const Choice& choice) {
            return choice.name == entry || std::find(choice.aliases.begin(), choice.aliases.end(), entry) != choice.aliases.end();
        });
        if (found == choices.end()) {
            std::string allowed(kAll);
            for (const Choice& choice : choices) allowed += ", " + choice.name;
            throw Error(ErrorCode::invalid_argument, fmt::format("unknown {} {}; allowed: {}", what, quote(entry), allowed));
        }
        add(found->name);
    }
    return names;
}

}  // namespace rollcall::bench
