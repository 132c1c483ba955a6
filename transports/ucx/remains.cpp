#include "transports/ucx/remains.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <unistd.h>

#include "transports/ucx/configuration.hpp"

namespace rollcall::transport::ucx {
namespace {

struct Kept {
    Remains remains;
    ::pid_t process = ::getpid();
    bool stays = false;  ///< UCX might end the process if the objects were destroyed.
};

bool is_self(const Remains& remains, const Remains::Peer& peer) { return &peer == &remains.peers[static_cast<std::size_t>(remains.rank)]; }

// Whether no other process can use anything of this one any more. A peer that lives may open memory of this process late. It does so by the
// number of a descriptor, which may then be that of another file.
bool is_alone(const Remains& remains) {
    return std::all_of(remains.peers.begin(), remains.peers.end(), [&](const Remains::Peer& peer) {
        return is_self(remains, peer) || peer.board.is_left() || is_gone(remains.here, peer.place);
    });
}

// Whether UCX has nothing to send over this endpoint.
bool is_idle(ucp_ep_h endpoint) {
    const ucp_request_param_t parameters{};
    return ucp_ep_flush_nbx(endpoint, &parameters) == nullptr;  // A request stays with the worker, which then stays, too.
}

// Closes the connections. Returns false if the worker must stay. UCX makes no progress meanwhile or later: it might read messages that are
// still there, and open memory of other processes in order to answer. UCX ends all that it has begun when the worker is destroyed.
bool close_connections(Remains& remains) {
    for (std::size_t peer = 0; peer < remains.peers.size(); ++peer) remains.requests.disconnect(static_cast<int>(peer));
    if (!remains.is_plain || remains.requests.use_memory_of_callers() || !remains.closing.empty()) return false;
    // UCX 1.13 ends the process with an assertion if requests, or an answer to a new connection, wait at an endpoint that UCX has made by
    // itself when the worker is destroyed. It makes such an endpoint only for a peer for which there was none. Where that peer is the only
    // one, the answer has left: nothing else has been in its queue.
    const bool is_only_peer = remains.peers.size() == 2 && remains.requests.pending() == 0;
    for (const Remains::Peer& peer : remains.peers) {
        if (is_self(remains, peer) && !peer.was_connected) continue;
        if (!share_memory(remains.here, peer.place)) return false;  // Over a network it cannot be known whether an answer waits.
        if (!peer.was_connected && !is_only_peer) return false;
        // The same happens if such an answer waits at an endpoint that is closed by force.
        if (peer.endpoint && !is_idle(peer.endpoint)) return false;
    }
    for (Remains::Peer& peer : remains.peers)
        if (peer.endpoint) remains.closing.begin(std::exchange(peer.endpoint, nullptr), true);
    return remains.closing.empty();
}

/// Returns whether the objects are destroyed.
bool destroy(Kept& kept) {
    Remains& remains = kept.remains;
    // A child that was forked has copies of objects that belong to its parent.
    if (kept.stays || kept.process != ::getpid() || !is_alone(remains)) return false;
    kept.stays = !close_connections(remains);
    if (kept.stays) return false;
    for (Remains::Peer& peer : remains.peers) peer.board.destroy();
    remains.board.close();
    ucp_worker_destroy(remains.worker);  // calls the callbacks of requests
    ucp_cleanup(remains.context);
    return true;
}

std::mutex mutex;
// Never destroyed, so that it outlives objects that are destroyed at the end of the process and add to it.
std::vector<std::unique_ptr<Kept>>& all_kept() {
    static auto* const all = new std::vector<std::unique_ptr<Kept>>();
    return *all;
}

}  // namespace

void leave(Remains&& remains) {
    *remains.user = nullptr;
    remains.board.leave();
    auto kept = std::make_unique<Kept>(Kept{.remains = std::move(remains)});
    kept->stays = is_at_least(14);  // not tried with later versions
    const std::lock_guard lock(mutex);
    all_kept().push_back(std::move(kept));
}

void clear_remains() noexcept {
    const std::lock_guard lock(mutex);
    std::erase_if(all_kept(), [](const std::unique_ptr<Kept>& kept) { return destroy(*kept); });
}

}  // namespace rollcall::transport::ucx
