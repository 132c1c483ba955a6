// Collective operations on data in memory that the program has taken from the runtime: it is read where it stands, and not copied in.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/model/intergroup.hpp"
#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

/// One call of all ranks: on one node by `shared_memory`, or, with `of_node` ranks on each node, by `two_level`. Bytes are summed. The last
/// rank is the root.
class TakenCall {
  public:
    TakenCall(OperationKind operation, int n, std::uint64_t bytes, int of_node = 0, bool stays = false)
        : entry_(collectives::find_algorithm(operation, of_node ? "two_level" : "shared_memory", collectives::kReal)),
          row_(collectives::operation(operation)),
          root_(row_.has_root ? n - 1 : -1),
          bytes_(bytes),
          stays_(stays) {
        options_.ranks = n;
        options_.ranks_per_node = of_node;
        options_.model.gamma = 1;
        simulation_ = std::make_unique<Simulation>(options_);
        const auto ranks = static_cast<std::uint64_t>(n);
        // The parts of the vector that a contribution and a result hold.
        const bool brings_all = operation == OperationKind::reduce_scatter || operation == OperationKind::alltoall;
        const bool gets_all = operation == OperationKind::allgather || operation == OperationKind::alltoall;
        brought_ = brings_all ? ranks * bytes : bytes;
        into_.assign(static_cast<std::size_t>(n), std::vector<std::uint8_t>(gets_all ? ranks * bytes : bytes));
        from_.resize(into_.size());
        for (int rank = 0; rank < n; ++rank) put(rank, true);
    }
    /// Puts what the rank brings into memory that it has taken, or into other memory. (A rank that is alone on its node uses other memory.)
    void put(int rank, bool is_taken) {
        const auto r = static_cast<std::size_t>(rank);
        runtime::node::NodeMemory* const node = simulation_->engine(rank).node();
        void* const memory = is_taken && node ? node->buffers().allocate(brought_ + 3) : nullptr;
        if (!memory) others_.emplace_back(brought_ + 3);
        from_[r] = (memory ? static_cast<std::uint8_t*>(memory) : others_.back().data()) + 3;
        for (std::uint64_t i = 0; i < brought_; ++i) from_[r][i] = brought(rank, i);
    }
    /// Another communicator takes all blocks of all ranks. So what is copied goes by messages.
    void take_all_room() {
        for (int rank = 0; rank < options_.ranks; ++rank) {
            runtime::node::Publisher other;
            other.communicator = 99;
            while (simulation_->engine(rank).node()->pool().take_small(other) != runtime::node::kNoBlock) {
            }
        }
    }
    Simulation::Outcome run(const Times& arrivals) {
        const Reduction reduction = reduction_of<std::uint8_t>(sum);
        auto outcome = simulation_->run(
            [&](int rank) {
                const auto r = static_cast<std::size_t>(rank);
                const bool combines = row_.combines;
                const runtime::Call made = combines ? collectives::make_call(entry_, root_, bytes_, 0, reduction)
                                                    : collectives::make_call(entry_, root_, bytes_, 0);
                Simulation::RankCall call{made, entry_.algorithm, {}};
                call.arguments = collectives::arguments_of(row_, {.contribution = from_[r], .data = into_[r].data()}, bytes_,
                                                           options_.ranks, rank == root_);
                call.stays = stays_;
                if (combines) call.arguments.combiner = collectives::combiner_of(reduction);
                return call;
            },
            arrivals);
        for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
        for (int rank = 0; rank < options_.ranks; ++rank)
            if (root_ < 0 || rank == root_) expect_result(rank);
        return outcome;
    }

  private:
    static std::uint8_t brought(int rank, std::uint64_t i) { return static_cast<std::uint8_t>(rank * 37 + static_cast<int>(i % 251)); }
    void expect_result(int rank) const {
        const auto own = static_cast<std::uint64_t>(rank) * bytes_;
        const auto expected = [&](std::uint64_t i) -> std::uint8_t {
            const int from = static_cast<int>(i / bytes_);
            if (entry_.operation == OperationKind::allgather) return brought(from, i % bytes_);
            if (entry_.operation == OperationKind::alltoall) return brought(from, own + i % bytes_);
            unsigned total = 0;
            for (int r = 0; r < options_.ranks; ++r) total += brought(r, entry_.operation == OperationKind::reduce_scatter ? own + i : i);
            return static_cast<std::uint8_t>(total);
        };
        const auto& result = into_[static_cast<std::size_t>(rank)];
        for (std::uint64_t i = 0; i < result.size(); ++i)
            if (result[i] != expected(i)) FAIL() << fmt::format("element {} of rank {} is {}, not {}", i, rank, result[i], expected(i));
    }

    const AlgorithmEntry& entry_;
    const collectives::OperationRow& row_;
    int root_;
    std::uint64_t bytes_, brought_;
    bool stays_;
    Simulation::Options options_;
    std::unique_ptr<Simulation> simulation_;
    std::vector<std::uint8_t*> from_;
    std::vector<std::vector<std::uint8_t>> others_, into_;
};

