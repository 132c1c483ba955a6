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
/// communicator that had this slot before, is recognised as not there.
struct BoardSlot {
    std::uint64_t sequence = 0;            ///< The latest operation of the communicator of which the writer tells; 0: none.
    Nanoseconds arrival = kUnknownTime;    ///< When it arrived there, if it has. (At every earlier one it has.)
    Nanoseconds predicted = kUnknownTime;  ///< When it expected or expects to arrive, if it has said so. The writer's clock.
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

/// The board begins with a head: whether its owner sleeps (and so must be nudged after a put that wakes nobody).
/// Peers that share memory read it directly.
inline constexpr std::size_t kBoardHead = 64;

inline std::size_t board_bytes(std::uint64_t slots) noexcept { return kBoardHead + slots * sizeof(BoardSlot); }
inline std::uint64_t slot_offset(std::uint64_t slot) noexcept { return kBoardHead + slot * sizeof(BoardSlot); }

/// Reads a slot that a peer may be writing. Relaxed: the notice carries no data but itself.
inline BoardSlot read_slot(std::span<std::byte> board, std::uint64_t slot) noexcept {
    auto* words = reinterpret_cast<std::uint64_t*>(board.data() + slot_offset(slot));
    std::uint64_t copy[4];
    for (int i = 0; i < 4; ++i) copy[i] = std::atomic_ref(words[i]).load(std::memory_order_relaxed);
    BoardSlot result;
    std::memcpy(&result, copy, sizeof result);
    return result;
}

/// Says that the owner of this board sleeps, or no longer does. Sequentially consistent, because the owner looks at its
/// slots after saying so, and a writer looks at this word after writing its slot: one of the two sees the other.
inline void set_sleeping(std::span<std::byte> board, bool sleeps) noexcept {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(board.data())).store(sleeps, std::memory_order_seq_cst);
}
inline bool is_sleeping(const std::byte* board) noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    auto* word = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(board));
    return std::atomic_ref(*word).load(std::memory_order_seq_cst) != 0;
}

}  // namespace rollcall::runtime
