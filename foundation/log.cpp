#include "foundation/log.hpp"

#include <atomic>
#include <memory>
#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace rollcall::inline foundation {

namespace {

std::atomic<spdlog::logger*> logger_made = nullptr;

}  // namespace

spdlog::logger* library_log() noexcept { return logger_made.load(std::memory_order_acquire); }

void start_log(const std::string& level) {
    static std::mutex making;
    const std::lock_guard lock(making);
    if (library_log()) return;
    static auto& kept = *new std::shared_ptr<spdlog::logger>(spdlog::get("rollcall"));
    if (!kept) {
        kept = spdlog::stderr_logger_mt("rollcall");
        kept->set_pattern("rollcall %P %l: %v");
        kept->set_level(spdlog::level::from_str(level));
    }
    logger_made.store(kept.get(), std::memory_order_release);
}

}  // namespace rollcall::inline foundation
