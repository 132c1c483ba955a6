// Allgather and alltoall of blocks of different sizes: what every algorithm gives, and sizes that do not match.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/blocks.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::Block;
using runtime::OperationKind;
using runtime::Simulation;

std::byte byte_between(int from, int to, std::uint64_t position) {
    return static_cast<std::byte>(1 + (static_cast<std::uint64_t>(from) * 37 + static_cast<std::uint64_t>(to) * 59 + position) % 200);
}

/// The blocks of one call in the memory of each rank: those that it contributes and those that it receives.
struct ExchangeMemory {
    std::vector<std::vector<Block>> sent, received;  ///< By rank. An allgather has one block to send.
    std::vector<std::vector<std::byte>> from, into, expected;
    bool in_place = false;

    /// `is_for_each`: blocks differ between receivers. The sizes are the same on all ranks, but each rank has its own places.
    ExchangeMemory(Random& random, int n, bool is_for_each) : in_place(!is_for_each && random.chance(0.3)) {
        const auto ranks = static_cast<std::size_t>(n);
        std::vector<std::vector<std::uint64_t>> sizes(ranks);
        for (auto& row : sizes)
            for (const Block& block : random_blocks(random, n)) row.push_back(block.size);
        sent.resize(ranks);
        received.resize(ranks);
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            sent[rank] = place(
                random, n, [&](std::size_t to) { return sizes[rank][is_for_each ? to : 0]; }, is_for_each ? ranks : 1);
            received[rank] = place(
                random, n, [&](std::size_t source) { return sizes[source][is_for_each ? rank : 0]; }, ranks);
        }
        fill(is_for_each);
    }
    void fill(bool is_for_each) {
        const std::size_t ranks = sent.size();
        from.assign(ranks, {});
        into.assign(ranks, {});
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            from[rank].assign(end_of(sent[rank]), kUntouched);
            into[rank].assign(end_of(received[rank]), kUntouched);
            for (std::size_t to = 0; to < sent[rank].size(); ++to) write(from[rank], sent[rank][to], rank, is_for_each ? to : 0);
        }
        expected = into;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            for (std::size_t source = 0; source < ranks; ++source)
                write(expected[rank], received[rank][source], source, is_for_each ? rank : 0);
            if (in_place) write(into[rank], received[rank][rank], rank, 0);
        }
    }

  private:
    static std::vector<Block> place(Random& random, int n, const std::function<std::uint64_t(std::size_t)>& size, std::size_t count) {
        std::vector<Block> blocks(count);
        // Either in rank order without gaps, or in any order with gaps.
        const bool is_dense = random.chance(0.5);
        const auto shift = static_cast<std::size_t>(is_dense ? 0 : random.below(static_cast<std::uint64_t>(n)));
        std::uint64_t end = 0;
        for (std::size_t i = 0; i < count; ++i) {
            Block& block = blocks[(i * (is_dense ? 1 : count - 1) + shift) % count];
            block.offset = end + (is_dense ? 0 : random.below(20));
            block.size = size(static_cast<std::size_t>(&block - blocks.data()));
            end = block.offset + block.size;
        }
        return blocks;
    }
    static void write(std::vector<std::byte>& memory, const Block& block, std::size_t from_rank, std::size_t to) {
        for (std::uint64_t at = 0; at < block.size; ++at)
            memory[block.offset + at] = byte_between(static_cast<int>(from_rank), static_cast<int>(to), at);
    }
};

/// Returns the call of rank `rank`. The memory must outlive it.
Simulation::RankCall call_of(const AlgorithmEntry& entry, ExchangeMemory& memory, int rank, std::uint64_t segment = 0) {
    const bool is_for_each = collectives::operation(entry.operation).personalized;
    const auto r = static_cast<std::size_t>(rank);
    const std::vector<Block>&sent = memory.sent[r], &received = memory.received[r];
    std::uint64_t sizes = runtime::kManySizes;
    if (!is_for_each) {
        runtime::SumOfSizes counted;
        for (std::size_t other = 0; other < received.size(); ++other) counted.add(static_cast<int>(other), received[other].size);
        sizes = counted.sum();
    }
    Simulation::RankCall call{collectives::make_call(entry, -1, sizes, segment), entry.algorithm, {}};
    call.call.own_sizes = true;
    call.arguments.segment_bytes = segment;
    call.arguments.data = {memory.into[r].data(), memory.into[r].size()};
    call.arguments.blocks = received.data();
    if (is_for_each) {
        call.arguments.contribution = {memory.from[r].data(), memory.from[r].size()};
        call.arguments.contribution_blocks = sent.data();
    } else if (memory.in_place) {
        call.arguments.contribution = runtime::slice(call.arguments.data, received[r].offset, received[r].size);
    } else {
        call.arguments.contribution = {memory.from[r].data() + sent[0].offset, sent[0].size};
    }
    return call;
}

