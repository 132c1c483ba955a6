// Allgather and alltoall: the worked examples of their algorithms, how many messages and how long they take by theory, and late
// ranks. (That every algorithm gives what it should is in placement_test.cpp, and for blocks of different sizes in
// block_exchanges_test.cpp.)
#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/blocks.hpp"
#include "tests/model/decoupled.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::Block;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

const AlgorithmEntry& algorithm(OperationKind operation, std::string_view name) {
    return collectives::find_algorithm(operation, name, collectives::kReal);
}

/// One call of equal blocks, of phantoms.
Simulation::Outcome outcome_of(const AlgorithmEntry& entry, const Simulation::Options& options, std::uint64_t bytes,
                               const Times& arrivals) {
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            Simulation::RankCall call{collectives::make_call(entry, -1, bytes, 0), entry.algorithm, {}};
            call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, bytes, options.ranks, rank == -1);
            return call;
        },
        arrivals);
}

Times exits_of_exchange(OperationKind operation, std::string_view name, const Times& arrivals, double gamma = 0,
                        std::uint64_t landing = std::uint64_t{1} << 40) {
    Simulation::Options options;
    options.ranks = static_cast<int>(arrivals.size());
    options.landing_bytes = landing;
    options.eager_bytes = 0;
    options.model.gamma = gamma;
    return outcome_of(algorithm(operation, name), options, 10, arrivals).exits;
}

TEST(AllgatherExamples, Linear) {
    EXPECT_EQ(exits_of_exchange(OperationKind::allgather, "linear", {0, 50, 0, 0}), (Times{80, 80, 60, 70}));
}
TEST(AllgatherExamples, Ring) { EXPECT_EQ(exits_of_exchange(OperationKind::allgather, "ring", Times(4)), Times(4, 30)); }
TEST(AllgatherExamples, Bruck) { EXPECT_EQ(exits_of_exchange(OperationKind::allgather, "bruck", Times(5)), Times(5, 40)); }
TEST(AllgatherExamples, RecursiveDoubling) {
    EXPECT_EQ(exits_of_exchange(OperationKind::allgather, "recursive_doubling", Times(6)), (Times{130, 130, 130, 130, 70, 70}));
}
TEST(AllgatherExamples, NeighbourExchange) {
    EXPECT_EQ(exits_of_exchange(OperationKind::allgather, "neighbour_exchange", Times(6)), Times(6, 50));
}
TEST(AllgatherExamples, SharedMemory) {
    EXPECT_EQ(exits_of_exchange(OperationKind::allgather, "shared_memory", {0, 50, 0}, 1), (Times{70, 90, 70}));
}
TEST(AlltoallExamples, Linear) { EXPECT_EQ(exits_of_exchange(OperationKind::alltoall, "linear", {0, 40, 0}), (Times{60, 60, 50})); }
TEST(AlltoallExamples, Pairwise) { EXPECT_EQ(exits_of_exchange(OperationKind::alltoall, "pairwise", Times(4)), Times(4, 30)); }
TEST(AlltoallExamples, Bruck) { EXPECT_EQ(exits_of_exchange(OperationKind::alltoall, "bruck", Times(5)), Times(5, 50)); }
TEST(AlltoallExamples, ArrivalOrdered) {
    EXPECT_EQ(exits_of_exchange(OperationKind::alltoall, "arrival_ordered", {0, 90, 0, 90}), Times(4, 120));
}
TEST(AlltoallExamples, SharedMemory) {
    EXPECT_EQ(exits_of_exchange(OperationKind::alltoall, "shared_memory", {0, 50, 0}, 1), (Times{80, 100, 70}));
}

// --- theory: alpha for a message, beta for a byte, all arrive at once ---------------------------------------------------------------

struct Theory {
    OperationKind operation;
    std::string_view name;
    /// For one rank: the messages it sends, the blocks it sends, and both on the longest way. The time consists of the latter.
    std::function<int(int n)> messages, blocks;
};

int ceil_log2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }
int blocks_of_bruck_alltoall(int n) {
    int sum = 0;
    for (int way = 1; way < n; ++way) sum += std::popcount(static_cast<unsigned>(way));
    return sum;
}

