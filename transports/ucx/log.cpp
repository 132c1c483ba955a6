#include "transports/ucx/log.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>

#include <ucs/debug/log_def.h>

#include "foundation/log.hpp"

namespace rollcall::transport::ucx {
namespace {

/// Has a value while a KeptErrors exists.
thread_local std::optional<std::string> kept;
thread_local bool chosen_by_the_user = true;
/// Whether the user has set UCX_LOG_LEVEL. UCX then says more, and all of it is printed.
bool asked_for = false;

spdlog::level::level_enum level_of(ucs_log_level_t level, std::string_view text) {
    // Errors at the start become part of the exception. Errors of a running job concern connections to peers that died, which the library
    // reports in its own words.
    if (level == UCS_LOG_LEVEL_ERROR) return spdlog::level::info;
    // Settings that the library makes (ucp_config_modify) and that this job does not use. What the user sets is called an environment
    // variable by UCX.
    const bool missing = text.starts_with("network device") && text.find(" not available") != std::string_view::npos;
    if (missing && !chosen_by_the_user) return spdlog::level::debug;
    return text.starts_with("invalid configuration") ? spdlog::level::debug : spdlog::level::warn;
}

ucs_log_func_rc_t log_of_ucx(const char* file, unsigned line, const char*, ucs_log_level_t level, const ucs_log_component_config_t*,
                             const char* message, va_list values) {
    if (level == UCS_LOG_LEVEL_FATAL || level > (asked_for ? UCS_LOG_LEVEL_TRACE_POLL : UCS_LOG_LEVEL_WARN))
        return UCS_LOG_FUNC_RC_CONTINUE;
    char text[1024];
    va_list again;
    va_copy(again, values);
    std::vsnprintf(text, sizeof text, message, again);
    va_end(again);
    if (level == UCS_LOG_LEVEL_ERROR && kept && kept->empty()) *kept = text;
    if (asked_for)
        std::fprintf(stderr, "UCX %s %s:%u: %s\n", ucs_log_level_names[level], file, line, text);
    else
        log_message(level_of(level, text), "UCX: {}", static_cast<const char*>(text));
    return UCS_LOG_FUNC_RC_STOP;
}

}  // namespace

void take_over_log() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (std::getenv("UCX_LOG_FILE")) return;
        asked_for = std::getenv("UCX_LOG_LEVEL") != nullptr;
        ucs_log_push_handler(&log_of_ucx);
    });
}

KeptErrors::KeptErrors(bool interfaces_named) {
    kept.emplace();
    chosen_by_the_user = interfaces_named || std::getenv("UCX_NET_DEVICES");
}
KeptErrors::~KeptErrors() {
    kept.reset();
    chosen_by_the_user = true;
}
std::string KeptErrors::first() { return kept.value_or(""); }

}  // namespace rollcall::transport::ucx
