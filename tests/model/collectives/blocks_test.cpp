// Blocks whose sizes differ. Compares every algorithm that takes them with a serial copy, on random machines, and tests sizes that do not
// match.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/blocks.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;

TEST(BlocksOfOwnSizes, EveryAlgorithmEveryRoot) {
    Random random(71);
    const auto algorithms = algorithms_of_blocks();
    ASSERT_GE(algorithms.size(), 17u);
    for (const auto* entry : algorithms)
        for (int n = 1; n <= 9; ++n)
            for (int root = 0; root < n; ++root)
                for (int repetition = 0; repetition < repetitions(5); ++repetition) {
                    BlocksCall call = random_call(random, *entry, n, root);
                    call.fill();
                    const auto options = random_machine(random, n, 3000);
                    const auto delays = random_delays(random, n, root, random.pick(std::vector<Nanoseconds>{0, 1000, 20'000}));
                    SCOPED_TRACE(describe(options) + "\n  " + call.text());
                    Simulation simulation(options);
                    const auto outcome = simulation.run(
                        [&](int rank) {
                            Simulation::RankCall made = call.of(rank);
                            if (call.planned) {
                                made.begin = delays[static_cast<std::size_t>(rank)] / 2;
                                made.algorithm = collectives::planned(*entry);
                            }
                            return made;
                        },
                        delays);
                    for (int rank = 0; rank < n; ++rank) {
                        const Error* error = outcome.errors[static_cast<std::size_t>(rank)].get();
                        ASSERT_EQ(error, nullptr) << "rank " << rank << ": " << error->what();
                        EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
                        EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
                    }
                    call.expect_moved();
                    if (HasFailure()) return;
                }
}

// The root counts another size for a rank than the rank itself gives. All ranks are told both sizes.
TEST(BlocksOfOwnSizes, WhatDoesNotMatchIsToldEverywhere) {
    Random random(72);
    for (const auto* entry : algorithms_of_blocks())
        for (int n = 2; n <= 6; ++n)
            for (int repetition = 0; repetition < repetitions(20); ++repetition) {
                const int root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
                const int other = (root + 1 + static_cast<int>(random.below(static_cast<std::uint64_t>(n - 1)))) % n;
                BlocksCall call = random_call(random, *entry, n, root);
                std::uint64_t& size = call.own_sizes[static_cast<std::size_t>(other)];
                const std::uint64_t counted = size;
                // The difference is one, many, or (for a block in pieces) less than the first piece.
                size = size > 0 && random.chance(0.5) ? random.below(size) : size + 1 + random.below(200);
                call.fill();
                const auto options = random_machine(random, n, 3000);
                SCOPED_TRACE(describe(options) + "\n  " + call.text() + fmt::format("; rank {} has {}", other, size));
                Simulation simulation(options);
                const auto outcome = simulation.run([&](int rank) { return call.of(rank); }, random_delays(random, n, root, 1000));
                for (int rank = 0; rank < n; ++rank) {
                    const Error* error = simulation.world(rank).broken.get();
                    ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
                    EXPECT_EQ(error->code(), ErrorCode::mismatch);
                    EXPECT_NE(std::string(error->what())
                                  .find(fmt::format("the root counts {} bytes for rank {}, but its block has {}", counted, other, size)),
                              std::string::npos)
                        << error->what();
                    EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
                    EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
                }
                if (HasFailure()) return;
            }
}

// One rank calls the form for blocks of equal size.
TEST(BlocksOfOwnSizes, AreNotEqualOnes) {
    Random random(73);
    for (const auto* entry : algorithms_of_blocks())
        for (const int n : {2, 3, 5})
            for (int deviant = 0; deviant < n; ++deviant) {
                BlocksCall call{.entry = *entry, .root = 0, .blocks = {}, .own_sizes = {}};
                for (int rank = 0; rank < n; ++rank) call.blocks.push_back({static_cast<std::uint64_t>(rank) * 10, 10});
                call.own_sizes.assign(static_cast<std::size_t>(n), 10);
                call.fill();
                SCOPED_TRACE(call.text());
                Simulation simulation(random_machine(random, n, 100));
                const auto outcome = simulation.run(
                    [&](int rank) {
                        Simulation::RankCall made = call.of(rank);
                        if (rank == deviant) {
                            made.call = collectives::make_call(*entry, 0, 10, 0);
                            made.arguments.blocks = nullptr;
                        }
                        return made;
                    },
                    random_delays(random, n, 0, 1000));
                for (int rank = 0; rank < n; ++rank) {
                    const Error* error = simulation.world(rank).broken.get();
                    ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
                    const std::string text = error->what();
                    EXPECT_NE(text.find(fmt::format("called {}(root=0, blocks of different sizes)", name(entry->operation))),
                              std::string::npos)
                        << text;
                    EXPECT_NE(text.find(fmt::format("rank {} called {}(root=0, 10 bytes)", deviant, name(entry->operation))),
                              std::string::npos)
                        << text;
                }
                if (HasFailure()) return;
            }
}

}  // namespace
}  // namespace rollcall::model_test
