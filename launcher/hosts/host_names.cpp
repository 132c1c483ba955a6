#include "launcher/hosts/host_names.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "launcher/hosts/hosts.hpp"

namespace rollcall::launcher {
namespace {

/// DNS allows 253 characters.
constexpr std::size_t kLongestName = 255;
/// More ranges than this can only be a mistake. The limit also bounds the work for each name.
constexpr std::size_t kMostRanges = 8;
/// A number of a range with this many decimal digits fits into 64 bits.
constexpr std::size_t kMostDigits = 18;

/// isalnum() is not used, because its result depends on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_character(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

/// A literal text, or the texts that a bracket stands for.
struct NamePart {
    std::vector<std::string> choices;
    std::size_t longest = 0;
};

std::uint64_t parse_end(std::string_view text, std::string_view range, const Complain& complain) {
    const auto number = number_of_text<std::uint64_t>(text);
    if (!number || text.size() > kMostDigits) {
        complain(fmt::format("{} is not a range; allowed in brackets: numbers of up to {} digits and ranges, such as [0-3,07-09]",
                             quote(range), kMostDigits));
    }
    return *number;
}

/// The range is `0-3`, `07-09` or `5`.
void append_range(std::string_view range, NamePart& part, const Complain& complain) {
    const auto dash = range.find('-');
    const auto low = range.substr(0, dash);
    const auto high = dash == std::string_view::npos ? low : range.substr(dash + 1);
    const auto first = parse_end(low, range, complain);
    const auto last = parse_end(high, range, complain);
    if (last < first) complain(fmt::format("the range {} runs backwards; write the lower number first", quote(range)));
    const auto padded = [](std::string_view text) { return text.size() > 1 && text.front() == '0'; };
    if (padded(high) && low.size() != high.size()) {
        complain(fmt::format("the range {} has leading zeros in its last number only; write both equally long", quote(range)));
    }
    if (last - first >= static_cast<std::uint64_t>(kMostHosts) - part.choices.size()) {
        complain(fmt::format("the range {} has too many numbers; a job has at most {} hosts", quote(range), kMostHosts));
    }
    const std::size_t width = padded(low) ? low.size() : 0;
    for (std::uint64_t number = first; number <= last; ++number) part.choices.push_back(fmt::format("{:0{}}", number, width));
    part.longest = std::max(part.longest, part.choices.back().size());
}

std::vector<NamePart> split_pattern(std::string_view pattern, const Complain& complain) {
    std::vector<NamePart> parts;
    std::size_t ranges = 0;
    while (!pattern.empty()) {
        NamePart part;
        if (pattern.front() == '[') {
            const auto close = pattern.find(']');
            if (close == std::string_view::npos) complain(fmt::format("{} has no ']'", quote(pattern)));
            if (++ranges > kMostRanges) complain(fmt::format("a name has at most {} ranges in brackets", kMostRanges));
            auto inside = pattern.substr(1, close - 1);
            for (;;) {
                const auto comma = inside.find(',');
                append_range(inside.substr(0, comma), part, complain);
                if (comma == std::string_view::npos) break;
                inside.remove_prefix(comma + 1);
            }
            pattern.remove_prefix(close + 1);
        } else {
            const auto literal = pattern.substr(0, pattern.find('['));
            part.choices.emplace_back(literal);
            part.longest = literal.size();
            pattern.remove_prefix(literal.size());
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

std::vector<std::string> expand_pattern(std::string_view pattern, const Complain& complain) {
    const auto parts = split_pattern(pattern, complain);
    std::size_t count = 1;
    std::size_t length = 0;
    for (const NamePart& part : parts) {
        count *= part.choices.size();  // both factors are at most kMostHosts
        length += part.longest;
        if (count > static_cast<std::size_t>(kMostHosts)) {
            complain(fmt::format("{} names too many hosts; a job has at most {}", quote(pattern), kMostHosts));
        }
    }
    if (length > kLongestName) complain(fmt::format("the name {} is longer than {} characters", quote(pattern), kLongestName));
    std::vector<std::string> names{""};
    for (const NamePart& part : parts) {
        std::vector<std::string> longer;
        longer.reserve(names.size() * part.choices.size());
        for (const std::string& name : names) {
            for (const std::string& choice : part.choices) longer.push_back(name + choice);
        }
        names = std::move(longer);
    }
    return names;
}

bool is_ipv6(std::string_view text) {
    const auto percent = text.find('%');
    if (percent != std::string_view::npos) {
        const auto zone = text.substr(percent + 1);
        if (zone.empty() || zone.size() > kLongestName || !std::all_of(zone.begin(), zone.end(), is_name_character)) return false;
    }
    const std::string address(text.substr(0, percent));
    in6_addr ignored;
    return address.find('\0') == std::string::npos && ::inet_pton(AF_INET6, address.c_str(), &ignored) == 1;
}

void check_pattern(std::string_view pattern, std::string_view word, const Complain& complain) {
    if (pattern.empty()) complain(fmt::format("{} lacks the name of a host", quote(word)));
    if (pattern.front() == '-')
        complain(fmt::format("the name {} begins with '-', which a remote shell takes for an option", quote(pattern)));
    bool inside = false;
    for (const char c : pattern) {
        if (inside ? is_digit(c) || c == ',' || c == '-' : is_name_character(c)) continue;
        if (c == (inside ? ']' : '[')) {
            inside = !inside;
            continue;
        }
        complain(fmt::format("{} is not allowed in {}; allowed: letters, digits, '.', '_', '-', and ranges such as [0-3,07-09]",
                             quote(std::string_view(&c, 1)), quote(pattern)));
    }
}

}  // namespace

HostWord parse_host_word(std::string_view word, const Complain& complain) {
    HostWord result;
    auto rest = word;
    if (const auto at = rest.find('@'); at != std::string_view::npos) {
        result.user = rest.substr(0, at);
        check_user(result.user, complain);
        rest.remove_prefix(at + 1);
    }
    // A range has no colons. Brackets with colons hold an IPv6 address.
    const auto close = rest.find(']');
    if (rest.starts_with('[') && close != std::string_view::npos && rest.substr(0, close).find(':') != std::string_view::npos) {
        const auto address = rest.substr(1, close - 1);
        if (!is_ipv6(address)) complain(fmt::format("{} is not an IPv6 address", quote(address)));
        result.names.emplace_back(address);
        rest.remove_prefix(close + 1);
        if (!rest.empty() && rest.front() != ':') {
            complain(fmt::format("after the address in {} only ':' and a number of slots may follow", quote(word)));
        }
    } else {
        const auto pattern = rest.substr(0, rest.find(':'));
        if (is_ipv6(rest)) complain(fmt::format("the address {0} needs brackets: [{0}], or [{0}]:4 for 4 slots", rest));
        check_pattern(pattern, word, complain);
        result.names = expand_pattern(pattern, complain);
        rest.remove_prefix(pattern.size());
    }
    if (!rest.empty()) result.slots = parse_slots(rest.substr(1), complain);
    return result;
}

int parse_slots(std::string_view text, const Complain& complain) {
    const auto slots = number_of_text<int>(text);
    if (!slots || *slots < 1 || *slots > kMostSlots) complain(fmt::format("a host has 1 to {} slots, not {}", kMostSlots, quote(text)));
    return *slots;
}

void check_user(std::string_view user, const Complain& complain) {
    if (user.empty() || user.front() == '-' || user.size() > kLongestName || !std::all_of(user.begin(), user.end(), is_name_character)) {
        complain(fmt::format("{} is not a user name; allowed: letters, digits, '.', '_', and '-' but not as the first", quote(user)));
    }
}

}  // namespace rollcall::launcher
