// Ranks that give up a call tell all others, with few messages also where all give up at once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;

// Ranks of a job wait in a broadcast from rank 0, which does not call it. Some of them give up at the same time, or one after the other.
class Stuck {
  public:
    explicit Stuck(int ranks) : simulation(options(ranks)), job_(simulation, {step(ranks)}) {
        job_.stop(0);
        job_.run();
        messages_ = simulation.network().messages();
    }
    void give_up(int rank) {
        for (runtime::Operation* operation : job_.unfinished(rank))
            operation->abandon(simulation.engine(rank), Error(ErrorCode::timeout, "not within its deadline", rank));
    }
    /// The number of messages since the beginning for each rank.
    std::uint64_t messages_each() { return (simulation.network().messages() - messages_) / static_cast<std::uint64_t>(simulation.size()); }
    /// A rank that has not been told; -1: there is none.
    int untold() {
        for (int rank = 0; rank < simulation.size(); ++rank)
            if (!simulation.world(rank).is_broken_at(1)) return rank;
        return -1;
    }

    Simulation simulation;

  private:
    static Simulation::Options options(int ranks) {
        Simulation::Options options;
        options.ranks = ranks;
        return options;
    }
    static Step step(int ranks) {
        Step step;
        step.entry = &broadcast("linear");
        step.bytes = 8;
        step.delays.assign(static_cast<std::size_t>(ranks), 0);
        return step;
    }
    Job job_;
    std::uint64_t messages_ = 0;
};

TEST(GiveUp, OfAllRanksAtOnceCostsEachAFewMessages) {
    const auto messages_each = [](int ranks, int every) {
        Stuck stuck(ranks);
        for (int rank = 1; rank < ranks; rank += every) stuck.give_up(rank);
        stuck.simulation.network().run();
        tell_all(stuck.simulation);
        EXPECT_EQ(stuck.untold(), -1) << ranks << " ranks";
        return stuck.messages_each();
    };
    for (const int every : {1, 2, 30, 100})
        for (const int ranks : {100, 1000}) EXPECT_LE(messages_each(ranks, every), 20u) << every << " of " << ranks << " ranks give up";
}

TEST(GiveUp, OfAnyRanksIsToldToAll) {
    Random random(45);
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        Stuck stuck(static_cast<int>(random.between(2, random.chance(0.1) ? 300 : 60)));
        const int ranks = stuck.simulation.size();
        SCOPED_TRACE(fmt::format("{} ranks, repetition {}", ranks, repetition));
        Nanoseconds now = stuck.simulation.network().now();
        for (std::int64_t i = random.between(1, 20); i > 0; --i) {
            const int rank = static_cast<int>(random.between(1, ranks - 1));
            stuck.give_up(rank);
            if (random.chance(0.3)) stuck.simulation.network().run();
            if (random.chance(0.3)) stuck.simulation.engine(rank).tick(now += 3 * kMillisecond);
        }
        stuck.simulation.network().run();
        tell_all(stuck.simulation);
        ASSERT_EQ(stuck.untold(), -1);
    }
}

void expect_told_before_message(Stuck& stuck, int from) {
    Messages messages(stuck.simulation);
    const auto& received = messages.receive(60, from, 1, 8, 0);
    messages.send(from, 60, 1, 8, 0, 0);
    stuck.simulation.network().run();
    EXPECT_TRUE(received.done());
    EXPECT_TRUE(stuck.simulation.world(60).is_broken_at(1));
}

// What a rank sends after it has given up comes after the news, and so does the end of its communicator.
TEST(GiveUp, IsToldBeforeWhatComesLater) {
    constexpr int kRanks = 100;
    Stuck stuck(kRanks);
    stuck.give_up(3);
    stuck.simulation.network().run();
    EXPECT_GE(stuck.untold(), 0);
    expect_told_before_message(stuck, 3);

    // Rank 40 has heard of rank 3 and leaves the rest to it. It sends to rank 60 before rank 3 has come to that one.
    Stuck several(kRanks);
    several.give_up(40);
    several.give_up(3);
    several.simulation.network().run();
    several.simulation.engine(3).tick(several.simulation.network().now() + 5 * kMillisecond);
    several.simulation.network().run();
    ASSERT_FALSE(several.simulation.world(60).is_broken_at(1));
    expect_told_before_message(several, 40);

    Stuck other(kRanks);
    other.give_up(3);
    other.simulation.engine(3).remove(other.simulation.world(3));
    other.simulation.network().run();
    EXPECT_EQ(other.untold(), 3);  // which has removed its own
}

}  // namespace
}  // namespace rollcall::model_test
