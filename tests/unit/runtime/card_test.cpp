// What ranks tell each other at the start: written, read back, and compared.
#include "runtime/card.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include <rollcall/error.hpp>

#include "tests/unit/errors.hpp"

namespace rollcall::runtime {
namespace {

constexpr std::byte kUcxAddress[] = {std::byte{1}, std::byte{2}, std::byte{3}};
constexpr std::byte kNodeAddress[] = {std::byte{9}};
constexpr std::byte kCosts[] = {std::byte{6}, std::byte{7}, std::byte{8}};
constexpr std::byte kLifeline[] = {std::byte{4}, std::byte{5}};

Card card_on(std::string_view host) {
    return {.host = host,
            .cpus = "0-3,8",
            .clock = 0x1234567890abcdef,
            .allowance = 65536,
            .accepts_eager_data = true,
            .node = {.domain = 77, .process = 5, .file = 6, .slots = 4096, .large_blocks = 512, .longest_file = 1 << 30},
            .memory = {.domain = 78, .process = 5, .witness = 0x7fff12345678, .cookie = 99},
            .lifeline = kLifeline,
            .costs = kCosts,
            .addresses = {{.transport = "node", .version = 7, .bytes = kNodeAddress},
                          {.transport = "ucx", .version = 1, .bytes = kUcxAddress}}};
}

bool same(std::span<const std::byte> one, std::span<const std::byte> other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end());
}

TEST(Card, IsReadAsItWasWritten) {
    const auto bytes = write_card(card_on("a"));
    const auto card = read_card(bytes);
    ASSERT_TRUE(card);
    EXPECT_EQ(card->host, "a");
    EXPECT_EQ(card->cpus, "0-3,8");
    EXPECT_EQ(card->clock, 0x1234567890abcdefu);
    EXPECT_EQ(card->allowance, 65536u);
    EXPECT_TRUE(card->accepts_eager_data);
    EXPECT_EQ(card->node.domain, 77u);
    EXPECT_EQ(card->node.process, 5);
    EXPECT_EQ(card->node.file, 6);
    EXPECT_EQ(card->node.slots, 4096u);
    EXPECT_EQ(card->node.large_blocks, 512u);
    EXPECT_EQ(card->node.longest_file, 1u << 30);
    EXPECT_EQ(card->memory.domain, 78u);
    EXPECT_EQ(card->memory.process, 5);
    EXPECT_EQ(card->memory.witness, 0x7fff12345678u);
    EXPECT_EQ(card->memory.cookie, 99u);
    EXPECT_TRUE(same(card->lifeline, kLifeline));
    EXPECT_TRUE(same(card->costs, kCosts));
    ASSERT_EQ(card->addresses.size(), 2u);
    EXPECT_EQ(card->addresses[0].transport, "node");
    EXPECT_EQ(card->addresses[0].version, 7u);
    EXPECT_TRUE(same(card->addresses[0].bytes, kNodeAddress));
    EXPECT_EQ(card->addresses[1].transport, "ucx");
    EXPECT_EQ(card->addresses[1].version, 1u);
    EXPECT_TRUE(same(card->addresses[1].bytes, kUcxAddress));
}

TEST(Card, MayBeEmpty) {
    const auto bytes = write_card({});
    const auto card = read_card(bytes);
    ASSERT_TRUE(card);
    EXPECT_EQ(card->host, "");
    EXPECT_FALSE(card->accepts_eager_data);
    EXPECT_TRUE(card->addresses.empty());
}

TEST(Card, OfAnotherVersionIsNotRead) {
    auto bytes = write_card(card_on("a"));
    bytes[0] ^= std::byte{1};
    EXPECT_FALSE(read_card(bytes));
}

TEST(Card, CutOffAnywhereOrTooLongIsNotRead) {
    auto bytes = write_card(card_on("a"));
    for (std::size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(read_card(std::span(bytes).first(length))) << length;
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(read_card(bytes));
}

// A length that no card can have must not be believed.
TEST(Card, WithWrongLengthsIsNotRead) {
    const auto good = write_card(card_on("a"));
    int refused = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
        auto bytes = good;
        bytes[at] = std::byte{0xff};
        refused += !read_card(bytes);
    }
    // The version, and the high bytes of nine lengths and a count, at the least.
    EXPECT_GE(refused, 4 + 10 * 3);
}

TEST(CardTransports, AreTheSameForAllRanks) { EXPECT_NO_THROW(check_transports(card_on("a"), 0, card_on("b"), 1)); }

TEST(CardTransports, WithOtherNamesAreToldByBothNames) {
    Card mine = card_on("a"), its = card_on("b");
    mine.addresses.erase(mine.addresses.begin());
    its.addresses.erase(its.addresses.begin());
    its.addresses[0].transport = "ofi";
    EXPECT_EQ(
        refusal(ErrorCode::bootstrap, [&] { check_transports(mine, 2, its, 5); }),
        "rank 5 on host b was started with the transport ofi, and rank 2 on host a with ucx: set ROLLCALL_TRANSPORT to the same for all "
        "ranks of a job");
}

TEST(CardTransports, WithOneMoreOrInAnotherOrderAreToldByAllNames) {
    const Card mine = card_on("a");
    Card its = card_on("b");
    std::swap(its.addresses[0], its.addresses[1]);
    EXPECT_EQ(
        refusal(ErrorCode::bootstrap, [&] { check_transports(mine, 0, its, 1); }),
        "rank 1 on host b was started with the transport ucx and node, and rank 0 on host a with node and ucx: set ROLLCALL_TRANSPORT to "
        "the same for all ranks of a job");
    its.addresses.pop_back();
    EXPECT_THROW(check_transports(mine, 0, its, 1), Error);
    its.addresses.clear();
    EXPECT_THROW(check_transports(mine, 0, its, 1), Error);
}

TEST(CardTransports, OfAnotherVersionAreToldByBothVersions) {
    Card its = card_on("b");
    its.addresses[1].version = 2;
    try {
        check_transports(card_on("a"), 0, its, 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bootstrap);
        EXPECT_EQ(error.failed_rank(), 1);
        EXPECT_STREQ(
            error.what(),
            "rank 1 on host b has version 2 of the transport ucx, and rank 0 on host a version 1: build all programs of a job against "
            "the same version of Rollcall");
    }
}

}  // namespace
}  // namespace rollcall::runtime
