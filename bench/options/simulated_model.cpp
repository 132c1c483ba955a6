#include "bench/options/simulated_model.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/units.hpp"

namespace rollcall::bench {
namespace {

[[noreturn]] void reject_model(std::string_view entry) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--model: {}; allowed: alpha=T (a message), beta=NS and gamma=NS (a byte sent, a byte "
                            "copied; nanoseconds), "
                            "notice=T, ports=1..1024, duplex=full|half, cut-through; default {}",
                            quote(entry), kDefaultModel));
}

}  // namespace

void change_model(transport::Model& model, std::string_view text) {
    constexpr std::uint64_t kMostPorts = 1024;
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find(','));
        text.remove_prefix(std::min(entry.size() + 1, text.size()));
        const auto equals = entry.find('=');
        const std::string_view key = entry.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? std::string_view() : entry.substr(equals + 1);
        const auto number = [&] {
            const auto result = number_of_text<double>(value);
            if (!result || !std::isfinite(*result) || *result < 0) reject_model(entry);
            return *result;
        };
        const auto duration = [&] {
            try {
                return static_cast<double>(parse_duration(value));
            } catch (const Error&) {
                reject_model(entry);
            }
        };
        if (key == "alpha") {
            model.alpha = duration();
        } else if (key == "beta") {
            model.beta = number();
        } else if (key == "gamma") {
            model.gamma = number();
        } else if (key == "notice") {
            model.notice = duration();
        } else if (key == "ports") {
            const double ports = number();
            if (ports < 1 || ports > static_cast<double>(kMostPorts) || ports != std::floor(ports)) reject_model(entry);
            model.ports = static_cast<int>(ports);
        } else if (key == "duplex" && (value == "full" || value == "half")) {
            model.full_duplex = value == "full";
        } else if (entry == "cut-through") {
            model.cut_through = true;
        } else {
            reject_model(entry);
        }
    }
}

void require_countable(const transport::Model& model, std::uint64_t bytes, std::uint64_t ranks, std::uint64_t calls) {
    // A rank may send or receive several messages for each other rank: two in a ring that reduces, log2 n / 2 in Bruck's alltoall. So this
    // is a 32nd part of what can be counted.
    constexpr double kMost = 0x1p58;
    constexpr std::uint64_t kOfCosts = 1 << 20;  // the longest message of which runtime::costs_of() computes the time
    const auto message = [&](std::uint64_t length) {
        return model.alpha + model.notice + (model.beta + model.gamma) * static_cast<double>(length);
    };
    const auto refuse_more = [&](double time, const std::string& what) {
        if (time > kMost)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--model: {} would take more than {:.0f} years in this model; allowed: smaller costs, sizes or numbers "
                                    "of ranks and calls",
                                    what, kMost / (365.25 * 86400e9)));
    };
    refuse_more(message(kOfCosts), fmt::format("a message of {}", format_bytes(kOfCosts)));
    refuse_more(message(bytes) * static_cast<double>(ranks) * static_cast<double>(calls),
                fmt::format("{} messages of {} in each of {} calls", ranks, format_bytes(bytes), calls));
}

}  // namespace rollcall::bench
