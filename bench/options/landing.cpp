#include "bench/options/landing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <rollcall/error.hpp>
#include <string_view>

#include "bench/cases/lists.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

constexpr std::string_view kLandingEager = "eager:";
/// The largest value here. ROLLCALL_EAGER_BYTES may be that large, and eager allowances let messages of that length through.
constexpr std::uint64_t kLongestEager = 64 << 10;

/// The size in "eager:SIZE".
std::uint64_t longest_of(std::string_view word) { return parse_bytes(word.substr(kLandingEager.size())); }

/// Returns "on", "off" or "eager:SIZE" with the shortest form of the size; nothing for other text.
std::optional<std::string> landing_word(std::string_view entry) {
    if (entry == kLandingOn || entry == kLandingOff) return std::string(entry);
    if (!entry.starts_with(kLandingEager)) return std::nullopt;
    try {
        const std::uint64_t longest = longest_of(entry);
        if (longest > 0 && longest <= kLongestEager) return fmt::format("{}{}", kLandingEager, format_bytes(longest));
    } catch (const Error&) {
    }
    return std::nullopt;
}

}  // namespace

std::string landing_now() {
    const auto settings = Settings::from_environment();
    if (settings.landing_bytes == 0) return kLandingOff;
    return settings.landing_longest ? fmt::format("{}{}", kLandingEager, format_bytes(settings.landing_longest)) : kLandingOn;
}

Model model_now() {
    const std::string landing = landing_now();
    return landing == kLandingOff ? Model::blocking : landing == kLandingOn ? Model::nonblocking : Model::eager;
}

std::vector<std::string> parse_landing(const std::string& text) {
    std::vector<std::string> all;
    for (const auto entry : entries(text)) {
        const auto word = landing_word(entry);
        if (!word)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--landing: unknown landing {}; allowed: on, off, eager:SIZE with {} at most", quote(entry),
                                    format_bytes(kLongestEager)));
        if (std::find(all.begin(), all.end(), *word) == all.end()) all.push_back(*word);
    }
    return all;
}

std::vector<SimulatedLanding> parse_simulated_landing(const std::string& text) {
    std::vector<SimulatedLanding> all;
    for (const auto entry : entries(text)) {
        const auto word = landing_word(entry);
        SimulatedLanding landing{.word = word.value_or("")};
        if (word == kLandingOff) {
            landing.budget = 0;
        } else if (word && word != kLandingOn) {
            landing.longest = longest_of(*word);
        } else if (!word) {
            try {
                landing.budget = parse_bytes(entry);
                landing.word = format_bytes(landing.budget);
            } catch (const Error&) {
                throw Error(ErrorCode::invalid_argument,
                            fmt::format("--landing: unknown landing {}; allowed: on, off, eager:SIZE with {} at most, or a budget in bytes "
                                        "such as 64Mi",
                                        quote(entry), format_bytes(kLongestEager)));
            }
        }
        const auto is_same = [&](const SimulatedLanding& one) { return one.word == landing.word; };
        if (std::none_of(all.begin(), all.end(), is_same)) all.push_back(landing);
    }
    return all;
}

std::vector<bool> parse_decouple(const std::string& text) {
    const auto chosen = parse_names(text, "way to decouple", std::vector<Choice>{{.name = "no"}, {.name = "auto"}});
    std::vector<bool> decouple;
    for (const bool way : {false, true})  // in this order, because a row of `auto` is left out where it is the same as that of `no`
        if (std::ranges::count(chosen, way ? "auto" : "no") > 0) decouple.push_back(way);
    return decouple;
}

std::vector<std::string> environment_of(const std::string& landing) {
    if (landing == landing_now()) return {};
    if (landing == kLandingOff) return {"ROLLCALL_LANDING_BYTES=0"};
    const std::string longest = format_bytes(longest_of(landing));
    return {"ROLLCALL_LANDING_LONGEST=" + longest, "ROLLCALL_EAGER_BYTES=" + longest};
}

}  // namespace rollcall::bench
