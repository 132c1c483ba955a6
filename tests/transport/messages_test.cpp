// Tests what every transport promises about messages: order, sizes, bounded memory, and buffers that are given back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <string_view>

#include "rollcall/error.hpp"
#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/process_memory.hpp"

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;

class Messages : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(Transport, Messages, testing::ValuesIn(ways()), &name_of_way);

// Eager messages arrive in the order in which they were sent, and so do offers. There is no order between the two.
TEST_P(Messages, ComeInOrderFromEachPeer) {
    World world(GetParam(), 3);
    std::mt19937_64 random(seed());
    constexpr std::uint32_t kCount = 400;
    std::vector<std::unique_ptr<Told>> sent;
    std::vector<std::vector<std::byte>> payloads;
    for (std::uint32_t number = 0; number < kCount; ++number)
        for (const int from : {1, 2}) {
            const Path path = random() % 4 ? Path::eager : Path::large;
            const std::size_t size = path == Path::eager ? random() % 3 * (random() % 4000) : 1 + random() % 40000;
            payloads.push_back(pattern(size, number));
            Told& told = *sent.emplace_back(std::make_unique<Told>());
            told.note(world[from].transport->send(0, header_of(from, number), {payloads.back().data(), size}, path, told));
        }
    ASSERT_TRUE(world.until([&] { return world[0].heard.size() == 2 * kCount; })) << world[0].heard.size();
    std::uint32_t next[3][2] = {};
    for (Heard& message : world[0].heard) {
        int from = 0;
        std::memcpy(&from, message.header.data(), sizeof from);
        ASSERT_TRUE(from == 1 || from == 2);
        const std::uint32_t number = number_of(message);
        ASSERT_GE(number, next[from][message.offered]);
        next[from][message.offered] = number + 1;
        const auto& expected = payloads[2 * number + static_cast<std::uint32_t>(from) - 1];
        if (!message.offered) {
            EXPECT_EQ(message.payload, expected);
            continue;
        }
        ASSERT_EQ(message.offer.size, expected.size());
        std::vector<std::byte> landed(expected.size());
        Told fetched;
        fetched.note(world[0].transport->fetch(message.offer, {landed.data(), landed.size()}, fetched));
        ASSERT_TRUE(world.until([&] { return fetched.ended(); }));
        EXPECT_EQ(fetched.outcome, Outcome::ok);
        EXPECT_EQ(landed, expected);
    }
    ASSERT_TRUE(world.until([&] { return std::all_of(sent.begin(), sent.end(), [](const auto& told) { return told->times == 1; }); }));
    EXPECT_TRUE(world.close());
}

TEST_P(Messages, ArriveWholeAtAnySize) {
    World world(GetParam(), 2);
    std::vector<std::size_t> sizes = {0, 1, 7, 8, 9, (8u << 20) + 3};
    for (const std::size_t threshold :
         {56u, 64u, 88u, 128u, 1024u, 4096u, 8192u, 8448u, 9000u, 16384u, 32768u, 65536u, 131072u, 262144u, 262656u, 1u << 20})
        for (const int around : {-33, -24, -16, -9, -8, -1, 0, 1, 8}) sizes.push_back(threshold + static_cast<std::size_t>(around));
    if (std::getenv("ROLLCALL_TEST_GIBIBYTE")) sizes.push_back(1u << 30);
    std::uint64_t number = 0;
    for (const std::size_t size : sizes)
        for (const std::size_t header_size : {kLeastHeader, std::size_t{24}, transport::kMaximumHeader})
            for (const Path path : {Path::eager, Path::large}) {
                if (path == Path::large && size == 0) continue;  // Nothing is offered.
                if (path == Path::eager && size > (1u << 20) + 8) continue;
                if (header_size == 24 && size > 20000) continue;
                const auto payload = pattern(size, ++number);
                const auto header = header_of(0, static_cast<std::uint32_t>(number), header_size);
                world[1].heard.clear();
                Told sent, fetched;
                sent.note(world[0].transport->send(1, header, {payload.data(), size}, path, sent));
                ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); })) << size;
                Heard& message = world[1].heard.front();
                EXPECT_EQ(message.header, header);
                ASSERT_EQ(message.offered, path == Path::large);
                std::vector<std::byte> landed = message.payload;
                if (message.offered) {
                    ASSERT_EQ(message.offer.size, size);
                    landed.resize(size + 1, std::byte{0x77});
                    fetched.note(world[1].transport->fetch(message.offer, {landed.data(), size}, fetched));
                    ASSERT_TRUE(world.until([&] { return fetched.ended(); })) << size;
                    EXPECT_EQ(fetched.outcome, Outcome::ok);
                    EXPECT_EQ(landed.back(), std::byte{0x77});
                    landed.pop_back();
                }
                ASSERT_TRUE(world.until([&] { return sent.ended(); })) << size;
                EXPECT_EQ(sent.outcome, Outcome::ok);
                ASSERT_TRUE(landed == payload) << size << " bytes";
            }
    EXPECT_TRUE(world.close());
}

