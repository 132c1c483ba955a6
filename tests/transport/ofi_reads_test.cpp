// Tests what libfabric says of its providers, and its RMA reads. What all transports promise is tested in messages_test.cpp.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/catalogue.hpp"

namespace rollcall::test {
namespace {

using transport::Outcome;
using transport::Path;

TEST(OfiInfo, SaysWhatAProviderLacks) {
    bool found = false;
    for (const auto& transport : transport::transport_catalogue())
        for (const auto& device : transport.devices) {
            if (transport.name != "ofi" || device.transport != "shm") continue;
            found = true;
            EXPECT_EQ(device.unused, "");
            EXPECT_NE(device.lacks.find("an event descriptor to sleep on"), std::string::npos) << device.lacks;
        }
    EXPECT_TRUE(found);
}

// The receiver reads long data out of its sender's memory. Meanwhile the sender cannot have its buffer back.
TEST(OfiReads, AreTaken) {
    const auto way = std::ranges::find(ways(), "ofi_tcp_reads", &Way::name);
    ASSERT_NE(way, ways().end());
    World world(*way, 2);
    for (const bool is_long : {false, true}) {
        const std::vector<std::byte> payload = pattern(is_long ? 9'000'000 : 100'000, 1);
        std::vector<std::byte> landed(payload.size());
        Told sent, fetched, answered;
        for (int rank : {0, 1}) world[rank].heard.clear();
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
        ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
        fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
        // This message comes after the receiver's word that it fetches.
        answered.note(world[1].transport->send(0, header_of(1, 1), {}, Path::eager, answered));
        ASSERT_TRUE(world.until(0, [&] { return !world[0].heard.empty(); }));
        if (is_long) {
            EXPECT_FALSE(world[0].transport->release(1, sent));
        }
        ASSERT_TRUE(world.until([&] { return sent.ended() && fetched.ended() && answered.ended(); }));
        EXPECT_EQ(fetched.outcome, Outcome::ok);
        EXPECT_EQ(sent.outcome, Outcome::ok);
        EXPECT_TRUE(landed == payload);
    }
    EXPECT_TRUE(world.close());
}

// A rank whose peer is gone gets its buffer back when the network does not write into it any more.
TEST(OfiReads, OfAPeerThatIsGoneEndAsFailed) {
    const auto way = std::ranges::find(ways(), "ofi_tcp_reads", &Way::name);
    World world(*way, 2);
    const std::vector<std::byte> payload = pattern(9'000'000, 1);
    std::vector<std::byte> landed(payload.size());
    Told sent, fetched, answered;
    sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
    ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
    fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
    answered.note(world[1].transport->send(0, header_of(1, 1), {}, Path::eager, answered));
    ASSERT_TRUE(world.until(0, [&] { return !world[0].heard.empty(); }));
    // The sender has said where its data is. The receiver begins to read, and then the peer is gone.
    Told last;
    last.note(world[0].transport->send(1, header_of(0, 2), {}, Path::eager, last));
    world[1].heard.clear();
    ASSERT_TRUE(world.until(1, [&] { return !world[1].heard.empty(); }));
    EXPECT_FALSE(world[1].transport->release(0, fetched));
    world[1].transport->disconnect(0);
    ASSERT_TRUE(world.until([&] { return fetched.ended(); }));
    EXPECT_EQ(fetched.outcome, Outcome::failed);
    EXPECT_EQ(fetched.times, 1);
    world[0].transport->disconnect(1);
    EXPECT_TRUE(sent.ended());
    EXPECT_EQ(sent.outcome, Outcome::failed);
}

// As when a job ends that has failed: libfabric 1.17 crashes if the endpoint is closed then.
TEST(OfiReads, MayBeUnderWayWhenTheTransportEnds) {
    const auto way = std::ranges::find(ways(), "ofi_tcp_reads", &Way::name);
    const std::vector<std::byte> payload = pattern(9'000'000, 1);
    std::vector<std::byte> landed(payload.size());
    for (const bool is_disconnected : {false, true}) {
        World world(*way, 2);
        Told sent, fetched;
        std::ranges::fill(landed, std::byte{});
        sent.note(world[0].transport->send(1, header_of(0, 1), {payload.data(), payload.size()}, Path::large, sent));
        ASSERT_TRUE(world.until([&] { return !world[1].heard.empty(); }));
        fetched.note(world[1].transport->fetch(world[1].heard.front().offer, {landed.data(), landed.size()}, fetched));
        ASSERT_TRUE(world.until([&] { return fetched.ended() || landed.front() == payload.front(); })) << "it has begun";
        ASSERT_FALSE(fetched.ended());
        if (is_disconnected) world[1].transport->disconnect(0);
        world[1].owned.reset();
        world[1].transport = nullptr;
        std::ranges::fill(landed, std::byte{0x11});
        for (int i = 0; i < 200; ++i) world[0].transport->progress();
        EXPECT_EQ(std::ranges::count(landed, std::byte{0x11}), std::ssize(landed)) << "a buffer that is free was written";
        world[0].transport->disconnect(1);
        EXPECT_TRUE(sent.ended());
    }
}

}  // namespace
}  // namespace rollcall::test
#endif
