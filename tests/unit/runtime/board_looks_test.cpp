// What a rank sees of the arrivals on its board, and what its looks cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/unit/runtime/lane.hpp"

namespace rollcall::runtime {
namespace {

// Ends when the board has shown all ranks.
Task wait_for_all(Operation& op) {
    Arrivals& arrivals = op.arrivals();
    int come = 1;
    co_await op.until([&] {
        come += static_cast<int>(arrivals.take().size());
        return come == op.size();
    });
}

// Rank 0 of a job waits until the others have arrived.
class Waiting {
  public:
    explicit Waiting(int ranks) : network_(ranks), engine_(network_, machine_, arena_, options(ranks)), world_(group(ranks), 0) {
        engine_.add(world_);
        operation_.begin(engine_);
    }
    ~Waiting() {
        if (!operation_.done()) operation_.abandon(engine_, Error(ErrorCode::timeout, "the test is over"));
        engine_.remove(world_);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    void arrive(int rank) {
        BoardSlot slot{operation_.sequence(), 1, kUnknownTime, 0};
        slot.seal(world_.group->id);
        const std::uint64_t offset = slot_offset(world_.group->slot_of(0, rank));
        std::memcpy(network_.board().data() + offset, &slot, sizeof slot);
    }
    /// Returns the cost of a poll.
    std::uint64_t poll() {
        const std::uint64_t before = engine_.steps();
        engine_.progress();
        return engine_.steps() - before;
    }
    Engine& engine() { return engine_; }
    bool is_over() const { return operation_.done(); }

  private:
    static Engine::Options options(int ranks) {
        Engine::Options options;
        options.size = ranks;
        return options;
    }
    static std::shared_ptr<const Group> group(int ranks) {
        auto group = std::make_shared<Group>();
        group->id = kCommunicator;
        group->name = "world";
        group->size = ranks;
        return group;
    }

    NoNetwork network_;
    transport::RealMachine machine_;
    FrameArena arena_;
    Engine engine_;
    CommunicatorState world_;
    Operation operation_{world_, world_.next_sequence++, Call{}, &wait_for_all, Arguments{}};
};

TEST(BoardLooks, CostAPollTheSameHoweverManyRanksAreAwaited) {
    const auto dearest = [](int ranks) {
        Waiting waiting(ranks);
        std::uint64_t dearest = 0;
        for (int i = 0; i < ranks; ++i) dearest = std::max(dearest, waiting.poll());
        return dearest;
    };
    EXPECT_EQ(dearest(10'000), dearest(1'000));
}

TEST(BoardLooks, FindWhoeverArrivesInTurn) {
    constexpr int kRanks = 1'000, kPolls = 20;
    Waiting waiting(kRanks);
    for (int rank = kRanks - 1; rank > 0; --rank) {
        ASSERT_FALSE(waiting.is_over());
        waiting.arrive(rank);
        // Two ranks have not arrived before the last ones do: those that are first and last in turn.
        if (rank % 100 == 1)
            for (int i = 0; i < kPolls; ++i) waiting.poll();
    }
    EXPECT_TRUE(waiting.is_over());
}

TEST(BoardLooks, FindAllThatHaveArrivedAtOnce) {
    constexpr int kRanks = 1'000;
    Waiting waiting(kRanks);
    for (int rank = 1; rank < kRanks; ++rank) waiting.arrive(rank);
    waiting.poll();
    EXPECT_TRUE(waiting.is_over());
}

// A rank that arrives after this look nudges the rank that sleeps. One that arrived before does not.
TEST(BoardLooks, VisitEverySlotBeforeThisRankSleeps) {
    constexpr int kRanks = 1'000;
    for (const int last : {1, kRanks / 2, kRanks - 1}) {
        Waiting waiting(kRanks);
        for (int rank = 1; rank < kRanks; ++rank)
            if (rank != last) waiting.arrive(rank);
        waiting.poll();
        waiting.engine().set_sleeping(true);
        waiting.poll();
        EXPECT_FALSE(waiting.is_over());
        waiting.arrive(last);
        waiting.poll();
        EXPECT_TRUE(waiting.is_over());
    }
    Waiting waiting(kRanks);
    waiting.arrive(kRanks - 1);
    waiting.engine().set_sleeping(true);
    const std::uint64_t cost = waiting.poll();
    EXPECT_GE(cost, kRanks - 1);
}

}  // namespace
}  // namespace rollcall::runtime
