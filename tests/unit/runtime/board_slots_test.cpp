#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "runtime/group/slots.hpp"
#include "runtime/process.hpp"

namespace rollcall::runtime {
namespace {

TEST(BoardSlots, AreEnoughForSomeCommunicatorsOfTheSizeOfTheJob) {
    const Settings automatic;
    EXPECT_EQ(slots_of(automatic, 1), 4096u);
    EXPECT_EQ(slots_of(automatic, 256), 4096u);
    EXPECT_EQ(slots_of(automatic, 1000), 16'000u);
    EXPECT_EQ(slots_of(automatic, 4096), 65'536u);
    EXPECT_EQ(slots_of(automatic, 4097), 65'540u) << "a slot is memory of each rank";
    EXPECT_EQ(slots_of(automatic, 32'768), 180'224u);
    EXPECT_GE(slots_of(automatic, 1'000'000), 4'000'000u);
}

TEST(BoardSlots, AreEnoughForTheWorldIfTheUserChoosesTheirNumber) {
    Settings few;
    few.board_slots = 10;
    EXPECT_EQ(slots_of(few, 4), 10u);
    EXPECT_EQ(slots_of(few, 100), 100u);
}

bool everything_is_read(std::uint64_t, std::uint64_t) { return false; }

TEST(BoardSlots, AreFreeAgainWhenTheirCommunicatorHasLeft) {
    SlotAllocator all(10);
    const Slots world = all.take(4, everything_is_read);
    std::optional<Slots> some = all.take(3, everything_is_read), more = all.take(3, everything_is_read);
    EXPECT_EQ(world.first(), 0u);
    EXPECT_EQ(some->first(), 4u);
    EXPECT_EQ(more->first(), 7u);
    EXPECT_EQ(all.take(1, everything_is_read).first(), kNoSlots);
    some.reset();
    EXPECT_EQ(all.take(2, everything_is_read).first(), 4u);
    more.reset();
    EXPECT_EQ(all.take(6, everything_is_read).first(), 4u) << "both ranges together";
    EXPECT_EQ(all.take(7, everything_is_read).first(), kNoSlots);
}

TEST(BoardSlots, AreTakenLastWhereSomethingIsUnread) {
    SlotAllocator all(8);
    std::optional<Slots> unread = all.take(3, everything_is_read);
    unread.reset();
    const auto is_unread = [](std::uint64_t first, std::uint64_t count) { return first == 0 && count == 3; };
    const Slots next = all.take(3, is_unread);
    EXPECT_EQ(next.first(), 3u);
    EXPECT_EQ(all.take(3, is_unread).first(), 0u) << "nothing else is left";
}

TEST(BoardSlots, AreNotTakenWhileTheirCommunicatorHasThem) {
    SlotAllocator all(4);
    Slots its = all.take(4, everything_is_read);
    const Slots moved = std::move(its);
    EXPECT_EQ(all.take(1, everything_is_read).first(), kNoSlots);
    EXPECT_EQ(moved.first(), 0u);
}

}  // namespace
}  // namespace rollcall::runtime
