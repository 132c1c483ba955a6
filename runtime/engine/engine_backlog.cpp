// The engine's point-to-point sends that wait for their turn. See Backlog.
#include <new>
#include <utility>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

// The largest number of large point-to-point messages that are offered to one peer and that it has not taken. Each costs the peer about
// 1500 bytes, most of which UCX uses. This many offers keep a stream of messages going.
constexpr std::uint32_t kMostOffers = 64;

}  // namespace

// Whether a point-to-point send may go at once instead of waiting in the backlog.
bool Engine::may_go(const Transfer& transfer, const PeerState& peer) {
    if (peer.backlogged) return backlog_.give(transfer.key);
    return peer.offers < kMostOffers || may_be_eager(transfer);
}

// Whether a message is short enough to travel with its header. Messages that are sent in turn share the network if they do: that pays only
// for a quarter of the usual length (a linear scatter to 16 hosts at 1 Gbit/s: 16 KiB 1.6 times as fast, 64 KiB 1.7 times slower).
bool Engine::is_short(const Transfer& transfer, const PeerState& peer) const noexcept {
    const std::uint64_t bytes = transfer.buffer.size;
    if (bytes <= options_.eager_bytes) return true;
    if (!peer.over_tcp || (transfer.flags & kAwaited)) return false;
    return bytes <= (transfer.flags & kInTurn ? options_.eager_bytes_over_tcp / 4 : options_.eager_bytes_over_tcp);
}

bool Engine::may_be_eager(const Transfer& transfer) {
    const PeerState& peer = peers_[transfer.peer()];
    return is_short(transfer, peer) && Peers::allows(peer, transfer.buffer.size);
}

void Engine::put_back(Transfer& transfer) {
    backlog_.push(transfer);
    transfer.stage = Transfer::Stage::queued;
    PeerState& peer = peers_[transfer.peer()];
    if (std::exchange(peer.backlogged, true)) return;
    try {
        tell_of_backlog(transfer.peer(), true);
    } catch (...) {  // There is no memory, and the caller destroys the transfer.
        backlog_.remove(transfer);
        transfer.stage = Transfer::Stage::idle;
        peer.backlogged = false;
        throw;
    }
}

void Engine::tell_of_backlog(int peer, bool there_is) {
    CollectiveHeader header;
    if (there_is) header.base.flags = kHasBacklog;
    send_control(peer, MessageKind::backlog, header);
}

// Sends as many as possible of the messages that wait for this peer, in their order.
void Engine::work_off_backlog(int peer) {
    PeerState& state = peers_[peer];
    if (!state.backlogged || state.works_off || peers_.is_dead_or_gone(peer)) return;
    state.works_off = true;  // a send that ends at once makes room for the next one
    Transfer* first;
    while ((first = backlog_.first(peer)) && (state.offers < kMostOffers || may_be_eager(*first))) {
        backlog_.remove(*first);
        try {
            transmit(*first, state);
        } catch (...) {  // There is no memory. The next one that makes room tries again.
            backlog_.push_first(*first);
            first->stage = Transfer::Stage::queued;
            state.works_off = false;
            throw;
        }
    }
    state.works_off = false;
    if (first) return;
    state.backlogged = false;
    backlog_.forget(peer);
    tell_of_backlog(peer, false);
}

// `kind`: wanted, or unwanted to take that back.
void Engine::ask_for(const MatchKey& key, MessageKind kind) {
    CollectiveHeader header;
    header.base.communicator = key.communicator;
    header.base.tag = key.tag;
    try {
        send_control(key.source, kind, header);
    } catch (const std::bad_alloc&) {
        if (kind != MessageKind::unwanted) throw;  // Otherwise the message only comes although no receive waits for it.
    }
}

void Engine::on_wanted(const CollectiveHeader& header) {
    const int peer = header.base.source;
    if (!peers_[peer].backlogged || peers_.is_dead_or_gone(peer)) return;
    const MatchKey key{header.base.communicator, 0, header.base.tag, peer};
    if (header.base.kind == MessageKind::unwanted) {
        backlog_.give(key);
    } else if (Transfer* transfer = backlog_.ask_for(key)) {
        transmit(*transfer, peers_[peer]);
        work_off_backlog(peer);
    }
}

void Engine::on_backlog(const CollectiveHeader& header) {
    const int peer = header.base.source;
    const bool there_is = header.base.flags & kHasBacklog;
    peers_[peer].has_backlog = there_is;
    if (!there_is) return backlog_.forget_looks(peer);
    ++look_changes_;  // Which messages were looked for before is not known. The next look asks for its message.
    posted_.for_each([&](Transfer& transfer) {
        if (!transfer.operation && transfer.peer() == peer) ask_for(transfer.key);
    });
    peeks_.for_each([&](const Peek& peek) {
        if (peek.key.source == peer && peeks_.find(peek.key) == &peek) ask_for(peek.key);  // once for each key
    });
}

}  // namespace rollcall::runtime
