/// \file
/// What a transport is told when it is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "foundation/interfaces.hpp"

namespace rollcall::transport {

struct TransportOptions {
    int rank = 0;
    int size = 1;
    int local_size = 1;  ///< Ranks of the job on this host.
    /// To be used between hosts, and on one host where memory is not shared; empty: the transport chooses.
    std::vector<Interface> interfaces;
    /// The user has named the interfaces. If not, what the user has told the transport's own library stands.
    bool interfaces_named = false;
    std::uint64_t board_bytes = 4096;
    std::string ofi_provider;  ///< Of libfabric; empty: the transport chooses.
};

}  // namespace rollcall::transport
