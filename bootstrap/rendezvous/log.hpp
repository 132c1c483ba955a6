/// \file
/// Writes messages of the rendezvous that are not errors, to library_log() if there is one. Thread-safe.
#pragma once

#include <fmt/format.h>

#include "foundation/log.hpp"

namespace rollcall::bootstrap {

using LogLevel = spdlog::level::level_enum;

/// Thread-safe.
template <class... Values>
void rendezvous_log(LogLevel level, fmt::format_string<Values...> format, Values&&... values) {
    if (auto* const logger = library_log()) logger->log(level, "{}", fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace rollcall::bootstrap
