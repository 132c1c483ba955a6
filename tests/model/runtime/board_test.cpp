// Lost entries on the arrivals boards. When some ranks have destroyed a communicator, late entries of the others overwrite what now stands
// in its former slots. These tests wipe the boards instead. A call then takes longer, but it succeeds.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/arrivals/board.hpp"
#include "tests/model/decoupled.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::CommunicatorState;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

Simulation::Options slow_ranks(int n) {
    Simulation::Options options;
    options.ranks = n;
    options.model.alpha = 10;
    options.tick_for = kHour;
    return options;
}

void wipe(Simulation& simulation, int rank) {
    const auto board = simulation.engine(rank).transport().board();
    std::memset(board.data() + runtime::kBoardHead, 0, board.size() - runtime::kBoardHead);
}

Simulation::RankCall rooted_call(const AlgorithmEntry& entry, int rank, int root, const Times& arrivals) {
    constexpr std::uint64_t kBytes = 8;
    Simulation::RankCall call;
    call.call = collectives::make_call(entry, root, kBytes, 0);
    call.algorithm = entry.algorithm;
    call.arguments =
        collectives::arguments_of(collectives::operation(entry.operation), {}, kBytes, static_cast<int>(arrivals.size()), rank == root);
    call.arguments.oracle = arrivals.data();
    return call;
}

// A root waits for forty ranks, none of which comes.
TEST(LostNotices, AreAskedForOfSixteenRanksAtATime) {
    Simulation::Options options;
    options.ranks = 41;
    options.node_memory = false;
    Simulation simulation(options);
    decoupled::HandMade gather(simulation, 0, collectives::find_algorithm(OperationKind::gather, "online_linear"), 0, 8, std::byte{0});
    runtime::Engine& root = simulation.engine(0);
    root.begin(*gather.operation);
    simulation.network().run();
    std::vector<std::uint64_t> asked;
    for (int ticks = 0; ticks < 100 && asked.size() < 3; ++ticks) {
        const std::uint64_t before = simulation.network().messages();
        ASSERT_NE(root.due(), kNever);
        root.tick(root.due());
        if (const auto sent = simulation.network().messages() - before; sent > 0) asked.push_back(sent);
    }
    EXPECT_EQ(asked, (std::vector<std::uint64_t>{16, 16, 8}));
    gather.operation->abandon(root, Error(ErrorCode::timeout, "no rank came"));
    simulation.network().run();
}

// Several ranks reach the call before the root does, and the root finds nothing on its board.
TEST(LostNotices, AreToldOf) {
    Random random(81);
    for (const AlgorithmEntry* entry : moving_algorithms())
        for (int repetition = 0; repetition < repetitions(20); ++repetition) {
            const int n = static_cast<int>(random.between(2, random.chance(0.2) ? 40 : 9));
            const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            SCOPED_TRACE(fmt::format("{}, {} ranks, root {}", entry->name, n, root));
            Simulation simulation(slow_ranks(n));
            Times arrivals;
            for (int rank = 0; rank < n; ++rank) arrivals.push_back(random.pick(Times{0, 0, 1500}));
            arrivals[static_cast<std::size_t>(root)] = 1000;
            simulation.network().schedule(
                500, [](void* context, int on) { wipe(*static_cast<Simulation*>(context), on); }, &simulation, root);
            const auto outcome = simulation.run([&](int rank) { return rooted_call(*entry, rank, root, arrivals); }, arrivals);
            for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
        }
}

// Only one of many notices is lost. All the others are asked as well, and are late.
TEST(LostNotices, AreToldOfAmongManyWhoAreLate) {
    constexpr int n = 60;
    for (const auto& [operation, name] :
         {std::pair{OperationKind::broadcast, "arrival_blocking"}, std::pair{OperationKind::gather, "online_linear"}}) {
        for (const int lost : {1, 30, n - 1}) {
            const AlgorithmEntry& entry = collectives::find_algorithm(operation, name);
            Simulation simulation(slow_ranks(n));
            Times arrivals(n, 100 * kSecond);
            arrivals[0] = 1000;
            arrivals[static_cast<std::size_t>(lost)] = 0;
            simulation.network().schedule(
                500, [](void* context, int on) { wipe(*static_cast<Simulation*>(context), on); }, &simulation, 0);
            const auto outcome = simulation.run([&](int rank) { return rooted_call(entry, rank, 0, arrivals); }, arrivals);
            EXPECT_LT(outcome.exits[static_cast<std::size_t>(lost)], 2 * kSecond) << name << ", rank " << lost;
        }
    }
}

