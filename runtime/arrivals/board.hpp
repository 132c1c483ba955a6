/// \file
/// The arrivals board: memory each rank keeps for its peers, who write into it that they have arrived.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <rollcall/time.hpp>

namespace rollcall::runtime {

/// Stands for an arrival that has not been, and for a prediction that has not been made.
inline constexpr Nanoseconds kUnknownTime = -1;

/// One rank's notice on another rank's board: written by one put, without a fence, and read while it may be being
/// written. `check` ties the words together and to the communicator, so that a torn notice, or one that was meant for a
/// communicator that had this slot before, is recognised as not there; what it overwrote is asked for (Engine::probe()). Times are the
/// communicator's (CommonClock).
struct BoardSlot {
    std::uint64_t sequence = 0;            ///< The latest operation of the communicator of which the writer tells; 0: none.
    Nanoseconds arrival = kUnknownTime;    ///< When it arrived there, if it has. (At every earlier one it has.)
    Nanoseconds predicted = kUnknownTime;  ///< When it expected or expects to arrive, if it has said so.
    std::uint64_t check = 0;

    std::uint64_t expected_check(std::uint64_t communicator) const noexcept {
        std::uint64_t h = (sequence ^ (communicator << 1)) * 0x9e3779b97f4a7c15ull + communicator;
        h = (h ^ static_cast<std::uint64_t>(arrival)) * 0xbf58476d1ce4e5b9ull;
        h = (h ^ static_cast<std::uint64_t>(predicted)) * 0x94d049bb133111ebull;
        return h ^ (h >> 31) ^ 1;
    }
    void seal(std::uint64_t communicator) noexcept { check = expected_check(communicator); }
    /// Whether it says that the writer has arrived at this operation.
    bool tells_of_arrival(std::uint64_t operation) const noexcept {
        return sequence > operation || (sequence == operation && arrival != kUnknownTime);
    }
    bool whole(std::uint64_t communicator) const noexcept { return check == expected_check(communicator); }
};
static_assert(sizeof(BoardSlot) == 32);

/// One rank's signal on another rank's board: in this operation, I have come so far that you may go on. Apart from its notice,
/// because an arrival at an operation of any kind writes that one: a signal is written by operations that mean it only.
/// There are two, for operations in turn (see Operation::turn()).
struct Signal {
    std::uint64_t sequence = 0;  ///< Of the operation; 0: none.
    std::uint64_t check = 0;     ///< As that of a notice.

    std::uint64_t expected_check(std::uint64_t communicator) const noexcept {
        const std::uint64_t h = (sequence ^ (communicator << 1)) * 0x9e3779b97f4a7c15ull + communicator;
        return h ^ (h >> 29) ^ 1;
    }
    void seal(std::uint64_t communicator) noexcept { check = expected_check(communicator); }
    bool whole(std::uint64_t communicator) const noexcept { return check == expected_check(communicator); }
};
static_assert(sizeof(Signal) == 16);

/// The board begins with a head: whether its owner sleeps (and so must be nudged after a put that wakes nobody).
/// Peers that share memory read it directly.
inline constexpr std::size_t kBoardHead = 64;
/// A notice and two signals: a cache line for each writer.
inline constexpr std::size_t kSlotBytes = 64;
static_assert(sizeof(BoardSlot) + 2 * sizeof(Signal) == kSlotBytes);

inline std::size_t board_bytes(std::uint64_t slots) noexcept { return kBoardHead + slots * kSlotBytes; }
inline std::uint64_t slot_offset(std::uint64_t slot) noexcept { return kBoardHead + slot * kSlotBytes; }
/// The slot that this byte of a board is in.
inline std::uint64_t slot_at(std::uint64_t offset) noexcept { return (offset - kBoardHead) / kSlotBytes; }
/// `turn` counts the operations of a communicator that use signals.
inline std::uint64_t signal_offset(std::uint64_t slot, std::uint64_t turn) noexcept {
    return slot_offset(slot) + sizeof(BoardSlot) + turn % 2 * sizeof(Signal);
}

/// Reads a slot that a peer may be writing. Relaxed: the notice carries no data but itself.
inline BoardSlot read_slot(std::span<std::byte> board, std::uint64_t slot) noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(board.data() + slot_offset(slot));
    std::uint64_t copy[4];
    for (int i = 0; i < 4; ++i) copy[i] = std::atomic_ref(words[i]).load(std::memory_order_relaxed);
    BoardSlot result;
    std::memcpy(&result, copy, sizeof result);
    return result;
}

/// Reads a signal that a peer may be writing. Relaxed: who believes it makes an acquire fence before it goes on.
inline Signal read_signal(const std::byte* board, std::uint64_t slot, std::uint64_t turn) noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(board) + signal_offset(slot, turn));
    return {std::atomic_ref(words[0]).load(std::memory_order_relaxed), std::atomic_ref(words[1]).load(std::memory_order_relaxed)};
}
/// Writes a signal into the board of a peer that shares memory. Relaxed: it comes after a release fence.
inline void write_signal(std::byte* board, std::uint64_t slot, std::uint64_t turn, const Signal& signal) noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(board + signal_offset(slot, turn));
    std::atomic_ref(words[0]).store(signal.sequence, std::memory_order_relaxed);
    std::atomic_ref(words[1]).store(signal.check, std::memory_order_relaxed);
}

/// Says that the owner of this board sleeps, or no longer does. Sequentially consistent, because the owner looks at its
/// slots after saying so, and a writer looks at this word after writing its slot: one of the two sees the other.
inline void set_sleeping(std::span<std::byte> board, bool sleeps) noexcept {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(board.data())).store(sleeps, std::memory_order_seq_cst);
}
/// To be asked after a sequentially consistent fence.
inline bool says_sleeping(const std::byte* board) noexcept {
    auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(board));
    return std::atomic_ref(*word).load(std::memory_order_seq_cst) != 0;
}
inline bool is_sleeping(const std::byte* board) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return says_sleeping(board);
}

}  // namespace rollcall::runtime
