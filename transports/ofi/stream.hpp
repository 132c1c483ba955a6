/// \file
/// The packets that go out to one peer.
#pragma once

#include <list>
#include <span>
#include <string_view>

#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/neighbour.hpp"
#include "transports/ofi/requests.hpp"

namespace rollcall::transport::ofi {

/// Sends messages, and words of this transport, in their order. Data of large messages is sent only while none of those wait.
class Stream {
  public:
    /// Shorter data comes in packets, because a read needs one more round trip.
    static constexpr std::uint64_t kLeastRead = 128 * 1024;

    /// Sets the endpoint through which the peer is reached, its address, and the neighbour to wake. A null neighbour means that the network
    /// wakes the peer.
    void open(Endpoint& endpoint, fi_addr_t to, Neighbour* neighbour, int rank, int peer);
    bool is_open() const { return endpoint_ != nullptr; }

    /// Whether a packet given now would leave before anything else.
    bool is_free() const { return !stuck_ && messages_.empty(); }
    /// Sends a short packet without a request. Returns false if there is no room; then nothing was done.
    bool send_now(Kind kind, const Numbers* numbers, std::span<const std::byte> header, ConstBytes payload);
    void add(Request* request) { (request->kind == Kind::data ? data_ : messages_).push_back(request); }
    /// Begins to read the data of a fetch, or goes on after one of its reads has ended. The reads that find no room begin later.
    void read(Request* request);
    /// Writes on the board of the peer. Returns false if there is no room; then nothing was done.
    bool write(const Exposed& board, std::uint64_t offset, std::span<const std::byte> bytes) {
        return endpoint_->write(bytes, to_, {board.address + offset, board.key}) == Endpoint::Sent::yes;
    }
    /// Whether data can be read through this stream, and by which endpoint.
    Endpoint* reader() const { return endpoint_->can_read() ? endpoint_ : nullptr; }
    /// Sends as much as there is room for. Requests that have left end in `requests`; offers wait for their answer. If std::bad_alloc is
    /// thrown, what has not left waits for the next call.
    unsigned pump(Requests& requests);
    bool has_work() const { return stuck_ || !messages_.empty() || !data_.empty() || !reads_.empty() || lent_; }
    bool is_quiet() const { return !has_work() && under_way_ == 0; }

    /// The provider has given a packet back.
    void arrived() { under_way_ -= under_way_ > 0; }
    /// Ends the connection, so that the network does not use memory any more that was exposed to the peer.
    void part() { endpoint_->part_from(to_); }
    /// Stops sending. Requests that waited are dropped.
    void shut(Requests& requests);
    /// The reason why the peer cannot be reached, or empty.
    std::string_view failure() const { return failure_; }

  private:
    /// Sends the next packet of a request. Returns false if there is no room.
    bool send_part(Request& request, bool& whole);
    /// Begins as many reads of a fetch as may be under way. Returns false if there is no room.
    bool begin_reads(Request& request);
    std::size_t begin(std::byte* packet, Kind kind, const Numbers* numbers, std::span<const std::byte> header) const;
    bool post(Packet* packet, std::size_t size);
    /// Tells the peer that a packet is in its slot.
    Endpoint::Sent lend(Packet* packet, std::size_t size);
    /// Takes back the packets that the peer has read. Returns their number.
    unsigned take_back();

    Endpoint* endpoint_ = nullptr;
    Neighbour* neighbour_ = nullptr;
    fi_addr_t to_ = FI_ADDR_UNSPEC;
    int rank_ = -1, peer_ = -1;
    // Lists, which take no memory while they are empty: a process has a stream for each other one.
    std::list<Request*> messages_, data_;
    std::list<Request*> reads_;  ///< Fetches that wait for room to read.
    Packet* stuck_ = nullptr;    ///< A packet for which the provider had no room.
    std::size_t stuck_size_ = 0;
    Request* stuck_end_of_ = nullptr;  ///< The request whose last packet is `stuck_`, or null.
    Packet* lent_ = nullptr;           ///< The first one in slots that the peer has not read yet, in the order of their sending.
    Packet* last_lent_ = nullptr;      ///< Valid while there is a first one.
    std::uint32_t last_loan_ = 0;
    std::uint16_t next_number_ = 0;  ///< Prefix::number of the next packet.
    std::size_t under_way_ = 0;
    std::string_view failure_;
};

}  // namespace rollcall::transport::ofi
