// The small parts of the lane and of a communicator: arena, peers, board slots, the memory of past calls.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "runtime/arrivals/board.hpp"
#include "runtime/engine/communicator_state.hpp"
#include "runtime/engine/frame_arena.hpp"
#include "runtime/messages/peer_table.hpp"

namespace rollcall::runtime {
namespace {

TEST(FrameArena, BlocksAreAlignedApartAndUsedAgain) {
    FrameArena arena;
    struct Block {
        std::byte* data;
        std::size_t size;
        std::byte fill;
    };
    std::vector<Block> blocks;
    std::mt19937 random(7);
    for (int step = 0; step < 20'000; ++step) {
        if (blocks.size() < 500 && random() % 2) {
            const std::size_t size = 1 + random() % 3000;  // also above the largest class
            auto* data = static_cast<std::byte*>(arena.allocate(size));
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(data) % __STDCPP_DEFAULT_NEW_ALIGNMENT__, 0u);
            blocks.push_back({data, size, static_cast<std::byte>(step)});
            std::memset(data, step, size);
        } else if (!blocks.empty()) {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            const Block block = blocks.back();
            blocks.pop_back();
            for (std::size_t i = 0; i < block.size; ++i) ASSERT_EQ(block.data[i], block.fill);
            arena.release(block.data, block.size);
        }
    }
    for (const Block& block : blocks) arena.release(block.data, block.size);
    void* const first = arena.allocate(100);
    arena.release(first, 100);
    EXPECT_EQ(arena.allocate(100), first);
    arena.release(first, 100);
}

TEST(PeerTable, DenseAndSparseDoTheSame) {
    for (const int size : {1, 2, 1024, 1025, 1'000'000}) {
        PeerTable table(size, PeerState{.allowance = 77});
        EXPECT_EQ(table[size - 1].allowance, 77u);
        PeerState& first = table[0];
        first.sent = 5;
        for (int peer = 0; peer < size; peer += 1 + size / 100) ++table[peer].expected;
        EXPECT_EQ(first.sent, 5u);  // references stay valid
        EXPECT_EQ(&table[0], &first);
        EXPECT_EQ(table[0].expected, 1u);
        table[size - 1].owed = 9;
        bool seen = false;
        table.for_each([&](int peer, PeerState& state) { seen = seen || (peer == size - 1 && state.owed == 9); });
        EXPECT_TRUE(seen);
    }
}

TEST(BoardSlot, OnlyAWholeOneOfThisCommunicatorCounts) {
    BoardSlot slot{12, 345'678'901, 5, 0};
    slot.seal(3);
    EXPECT_TRUE(slot.whole(3));
    EXPECT_FALSE(slot.whole(4));
    for (std::uint64_t id = 0; id < 1000; ++id) EXPECT_EQ(slot.whole(id), id == 3);
    EXPECT_FALSE((BoardSlot{0, 0, 0, 0}).whole(0));
    EXPECT_FALSE((BoardSlot{0, 0, 0, 0}).whole(1));  // zeroed memory is no notice
}

TEST(BoardSlot, ATornOneDoesNotCount) {
    BoardSlot before{12, 1'000'000, 0, 0}, after{13, 2'000'000, 7, 0};
    before.seal(3);
    after.seal(3);
    for (unsigned words = 1; words < 15; ++words) {  // which of the four words are new already
        std::uint64_t mixed[4], old[4];
        std::memcpy(old, &before, sizeof old);
        std::memcpy(mixed, &after, sizeof mixed);
        for (unsigned i = 0; i < 4; ++i)
            if (!(words & (1u << i))) mixed[i] = old[i];
        BoardSlot slot;
        std::memcpy(&slot, mixed, sizeof slot);
        EXPECT_FALSE(slot.whole(3)) << words;
    }
}

TEST(BoardSlot, SlotsOfABoardDoNotTouch) {
    std::vector<std::uint64_t> memory(board_bytes(3) / 8);
    const std::span<std::byte> board = std::as_writable_bytes(std::span(memory));
    BoardSlot slot{1, 2, 3, 0};
    slot.seal(9);
    std::memcpy(board.data() + slot_offset(1), &slot, sizeof slot);
    EXPECT_FALSE(read_slot(board, 0).whole(9));
    EXPECT_TRUE(read_slot(board, 1).whole(9));
    EXPECT_FALSE(read_slot(board, 2).whole(9));
    EXPECT_FALSE(is_sleeping(board.data()));
    set_sleeping(board, true);
    EXPECT_TRUE(is_sleeping(board.data()));
    EXPECT_TRUE(read_slot(board, 1).whole(9));
}

TEST(Signal, TurnsAndNoticesDoNotTouch) {
    std::vector<std::uint64_t> memory(board_bytes(3) / 8);
    const std::span<std::byte> board = std::as_writable_bytes(std::span(memory));
    for (const std::uint64_t turn : {6, 7}) EXPECT_FALSE(read_signal(board.data(), 1, turn).whole(9));
    BoardSlot slot{1, 2, 3, 0};
    slot.seal(9);
    std::memcpy(board.data() + slot_offset(1), &slot, sizeof slot);
    for (const std::uint64_t turn : {6, 7}) {
        Signal signal{turn * 10, 0};
        signal.seal(9);
        write_signal(board.data(), 1, turn, signal);
    }
    EXPECT_EQ(slot_at(signal_offset(1, 6)), 1u);
    EXPECT_EQ(slot_at(signal_offset(1, 7)), 1u);
    EXPECT_TRUE(read_slot(board, 1).whole(9));
    for (const std::uint64_t turn : {6, 7}) {
        const Signal signal = read_signal(board.data(), 1, turn);
        EXPECT_TRUE(signal.whole(9));
        EXPECT_FALSE(signal.whole(8));
        EXPECT_EQ(signal.sequence, turn * 10);
        EXPECT_FALSE(read_signal(board.data(), 0, turn).whole(9));
        EXPECT_FALSE(read_signal(board.data(), 2, turn).whole(9));
        EXPECT_EQ(read_signal(board.data(), 1, turn + 2).sequence, turn * 10);  // two turns later its place is used again
    }
    EXPECT_FALSE(is_sleeping(board.data()));
}

TEST(Signal, HalfWrittenIsNotBelieved) {
    Signal before{40, 0}, after{42, 0};
    before.seal(3);
    after.seal(3);
    EXPECT_FALSE((Signal{after.sequence, before.check}.whole(3)));
    EXPECT_FALSE((Signal{before.sequence, after.check}.whole(3)));
    EXPECT_FALSE((Signal{after.sequence, 0}.whole(3)));
    EXPECT_FALSE((Signal{0, 0}.whole(3)));
}

TEST(CommunicatorState, RemembersItsLastCalls) {
    CommunicatorState state(std::make_shared<Group>(), 0);
    EXPECT_EQ(state.recall(1), nullptr);
    for (std::uint64_t sequence = 1; sequence < 300; ++sequence) {
        state.begun = sequence;
        state.remember(sequence, Call{.bytes = sequence});
        EXPECT_EQ(state.recall(sequence + 1), nullptr);
        for (std::uint64_t past = 1; past <= sequence; ++past) {
            const Call* call = state.recall(past);
            if (call) {
                ASSERT_EQ(call->bytes, past);
            } else {
                ASSERT_LE(past + CommunicatorState::kHistory, sequence);
            }
        }
    }
}

}  // namespace
}  // namespace rollcall::runtime