// The caller owns the memory: data that cannot leave stays in the caller's buffers.
TEST_P(Messages, ToOneThatDoesNotReceiveTakeLittleMemory) {
    if (GetParam().is_simulated()) GTEST_SKIP() << "it copies what is on its way: all ranks are in one process";
    World world(GetParam(), 2);
    ASSERT_TRUE(world.meet(0, 1));
    constexpr std::uint32_t kCount = 10'000;
    const auto payload = pattern(8000, 1);
    std::vector<Told> sent(kCount);
    const std::uint64_t before = resident_bytes();
    for (std::uint32_t number = 0; number < kCount; ++number) {
        sent[number].note(world[0].transport->send(1, header_of(0, number), {payload.data(), payload.size()}, Path::eager, sent[number]));
        world[0].transport->progress();
    }
    EXPECT_LT(resident_bytes(), before + (32u << 20));
    std::uint32_t next = 0;
    bool right = true;
    world[1].instead = [&](Heard&& message) { right = right && number_of(message) == next++ && message.payload == payload; };
    ASSERT_TRUE(world.until([&] { return next == kCount; })) << next;
    EXPECT_TRUE(right);
    ASSERT_TRUE(world.until([&] { return std::all_of(sent.begin(), sent.end(), [](const Told& told) { return told.times == 1; }); }));
    EXPECT_TRUE(world.close());
}

TEST_P(Messages, ThatAreDeclinedEndForTheirSender) {
    World world(GetParam(), 2);
    const auto payload = pattern(100'000, 1);
    Told sent;
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    EXPECT_FALSE(sent.ended());
    world[1].transport->decline(world[1].heard.front().offer);
    ASSERT_TRUE(world.until([&] { return sent.ended(); }));
    EXPECT_EQ(sent.outcome, Outcome::ok);
    EXPECT_TRUE(world.close());
}

/// A completion that gives up all other requests with the peer, as the end of an operation does.
struct GivesUpOthers final : transport::Completion {
    void complete(transport::Outcome) noexcept override {
        EXPECT_FALSE(released) << "its caller has forgotten it";
        ++times;
        for (GivesUpOthers& other : *all)
            if (&other != this && other.times == 0 && !other.released) other.released = end->release(peer, other);
    }
    transport::Transport* end = nullptr;
    int peer = -1;
    std::deque<GivesUpOthers>* all = nullptr;
    int times = 0;
    bool released = false;
};

TEST_P(Messages, ToAPeerThatIsGoneMayBeGivenUpByEachOther) {
    if (GetParam().is_simulated()) GTEST_SKIP() << "its peers are never gone";
    constexpr std::size_t kCount = 8, kSize = 1 << 20;
    for (const bool fetches : {false, true}) {
        World world(GetParam(), 2);
        ASSERT_TRUE(world.meet(0, 1));
        const auto payload = pattern(kSize, 1);
        std::vector<std::vector<std::byte>> landed(kCount, std::vector<std::byte>(kSize));
        std::vector<Told> told(kCount);
        std::deque<GivesUpOthers> all(kCount);
        transport::Transport& end = *world[fetches ? 1 : 0].transport;
        for (GivesUpOthers& one : all) one.end = &end, one.peer = fetches ? 0 : 1, one.all = &all;
        std::size_t pending = 0;
        for (std::size_t i = 0; i < kCount; ++i) {
            const auto header = header_of(0, static_cast<std::uint32_t>(i));
            transport::Completion& completion = fetches ? static_cast<transport::Completion&>(told[i]) : all[i];
            const auto started = world[0].transport->send(1, header, {payload.data(), kSize}, transport::Path::large, completion);
            if (!fetches && started == transport::Started::pending) ++pending;
        }
        if (fetches) {
            const std::size_t met = world[1].heard.size();
            ASSERT_TRUE(world.until([&] { return world[1].heard.size() == met + kCount; }));
            for (std::size_t i = 0; i < kCount; ++i)
                if (end.fetch(world[1].heard[met + i].offer, {landed[i].data(), kSize}, all[i]) == transport::Started::pending) ++pending;
        }
        end.disconnect(fetches ? 0 : 1);
        for (int i = 0; i < 100; ++i) end.progress();
        const auto of = [&](auto what) { return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), what)); };
        const std::size_t ended = of([](const GivesUpOthers& one) { return one.times == 1; });
        EXPECT_EQ(ended + of([](const GivesUpOthers& one) { return one.released; }), fetches ? std::max(pending, ended) : pending);
        for (const GivesUpOthers& one : all) EXPECT_LE(one.times, 1);
    }
}

