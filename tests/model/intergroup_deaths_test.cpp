// A rank dies in the middle of an allgather between two groups, by every algorithm: no rank hangs, and all others are told which rank it
// was.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/intergroup.hpp"

namespace rollcall::model_test {
namespace {

using runtime::OperationKind;
using runtime::Simulation;

struct Loss {
    Simulation* simulation;
    int rank;
    Nanoseconds told_after;
};
void kill(void* death, int) {
    auto& [simulation, rank, told_after] = *static_cast<Loss*>(death);
    simulation->kill(rank, "was killed by signal 9", [&](int) { return told_after; });
}

TEST(IntergroupDeaths, EverybodyIsToldTheName) {
    Random random(164);
    int in_the_call = 0;
    for (const auto& entry : collectives::operation(OperationKind::intergroup_allgather).algorithms)
        for (int repetition = 0; repetition < repetitions(150); ++repetition) {
            const int p = static_cast<int>(random.between(1, 7)), q = static_cast<int>(random.between(1, 7)), n = p + q;
            const std::uint64_t first = random.pick(BlockSizes{1, 100, 5000}), second = random.pick(BlockSizes{0, 100, 5000});
            auto options = random_machine(random, n, 5000, entry);
            options.first_group = p;
            options.tick_for = kHour;
            const auto arrivals = random_delays(random, n, 0, random.pick(std::vector<Nanoseconds>{0, 1000, 20'000}));
            const int victim = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            const Nanoseconds when = random.between(0, 60'000);
            const bool own_sizes = random.chance(0.3);
            SCOPED_TRACE(fmt::format("{} p={} q={} blocks of {} and {} own_sizes={} rank {} dies at {}, {}", entry.name, p, q, first,
                                     second, own_sizes, victim, when, describe(options)));
            Simulation simulation(options);
            Loss death{&simulation, victim, random.between(0, 3000)};
            simulation.network().schedule(when, &kill, &death, victim);
            std::vector<std::vector<std::byte>> blocks, all;
            std::vector<std::vector<runtime::Block>> layouts(static_cast<std::size_t>(n));
            for (int rank = 0; rank < n; ++rank) {
                const std::uint64_t others = static_cast<std::uint64_t>(rank < p ? q : p), size = rank < p ? second : first;
                blocks.emplace_back(rank < p ? first : second);
                all.emplace_back(others * size);
                for (std::uint64_t i = 0; i < others; ++i) layouts[static_cast<std::size_t>(rank)].push_back({i * size, size});
            }
            const auto outcome = simulation.run(
                [&](int rank) {
                    const auto r = static_cast<std::size_t>(rank);
                    Simulation::RankCall made{
                        collectives::make_call(entry, -1, own_sizes ? blocks[r].size() : first, own_sizes ? 0 : second),
                        entry.algorithm,
                        {}};
                    made.call.own_sizes = own_sizes;
                    made.arguments.contribution = {blocks[r].data(), blocks[r].size()};
                    made.arguments.data = {all[r].data(), all[r].size()};
                    if (own_sizes) made.arguments.blocks = layouts[r].data();
                    return made;
                },
                arrivals);
            for (int rank = 0; rank < n; ++rank) {
                if (rank == victim) continue;
                // A rank whose part was done before learns of it at its next call.
                const Error* const broken = simulation.world(rank).broken.get();
                ASSERT_NE(broken, nullptr) << "rank " << rank << " was not told";
                EXPECT_EQ(broken->code(), ErrorCode::peer_failed) << broken->what();
                EXPECT_EQ(broken->failed_rank(), victim) << broken->what();
                const Error* const error = outcome.errors[static_cast<std::size_t>(rank)].get();
                if (!error) continue;
                ++in_the_call;
                EXPECT_EQ(error->code(), ErrorCode::peer_failed) << error->what();
                EXPECT_EQ(error->failed_rank(), victim) << error->what();
            }
            if (HasFailure()) return;
        }
    EXPECT_GT(in_the_call, 0) << "each rank died after the call";
}

}  // namespace
}  // namespace rollcall::model_test
