// Landing buffers within their budget.
#include "runtime/landing/landing.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace rollcall::runtime {
namespace {

transport::PlainMemory memory;

TEST(Landing, ABudgetOfZeroHoldsNothing) {
    Landing landing(memory, 0);
    EXPECT_FALSE(landing.could_hold(1));
    EXPECT_FALSE(landing.take(1, false));
    EXPECT_EQ(landing.used(), 0u);
}

TEST(Landing, HoldsExactlyItsBudget) {
    Landing landing(memory, 1000);
    const auto one = landing.take(600, false);
    ASSERT_TRUE(one);
    EXPECT_FALSE(landing.fits_now(401));
    EXPECT_FALSE(landing.take(401, false));
    const auto two = landing.take(400, false);
    ASSERT_TRUE(two);
    EXPECT_EQ(landing.used(), 1000u);
    EXPECT_TRUE(landing.could_hold(1000));
    EXPECT_FALSE(landing.could_hold(1001));
    landing.give_back(*one);
    EXPECT_EQ(landing.used(), 400u);
    landing.give_back(*two);
    EXPECT_EQ(landing.used(), 0u);
    EXPECT_EQ(landing.peak(), 1000u);
}

TEST(Landing, TinyOnesCountForTheirBookKeeping) {
    Landing landing(memory, 4 * Landing::kLeastCharge);
    std::vector<transport::Bytes> held;
    while (const auto buffer = landing.take(1, false)) held.push_back(*buffer);
    EXPECT_EQ(held.size(), 4u);
    for (const auto& buffer : held) landing.give_back(buffer);
    EXPECT_EQ(landing.used(), 0u);
}

TEST(Landing, PhantomsCountAndHaveNoMemory) {
    Landing landing(memory, std::uint64_t{1} << 50);
    const auto phantom = landing.take(std::uint64_t{1} << 49, true);
    ASSERT_TRUE(phantom);
    EXPECT_EQ(phantom->data, nullptr);
    EXPECT_EQ(landing.used(), std::uint64_t{1} << 49);
    landing.give_back(*phantom);
    EXPECT_EQ(landing.used(), 0u);
}

// Sizes at which buffers change from the heap to mapped memory, and to huge pages: every byte can be written.
TEST(Landing, LargeBuffersAreKeptAndUsedAgain) {
    Landing landing(memory, 64 << 20);
    for (const std::uint64_t size : {65535u, 65536u, 65537u, (2u << 20) - 1, 2u << 20, (2u << 20) + 1, 5u << 20}) {
        const auto first = landing.take(size, false);
        ASSERT_TRUE(first);
        std::memset(first->data, 1, size);
        landing.give_back(*first);
        const auto again = landing.take(size, false);
        ASSERT_TRUE(again);
        if (size >= 65536) {
            EXPECT_EQ(again->data, first->data) << size;
        }
        std::memset(again->data, 2, size);
        landing.give_back(*again);
    }
    EXPECT_EQ(landing.used(), 0u);
}

// Early messages of one length, then of another: what is kept of the first makes room for the second.
TEST(Landing, WhatIsKeptIsWithinTheBudget) {
    constexpr std::uint64_t kBudget = 16 << 20;
    Landing landing(memory, kBudget);
    for (const std::uint64_t size : {1u << 20, 4u << 20, 512u << 10, 64u << 10, 2u << 20, 100'000u}) {
        std::vector<transport::Bytes> held;
        while (const auto buffer = landing.take(size, false)) {
            held.push_back(*buffer);
            ASSERT_LE(landing.used() + landing.kept(), kBudget) << size;
        }
        EXPECT_EQ(held.size(), kBudget / size);
        for (const auto& buffer : held) {
            landing.give_back(buffer);
            ASSERT_LE(landing.used() + landing.kept(), kBudget) << size;
        }
        EXPECT_GT(landing.kept(), 0u) << size;
    }
}

struct CountedMemory final : transport::Memory {
    void* allocate(std::uint64_t bytes) noexcept override {
        last = bytes;
        return memory.allocate(bytes);
    }
    void release(void* data, std::uint64_t bytes) noexcept override { memory.release(data, bytes); }
    std::uint64_t last = 0;
};

// Memory of 2 MiB and more has huge pages, which are there as a whole.
TEST(Landing, LongBuffersAreNotMuchLongerThanTheirMessages) {
    CountedMemory counted;
    for (const std::uint64_t size : {(1u << 20) + 1, 1'100'000u, (2u << 20) - 1, (2u << 20) + 1, (4u << 20) + 5, (7u << 20) + 1}) {
        Landing landing(counted, 64 << 20);
        const auto buffer = landing.take(size, false);
        ASSERT_TRUE(buffer);
        EXPECT_GE(counted.last, size);
        EXPECT_LE(counted.last, size + size / 8 + 1) << size;
        landing.give_back(*buffer);
    }
}

}  // namespace
}  // namespace rollcall::runtime