std::vector<const AlgorithmEntry*> algorithms_of_own_sizes() {
    std::vector<const AlgorithmEntry*> found;
    for (const OperationKind operation : {OperationKind::allgather, OperationKind::alltoall})
        for (const AlgorithmEntry* const entry : algorithms(operation))
            if (!entry->needs.contains(collectives::Condition::equal_blocks)) found.push_back(entry);
    return found;
}

TEST(ExchangesOfOwnSizes, EveryAlgorithm) {
    Random random(91);
    ASSERT_GE(algorithms_of_own_sizes().size(), 10u);
    for (const AlgorithmEntry* const entry : algorithms_of_own_sizes())
        for (int n = 1; n <= 17; ++n)
            for (int repetition = 0; repetition < repetitions(4); ++repetition) {
                const auto options = random_machine(random, n, 3000, *entry);
                ExchangeMemory memory(random, n, collectives::operation(entry->operation).personalized);
                const auto delays = random_delays(random, n, 0, random.pick(std::vector<Nanoseconds>{0, 1000, 20'000}));
                const bool is_planned = random.chance(0.4);
                const std::uint64_t segment = entry->segmented ? random.pick(std::vector<std::uint64_t>{0, 1, 100, 1000}) : 0;
                SCOPED_TRACE(fmt::format("{} {} {} in_place={} planned={} segment={}", name(entry->operation), entry->name,
                                         describe(options), memory.in_place, is_planned, segment));
                Simulation simulation(options);
                const auto outcome = simulation.run(
                    [&](int rank) {
                        Simulation::RankCall call = call_of(*entry, memory, rank, segment);
                        if (is_planned) {
                            call.begin = delays[static_cast<std::size_t>(rank)] / 2;
                            call.algorithm = collectives::planned(*entry);
                        }
                        return call;
                    },
                    delays);
                for (int rank = 0; rank < n; ++rank) {
                    const Error* const error = outcome.errors[static_cast<std::size_t>(rank)].get();
                    ASSERT_EQ(error, nullptr) << "rank " << rank << ": " << error->what();
                    EXPECT_EQ(memory.into[static_cast<std::size_t>(rank)], memory.expected[static_cast<std::size_t>(rank)]) << rank;
                    EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
                    EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
                }
                if (HasFailure()) return;
            }
}

/// What a rank may choose for an allgather that counts other sizes than the ranks that take `algorithm`. Both can run on the same machine.
const AlgorithmEntry& other_choice(Random& random, const AlgorithmEntry& algorithm) {
    const AlgorithmEntry* other = nullptr;
    do {
        other = random.pick(algorithms(OperationKind::allgather));
    } while (!other->needs.empty() && !algorithm.needs.empty() && other->needs != algorithm.needs);
    return *other;
}

// One rank counts another size for one block. All ranks are told which, also if it chooses another algorithm.
TEST(ExchangesOfOwnSizes, WhatDoesNotMatchIsToldEverywhere) {
    Random random(92);
    for (const AlgorithmEntry* const entry : algorithms_of_own_sizes())
        for (int n = 2; n <= 6; ++n)
            for (int repetition = 0; repetition < repetitions(10); ++repetition) {
                const bool is_for_each = collectives::operation(entry->operation).personalized;
                const AlgorithmEntry& of_wrong = is_for_each || random.chance(0.5) ? *entry : other_choice(random, *entry);
                auto options = random_machine(random, n, 3000, of_wrong.needs.empty() ? *entry : of_wrong);
                options.tick_for = kHour;
                ExchangeMemory memory(random, n, is_for_each);
                const auto wrong = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(n)));
                const std::size_t other = (wrong + 1 + random.below(static_cast<std::uint64_t>(n - 1))) % static_cast<std::size_t>(n);
                std::uint64_t& size = memory.received[wrong][other].size;
                const std::uint64_t right = size;
                size = size > 0 && random.chance(0.5) ? random.below(size) : size + 1 + random.below(200);
                memory.into[wrong].resize(end_of(memory.received[wrong]) + 300);
                SCOPED_TRACE(fmt::format("{} {} {}: rank {} ({}) counts {} for {}, which has {}", name(entry->operation), entry->name,
                                         describe(options), wrong, of_wrong.name, size, other, right));
                Simulation simulation(options);
                simulation.run([&](int rank) { return call_of(rank == static_cast<int>(wrong) ? of_wrong : *entry, memory, rank); },
                               random_delays(random, n, 0, 1000));
                for (int rank = 0; rank < n; ++rank) {
                    const Error* const error = simulation.world(rank).broken.get();
                    ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
                    EXPECT_EQ(error->code(), ErrorCode::mismatch);
                    const std::string what = error->what();
                    if (is_for_each) {
                        EXPECT_NE(
                            what.find(fmt::format("rank {} sends {} bytes to rank {}, which counts {} from it", other, right, wrong, size)),
                            std::string::npos)
                            << what;
                    } else {
                        EXPECT_NE(what.find("counts "), std::string::npos) << what;
                        const bool is_named =
                            what.find(fmt::format("{} bytes for the block of rank {}, but rank", right, other)) != what.npos ||
                            what.find(fmt::format("{} bytes for the block of rank {}, but rank", size, other)) != what.npos;
                        const bool is_general = what.find("counts other sizes than rank") != what.npos;
                        EXPECT_TRUE(is_named || is_general) << what;
                    }
                    EXPECT_EQ(simulation.engine(rank).early_messages(), 0u);
                    EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
                }
                if (HasFailure()) return;
            }
}

/// A job in which every rank that has not come passes blocks on, with room for all of them.
Simulation::Options forwarding(Random& random, int n) {
    Simulation::Options options;
    options.ranks = n;
    options.model.alpha = 20;
    options.eager_bytes = random.pick(std::vector<std::uint64_t>{0, 100});
    options.find_part_alone = &collectives::part_alone;
    return options;
}
const AlgorithmEntry& ring() { return collectives::find_algorithm(OperationKind::allgather, "background_disseminated_ring"); }

// A rank that passes blocks on before its caller comes knows their sizes from the messages. Some blocks are empty.
TEST(ExchangesOfOwnSizes, ALateRankPassesBlocksOn) {
    Random random(94);
    for (int n = 1; n <= 12; ++n)
        for (int repetition = 0; repetition < repetitions(20); ++repetition) {
            ExchangeMemory memory(random, n, false);
            const auto late = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(n)));
            std::vector<Nanoseconds> arrivals(static_cast<std::size_t>(n), 0);
            arrivals[late] = 1'000'000;
            Simulation simulation(forwarding(random, n));
            SCOPED_TRACE(fmt::format("n={} late={}", n, late));
            const auto outcome = simulation.run([&](int rank) { return call_of(ring(), memory, rank); }, arrivals);
            // Only the block of the late rank is still to go round. The last rank does not pass it on.
            const Nanoseconds message = 20 + static_cast<Nanoseconds>(memory.received[late][late].size);
            for (std::size_t rank = 0; rank < arrivals.size(); ++rank) {
                ASSERT_EQ(outcome.errors[rank], nullptr) << outcome.errors[rank]->what();
                EXPECT_EQ(memory.into[rank], memory.expected[rank]) << rank;
                EXPECT_LE(outcome.exits[rank], arrivals[late] + std::max(n - 1, 0) * message) << rank;
                EXPECT_EQ(simulation.engine(static_cast<int>(rank)).landing().used(), 0u);
            }
            if (HasFailure()) return;
        }
}

