// Messages that arrive for communicators that no longer exist.
#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/runtime/made.hpp"
#include "tests/model/runtime/messages.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;
using runtime::Transfer;

// The sender's allowance and the landing buffers are given back, both for messages that had come and for those that come late.
TEST(RemovedCommunicator, WhatNobodyReceivedIsLetGo) {
    constexpr int kMessages = 3000;
    for (const std::uint64_t bytes : {0, 8, 400, 5000})
        for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{1} << 40}) {
            SCOPED_TRACE(fmt::format("{} bytes, landing {}", bytes, landing));
            Simulation simulation(job_of_two(landing));
            auto& receiver = simulation.engine(1);
            Made made(simulation);
            made.add_everywhere();
            Messages messages(simulation);
            messages.use(made.id());
            std::vector<Transfer*> sent;
            for (std::uint64_t i = 0; i < kMessages; ++i) sent.push_back(&messages.send(0, 1, i % 7, bytes, i, 0));
            simulation.network().run();
            EXPECT_GT(receiver.early_messages(), 0u);
            made.remove(1);
            for (const int late : {0, 1}) {
                for (std::uint64_t i = 0; late && i < kMessages; ++i) sent.push_back(&messages.send(0, 1, i % 7, bytes, i, 0));
                simulation.network().run();
                EXPECT_EQ(ended(sent), static_cast<int>(sent.size()));
                EXPECT_EQ(receiver.early_messages(), 0u);
                EXPECT_EQ(receiver.landing().used(), 0u);
            }
            messages.use(1);
            const Transfer& eager = messages.send(0, 1, 0, 0, 1, 0);
            const Transfer& large = messages.send(0, 1, 0, 5000, 2, 0);
            const Transfer& first = messages.receive(1, 0, 0, 0, 0);
            const Transfer& second = messages.receive(1, 0, 0, 5000, 0);
            simulation.network().run();
            EXPECT_TRUE(eager.done() && large.done());
            EXPECT_FALSE(eager.large) << "the allowance has not come back";
            EXPECT_TRUE(Messages::holds(first, 0, 1));
            EXPECT_TRUE(Messages::holds(second, 5000, 2));
        }
}

// A communicator is removed at any moment. The messages of another communicator neither stall nor get lost.
TEST(RemovedCommunicator, OthersGoOn) {
    Random random(33);
    for (int repetition = 0; repetition < repetitions(500); ++repetition) {
        const int n = static_cast<int>(random.between(2, 5));
        const auto options = random_machine(random, n, 300);
        SCOPED_TRACE(describe(options));
        Simulation simulation(options);
        Made made(simulation);
        made.add_everywhere();
        Messages messages(simulation);
        struct Expected {
            Transfer* transfer;
            std::uint64_t bytes, number;
        };
        std::vector<Expected> expected;
        std::vector<Transfer*> unwanted;
        std::uint64_t number = 0;
        for (int from = 0; from < n; ++from)
            for (int to = 0; to < n; ++to)
                for (std::int64_t i = from == to ? 0 : random.between(0, 30); i > 0; --i) {
                    const std::uint64_t bytes = random.pick(std::vector<std::uint64_t>{0, 1, 64, 65, 200, 201, 300, 5000});
                    const bool wanted = random.chance(0.5);
                    messages.use(wanted ? 1 : made.id());
                    Transfer& sent = messages.send(from, to, 0, bytes, ++number, from * 10);
                    if (wanted)
                        expected.push_back({&messages.receive(to, from, 0, 5000, (to * 13 + from * 7) % 40 * 50), bytes, number});
                    else
                        unwanted.push_back(&sent);
                }
        for (int rank = 0; rank < n; ++rank)
            simulation.network().schedule(
                random.between(0, 3000), [](void* context, int at) { static_cast<Made*>(context)->remove(at); }, &made, rank);
        simulation.network().run();
        for (const auto& [transfer, bytes, which] : expected) EXPECT_TRUE(Messages::holds(*transfer, bytes, which)) << which;
        EXPECT_EQ(ended(unwanted), static_cast<int>(unwanted.size()));
        for (int rank = 0; rank < n; ++rank) {
            EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
            EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
        }
        if (HasFailure()) return;
    }
}

