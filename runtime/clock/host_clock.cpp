#include "runtime/clock/host_clock.hpp"

#include <charconv>
#include <cstdlib>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/hash.hpp"
#include "foundation/kernel.hpp"
#include "foundation/quote.hpp"

namespace rollcall::runtime {
namespace {

constexpr const char* kTestClocks = "ROLLCALL_TEST_CLOCKS";

template <class Number>
bool read_number(std::string_view text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size();
}

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
    for (std::string_view rest = text;;) {
        const std::string_view clock = rest.substr(0, rest.find(','));
        const std::size_t colon = clock.find(':');
        ClockModel model;
        if (colon == std::string_view::npos || !read_number(clock.substr(0, colon), model.offset) ||
            !read_number(clock.substr(colon + 1), model.drift))
            throw Error(ErrorCode::invalid_setting,
                        fmt::format("{}={} is not allowed; allowed: clocks such as 2000000000:-40 (nanoseconds and parts per "
                                    "million), separated by commas",
                                    kTestClocks, quote(text)));
        model.drift *= 1e-6;
        clocks.push_back(model);
        if (clock.size() == rest.size()) break;
        rest.remove_prefix(clock.size() + 1);
    }
    const std::size_t number = static_cast<std::size_t>(rank) * clocks.size() / static_cast<std::size_t>(size);
    return {clocks[number], number + 1};
}

}  // namespace rollcall::runtime
