#include "transports/ofi/requests.hpp"

#include <cstring>
#include <utility>

#include "foundation/copy.hpp"

namespace rollcall::transport::ofi {

void Request::keep() {
    if (size) {
        kept = std::make_unique_for_overwrite<std::byte[]>(size);
        copy_bytes(kept.get(), bytes, size);
    }
    bytes = kept.get();
}

Request* Requests::make(int peer, Kind kind, Completion* completion, Bytes buffer, std::span<const std::byte> header) {
    if (!free_) {
        constexpr std::size_t kBatch = 64;
        ended_.reserve((chunks_.size() + 1) * kBatch);  // so that the end of a request needs no memory
        Request* const batch = chunks_.emplace_back(std::make_unique<Request[]>(kBatch)).get();
        for (std::size_t i = 0; i < kBatch; ++i) batch[i].next = std::exchange(free_, &batch[i]);
    }
    Request* const request = std::exchange(free_, free_->next);
    request->completion = completion;
    request->peer = peer;
    request->kind = kind;
    request->withdrawn = false;
    request->numbers = {};
    request->bytes = static_cast<std::byte*>(buffer.data);
    request->size = buffer.size;
    request->moved = 0;
    request->begun = 0;
    request->reads = 0;
    request->network_uses = request->has_failed = false;
    request->header_size = static_cast<std::uint8_t>(header.size());
    if (!header.empty()) std::memcpy(request->header, header.data(), header.size());
    request->previous = request->next = nullptr;
    if (completion) {
        Request*& first = awaited_[static_cast<std::size_t>(peer)];
        request->next = first;
        if (first) first->previous = request;
        first = request;
    }
    return request;
}

void Requests::unlink(Request* request) {
    (request->previous ? request->previous->next : awaited_[static_cast<std::size_t>(request->peer)]) = request->next;
    if (request->next) request->next->previous = request->previous;
    request->previous = request->next = nullptr;
}

void Requests::end(Request* request, Outcome outcome) {
    if (!request->completion) return drop(request);
    ended_.push_back({request, outcome});
}

void Requests::take_from_network(Request& request) {
    request.registration.reset();
    if (std::exchange(request.network_uses, false)) --used_by_network_;
}

void Requests::drop(Request* request) {
    if (std::exchange(request->completion, nullptr)) unlink(request);
    request->kept.reset();
    take_from_network(*request);
    request->bytes = nullptr;
    request->next = std::exchange(free_, request);
}

unsigned Requests::tell() {
    unsigned told = 0;
    // A completion may begin or give up other requests, so the list may grow during the loop.
    for (std::size_t i = 0; i < ended_.size(); ++i) {
        const Ended ended = ended_[i];
        Completion* const completion = ended.request->completion;
        drop(ended.request);
        if (completion) completion->complete(ended.outcome);
        ++told;
    }
    ended_.clear();
    return told;
}

Request* Requests::find(int peer, const Completion& completion) const {
    Request* request = first(peer);
    while (request && request->completion != &completion) request = request->next;
    return request;
}

bool Requests::release(int peer, const Completion& completion) {
    Request* const request = find(peer, completion);
    if (!request) return true;
    if (request->network_uses) return false;
    // An eager message must keep its place in the stream of messages.
    const bool keeps = request->kind == Kind::message || request->kind == Kind::more;
    if (keeps) {
        try {
            request->keep();
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    unlink(request);
    request->completion = nullptr;
    request->registration.reset();  // of a fetch whose data has not been exposed
    request->withdrawn = request->kind == Kind::offer || request->kind == Kind::data;
    if (!keeps) request->bytes = nullptr;
    return true;
}

bool Requests::move_payload(int peer, const Completion& completion, Bytes copy, Completion& heir) {
    Request* const request = find(peer, completion);
    if (!request || request->kind != Kind::offer || request->network_uses) return false;  // it is over, or the receiver has granted it
    copy_bytes(copy.data, request->bytes, request->size);
    request->bytes = static_cast<std::byte*>(copy.data);
    request->completion = &heir;
    return true;
}

bool Requests::has_reads(int peer) const {
    const Request* request = first(peer);
    while (request && request->reads == 0) request = request->next;
    return request;
}

bool Requests::hide_from(int peer) {
    bool any = false;
    if (has_reads(peer)) return false;
    for (Request* request = first(peer); request; request = request->next) {
        if (!request->is_exposed()) continue;
        take_from_network(*request);
        any = true;
    }
    return any;
}

void Requests::end_registrations(int peer) {
    for (Request* request = first(peer); request; request = request->next) request->registration.reset();
}

void Requests::fail(int peer) {
    // A completion may release other requests of the list, whose completions are then gone.
    const auto next = [&] {
        Request* request = first(peer);
        while (request && (request->reads > 0 || request->is_exposed())) request = request->next;
        return request;
    };
    while (Request* const request = next()) {
        unlink(request);
        request->registration.reset();
        std::exchange(request->completion, nullptr)->complete(Outcome::failed);
    }
}

void Requests::drop_reads(int peer) {
    // As in fail(), the list may change in a completion.
    const auto next = [&] {
        Request* request = first(peer);
        while (request && request->reads == 0) request = request->next;
        return request;
    };
    while (Request* const request = next()) {
        Completion* const completion = request->completion;
        request->reads = 0;
        drop(request);
        completion->complete(Outcome::failed);
    }
}

void Requests::forget(Numbered& all, int peer) {
    std::erase_if(all, [&](const auto& entry) {
        Request* const request = entry.second;
        if (request->peer != peer || request->is_exposed()) return false;
        if (request->reads == 0) drop(request);  // otherwise its last read ends it
        return true;
    });
}

void Requests::add_pending(std::vector<int>& peers) const {
    for (std::size_t peer = 0; peer < awaited_.size(); ++peer)
        if (awaited_[peer]) peers.push_back(static_cast<int>(peer));
}

}  // namespace rollcall::transport::ofi