// A rank makes a call on a new communicator and gives it up before another rank has made the communicator. The call fails there, too,
// although all messages for it have come.
TEST(RemovedCommunicator, AFailureIsRememberedForOneThatIsStillToCome) {
    for (const bool fails : {false, true}) {
        Simulation simulation(job_of_two(std::uint64_t{1} << 40));
        Made made(simulation);
        made.add(0);
        const auto& entry = collectives::find_algorithm(runtime::OperationKind::barrier, "dissemination");
        const auto barrier_at = [&](int rank) {
            return std::make_unique<runtime::Operation>(made.state(rank), 1, collectives::make_call(entry, -1, 0, 0), entry.algorithm,
                                                        runtime::Arguments());
        };
        const auto first = barrier_at(0);
        simulation.engine(0).begin(*first);
        simulation.network().run();
        if (fails) simulation.engine(0).abandon(*first, Error(ErrorCode::timeout, "given up"));
        simulation.network().run();
        made.add(1);
        EXPECT_EQ(simulation.engine(1).early_messages(), fails ? 0u : 1u);
        const auto second = barrier_at(1);
        simulation.engine(1).begin(*second);
        simulation.network().run();
        EXPECT_TRUE(first->done() && second->done());
        ASSERT_EQ(second->error() != nullptr, fails);
        if (fails) {
            EXPECT_STREQ(second->error()->what(), "given up");
        }
    }
}

// Two threads make two communicators at once. One is made and destroyed while the other is still to come.
TEST(RemovedCommunicator, IsToldFromOneThatIsStillToCome) {
    Simulation simulation(job_of_two(std::uint64_t{1} << 40));
    const auto& receiver = simulation.engine(1);
    Made slow(simulation), fast(simulation);
    fast.add_everywhere();
    fast.remove(1);
    slow.add(0);
    Messages messages(simulation);
    for (const std::uint64_t bytes : {8, 5000}) {
        messages.use(fast.id());
        const Transfer& late = messages.send(0, 1, 0, bytes, 1, 0);
        simulation.network().run();
        EXPECT_TRUE(late.done());
        EXPECT_EQ(receiver.early_messages(), 0u);
    }
    messages.use(slow.id());
    messages.send(0, 1, 0, 8, 2, 0);
    messages.send(0, 1, 0, 5000, 3, 0);
    simulation.network().run();
    EXPECT_EQ(receiver.early_messages(), 2u);
    EXPECT_EQ(receiver.remembered_communicators(), 1u);
    slow.add(1);
    EXPECT_EQ(receiver.remembered_communicators(), 0u);
    const Transfer& first = messages.receive(1, 0, 0, 8, 0);
    const Transfer& second = messages.receive(1, 0, 0, 5000, 0);
    simulation.network().run();
    EXPECT_TRUE(Messages::holds(first, 8, 2));
    EXPECT_TRUE(Messages::holds(second, 5000, 3));
}

TEST(RemovedCommunicator, OneThatWasNeverMadeHereKeepsNothing) {
    Simulation simulation(job_of_two(std::uint64_t{1} << 40));
    Made made(simulation);
    made.add(0);
    Messages messages(simulation);
    messages.use(made.id());
    const Transfer& sent = messages.send(0, 1, 0, 5000, 1, 0);
    simulation.network().run();
    EXPECT_EQ(simulation.engine(1).early_messages(), 1u);
    made.give_up(1);
    simulation.network().run();
    EXPECT_TRUE(sent.done());
    EXPECT_EQ(simulation.engine(1).early_messages(), 0u);
    EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
}

// Rank 0 has known more communicators, so its number becomes the id. Rank 1 agrees on the id, and then fails. Rank 0 makes the
// communicator, and waits there for rank 1, which must say that it will not come.
TEST(RemovedCommunicator, ARankThatCouldNotMakeItSaysSo) {
    for (const int more : {0, 1, 5}) {
        Simulation simulation(job_of_two(std::uint64_t{1} << 40));
        for (int i = 0; i < more; ++i) simulation.engine(0).stop_expecting(simulation.engine(0).expect_communicator());
        Made made(simulation);
        made.give_up(1);
        made.add(0);
        const auto& entry = collectives::find_algorithm(runtime::OperationKind::barrier, "dissemination");
        runtime::Operation barrier(made.state(0), 1, collectives::make_call(entry, -1, 0, 0), entry.algorithm, runtime::Arguments());
        simulation.engine(0).begin(barrier);
        simulation.network().run();
        for (int second = 1; second <= 3 && !barrier.done(); ++second) {
            simulation.engine(0).tick(second * kSecond);
            simulation.network().run();
        }
        ASSERT_TRUE(barrier.done()) << more;
        ASSERT_NE(barrier.error(), nullptr);
        EXPECT_EQ(barrier.error()->code(), ErrorCode::state);
        EXPECT_EQ(barrier.error()->failed_rank(), 1);
        EXPECT_EQ(simulation.engine(1).early_messages(), 0u);
    }
}

TEST(RemovedCommunicator, AnyNumberOfThemTakesNoMemory) {
    Simulation simulation(job_of_two(0));
    std::uint64_t before = 1;
    for (int i = 0; i < 1000; ++i) {
        Made made(simulation);
        EXPECT_GT(made.id(), before);
        before = made.id();
        made.add_everywhere();
        made.remove(i % 2);
        made.remove(1 - i % 2);
        for (const int rank : {0, 1}) EXPECT_EQ(simulation.engine(rank).remembered_communicators(), 0u);
    }
}

}  // namespace
}  // namespace rollcall::model_test
