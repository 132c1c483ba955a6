#include "foundation/log.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

namespace rollcall::inline foundation {

namespace {

std::atomic<spdlog::logger*> logger_made = nullptr;

// What ends the process must be said, also if the reason is that there is no memory.
void write_without_memory(fmt::string_view format, fmt::format_args values) noexcept {
    std::array<char, 1000> text;
    std::size_t length = 0;
    try {
        const std::size_t begun = fmt::format_to_n(text.data(), text.size() - 1, "rollcall {} critical: ", ::getpid()).size;
        length = std::min(begun + fmt::vformat_to_n(text.data() + begun, text.size() - 1 - begun, format, values).size, text.size() - 1);
    } catch (...) {
        return;
    }
    text[length] = '\n';
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), length + 1);
}

}  // namespace

spdlog::logger* library_log() noexcept { return logger_made.load(std::memory_order_acquire); }

void log_formatted(LogLevel level, fmt::string_view format, fmt::format_args values) {
    auto* const logger = library_log();
    if (!logger || !logger->should_log(level)) return;
    try {
        logger->log(level, fmt::vformat(format, values));
    } catch (const std::exception&) {
        if (level == LogLevel::critical) write_without_memory(format, values);
    }
}

void start_log(const std::string& level) {
    static std::mutex making;
    const std::lock_guard lock(making);
    if (library_log()) return;
    // It is not in spdlog's registry. The program may use spdlog, too: what it sets for all loggers does not change this one, and its
    // loggers may have the same name.
    auto& logger = *new spdlog::logger("rollcall", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger.set_pattern("rollcall %P %l: %v");
    logger.set_level(spdlog::level::from_str(level));
    logger_made.store(&logger, std::memory_order_release);
}

}  // namespace rollcall::inline foundation
