/// \file
/// The sends and fetches that have not ended. A buffer of the program can be released at any time, because its bytes go through packets,
/// unless the network reads it or writes into it (an RMA read).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/wire.hpp"
#include "transports/transport.hpp"

namespace rollcall::transport::ofi {

struct Request {
    Completion* completion = nullptr;  ///< Null: no caller waits for it any more.
    int peer = -1;
    Kind kind = Kind::message;  ///< The kind of its next packet.
    bool withdrawn = false;     ///< A large send that its sender gave up.
    Numbers numbers;
    std::byte* bytes = nullptr;  ///< The bytes of a send are only read. Null: nothing is read, and what comes in is dropped.
    std::uint64_t size = 0;
    std::uint64_t moved = 0;
    std::unique_ptr<std::byte[]> kept;  ///< A copy of the bytes, if one was needed.
    Registration registration;          ///< Of the buffer, where the network reads it or writes into it.
    Exposed source;                     ///< Of a fetch by RMA: where the data is.
    std::uint64_t begun = 0;            ///< The bytes for which a read has begun.
    unsigned reads = 0;                 ///< The reads that are under way.
    bool network_uses = false;          ///< The network reads the buffer, or writes into it, until the request ends.
    bool has_failed = false;            ///< One of its reads has failed.
    std::uint8_t header_size = 0;
    std::byte header[kMaximumHeader];
    Request* previous = nullptr;  ///< Link in the list of requests with the same peer that a caller waits for.
    Request* next = nullptr;

    /// Whether the peer may read the buffer.
    bool is_exposed() const { return network_uses && kind == Kind::offer; }
    /// Copies the bytes, so that the buffer is needed no more.
    void keep();
};

/// Requests that the other side answers, by the number that the answer contains.
using Numbered = std::unordered_map<std::uint64_t, Request*>;
inline Request* find(const Numbered& all, int peer, std::uint64_t number) {
    const auto found = all.find(number);
    return found == all.end() || found->second->peer != peer ? nullptr : found->second;
}
inline Request* take_out(Numbered& all, int peer, std::uint64_t number) {
    Request* const request = find(all, peer, number);
    if (request) all.erase(number);
    return request;
}

/// All requests. Completions are called at the end of a progress(), not in the middle of it.
class Requests {
  public:
    explicit Requests(int peers) : awaited_(static_cast<std::size_t>(peers)) {}
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    /// Makes a request. If it has a completion, it counts as pending with its peer.
    Request* make(int peer, Kind kind, Completion* completion, Bytes buffer, std::span<const std::byte> header = {});
    /// Ends a request. Its completion, if it has one, is called by tell(). The request is then destroyed.
    void end(Request* request, Outcome outcome);
    /// The network uses the buffer from now on.
    void leave_to_network(Request& request) {
        request.network_uses = true;
        ++used_by_network_;
    }
    bool network_uses_memory() const { return used_by_network_ > 0; }
    /// Destroys a request without calling its completion.
    void drop(Request* request);

    /// Calls the completions of the requests that have ended. Returns their number.
    unsigned tell();
    bool has_to_tell() const { return !ended_.empty(); }

    /// As Transport::release().
    bool release(int peer, const Completion& completion);
    /// As Transport::move_payload().
    bool move_payload(int peer, const Completion& completion, Bytes copy, Completion& heir);
    /// Ends the registrations of what a peer that is gone may read. Returns whether there were some. Then end the connection before the
    /// buffers are given back, because tcp;ofi_rxm looks at a registration only when a read begins, and goes on to send. Does nothing while
    /// this process reads data of the peer: tcp;ofi_rxm does not survive the end of a connection in the middle of such a read.
    bool hide_from(int peer);
    /// Ends the registrations of all buffers that a transfer with the peer uses. For an endpoint that holds them and is to be stopped.
    void end_registrations(int peer);
    /// Ends the reads of data of a peer as failed, and calls their completions at once. For an endpoint that is stopped or abandoned, after
    /// forget().
    void drop_reads(int peer);
    /// Whether this process reads data of the peer.
    bool has_reads(int peer) const;
    /// Ends the requests that are pending with a peer as failed, and calls their completions at once. Fetches with reads under way stay,
    /// because the network may still write into their buffers. So do sends whose data the peer may read, unless it was hidden.
    void fail(int peer);
    /// Removes the requests that a peer that is gone would have answered, apart from those that the network still uses.
    void forget(Numbered& all, int peer);
    void add_pending(std::vector<int>& peers) const;

  private:
    struct Ended {
        Request* request;
        Outcome outcome;
    };
    /// Returns the first request with this peer that a caller waits for, or null.
    Request* first(int peer) const { return awaited_[static_cast<std::size_t>(peer)]; }
    void take_from_network(Request& request);
    /// Returns the request with this peer and this completion, or null.
    Request* find(int peer, const Completion& completion) const;
    void unlink(Request* request);

    std::vector<Request*> awaited_;  ///< For each peer.
    std::vector<Ended> ended_;
    std::size_t used_by_network_ = 0;
    std::vector<std::unique_ptr<Request[]>> chunks_;
    Request* free_ = nullptr;
};

}  // namespace rollcall::transport::ofi
