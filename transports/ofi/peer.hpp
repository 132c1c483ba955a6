/// \file
/// Another process of the job, as this transport knows it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transports/address_parts.hpp"
#include "transports/ofi/neighbour.hpp"
#include "transports/ofi/packet_order.hpp"
#include "transports/ofi/stream.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport::ofi {

// The parts of an address.
inline constexpr int kNodeHandlePart = 0, kSharedMemoryPart = 1, kProviderPart = 2, kNetworkPart = 3, kBoardPart = 4;

/// Returns the address of a process. Either endpoint may be null, and so may `board`: where the board can be written over the network.
std::vector<std::byte> address_of(const NodeHandle& node_handle, const Endpoint* shared_memory, const Endpoint* network,
                                  const Exposed* board);

struct Peer {
    std::span<const std::byte> address;
    Stream stream;
    std::unique_ptr<Neighbour> neighbour;  ///< Null: the peer is reached over the network.
    std::optional<Exposed> board;          ///< Where its board can be written over the network.
    bool gone = false;
    bool is_busy = false;        ///< Something waits to leave.
    bool lacks_packets = false;  ///< Packets of it were lost.
    PacketOrder order;           ///< By Prefix::number.

    std::span<const std::byte> part_of_address(int number) const { return part(address, number); }
    NodeHandle node_handle() const {
        NodeHandle node_handle;
        if (const auto bytes = part_of_address(kNodeHandlePart); bytes.size() == sizeof node_handle)
            std::memcpy(&node_handle, bytes.data(), sizeof node_handle);
        return node_handle;
    }

    /// Finds the way to the peer. `home` is the node handle of this process; `rank` its rank, and `peer` the rank of the peer. Either
    /// endpoint may be null. Returns why there is no way, or an empty string.
    std::string reach(const NodeHandle& home, Endpoint* shared_memory, Endpoint* network, int rank, int peer);
    /// Handles a packet that the peer, `its_rank`, has lent, and gives it back.
    template <class Handle>
    void read_lent(const Numbers& numbers, int its_rank, Handle handle) {
        Slot* const slot = neighbour ? neighbour->slot(static_cast<std::uint32_t>(numbers.which)) : nullptr;
        const auto loan = static_cast<std::uint32_t>(numbers.which >> 32);
        if (!slot || numbers.size > sizeof slot->bytes || slot->loan.load(std::memory_order_acquire) != loan) return;
        Parsed parsed;
        if (parsed.parse({slot->bytes, numbers.size}) && parsed.prefix.source == its_rank) handle(parsed);
        slot->loan.store(0, std::memory_order_release);
        neighbour->ring();
    }
    /// Whether the peer and this process, whose node handle is `home`, reach each other through shared memory.
    bool shares_memory(const NodeHandle& home) const {
        const NodeHandle its = node_handle();
        return its.domain != 0 && its.domain == home.domain && !part_of_address(kSharedMemoryPart).empty();
    }

    /// Begins an eager message that comes in several packets. This call gets the content of the first packet; the others follow.
    void begin_message(std::span<const std::byte> its_header, std::span<const std::byte> bytes, std::uint64_t size) {
        header_.assign(its_header.begin(), its_header.end());
        payload_.assign(bytes.begin(), bytes.end());
        expected_ = size;
    }
    void continue_message(std::span<const std::byte> bytes, Sink& sink) {
        if (bytes.size() > expected_ - payload_.size()) return;
        payload_.insert(payload_.end(), bytes.begin(), bytes.end());
        if (payload_.size() < expected_) return;
        const std::vector<std::byte> payload = std::exchange(payload_, {});
        expected_ = 0;
        sink.on_message(header_, {payload.data(), payload.size()});
    }

  private:
    std::vector<std::byte> header_, payload_;
    std::uint64_t expected_ = 0;
};

/// Reaches all peers that share memory with this process, whose node handle is `home`. Their files in /dev/shm then lose their names:
/// nothing is left behind when processes are killed, whatever started them.
void meet_neighbours(std::vector<Peer>& peers, const NodeHandle& home, Endpoint& shared_memory, int rank);

}  // namespace rollcall::transport::ofi