TEST(Exchanges, TakeTheMessagesAndTheTimeOfTheory) {
    const auto all_but_one = [](int n) { return n - 1; };
    const Theory theories[] = {
        {OperationKind::allgather, "linear", all_but_one, all_but_one},
        {OperationKind::allgather, "ring", all_but_one, all_but_one},
        {OperationKind::allgather, "background_disseminated_ring", all_but_one, all_but_one},
        {OperationKind::allgather, "bruck", ceil_log2, all_but_one},
        {OperationKind::alltoall, "linear", all_but_one, all_but_one},
        {OperationKind::alltoall, "pairwise", all_but_one, all_but_one},
        {OperationKind::alltoall, "arrival_ordered", all_but_one, all_but_one},
        {OperationKind::alltoall, "bruck", ceil_log2, blocks_of_bruck_alltoall},
    };
    constexpr Nanoseconds kAlpha = 1000, kBytes = 100;
    for (const Theory& theory : theories)
        for (int n = 2; n <= 40; ++n) {
            Simulation::Options options;
            options.ranks = n;
            options.model.alpha = kAlpha;
            options.model.notice = kAlpha;
            const auto outcome = outcome_of(algorithm(theory.operation, theory.name), options, kBytes, Times(static_cast<std::size_t>(n)));
            EXPECT_EQ(outcome.messages, static_cast<std::uint64_t>(n * theory.messages(n))) << theory.name << " " << n;
            const Nanoseconds expected = kAlpha * theory.messages(n) + kBytes * theory.blocks(n);
            for (const Nanoseconds exit : outcome.exits) EXPECT_EQ(exit, expected) << theory.name << " " << n;
        }
    for (const int n : {2, 4, 8, 16, 64}) {
        Simulation::Options options;
        options.ranks = n;
        options.model.alpha = kAlpha;
        const auto at_once = Times(static_cast<std::size_t>(n));
        const auto doubling = outcome_of(algorithm(OperationKind::allgather, "recursive_doubling"), options, kBytes, at_once);
        EXPECT_EQ(doubling.messages, static_cast<std::uint64_t>(n * ceil_log2(n)));
        EXPECT_EQ(doubling.exits, Times(static_cast<std::size_t>(n), kAlpha * ceil_log2(n) + kBytes * (n - 1)));
        const auto neighbours = outcome_of(algorithm(OperationKind::allgather, "neighbour_exchange"), options, kBytes, at_once);
        EXPECT_EQ(neighbours.messages, static_cast<std::uint64_t>(n * n / 2));
        EXPECT_EQ(neighbours.exits, Times(static_cast<std::size_t>(n), kAlpha * n / 2 + kBytes * (n - 1)));
    }
}

// --- late ranks ------------------------------------------------------------------------------------------------------------------------

/// A call with data in which odd ranks are late. Just before they come, it checks which blocks of each other the early ranks have.
struct HalfLate {
    static constexpr Nanoseconds kLate = 1'000'000, kAlpha = 1000;
    static constexpr std::uint64_t kBytes = 10'000;

    HalfLate(const AlgorithmEntry& entry, int n, std::uint64_t landing, bool planned = false) : simulation(options_of(n, landing)) {
        const auto& row = collectives::operation(entry.operation);
        const auto all = kBytes * static_cast<std::uint64_t>(n);
        Times arrivals;
        for (int rank = 0; rank < n; ++rank) {
            arrivals.push_back(rank % 2 ? kLate : 0);
            from.emplace_back(row.personalized ? all : kBytes, static_cast<std::byte>(rank + 1));
            into.emplace_back(all);
        }
        simulation.network().schedule(
            kLate - 1, [](void* self, int) { static_cast<HalfLate*>(self)->look(); }, this, 0);
        const auto outcome = simulation.run(
            [&](int rank) {
                const auto r = static_cast<std::size_t>(rank);
                Simulation::RankCall call{collectives::make_call(entry, -1, kBytes, 0), entry.algorithm, {}};
                call.arguments = collectives::arguments_of(row, {.contribution = from[r].data(), .data = into[r].data()}, kBytes, n, false);
                if (planned) {
                    call.begin = 0;
                    call.algorithm = collectives::planned(entry);
                }
                return call;
            },
            arrivals);
        exits = outcome.exits;
    }
    bool has_come(std::size_t to, std::size_t source) const { return into[to][source * kBytes] == static_cast<std::byte>(source + 1); }
    void look() {
        was_looked_at = true;
        for (std::size_t to = 0; to < into.size(); to += 2)
            for (std::size_t source = 0; source < into.size(); source += 2)
                if (to != source && !has_come(to, source)) ++missing;
    }
    static Simulation::Options options_of(int n, std::uint64_t landing) {
        Simulation::Options options;
        options.ranks = n;
        options.landing_bytes = landing;
        options.model.alpha = options.model.notice = kAlpha;
        return options;
    }

    Simulation simulation;
    std::vector<std::vector<std::byte>> from, into;
    Times exits;
    bool was_looked_at = false;
    int missing = 0;
};

