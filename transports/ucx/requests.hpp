/// \file
/// The sends and fetches that UCX has not ended. UCX does not see the buffers of the program. It asks for the bytes of a send and hands out
/// the bytes of a fetch piece by piece, when it can move them (a generic data type). Therefore a buffer can be released at any time.
///
/// With a network that reads and writes memory by itself (RDMA), this would cost a copy. In that case UCX gets the buffer, and the buffer
/// can be released only after UCX has ended the transfer. Such a buffer is registered first, because UCX ends the request, or the process,
/// if it cannot register the buffer later.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "transports/transport.hpp"

namespace rollcall::transport::ucx {

/// Says how the payload of a message travels. The byte after the header has this value.
enum class Payload : std::uint8_t {
    plain,    ///< Only the payload.
    verdict,  ///< After the payload follows a byte that says whether the sender stood by it to the end.
};
inline constexpr std::size_t kLongestHeader = kMaximumHeader + 1;

class Requests {
  public:
    struct Request {
        Completion* completion;  ///< Null: only UCX still has the transfer.
        Request* next;           ///< Link in the list of free requests, or of those pending with the same peer.
        Request* previous;
        Requests* owner;
        int peer;
        Payload payload;
        bool revocable;    ///< UCX does not know the buffer.
        bool withdrawn;    ///< A send: its sender gave it up. A fetch: the other side gave up the message.
        bool has_begun;    ///< A send by pieces: UCX has asked for bytes, because the receiver fetches.
        bool is_lost;      ///< The peer is gone, and the completion is about to be called.
        bool is_eager;     ///< An eager send. It must arrive, even if its caller has given it up.
        bool is_starting;  ///< The call of UCX that starts it has not returned.
        bool has_ended;    ///< UCX ended it while it started, with this status.
        ucs_status_t status;
        std::byte* bytes;  ///< The bytes of a send are only read. Null: nothing is read, and what comes in is dropped.
        std::uint64_t size;
        std::unique_ptr<std::byte[]> kept;  ///< A copy of the bytes, if one was needed.
        ucp_mem_h registration = nullptr;   ///< Of the buffer, if UCX knows it.
        std::byte header[kLongestHeader];   ///< UCX reads it, or the words of a put, until the transfer has ended.
    };

    Requests(int peers);
    ~Requests();
    /// The callbacks of requests that are pending go to the new place.
    Requests(Requests&& other) noexcept;

    /// Takes a free request and sets it up for this buffer.
    Request* take(Completion& completion, int peer, Bytes buffer) {
        if (!free_) [[unlikely]]
            make_more();
        Request* request = free_;
        free_ = request->next;
        request->completion = &completion;
        request->owner = this;
        request->peer = peer;
        request->payload = Payload::plain;
        request->revocable = request->withdrawn = request->has_begun = request->is_lost = request->is_eager = false;
        request->is_starting = true;
        request->has_ended = false;
        request->bytes = static_cast<std::byte*>(buffer.data);
        request->size = buffer.size;
        return request;
    }

    /// Takes a request that holds a copy of a few bytes, for which no caller waits, and lets `parameters` name it. UCX reads the bytes in
    /// `header` until the request has ended.
    Request* take_copy(int peer, std::initializer_list<std::span<const std::byte>> parts, ucp_request_param_t& parameters);

    /// The context that registers buffers.
    void set_context(ucp_context_h context) { context_ = context; }
    /// Registers the buffer of `request`, until the request ends, so that UCX may get it. Returns false if it cannot be registered: memory
    /// that must not be written (UCX wants to write into all that it registers), or more than may be locked (`ulimit -l`).
    bool register_buffer(Request& request, ucp_request_param_t& parameters) const;
    /// Makes UCX ask for the bytes of `request`, or hand them out, piece by piece. The request is then passed to UCX in place of the
    /// buffer.
    void move_by_pieces(Request& request, ucp_request_param_t& parameters) const {
        request.revocable = true;
        parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        parameters.datatype = pieces_;
    }

    /// What UCX gets as the buffer of a fetch. Plain data comes over a network that can write into the buffer by itself.
    void* buffer_of_fetch(Request& request, ucp_request_param_t& parameters) const {
        if (request.payload == Payload::plain && register_buffer(request, parameters)) return request.bytes;
        move_by_pieces(request, parameters);
        return &request;
    }

    /// Interprets the result of a call of UCX that got on_sent() or on_fetched() as its callback and `request` as user data.
    Started result_of(ucs_status_ptr_t started, Request* request) {
        if (started == nullptr) [[likely]] {
            free(request);  // A fetch by pieces never ends at once, because its sender must be asked first.
            return Started::done;
        }
        if (UCS_PTR_IS_PTR(started)) {
            if (request->has_ended) [[unlikely]]
                return end_at_once(started, request);
            request->is_starting = false;
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

    /// As Transport::flush(). `endpoint` may be null.
    Started flush(ucp_ep_h endpoint, int peer, Completion& completion);
    /// Releases a buffer. Returns false if UCX knows the buffer; it is then free when the completion is called.
    bool release(int peer, const Completion& completion);
    /// As Transport::move_payload().
    bool move_payload(int peer, const Completion& completion, Bytes copy, Completion& heir);
    /// Appends the peers with which requests are pending that a caller waits for.
    void add_pending(std::vector<int>& peers) const;
    /// Called when the peer is gone. Ends the requests pending with it, except those that UCX ends itself. This is needed because UCX 1.13
    /// does not end all requests with a peer whose endpoint is closed by force.
    void disconnect(int peer);

    /// From now on no completions are called.
    void silence() noexcept { silent_ = true; }
    /// The number of requests that UCX has not ended.
    std::size_t pending() const noexcept { return pending_; }
    /// Whether UCX may still read or write memory of callers. It does not do so any more for requests that disconnect() has ended.
    bool use_memory_of_callers() const;

    /// The callbacks of the generic data type. Their state is the request.
    static std::size_t packed_size(void* request);
    /// Writes the bytes from `offset` on, at most `room`. UCX asks for them in ascending order, so that the verdict comes last.
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
        if (request->registration) [[unlikely]]
            ucp_mem_unmap(context_, std::exchange(request->registration, nullptr));
        request->next = free_;
        free_ = request;
    }
    void link(Request* request) noexcept;
    void unlink(Request* request) noexcept;
    static void end(void* ucx_request, ucs_status_t status, Request* request) noexcept;
    Started end_at_once(void* ucx_request, Request* request) noexcept;

    ucp_context_h context_ = nullptr;
    std::vector<Request*> pending_with_;  ///< For each peer.
    Request* free_ = nullptr;
    std::vector<std::unique_ptr<Request[]>> chunks_;
    std::size_t pending_ = 0;
    std::size_t anonymous_ = 0;  ///< Those of `pending_` whose peer is not known.
    ucp_datatype_t pieces_ = 0;
    Ignored ignored_;
    bool silent_ = false;
};

}  // namespace rollcall::transport::ucx
