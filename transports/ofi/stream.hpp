/// \file
/// What goes out to one peer, in packets.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/neighbour.hpp"
#include "transports/ofi/requests.hpp"

namespace rollcall::transport::ofi {

/// Messages and words of this transport in their order; data of large messages only while there is nothing of those.
class Stream {
  public:
    /// The endpoint by which the peer is reached, where, and whom to wake (null: the network does it).
    void open(Endpoint& endpoint, fi_addr_t to, Neighbour* neighbour, int rank, int peer);
    bool is_open() const { return endpoint_ != nullptr; }
    Neighbour* neighbour() const { return neighbour_; }

    /// Whether what is given now would leave before anything else.
    bool is_free() const { return !stuck_ && messages_.empty(); }
    /// Sends a short packet without a request. False: no room; nothing was done.
    bool send_now(Kind kind, const Numbers* numbers, std::span<const std::byte> header, ConstBytes payload);
    void add(Request* request) { (request->kind == Kind::data ? data_ : messages_).push_back(request); }
    /// Sends what there is room for. What has left goes to `requests`, offers whose word has left to `offered`.
    unsigned pump(Requests& requests);
    bool has_work() const { return stuck_ || !messages_.empty() || !data_.empty(); }
    bool is_quiet() const { return !has_work() && under_way_ == 0; }

    /// Packets that the provider has given back.
    void arrived() { under_way_ -= under_way_ > 0; }
    /// Nothing leaves any more. Requests that waited are dropped.
    void shut(Requests& requests);
    /// Why the peer cannot be reached, or empty.
    const std::string& failure() const { return failure_; }

  private:
    /// The next packet of a request. False: no room.
    bool send_part(Request& request, bool& whole);
    std::size_t begin(std::byte* packet, Kind kind, const Numbers* numbers, std::span<const std::byte> header) const;
    bool post(Packet* packet, std::size_t size);

    Endpoint* endpoint_ = nullptr;
    Neighbour* neighbour_ = nullptr;
    fi_addr_t to_ = FI_ADDR_UNSPEC;
    int rank_ = -1, peer_ = -1;
    std::deque<Request*> messages_, data_;
    Packet* stuck_ = nullptr;  ///< The provider had no room for it.
    std::size_t stuck_size_ = 0;
    Request* stuck_end_of_ = nullptr;  ///< Whose last packet it is.
    std::size_t under_way_ = 0;
    std::string failure_;
};

}  // namespace rollcall::transport::ofi