// The late rank passed on what it has not counted. It knows its own counts when it comes, so the error names the block.
TEST(ExchangesOfOwnSizes, ALateRankIsToldWhichBlockItCountsWrong) {
    Random random(95);
    for (int n = 2; n <= 9; ++n) {
        ExchangeMemory memory(random, n, false);
        const auto late = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(n)));
        const auto other = (late + 1 + random.below(static_cast<std::uint64_t>(n - 1))) % static_cast<std::size_t>(n);
        const std::uint64_t right = memory.received[late][other].size++;
        memory.into[late].resize(end_of(memory.received[late]) + 1);
        std::vector<Nanoseconds> arrivals(static_cast<std::size_t>(n), 0);
        arrivals[late] = 1'000'000;
        Simulation simulation(forwarding(random, n));
        SCOPED_TRACE(fmt::format("n={} late={} other={}", n, late, other));
        simulation.run([&](int rank) { return call_of(ring(), memory, rank); }, arrivals);
        for (int rank = 0; rank < n; ++rank) {
            const Error* const error = simulation.world(rank).broken.get();
            ASSERT_NE(error, nullptr) << "rank " << rank << " was not told";
            const std::string what = error->what(),
                              expected = fmt::format("counts {} bytes for the block of rank {}, but rank {} counts {}", right, other, late,
                                                     right + 1);
            EXPECT_NE(what.find(expected), std::string::npos) << what;
            EXPECT_EQ(simulation.engine(rank).landing().used(), 0u);
        }
        if (HasFailure()) return;
    }
}

