// The engine's part in signals: how they are written, looked for, and missed. See Operation::turn().
#include <atomic>
#include <utility>

#include "runtime/lane/engine.hpp"

namespace rollcall::runtime {

void Engine::wake(int peer) {
    switch (transport_.put_wake(peer)) {
        case transport::PutWake::wakes: return;
        case transport::PutWake::silent: {
            const std::byte* board = transport_.peer_board(peer);
            if (board && !is_sleeping(board)) return;
            break;
        }
        case transport::PutWake::unknown: break;
    }
    send_control(peer, MessageKind::nudge, {});
}

void Engine::put_signals(const CommunicatorState& communicator, const CommunicatorState::Signalled& signalled) {
    const Group& group = *communicator.group;
    Signal signal{signalled.sequence, 0};
    signal.seal(group.id);
    const auto each = [&](auto&& visit) {
        for (int i = 0, rank = signalled.first; i < signalled.count; ++i, rank = rank + 1 < group.size ? rank + 1 : 0)
            visit(group.world_rank(rank), group.slot_of(rank, communicator.rank));
    };
    // What the caller wrote before is seen by who sees the signal, whichever way it takes. (On x86 this costs nothing.)
    std::atomic_thread_fence(std::memory_order_release);
    bool direct = false;
    each([&](int peer, std::uint64_t slot) {
        if (std::byte* board = transport_.peer_board(peer)) {
            write_signal(board, slot, signalled.turn, signal);
            direct = true;
            return;
        }
        transport_.put(peer, signal_offset(slot, signalled.turn), std::as_bytes(std::span(&signal, 1)));
        wake(peer);
    });
    if (!direct) return;
    // One fence for all of them: either they see the signal in their last look before they sleep, or here they are seen asleep.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    each([&](int peer, std::uint64_t) {
        const std::byte* board = transport_.peer_board(peer);
        if (board && says_sleeping(board)) send_control(peer, MessageKind::nudge, {});
    });
}

unsigned Engine::listen() {
    unsigned heard = 0;
    for (std::size_t i = 0; i < listening_.size();) {
        Operation& operation = *listening_[i];
        if (operation.failed() || !operation.heard_all()) {
            ++i;
            continue;
        }
        listening_[i] = listening_.back();
        listening_.pop_back();
        touch(operation);
        ++heard;
    }
    return heard;
}

// A signal got lost: only where a rank that goes on with a communicator which others have destroyed wrote into a slot that
// was another's by then. Who waits for it asks, and it is written again.
void Engine::signal_again(const CommunicatorState& communicator, const CollectiveHeader& probe) {
    const int asking = rank_in(*communicator.group, probe.base.source);
    for (const CommunicatorState::Signalled& signalled : communicator.signalled) {
        if (signalled.sequence != probe.sequence || signalled.sequence == 0) continue;
        const int place = asking - signalled.first + (asking < signalled.first ? communicator.group->size : 0);
        if (place < signalled.count) put_signals(communicator, {signalled.sequence, signalled.turn, asking, 1});
    }
}

void Engine::end_turn(Operation& operation) {
    std::erase(listening_, &operation);
    // Those that failed do not count: nothing that comes after them on their communicator succeeds.
    if (operation.failed()) return;
    CommunicatorState& communicator = operation.communicator_;
    communicator.turns_ended = operation.turn_;
    if (communicator.turns_taken == communicator.turns_ended) return;
    for (Operation* other = communicator.active; other; other = other->next_active_)
        if (other->turn_ == communicator.turns_ended + 1) touch(*other);
}

}  // namespace rollcall::runtime
