// Tests point-to-point messages, credits and the landing budget.
#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/runtime/messages.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;
using runtime::Transfer;

// --- the landing budget ----------------------------------------------------------------------------------------------

TEST(LandingBudget, OldestFirstAndNeverMoreThanItHolds) {
    Simulation simulation(job_of_two(1000));  // Half of it may go to eager messages.
    ASSERT_EQ(simulation.engine(1).landing().budget(), 500u);
    Messages messages(simulation);
    std::vector<Transfer*> sent, received;
    for (std::uint64_t i = 0; i < 10; ++i) sent.push_back(&messages.send(0, 1, i, 300, i, static_cast<Nanoseconds>(i)));
    simulation.network().run();
    EXPECT_EQ(ended(sent), 1);  // The first has landed. The others wait at their sender.
    EXPECT_TRUE(sent[0]->done());
    EXPECT_EQ(simulation.engine(1).landing().used(), 300u);
    for (std::uint64_t i = 0; i < 10; ++i) {
        received.push_back(&messages.receive(1, 0, i, 300, 0));
        simulation.network().run();
        EXPECT_TRUE(Messages::holds(*received.back(), 300, i)) << i;
        if (i + 1 < 10) {
            EXPECT_TRUE(sent[i + 1]->done()) << "room came, so the oldest should have landed: " << i + 1;
            EXPECT_EQ(ended(sent), static_cast<int>(i) + 2);
        }
    }
    EXPECT_EQ(simulation.engine(1).landing().peak(), 300u);
    EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
}

// Node memory takes of the same budget, and its readers do not tell this rank when they have made room.
TEST(LandingBudget, AMessageThatWaitsLooksAgainForRoom) {
    Simulation simulation(job_of_two(2000));
    auto& receiver = simulation.engine(1);
    ASSERT_TRUE(receiver.node());
    ASSERT_TRUE(receiver.landing().reserve(500));
    Messages messages(simulation);
    const Transfer& sent = messages.send(0, 1, 0, 900, 0, 0);
    simulation.network().run();
    EXPECT_FALSE(sent.done());
    for (const bool has_room : {false, true}) {
        if (has_room) receiver.landing().unreserve(500);
        ASSERT_LT(receiver.due(), simulation.network().now() + kSecond);
        receiver.tick(receiver.due());
        simulation.network().run();
        EXPECT_EQ(sent.done(), has_room);
    }
    EXPECT_EQ(receiver.due(), kNever);
}

TEST(LandingBudget, SmallOnesDoNotStarveALargeOne) {
    Simulation simulation(job_of_two(2000));
    ASSERT_EQ(simulation.engine(1).landing().budget(), 1000u);
    Messages messages(simulation);
    messages.send(0, 1, 0, 600, 0, 0);
    const Transfer& large = messages.send(0, 1, 1, 900, 1, 1);  // Waits for all of the budget.
    const Transfer& small = messages.send(0, 1, 2, 300, 2, 2);  // This one would fit now.
    simulation.network().run();
    EXPECT_FALSE(large.done());
    EXPECT_FALSE(small.done());
    messages.receive(1, 0, 0, 600, 0);
    simulation.network().run();
    EXPECT_TRUE(large.done());
    EXPECT_FALSE(small.done());
    const Transfer& one = messages.receive(1, 0, 1, 900, 0);
    const Transfer& two = messages.receive(1, 0, 2, 300, 0);
    simulation.network().run();
    EXPECT_TRUE(Messages::holds(one, 900, 1));
    EXPECT_TRUE(Messages::holds(two, 300, 2));
}

