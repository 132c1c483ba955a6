/// \file
/// Sends and fetches that have not ended. libfabric never sees a buffer of the program's: bytes go through packets, so that a buffer can be
/// given back at any time.
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
    Completion* completion = nullptr;  ///< Null: nobody waits for it any more.
    int peer = -1;
    Kind kind = Kind::message;  ///< What the next packet of it is.
    bool withdrawn = false;     ///< A large send: its sender does not stand by it.
    Numbers numbers;
    std::byte* bytes = nullptr;  ///< Of a send only read. Null: nothing is read, and what comes is thrown away.
    std::uint64_t size = 0;
    std::uint64_t moved = 0;
    std::unique_ptr<std::byte[]> kept;  ///< The bytes, where they had to be copied.
    std::uint8_t header_size = 0;
    std::byte header[kMaximumHeader];
    Request* previous = nullptr;  ///< Of those with the same peer that somebody waits for.
    Request* next = nullptr;
};

/// Those that the other side answers, by the number that it says.
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

/// All of them. Who has ended is told at the end of a progress(), not in the midst of it.
class Requests {
  public:
    explicit Requests(int peers) : awaited_(static_cast<std::size_t>(peers)) {}
    Requests(const Requests&) = delete;
    Requests& operator=(const Requests&) = delete;

    /// A new one. With a completion: it counts as pending with its peer.
    Request* make(int peer, Kind kind, Completion* completion, Bytes buffer, std::span<const std::byte> header = {});
    /// Its completion is told by tell(), if there is one; then it is gone.
    void end(Request* request, Outcome outcome);
    /// It is gone, and nobody is told.
    void drop(Request* request);

    /// Tells of those that ended. Returns how many.
    unsigned tell();
    bool has_to_tell() const { return !ended_.empty(); }

    /// The one whose completion this is, with this peer, or null. It is not pending any more, but its completion is not told.
    Request* abandon(int peer, const Completion& completion);
    /// Ends all that is pending with a peer as failed, and tells at once.
    void fail(int peer);
    void add_pending(std::vector<int>& peers) const;

  private:
    struct Ended {
        Request* request;
        Outcome outcome;
    };
    void unlink(Request* request);

    std::vector<Request*> awaited_;  ///< By peer.
    std::vector<Ended> ended_;
    std::vector<std::unique_ptr<Request[]>> chunks_;
    Request* free_ = nullptr;
};

}  // namespace rollcall::transport::ofi
