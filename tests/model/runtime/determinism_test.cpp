// The same seed gives the same run. Jobs of thousands of ranks work.
#include <gtest/gtest.h>

#include "tests/model/job.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;

TEST(Simulation, SameCallsSameTimesMessagesAndEvents) {
    Random random(51);
    for (int repetition = 0; repetition < repetitions(200); ++repetition) {
        const int n = static_cast<int>(random.between(2, 30));
        const auto options = random_machine(random, n, 1000);
        std::vector<Step> steps;
        for (int i = 0; i < 3; ++i) {
            Step step;
            step.entry = random.pick(moving_algorithms());
            step.root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            step.bytes = random.below(2000);
            step.segment = step.entry->segmented ? 100 : 0;
            step.delays = random_delays(random, n, step.root, 3000);
            plan_at_random(random, step);
            steps.push_back(std::move(step));
        }
        SCOPED_TRACE(describe(options));
        std::vector<Nanoseconds> first_exits;
        std::uint64_t first_numbers[3] = {};
        for (const bool first : {true, false}) {
            Simulation simulation(options);
            Job job(simulation, steps);
            job.run();
            std::vector<Nanoseconds> exits;
            for (int rank = 0; rank < n; ++rank)
                for (std::size_t i = 0; i < steps.size(); ++i) exits.push_back(job.exit(rank, i));
            auto& network = simulation.network();
            const std::uint64_t numbers[3] = {network.messages(), network.bytes(), network.events()};
            if (first) {
                first_exits = exits;
                std::copy(std::begin(numbers), std::end(numbers), first_numbers);
                continue;
            }
            ASSERT_EQ(exits, first_exits);
            for (int i = 0; i < 3; ++i) ASSERT_EQ(numbers[i], first_numbers[i]);
        }
    }
}

TEST(Simulation, ThousandsOfRanks) {
    Random random(52);
    for (const auto* name : {"binomial", "arrival_nonblocking"}) {
        Simulation::Options options;
        options.ranks = 4096;
        options.model.alpha = 1000;
        options.model.beta = 0.1;
        Simulation simulation(options);
        Simulation::RankCall call;
        call.call = {.bytes = 8 << 20, .root = 7, .kind = runtime::OperationKind::broadcast};
        call.algorithm = broadcast(name).algorithm;
        call.arguments.data = {nullptr, 8 << 20};
        call.arguments.segment_bytes = 1 << 20;
        std::vector<Nanoseconds> arrivals(4096);
        for (Nanoseconds& arrival : arrivals) arrival = random.between(0, 50'000'000);
        std::uint64_t watched = 0;
        simulation.network().set_watch([](void* count) { ++*static_cast<std::uint64_t*>(count); }, &watched);
        const auto outcome = simulation.run([&](int) { return call; }, arrivals);
        EXPECT_EQ(watched, outcome.events / transport::SimulatedNetwork::kWatchedEvents);
        EXPECT_GE(watched, 1u);
        EXPECT_GE(outcome.bytes, 4095ull * (8 << 20)) << name;
        EXPECT_LE(outcome.bytes, 4095ull * ((8 << 20) + 64)) << name;
        for (std::size_t rank = 0; rank < 4096; ++rank) {
            EXPECT_EQ(outcome.errors[rank], nullptr);
            EXPECT_GE(outcome.exits[rank], outcome.arrivals[rank]);
        }
    }
}

}  // namespace
}  // namespace rollcall::model_test