TEST(LandingBudget, LongerThanTheLongestMeansBlocking) {
    Simulation::Options options = job_of_two(1'000'000);
    options.landing_longest = 500;
    Simulation simulation(options);
    Messages messages(simulation);
    const Transfer& longest = messages.send(0, 1, 0, 500, 0, 0);
    const Transfer& longer = messages.send(0, 1, 1, 501, 1, 1);
    const Transfer& shorter = messages.send(0, 1, 2, 499, 2, 2);
    simulation.network().run();
    EXPECT_TRUE(longest.done());
    EXPECT_FALSE(longer.done());
    EXPECT_TRUE(shorter.done()) << "one that never lands is in nobody's way";
    const Transfer& received = messages.receive(1, 0, 1, 501, 0);
    simulation.network().run();
    EXPECT_TRUE(longer.done());
    EXPECT_TRUE(Messages::holds(received, 501, 1));
}

TEST(LandingBudget, TooSmallForAMessageMeansBlocking) {
    for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1000}}) {
        Simulation simulation(job_of_two(landing));
        Messages messages(simulation);
        const Transfer& sent = messages.send(0, 1, 0, 501, 0, 0);
        messages.send(0, 1, 1, 400, 1, 0);  // It is not held up by a message that can never land.
        simulation.network().run();
        EXPECT_FALSE(sent.done());
        EXPECT_EQ(simulation.engine(1).landing().used(), landing ? 400u : 0u);
        const Transfer& received = messages.receive(1, 0, 0, 501, 0);
        simulation.network().run();
        EXPECT_TRUE(sent.done());
        EXPECT_TRUE(Messages::holds(received, 501, 0));
    }
}

// --- credits ---------------------------------------------------------------------------------------------------------

TEST(Credits, AFloodIsBoundedAndArrivesInOrder) {
    constexpr int kMessages = 5000;
    for (const std::uint64_t bytes : {0, 8})
        for (const std::uint64_t landing : {0, 64 * 1024}) {
            Simulation simulation(job_of_two(landing));
            Messages messages(simulation);
            std::vector<Transfer*> sent, received;
            for (int i = 0; i < kMessages; ++i) sent.push_back(&messages.send(0, 1, 7, bytes, static_cast<std::uint64_t>(i), i));
            simulation.network().run();
            const std::uint64_t allowance = simulation.engine(1).granted_allowance();
            // Eager messages are bounded by the allowance (64 bytes each and their data), others by the budget (256 bytes each).
            const std::uint64_t most = allowance / (64 + bytes) + simulation.engine(1).landing().budget() / 256;
            EXPECT_LE(ended(sent), static_cast<int>(most)) << bytes << " " << landing;
            EXPECT_LE(simulation.engine(1).landing().peak(), simulation.engine(1).landing().budget());
            for (int i = 0; i < kMessages; ++i) received.push_back(&messages.receive(1, 0, 7, bytes, i));
            simulation.network().run();
            EXPECT_EQ(ended(sent), kMessages);
            for (int i = 0; i < kMessages; ++i)
                ASSERT_TRUE(Messages::holds(*received[static_cast<std::size_t>(i)], bytes, static_cast<std::uint64_t>(i)))
                    << i << " of " << bytes << " bytes";
            EXPECT_EQ(simulation.engine(1).early_messages(), 0u);
            EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
        }
}

// Credits come back, so that a stream of any length stays on the eager path.
TEST(Credits, AStreamNeverRunsOut) {
    auto options = job_of_two(std::uint64_t{1} << 20);
    options.model.alpha = 10;
    Simulation simulation(options);
    Messages messages(simulation);
    std::vector<Transfer*> sent;
    for (int i = 0; i < 20'000; ++i) {
        messages.receive(1, 0, 0, 8, 100 * i);
        sent.push_back(&messages.send(0, 1, 0, 8, static_cast<std::uint64_t>(i), 100 * i));
    }
    simulation.network().run();
    for (const Transfer* transfer : sent) ASSERT_TRUE(transfer->done() && !transfer->large);
}

// --- order -----------------------------------------------------------------------------------------------------------

