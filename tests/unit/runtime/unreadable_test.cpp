// A message whose bytes the system does not let a rank read from the memory of its sender: the receive fails, and the peer is well.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

struct Unreadable : testing::Test, EngineUnderTest {
    static constexpr std::size_t kSize = 10'000;
    Unreadable() { network.fetches = transport::Started::pending; }
    void offer() {
        MessageHeader header;
        header.source = 1;
        header.communicator = kCommunicator;
        header.tag = 7;
        header.ordinal = ordinal++;
        network.sink->on_offer(std::as_bytes(std::span(&header, 1)), {.size = kSize});
    }
    Transfer receive() { return {Transfer::Direction::receive, 1, kCommunicator, 7, {into.data(), into.size()}}; }
    void expect_error(const Transfer& receive) {
        ASSERT_TRUE(receive.done() && receive.error());
        EXPECT_EQ(receive.error()->code(), ErrorCode::state);
        EXPECT_NE(std::string_view(receive.error()->what()).find("Set ROLLCALL_SINGLE_COPY=no"), std::string_view::npos);
    }
    void expect_that_the_peer_is_well() {
        EXPECT_EQ(engine.loss(), std::nullopt);
        EXPECT_EQ(engine.landing().used(), 0u);
        Transfer next = receive();
        engine.begin(next);
        offer();
        network.fetched->complete(transport::Outcome::ok);
        EXPECT_TRUE(next.done());
        EXPECT_EQ(next.error(), nullptr);
    }

    std::vector<std::byte> into = std::vector<std::byte>(kSize);
    std::uint32_t ordinal = 0;
};

TEST_F(Unreadable, FailsAReceiveThatIsThere) {
    Transfer posted = receive();
    engine.begin(posted);
    offer();
    network.fetched->complete(transport::Outcome::unreadable);
    expect_error(posted);
    expect_that_the_peer_is_well();
}

TEST_F(Unreadable, FailsAReceiveThatComesWhileTheMessageLands) {
    offer();
    Transfer claims = receive();
    engine.begin(claims);
    network.fetched->complete(transport::Outcome::unreadable);
    expect_error(claims);
    expect_that_the_peer_is_well();
}

TEST_F(Unreadable, FailsAReceiveThatComesLater) {
    offer();
    network.fetched->complete(transport::Outcome::unreadable);
    Transfer later = receive();
    engine.begin(later);
    expect_error(later);
    expect_that_the_peer_is_well();
}

}  // namespace
}  // namespace rollcall::runtime
