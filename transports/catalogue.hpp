/// \file
/// Which transports this build has: how each is made, and what each of them finds on this host.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transports/options.hpp"

namespace rollcall::transport {

class Transport;

/// `name`: one of kTransportNames, or "auto", the first of them that works here.
/// Throws Error{invalid_setting} that lists the names when there is none of this name, and Error{transport} with the reason when it
/// cannot be used.
std::unique_ptr<Transport> make_transport(std::string_view name, const TransportOptions& options);

/// One way of moving bytes that a transport found on this host.
struct TransportDevice {
    std::string transport;  ///< The transport's own name for the way: "posix", "tcp".
    std::string device;     ///< "memory", "eth0".
    bool network = false;   ///< A network device: one that ROLLCALL_NET decides about.
    std::string unused;     ///< Why a job does not use it, whatever ROLLCALL_NET says; empty: it may.
};

/// For people (`rollcall info`).
struct TransportInfo {
    std::string name;     ///< As in ROLLCALL_TRANSPORT.
    std::string version;  ///< Of the library that is loaded; may be empty.
    bool available = false;
    std::vector<TransportDevice> devices;
    std::string note;  ///< Why it is not available, or what else is worth knowing.
};

/// Every transport of this build. Never throws for a transport that cannot be used: its note says why.
std::vector<TransportInfo> transport_catalogue();

}  // namespace rollcall::transport
