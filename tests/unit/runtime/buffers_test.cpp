// Memory that a program takes from the runtime: where its data is found, and how another process reads it. Both are in one process here.
#include "runtime/node/buffers.hpp"

#include <cerrno>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace rollcall::runtime::node {
namespace {

const std::byte* read_at(Mappings& mappings, const Reference& reference) {
    const auto mapping = mappings.map(reference);
    return mapping ? mapping->memory() + reference.at : nullptr;
}

TEST(Buffers, AreReadWhereTheyStand) {
    Buffers buffers;
    Mappings mappings;
    constexpr std::uint64_t kBytes = 300'001;
    auto* const one = static_cast<std::byte*>(buffers.allocate(kBytes));
    auto* const two = static_cast<std::byte*>(buffers.allocate(10));
    ASSERT_TRUE(one && two);
    std::memset(one, 1, kBytes);
    std::memset(two, 2, 10);
    for (const std::uint64_t at : {std::uint64_t{0}, std::uint64_t{5}, kBytes - 3}) {
        const auto reference = buffers.find({one + at, 3});
        ASSERT_TRUE(reference);
        const std::byte* const there = read_at(mappings, *reference);
        ASSERT_NE(there, nullptr);
        EXPECT_NE(there, one + at) << "it is another mapping";
        EXPECT_EQ(there[2], std::byte{1});
        one[at] = std::byte{7};
        EXPECT_EQ(there[0], std::byte{7}) << "of the same memory";
    }
    EXPECT_EQ(*read_at(mappings, *buffers.find({two, 10})), std::byte{2});
    buffers.release(one, kBytes);
    buffers.release(two, 10);
}

TEST(Buffers, KnowOnlyDataThatIsWhollyInside) {
    Buffers buffers;
    std::byte elsewhere[8];
    EXPECT_FALSE(buffers.find({elsewhere, 8}));
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    auto* const memory = static_cast<std::byte*>(buffers.allocate(page));
    ASSERT_NE(memory, nullptr);
    EXPECT_TRUE(buffers.find({memory, page}));
    EXPECT_FALSE(buffers.find({memory + 1, page}));
    EXPECT_FALSE(buffers.find({memory - 1, 1}));
    EXPECT_FALSE(buffers.find({memory + page, 1}));
    EXPECT_FALSE(buffers.find({elsewhere, 8}));
    EXPECT_FALSE(buffers.find({nullptr, 8})) << "a phantom";
    buffers.release(memory, page);
    EXPECT_FALSE(buffers.find({memory, 1}));
}

// A reader that still has an old mapping sees nothing of a later buffer, and keeps no memory.
TEST(Buffers, OfWhichPlacesAreNeverUsedAgain) {
    Buffers buffers;
    Mappings mappings;
    constexpr std::uint64_t kBytes = 1 << 20;
    void* const first = buffers.allocate(kBytes);
    ASSERT_NE(first, nullptr);
    std::memset(first, 1, kBytes);
    const Reference old = *buffers.find({first, kBytes});
    const std::byte* const there = read_at(mappings, old);
    ASSERT_EQ(*there, std::byte{1});
    buffers.release(first, kBytes);
    std::vector<unsigned char> resident(kBytes / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    ASSERT_EQ(::mincore(const_cast<std::byte*>(there), kBytes, resident.data()), 0);
    for (const unsigned char page : resident) ASSERT_EQ(page & 1, 0);
    void* const second = buffers.allocate(kBytes);
    ASSERT_NE(second, nullptr);
    std::memset(second, 2, kBytes);
    EXPECT_EQ(*there, std::byte{0});
    EXPECT_NE(buffers.find({second, 1})->begin, old.begin);
    buffers.release(second, kBytes);
}

TEST(Buffers, OfMoreThanThereIsAreRefused) {
    Buffers buffers;
    for (const std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 62}) {
        errno = 0;
        EXPECT_EQ(buffers.allocate(bytes), nullptr);
        EXPECT_NE(errno, 0);
    }
    void* const memory = buffers.allocate(1);
    EXPECT_NE(memory, nullptr) << "and others still fit";
    buffers.release(memory, 1);
}

TEST(Buffers, OfAProcessThatIsGoneCannotBeMapped) {
    Mappings mappings;
    errno = 0;
    EXPECT_EQ(mappings.map({0, 4096, 0, 0x7ffffffe, 3}), nullptr);
    EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace rollcall::runtime::node
