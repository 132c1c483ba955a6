/// \file
/// Which providers of libfabric a job goes over, and why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transports/ofi/endpoint.hpp"
#include "transports/options.hpp"

namespace rollcall::transport::ofi {

inline constexpr std::string_view kSharedMemory = "shm";

/// Between hosts, from the most to the least wanted: networks that move memory by themselves first. Others can be named.
inline constexpr std::string_view kBetweenHosts[] = {"cxi", "efa", "psm3", "verbs;ofi_rxm", "tcp;ofi_rxm"};

/// What this transport asks of a provider; of all of them when the name is empty.
Info ask(std::string_view provider);

struct Providers {
    Info shared_memory;  ///< For ranks of one node; null: they use the other one, too.
    Info network;        ///< Null: all ranks are on one node.
};

/// What a process goes over, for people. Either may be null.
std::string describe(const Endpoint* shared_memory, const Endpoint* network);

/// Those of a job: what the user has named (TransportOptions::ofi_provider), or the best there are. Throws Error{transport} that says what
/// is missing.
Providers choose(const TransportOptions& options);

}  // namespace rollcall::transport::ofi
