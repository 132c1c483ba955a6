#include <rollcall/error.hpp>

namespace rollcall {

const char* name(ErrorCode code) noexcept {
    switch (code) {
        case ErrorCode::invalid_argument: return "invalid_argument";
        case ErrorCode::invalid_setting: return "invalid_setting";
        case ErrorCode::mismatch: return "mismatch";
        case ErrorCode::truncated: return "truncated";
        case ErrorCode::peer_failed: return "peer_failed";
        case ErrorCode::timeout: return "timeout";
        case ErrorCode::bootstrap: return "bootstrap";
        case ErrorCode::transport: return "transport";
        case ErrorCode::state: return "state";
    }
    return "unknown";
}

}  // namespace rollcall
