/// \file
/// One endpoint of one provider of libfabric: packets out of registered memory, and what came of them. What providers do differently, and
/// what to do when they have no room, is known here only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "transports/ofi/library.hpp"
#include "transports/ofi/wire.hpp"

namespace rollcall::transport::ofi {

struct InfoRelease {
    void operator()(fi_info* info) const { library().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoRelease>;

struct Packet {
    fi_context2 context;  ///< First, as libfabric gives its address back.
    Packet* next;
    void* descriptor;
    int peer;  ///< Whom it goes to.
    bool incoming;
    std::byte bytes[kPacketBytes];
};

class Endpoint {
  public:
    enum class Sent : std::uint8_t { yes, no_room, failed };
    /// What came of something: bytes that came in, or a packet to a peer that did not arrive.
    struct Event {
        Packet* packet;
        std::size_t size;
        int error;  ///< 0: none.
        std::string why;
    };

    /// Throws Error{transport}.
    explicit Endpoint(Info info);
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    const fi_info& info() const { return *info_; }
    std::string provider() const { return info_->fabric_attr->prov_name; }
    bool is_shared_memory() const { return provider() == "shm"; }
    std::vector<std::byte> address() const;
    /// Where a peer is from now on. False: the address is not one of this provider's.
    bool insert(std::span<const std::byte> address, fi_addr_t& peer);

    /// A packet to fill. Null: as many as may be are under way; progress and try again.
    Packet* take();
    void give_back(Packet* packet);
    /// Packets that the provider has.
    std::size_t under_way() const { return under_way_; }
    /// So many will not come back, or too late: others may be made in their place.
    void write_off(std::size_t count) {
        outgoing_ -= count;
        under_way_ -= count;
    }
    /// The packet is the provider's until its event, but when this is not `yes`.
    Sent send(Packet* packet, std::size_t size, int peer, fi_addr_t to);
    /// Longest message that leaves at once.
    std::size_t longest_injected() const { return longest_injected_; }
    /// Of at most that length, copied at the call.
    Sent inject(const void* bytes, std::size_t size, fi_addr_t to);

    /// The next thing that happened. The packet is to be given back. False: nothing.
    bool next(Event& event);
    /// Looks for events without handing them out. True: there are some.
    bool look();

    /// Becomes readable when something happened; -1: it has none (shared memory), or none that is of use.
    int descriptor() const { return descriptor_; }
    /// Whether the descriptor may be waited for now.
    bool may_wait();

  private:
    void open();
    void close() noexcept;
    void add_packets(bool incoming, std::size_t count);
    void receive(Packet* packet);
    void take_error();

    Info info_;
    fid_fabric* fabric_ = nullptr;
    fid_domain* domain_ = nullptr;
    fid_av* addresses_ = nullptr;
    fid_cq* queue_ = nullptr;
    fid_ep* endpoint_ = nullptr;
    std::vector<fid_mr*> registrations_;
    std::vector<std::unique_ptr<Packet[]>> packets_;
    Packet* free_ = nullptr;
    std::size_t outgoing_ = 0;  ///< Packets there are.
    std::size_t under_way_ = 0;
    std::vector<Packet*> unposted_;  ///< To be posted as soon as there is room.
    std::deque<Event> events_;
    std::size_t longest_injected_ = 0;
    int descriptor_ = -1;
};

}  // namespace rollcall::transport::ofi
