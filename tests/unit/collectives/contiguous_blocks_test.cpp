// Whether blocks stand one behind the other in the data, and where they begin.
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {
namespace {

std::optional<std::uint64_t> begin_of(const std::vector<runtime::Block>& blocks) {
    return begin_if_contiguous(static_cast<int>(blocks.size()), [&](int number) { return blocks[static_cast<std::size_t>(number)]; });
}

TEST(ContiguousBlocks, BeginWhereTheFirstOneDoes) {
    EXPECT_EQ(begin_of({{0, 4}, {4, 2}, {6, 1}}), 0);
    EXPECT_EQ(begin_of({{5, 4}, {9, 2}}), 5);
    EXPECT_EQ(begin_of({{5, 4}}), 5);
    EXPECT_EQ(begin_of({{0, 4}, {5, 2}}), std::nullopt) << "a gap";
    EXPECT_EQ(begin_of({{0, 4}, {3, 2}}), std::nullopt) << "they overlap";
    EXPECT_EQ(begin_of({{4, 4}, {0, 4}}), std::nullopt) << "in another order";
}

TEST(ContiguousBlocks, MayHaveEmptyOnesAnywhere) {
    EXPECT_EQ(begin_of({{0, 0}, {5, 4}, {77, 0}, {9, 2}, {0, 0}}), 5);
    EXPECT_EQ(begin_of({{9, 0}, {5, 0}}), 0);
    EXPECT_EQ(begin_of({}), 0);
}

}  // namespace
}  // namespace rollcall::collectives
