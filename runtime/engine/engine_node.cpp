// The engine's part in node memory: which operations look at it, which ranks are told of a change, and what is taken back.
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

}  // namespace

void Engine::watch_node(Operation& operation) {
    if (operation.watches_node_) return;
    node_users_.push_back(&operation);
    operation.watches_node_ = true;  // there was memory for it
}

// The usual case is one operation at a time, whose caller has come to it. A planned operation whose caller has not arrived does not count:
// the program may make other calls before it arrives there.
bool Operation::earlier_have_ended(std::uint64_t period) const {
    const Engine& engine = *engine_;
    const std::uint64_t sequence = key_.sequence, begun = communicator_.begun;
    if (engine.active_.size() == 1 && sequence <= begun + period) return true;
    const auto counts = [&](const Operation& other) { return other.alone_ || !other.awaits_caller_; };
    if (sequence > period) {
        const Operation* const previous = engine.find_active(key_.communicator, sequence - period);
        if (previous && counts(*previous)) return false;
    }
    // Calls that no caller here has come to, and that no deputy has begun, will be made later.
    for (std::uint64_t earlier = sequence; earlier > begun + period;) {
        earlier -= period;
        if (!engine.deputies_.expected({key_.communicator, earlier})) return false;
    }
    bool ended = true;
    engine.active_.for_each([&](const Operation& other) {
        const bool shares = other.key_.communicator == key_.communicator && other.sequence() < sequence;
        if (shares && (sequence - other.sequence()) % period == 0 && counts(other)) ended = false;
    });
    return ended;
}

void Engine::stop_watching_node(Operation& operation) {
    operation.watches_node_ = false;
    node_users_.erase(std::find(node_users_.begin(), node_users_.end(), &operation));
}

// A program may have started thousands of operations. Each look visits the oldest ones, because the others mostly wait for them, and a
// bounded number of the others, so that each has its turn. It visits all of them where there is no next look: before this rank sleeps, and
// in a simulation.
unsigned Engine::look_at_node() {
    const std::size_t all = node_users_.size(), oldest = tells_of_puts_ || sleeps_ ? all : std::min(all, kOldestLooks);
    unsigned seen = 0;
    const auto look_at = [&](Operation& operation) {
        if (operation.ready_ || !operation.wait_point_ || operation.failed() || !operation.wait_point_->ready()) return;
        touch(operation);
        ++seen;
    };
    for (std::size_t i = 0; i < oldest; ++i) look_at(*node_users_[i]);
    for (std::size_t i = 0; i < std::min(all - oldest, kFurtherLooks); ++i) {
        if (++next_node_look_ >= all || next_node_look_ < oldest) next_node_look_ = oldest;
        look_at(*node_users_[next_node_look_]);
    }
    return seen;
}

void Engine::tell_node(const Operation& operation, int to) {
    const Group& group = *operation.communicator_.group;
    const auto each = [&](auto&& tell) {
        if (to >= 0) return tell(group.world_rank(operation.member(to)));
        for (int rank = to == kHigherRanks ? operation.rank() + 1 : 0; rank < operation.size(); ++rank)
            if (rank != operation.rank()) tell(group.world_rank(operation.member(rank)));
    };
    if (tells_of_puts_) {
        each([&](int peer) { transport_.put(peer, 0, {}); });
        return;
    }
    // Either those ranks see the change in their last look before they sleep, or this rank sees that they sleep.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!node_->any_sleeps()) return;
    each([&](int peer) { wake_in_node(peer); });
}

// What the peer shall see has been written: it must not be undone, nor be written again, where there is no memory for this message.
bool Engine::nudge(int peer) noexcept {
    try {
        send_control(peer, MessageKind::nudge, {});
        return true;
    } catch (...) {
        owes_nudges_ = true;
        want_tick(machine_.now() + kBetweenNudges);
        return false;
    }
}

bool Engine::wake_in_node(int peer) noexcept {
    if (!node_->is_to_wake(peer)) return false;
    if (!nudge(peer)) node_->still_sleeps(peer);
    return true;
}

// Wakes all ranks of the node that sleep, because it is not known any more which of them could not be woken.
void Engine::nudge_again() noexcept {
    owes_nudges_ = false;
    for (int peer = 0; node_ && peer < options_.size && !owes_nudges_; ++peer)
        if (peer != options_.rank && node_->has(peer)) wake_in_node(peer);
    peers_.for_each([&](int peer, PeerState& state) {
        if (state.outbox && !owes_nudges_ && state.outbox->is_to_wake() && !nudge(peer)) state.outbox->owner_still_sleeps();
    });
}

// Where this process does not share memory over the transport, it was told to use a network (UCX_TLS=tcp).
void Engine::set_node(node::NodeMemory* memory) noexcept {
    node_ = memory;
    mail_ = memory && !tells_of_puts_ && transport_.shares_memory() ? &memory->inbox() : nullptr;
    if (mail_) mail_->open();
}

unsigned Engine::take_mail() noexcept {
    const auto is_due = [this](std::span<const std::byte> header, std::uint16_t after) {
        CompactHeader compact;
        std::memcpy(&compact, header.data(), sizeof compact);
        return static_cast<std::int16_t>(static_cast<std::uint16_t>(after - peers_[compact.source].heard)) <= 0;
    };
    return mail_->take(is_due, [this](auto header, auto data) { on_message(header, {data.data(), data.size()}); });
}

bool Engine::send_letter(int to, PeerState& peer, const CompactHeader& header, transport::ConstBytes payload) {
    if (!peer.outbox || payload.size > node::Mailbox::kMostData) return false;
    if (!peer.outbox->put(&header, payload.data, payload.size, peer.told)) return false;
    if (peer.outbox->is_to_wake() && !nudge(to)) [[unlikely]]
        peer.outbox->owner_still_sleeps();
    return true;
}

void Engine::set_sleeping(bool sleeps) noexcept {
    sleeps_ = sleeps;
    runtime::set_sleeping(transport_.board(), sleeps);
    if (node_) node_->set_sleeping(sleeps && !node_users_.empty());
    if (mail_) mail_->set_sleeping(sleeps);
}

}  // namespace rollcall::runtime
