#include "runtime/engine/node_link.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "runtime/engine/engine.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::runtime {
namespace {

// When to wake a rank for which there was no memory.
constexpr Nanoseconds kBetweenNudges = kMillisecond;

// How many operations one look visits: the oldest ones, and others.
constexpr std::size_t kOldestLooks = 32, kFurtherLooks = 32;

}  // namespace

void NodeLink::watch(Operation& operation) {
    if (operation.watches_node_) return;
    users_.push_back(&operation);
    operation.watches_node_ = true;  // there was memory for it
}

void NodeLink::stop_watching(Operation& operation) {
    operation.watches_node_ = false;
    users_.erase(std::find(users_.begin(), users_.end(), &operation));
}

// A program may have started thousands of operations. Each look visits the oldest ones, because the others mostly wait for them, and a
// bounded number of the others, so that each has its turn. It visits all of them where there is no next look: before this rank sleeps, and
// in a simulation.
unsigned NodeLink::look() {
    const std::size_t all = users_.size(), oldest = engine_.tells_of_puts_ || engine_.sleeps_ ? all : std::min(all, kOldestLooks);
    unsigned seen = 0;
    const auto look_at = [&](Operation& operation) {
        if (operation.ready_ || !operation.wait_point_ || operation.failed() || !operation.wait_point_->ready()) return;
        engine_.touch(operation);
        ++seen;
    };
    for (std::size_t i = 0; i < oldest; ++i) look_at(*users_[i]);
    for (std::size_t i = 0; i < std::min(all - oldest, kFurtherLooks); ++i) {
        if (++next_look_ >= all || next_look_ < oldest) next_look_ = oldest;
        look_at(*users_[next_look_]);
    }
    return seen;
}

void NodeLink::tell(const Operation& operation, int to) {
    const Group& group = *operation.communicator_.group;
    const auto each = [&](auto&& tell) {
        if (to >= 0) return tell(group.world_rank(operation.member(to)));
        for (int rank = to == kHigherRanks ? operation.rank() + 1 : 0; rank < operation.size(); ++rank)
            if (rank != operation.rank()) tell(group.world_rank(operation.member(rank)));
    };
    if (engine_.tells_of_puts_) {
        each([&](int peer) { engine_.transport_.put(peer, 0, {}); });
        return;
    }
    // Either those ranks see the change in their last look before they sleep, or this rank sees that they sleep.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!memory_->any_sleeps()) return;
    each([&](int peer) { wake(peer); });
}

// What the peer shall see has been written: it must not be undone, nor be written again, where there is no memory for this message.
bool NodeLink::nudge(int peer) noexcept {
    try {
        engine_.send_control(peer, MessageKind::nudge, {});
        return true;
    } catch (...) {
        owes_nudges_ = true;
        engine_.want_tick(engine_.machine_.now() + kBetweenNudges);
        return false;
    }
}

bool NodeLink::wake(int peer) noexcept {
    if (!memory_->is_to_wake(peer)) return false;
    if (!nudge(peer)) memory_->still_sleeps(peer);
    return true;
}

// Wakes all ranks of the node that sleep, because it is not known any more which of them could not be woken.
void NodeLink::nudge_again() noexcept {
    owes_nudges_ = false;
    for (int peer = 0; memory_ && peer < engine_.options_.size && !owes_nudges_; ++peer)
        if (peer != engine_.options_.rank && memory_->has(peer)) wake(peer);
    engine_.peers_.for_each([&](int peer, PeerState& state) {
        if (state.outbox && !owes_nudges_ && state.outbox->is_to_wake() && !nudge(peer)) state.outbox->owner_still_sleeps();
    });
}

// Where this process does not share memory over the transport, it was told to use a network (UCX_TLS=tcp).
void NodeLink::set_memory(node::NodeMemory* memory) noexcept {
    memory_ = memory;
    mail_ = memory && !engine_.tells_of_puts_ && engine_.transport_.shares_memory() ? &memory->inbox() : nullptr;
    if (mail_) mail_->open();
}

unsigned NodeLink::take_mail() noexcept {
    const auto is_due = [this](std::span<const std::byte> header, std::uint16_t after) {
        CompactHeader compact;
        std::memcpy(&compact, header.data(), sizeof compact);
        return static_cast<std::int16_t>(static_cast<std::uint16_t>(after - engine_.peers_[compact.source].heard)) <= 0;
    };
    return mail_->take(is_due, [this](auto header, auto data) { engine_.on_message(header, {data.data(), data.size()}); });
}

void NodeLink::open_outbox(int to, PeerState& peer) {
    if (mail_ && !peer.outbox) peer.outbox = memory_->open_outbox(to);
}

bool NodeLink::send(int to, PeerState& peer, const CompactHeader& header, transport::ConstBytes payload) {
    if (payload.size > node::Mailbox::kMostData || !peer.outbox->put(&header, payload.data, payload.size, peer.told)) return false;
    if (peer.outbox->is_to_wake() && !nudge(to)) [[unlikely]]
        peer.outbox->owner_still_sleeps();
    return true;
}

void NodeLink::set_sleeping(bool sleeps) noexcept {
    if (memory_) memory_->set_sleeping(sleeps && !users_.empty());
    if (mail_) mail_->set_sleeping(sleeps);
}

}  // namespace rollcall::runtime
