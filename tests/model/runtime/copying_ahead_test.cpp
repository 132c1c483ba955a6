// Callers that come while their part receives the pieces of a long broadcast: what is here is copied while the rest still comes
// (Operation::note_here()).
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/catalogue.hpp"
#include "runtime/arrivals/board.hpp"
#include "tests/model/decoupled.hpp"
#include "transports/machine.hpp"
#include "transports/simulated/simulated_network.hpp"

namespace rollcall::model_test::decoupled::ahead {
namespace {

constexpr std::uint64_t kPiece = 1000, kPieces = 20, kBytes = kPiece * kPieces;

const AlgorithmEntry& chain() { return collectives::find_algorithm(OperationKind::broadcast, "pipelined"); }

// A copy takes less time than a piece takes to come. A rank that comes early enough to catch up leaves a copy of one piece after the last
// piece. One that comes later leaves when it has copied everything.
TEST(CopyingAhead, ACallerInTheMiddleOfAMessageLeavesACopyOfAPieceAfterIt) {
    constexpr double kGamma = 0.5;
    Random random(73);
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        const int n = static_cast<int>(random.between(2, 6));
        const auto late = static_cast<std::size_t>(random.between(1, static_cast<std::uint64_t>(n - 1)));
        const AlgorithmEntry& entry =
            collectives::find_algorithm(OperationKind::broadcast, random.pick(std::vector<const char*>{"pipelined", "binomial"}));
        Times arrivals(static_cast<std::size_t>(n), 0);
        const Nanoseconds together = run(machine(n, kGamma), entry, 0, kBytes, kPiece, arrivals).exits[late];
        arrivals[late] = static_cast<Nanoseconds>(random.between(0, static_cast<std::uint64_t>(together)));
        const Nanoseconds exit = run(machine(n, kGamma), entry, 0, kBytes, kPiece, arrivals).exits[late];
        EXPECT_LE(exit, std::max(arrivals[late] + copy_time(kGamma, kBytes), together + copy_time(kGamma, kPiece)))
            << fmt::format("{} n={} rank {} of {}", entry.name, n, late, testing::PrintToString(arrivals));
        if (HasFailure()) return;
    }
}

TEST(CopyingAhead, AllOfTheDataComes) {
    const Nanoseconds alone = run(machine(3, 0.5), chain(), 0, kBytes, kPiece, Times(3, 0)).exits[1];
    for (const double gamma : {0.0, 0.5, 3.0})
        for (Nanoseconds when = 0; when < 2 * alone; when += 1777) {
            SCOPED_TRACE(fmt::format("gamma {} when {}", gamma, when));
            Simulation simulation(machine(3, gamma));
            HandMade root(simulation, 0, chain(), 0, kBytes, std::byte{0}, kPiece);
            for (std::size_t i = 0; i < root.memory.size(); ++i) root.memory[i] = std::byte(i % 251);
            HandMade middle(simulation, 1, chain(), 0, kBytes, std::byte{0}, kPiece);
            HandMade last(simulation, 2, chain(), 0, kBytes, std::byte{0}, kPiece);
            Later first{simulation, root}, second{simulation, middle}, third{simulation, last};
            auto& network = simulation.network();
            network.schedule(0, &Later::begin, &first, 0);
            network.schedule(when, &Later::begin, &second, 1);
            network.schedule(when / 2, &Later::begin, &third, 2);
            network.run();
            for (const HandMade* call : {&middle, &last}) {
                ASSERT_TRUE(call->operation->done());
                EXPECT_EQ(call->operation->error(), nullptr);
                EXPECT_TRUE(call->memory == root.memory);
                EXPECT_EQ(simulation.engine(call->rank).landing().used(), 0u);
            }
        }
}

// Its caller gives up while a piece is copied, or the root dies then. A copy takes longer than the message, so that one is always under
// way.
TEST(CopyingAhead, ACallerThatGivesUpLeavesItsPartAndADeathEndsIt) {
    for (const bool is_death : {false, true}) {
        Simulation simulation(machine(3, 10));
        HandMade root(simulation, 0, chain(), 0, kBytes, std::byte{7}, kPiece),
            middle(simulation, 1, chain(), 0, kBytes, std::byte{0}, kPiece), last(simulation, 2, chain(), 0, kBytes, std::byte{0}, kPiece);
        root.operation->stay();  // It does not copy first.
        Later first{simulation, root}, second{simulation, middle}, third{simulation, last};
        auto& network = simulation.network();
        network.schedule(0, &Later::begin, &first, 0);
        network.schedule(5000, &Later::begin, &second, 1);
        if (is_death)
            network.schedule(
                9000, [](void* self, int) { static_cast<Simulation*>(self)->kill(0, "was killed", [](int) { return Nanoseconds{10}; }); },
                &simulation, 0);
        else
            network.schedule(9000, &Later::abandon, &second, 1);
        network.schedule(30'000, &Later::begin, &third, 2);
        network.run();
        ASSERT_TRUE(middle.operation->done() && last.operation->done());
        ASSERT_TRUE(middle.operation->error());
        EXPECT_EQ(middle.operation->error()->code(), is_death ? ErrorCode::peer_failed : ErrorCode::timeout);
        EXPECT_EQ(last.operation->error() != nullptr, is_death);
        if (!is_death) {
            EXPECT_TRUE(second.ended_at_once) << "it need not wait for a copy";
            EXPECT_TRUE(last.memory == root.memory);
        }
        for (const int rank : {1, 2}) EXPECT_EQ(simulation.engine(rank).landing().used(), 0u) << rank;
    }
}

/// Two engines whose copies are done at once, as those of real processes, on a simulated network.
class TwoEngines {
  public:
    TwoEngines() : network(2, model(), runtime::board_bytes(2)) {
        auto group = std::make_shared<runtime::Group>();
        group->id = 1;
        group->name = "world";
        group->size = 2;
        for (int rank = 0; rank < 2; ++rank) {
            runtime::EngineOptions options;
            options.rank = rank;
            options.size = 2;
            options.landing_bytes = 64 << 20;
            options.find_part_alone = &collectives::part_alone;
            auto& one = engines.emplace_back(std::make_unique<runtime::Engine>(network.at(rank), machine, arena, std::move(options)));
            one->add(*worlds.emplace_back(std::make_unique<runtime::CommunicatorState>(group, rank)));
        }
        network.set_settle([](void* self, int rank) { static_cast<TwoEngines*>(self)->engine(rank).run_ready(); }, this);
    }
    runtime::Engine& engine(int rank) { return *engines[static_cast<std::size_t>(rank)]; }

    transport::SimulatedNetwork network;
    transport::RealMachine machine;
    runtime::FrameArena arena;
    std::vector<std::unique_ptr<runtime::CommunicatorState>> worlds;
    std::vector<std::unique_ptr<runtime::Engine>> engines;

  private:
    static transport::Model model() {
        transport::Model model;
        model.alpha = 20;
        return model;
    }
};

// Copies that take the time of the processor are done where nothing else is to do, and not all at once.
TEST(CopyingAhead, CopiesAreDoneInPartsBetweenLooksForMessages) {
    constexpr std::uint64_t kLongPiece = 128 << 10, kLong = 8 * kLongPiece, kHere = 4 * kLongPiece;
    TwoEngines both;
    std::vector<std::byte> sent(kLong, std::byte{7}), received(kLong);
    std::vector<std::unique_ptr<Operation>> calls;
    for (int rank = 0; rank < 2; ++rank) {
        Arguments arguments = collectives::arguments_of(collectives::operation(OperationKind::broadcast),
                                                        {.data = rank == 0 ? sent.data() : received.data()}, kLong, 2, rank == 0);
        arguments.segment_bytes = kLongPiece;
        calls.push_back(std::make_unique<Operation>(*both.worlds[static_cast<std::size_t>(rank)], 1,
                                                    collectives::make_call(chain(), 0, kLong, kLongPiece), chain().algorithm, arguments));
    }
    both.engine(0).begin(*calls[0]);
    struct Caller {
        TwoEngines& both;
        Operation& call;
        const std::vector<std::byte>& received;
        std::vector<std::uint64_t> copied = {};
        std::uint64_t count() const { return static_cast<std::uint64_t>(std::count(received.begin(), received.end(), std::byte{7})); }
        static void come(void* self, int) {
            auto& caller = *static_cast<Caller*>(self);
            caller.both.engine(1).begin(caller.call);
            do caller.copied.push_back(caller.count());
            while (caller.both.engine(1).progress() > 0);
        }
    } caller{both, *calls[1], received};
    both.network.schedule(static_cast<Nanoseconds>(kHere + kLongPiece / 2), &Caller::come, &caller, 1);
    both.network.run();
    ASSERT_GT(caller.copied.size(), 2u);
    EXPECT_EQ(caller.copied.front(), 0u) << "the call itself does not wait for copies";
    EXPECT_EQ(caller.copied.back(), kHere) << "what was here";
    for (std::size_t i = 1; i < caller.copied.size(); ++i) EXPECT_LT(caller.copied[i] - caller.copied[i - 1], kLongPiece);
    EXPECT_TRUE(calls[0]->done() && calls[1]->done());
    EXPECT_EQ(calls[1]->error(), nullptr);
    EXPECT_TRUE(received == sent);
    EXPECT_EQ(both.engine(1).landing().used(), 0u);
}

}  // namespace
}  // namespace rollcall::model_test::decoupled::ahead
