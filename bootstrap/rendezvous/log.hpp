/// \file
/// Writes messages of the rendezvous that are not errors, to the logger of foundation/log.hpp if there is one. Thread-safe.
#pragma once

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace rollcall::bootstrap {

using LogLevel = spdlog::level::level_enum;

/// Thread-safe.
template <class... Values>
void rendezvous_log(LogLevel level, fmt::format_string<Values...> format, Values&&... values) {
    if (const auto logger = spdlog::get("rollcall")) logger->log(level, "{}", fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace rollcall::bootstrap
