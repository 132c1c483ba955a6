// What the settings mean for a job: the same that its parts do with them.
#include "runtime/limits.hpp"

#include <gtest/gtest.h>

#include "runtime/landing/landing.hpp"
#include "runtime/messages/peers.hpp"
#include "runtime/node/segment.hpp"
#include "transports/transport.hpp"

namespace rollcall::runtime {
namespace {

TEST(Limits, OfEagerMessagesAreWithinThoseOfEarlyOnes) {
    Settings settings;
    EXPECT_EQ(eager_limits(settings).usual, 8u << 10);
    EXPECT_EQ(eager_limits(settings).over_tcp, 64u << 10);
    settings.landing_longest = 16 << 10;
    EXPECT_EQ(eager_limits(settings).usual, 8u << 10);
    EXPECT_EQ(eager_limits(settings).over_tcp, 16u << 10);
    settings.eager_bytes = 32 << 10;
    EXPECT_EQ(eager_limits(settings).usual, 16u << 10);
    settings.landing_longest = 0;
    EXPECT_EQ(eager_limits(settings).usual, 32u << 10);
    EXPECT_EQ(eager_limits(settings).over_tcp, 32u << 10);
}

TEST(Limits, OfEarlyMessagesAreThoseOfLandingMemory) {
    transport::PlainMemory memory;
    for (const std::uint64_t longest : {0u, 1000u}) {
        Settings settings;
        settings.landing_longest = longest;
        const Landing landing(memory, settings.landing_bytes, longest_landing(settings));
        EXPECT_TRUE(landing.could_hold(1000));
        EXPECT_EQ(landing.could_hold(1001), longest == 0);
    }
}

TEST(Limits, SayWhetherThereIsNodeMemory) {
    for (const int size : {2, 64})
        for (const std::uint64_t bytes : {0u, 64u << 10, 256u << 10, 512u << 10, 1u << 20, 128u << 20}) {
            Settings settings;
            settings.landing_bytes = bytes;
            const node::Segment segment(2, landing_budget_for(bytes, size), 0);
            EXPECT_EQ(may_share_node(settings, size), segment.why_not().empty()) << bytes << ' ' << segment.why_not();
            EXPECT_TRUE(may_share_node(settings, 1)) << "one rank needs none";
            settings.node_memory = "no";
            EXPECT_FALSE(may_share_node(settings, size));
        }
}

TEST(Limits, LeaveHalfOfTheBudgetToEarlyMessages) {
    Settings settings;
    settings.landing_bytes = 1 << 20;
    EXPECT_EQ(most_kept(settings, 3), landing_budget_for(1 << 20, 3) / 2);
}

}  // namespace
}  // namespace rollcall::runtime
