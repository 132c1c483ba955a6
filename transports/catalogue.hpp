/// \file
/// Lists the transports of this build, makes them, and says what each of them finds on this host.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transports/options.hpp"

namespace rollcall::transport {

class Transport;

/// Makes a transport. `name` is one of kTransportNames, or "auto" for the first of them that works here.
/// Throws Error{invalid_setting}, which lists the names, when there is no transport of this name. Throws Error{transport} with the reason
/// when the transport cannot be used.
std::unique_ptr<Transport> make_transport(std::string_view name, const TransportOptions& options);

/// One way of moving bytes that a transport found on this host.
struct TransportDevice {
    std::string transport;   ///< The transport's own name for it: "posix", "tcp".
    std::string device;      ///< "memory", "eth0".
    bool network = false;    ///< It is a network device, to which ROLLCALL_NET applies.
    std::string unused;      ///< Why a job does not use it, whatever ROLLCALL_NET says. Empty: a job may use it.
    std::string lacks = {};  ///< What it cannot do, so that Rollcall does without. May be empty.
    /// Whether a job on one host, or on several hosts, uses it. No value: jobs use it if `unused` is empty and, for a network device, if
    /// its interface is chosen.
    std::optional<bool> one_host = {}, several_hosts = {};
};

/// The description of a transport for users (`rollcall info`).
struct TransportInfo {
    std::string name;     ///< The name as in ROLLCALL_TRANSPORT.
    std::string version;  ///< Version of the library that is loaded; may be empty.
    /// Whether a job on one host, or on several hosts, could use it.
    bool one_host = false, several_hosts = false;
    std::vector<TransportDevice> devices;
    std::string note;  ///< Why it is not available, or what a job would use of it, and why.

    /// Whether some job could use it.
    bool available() const { return one_host || several_hosts; }
};

/// The jobs that a description is made for. Of their options, `interfaces`, `ofi_provider` and `ofi_reads` are used.
struct Jobs {
    Jobs() {
        one_host.size = one_host.local_size = several_hosts.local_size = 2;
        several_hosts.size = 4;
    }
    TransportOptions one_host, several_hosts;
    std::string no_network;  ///< Why no job on several hosts starts, whatever its transport. Empty: it does.
};

/// Describes every transport of this build. Does not throw for a transport that cannot be used: its note gives the reason.
std::vector<TransportInfo> transport_catalogue(const Jobs& jobs = {});

}  // namespace rollcall::transport
