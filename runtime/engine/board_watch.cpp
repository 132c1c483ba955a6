#include "runtime/engine/board_watch.hpp"

#include <atomic>
#include <vector>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

// A look at the board ends after so many slots in a row that tell of no arrival.
constexpr std::size_t kSlotsInVain = 64;

}  // namespace

void BoardWatch::watch(Operation& operation) {
    watching_.push_back(&operation);
    look(true);
}

void BoardWatch::listen_for(Operation& operation) {
    board_ = engine_.transport_.board().data();
    if (!operation.heard_all()) listening_.push_back(&operation);
}

void BoardWatch::forget(Operation& operation) {
    std::erase(watching_, &operation);
    std::erase(listening_, &operation);
}

void BoardWatch::wake(int peer) {
    switch (engine_.transport_.put_wake(peer)) {
        case transport::PutWake::wakes: return;
        case transport::PutWake::silent: {
            const std::byte* board = engine_.transport_.peer_board(peer);
            if (board && !is_sleeping(board)) return;
            break;
        }
        case transport::PutWake::unknown: break;
    }
    engine_.send_control(peer, MessageKind::nudge, {});
}

void BoardWatch::put_signals(Operation& operation, int first, int count) {
    CommunicatorState& communicator = operation.communicator_;
    const Group& group = *communicator.group;
    const std::uint64_t turn = operation.turn_;
    communicator.signalled[turn % 2] = operation.sequence();
    Signal signal{operation.sequence(), 0};
    signal.seal(group.id);
    const auto each = [&](auto&& visit) {
        for (int i = 0, rank = operation.wrapped(first); i < count; ++i, rank = operation.wrapped(rank + 1))
            visit(group.world_rank(rank), group.slot_of(rank, communicator.rank));
    };
    // A rank that sees the signal, by whichever way, also sees what the caller wrote before. (On x86 this fence costs nothing.)
    std::atomic_thread_fence(std::memory_order_release);
    bool direct = false;
    each([&](int peer, std::uint64_t slot) {
        if (std::byte* board = engine_.transport_.peer_board(peer)) {
            write_signal(board, slot, turn, signal);
            direct = true;
            return;
        }
        engine_.transport_.put(peer, signal_offset(slot, turn), std::as_bytes(std::span(&signal, 1)));
        wake(peer);
    });
    if (!direct) return;
    // One fence serves all ranks: either they see the signal in their last look before they sleep, or this rank sees that they sleep.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    each([&](int peer, std::uint64_t) {
        const std::byte* board = engine_.transport_.peer_board(peer);
        if (board && says_sleeping(board)) engine_.send_control(peer, MessageKind::nudge, {});
    });
}

unsigned BoardWatch::listen() {
    unsigned heard = 0;
    for (std::size_t i = 0; i < listening_.size();) {
        Operation& operation = *listening_[i];
        if (operation.failed() || !operation.heard_all()) {
            ++i;
            continue;
        }
        listening_[i] = listening_.back();
        listening_.pop_back();
        engine_.touch(operation);
        ++heard;
    }
    return heard;
}

void BoardWatch::end_turn(Operation& operation) {
    std::erase(listening_, &operation);
    // Failed operations do not count: no later operation of their communicator succeeds.
    if (operation.failed()) return;
    CommunicatorState& communicator = operation.communicator_;
    communicator.turns_ended = operation.turn_;
    if (communicator.turns_taken == communicator.turns_ended) return;
    engine_.active_.for_each([&](Operation& other) {
        if (&other.communicator_ == &communicator && other.turn_ == communicator.turns_ended + 1) engine_.touch(other);
    });
}

void BoardWatch::see(Operation& operation, int rank, const BoardSlot& slot) {
    Arrivals& arrivals = *operation.arrivals_;
    if (slot.tells_of_arrival(operation.sequence()) ? arrivals.see(rank) : arrivals.predicts(rank, slot.predicted))
        engine_.touch(operation);
}

// Each look visits some slots of each operation, the next look the following ones. So a poll costs the same however many ranks are awaited.
// A look goes on while it finds arrivals, so ranks that arrived together are mostly seen together. It visits all slots where an operation
// has its first look, and where there may be no next one: before this rank sleeps.
unsigned BoardWatch::look(bool at_all_slots) {
    unsigned seen = 0;
    const std::span<std::byte> board = engine_.transport_.board();
    for (Operation* operation : watching_) {
        Arrivals& arrivals = *operation->arrivals_;
        std::vector<int>& unseen = arrivals.unseen_;
        const Group& group = *operation->communicator_.group;
        const std::size_t most = at_all_slots || engine_.sleeps_ ? unseen.size() : kSlotsInVain;
        std::size_t& next = arrivals.next_look_;
        for (std::size_t left = unseen.size(), in_vain = 0; left > 0 && in_vain < most; --left) {
            ++engine_.other_steps_;
            if (next >= unseen.size()) next = 0;
            const int rank = unseen[next];
            const BoardSlot slot = read_slot(board, group.slot_of(operation->rank(), rank));
            const bool counts = slot.sequence >= operation->sequence() && slot.whole(group.id);
            if (counts) see(*operation, rank, slot);
            if (!counts || !slot.tells_of_arrival(operation->sequence())) {
                ++next;
                ++in_vain;
                continue;
            }
            unseen[next] = unseen.back();
            unseen.pop_back();
            in_vain = 0;
            ++seen;
        }
    }
    return seen;
}

void BoardWatch::on_changed(std::uint64_t offset) {
    listen();
    if (watching_.empty()) return;
    const std::uint64_t slot_number = slot_at(offset);
    const BoardSlot slot = read_slot(engine_.transport_.board(), slot_number);
    for (Operation* operation : watching_) {
        const Group& group = *operation->communicator_.group;
        const std::uint64_t first = group.slot_of(operation->rank(), 0);
        if (slot_number < first || slot_number >= first + static_cast<std::uint64_t>(group.size)) continue;
        if (slot.sequence >= operation->sequence() && slot.whole(group.id)) see(*operation, static_cast<int>(slot_number - first), slot);
    }
}

}  // namespace rollcall::runtime
