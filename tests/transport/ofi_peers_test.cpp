// Tests what the transport over libfabric knows of each peer: the packets that are under way to it, and the size of its board.
#ifdef ROLLCALL_HAS_OFI
#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "tests/common.hpp"
#include "tests/transport/world.hpp"
#include "transports/ofi/endpoint.hpp"
#include "transports/ofi/providers.hpp"

namespace rollcall::test {
namespace {

using transport::ofi::Endpoint;
using transport::ofi::Event;
using transport::ofi::Packet;

// An endpoint that sends to itself.
class OfiPackets : public testing::Test {
  protected:
    static transport::ofi::Info provider() {
        auto info = transport::ofi::ask("tcp;ofi_rxm");
        return info ? std::move(info) : transport::ofi::ask("tcp");
    }
    std::vector<Packet*> take_all() {
        std::vector<Packet*> all;
        while (Packet* const packet = endpoint.take()) all.push_back(packet);
        return all;
    }
    void give_back(const std::vector<Packet*>& packets) {
        for (Packet* const packet : packets) endpoint.give_back(packet);
    }
    // Collects the packets that have left.
    void look() {
        if (!endpoint.look()) return;
        for (Event event; endpoint.completions().next(event);)
            event.packet->incoming ? endpoint.give_back(event.packet) : left.push_back(event.packet);
    }
    void send(Packet* packet, int peer) {
        std::memset(packet->bytes, 0, kSize);
        Endpoint::Sent sent;
        while ((sent = endpoint.send(packet, kSize, peer, self)) == Endpoint::Sent::no_room) look();
        ASSERT_EQ(sent, Endpoint::Sent::yes);
    }
    static constexpr std::size_t kSize = 2000;
    Endpoint endpoint{provider()};
    fi_addr_t self = FI_ADDR_UNSPEC;
    std::vector<Packet*> left;
};

TEST_F(OfiPackets, ThatComeBackAfterTheirPeerIsGoneAreCountedOnce) {
    ASSERT_TRUE(endpoint.insert(endpoint.address(), self));
    constexpr std::size_t kUnderWay = 40;
    std::size_t number = 0;
    for (int peer = 0; peer < 8; ++peer) {
        std::vector<Packet*> all = take_all();
        if (peer == 0)
            EXPECT_GT(all.size(), kUnderWay);
        else if (peer == 1)
            number = all.size();
        EXPECT_TRUE(peer == 0 || all.size() == number) << "after " << peer << " peers there are " << all.size() << " packets";
        for (std::size_t i = 0; i < kUnderWay; ++i) {
            ASSERT_NO_FATAL_FAILURE(send(all.back(), peer));
            all.pop_back();
        }
        endpoint.write_off(peer);
        endpoint.write_off(peer);  // does nothing
        const std::vector<Packet*> others = take_all();
        EXPECT_TRUE(peer > 0 || others.size() >= kUnderWay) << "they take the place of those that are under way";
        give_back(all);
        give_back(others);
        while (left.size() < kUnderWay) look();
        give_back(std::exchange(left, {}));
    }
}

// As in two connected jobs with different ROLLCALL_BOARD_SLOTS.
TEST(OfiBoards, MayHaveDifferentSizes) {
    for (const Way& way : ways()) {
        if (way.transport != "ofi") continue;
        SCOPED_TRACE(way.name);
        constexpr std::uint64_t kMore = 4096;
        World world(way, 2, kMore);
        ASSERT_TRUE(world.meet(0, 1));
        const std::span<std::byte> small = world[0].transport->board(), large = world[1].transport->board();
        ASSERT_EQ(small.size() + kMore, large.size());
        const auto put = [&](int rank, std::uint64_t offset, std::uint64_t word) {
            world[rank].transport->put(1 - rank, offset, std::as_bytes(std::span(&word, 1)));
        };
        const auto word_at = [](const std::byte* place) {
            std::uint64_t word;
            std::memcpy(&word, place, sizeof word);
            return word;
        };
        // What follows the smaller board in the memory of its rank.
        const std::uint64_t behind = word_at(small.data() + small.size());
        put(0, large.size() - 8, 7);
        put(1, small.size(), 8);
        put(1, small.size() - 8, 9);
        ASSERT_TRUE(
            world.until([&] { return word_at(large.data() + large.size() - 8) == 7 && word_at(small.data() + small.size() - 8) == 9; }));
        EXPECT_EQ(word_at(small.data() + small.size()), behind);
        ASSERT_TRUE(world.meet(0, 1) && world.meet(1, 0));
        EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
    }
}

}  // namespace
}  // namespace rollcall::test
#endif
