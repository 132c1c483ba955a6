/// \file
/// Which networks UCX has opened for a job.
#pragma once

#include <string_view>

#include <ucp/api/ucp.h>

namespace rollcall::transport::ucx {

/// What goes between hosts, as far as it is known before there is a connection.
struct Networks {
    bool move_memory = false;  ///< A network reads and writes memory by itself (RDMA).
    bool are_tcp = false;      ///< There is TCP and nothing else.
    bool are_plain = false;    ///< There is nothing but shared memory, TCP, or both.
};

/// The networks that UCX has opened and uses in a job of this size. That this host has such a device does not say so: the process may not
/// be allowed to open it, UCX may not know it, and UCX_TLS, UCX_NET_DEVICES and ROLLCALL_NET may exclude it.
Networks networks_of(ucp_context_h context, int size);

/// The same, from what ucp_context_print_info() says. `takes_rc`: UCX takes rc for so many connections (takes_rc_for()). Pure function.
Networks networks_in(std::string_view resources, bool takes_rc = true);

/// Whether UCX takes rc for a job of this size although it has ud. It does so up to 256 ranks, unless its variables say another number.
bool takes_rc_for(int size);

}  // namespace rollcall::transport::ucx
