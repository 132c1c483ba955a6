// The option of the command line that explains why there is not enough memory.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/options/asked_sizes.hpp"

namespace rollcall::bench {
namespace {

constexpr std::uint64_t kMemory = 1ull << 30;

std::string beyond(const std::vector<const char*>& words) { return size_beyond(words, kMemory); }

TEST(BenchAskedSizes, AreNamedIfNoMemoryHoldsThem) {
    EXPECT_EQ(beyond({"bench", "broadcast", "--bytes", "8Ti"}), "--bytes 8Ti");
    EXPECT_EQ(beyond({"bench", "broadcast", "--ranks", "2", "--bytes=8,8Ti"}), "--bytes=8,8Ti");
    EXPECT_EQ(beyond({"bench", "pingpong", "--bytes", "8..8Gi"}), "--bytes 8..8Gi");
    EXPECT_EQ(beyond({"bench", "scatterv", "--iterations", "8", "--bytes", "2Gi"}), "--bytes 2Gi");
}
TEST(BenchAskedSizes, AreNotBlamedForOtherNumbers) {
    EXPECT_EQ(beyond({"bench", "broadcast", "--bytes", "8", "--iterations", "1000000"}), "");
    EXPECT_EQ(beyond({"bench", "broadcast", "--bytes", "1Gi"}), "");
    EXPECT_EQ(beyond({"bench", "broadcast", "--bytes"}), "");
    EXPECT_EQ(beyond({"bench", "broadcast", "--bytes", "many"}), "");
}
TEST(BenchAskedSizes, OfOtherProgramsAreTheirOwnMatter) {
    EXPECT_EQ(beyond({"run", "./solver", "--bytes", "8Ti"}), "");
    EXPECT_EQ(beyond({"run", "bench", "--bytes", "8Ti"}), "");
    EXPECT_EQ(beyond({}), "");
}

}  // namespace
}  // namespace rollcall::bench
