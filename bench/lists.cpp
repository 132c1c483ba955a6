#include "bench/lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <rollcall/error.hpp>

#include "foundation/quote.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

constexpr std::string_view kAll = "all";

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> entries(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto comma = text.find(',');
        parts.push_back(trim(text.substr(0, comma)));
        if (comma == std::string_view::npos) return parts;
        text.remove_prefix(comma + 1);
    }
}

}  // namespace

std::vector<std::uint64_t> parse_sizes(std::string_view text, std::string_view option) {
    std::vector<std::uint64_t> sizes;
    for (const auto entry : entries(text)) {
        try {
            if (entry.empty()) throw Error(ErrorCode::invalid_argument, "");
            sizes.push_back(parse_bytes(entry));
        } catch (const Error&) {
            throw Error(ErrorCode::invalid_argument, fmt::format("{}: unknown size {} in {}; allowed: bytes as whole "
                                                                 "numbers with or without Ki, Mi, Gi, Ti, k, M, G, T, "
                                                                 "separated by commas, such as 8,64Ki,8Mi",
                                                                 option, quote(entry), quote(text)));
        }
    }
    return sizes;
}

std::vector<std::uint64_t> parse_counts(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high) {
    std::vector<std::uint64_t> counts;
    for (const auto entry : entries(text)) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), value);
        if (error != std::errc{} || end != entry.data() + entry.size() || value < low || value > high)
            throw Error(ErrorCode::invalid_argument, fmt::format("{} {} in {}; allowed: whole numbers from {} to {}, separated by commas",
                                                                 what, quote(entry), quote(text), low, high));
        counts.push_back(value);
    }
    return counts;
}

std::uint64_t parse_count(std::string_view text, std::string_view what, std::uint64_t low, std::uint64_t high) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
        throw Error(ErrorCode::invalid_argument, fmt::format("{} {}; allowed: a whole number from {} to {}", what, quote(text), low, high));
    return value;
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
