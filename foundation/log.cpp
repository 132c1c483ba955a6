#include "foundation/log.hpp"

#include <mutex>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace rollcall::inline foundation {

void start_log(const std::string& level) {
    static std::mutex making;
    const std::lock_guard lock(making);
    if (spdlog::get("rollcall")) return;
    const auto logger = spdlog::stderr_logger_mt("rollcall");
    logger->set_pattern("rollcall %P %l: %v");
    logger->set_level(spdlog::level::from_str(level));
}

}  // namespace rollcall::inline foundation
