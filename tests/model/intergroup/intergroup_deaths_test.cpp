// A rank dies in the middle of an operation between two groups, by every algorithm: no rank hangs, and all others are told which rank it
// was.
#include <array>
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
    for (const auto& row : collectives::intergroup_operations())
        for (const auto& entry : row.algorithms)
            for (int repetition = 0; repetition < repetitions(150); ++repetition) {
                const bool has_one_size = row.has_root || row.combines;
                const int p = static_cast<int>(random.between(1, 7)), q = static_cast<int>(random.between(1, 7)), n = p + q;
                const int root = row.has_root ? static_cast<int>(random.below(static_cast<std::uint64_t>(n))) : -1;
                const std::uint64_t first = random.pick(BlockSizes{1, 100, 5000}),
                                    second = has_one_size ? first : random.pick(BlockSizes{0, 100, 5000});
                auto options = random_machine(random, n, 5000, entry);
                options.first_group = p;
                options.tick_for = kHour;
                const auto arrivals = random_delays(random, n, 0, random.pick(std::vector<Nanoseconds>{0, 1000, 20'000}));
                const int victim = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
                const Nanoseconds when = random.between(0, 60'000);
                const bool own_sizes = entry.operation == OperationKind::intergroup_allgather && random.chance(0.3);
                SCOPED_TRACE(fmt::format("{} {} p={} q={} root={} blocks of {} and {} own_sizes={} rank {} dies at {}, {}", name(row.kind),
                                         entry.name, p, q, root, first, second, own_sizes, victim, when, describe(options)));
                Simulation simulation(options);
                Loss death{&simulation, victim, random.between(0, 3000)};
                simulation.network().schedule(when, &kill, &death, victim);
                std::vector<std::array<std::vector<std::byte>, 3>> memory(static_cast<std::size_t>(n));
                std::vector<std::vector<runtime::Block>> layouts(memory.size());
                for (int rank = 0; rank < n; ++rank) {
                    const std::uint64_t others = static_cast<std::uint64_t>(rank < p ? q : p), size = rank < p ? second : first;
                    for (std::uint64_t i = 0; i < others; ++i) layouts[static_cast<std::size_t>(rank)].push_back({i * size, size});
                }
                const auto outcome = simulation.run(
                    [&](int rank) {
                        const auto r = static_cast<std::size_t>(rank);
                        Simulation::RankCall made{call_between(entry, p, root, first, second, rank), entry.algorithm,
                                                  arguments_between(row, p, q, root, first, second, rank)};
                        auto& arguments = made.arguments;
                        const std::array sizes = {arguments.contribution.size, arguments.data.size, arguments.result.size};
                        for (std::size_t i = 0; i < sizes.size(); ++i) memory[r][i].resize(sizes[i]);
                        arguments.contribution.data = memory[r][0].data();
                        arguments.data.data = memory[r][1].data();
                        arguments.result.data = memory[r][2].data();
                        if (!own_sizes) return made;
                        made.call.own_sizes = true;
                        made.call.bytes = arguments.contribution.size;
                        made.call.segment_bytes = 0;
                        arguments.blocks = layouts[r].data();
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
