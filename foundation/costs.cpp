#include "foundation/costs.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"
#include "foundation/home.hpp"
#include "foundation/quote.hpp"
#include "foundation/text.hpp"
#include "foundation/units.hpp"

namespace rollcall::inline foundation {
namespace {

constexpr Nanoseconds kLeast = 1;
constexpr Nanoseconds kMost = 3'600'000'000'000;  // an hour; with more, a sum of costs could exceed all bounds

std::string names() {
    std::vector<std::string_view> all;
    for (const CostName& cost : kCostNames) all.push_back(cost.name);
    return fmt::format("{}", fmt::join(all, ", "));
}

[[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& what) {
    throw Error(ErrorCode::invalid_setting,
                fmt::format("{}:{}: {}. Correct the line, let `rollcall tune` write the file again, or set ROLLCALL_COSTS=no",
                            printable(path), line, what));
}

/// The value of a line, or what is wrong with it.
Nanoseconds value_of(const std::string& path, std::size_t line, std::string_view name, std::string_view text) {
    Nanoseconds value = 0;
    try {
        value = parse_duration(text);
    } catch (const Error&) {
        value = 0;  // The sentence below says more.
    }
    if (value >= kLeast && value <= kMost) return value;
    refuse(path, line,
           fmt::format("{} = {} is not allowed; allowed: a duration such as 850ns or 12.5us, from 1ns to 60min", name, quote(text)));
}

void read_line_into(Costs& costs, std::array<bool, kCostNames.size()>& seen, const std::string& path, std::size_t number,
                    std::string_view line) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const auto equals = line.find('=');
    const std::string_view name = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos) refuse(path, number, fmt::format("{} is no `name = duration`", quote(line)));
    const auto cost = std::find_if(kCostNames.begin(), kCostNames.end(), [&](const CostName& known) { return known.name == name; });
    if (cost == kCostNames.end()) refuse(path, number, fmt::format("{} is no cost; allowed: {}", quote(name), names()));
    bool& is_there = seen[static_cast<std::size_t>(cost - kCostNames.begin())];
    if (is_there) refuse(path, number, fmt::format("{} is there twice", name));
    is_there = true;
    costs.*cost->member = value_of(path, number, name, trimmed(line.substr(equals + 1)));
}

}  // namespace

std::string costs_path(const std::string& setting) {
    if (setting == "no") return {};
    if (!setting.empty()) return setting;
    const std::string home = home_directory();
    return home.empty() ? std::string() : home + "/.config/rollcall/costs";
}

Costs read_costs(const std::string& path) {
    std::ifstream file(path);
    const auto check = [&](bool good) {
        if (!good)
            throw Error(ErrorCode::invalid_setting,
                        fmt::format("the file of costs {} cannot be read ({}): let `rollcall tune` write it, or set ROLLCALL_COSTS=no",
                                    quote(path), error_text(errno)));
    };
    check(file.is_open());
    errno = 0;
    Costs costs;
    std::array<bool, kCostNames.size()> seen{};
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) read_line_into(costs, seen, path, ++number, line);
    check(!file.bad() && file.eof());  // a directory can be opened, but not read
    return costs;
}

Costs costs_of_setting(const std::string& setting) {
    const std::string path = costs_path(setting);
    std::error_code unreadable;
    if (path.empty() || (setting.empty() && !std::filesystem::exists(path, unreadable))) return {};
    return read_costs(path);
}

std::string write_costs(const Costs& costs, std::string_view origin) {
    std::string text = fmt::format("# {}\n# Jobs read this file when they start: see ROLLCALL_COSTS in docs/settings.md.\n", origin);
    for (const CostName& cost : kCostNames)
        text += fmt::format("{:<16} = {:<12} # {}\n", cost.name, exact_duration(costs.*cost.member), cost.meaning);
    return text;
}

}  // namespace rollcall::inline foundation