TEST_P(Messages, ThatTheirSenderGivesUpAreWithdrawn) {
    if (GetParam().direct) GTEST_SKIP() << "the network has the buffer (UcxDirect)";
    World world(GetParam(), 2);
    for (const std::size_t size : {10'000u, 100'000u, 4'000'000u}) {
        auto payload = pattern(size, 1);
        Told sent, fetched;
        world[1].heard.clear();
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), size}, Path::large, sent));
        ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
        ASSERT_TRUE(world[0].transport->release(1, sent)) << "nobody has asked for it";
        payload = {};
        std::vector<std::byte> landed(size);
        fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), size}, fetched));
        ASSERT_TRUE(world.until([&] { return fetched.ended(); }));
        EXPECT_EQ(fetched.outcome, Outcome::withdrawn);
        EXPECT_FALSE(sent.ended());
    }
    EXPECT_TRUE(world.close());
}

// The sender has its buffer back, and another completion is told.
TEST_P(Messages, ThatHaveMovedAreSentFromTheCopy) {
    if (GetParam().direct) GTEST_SKIP() << "the network has the buffer (UcxDirect)";
    World world(GetParam(), 2);
    for (const std::size_t size : {10'000u, 100'000u, 4'000'000u}) {
        const auto expected = pattern(size, 1);
        auto payload = expected;
        std::vector<std::byte> copy(size), landed(size);
        Told sent, heir, fetched;
        world[1].heard.clear();
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), size}, Path::large, sent));
        ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
        ASSERT_TRUE(world[0].transport->move_payload(1, sent, {copy.data(), size}, heir)) << "nobody has asked for it";
        payload = {};
        fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), size}, fetched));
        ASSERT_TRUE(world.until([&] { return fetched.ended() && heir.ended(); }));
        EXPECT_EQ(fetched.outcome, Outcome::ok);
        EXPECT_EQ(heir.outcome, Outcome::ok);
        EXPECT_TRUE(landed == expected);
        EXPECT_FALSE(sent.ended());
        EXPECT_FALSE(world[0].transport->move_payload(1, sent, {copy.data(), size}, heir)) << "it is over";
    }
    EXPECT_TRUE(world.close());
}

// Makes sure that the tests above really use this path.
TEST(SingleCopyWay, IsTaken) {
    if (const std::string why = transport::why_memory_cannot_be_read(); !why.empty()) GTEST_SKIP() << why;
    for (const Way& way : ways()) {
        if (!way.single_copy) continue;
        World world(way, 2);
        std::vector<std::byte> payload = pattern(4'000'000, 1), landed(payload.size());
        Told sent, fetched;
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
        ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
        // Data that has not moved yet is read when it is fetched. UCX by itself would have packed the beginning before.
        const auto other = pattern(payload.size(), 2);
        std::copy(other.begin(), other.end(), payload.begin());
        const auto& offer = world[1].heard.front().offer;
        EXPECT_GE(offer.form, 0x80);
        fetched.note(world[1].transport->fetch(offer, {landed.data(), landed.size()}, fetched));
        ASSERT_TRUE(world.until([&] { return sent.ended() && fetched.ended(); }));
        EXPECT_TRUE(landed == payload);
        EXPECT_TRUE(world.close());
    }
}

