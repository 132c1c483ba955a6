#include "bench/landing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <rollcall/error.hpp>
#include <string_view>

#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

constexpr std::string_view kLandingEager = "eager:";
/// The largest value here. ROLLCALL_EAGER_BYTES may be that large, and eager allowances let messages of that length through.
constexpr std::uint64_t kLongestEager = 64 << 10;

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
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        std::string entry = text.substr(begin, end - begin);
        begin = end + 1;
        bool known = entry == kLandingOn || entry == kLandingOff;
        if (!known && entry.starts_with(kLandingEager)) {
            try {
                const std::uint64_t longest = parse_bytes(std::string_view(entry).substr(kLandingEager.size()));
                known = longest > 0 && longest <= kLongestEager;
                entry = fmt::format("{}{}", kLandingEager, format_bytes(longest));
            } catch (const Error&) {
            }
        }
        if (!known)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--landing: unknown landing {}; allowed: on, off, eager:SIZE with {} at most", quote(entry),
                                    format_bytes(kLongestEager)));
        if (std::find(all.begin(), all.end(), entry) == all.end()) all.push_back(entry);
    }
    return all;
}

std::vector<std::string> environment_of(const std::string& landing) {
    if (landing == landing_now()) return {};
    if (landing == kLandingOff) return {"ROLLCALL_LANDING_BYTES=0"};
    const std::string longest = landing.substr(kLandingEager.size());
    return {"ROLLCALL_LANDING_LONGEST=" + longest, "ROLLCALL_EAGER_BYTES=" + longest};
}

}  // namespace rollcall::bench