// An offer arrives at once and an eager message takes time. So they overtake each other on the network.
TEST(Order, BySourceAndTagWhateverTheirWay) {
    Random random(31);
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        const int n = static_cast<int>(random.between(2, 5));
        auto options = random_machine(random, n, 300);
        SCOPED_TRACE(describe(options));
        Simulation simulation(options);
        Messages messages(simulation);
        struct Expected {
            Transfer* transfer;
            std::uint64_t bytes, number;
        };
        std::vector<Expected> expected;
        std::uint64_t number = 0;
        for (int from = 0; from < n; ++from)
            for (int to = 0; to < n; ++to)
                for (std::int64_t i = from == to ? 0 : random.between(0, 30); i > 0; --i) {
                    const std::uint64_t bytes = random.pick(std::vector<std::uint64_t>{0, 1, 15, 16, 64, 65, 200, 201, 300, 5000});
                    const std::uint64_t tag = random.below(3);
                    // All sends of a pair begin at the same moment, in this order. So do its receives.
                    messages.send(from, to, tag, bytes, ++number, from * 10);
                    expected.push_back({&messages.receive(to, from, tag, 5000, (to * 13 + from * 7) % 40), bytes, number});
                }
        simulation.network().run();
        for (const auto& [transfer, bytes, which] : expected)
            ASSERT_TRUE(Messages::holds(*transfer, bytes, which))
                << "message " << which << " of " << bytes << " bytes, tag " << transfer->key.tag;
        for (int rank = 0; rank < n; ++rank) {
            EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
            EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
        }
    }
}

