/// \file
/// How a failure of UCX at the start is reported.
#pragma once

#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <ucp/api/ucp.h>
#include <rollcall/error.hpp>

#include "transports/ucx/log.hpp"

namespace rollcall::transport::ucx {

/// Throws unless UCX succeeded. `what` names the action, for example "creating a worker".
inline void check(const char* what, ucs_status_t status) {
    if (status == UCS_OK) return;
    const std::string said = KeptErrors::first();
    std::string chosen;  // Variables set by the user, which are a likely cause of the failure.
    for (const char* variable : {"UCX_TLS", "UCX_NET_DEVICES"}) {
        if (const char* const value = std::getenv(variable))
            chosen += fmt::format("{}{}={}", chosen.empty() ? " with " : " and ", variable, value);
    }
    throw Error(ErrorCode::transport,
                fmt::format("UCX: {} failed{}: {}{}; `rollcall info` shows what UCX offers here, UCX_LOG_LEVEL=info says more", what,
                            chosen, ucs_status_string(status), said.empty() ? "" : " (" + said + ")"));
}

}  // namespace rollcall::transport::ucx
