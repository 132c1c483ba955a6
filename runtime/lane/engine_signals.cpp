// The engine's part in signals: how they are written and looked for. See Operation::turn().
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

void Engine::put_signals(Operation& operation, int first, int count) {
    CommunicatorState& communicator = operation.communicator_;
    const Group& group = *communicator.group;
    const std::uint64_t turn = operation.turn_;
    communicator.signalled[turn % 2] = operation.sequence_;
    Signal signal{operation.sequence_, 0};
    signal.seal(group.id);
    const auto each = [&](auto&& visit) {
        for (int i = 0, rank = operation.wrapped(first); i < count; ++i, rank = operation.wrapped(rank + 1))
            visit(group.world_rank(rank), group.slot_of(rank, communicator.rank));
    };
    // What the caller wrote before is seen by who sees the signal, whichever way it takes. (On x86 this costs nothing.)
    std::atomic_thread_fence(std::memory_order_release);
    bool direct = false;
    each([&](int peer, std::uint64_t slot) {
        if (std::byte* board = transport_.peer_board(peer)) {
            write_signal(board, slot, turn, signal);
            direct = true;
            return;
        }
        transport_.put(peer, signal_offset(slot, turn), std::as_bytes(std::span(&signal, 1)));
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