constexpr OperationKind kExchanges[] = {OperationKind::allreduce, OperationKind::reduce_scatter, OperationKind::allgather,
                                        OperationKind::alltoall};

TEST(TakenMemory, GivesTheSameResultsWhereverEachRankHasItsData) {
    Random random(91);
    for (const OperationKind operation : kExchanges)
        for (int n = 2; n <= 6; ++n)
            for (const std::uint64_t bytes : {1, 4096, 4097, 30'000, 200'000}) {
                SCOPED_TRACE(fmt::format("{} of {} bytes among {}", name(operation), bytes, n));
                TakenCall call(operation, n, bytes);
                for (int rank = 0; rank < n; ++rank)
                    if (random.chance(0.3)) call.put(rank, false);
                call.run(random_delays(random, n, 0, 300'000));
                if (testing::Test::HasFailure()) return;
            }
}

// Nothing needs a block. In an allreduce only the shares of the result do.
TEST(TakenMemory, NeedsNoRoom) {
    const auto messages = [](OperationKind operation, int n, bool is_taken) {
        TakenCall call(operation, n, 10'000);
        for (int rank = 0; rank < n && !is_taken; ++rank) call.put(rank, false);
        call.take_all_room();
        return call.run(Times(static_cast<std::size_t>(n))).messages;
    };
    EXPECT_EQ(messages(OperationKind::alltoall, 4, true), 0u);
    EXPECT_EQ(messages(OperationKind::reduce_scatter, 4, true), 0u);
    EXPECT_EQ(messages(OperationKind::allgather, 2, true), 0u);
    EXPECT_EQ(messages(OperationKind::allreduce, 2, true), 2u);
    EXPECT_EQ(messages(OperationKind::allreduce, 2, false), 4u);
    EXPECT_EQ(messages(OperationKind::alltoall, 4, false), 12u);
}

// The worked examples of the algorithms, with a block that takes 10,000 ns to copy.
TEST(TakenMemory, SavesTheCopiesIn) {
    const auto exits = [](OperationKind operation, std::uint64_t bytes, const Times& arrivals, bool is_taken) {
        TakenCall call(operation, static_cast<int>(arrivals.size()), bytes);
        for (int rank = 0; rank < static_cast<int>(arrivals.size()) && !is_taken; ++rank) call.put(rank, false);
        return call.run(arrivals).exits;
    };
    constexpr OperationKind kAlltoall = OperationKind::alltoall;
    EXPECT_EQ(exits(kAlltoall, 10'000, {0, 50'000, 0}, true), (Times{60'000, 80'000, 70'000}));
    EXPECT_EQ(exits(kAlltoall, 10'000, {0, 50'000, 0}, false), (Times{80'000, 100'000, 70'000}));
    EXPECT_EQ(exits(OperationKind::allgather, 10'000, {0, 50'000}, true), (Times{60'000, 70'000}));
    EXPECT_EQ(exits(OperationKind::allreduce, 20'000, Times(2), true), Times(2, 30'000));
    EXPECT_EQ(exits(OperationKind::allreduce, 20'000, Times(2), false), Times(2, 40'000));
    EXPECT_EQ(exits(OperationKind::reduce_scatter, 10'000, Times(3), true), Times(3, 30'000));
    EXPECT_EQ(exits(OperationKind::reduce_scatter, 10'000, Times(3), false), Times(3, 50'000));
}

TEST(TakenMemory, GivesTheSameResultsOnSeveralNodes) {
    Random random(92);
    for (const OperationKind operation : {OperationKind::allreduce, OperationKind::reduce, OperationKind::reduce_scatter})
        for (int n = 3; n <= 7; ++n)
            for (const std::uint64_t all : {7, 30'000, 200'000}) {
                const std::uint64_t bytes = operation == OperationKind::reduce_scatter ? all / static_cast<unsigned>(n) : all;
                const int of_node = static_cast<int>(random.between(2, n - 1));
                const bool stays = random.chance(0.5);
                SCOPED_TRACE(fmt::format("{} of {} bytes among {}, {} on a node, stays {}", name(operation), bytes, n, of_node, stays));
                TakenCall call(operation, n, bytes, of_node, stays);
                for (int rank = 0; rank < n; ++rank)
                    if (random.chance(0.3)) call.put(rank, false);
                call.run(random_delays(random, n, 0, 300'000));
                if (testing::Test::HasFailure()) return;
            }
}

/// A call of six ranks on two nodes, all of which have their data in taken memory or in other memory.
Simulation::Outcome on_two_nodes(OperationKind operation, std::uint64_t bytes, bool is_taken, bool stays = false, bool has_room = true) {
    TakenCall call(operation, 6, bytes, 3, stays);
    for (int rank = 0; rank < 6 && !is_taken; ++rank) call.put(rank, false);
    if (!has_room) call.take_all_room();
    return call.run(Times(6));
}

// What is left are the messages between the nodes, in three lanes or in one, and those that bring results: in a reduce to the root, in an
// allreduce to all ranks of a node.
TEST(TakenMemory, NeedsNoRoomOnSeveralNodes) {
    const auto messages = [](OperationKind operation, std::uint64_t bytes, bool is_taken, bool stays = false) {
        return on_two_nodes(operation, bytes, is_taken, stays, false).messages;
    };
    EXPECT_EQ(messages(OperationKind::reduce, 90'000, true), 3u + 2u);
    EXPECT_EQ(messages(OperationKind::reduce, 90'000, false), 3u + 2u + 2u * 3u * 2u);
    EXPECT_EQ(messages(OperationKind::reduce, 6000, true, true), 1u);
    EXPECT_EQ(messages(OperationKind::reduce, 6000, true, false), 1u + 2u * 2u) << "two ranks of each node leave";
    EXPECT_EQ(messages(OperationKind::allreduce, 90'000, true), 6u + 2u * 3u * 2u);
    EXPECT_EQ(messages(OperationKind::allreduce, 90'000, false), 6u + 2u * 3u * 2u + 2u * 3u * 2u);
}

// The elements are 120 times 1000 bytes. In three lanes, each rank copies what it brings for two others, if that is not in
// taken memory.
TEST(TakenMemory, SavesTheCopiesInOnSeveralNodes) {
    const auto exits = [](OperationKind operation, std::uint64_t bytes, bool is_taken, bool stays) {
        return on_two_nodes(operation, bytes, is_taken, stays).exits;
    };
    for (const bool stays : {false, true}) {
        EXPECT_EQ(exits(OperationKind::reduce, 120'000, true, stays), (Times{160'000, 160'000, 160'000, 240'000, 240'000, 320'000}));
        EXPECT_EQ(exits(OperationKind::reduce, 120'000, false, stays), (Times{240'000, 240'000, 240'000, 320'000, 320'000, 400'000}));
        EXPECT_EQ(exits(OperationKind::allreduce, 120'000, true, stays), Times(6, 320'000));
        EXPECT_EQ(exits(OperationKind::allreduce, 120'000, false, stays), Times(6, 400'000));
    }
    // In one lane one rank of each node combines. The others leave when they have made a copy. With until_delivered they stay, and it
    // combines what stands in their memory.
    EXPECT_EQ(exits(OperationKind::reduce, 6000, true, false), (Times{24'000, 6000, 6000, 6000, 6000, 30'000}));
    EXPECT_EQ(exits(OperationKind::reduce, 6000, true, true), (Times{24'000, 12'000, 18'000, 12'000, 18'000, 30'000}));
    EXPECT_EQ(exits(OperationKind::reduce, 6000, false, true), (Times{24'000, 6000, 6000, 6000, 6000, 30'000}));
}

// A reduce from ranks 0 and 1 to rank 2, which is the other group: 20,000 ns to copy what a rank brings, or to combine it.
TEST(TakenMemory, SavesTheCopiesInOfAReduceBetweenGroups) {
    constexpr std::uint64_t kBytes = 20'000;
    const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::intergroup_reduce, "shared_memory", collectives::kReal);
    const auto exits = [&](bool is_taken, bool stays) {
        Simulation::Options options = one_node();
        options.ranks = 3;
        options.first_group = 2;
        Simulation simulation(options);
        std::vector<std::vector<std::uint8_t>> others(3, std::vector<std::uint8_t>(kBytes));
        const auto outcome = simulation.run(
            [&](int rank) {
                std::uint8_t* memory = others[static_cast<std::size_t>(rank)].data();
                if (is_taken && rank < 2) memory = static_cast<std::uint8_t*>(simulation.engine(rank).node()->buffers().allocate(kBytes));
                Simulation::RankCall call{call_between(entry, 2, 2, kBytes, kBytes, rank), entry.algorithm, {}};
                call.arguments = arguments_between(collectives::operation(entry.operation), 2, 1, 2, kBytes, kBytes, rank);
                if (rank < 2) {
                    std::fill_n(memory, kBytes, static_cast<std::uint8_t>(3 + rank));
                    call.arguments.contribution.data = memory;
                } else {
                    call.arguments.data.data = memory;
                }
                call.stays = stays;
                return call;
            },
            Times(3));
        for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
        EXPECT_EQ(others[2], std::vector<std::uint8_t>(kBytes, 7));
        return outcome.exits;
    };
    EXPECT_EQ(exits(true, true), (Times{20'000, 40'000, 40'000}));
    for (const bool stays : {false, true}) EXPECT_EQ(exits(false, stays), (Times{20'000, 20'000, 60'000})) << stays;
    EXPECT_EQ(exits(true, false), (Times{20'000, 20'000, 60'000})) << "who leaves has copied";
}

}  // namespace
}  // namespace rollcall::model_test
