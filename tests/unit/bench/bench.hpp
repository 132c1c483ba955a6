/// \file
/// What tests of the benchmark share.
#pragma once

#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::bench {

constexpr Nanoseconds kMicrosecond = 1'000, kMillisecond = 1'000'000, kSecond = 1'000'000'000;

inline bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace rollcall::bench