// On two levels, blocks that stand one behind the other are received where they stand. An empty block may be anywhere, and the first one
// need not be at the beginning of the data.
TEST(ExchangesOfOwnSizes, OnTwoLevelsBlocksInOrderAreNotCopiedAgain) {
    const AlgorithmEntry& two_level = collectives::find_algorithm(OperationKind::allgather, "two_level", collectives::kReal);
    const auto exits_of = [&](const std::vector<Block>& received) {
        Random random(97);
        ExchangeMemory memory(random, 4, false);
        memory.in_place = false;
        for (std::size_t rank = 0; rank < 4; ++rank) {
            memory.sent[rank] = {{0, received[rank].size}};
            memory.received[rank] = received;
        }
        memory.fill(false);
        Simulation::Options options;
        options.ranks = 4;
        options.ranks_per_node = 2;
        options.model.gamma = 1;
        Simulation simulation(options);
        const auto outcome = simulation.run([&](int rank) { return call_of(two_level, memory, rank); }, std::vector<Nanoseconds>(4));
        EXPECT_EQ(memory.into, memory.expected);
        return outcome.exits;
    };
    const auto in_order = exits_of({{0, 1000}, {1000, 0}, {1000, 1000}, {2000, 1000}});
    EXPECT_EQ(exits_of({{0, 1000}, {0, 0}, {1000, 1000}, {2000, 1000}}), in_order) << "an empty block elsewhere";
    EXPECT_EQ(exits_of({{7, 1000}, {0, 0}, {1007, 1000}, {2007, 1000}}), in_order) << "not from the beginning on";
    const auto with_gap = exits_of({{0, 1000}, {0, 0}, {1007, 1000}, {2007, 1000}});
    for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(with_gap[rank], in_order[rank] + 3000) << rank;
}

// A checksum may also fit a block that does not differ: about one of 2^24 does, so that one in 50,000 is already rare.
TEST(ExchangesOfOwnSizes, ASumTellsWhoseBlockItIs) {
    Random random(93);
    int mistaken = 0;
    for (int repetition = 0; repetition < repetitions(1000); ++repetition) {
        const int n = static_cast<int>(random.between(1, 100)), changed = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        runtime::SumOfSizes mine, other;
        std::vector<std::uint64_t> sizes;
        const std::uint64_t its_size = random.below(1'000'000);
        for (int rank = 0; rank < n; ++rank) {
            sizes.push_back(random.below(1'000'000));
            mine.add(rank, sizes.back());
            other.add(rank, rank == changed ? its_size : sizes.back());
        }
        for (int rank = 0; rank < n && sizes[static_cast<std::size_t>(changed)] != its_size; ++rank) {
            const auto found = mine.in_other(other, rank, sizes[static_cast<std::size_t>(rank)]);
            if (rank == changed)
                EXPECT_EQ(found, std::optional(its_size));
            else
                mistaken += found.has_value() ? 1 : 0;
        }
    }
    EXPECT_LE(mistaken, 2);
}

}  // namespace
}  // namespace rollcall::model_test
