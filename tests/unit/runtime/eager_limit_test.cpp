// Which messages travel with their header: those within the limit, which is larger where TCP connects the hosts.
#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

constexpr std::size_t kShort = 8 << 10, kShortOverTcp = 64 << 10;
constexpr int kOverTcp = 1, kNeighbour = 2;

struct EagerLimit : testing::Test {
    EagerLimit() {
        Engine::Options options = LaneUnderTest::options();
        options.landing_bytes = 64 << 20;
        options.eager_bytes = kShort;
        options.eager_bytes_over_tcp = kShortOverTcp;
        engine.emplace(network, machine, arena, options);
        engine->set_peer(kOverTcp, engine->granted_allowance(), true, true);
        engine->set_peer(kNeighbour, engine->granted_allowance(), true, false);
    }
    // Sends as many bytes to a peer, and returns the path that they take.
    transport::Path path_of(int peer, std::size_t bytes, std::uint8_t flags = 0) {
        std::vector<std::byte> data(bytes);
        Transfer transfer(Transfer::Direction::send, peer, kCommunicator, 0, {data.data(), data.size()});
        transfer.flags = flags;
        engine->send(transfer);
        return network.last_path;
    }

    NoNetwork network;
    transport::RealMachine machine;
    FrameArena arena;
    std::optional<Engine> engine;
};

TEST_F(EagerLimit, IsLargerOverTcp) {
    EXPECT_EQ(path_of(kOverTcp, kShortOverTcp), transport::Path::eager);
    EXPECT_EQ(path_of(kOverTcp, kShortOverTcp + 1), transport::Path::large);
    EXPECT_EQ(path_of(kNeighbour, kShort), transport::Path::eager);
    EXPECT_EQ(path_of(kNeighbour, kShort + 1), transport::Path::large);
}

TEST_F(EagerLimit, IsLowerForWhatMustWaitForItsReceiverOrItsTurn) {
    EXPECT_EQ(path_of(kOverTcp, kShort, kAwaited), transport::Path::eager);
    EXPECT_EQ(path_of(kOverTcp, kShort + 1, kAwaited), transport::Path::large);
    EXPECT_EQ(path_of(kOverTcp, kShortOverTcp / 4, kInTurn), transport::Path::eager);
    EXPECT_EQ(path_of(kOverTcp, kShortOverTcp / 4 + 1, kInTurn), transport::Path::large);
}

TEST_F(EagerLimit, EndsWithTheAllowance) {
    // Three messages of 64 KiB and their entries fit in 256 KiB.
    for (int i = 0; i < 3; ++i) EXPECT_EQ(path_of(kOverTcp, kShortOverTcp), transport::Path::eager);
    EXPECT_EQ(path_of(kOverTcp, kShortOverTcp), transport::Path::large);
    EXPECT_EQ(path_of(kOverTcp, kShort), transport::Path::eager) << "what is left is enough for a shorter one";
}

}  // namespace
}  // namespace rollcall::runtime
