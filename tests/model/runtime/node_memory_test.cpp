// Collective operations through node memory while others hold it.
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/blocks/exchange.hpp"
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/published/published.hpp"
#include "runtime/node/node_memory.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using collectives::Condition;
using runtime::Simulation;

std::vector<const AlgorithmEntry*> publishing_algorithms() {
    auto found = moving_algorithms();
    std::erase_if(found, [](const AlgorithmEntry* entry) { return !entry->needs.contains(Condition::node_memory); });
    return found;
}

// Takes all blocks of a rank in the name of another communicator, or of operation `sequence` of this communicator.
std::vector<std::uint32_t> take_all_blocks(Simulation& simulation, int rank, std::uint64_t communicator, std::uint64_t sequence) {
    runtime::node::Publisher other;
    other.communicator = communicator;
    other.sequence = sequence;
    runtime::node::Pool& pool = simulation.engine(rank).node()->pool();
    std::vector<std::uint32_t> taken;
    for (std::uint32_t block; (block = pool.take_small(other)) != runtime::node::kNoBlock;) taken.push_back(block);
    return taken;
}

// Otherwise the readers of these blocks might wait for this call, and all would wait forever.
TEST(NodeMemory, RoomThatOtherCommunicatorsHoldDoesNotKeepACallWaiting) {
    ASSERT_GE(publishing_algorithms().size(), 3u);
    Random random(1);
    for (const AlgorithmEntry* const entry : publishing_algorithms())
        for (const std::uint64_t bytes : {1, 56, 57, 1024, 1025, 4096, 4097, 65536, 65537, 300'000})
            for (const bool lands : {true, false}) {
                if (!lands && bytes > 100'000) continue;  // it would show nothing new, and take long
                SCOPED_TRACE(fmt::format("{}, {} bytes, messages {}", entry->name, bytes, lands ? "land" : "wait for their receivers"));
                constexpr int kRanks = 5;
                Simulation::Options options;
                options.ranks = kRanks;
                if (!lands) options.landing_bytes = options.eager_bytes = 0;
                Simulation simulation(options);
                std::vector<std::vector<std::uint32_t>> taken;
                for (int rank = 0; rank < kRanks; ++rank) taken.push_back(take_all_blocks(simulation, rank, 99, 0));
                std::vector<Step> steps;
                for (int i = 0; i < 3; ++i)
                    steps.push_back({.entry = entry,
                                     .root = i,
                                     .bytes = bytes,
                                     .delays = random_delays(random, kRanks, i, 1'000'000),
                                     .at_once = false,
                                     .plans = {}});
                Job job(simulation, steps);
                job.run();
                job.expect_success();
                for (int rank = 0; rank < kRanks; ++rank)
                    for (const std::uint32_t block : taken[static_cast<std::size_t>(rank)])
                        simulation.engine(rank).node()->pool().give_back(block);
                job.expect_clean();
            }
}

// The readers of earlier operations of the same communicator need nothing from this operation. So it may wait for them.
TEST(NodeMemory, EarlierOperationsOfTheSameCommunicatorAreWaitedFor) {
    for (const AlgorithmEntry* const entry : publishing_algorithms()) {
        SCOPED_TRACE(entry->name);
        Simulation::Options options;
        options.ranks = 3;
        Simulation simulation(options);
        for (int rank = 0; rank < 3; ++rank) take_all_blocks(simulation, rank, simulation.world(rank).group->id, 1);
        const Step step{.entry = entry, .root = 0, .bytes = 2000, .delays = {0, 0, 0}, .plans = {}};
        Job job(simulation, {step, step});
        job.run();
        for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(job.ended(rank, 0)) << "it has gone by messages";
        bool waits = false;
        for (int rank = 0; rank < 3; ++rank) waits = waits || !job.ended(rank, 1);
        EXPECT_TRUE(waits);
    }
}

// What three ranks publish for each other: pieces of 64 KiB.
std::vector<std::vector<std::byte>> published, read;

runtime::Task read_each_other(runtime::Operation& op) {
    std::vector<std::byte>& into = read[static_cast<std::size_t>(op.rank())];
    const std::vector<std::byte>& own = published[static_cast<std::size_t>(op.rank())];
    co_await collectives::publish_and_read(op, {own.data(), own.size()}, {into.data(), into.size()});
}

// A rank is sure of room for two pieces. If all ranks published three before they read, they would wait for each other forever.
TEST(NodeMemory, RanksThatPublishForEachOtherReadMeanwhile) {
    constexpr int kRanks = 3;
    for (const std::size_t room : {0, 1, 2, 100})
        for (const std::size_t bytes : {1, 4097, 3 << 16, 500'000}) {
            SCOPED_TRACE(fmt::format("{} bytes, room for {} pieces", bytes, room));
            Simulation::Options options;
            options.ranks = kRanks;
            Simulation simulation(options);
            published.clear();
            for (int rank = 0; rank < kRanks; ++rank) {
                published.emplace_back(bytes, std::byte(rank + 1));
                std::vector<std::uint32_t> taken = take_all_blocks(simulation, rank, 99, 0);
                for (std::size_t i = 0; i < room && !taken.empty(); ++i) {
                    simulation.engine(rank).node()->pool().give_back(taken.back());
                    taken.pop_back();
                }
            }
            read = {std::vector<std::byte>(2 * bytes), {}, std::vector<std::byte>(2 * bytes)};  // The second rank wants nothing.
            const auto call_of = [](int) {
                Simulation::RankCall call;
                call.call.kind = runtime::OperationKind::allgather;
                call.algorithm = &read_each_other;
                return call;
            };
            const std::vector<Nanoseconds> arrivals(kRanks);
            const auto outcome = simulation.run(call_of, arrivals);
            for (const auto& error : outcome.errors) ASSERT_FALSE(error) << error->what();
            for (const int rank : {0, 2}) {
                std::vector<std::byte> expected;
                for (int other = 0; other < kRanks; ++other)
                    if (other != rank) expected.insert(expected.end(), bytes, std::byte(other + 1));
                EXPECT_EQ(read[static_cast<std::size_t>(rank)], expected) << rank;
            }
        }
}

// The root publishes from 1000 on. So that is when the first data can be taken, short or long, copied or where it stands.
TEST(NodeMemory, TheFirstDataIsRecorded) {
    for (const std::uint64_t bytes : {0, 1, 1024, 1025, 300'000}) {
        SCOPED_TRACE(bytes);
        Simulation::Options options;
        options.ranks = 3;
        options.model.gamma = 0;  // copies take no time
        Simulation simulation(options);
        std::vector<std::byte> data(3 * bytes);
        const auto call_of = [&](int rank) {
            Simulation::RankCall call;
            call.call.kind = runtime::OperationKind::broadcast;
            call.call.root = 0;
            call.call.bytes = bytes;
            call.arguments.data = {data.data() + static_cast<std::uint64_t>(rank) * bytes, bytes};
            call.algorithm = &collectives::broadcast_shared_memory;
            return call;
        };
        const auto outcome = simulation.run(call_of, std::vector<Nanoseconds>{1000, 0, 5000});
        EXPECT_EQ(outcome.first_data, (bytes == 0 ? std::vector<Nanoseconds>{0, 0, 0} : std::vector<Nanoseconds>{0, 1000, 5000}));
    }
}

// Short data is exchanged by one object with a bit for each rank, as long as a word has so many bits. Many calls are under way at a time,
// so that entries are still read when they are to be written again.
TEST(NodeMemory, ShortDataIsExchangedAmongAnyNumberOfRanks) {
    Random random(2);
    for (const auto operation : {runtime::OperationKind::allgather, runtime::OperationKind::alltoall, runtime::OperationKind::allreduce})
        for (const int ranks : {2, 3, 63, 64, 65}) {
            const std::uint64_t bytes = random.pick(std::vector<std::uint64_t>{1, 8, 55, 56, 57, 1000, 1024});
            SCOPED_TRACE(fmt::format("{} of {} bytes, {} ranks", runtime::name(operation), bytes, ranks));
            Simulation::Options options;
            options.ranks = ranks;
            options.model.gamma = random.chance(0.5) ? 1 : 0;
            Simulation simulation(options);
            std::vector<Step> steps;
            for (int i = 0; i < (ranks < 10 ? 50 : 10); ++i)
                steps.push_back({.entry = &collectives::find_algorithm(operation, "shared_memory", collectives::kReal),
                                 .root = 0,
                                 .bytes = bytes,
                                 .delays = random_delays(random, ranks, 0, 1000),
                                 .at_once = random.chance(0.8),
                                 .plans = {}});
            Job job(simulation, steps);
            job.run();
            job.expect_success();
            job.expect_clean();
        }
}

// split(), create() and plans exchange what they need by messages only where some ranks do not share memory.
TEST(NodeMemory, TheRecordsOfASplitNeedNoMessage) {
    struct Case {
        int ranks, ranks_per_node;
        std::uint64_t bytes, messages;
    };
    for (const Case& tested : {Case{8, 0, 16, 0}, Case{8, 0, 2000, 0}, Case{65, 0, 16, 0}, Case{8, 4, 16, 14}, Case{8, 1, 16, 14}}) {
        SCOPED_TRACE(fmt::format("{} ranks, {} on a node, {} bytes", tested.ranks, tested.ranks_per_node, tested.bytes));
        Simulation::Options options;
        options.ranks = tested.ranks;
        options.ranks_per_node = tested.ranks_per_node;
        Simulation simulation(options);
        std::vector<std::byte> own, expected;
        for (int rank = 0; rank < tested.ranks; ++rank) expected.insert(expected.end(), tested.bytes, std::byte(rank + 1));
        own = expected;
        std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(tested.ranks), std::vector<std::byte>(expected.size()));
        const auto call_of = [&](int rank) {
            Simulation::RankCall call;
            call.call.kind = runtime::OperationKind::split;
            call.call.bytes = tested.bytes;
            call.arguments.data = {all[static_cast<std::size_t>(rank)].data(), expected.size()};
            call.arguments.contribution = {&own[static_cast<std::size_t>(rank) * tested.bytes], tested.bytes};
            call.algorithm = &collectives::exchange;
            return call;
        };
        Random random(3);
        const auto outcome = simulation.run(call_of, random_delays(random, tested.ranks, 0, 100'000));
        for (const auto& error : outcome.errors) ASSERT_FALSE(error) << error->what();
        for (const auto& got : all) EXPECT_EQ(got, expected);
        EXPECT_EQ(simulation.network().messages(), tested.messages);
    }
}

}  // namespace
}  // namespace rollcall::model_test
