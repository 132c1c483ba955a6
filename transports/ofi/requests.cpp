#include "transports/ofi/requests.hpp"

#include <cstring>
#include <utility>

namespace rollcall::transport::ofi {

Request* Requests::make(int peer, Kind kind, Completion* completion, Bytes buffer, std::span<const std::byte> header) {
    if (!free_) {
        constexpr std::size_t kBatch = 64;
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

void Requests::drop(Request* request) {
    if (std::exchange(request->completion, nullptr)) unlink(request);
    request->kept.reset();
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

Request* Requests::abandon(int peer, const Completion& completion) {
    for (Request* request = awaited_[static_cast<std::size_t>(peer)]; request; request = request->next) {
        if (request->completion != &completion) continue;
        unlink(request);
        request->completion = nullptr;
        return request;
    }
    return nullptr;
}

bool Requests::move_payload(int peer, const Completion& completion, Bytes copy, Completion& heir) {
    for (Request* request = awaited_[static_cast<std::size_t>(peer)]; request; request = request->next) {
        if (request->completion != &completion) continue;
        if (request->kind != Kind::offer) return false;  // the receiver has granted it
        std::memcpy(copy.data, request->bytes, request->size);
        request->bytes = static_cast<std::byte*>(copy.data);
        request->completion = &heir;
        return true;
    }
    return false;
}

void Requests::fail(int peer) {
    // A completion may release other requests of the list, whose completions are then gone.
    while (Request* const request = awaited_[static_cast<std::size_t>(peer)]) {
        unlink(request);
        std::exchange(request->completion, nullptr)->complete(Outcome::failed);
    }
}

void Requests::add_pending(std::vector<int>& peers) const {
    for (std::size_t peer = 0; peer < awaited_.size(); ++peer)
        if (awaited_[peer]) peers.push_back(static_cast<int>(peer));
}

}  // namespace rollcall::transport::ofi
