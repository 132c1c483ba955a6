/// \file
/// Makes connections, and says why one cannot be made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <ucp/api/ucp.h>

#include "transports/ucx/address.hpp"

namespace rollcall::transport::ucx {

/// Makes the endpoint for the worker's address. `context` goes to the handler of errors.
ucs_status_t make_endpoint(ucp_worker_h worker, std::span<const std::byte> address, ucp_err_handler_cb_t on_error, void* context,
                           ucp_ep_h& endpoint);

/// Whether this process can open one more file, and map a file of this length. Returns why it cannot and what helps, or an empty string.
/// Leaves errno as it is.
std::string why_nothing_opens(std::uint64_t length);

/// A reason as the end of a sentence: " (why)", or an empty string.
std::string bracketed(const std::string& why);

/// Why shared memory of `there` may not be reached: nothing more can be opened here, or the kernel does not let this process look into that
/// one. Returns the reason and what helps, in brackets, or an empty string if there is no reason of this kind.
std::string why_unreachable(const Whereabouts& here, const Whereabouts& there, std::uint64_t length);

}  // namespace rollcall::transport::ucx
