/// \file
/// The options with which a transport is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/interfaces.hpp"

namespace rollcall::transport {

struct TransportOptions {
    int rank = 0;
    int size = 1;
    int local_size = 1;  ///< Number of the job's ranks on this host.
    int local_rank = 0;  ///< Among them, in the order of ranks.
    /// The interfaces to use between hosts, and on one host where memory is not shared. Empty: the transport chooses.
    std::vector<Interface> interfaces;
    /// Whether the user has named the interfaces. If not, settings that the user has given the transport's own library remain in force.
    bool interfaces_named = false;
    std::uint64_t board_bytes = 4096;
    bool driven_in_background = true;  ///< A thread drives the transport while the program computes.
    /// RMA reads over libfabric: auto (where the peer's process takes no part in them), always (where the provider has them), no.
    std::string ofi_reads = "auto";
    /// For tests: UCX gets the buffers of large payloads and writes boards as over RDMA, whatever the network is.
    bool ucx_direct = false;
    std::string ofi_provider;  ///< The provider of libfabric; empty: the transport chooses.
};

}  // namespace rollcall::transport
