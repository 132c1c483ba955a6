// Ranks die, and those that are left agree to go on without them: the engine's part, in virtual time.
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::AgreementCall;
using runtime::Simulation;

/// The calls of all ranks, and the ranks that have died.
struct Scene {
    explicit Scene(Simulation& its_simulation) : simulation(its_simulation), calls(static_cast<std::size_t>(its_simulation.size())) {}

    void call(int rank, Nanoseconds when) {
        simulation.network().schedule(
            when,
            [](void* scene, int its_rank) {
                auto& [its_simulation, its_calls, its_dead] = *static_cast<Scene*>(scene);
                if (its_dead.contains(its_rank)) return;
                auto& engine = its_simulation.engine(its_rank);
                auto& call = its_calls[static_cast<std::size_t>(its_rank)];
                call = std::make_unique<AgreementCall>(
                    its_simulation.world(its_rank).group, its_rank, 1,
                    runtime::Agreement::Part{engine.expect_communicator(), static_cast<std::uint64_t>(its_rank / 3)});
                engine.begin(*call);
            },
            this, rank);
    }
    void die(int rank, Nanoseconds when) {
        simulation.network().schedule(
            when,
            [](void* scene, int its_rank) {
                auto& its = *static_cast<Scene*>(scene);
                its.dead.insert(its_rank);
                its.simulation.kill(its_rank, "was killed by signal 9",
                                    [its_rank](int told) { return 100 + 37 * ((told + its_rank) % 5); });
            },
            this, rank);
    }
    const AgreementCall& of(int rank) const { return *calls[static_cast<std::size_t>(rank)]; }

    Simulation& simulation;
    std::vector<std::unique_ptr<AgreementCall>> calls;
    std::set<int> dead;
};

/// Time goes by.
void wait(Simulation& simulation, Nanoseconds time, const std::set<int>& dead) {
    const Nanoseconds until = simulation.network().now() + time;
    for (Nanoseconds now = simulation.network().now(); now < until; now += 5 * kMillisecond)
        for (int rank = 0; rank < simulation.size(); ++rank) {
            if (!dead.contains(rank)) simulation.engine(rank).tick(now);
            simulation.network().run();
        }
}

TEST(Shrinking, RanksThatAreLeftAgree) {
    Random random(91);
    int died_after = 0;
    for (int repetition = 0; repetition < repetitions(2000); ++repetition) {
        const int n = static_cast<int>(random.between(1, random.chance(0.1) ? 60 : 8));
        auto options = random_machine(random, n, 500);
        options.tick_for = kHour;
        Simulation simulation(options);
        Scene scene(simulation);
        const auto within = random.pick(std::vector<std::int64_t>{10, 3000, 50'000});
        for (int rank = 0; rank < n; ++rank) scene.call(rank, random.between(0, within));
        for (std::int64_t deaths = random.between(0, n - 1); deaths > 0; --deaths)
            scene.die(static_cast<int>(random.below(static_cast<std::uint64_t>(n))), random.between(0, 2 * within));
        simulation.network().run();
        wait(simulation, 100 * kMillisecond, scene.dead);
        SCOPED_TRACE(fmt::format("{}, {} dead of {}", describe(options), scene.dead.size(), n));
        const runtime::Survivors* first = nullptr;
        for (int rank = 0; rank < n; ++rank) {
            if (scene.dead.contains(rank)) continue;
            ASSERT_TRUE(scene.of(rank).done()) << "rank " << rank << " waits";
            ASSERT_EQ(scene.of(rank).error(), nullptr) << scene.of(rank).error()->what();
            const runtime::Survivors& its = *scene.of(rank).decision;
            if (!first) first = &its;
            ASSERT_EQ(its.ranks, first->ranks);
            ASSERT_EQ(its.id, first->id);
            ASSERT_TRUE(its.have(rank)) << "rank " << rank << " was left out";
            for (std::size_t i = 0; i < its.ranks.size(); ++i) ASSERT_EQ(its.first_slots[i], static_cast<std::uint64_t>(its.ranks[i] / 3));
            std::vector<int> all = its.ranks;
            all.insert(all.end(), its.lost.begin(), its.lost.end());
            ASSERT_EQ(static_cast<int>(all.size()), n);
            for (const int lost : its.lost) ASSERT_TRUE(scene.dead.contains(lost));
            died_after += std::ranges::any_of(its.ranks, [&](int member) { return scene.dead.contains(member); });
            EXPECT_EQ(simulation.engine(rank).has_gone_on(), !its.lost.empty());
        }
    }
    EXPECT_GT(died_after, 0) << "no rank died after the others had agreed";
}

// A loss that was agreed on is no reason for the job to fail. One that was not is.
TEST(Shrinking, LossesThatWereAgreedOnAreExcused) {
    Simulation::Options options;
    options.ranks = 4;
    Simulation simulation(options);
    Scene scene(simulation);
    scene.die(1, 0);
    for (const int rank : {0, 2, 3}) scene.call(rank, 10'000);
    simulation.network().run();
    for (const int rank : {0, 2, 3}) {
        ASSERT_TRUE(scene.of(rank).done());
        EXPECT_FALSE(simulation.engine(rank).loss()) << simulation.engine(rank).loss()->what();
    }
    scene.die(2, 0);
    simulation.network().run();
    for (const int rank : {0, 3}) {
        ASSERT_TRUE(simulation.engine(rank).loss());
        EXPECT_STREQ(simulation.engine(rank).loss()->what(), "rank 2 was killed by signal 9");
    }
}

// Rank 1 receives a message, and its sender takes it back in the middle to come to the agreement.
TEST(Shrinking, AReceiveWhoseMessageIsTakenBackFails) {
    Simulation::Options options;
    options.ranks = 3;
    options.landing_bytes = 0;
    Simulation simulation(options);
    Scene scene(simulation);
    Messages messages(simulation);
    const auto& received = messages.receive(1, 0, 1, 10'000'000, 0);
    auto& sent = messages.send(0, 1, 1, 10'000'000, 5, 0);
    scene.die(2, 0);
    scene.call(0, 20'000);
    struct TakeBack {
        Simulation& simulation;
        runtime::Transfer& sent;
        const runtime::Transfer& received;
    } take_back{simulation, sent, received};
    simulation.network().schedule(
        100'000,
        [](void* context, int) {
            const auto& [its_simulation, its_sent, its_received] = *static_cast<TakeBack*>(context);
            EXPECT_FALSE(its_sent.done() || its_received.done()) << "the message has come already";
            its_simulation.engine(0).abandon(its_sent, Error(ErrorCode::state, "it is taken back"));
        },
        &take_back, 0);
    simulation.network().run();
    wait(simulation, 50 * kMillisecond, scene.dead);
    ASSERT_TRUE(received.done());
    ASSERT_NE(received.error(), nullptr);
    EXPECT_STREQ(received.error()->what(), "rank 0 of communicator world has called shrink() because a rank was lost: call it, too");
    EXPECT_FALSE(scene.of(0).done()) << "rank 1 has not come";
    scene.call(1, 0);
    simulation.network().run();
    EXPECT_TRUE(scene.of(0).done() && scene.of(1).done());
}

}  // namespace
}  // namespace rollcall::model_test
