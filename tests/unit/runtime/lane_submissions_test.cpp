// What a thread submits to the one that has the baton begins there, or ends.
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <thread>
#include <utility>

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

// Cannot even end.
struct ThrowsAlways final : Waitable {
    void begin(Engine&) override { throw std::bad_alloc(); }
    void abandon(Engine&, const Error&) override { throw std::bad_alloc(); }
};

TEST(Submissions, BeginThoughOneOfThemCanNeitherBeginNorEnd) {
    // Waits. While it begins, another thread submits.
    struct Waits final : Waitable {
        explicit Waits(std::function<void()> submit) : submit_(std::move(submit)) {}
        void begin(Engine&) override { std::thread(submit_).join(); }
        void abandon(Engine&, const Error&) override { set_done(); }
        std::function<void()> submit_;
    };
    LaneUnderTest test(host_driven());
    ThrowsAlways second;
    Transfer first = LaneUnderTest::receive(1, 6), third = LaneUnderTest::receive(1, 7);
    Waits call([&] {
        for (Waitable* const waitable : {static_cast<Waitable*>(&first), static_cast<Waitable*>(&second), static_cast<Waitable*>(&third)})
            test.lane.start(*waitable);
    });
    EXPECT_THROW(test.lane.run(call, kPatience), std::bad_alloc);
    test.network.bring(1, 6);
    test.network.bring(1, 7);
    EXPECT_TRUE(test.lane.wait(first, kPatience));
    EXPECT_TRUE(test.lane.wait(third, kPatience));
}

}  // namespace
}  // namespace rollcall::runtime
