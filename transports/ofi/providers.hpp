/// \file
/// Chooses the providers of libfabric that a job uses, and explains the choice.
#pragma once

#include <string>
#include <string_view>

#include "transports/ofi/endpoint.hpp"
#include "transports/options.hpp"

namespace rollcall::transport::ofi {

inline constexpr std::string_view kSharedMemory = "shm";
/// Its table of addresses has room for so many (SMR_MAX_PEERS in libfabric).
inline constexpr int kMostRanksOfSharedMemory = 256;

/// The providers between hosts, from the most to the least wanted. Networks that bypass the kernel come first, and among them the native
/// providers before verbs: on Omni-Path (opx, psm2) verbs is slow. psm3 is taken on RDMA devices only. The user can name other
/// providers.
inline constexpr std::string_view kBetweenHosts[] = {"cxi", "efa", "opx", "psm2", "psm3", "verbs;ofi_rxm", "tcp", "tcp;ofi_rxm"};

/// Asks a provider for the features that this transport needs, and with `reads` also for RMA reads. If the name is empty, asks all
/// providers.
Info ask(std::string_view provider, bool reads = false);
/// What there is without any condition. With `names`: the names of all providers that libfabric was built with, also of those without a
/// device on this host.
Info ask_without_conditions(bool names);

/// Whether memory can be read while its process makes no call. Otherwise a transfer that is given up would keep its buffer until the other
/// process makes one.
bool reads_alone(const fi_info& info);
/// Whether a read of memory that is not registered any more ends. Libfabric's own tcp (without ofi_rxm) goes on to send what the read has
/// asked for, although the process may use the memory for something else. cxi promises the end only with FI_CXI_MR_MATCH_EVENTS, which is
/// off by default (fi_cxi(7)).
bool reads_end(const fi_info& info);
/// Whether the provider reports the packets of a peer in the order in which they were sent, so that a gap shows at once that some are lost.
/// That is so where they have all gone over one stream or through one queue. Others promise it for no packets, or only for short ones.
bool completes_in_order(const fi_info& info);
/// Whether the provider ends the process where an error belongs to no operation, unless the endpoint has an event queue.
bool needs_event_queue(const fi_info& info);
/// Whether a thread can sleep on the provider's event descriptor. Shared memory has none, and that of `net` is always readable.
bool has_descriptor(const fi_info& info);

struct Providers {
    Info shared_memory;  ///< For the ranks of one node. Null: they use `network`, too.
    Info network;        ///< Null: all ranks are on one node, and share memory.
};

/// Describes for users which providers a process uses. Either pointer may be null.
std::string describe(const Endpoint* shared_memory, const Endpoint* network);

/// Chooses the providers of a job: those that the user has named (TransportOptions::ofi_provider), or else the best ones available. Throws
/// Error{transport} that says what is missing.
Providers choose(const TransportOptions& options);

}  // namespace rollcall::transport::ofi
