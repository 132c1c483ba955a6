// At the end of a job, what nobody received is let go of.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>

#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

struct Departures : testing::Test, EngineUnderTest {
    void offer(std::uint32_t ordinal) {
        CollectiveHeader header;
        header.base.source = 1;
        header.base.communicator = kCommunicator;
        header.base.ordinal = ordinal;
        network.sink->on_offer(std::as_bytes(std::span(&header.base, 1)), {.size = 10'000});
    }
    void retract(std::uint32_t ordinal) {
        CollectiveHeader header;
        header.base.kind = MessageKind::retract;
        header.base.source = 1;
        header.base.communicator = kCommunicator;
        header.base.ordinal = ordinal;
        network.sink->on_message(std::as_bytes(std::span(&header, 1)), {});
    }

};

// Otherwise their sender would wait for an answer when it ends its job.
TEST_F(Departures, DeclineOffersThatCameBeforeTheirTurn) {
    offer(1);
    offer(2);
    offer(3);
    retract(2);
    EXPECT_EQ(network.declined, 1);
    engine.expect_departures();
    EXPECT_EQ(network.declined, 3);
    EXPECT_EQ(engine.early_messages(), 0u);
}

}  // namespace
}  // namespace rollcall::runtime
