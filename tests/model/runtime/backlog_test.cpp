// Point-to-point sends that wait because their receiver has not taken enough of the earlier ones. What the receiver asks for goes first.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/messages/peek.hpp"
#include "tests/model/runtime/messages.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;

constexpr std::uint64_t kLong = 200, kUnread = 1, kWanted = 2;
constexpr std::uint64_t kMany = 200;

const Error kOver(ErrorCode::timeout, "the time is over");

// Rank 0 has sent more long messages to rank 1 than may be offered at a time.
class Backlogged {
  public:
    explicit Backlogged(const std::function<void(runtime::Engine&)>& begin_first = {}) : simulation(job_of_two(0)), messages(simulation) {
        if (begin_first) begin_first(receiver());
        for (std::uint64_t i = 0; i < kMany; ++i) messages.send(0, 1, kUnread, kLong, i, 0);
        simulation.network().run();
        offered_ = receiver().early_messages();
        EXPECT_LT(offered_, kMany);
    }
    runtime::Engine& receiver() { return simulation.engine(1); }
    /// Rank 0 sends these, too. Returns how many of them come.
    std::uint64_t send_wanted(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) messages.send(0, 1, kWanted, kLong, i, 0);
        simulation.network().run();
        return receiver().early_messages() - offered_;
    }
    void receive_all(std::uint64_t tag, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const auto& received = messages.receive(1, 0, tag, kLong, 0);
            simulation.network().run();
            ASSERT_TRUE(received.done());
            ASSERT_TRUE(Messages::holds(received, kLong, i));
        }
    }

    Simulation simulation;
    Messages messages;

  private:
    std::uint64_t offered_ = 0;
};

TEST(Backlog, APeekThatWasGivenUpAsksForNothing) {
    Backlogged job;
    for (std::uint64_t i = 0; i < kMany; ++i) {
        runtime::Peek peek(runtime::MatchKey{1, 0, kWanted, 0});
        job.receiver().begin(peek);
        if (i % 2) job.simulation.network().run();
        peek.abandon(job.receiver(), kOver);
    }
    job.simulation.network().run();
    EXPECT_EQ(job.send_wanted(kMany), 0u);
    job.receive_all(kWanted, kMany);
    job.receive_all(kUnread, kMany);
}

TEST(Backlog, AReceiveThatWasGivenUpAsksForNothing) {
    Backlogged job;
    for (std::uint64_t i = 0; i < kMany; ++i) {
        runtime::Transfer receive(runtime::Transfer::Direction::receive, 0, 1, kWanted, {});
        job.receiver().begin(receive);
        if (i % 2) job.simulation.network().run();
        receive.abandon(job.receiver(), kOver);
        ASSERT_TRUE(receive.done());
    }
    job.simulation.network().run();
    EXPECT_EQ(job.send_wanted(kMany), 0u);
    job.receive_all(kWanted, kMany);
    job.receive_all(kUnread, kMany);
}

// A program that looks again and again asks once, until a message has come and gone.
TEST(Backlog, ALookAsksForOneMessageAtATime) {
    Backlogged job;
    const runtime::MatchKey key{1, 0, kWanted, 0};
    const auto look = [&] { return job.receiver().size_of_next(key); };
    const auto look_often = [&] {
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(look(), std::nullopt);
            if (i % 2) job.simulation.network().run();
        }
    };
    look_often();
    EXPECT_EQ(job.send_wanted(3), 1u);
    for (std::uint64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(look(), kLong);
        const std::uint64_t before = job.receiver().early_messages();
        const auto& received = job.messages.receive(1, 0, kWanted, kLong, 0);
        job.simulation.network().run();
        ASSERT_TRUE(received.done());
        ASSERT_TRUE(Messages::holds(received, kLong, i));
        EXPECT_EQ(job.receiver().early_messages(), before - 1);
        EXPECT_EQ(look(), std::nullopt);
        job.simulation.network().run();
    }
    look_often();
    job.receive_all(kUnread, kMany);
    EXPECT_EQ(look(), std::nullopt);
}

// Of several that wait for messages of one key, some are given up.
TEST(Backlog, WhatIsStillWaitedForComes) {
    Backlogged job;
    const auto& received = job.messages.receive(1, 0, kWanted, kLong, 0);
    const runtime::MatchKey key{1, 0, kWanted, 0};
    runtime::Peek given_up(key), peek(key);
    job.receiver().begin(given_up);
    job.receiver().begin(peek);
    job.simulation.network().run();
    given_up.abandon(job.receiver(), kOver);
    job.simulation.network().run();
    EXPECT_EQ(job.send_wanted(3), 1u);  // the one that the peek waited for
    EXPECT_TRUE(received.done());
    EXPECT_TRUE(peek.done());
    EXPECT_EQ(peek.size, kLong);
    EXPECT_EQ(peek.error(), nullptr);
}

// All peeks of one key see the same message, so they ask for one only, whenever they and the news of the backlog come.
TEST(Backlog, PeeksOfOneKeyAskForOneMessage) {
    for (const bool before : {false, true}) {
        std::vector<std::unique_ptr<runtime::Peek>> peeks;
        for (int i = 0; i < 4; ++i) peeks.push_back(std::make_unique<runtime::Peek>(runtime::MatchKey{1, 0, kWanted, 0}));
        const std::function<void(runtime::Engine&)> begin = [&](runtime::Engine& receiver) {
            for (const auto& peek : peeks) receiver.begin(*peek);
        };
        Backlogged job(before ? begin : nullptr);
        if (!before) begin(job.receiver());
        job.simulation.network().run();
        peeks[0]->abandon(job.receiver(), kOver);
        peeks[2]->abandon(job.receiver(), kOver);
        job.simulation.network().run();
        EXPECT_EQ(job.send_wanted(5), 1u);
        for (const auto& peek : peeks) EXPECT_TRUE(peek->done());
        EXPECT_EQ(peeks[1]->size, kLong);
        EXPECT_EQ(peeks[3]->size, kLong);
        job.receive_all(kWanted, 5);
        job.receive_all(kUnread, kMany);
    }
}

}  // namespace
}  // namespace rollcall::model_test
