/// \file
/// The sends and fetches that have not ended. libfabric does not see the buffers of the program. All bytes go through packets, so that a
/// buffer can be released at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

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
    std::uint8_t header_size = 0;
    std::byte header[kMaximumHeader];
    Request* previous = nullptr;  ///< Link in the list of requests with the same peer that a caller waits for.
    Request* next = nullptr;
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
    /// Destroys a request without calling its completion.
    void drop(Request* request);

    /// Calls the completions of the requests that have ended. Returns their number.
    unsigned tell();
    bool has_to_tell() const { return !ended_.empty(); }

    /// Returns the request with this peer and this completion, or null. The request is no longer pending, and its completion will not be
    /// called.
    Request* abandon(int peer, const Completion& completion);
    /// As Transport::move_payload().
    bool move_payload(int peer, const Completion& completion, Bytes copy, Completion& heir);
    /// Ends all requests that are pending with a peer as failed, and calls their completions at once.
    void fail(int peer);
    void add_pending(std::vector<int>& peers) const;

  private:
    struct Ended {
        Request* request;
        Outcome outcome;
    };
    void unlink(Request* request);

    std::vector<Request*> awaited_;  ///< For each peer.
    std::vector<Ended> ended_;
    std::vector<std::unique_ptr<Request[]>> chunks_;
    Request* free_ = nullptr;
};

}  // namespace rollcall::transport::ofi
