#include "transports/ucx/requests.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "foundation/copy.hpp"
#include "transports/ucx/status.hpp"

namespace rollcall::transport::ucx {
namespace {

// Copies between the program's memory and memory of UCX, which another core reads or has written. For such memory the processor's own copy
// instruction is faster than loads and stores, which fetch each cache line before they overwrite it: 4 KiB from core to core took 0.45 us
// instead of 0.75 us. UCX uses the same instruction for its own copies.
void copy_from_core_to_core(std::byte* to, const std::byte* from, std::size_t size) noexcept {
#if defined(__x86_64__)
    static const bool has_instruction = [] {
        unsigned a, b, c, d;
        constexpr unsigned kEnhancedRepMovsb = 1u << 9;
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & kEnhancedRepMovsb);
    }();
    constexpr std::size_t kShortest = 1024;
    if (size >= kShortest && has_instruction && !is_slow_for_copy_instruction(to, from)) {
        asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
        return;
    }
#endif
    copy_bytes(to, from, size);
}

// The values of the last byte of a payload with a verdict.
constexpr std::byte kStands{1}, kWithdrawn{0};

constexpr std::size_t kBatch = 64;  // of requests

}  // namespace

Requests::Requests(int peers) : pending_with_(static_cast<std::size_t>(peers)) {
    const ucp_generic_dt_ops_t operations{.start_pack = start_pack,
                                          .start_unpack = start_unpack,
                                          .packed_size = packed_size,
                                          .pack = pack,
                                          .unpack = unpack,
                                          .finish = finish};
    check("making a data type", ucp_dt_create_generic(&operations, nullptr, &pieces_));
}

Requests::Requests(Requests&& other) noexcept
    : context_(other.context_),
      pending_with_(std::move(other.pending_with_)),
      free_(std::exchange(other.free_, nullptr)),
      chunks_(std::move(other.chunks_)),
      pending_(other.pending_),
      anonymous_(other.anonymous_),
      pieces_(std::exchange(other.pieces_, 0)),
      silent_(other.silent_) {
    for (const auto& chunk : chunks_)
        for (std::size_t i = 0; i < kBatch; ++i) chunk[i].owner = this;
}

bool Requests::use_memory_of_callers() const {
    return std::any_of(pending_with_.begin(), pending_with_.end(), [](const Request* first) { return first; }) || anonymous_ > 0;
}

Requests::~Requests() {
    if (pieces_) ucp_dt_destroy(pieces_);
}

Started Requests::flush(ucp_ep_h endpoint, int peer, Completion& completion) {
    if (!endpoint) return Started::failed;
    Request* const request = take(completion, peer, {});
    request->revocable = true;
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    parameters.cb.send = &Requests::on_sent;
    parameters.user_data = request;
    return result_of(ucp_ep_flush_nbx(endpoint, &parameters), request);
}

Requests::Request* Requests::take_copy(int peer, std::initializer_list<std::span<const std::byte>> parts, ucp_request_param_t& parameters) {
    Request* const request = take(ignored_, peer, {});
    request->revocable = true;
    std::size_t at = 0;
    for (const auto part : parts) {
        std::memcpy(request->header + at, part.data(), part.size());
        at += part.size();
    }
    parameters = {};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    parameters.cb.send = &Requests::on_sent;
    parameters.user_data = request;
    return request;
}

bool Requests::register_buffer(Request& request, ucp_request_param_t& parameters) const {
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = request.bytes;
    map.length = request.size;
    // UCX keeps registrations, so that a buffer that is used again and again costs little.
    if (ucp_mem_map(context_, &map, &request.registration) != UCS_OK) {
        request.registration = nullptr;
        return false;
    }
    parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
    parameters.memh = request.registration;
    return true;
}

void Requests::make_more() {
    chunks_.push_back(std::make_unique<Request[]>(kBatch));
    for (std::size_t i = 0; i < kBatch; ++i) free(&chunks_.back()[i]);
}

bool Requests::release(int peer, const Completion& completion) {
    for (Request* request = pending_with_[static_cast<std::size_t>(peer)]; request; request = request->next) {
        if (request->completion != &completion) continue;
        if (!request->revocable) return false;
        if (request->is_eager && request->bytes) {
            // The message must keep its place in the stream of messages. It is short, so that it can be copied.
            request->kept.reset(new (std::nothrow) std::byte[request->size]);
            if (!request->kept) return false;
            copy_bytes(request->kept.get(), request->bytes, request->size);
        }
        request->bytes = request->kept.get();
        request->withdrawn = true;
        unlink(request);
        request->completion = nullptr;
        return true;
    }
    return true;
}

