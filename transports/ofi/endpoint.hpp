/// \file
/// One endpoint of one provider of libfabric. It sends and receives packets in registered memory and reports what became of them. Only this
/// class knows the differences between providers, and what to do when a provider has no room. Errors of its queue: Completions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include "transports/ofi/completions.hpp"
#include "transports/ofi/library.hpp"
#include "transports/ofi/neighbour.hpp"
#include "transports/ofi/wire.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport::ofi {

struct InfoRelease {
    void operator()(fi_info* info) const { library().freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoRelease>;

struct CloseRegistration {
    void operator()(fid_mr* registration) const noexcept { fi_close(&registration->fid); }
};
/// Memory that is registered with a provider, until this is destroyed.
using Registration = std::unique_ptr<fid_mr, CloseRegistration>;

struct Request;

/// What goes through the provider: bytes to or from a peer, or an RMA read, which uses no bytes of the packet.
struct Packet {
    fi_context2 context;  ///< Must be the first member, because libfabric returns its address.
    Packet* next;
    void* descriptor;
    Request* reader;  ///< The request for which this is a read. Null: it is a message.
    int peer;         ///< The rank that the packet goes to, while it belongs to the provider. Otherwise kNobody.
    bool incoming;
    bool is_written_off;  ///< Endpoint::write_off().
    static constexpr int kNobody = -1;
    std::byte* bytes;  ///< Endpoint::packet_bytes() of them.
    Slot* slot;        ///< Where the bytes are, if the receiver reads them there. Null: they are sent.
};

/// Whether the provider ends a connection when an address is removed from its table.
inline bool ends_connections(std::string_view provider) { return provider.ends_with(";ofi_rxm"); }

class Endpoint {
  public:
    enum class Sent : std::uint8_t { yes, no_room, failed };
    /// If there are slots, all outgoing packets are in them, and none of them is given to send(). Throws Error{transport}.
    explicit Endpoint(Info info, std::span<Slot> slots = {});
    ~Endpoint();
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    const fi_info& info() const { return *info_; }
    std::string provider() const { return info_->fabric_attr->prov_name; }
    std::span<Slot> slots() const { return slots_; }
    std::vector<std::byte> address() const;
    /// Adds the address of a peer. Returns false if the address does not belong to this provider.
    bool insert(std::span<const std::byte> address, fi_addr_t& peer);
    /// Ends the connection to a peer, so that neither side reads memory of the other one any more. Reads that are under way fail. A
    /// provider without connections ends reads when the registration ends, and forbids this while packets to the peer are under way.
    void part_from(fi_addr_t peer) {
        if (endpoint_ && !is_abandoned_ && ends_connections(provider())) fi_av_remove(addresses_, &peer, 1, 0);
    }
    /// Closes the endpoint. The network then uses no memory of the program any more. Events of what was under way do not come. Only
    /// give_back() and write_off() may be called after this. Returns false if the provider refuses: then abandon() it. Where
    /// holds_registrations() is true, the registrations of others must end before.
    bool stop();
    /// Whether the endpoint cannot be closed before what is registered with it.
    bool holds_registrations() const { return wants(FI_MR_ENDPOINT); }
    /// Whether stop() would crash while a read of this process is under way (tcp;ofi_rxm of libfabric 1.17).
    bool must_end_reads() const { return provider() == "tcp;ofi_rxm" && info_->domain_attr->data_progress != FI_PROGRESS_AUTO; }
    /// Takes the place of stop() where that is refused, or where must_end_reads() is true and reads do not end. Such a provider moves bytes
    /// only while it is looked at, so it uses no memory of the program if nobody does that any more. The endpoint stays until the process
    /// ends.
    static void abandon(std::unique_ptr<Endpoint> endpoint);

    /// The longest packet, in bytes. It is the same in all processes that use the provider of the same version of libfabric.
    std::size_t packet_bytes() const { return packet_bytes_; }
    /// Returns a packet to fill. Null: the largest allowed number of packets is under way, or the provider registers no memory for more;
    /// call progress and try again.
    Packet* take();
    void give_back(Packet* packet);
    /// Says that the packets that are under way to this peer do not come back, or come back too late. Others may be allocated in their
    /// place. Those that come back nevertheless are used again.
    void write_off(int peer);
    /// Sends a packet. It belongs to the provider until its event, unless the result is not `yes`.
    Sent send(Packet* packet, std::size_t size, int peer, fi_addr_t to);
    /// The longest message, in bytes, that inject() accepts.
    std::size_t longest_injected() const { return longest_injected_; }
    /// Sends a message of at most that length. The bytes are copied during the call.
    Sent inject(const void* bytes, std::size_t size, fi_addr_t to);

    /// Whether ranks can read memory of each other through this endpoint (RMA).
    bool can_read() const { return (info_->caps & kReads) == kReads; }
    /// Registers memory that peers may read, and says where they find it. Null: the provider does not want to.
    Registration expose(ConstBytes memory, Exposed& where);
    /// Registers memory into which this process reads. Null: the provider needs no registration, or (then `ok` is false) refuses it.
    Registration prepare(Bytes memory, bool& ok);
    /// Reads memory of a peer. The packet belongs to the provider until its event, unless the result is not `yes`.
    Sent read(Packet* packet, Bytes into, const Registration& registration, int peer, fi_addr_t from, const Exposed& where);

    /// Whether ranks can write memory of each other through this endpoint, and tell each other so.
    bool can_write() const;
    /// Lets peers write on the board of this process, and says where they find it. Returns false if they cannot.
    bool open_board(std::span<std::byte> board, Exposed& where);
    /// Writes at most kLongestPut bytes into the memory of a peer, and tells the peer (remote completion data). The bytes are copied during
    /// the call.
    Sent write(std::span<const std::byte> bytes, fi_addr_t to, const Exposed& where);
    static constexpr std::size_t kLongestPut = 64;

    /// Posts packets for what comes in, and does what Completions::look() does.
    bool look() {
        if (!unposted_.empty()) post_again();
        return completions_.look();
    }
    /// The events that look() has found. Their packets are to be given back.
    Completions& completions() { return completions_; }

    /// A descriptor that becomes readable when something happens. -1: the provider has none (shared memory), or none that can be used.
    int descriptor() const { return descriptor_; }
    /// Whether the caller may wait for the descriptor now.
    bool may_wait();

  private:
    static constexpr std::uint64_t kReads = FI_RMA | FI_READ | FI_REMOTE_READ;
    static constexpr std::uint64_t kWrites = FI_RMA | FI_WRITE | FI_REMOTE_WRITE;
    /// Whether the provider wants this of registrations (FI_MR_...).
    bool wants(int mode) const { return info_->domain_attr->mr_mode & mode; }
    /// Returns 0, or the error with which the provider refuses.
    int register_memory(const void* memory, std::size_t size, std::uint64_t access, Registration& registration);
    void drop_registrations_of_endpoint() noexcept {
        if (holds_registrations()) registrations_.clear();
    }
    Exposed place_of(const void* memory, const Registration& registration) const;
    void open();
    void close() noexcept;
    /// Returns 0, or the error with which the provider refuses to register the memory. Then nothing was done.
    int add_packets(bool incoming, std::size_t count);
    void receive(Packet* packet);
    void post_again();

    Info info_;
    fid_fabric* fabric_ = nullptr;
    fid_domain* domain_ = nullptr;
    fid_av* addresses_ = nullptr;
    fid_cq* queue_ = nullptr;
    fid_eq* events_ = nullptr;  ///< Null: the provider needs none.
    fid_ep* endpoint_ = nullptr;
    std::vector<Registration> registrations_;
    std::uint64_t last_key_ = 0;
    std::span<Slot> slots_;
    std::size_t packet_bytes_ = 0, incoming_bytes_ = 0;
    std::vector<std::vector<Packet>> packets_;
    std::vector<std::unique_ptr<std::byte[]>> contents_;
    Packet* free_ = nullptr;
    std::size_t outgoing_ = 0;  ///< Number of outgoing packets, without those that are written off.
    // Packets to be posted by the next look(). So a message is answered before its packet is posted again.
    std::vector<Packet*> unposted_;
    std::vector<Packet*> posted_;
    Completions completions_;
    std::size_t longest_injected_ = 0;
    int descriptor_ = -1;
    bool is_abandoned_ = false;
};

}  // namespace rollcall::transport::ofi
