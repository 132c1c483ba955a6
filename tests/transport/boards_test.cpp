// Tests what every transport promises about boards.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"

namespace rollcall::test {
namespace {

class Boards : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Transport, Boards, testing::ValuesIn(ways()), &name_of_way);

std::uint64_t word_at(End& end, std::uint64_t offset) {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(end.transport->board().data() + offset)).load(std::memory_order_acquire);
}

TEST_P(Boards, ShowWhatIsPut) {
    World world(GetParam(), 3);
    for (int rank = 0; rank < world.size(); ++rank)
        for (std::uint64_t at = 0; at < world[rank].transport->board().size(); at += 8) ASSERT_EQ(word_at(world[rank], at), 0u);
    // Each of two ranks writes to places of its own, in every possible length.
    const auto value = [](std::uint64_t words, int from, std::uint64_t at) {
        return 100 * words + 10 * static_cast<std::uint64_t>(from) + at;
    };
    for (std::uint64_t words = 1; words <= 8; ++words)
        for (const int from : {1, 2}) {
            std::vector<std::uint64_t> values;
            for (std::uint64_t i = 0; i < words; ++i) values.push_back(value(words, from, i));
            const std::uint64_t offset = (words * 2 + static_cast<std::uint64_t>(from)) * 128;
            world[from].transport->put(0, offset, std::as_bytes(std::span(values)));
            values.assign(words, 0);  // The values were copied at the call.
        }
    for (std::uint64_t words = 1; words <= 8; ++words)
        for (const int from : {1, 2}) {
            const std::uint64_t offset = (words * 2 + static_cast<std::uint64_t>(from)) * 128;
            for (std::uint64_t i = 0; i < words; ++i)
                ASSERT_TRUE(world.until([&] { return word_at(world[0], offset + 8 * i) == value(words, from, i); }));
            EXPECT_EQ(word_at(world[0], offset + 8 * words), 0u);
        }
    EXPECT_TRUE(world.close());
}

// Where boards can be written directly, a direct write and a put reach the same memory.
TEST_P(Boards, ShowWhatIsWrittenDirectly) {
    World world(GetParam(), 2);
    std::byte* const direct = world[0].transport->peer_board(1);
    if (!direct) GTEST_SKIP() << "boards are not shared";
    EXPECT_TRUE(world[0].transport->shares_memory());
    EXPECT_TRUE(world[0].transport->shares_memory_with(1));
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(direct + 256)).store(7);
    EXPECT_EQ(word_at(world[1], 256), 7u);
    EXPECT_TRUE(world.close());
}

// A word of which both halves are this number.
constexpr std::uint64_t twice(std::uint64_t number) { return number << 32 | number; }

// Nothing is promised about the order of these puts, nor of the words of one put. But each word is written whole, whenever it is read.
TEST_P(Boards, HaveOnlyWholeWords) {
    constexpr std::uint64_t kPuts = 2000, kWords = 8, kAt = 512;
    World world(GetParam(), 2);
    ASSERT_TRUE(world.meet(0, 1));
    std::atomic<bool> ended = false, torn = false;
    std::thread reader([&] {
        while (!ended)
            for (std::uint64_t i = 0; i < kWords; ++i) {
                const std::uint64_t word = word_at(world[1], kAt + 8 * i);
                if (word != twice(word & 0xffffffff) || (word & 0xffffffff) > kPuts) torn = true;
            }
    });
    std::mt19937_64 random(seed());
    for (std::uint64_t number = 1; number <= kPuts; ++number) {
        const std::vector<std::uint64_t> words(kWords, twice(number));
        world[0].transport->put(1, kAt, std::as_bytes(std::span(words)));
        if (random() % 4 == 0) world.progress();
    }
    const bool all_written = world.until([&] {
        for (std::uint64_t i = 0; i < kWords; ++i)
            if (word_at(world[1], kAt + 8 * i) == 0) return false;
        return true;
    });
    ended = true;
    reader.join();
    EXPECT_TRUE(all_written);
    EXPECT_FALSE(torn);
    EXPECT_TRUE(world.close());
}

// When a put has been seen, a later one to the same place stays, and the earlier one does not come back.
TEST_P(Boards, KeepWhatIsPutAfterTheLastWasSeen) {
    World world(GetParam(), 2);
    for (std::uint64_t number = 1; number <= 100; ++number) {
        const std::uint64_t word = twice(number);
        world[0].transport->put(1, 1024, std::as_bytes(std::span(&word, 1)));
        ASSERT_TRUE(world.until([&] {
            const std::uint64_t there = word_at(world[1], 1024);
            EXPECT_TRUE(there == word || there == twice(number - 1)) << std::hex << there;
            return there == word;
        }));
    }
    ASSERT_TRUE(world.meet(0, 1));
    EXPECT_EQ(word_at(world[1], 1024), twice(100));
    EXPECT_TRUE(world.close());
}

}  // namespace
}  // namespace rollcall::test
