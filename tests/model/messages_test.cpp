// Point-to-point messages, credits and the landing budget.
#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;
using runtime::Transfer;

Simulation::Options pair(std::uint64_t landing, std::uint64_t eager = 64) {
    Simulation::Options options;
    options.ranks = 2;
    options.landing_bytes = landing;
    options.eager_bytes = eager;
    return options;
}

int ended(const std::vector<Transfer*>& transfers) {
    return static_cast<int>(std::count_if(transfers.begin(), transfers.end(), [](const Transfer* t) { return t->done(); }));
}

// --- the landing budget ----------------------------------------------------------------------------------------------

TEST(LandingBudget, OldestFirstAndNeverMoreThanItHolds) {
    Simulation simulation(pair(1000));  // half of it may go to eager messages
    ASSERT_EQ(simulation.engine(1).landing().budget(), 500u);
    Messages messages(simulation);
    std::vector<Transfer*> sent, received;
    for (std::uint64_t i = 0; i < 10; ++i) sent.push_back(&messages.send(0, 1, i, 300, i, static_cast<Nanoseconds>(i)));
    simulation.network().run();
    EXPECT_EQ(ended(sent), 1);  // the first has landed, the others wait at their sender
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

TEST(LandingBudget, SmallOnesDoNotStarveALargeOne) {
    Simulation simulation(pair(2000));
    ASSERT_EQ(simulation.engine(1).landing().budget(), 1000u);
    Messages messages(simulation);
    messages.send(0, 1, 0, 600, 0, 0);
    const Transfer& large = messages.send(0, 1, 1, 900, 1, 1);  // waits for all the room there is
    const Transfer& small = messages.send(0, 1, 2, 300, 2, 2);  // would fit now
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
    Simulation::Options options = pair(1'000'000);
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
        Simulation simulation(pair(landing));
        Messages messages(simulation);
        const Transfer& sent = messages.send(0, 1, 0, 501, 0, 0);
        messages.send(0, 1, 1, 400, 1, 0);  // is not held up by one that can never land
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
            Simulation simulation(pair(landing));
            Messages messages(simulation);
            std::vector<Transfer*> sent, received;
            for (int i = 0; i < kMessages; ++i) sent.push_back(&messages.send(0, 1, 7, bytes, static_cast<std::uint64_t>(i), i));
            simulation.network().run();
            const std::uint64_t allowance = simulation.engine(1).granted_allowance();
            // Eager ones by the allowance (64 bytes each and what they carry), others by the budget (256 each).
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

// Credits come back, so a stream of any length stays on the eager path.
TEST(Credits, AStreamNeverRunsOut) {
    auto options = pair(std::uint64_t{1} << 20);
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

// An offer is there at once and an eager message takes its time, so they overtake each other.
TEST(Order, BySourceAndTagWhateverTheirWay) {
    Random random(31);
    for (int repetition = 0; repetition < 300; ++repetition) {
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
                    // All sends of a pair begin at the same moment, in this order; so do its receives.
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
                Simulation simulation(pair(landing));
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
    for (int repetition = 0; repetition < 200; ++repetition) {
        auto options = pair(random.chance(0.5) ? 0 : 600, 64);
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

// --- communicators that are no more ----------------------------------------------------------------------------------

// A communicator of all ranks, as the ranks of a real job make one together.
class Made {
  public:
    explicit Made(Simulation& simulation) : simulation_(simulation), states_(static_cast<std::size_t>(simulation.size())) {
        auto group = std::make_shared<runtime::Group>();
        group->name = "made";
        group->size = simulation.size();
        for (int rank = 0; rank < simulation.size(); ++rank) {
            numbers_.push_back(simulation.engine(rank).expect_communicator());
            group->id = std::max(group->id, numbers_.back());
        }
        group_ = std::move(group);
    }
    std::uint64_t id() const { return group_->id; }
    void add(int rank) {
        auto& state = states_[static_cast<std::size_t>(rank)];
        state = std::make_unique<runtime::CommunicatorState>(group_, rank);
        simulation_.engine(rank).add(*state);
        give_up(rank);
    }
    void give_up(int rank) { simulation_.engine(rank).stop_expecting(numbers_[static_cast<std::size_t>(rank)]); }
    void remove(int rank) {
        simulation_.engine(rank).remove(*states_[static_cast<std::size_t>(rank)]);
        states_[static_cast<std::size_t>(rank)].reset();
    }
    void add_everywhere() {
        for (int rank = 0; rank < simulation_.size(); ++rank) add(rank);
    }

  private:
    Simulation& simulation_;
    std::shared_ptr<const runtime::Group> group_;
    std::vector<std::uint64_t> numbers_;
    std::vector<std::unique_ptr<runtime::CommunicatorState>> states_;
};

// What it takes, allowance at the sender and landing buffers, is given back: what had come and what comes late.
TEST(RemovedCommunicator, WhatNobodyReceivedIsLetGo) {
    constexpr int kMessages = 3000;
    for (const std::uint64_t bytes : {0, 8, 400, 5000})
        for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{1} << 40}) {
            SCOPED_TRACE(fmt::format("{} bytes, landing {}", bytes, landing));
            Simulation simulation(pair(landing));
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

// In the middle of anything, and the messages of another communicator neither miss a turn nor are lost.
TEST(RemovedCommunicator, OthersGoOn) {
    Random random(33);
    for (int repetition = 0; repetition < 500; ++repetition) {
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

// Between two that are being made at once by two threads: one is there and gone while the other is still to come.
TEST(RemovedCommunicator, IsToldFromOneThatIsStillToCome) {
    Simulation simulation(pair(std::uint64_t{1} << 40));
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
    Simulation simulation(pair(std::uint64_t{1} << 40));
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

TEST(RemovedCommunicator, AnyNumberOfThemTakesNoMemory) {
    Simulation simulation(pair(0));
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
