#include <gtest/gtest.h>

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

}  // namespace
}  // namespace rollcall::runtime
