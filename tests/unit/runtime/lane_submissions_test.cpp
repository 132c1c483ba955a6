// What a thread submits to the one that has the baton begins there, or ends.
#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "foundation/log.hpp"
#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

// The thread that has the baton begins what others submit. What cannot begin ends, and the rest begins.
TEST(Submissions, EndWhereTheyCannotBegin) {
    LaneUnderTest test(host_driven());
    Throws first;
    Transfer second = LaneUnderTest::receive(1, 7);
    test.lane.as_owner([&](Engine&) {
        std::thread([&] {
            test.lane.start(first);
            test.lane.start(second);
        }).join();
    });
    ASSERT_TRUE(first.done());
    ASSERT_TRUE(first.error());
    EXPECT_STREQ(first.error()->what(), "it could not be started: std::bad_alloc");
    test.network.bring(1, 7);
    EXPECT_TRUE(test.lane.wait(second, kPatience));
    EXPECT_EQ(second.error(), nullptr);
}

// Its thread would wait forever.
TEST(SubmissionsDeathTest, EndTheProcessWhereTheyCanNeitherBeginNorEnd) {
    struct ThrowsAlways final : Waitable {
        void begin(Engine&) override { throw std::bad_alloc(); }
        void abandon(Engine&, const Error&) override { throw std::bad_alloc(); }
    };
    EngineUnderTest test;
    ThrowsAlways call;
    const auto begin = [&] {
        start_log("critical");
        test.engine.begin_or_end(call);
    };
    EXPECT_DEATH(begin(), "no memory to end what it could not start");
}

}  // namespace
}  // namespace rollcall::runtime
