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

/// Writes to that logger, if there is one. A message for which there is no memory is lost. Thread-safe.
void log_formatted(LogLevel level, fmt::string_view format, fmt::format_args values);

/// Does the same, with values that the compiler checks against the format. (spdlog's own function would bring all of fmt's code for
/// numbers into each source that logs.)
template <class... Values>
void log_message(LogLevel level, fmt::format_string<Values...> format, Values&&... values) {
    log_formatted(level, format, fmt::make_format_args(values...));
}

}  // namespace rollcall::inline foundation
