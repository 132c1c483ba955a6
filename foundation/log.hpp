/// \file
/// The log of the library.
#pragma once

#include <string>
#include <utility>

#include <fmt/format.h>
#include <spdlog/logger.h>

namespace rollcall::inline foundation {

/// Creates the logger "rollcall" with this level (ROLLCALL_LOG), unless it exists. It writes to standard error. Messages of the library
/// before this call are dropped. This logger is not in spdlog's registry, which belongs to the program. Thread-safe.
void start_log(const std::string& level);
/// That logger, or null before start_log(). It is never destroyed, because jobs may end in destructors of static objects. Thread-safe.
spdlog::logger* library_log() noexcept;

using LogLevel = spdlog::level::level_enum;

/// Writes to that logger, if there is one. Thread-safe.
template <class... Values>
void log_message(LogLevel level, fmt::format_string<Values...> format, Values&&... values) {
    if (auto* const logger = library_log()) logger->log(level, format, std::forward<Values>(values)...);
}

}  // namespace rollcall::inline foundation
