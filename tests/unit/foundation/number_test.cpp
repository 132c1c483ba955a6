// Texts that are numbers as a whole.
#include "foundation/number.hpp"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace rollcall {
namespace {

TEST(NumberOfText, IsTheWholeText) {
    EXPECT_EQ(number_of_text<int>("-17"), -17);
    EXPECT_EQ(number_of_text<double>("2.5"), 2.5);
    for (const char* const text : {"", " 1", "1 ", "1x", "x", "+1", "1.5", "0x10"})
        EXPECT_EQ(number_of_text<int>(text), std::nullopt) << text;
}

TEST(NumberOfText, IsInTheRangeOfItsType) {
    EXPECT_EQ(number_of_text<std::uint16_t>("65535"), 65535);
    EXPECT_EQ(number_of_text<std::uint16_t>("65536"), std::nullopt);
    EXPECT_EQ(number_of_text<std::uint16_t>("-1"), std::nullopt);
}

}  // namespace
}  // namespace rollcall
