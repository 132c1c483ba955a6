#include "runtime/clock/host_clock.hpp"

#include <cstdlib>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/hash.hpp"
#include "foundation/kernel.hpp"
#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/text.hpp"

namespace rollcall::runtime {
namespace {

constexpr const char* kTestClocks = "ROLLCALL_TEST_CLOCKS";

}  // namespace

std::uint64_t clock_identity(std::string_view host) {
    const std::string boot = boot_identity();
    // All containers of one kernel share its clock, whatever they are called. A time namespace has an offset of its own.
    const std::string clock = fmt::format("{}/{}", boot.empty() ? host : boot, namespace_number("time"));
    return hash_of(std::as_bytes(std::span(clock)));
}

TestClock test_clock(int rank, int size) {
    const char* const text = std::getenv(kTestClocks);
    if (!text || !*text) return {};
    std::vector<ClockModel> clocks;
    for (const std::string_view clock : split_at_commas(text)) {
        const std::size_t colon = clock.find(':');
        const auto offset = number_of_text<Nanoseconds>(clock.substr(0, colon));
        const auto drift = colon == std::string_view::npos ? std::nullopt : number_of_text<double>(clock.substr(colon + 1));
        if (!offset || !drift)
            throw Error(ErrorCode::invalid_setting,
                        fmt::format("{}={} is not allowed; allowed: clocks such as 2000000000:-40 (nanoseconds and parts per "
                                    "million), separated by commas",
                                    kTestClocks, quote(text)));
        clocks.push_back({.reference = 0, .offset = *offset, .drift = *drift * 1e-6});
    }
    const std::size_t number = static_cast<std::size_t>(rank) * clocks.size() / static_cast<std::size_t>(size);
    return {clocks[number], number + 1};
}

}  // namespace rollcall::runtime