bool Requests::move_payload(int peer, const Completion& completion, Bytes copy, Completion& heir) {
    for (Request* request = pending_with_[static_cast<std::size_t>(peer)]; request; request = request->next) {
        if (request->completion != &completion) continue;
        if (!request->revocable || request->has_begun) return false;
        copy_bytes(copy.data, request->bytes, request->size);
        request->bytes = static_cast<std::byte*>(copy.data);
        request->completion = &heir;
        return true;
    }
    return false;
}

void Requests::add_pending(std::vector<int>& peers) const {
    if (pending_ == 0) return;
    for (std::size_t peer = 0; peer < pending_with_.size(); ++peer)
        if (pending_with_[peer]) peers.push_back(static_cast<int>(peer));
}

void Requests::disconnect(int peer) {
    Request*& first = pending_with_[static_cast<std::size_t>(peer)];
    for (Request* request = first; request; request = request->next) {
        request->is_lost = request->revocable;
        if (request->is_lost) request->bytes = nullptr;
    }
    // A completion may release other requests of the list, whose completions are then gone, and start new ones, which are not lost.
    const auto next_lost = [&] {
        Request* request = first;
        while (request && !request->is_lost) request = request->next;
        return request;
    };
    while (Request* const request = next_lost()) {
        unlink(request);
        Completion* const completion = std::exchange(request->completion, nullptr);
        if (!silent_) completion->complete(Outcome::failed);
    }
}

void Requests::link(Request* request) noexcept {
    if (request->peer < 0) {
        ++anonymous_;
        return;
    }
    Request*& first = pending_with_[static_cast<std::size_t>(request->peer)];
    request->previous = nullptr;
    request->next = first;
    if (first) first->previous = request;
    first = request;
}

void Requests::unlink(Request* request) noexcept {
    if (request->peer < 0) {
        --anonymous_;
        return;
    }
    (request->previous ? request->previous->next : pending_with_[static_cast<std::size_t>(request->peer)]) = request->next;
    if (request->next) request->next->previous = request->previous;
}

void Requests::end(void* ucx_request, ucs_status_t status, Request* request) noexcept {
    if (request->is_starting) [[unlikely]] {
        request->has_ended = true;
        request->status = status;
        return;
    }
    Requests& requests = *request->owner;
    Completion* completion = request->completion;
    const Outcome outcome = status != UCS_OK ? Outcome::failed : request->withdrawn ? Outcome::withdrawn : Outcome::ok;
    if (completion) requests.unlink(request);
    --requests.pending_;
    requests.free(request);
    ucp_request_free(ucx_request);
    if (completion && !requests.silent_) completion->complete(outcome);
}

// UCX 1.13 calls the callback of a fetch from a peer that it has just lost before ucp_am_recv_data_nbx() returns, and returns a request all
// the same. (Data moves only while UCX makes progress, so that nothing else ends so early.)
Started Requests::end_at_once(void* ucx_request, Request* request) noexcept {
    const ucs_status_t status = request->status;
    free(request);
    ucp_request_free(ucx_request);
    return status == UCS_OK ? Started::done : Started::failed;
}

std::size_t Requests::packed_size(void* state) {
    const auto& request = *static_cast<const Request*>(state);
    return request.size + (request.payload == Payload::verdict ? 1 : 0);
}

std::size_t Requests::pack(void* state, std::size_t offset, void* into, std::size_t room) {
    auto& request = *static_cast<Request*>(state);
    request.has_begun = true;
    auto* to = static_cast<std::byte*>(into);
    std::size_t packed = 0;
    if (offset < request.size) {
        packed = std::min<std::uint64_t>(room, request.size - offset);
        if (request.bytes)
            copy_from_core_to_core(to, request.bytes + offset, packed);
        else
            std::memset(to, 0, packed);  // the receiver drops them; zeros, so that no memory of this process leaves it
    }
    if (packed < room && request.payload == Payload::verdict && offset + packed == request.size)
        to[packed++] = request.withdrawn ? kWithdrawn : kStands;
    return packed;
}

ucs_status_t Requests::unpack(void* state, std::size_t offset, const void* from, std::size_t length) {
    auto& request = *static_cast<Request*>(state);
    const auto* bytes = static_cast<const std::byte*>(from);
    if (offset < request.size && request.bytes)
        copy_from_core_to_core(request.bytes + offset, bytes, std::min<std::uint64_t>(length, request.size - offset));
    if (offset + length > request.size && bytes[length - 1] != kStands) request.withdrawn = true;
    return UCS_OK;
}

}  // namespace rollcall::transport::ucx