TEST_P(Messages, ThatTheirReceiverGivesUpAreThrownAway) {
    if (GetParam().direct) GTEST_SKIP() << "the network has the buffer (UcxDirect)";
    World world(GetParam(), 2);
    for (const std::size_t size : {10'000u, 100'000u, 4'000'000u}) {
        const auto payload = pattern(size, 1);
        Told sent, fetched;
        world[1].heard.clear();
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), size}, Path::large, sent));
        ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
        std::vector<std::byte> landed(size, std::byte{0x11});
        fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), size}, fetched));
        const bool at_once = fetched.ended();
        if (!at_once) {
            ASSERT_TRUE(world[1].transport->release(0, fetched));
        }
        const auto then = landed;
        ASSERT_TRUE(world.until([&] { return sent.ended(); }));
        EXPECT_TRUE(landed == then);
        EXPECT_EQ(fetched.ended(), at_once);
    }
    ASSERT_TRUE(world.meet(0, 1));
    EXPECT_TRUE(world.close());
}

TEST_P(Messages, ThatAreEagerArriveAlsoWhenTheirSenderGivesUp) {
    World world(GetParam(), 2);
    constexpr std::uint32_t kCount = 500;
    const auto expected = pattern(8000, 1);
    auto payload = expected;
    std::vector<Told> sent(kCount);
    for (std::uint32_t number = 0; number < kCount; ++number)
        sent[number].note(world[0].transport->send(1, header_of(0, number), {payload.data(), payload.size()}, Path::eager, sent[number]));
    for (Told& told : sent)
        if (!told.ended()) {
            ASSERT_TRUE(world[0].transport->release(1, told));
        }
    std::fill(payload.begin(), payload.end(), std::byte{0});
    ASSERT_TRUE(world.until([&] { return world[1].heard.size() == kCount; }));
    for (const Heard& message : world[1].heard) EXPECT_TRUE(message.payload == expected);
    EXPECT_TRUE(world.close());
}

// A sender that was told that its message has ended may compute or sleep, and then no thread drives its transport.
TEST_P(Messages, ThatHaveLeftNeedTheirSenderNoMore) {
    for (const std::size_t size : {8u, 8000u}) {
        World world(GetParam(), 2);
        const auto payload = pattern(size, 1);
        Told sent;
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), size}, Path::eager, sent));
        ASSERT_TRUE(world.until([&] { return sent.ended(); }));
        EXPECT_TRUE(world.until(1, [&] { return !world[1].heard.empty(); })) << size;
    }
}

TEST_P(Messages, FromManyToMany) {
    constexpr int kRanks = 16;
    std::unique_ptr<World> made;
    try {
        made = std::make_unique<World>(GetParam(), kRanks);
    } catch (const Error& error) {
        if (std::string_view(error.what()).starts_with("/dev/shm is too small")) GTEST_SKIP() << error.what();
        throw;
    }
    World& world = *made;
    std::vector<Told> sent(kRanks * kRanks);
    std::vector<std::vector<std::byte>> payloads;
    for (std::size_t pair = 0; pair < sent.size(); ++pair) payloads.push_back(pattern(5000, pair));
    for (int from = 0; from < kRanks; ++from)
        for (int to = 0; to < kRanks; ++to) {
            const auto pair = static_cast<std::size_t>(from * kRanks + to);
            const auto& payload = payloads[pair];
            const auto header = header_of(from, static_cast<std::uint32_t>(pair));
            sent[pair].note(world[from].transport->send(to, header, {payload.data(), payload.size()}, Path::eager, sent[pair]));
        }
    for (int rank = 0; rank < kRanks; ++rank)
        ASSERT_TRUE(world.until([&] { return world[rank].heard.size() == kRanks; })) << world[rank].heard.size() << " at " << rank;
    ASSERT_TRUE(world.until([&] { return std::all_of(sent.begin(), sent.end(), [](const Told& told) { return told.ended(); }); }));
    for (int rank = 0; rank < kRanks; ++rank) {
        EXPECT_TRUE(world[rank].lost.empty());
        std::set<std::uint32_t> pairs;
        for (const Heard& heard : world[rank].heard) {
            const std::uint32_t pair = number_of(heard);
            ASSERT_TRUE(pair < payloads.size() && pair % kRanks == static_cast<std::uint32_t>(rank)) << pair << " came to " << rank;
            EXPECT_TRUE(pairs.insert(pair).second) << pair << " came twice";
            EXPECT_EQ(heard.payload, payloads[pair]) << pair;
        }
    }
    EXPECT_TRUE(world.close());
}

}  // namespace
}  // namespace rollcall::test