TEST(Order, TooLongForItsBufferIsAnErrorAndTheNextOneComes) {
    for (const std::uint64_t bytes : {20, 2000})
        for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1} << 30})
            for (const Nanoseconds receive_at : {0, 100'000}) {
                Simulation simulation(job_of_two(landing));
                Messages messages(simulation);
                const Transfer& sent = messages.send(0, 1, 5, bytes, 1, 50'000);
                const Transfer& fitting = messages.send(0, 1, 5, bytes, 2, 50'000);
                const Transfer& received = messages.receive(1, 0, 5, bytes - 1, receive_at);
                const Transfer& next = messages.receive(1, 0, 5, bytes, receive_at);
                simulation.network().run();
                ASSERT_TRUE(received.done());
                ASSERT_NE(received.error(), nullptr);
                EXPECT_EQ(received.error()->code(), ErrorCode::truncated);
                EXPECT_NE(std::string(received.error()->what()).find("rank 0"), std::string::npos) << received.error()->what();
                EXPECT_TRUE(sent.done() && fitting.done());
                EXPECT_TRUE(Messages::holds(next, bytes, 2));
                EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
            }
}

// --- giving up -------------------------------------------------------------------------------------------------------

TEST(Order, AMessageTakenBackLeavesTheOthersInOrder) {
    Random random(32);
    for (int repetition = 0; repetition < repetitions(200); ++repetition) {
        auto options = job_of_two(random.chance(0.5) ? 0 : 600, 64);
        options.model.alpha = static_cast<double>(random.below(2) * 50);
        Simulation simulation(options);
        Messages messages(simulation);
        std::vector<Transfer*> sent;
        std::vector<std::uint64_t> bytes;
        for (std::uint64_t i = 0; i < 12; ++i) {
            bytes.push_back(random.pick(std::vector<std::uint64_t>{0, 8, 400, 900}));
            sent.push_back(&messages.send(0, 1, 0, bytes.back(), i, 0));
        }
        struct TakeBack {
            Simulation* simulation;
            Transfer* transfer;
        } take_back{&simulation, random.pick(sent)};
        simulation.network().schedule(
            static_cast<Nanoseconds>(random.below(200)),
            [](void* context, int rank) {
                const auto& [job, transfer] = *static_cast<TakeBack*>(context);
                transfer->abandon(job->engine(rank), Error(ErrorCode::timeout, "given up"));
            },
            &take_back, 0);
        simulation.network().run();
        EXPECT_TRUE(take_back.transfer->done());
        std::vector<Transfer*> received;
        for (std::size_t i = 0; i < sent.size(); ++i) received.push_back(&messages.receive(1, 0, 0, 900, static_cast<Nanoseconds>(i)));
        simulation.network().run();
        std::size_t next = 0;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (Messages::holds(*received[next], bytes[i], i))
                ++next;
            else
                ASSERT_EQ(sent[i], take_back.transfer) << "message " << i << " is missing";
        }
        EXPECT_EQ(simulation.engine(1).landing().used(), 0u);
    }
}

// The first receive has begun to take a message that is taken back. It then takes the next one, before the receive that was posted after
// it, also in a job in which another rank has died.
TEST(Order, AReceiveThatLosesItsMessageKeepsItsPlace) {
    for (const bool another_has_died : {false, true}) {
        auto options = job_of_two(0);
        options.ranks = 3;
        Simulation simulation(options);
        if (another_has_died) simulation.kill(2, "was killed", [](int) { return Nanoseconds{0}; });
        simulation.network().run();
        Messages messages(simulation);
        const Transfer& first = messages.receive(1, 0, 0, 900, 0);
        const Transfer& second = messages.receive(1, 0, 0, 900, 1);
        struct TakeBack {
            Simulation& simulation;
            Transfer& transfer;
        } taken_back{simulation, messages.send(0, 1, 0, 900, 1, 10)};
        simulation.network().schedule(
            simulation.network().now() + 200,
            [](void* context, int rank) {
                const auto& [job, transfer] = *static_cast<TakeBack*>(context);
                transfer.abandon(job.engine(rank), Error(ErrorCode::timeout, "given up"));
            },
            &taken_back, 0);
        messages.send(0, 1, 0, 8, 2, 5000);
        messages.send(0, 1, 0, 8, 3, 6000);
        simulation.network().run();
        EXPECT_NE(taken_back.transfer.error(), nullptr);
        EXPECT_TRUE(Messages::holds(first, 8, 2)) << another_has_died;
        EXPECT_TRUE(Messages::holds(second, 8, 3)) << another_has_died;
    }
}

// The same for several receives, whose messages are taken back in their order or against it, and for one that waits behind them.
TEST(Order, ReceivesThatLoseTheirMessagesKeepTheirOrder) {
    for (const bool backwards : {false, true}) {
        Simulation simulation(job_of_two(0));
        Messages messages(simulation);
        const Transfer& first = messages.receive(1, 0, 0, 900, 0);
        const Transfer& second = messages.receive(1, 0, 0, 900, 1);
        const Transfer& third = messages.receive(1, 0, 0, 900, 2);
        struct TakeBack {
            Simulation& simulation;
            Transfer* given_up[2];
        } taken_back{simulation, {&messages.send(0, 1, 0, 900, 1, 10), &messages.send(0, 1, 0, 900, 2, 11)}};
        if (backwards) std::swap(taken_back.given_up[0], taken_back.given_up[1]);
        simulation.network().schedule(
            200,
            [](void* context, int rank) {
                const auto& [job, given_up] = *static_cast<TakeBack*>(context);
                for (Transfer* transfer : given_up) transfer->abandon(job.engine(rank), Error(ErrorCode::timeout, "given up"));
            },
            &taken_back, 0);
        for (std::uint64_t i = 0; i < 3; ++i) messages.send(0, 1, 0, 8, 3 + i, static_cast<Nanoseconds>(5000 + 1000 * i));
        simulation.network().run();
        for (const Transfer* transfer : taken_back.given_up) EXPECT_NE(transfer->error(), nullptr);
        EXPECT_TRUE(Messages::holds(first, 8, 3));
        EXPECT_TRUE(Messages::holds(second, 8, 4));
        EXPECT_TRUE(Messages::holds(third, 8, 5));
    }
}

}  // namespace
}  // namespace rollcall::model_test