TEST(LateRanks, AreNotWaitedForByTheOthersAmongThemselves) {
    constexpr std::uint64_t kSufficient = std::uint64_t{1} << 40;
    struct Case {
        OperationKind operation;
        std::string_view name;
        std::uint64_t landing;
    };
    const Case cases[] = {{OperationKind::allgather, "linear", kSufficient},
                          {OperationKind::alltoall, "linear", kSufficient},
                          {OperationKind::alltoall, "arrival_ordered", kSufficient},
                          {OperationKind::alltoall, "arrival_ordered", 0}};
    for (const auto& [operation, name, landing] : cases)
        for (const int n : {4, 8, 16, 17}) {
            SCOPED_TRACE(fmt::format("{} {} {} landing={}", runtime::name(operation), name, n, landing));
            const HalfLate made(algorithm(operation, name), n, landing);
            EXPECT_TRUE(made.was_looked_at);
            EXPECT_EQ(made.missing, 0);
            // A late rank has n - 1 blocks to send and as many to receive. Some wait for a port now and then.
            constexpr Nanoseconds kMessage = HalfLate::kAlpha + static_cast<Nanoseconds>(HalfLate::kBytes);
            for (const Nanoseconds exit : made.exits) EXPECT_LE(exit, HalfLate::kLate + 2 * n * kMessage);
        }
    // Other algorithms make all ranks wait for a late one.
    for (const std::uint64_t landing : {std::uint64_t{0}, kSufficient})
        EXPECT_GT(HalfLate(algorithm(OperationKind::allgather, "ring"), 8, landing).missing, 0);
    EXPECT_GT(HalfLate(algorithm(OperationKind::alltoall, "pairwise"), 8, 0).missing, 0);
}

// A late rank finds blocks of other ranks in its memory. All ranks wait for its own blocks, so it sends one before it copies what has come.
TEST(LateRanks, SendBeforeTheyCopy) {
    constexpr int kRanks = 4;
    constexpr std::uint64_t kBytes = 10'000;
    for (const std::string_view name : {"linear", "arrival_ordered"}) {
        SCOPED_TRACE(name);
        Simulation simulation(decoupled::machine(kRanks, 0, false));
        const AlgorithmEntry& entry = algorithm(OperationKind::alltoall, name);
        std::vector<std::vector<std::byte>> from, into;
        std::vector<std::unique_ptr<runtime::Operation>> operations;
        for (int rank = 0; rank < kRanks; ++rank) {
            from.emplace_back(kRanks * kBytes, static_cast<std::byte>(rank + 1));
            into.emplace_back(kRanks * kBytes);
        }
        for (int rank = 0; rank < kRanks; ++rank) {
            const auto r = static_cast<std::size_t>(rank);
            const auto arguments = collectives::arguments_of(
                collectives::operation(entry.operation), {.contribution = from[r].data(), .data = into[r].data()}, kBytes, kRanks, false);
            operations.push_back(std::make_unique<runtime::Operation>(simulation.world(rank), simulation.world(rank).next_sequence++,
                                                                      collectives::make_call(entry, -1, kBytes, 0), entry.algorithm,
                                                                      arguments));
            if (rank == kRanks - 1) simulation.network().run();
            if (rank < kRanks - 1) simulation.engine(rank).begin(*operations.back());
        }
        constexpr int kLate = kRanks - 1;
        runtime::Engine& late = simulation.engine(kLate);
        ASSERT_EQ(late.landing().used(), kLate * kBytes);
        late.begin(*operations[kLate]);
        EXPECT_GE(late.landing().used(), (kLate - 1) * kBytes) << "no more than a block is copied before the next message";
        simulation.network().run();
        for (int rank = 0; rank < kRanks; ++rank) {
            EXPECT_TRUE(operations[static_cast<std::size_t>(rank)]->done());
            for (std::size_t source = 0; source < kRanks; ++source)
                EXPECT_EQ(into[static_cast<std::size_t>(rank)][source * kBytes], static_cast<std::byte>(source + 1));
        }
        EXPECT_EQ(late.landing().used(), 0u);
    }
}

// The background of late ranks passes on what comes from early ones. Then a late rank's own block goes once round the ring.
TEST(LateRanks, PassOnBlocksBeforeTheyArrive) {
    constexpr Nanoseconds kMessage = HalfLate::kAlpha + static_cast<Nanoseconds>(HalfLate::kBytes);
    for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{1} << 40})
        for (const int n : {2, 4, 8, 17}) {
            const HalfLate made(algorithm(OperationKind::allgather, "background_disseminated_ring"), n, landing, true);
            EXPECT_TRUE(made.was_looked_at);
            EXPECT_EQ(made.missing, 0) << n;
            EXPECT_EQ(*std::max_element(made.exits.begin(), made.exits.end()), HalfLate::kLate + (n - 1) * kMessage) << n;
        }
    EXPECT_GT(HalfLate(algorithm(OperationKind::allgather, "ring"), 8, 0, true).missing, 0);
}

}  // namespace
}  // namespace rollcall::model_test
