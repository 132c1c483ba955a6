// Tests how packets of one peer that come in another order are put in order, and when one that does not come counts as lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "tests/common.hpp"
#include "transports/ofi/packet_order.hpp"

namespace rollcall::test {
namespace {

using transport::ofi::PacketOrder;
using Doubt = PacketOrder::Doubt;
using namespace std::chrono_literals;

std::vector<std::byte> packet_of(std::uint32_t number) {
    std::vector<std::byte> packet(sizeof number + number % 3);
    std::memcpy(packet.data(), &number, sizeof number);
    return packet;
}
std::uint32_t number_in(const std::vector<std::byte>& packet) {
    std::uint32_t number = 0;
    std::memcpy(&number, packet.data(), sizeof number);
    return number;
}

/// What it wants to do, with the question sent if it is one.
Doubt look(PacketOrder& order, PacketOrder::Time now) {
    const Doubt doubt = order.look(now);
    if (doubt == Doubt::ask) order.note_question(now);
    return doubt;
}

/// Looks as often as it takes for the time alone to decide.
Doubt look_often(PacketOrder& order, PacketOrder::Time now) {
    Doubt doubt = Doubt::wait;
    for (unsigned i = 0; i < PacketOrder::kLeastLooks && doubt == Doubt::wait; ++i) doubt = look(order, now);
    return doubt;
}

TEST(PacketOrder, KeepsNothingOfWhatComesInOrder) {
    PacketOrder order;
    for (std::uint32_t number = 0; number < 70'000; ++number) {
        ASSERT_TRUE(order.take(static_cast<std::uint16_t>(number)));
        ASSERT_FALSE(order.has_early());
    }
    EXPECT_TRUE(order.next_early().empty());
}

TEST(PacketOrder, HandsOutWhatCameEarlyWhenTheGapCloses) {
    PacketOrder order;
    ASSERT_TRUE(order.take(0));
    for (const std::uint16_t early : {3, 2, 5}) {
        EXPECT_FALSE(order.take(early));
        EXPECT_TRUE(order.keep(early, packet_of(early)));
    }
    EXPECT_TRUE(order.next_early().empty()) << "1 is missing";
    EXPECT_TRUE(order.take(1));
    EXPECT_EQ(order.next_early(), packet_of(2));
    EXPECT_EQ(order.next_early(), packet_of(3));
    EXPECT_TRUE(order.next_early().empty()) << "4 is missing";
    EXPECT_TRUE(order.has_early());
    EXPECT_TRUE(order.take(4));
    EXPECT_EQ(order.next_early(), packet_of(5));
    EXPECT_TRUE(order.next_early().empty());
    EXPECT_FALSE(order.has_early());
    EXPECT_TRUE(order.take(6));
}

// More packets than there are numbers.
TEST(PacketOrder, PutsPacketsInOrderAcrossTheLastNumber) {
    constexpr std::uint32_t kCount = 150'000, kTogether = 40;
    std::vector<std::uint32_t> numbers(kCount);
    for (std::uint32_t i = 0; i < kCount; ++i) numbers[i] = i;
    std::mt19937_64 random(seed());
    for (std::uint32_t i = 0; i < kCount; i += kTogether)
        std::shuffle(numbers.begin() + i, numbers.begin() + std::min(kCount, i + kTogether), random);
    PacketOrder order;
    std::uint32_t next = 0;
    for (const std::uint32_t number : numbers) {
        if (!order.take(static_cast<std::uint16_t>(number))) {
            ASSERT_TRUE(order.keep(static_cast<std::uint16_t>(number), packet_of(number)));
            continue;
        }
        ASSERT_EQ(number, next++);
        for (auto packet = order.next_early(); !packet.empty(); packet = order.next_early()) ASSERT_EQ(number_in(packet), next++);
    }
    EXPECT_EQ(next, kCount);
    EXPECT_FALSE(order.has_early());
}

TEST(PacketOrder, TakesNumbersThatCannotBeEarlyForLoss) {
    PacketOrder order;
    for (std::uint16_t number = 0; number < 10; ++number) ASSERT_TRUE(order.take(number));
    EXPECT_FALSE(order.keep(9, packet_of(9))) << "it was there";
    EXPECT_FALSE(order.keep(static_cast<std::uint16_t>(10 + PacketOrder::kMostAhead + 1), packet_of(1)));
    EXPECT_FALSE(order.has_early());
    EXPECT_TRUE(order.keep(static_cast<std::uint16_t>(10 + PacketOrder::kMostAhead), packet_of(1)));
    EXPECT_FALSE(order.keep(static_cast<std::uint16_t>(10 + PacketOrder::kMostAhead), packet_of(2))) << "it is there";
    EXPECT_TRUE(order.take(10)) << "what is missing may still come";
    EXPECT_TRUE(order.has_early());
    order.forget();
    EXPECT_FALSE(order.has_early());
}

TEST(PacketOrder, TakesAGapForLossOnlyAfterTheAnswerOfThePeer) {
    PacketOrder order;
    const PacketOrder::Time start{};
    ASSERT_TRUE(order.keep(1, packet_of(1)));
    order.note_answer();  // of an earlier question
    EXPECT_EQ(look_often(order, start), Doubt::wait);
    EXPECT_EQ(order.look(start + PacketOrder::kPatience - 1ms), Doubt::wait);
    EXPECT_EQ(order.look(start + PacketOrder::kPatience), Doubt::ask) << "there was no memory for the question";
    EXPECT_EQ(look(order, start + PacketOrder::kPatience), Doubt::ask);
    EXPECT_EQ(look_often(order, start + PacketOrder::kUntilNextQuestion), Doubt::wait) << "the peer may be stopped";
    EXPECT_EQ(look(order, start + 24h), Doubt::ask) << "the question may be lost";
    EXPECT_EQ(look_often(order, start + 24h + 1s), Doubt::wait);
    order.note_answer();
    EXPECT_EQ(look_often(order, start + 25h), Doubt::wait) << "the packet may come after the answer";
    EXPECT_EQ(order.look(start + 25h + PacketOrder::kPatience), Doubt::lost);
}

// A process that was away for a long time has not read what has come meanwhile.
TEST(PacketOrder, LooksOftenBeforeItTakesAGapForLoss) {
    PacketOrder order;
    const PacketOrder::Time start{};
    ASSERT_TRUE(order.keep(1, packet_of(1)));
    for (const Doubt after : {Doubt::ask, Doubt::lost}) {
        order.look(start);
        for (unsigned i = 2; i < PacketOrder::kLeastLooks; ++i) ASSERT_EQ(order.look(start + i * 24h), Doubt::wait);
        EXPECT_EQ(look(order, start + 2400h), after);
        order.note_answer();
    }
}

TEST(PacketOrder, BeginsAgainAtTheNextGap) {
    PacketOrder order;
    const PacketOrder::Time start{};
    ASSERT_TRUE(order.keep(1, packet_of(1)) && order.keep(3, packet_of(3)));
    EXPECT_EQ(look_often(order, start), Doubt::wait);
    EXPECT_EQ(look(order, start + 2s), Doubt::ask);
    order.note_answer();
    ASSERT_TRUE(order.take(0));
    ASSERT_EQ(order.next_early(), packet_of(1));
    ASSERT_TRUE(order.next_early().empty());
    EXPECT_EQ(look_often(order, start + 1h), Doubt::wait);
    EXPECT_EQ(order.look(start + 2h), Doubt::ask);
}

}  // namespace
}  // namespace rollcall::test
