// What a thread submits to the one that has the baton begins there, or ends.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <thread>

#include "foundation/log.hpp"
#include "runtime/engine/caller_notice.hpp"
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
    EXPECT_STREQ(first.error()->what(),
                 "a call could not be started: rank 0 has no memory for it; raise its limit (ulimit -v), or start fewer ranks on its host");
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

Task wait_for_caller(Operation& op) {
    co_await op.until([&] { return op.has_arrived(); });
}

// An operation that has begun and whose caller is still to come.
struct Planned {
    Planned() {
        group->id = kCommunicator;
        group->name = "world";
        group->size = 3;
        test.lane.as_owner([&](Engine& engine) { engine.add(world); });
        operation.await_caller();
        test.lane.start(operation);
    }
    ~Planned() {
        test.lane.as_owner([&](Engine& engine) { engine.remove(world); });
    }
    Planned(const Planned&) = delete;
    Planned& operator=(const Planned&) = delete;

    LaneUnderTest test{host_driven()};
    std::shared_ptr<Group> group = std::make_shared<Group>();
    CommunicatorState world{group, 0};
    Operation operation{world, world.next_sequence++, Call{}, &wait_for_caller, Arguments{}};
};

// The thread that has the lane may wait for a core. The caller must not wait for that.
TEST(CallerNotices, DoNotWaitForTheLane) {
    Planned planned;
    Engine& engine = planned.test.engine;
    CallerNotice prediction(planned.operation, &Operation::predict_arrival, 5), arrival(planned.operation, &Operation::arrive_at, 7);
    planned.test.lane.as_owner([&](Engine&) {
        std::thread([&] {
            planned.test.lane.start(prediction);
            planned.test.lane.start(arrival);
        }).join();
        EXPECT_FALSE(arrival.done());
        EXPECT_EQ(engine.under_way().operations, 1u);
    });
    EXPECT_TRUE(prediction.done());
    EXPECT_TRUE(arrival.done());
    EXPECT_TRUE(planned.operation.done());
    EXPECT_EQ(planned.operation.error(), nullptr);
    EXPECT_EQ(planned.operation.arrived_at(), 7);
    EXPECT_EQ(engine.under_way().operations, 0u);
    EXPECT_EQ(engine.under_way().messages, 0u);
}

// Otherwise the operation would wait for its caller forever.
TEST(CallerNotices, ThatAreLostFailTheOperation) {
    Planned planned;
    CallerNotice arrival(planned.operation, &Operation::arrive_at, 7);
    planned.test.lane.as_owner([&](Engine& engine) {
        try {
            throw std::bad_alloc();
        } catch (...) {
            engine.end_unbegun(arrival);
        }
    });
    EXPECT_TRUE(arrival.done());
    ASSERT_TRUE(planned.operation.done());
    ASSERT_TRUE(planned.operation.error());
    EXPECT_EQ(planned.test.engine.under_way().operations, 0u);
    EXPECT_EQ(planned.test.engine.under_way().messages, 0u);
}

// It may be done before its caller comes only if it has failed.
TEST(CallerNotices, ChangeNothingOnceTheOperationIsDone) {
    Planned planned;
    planned.test.lane.abandon(planned.operation, Error(ErrorCode::state, "its plan was destroyed"));
    ASSERT_TRUE(planned.operation.done());
    CallerNotice prediction(planned.operation, &Operation::predict_arrival, 5), arrival(planned.operation, &Operation::arrive_at, 7);
    planned.test.lane.start(prediction);
    planned.test.lane.start(arrival);
    EXPECT_TRUE(prediction.done());
    EXPECT_TRUE(arrival.done());
    EXPECT_EQ(planned.operation.arrived_at(), kUnknownTime);
    EXPECT_EQ(planned.test.engine.under_way().operations, 0u);
    EXPECT_EQ(planned.test.engine.under_way().messages, 0u);
}

}  // namespace
}  // namespace rollcall::runtime