// A communicator of all ranks beside the world. Each rank makes and destroys it when it likes.
class Part {
  public:
    explicit Part(Simulation& simulation) : simulation_(simulation), group_(std::make_shared<runtime::Group>()) {
        group_->id = 100;
        group_->name = "part";
        group_->size = simulation.size();
        states_.resize(static_cast<std::size_t>(simulation.size()));
        operations_.resize(states_.size());
    }
    ~Part() {
        for (int rank = 0; rank < group_->size; ++rank)
            if (state(rank)) destroy(rank);
    }
    void make(int rank) {
        state(rank) = std::make_unique<CommunicatorState>(group_, rank);
        simulation_.engine(rank).add(*state(rank));
    }
    Operation& begin(int rank, const Simulation::RankCall& call) {
        auto& operation = operations_[static_cast<std::size_t>(rank)];
        operation =
            std::make_unique<Operation>(*state(rank), state(rank)->next_sequence++, call.call, call.algorithm.algorithm, call.arguments);
        operation->begin(simulation_.engine(rank));
        return *operation;
    }
    void destroy(int rank) {
        auto& operation = operations_[static_cast<std::size_t>(rank)];
        if (operation && !operation->done()) {
            operation->abandon(simulation_.engine(rank), Error(ErrorCode::timeout, "the test is over"));
            simulation_.network().run();
        }
        operation.reset();
        simulation_.engine(rank).remove(*state(rank));
        state(rank).reset();
    }

  private:
    std::unique_ptr<CommunicatorState>& state(int rank) { return states_[static_cast<std::size_t>(rank)]; }

    Simulation& simulation_;
    std::shared_ptr<runtime::Group> group_;
    std::vector<std::unique_ptr<CommunicatorState>> states_;
    std::vector<std::unique_ptr<Operation>> operations_;
};

// Lets time pass for this rank, and handles everything that happens in that time.
void pass(Simulation& simulation, int rank, Nanoseconds seconds) {
    for (Nanoseconds now = 1; now <= seconds; ++now) {
        simulation.engine(rank).tick(now * kSecond);
        simulation.network().run();
    }
}

Simulation::RankCall board_barrier() {
    const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::barrier, "board_all_to_all");
    return {collectives::make_call(entry, -1, 0, 0), entry.algorithm, {}};
}

// The last rank sees no signal. Meanwhile all others have ended the barrier and destroyed the communicator.
TEST(LostSignals, AreToldOfAfterTheEndOfTheCommunicator) {
    for (const int n : {2, 3, 8, 40})
        for (const int barriers : {1, 2, 3}) {
            Simulation simulation(slow_ranks(n));
            Part part(simulation);
            for (int rank = 0; rank < n; ++rank) part.make(rank);
            const int last = n / 2;
            for (int barrier = 0; barrier < barriers; ++barrier) {
                std::vector<Operation*> operations(static_cast<std::size_t>(n));
                for (int rank = 0; rank < n; ++rank)
                    if (rank != last) operations[static_cast<std::size_t>(rank)] = &part.begin(rank, board_barrier());
                simulation.network().run();
                for (const Operation* operation : operations) ASSERT_TRUE(!operation || !operation->done());
                const bool lost = barrier == barriers - 1;
                if (lost) wipe(simulation, last);
                Operation& late = part.begin(last, board_barrier());
                simulation.network().run();
                for (const Operation* operation : operations) ASSERT_TRUE(!operation || operation->done());
                ASSERT_EQ(late.done(), !lost);
                if (!lost) continue;
                for (int rank = 0; rank < n; ++rank)
                    if (rank != last) part.destroy(rank);
                pass(simulation, last, 10);
                ASSERT_TRUE(late.done()) << n << " ranks, " << barriers << " barriers";
                EXPECT_EQ(late.error(), nullptr);
            }
        }
}

// A rank that gave up and destroyed the communicator has told the others, except those that had not yet made the communicator.
TEST(LostSignals, AreNotSeenWhereABarrierFailed) {
    Simulation simulation(slow_ranks(2));
    Part part(simulation);
    part.make(0);
    part.begin(0, board_barrier()).abandon(simulation.engine(0), Error(ErrorCode::timeout, "rank 0 has waited long enough"));
    simulation.network().run();
    part.destroy(0);
    wipe(simulation, 1);
    part.make(1);
    Operation& late = part.begin(1, board_barrier());
    simulation.network().run();
    pass(simulation, 1, 10);
    ASSERT_TRUE(late.done());
    ASSERT_NE(late.error(), nullptr);
    EXPECT_EQ(late.error()->code(), ErrorCode::timeout);
    EXPECT_STREQ(late.error()->what(), "rank 0 has waited long enough");
}

}  // namespace
}  // namespace rollcall::model_test
