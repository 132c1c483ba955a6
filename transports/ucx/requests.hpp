/// \file
/// The sends and fetches that UCX has under way. UCX never sees a buffer of the program's: it asks for the bytes of a send, and hands
/// out the bytes of a fetch, piece by piece, when it can move them (a generic data type). So a buffer can be given back at any time.
///
/// Where a network reads and writes memory by itself (RDMA) that would cost a copy. There UCX is given the buffer, and it can be given
/// back only when UCX has ended the transfer.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <ucp/api/ucp.h>

#include "transports/transport.hpp"

namespace rollcall::transport::ucx {

/// A header is followed by a byte that says how its payload travels.
enum class Payload : std::uint8_t {
    plain,    ///< The payload alone.
    verdict,  ///< A byte follows the payload that says whether its sender stood by it to the end.
};
inline constexpr std::size_t kLongestHeader = kMaximumHeader + 1;

class Requests {
  public:
    struct Request {
        Completion* completion;  ///< Null: the transfer has ended for everybody but UCX.
        Request* next;           ///< Free, or pending with the same peer.
        Request* previous;
        Requests* owner;
        int peer;
        Payload payload;
        bool revocable;    ///< UCX does not know the buffer.
        bool withdrawn;    ///< A send: its sender does not stand by it. A fetch: the sender did not.
        bool is_eager;     ///< An eager send: it has to arrive, whatever becomes of its caller.
        std::byte* bytes;  ///< Of a send they are only read. Null: there is nothing to read, and what comes is thrown away.
        std::uint64_t size;
        std::unique_ptr<std::byte[]> kept;  ///< The bytes, where they had to be copied.
        std::byte header[kLongestHeader];   ///< UCX reads it, or the words of a put, until the transfer has ended.
    };

    Requests(int peers);
    ~Requests();
    Requests(Requests&& other) noexcept;

    /// A request about this buffer.
    Request* take(Completion& completion, int peer, Bytes buffer) {
        if (!free_) [[unlikely]]
            make_more();
        Request* request = free_;
        free_ = request->next;
        request->completion = &completion;
        request->owner = this;
        request->peer = peer;
        request->payload = Payload::plain;
        request->revocable = request->withdrawn = request->is_eager = false;
        request->bytes = static_cast<std::byte*>(buffer.data);
        request->size = buffer.size;
        return request;
    }

    /// Makes UCX move the bytes of `request` by asking for them, or handing them out. What it takes for the buffer is the request.
    void move_by_pieces(Request& request, ucp_request_param_t& parameters) const {
        request.revocable = true;
        parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        parameters.datatype = pieces_;
    }

    /// What became of a request that was given to UCX with on_sent() or on_fetched() and itself as user data.
    Started result_of(ucs_status_ptr_t started, Request* request) {
        if (started == nullptr) [[likely]] {
            free(request);  // (a fetch by pieces never ends at once: its sender has to be asked)
            return Started::done;
        }
        if (UCS_PTR_IS_PTR(started)) {
            ++pending_;
            link(request);
            return Started::pending;
        }
        free(request);
        return Started::failed;
    }
    static void on_sent(void* ucx_request, ucs_status_t status, void* request) { end(ucx_request, status, static_cast<Request*>(request)); }
    static void on_fetched(void* ucx_request, ucs_status_t status, std::size_t, void* request) {
        end(ucx_request, status, static_cast<Request*>(request));
    }

    /// Gives a buffer back. False: UCX knows it, and it is free when the completion is told.
    bool release(int peer, const Completion& completion);
    /// Adds the peers with which something is pending that somebody waits for.
    void add_pending(std::vector<int>& peers) const;
    /// The peer is gone. Ends what is pending with it, but for what UCX ends itself: UCX 1.13 does not end all requests with a
    /// peer whose endpoint is closed by force.
    void disconnect(int peer);

    /// Nobody is told of an end from now on.
    void silence() noexcept { silent_ = true; }
    /// How many UCX has not ended.
    std::size_t pending() const noexcept { return pending_; }

    /// The generic data type, as UCX asks for it. Its state is the request.
    static std::size_t packed_size(void* request);
    /// Gives the bytes from `offset` on, at most `room`. UCX asks for them in ascending order: the verdict comes last.
    static std::size_t pack(void* request, std::size_t offset, void* into, std::size_t room);
    static ucs_status_t unpack(void* request, std::size_t offset, const void* from, std::size_t length);

  private:
    void make_more();
    static void* start_pack(void*, const void* request, std::size_t) { return const_cast<void*>(request); }
    static void* start_unpack(void*, void* request, std::size_t) { return request; }
    static void finish(void*) {}
    void free(Request* request) noexcept {
        if (request->kept) [[unlikely]]
            request->kept.reset();
        request->next = free_;
        free_ = request;
    }
    void link(Request* request) noexcept;
    void unlink(Request* request) noexcept;
    static void end(void* ucx_request, ucs_status_t status, Request* request) noexcept;

    std::vector<Request*> pending_with_;  ///< By peer.
    Request* free_ = nullptr;
    std::vector<std::unique_ptr<Request[]>> chunks_;
    std::size_t pending_ = 0;
    ucp_datatype_t pieces_ = 0;
    bool silent_ = false;
};

}  // namespace rollcall::transport::ucx
