/// \file
/// The arrivals board: memory that each rank keeps for its peers. A peer writes into it that it has arrived at an operation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <rollcall/time.hpp>

namespace rollcall::runtime {

/// The time of an arrival that has not happened, or of a prediction that has not been made.
inline constexpr Nanoseconds kUnknownTime = -1;

/// One rank's notice on another rank's board. The writer writes it with one put and no fence, and the owner may read it at the same time.
/// `check` covers the other words and the id of the communicator. Therefore a reader recognises a torn notice, and a notice for a
/// communicator that had this slot earlier, and treats both as absent. If such a notice has overwritten another one, the reader asks the
/// writer for what is lost (Questions). Times are in the time of the communicator (CommonClock).
struct BoardSlot {
    std::uint64_t sequence = 0;            ///< The latest operation of the communicator that the writer reports; 0: none.
    Nanoseconds arrival = kUnknownTime;    ///< When the writer arrived there, if it has. It has arrived at every earlier operation.
    Nanoseconds predicted = kUnknownTime;  ///< When the writer expected or expects to arrive, if it has said so.
    std::uint64_t check = 0;

    std::uint64_t expected_check(std::uint64_t communicator) const noexcept {
        std::uint64_t h = (sequence ^ (communicator << 1)) * 0x9e3779b97f4a7c15ull + communicator;
        h = (h ^ static_cast<std::uint64_t>(arrival)) * 0xbf58476d1ce4e5b9ull;
        h = (h ^ static_cast<std::uint64_t>(predicted)) * 0x94d049bb133111ebull;
        return h ^ (h >> 31) ^ 1;
    }
    void seal(std::uint64_t communicator) noexcept { check = expected_check(communicator); }
    /// Whether the notice says that the writer has arrived at this operation.
    bool tells_of_arrival(std::uint64_t operation) const noexcept {
        return sequence > operation || (sequence == operation && arrival != kUnknownTime);
    }
    bool whole(std::uint64_t communicator) const noexcept { return check == expected_check(communicator); }
};
static_assert(sizeof(BoardSlot) == 32);

/// One rank's signal on another rank's board. It says: "in this operation I have come far enough for you to go on". It is separate from the
/// notice, because arrivals at operations of every kind write the notice, while only operations that use signals write a signal. There are
/// two signals, and consecutive operations use them in turn (see Operation::turn()).
struct Signal {
    std::uint64_t sequence = 0;  ///< Sequence number of the operation; 0: none.
    std::uint64_t check = 0;     ///< Has the same purpose as BoardSlot::check.

    std::uint64_t expected_check(std::uint64_t communicator) const noexcept {
        const std::uint64_t h = (sequence ^ (communicator << 1)) * 0x9e3779b97f4a7c15ull + communicator;
        return h ^ (h >> 29) ^ 1;
    }
    void seal(std::uint64_t communicator) noexcept { check = expected_check(communicator); }
    bool whole(std::uint64_t communicator) const noexcept { return check == expected_check(communicator); }
};
static_assert(sizeof(Signal) == 16);

/// Size of the head at the beginning of the board. The head says whether the board's owner sleeps. While the owner does not sleep, a peer
/// need not send a nudge after its put. Peers that share memory with the owner read the head directly.
inline constexpr std::size_t kBoardHead = 64;
/// A notice and two signals. Each writer has a cache line of its own.
inline constexpr std::size_t kSlotBytes = 64;
static_assert(sizeof(BoardSlot) + 2 * sizeof(Signal) == kSlotBytes);

inline std::size_t board_bytes(std::uint64_t slots) noexcept { return kBoardHead + slots * kSlotBytes; }
inline std::uint64_t slot_offset(std::uint64_t slot) noexcept { return kBoardHead + slot * kSlotBytes; }
/// The slot that contains this byte of a board.
inline std::uint64_t slot_at(std::uint64_t offset) noexcept { return (offset - kBoardHead) / kSlotBytes; }
/// The offset of a signal on a board. `turn` counts those operations of a communicator that use signals.
inline std::uint64_t signal_offset(std::uint64_t slot, std::uint64_t turn) noexcept {
    return slot_offset(slot) + sizeof(BoardSlot) + turn % 2 * sizeof(Signal);
}

/// Reads a slot that a peer may be writing. Relaxed, because a notice publishes no data other than itself.
inline BoardSlot read_slot(std::span<std::byte> board, std::uint64_t slot) noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(board.data() + slot_offset(slot));
    std::uint64_t copy[4];
    for (int i = 0; i < 4; ++i) copy[i] = std::atomic_ref(words[i]).load(std::memory_order_relaxed);
    BoardSlot result;
    std::memcpy(&result, copy, sizeof result);
    return result;
}

/// Reads a signal that a peer may be writing. Relaxed: a caller that acts on the signal executes an acquire fence first.
inline Signal read_signal(const std::byte* board, std::uint64_t slot, std::uint64_t turn) noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(board) + signal_offset(slot, turn));
    return {std::atomic_ref(words[0]).load(std::memory_order_relaxed), std::atomic_ref(words[1]).load(std::memory_order_relaxed)};
}
/// Writes a signal into the board of a peer that shares memory. Relaxed: the caller executes a release fence first.
inline void write_signal(std::byte* board, std::uint64_t slot, std::uint64_t turn, const Signal& signal) noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(board + signal_offset(slot, turn));
    std::atomic_ref(words[0]).store(signal.sequence, std::memory_order_relaxed);
    std::atomic_ref(words[1]).store(signal.check, std::memory_order_relaxed);
}

/// Says on the board whether its owner sleeps. Sequentially consistent: the owner reads its slots after this store, and a writer reads this
/// word after it has written a slot. So at least one of the two sees what the other wrote.
inline void set_sleeping(std::span<std::byte> board, bool sleeps) noexcept {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(board.data())).store(sleeps, std::memory_order_seq_cst);
}
/// Whether the owner of the board sleeps. The caller executes a sequentially consistent fence first.
inline bool says_sleeping(const std::byte* board) noexcept {
    auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(board));
    return std::atomic_ref(*word).load(std::memory_order_seq_cst) != 0;
}
inline bool is_sleeping(const std::byte* board) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return says_sleeping(board);
}

}  // namespace rollcall::runtime
