/// \file
/// The transfers that UCX has under way: their memory, and how they end, also where their peer is gone and UCX forgets them.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "transports/transport.hpp"

namespace rollcall::transport {

class Requests {
  public:
    /// UCX reads the bytes (a header, or those of a put) until the transfer has ended.
    struct Request {
        Completion* completion;  ///< Null: it has ended for everybody but UCX.
        Request* next;           ///< Free, or pending with the same peer.
        Request* previous;
        Requests* owner;
        int peer;
        std::byte bytes[kMaximumHeader];
    };

    explicit Requests(int peers) : peers_(static_cast<std::size_t>(peers)) {}

    /// `peer` -1: of nobody in particular.
    Request* take(Completion& completion, int peer) {
        Request* request = free_;
        if (request) {
            free_ = request->next;
        } else {
            constexpr std::size_t kBatch = 64;
            chunks_.push_back(std::make_unique<Request[]>(kBatch));
            Request* batch = chunks_.back().get();
            for (std::size_t i = 1; i < kBatch; ++i) free(&batch[i]);
            request = &batch[0];
        }
        request->completion = &completion;
        request->owner = this;
        request->peer = peer;
        return request;
    }

    /// What became of a request that was given to UCX with on_sent() or on_fetched() and itself as user data.
    Started result_of(ucs_status_ptr_t started, Request* request) {
        if (started == nullptr) [[likely]] {
            free(request);
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

    /// The peer is gone. What is pending with it and does not end by itself is ended by force_ends().
    void disconnect(int peer, Nanoseconds now) {
        Peer& whom = peers_[static_cast<std::size_t>(peer)];
        if (!whom.pending || whom.force_at) return;
        whom.force_at = now + kForceAfter;
        forced_.push_back(peer);
    }
    /// Whether force_ends() has anything to look after.
    bool forcing() const noexcept { return !forced_.empty(); }
    /// Ends what UCX has not ended of those who were disconnected a while ago. Returns how many.
    unsigned force_ends(Nanoseconds now) {
        unsigned done = 0;
        for (const int peer : std::exchange(forced_, {})) {
            Peer& whom = peers_[static_cast<std::size_t>(peer)];
            if (now < whom.force_at) {
                if (whom.pending) forced_.push_back(peer);
                continue;
            }
            while (Request* request = whom.pending) {
                unlink(request);
                Completion* completion = std::exchange(request->completion, nullptr);
                if (!silent_) completion->complete(Outcome::failed);
                ++done;
            }
        }
        return done;
    }

    /// Nobody is told of an end from now on.
    void silence() noexcept { silent_ = true; }
    /// How many UCX has not ended.
    std::size_t pending() const noexcept { return pending_; }

  private:
    // UCX 1.13 does not end all requests with a peer whose endpoint is closed by force: a payload that is being fetched from
    // a dead process over shared memory stays until UCX's own keepalive (20 s), or for ever. After this time they end here.
    static constexpr Nanoseconds kForceAfter = 20'000'000;

    struct Peer {
        Request* pending = nullptr;
        Nanoseconds force_at = 0;  ///< When what is pending is ended, after a disconnect().
    };

    void free(Request* request) noexcept {
        request->next = free_;
        free_ = request;
    }
    void link(Request* request) noexcept {
        if (request->peer < 0) return;
        Request*& first = peers_[static_cast<std::size_t>(request->peer)].pending;
        request->previous = nullptr;
        request->next = first;
        if (first) first->previous = request;
        first = request;
    }
    void unlink(Request* request) noexcept {
        if (request->peer < 0) return;
        (request->previous ? request->previous->next : peers_[static_cast<std::size_t>(request->peer)].pending) = request->next;
        if (request->next) request->next->previous = request->previous;
    }
    static void end(void* ucx_request, ucs_status_t status, Request* request) noexcept {
        Requests& requests = *request->owner;
        Completion* completion = request->completion;
        if (completion) requests.unlink(request);
        --requests.pending_;
        requests.free(request);
        ucp_request_free(ucx_request);
        if (completion && !requests.silent_) completion->complete(status == UCS_OK ? Outcome::ok : Outcome::failed);
    }

    std::vector<Peer> peers_;
    Request* free_ = nullptr;
    std::vector<std::unique_ptr<Request[]>> chunks_;
    std::vector<int> forced_;  ///< Disconnected peers with which something is pending.
    std::size_t pending_ = 0;
    bool silent_ = false;
};

}  // namespace rollcall::transport
