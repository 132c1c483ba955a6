// Calls through node memory that end at once. All ranks are in one process here, and nothing comes by messages.
#include "runtime/engine/short_call.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "tests/unit/runtime/lane.hpp"
#include "tests/unit/runtime/private_memory.hpp"

namespace rollcall::runtime {
namespace {

constexpr int kRoot = 0;
constexpr std::uint64_t kBytes = 100;  // not in the entries' own cache lines

/// A rank with its end of a communicator.
struct Rank {
    Rank(const node::Shared& shared, const std::shared_ptr<const Group>& group, int rank)
        : network(group->size), engine(network, machine, arena, options(group->size, rank)), communicator(group, rank) {
        std::vector<int> on_node;
        for (int each = 0; each < group->size; ++each) on_node.push_back(each);
        memory = std::make_unique<node::NodeMemory>(shared, rank, on_node, engine.landing());
        engine.set_node(memory.get());
        engine.add(communicator);
        mine.fill(std::byte(rank + 1));
        for (std::size_t i = 0; i < for_each.size(); ++i) for_each[i] = std::byte(10 * (rank + 1) + static_cast<int>(i / kBytes) + 1);
    }
    ~Rank() { engine.close(); }
    static Engine::Options options(int ranks, int rank) {
        Engine::Options options;
        options.size = ranks;
        options.rank = rank;
        options.landing_bytes = 1 << 20;
        return options;
    }
    Arguments arguments(OperationKind kind) {
        Arguments its;
        const std::uint64_t all = kBytes * static_cast<std::uint64_t>(communicator.group->size);
        switch (kind) {
            case OperationKind::broadcast: its.data = {communicator.rank == kRoot ? mine.data() : others.data(), kBytes}; return its;
            case OperationKind::allreduce:
                its.contribution = {mine.data(), kBytes};
                its.data = {others.data(), kBytes};
                its.combiner.function = &append;
                its.combiner.is_commutative = its.combiner.any_order = false;
                return its;
            case OperationKind::scatter: its.result = {others.data(), kBytes}; break;
            case OperationKind::alltoall: its.contribution = {for_each.data(), all}; break;
            default: its.contribution = {mine.data(), kBytes};
        }
        if (!collectives::operation(kind).has_root || communicator.rank == kRoot) its.data = {blocks.data(), all};
        return its;
    }
    /// The digits of `right` behind those of `left`.
    static void append(const void*, void* into, const void* left, const void* right, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i)
            static_cast<unsigned char*>(into)[i] =
                static_cast<unsigned char>(static_cast<const unsigned char*>(left)[i] * 10 + static_cast<const unsigned char*>(right)[i]);
    }
    static Call call(OperationKind kind) {
        Call its;
        its.bytes = kBytes;
        its.root = collectives::operation(kind).has_root ? kRoot : -1;
        its.kind = kind;
        its.algorithm = collectives::find_algorithm(kind, "shared_memory", collectives::kReal).number;
        return its;
    }
    /// Whether the call at this sequence number ended at once.
    bool ends_at_once(OperationKind kind, std::uint64_t sequence) {
        const Arguments its = arguments(kind);
        const Call which = call(kind);
        const auto& entry = collectives::find_algorithm(kind, "shared_memory", collectives::kReal);
        const ShortMove move = entry.short_move(its, which, communicator.rank, communicator.group->size);
        return move.does != ShortMove::Does::more && end_at_once(engine, communicator, sequence, which, move, 0);
    }
    /// Begins it as an operation.
    std::unique_ptr<Operation> start(OperationKind kind, std::uint64_t sequence) {
        const auto& entry = collectives::find_algorithm(kind, "shared_memory", collectives::kReal);
        auto operation = std::make_unique<Operation>(communicator, sequence, call(kind), entry.algorithm, arguments(kind));
        engine.begin(*operation);
        return operation;
    }

    NoNetwork network;
    transport::RealMachine machine;
    FrameArena arena;
    Engine engine;
    std::unique_ptr<node::NodeMemory> memory;
    CommunicatorState communicator;
    std::array<std::byte, kBytes> mine{}, others{};
    std::array<std::byte, 3 * kBytes> blocks{}, for_each{};
};

class ShortCalls : public testing::Test {
  protected:
    void set_up(int ranks) {
        const auto group = std::make_shared<Group>();
        group->id = kCommunicator;
        group->name = "world";
        group->size = ranks;
        group->on_one_node = true;
        memory_.emplace(node::Geometry{8, 2, 2}, ranks);
        for (int rank = 0; rank < ranks; ++rank) ranks_.push_back(std::make_unique<Rank>(memory_->shared(), group, rank));
        // The first call is never one that ends at once.
        std::vector<std::unique_ptr<Operation>> first;
        for (auto& rank : ranks_) {
            EXPECT_FALSE(rank->ends_at_once(OperationKind::broadcast, 1));
            first.push_back(rank->start(OperationKind::broadcast, 1));
        }
        for (int i = 0; i < 2; ++i)
            for (auto& rank : ranks_) rank->engine.progress();
        for (auto& operation : first) EXPECT_TRUE(operation->done() && !operation->error());
    }
    Rank& rank(int which) { return *ranks_[static_cast<std::size_t>(which)]; }
    static bool is_from(const std::byte* data, int rank) { return has(data, rank + 1); }
    static bool has(const std::byte* data, int value) {
        return std::all_of(data, data + kBytes, [&](std::byte each) { return each == std::byte(value); });
    }

  private:
    std::optional<node::PrivateMemory> memory_;
    std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST_F(ShortCalls, MoveTheDataOfABroadcast) {
    set_up(3);
    for (std::uint64_t sequence = 2; sequence < 100; ++sequence) {
        rank(0).mine.fill(std::byte(sequence));
        ASSERT_TRUE(rank(0).ends_at_once(OperationKind::broadcast, sequence));
        for (const int reader : {2, 1}) {
            ASSERT_TRUE(rank(reader).ends_at_once(OperationKind::broadcast, sequence)) << sequence;
            ASSERT_EQ(rank(reader).others, rank(0).mine);
        }
    }
    EXPECT_EQ(rank(0).network.sent, 0);
    EXPECT_EQ(rank(0).engine.under_way().operations, 0u);
    EXPECT_EQ(rank(0).engine.under_way().messages, 0u);
}

TEST_F(ShortCalls, MoveTheBlocksOfTwoRanks) {
    set_up(2);
    ASSERT_TRUE(rank(1).ends_at_once(OperationKind::gather, 2));
    ASSERT_TRUE(rank(0).ends_at_once(OperationKind::gather, 2));
    EXPECT_TRUE(is_from(rank(0).blocks.data(), 0));
    EXPECT_TRUE(is_from(rank(0).blocks.data() + kBytes, 1));
    ASSERT_TRUE(rank(0).ends_at_once(OperationKind::scatter, 3));
    ASSERT_TRUE(rank(1).ends_at_once(OperationKind::scatter, 3));
    EXPECT_TRUE(is_from(rank(0).others.data(), 0));
    EXPECT_TRUE(is_from(rank(1).others.data(), 1));
}

// The rank that comes first publishes, and the rest is an operation. The other one ends at once.
TEST_F(ShortCalls, ExchangeBetweenTwoRanks) {
    set_up(2);
    for (std::uint64_t sequence = 2; sequence < 50; ++sequence) {
        const int first = static_cast<int>(sequence % 2);
        const auto kind = std::array{OperationKind::allgather, OperationKind::alltoall, OperationKind::allreduce}[sequence % 3];
        SCOPED_TRACE(sequence);
        for (int each = 0; each < 2; ++each) {
            rank(each).blocks.fill(std::byte(0));
            rank(each).others.fill(std::byte(0));
        }
        ASSERT_FALSE(rank(first).ends_at_once(kind, sequence));
        ASSERT_TRUE(rank(1 - first).ends_at_once(kind, sequence));
        const auto operation = rank(first).start(kind, sequence);
        ASSERT_TRUE(operation->done() && !operation->error());
        for (int each = 0; each < 2; ++each) {
            const std::byte* const blocks = rank(each).blocks.data();
            if (kind == OperationKind::allreduce) {
                EXPECT_TRUE(has(rank(each).others.data(), 12));
            } else {
                EXPECT_TRUE(has(blocks, kind == OperationKind::allgather ? 1 : 10 + each + 1));
                EXPECT_TRUE(has(blocks + kBytes, kind == OperationKind::allgather ? 2 : 20 + each + 1));
            }
        }
    }
    EXPECT_EQ(rank(0).network.sent, 0);
}

TEST_F(ShortCalls, WakeThePartnerOfAnExchangeOnce) {
    set_up(2);
    const auto waits = rank(1).start(OperationKind::allgather, 2);
    rank(1).engine.set_sleeping(true);
    ASSERT_TRUE(rank(0).ends_at_once(OperationKind::allgather, 2));
    EXPECT_EQ(rank(0).network.sent, 1);
    rank(1).engine.set_sleeping(false);
    rank(1).engine.progress();
    EXPECT_TRUE(waits->done());
}

TEST_F(ShortCalls, MeetOperations) {
    set_up(3);
    ASSERT_TRUE(rank(1).ends_at_once(OperationKind::gather, 2));
    EXPECT_FALSE(rank(0).ends_at_once(OperationKind::gather, 2)) << "the root has more than one partner";
    const auto gather = rank(0).start(OperationKind::gather, 2);
    EXPECT_FALSE(gather->done());
    EXPECT_FALSE(rank(0).ends_at_once(OperationKind::broadcast, 3)) << "another operation is under way";
    ASSERT_TRUE(rank(2).ends_at_once(OperationKind::gather, 2));
    rank(0).engine.progress();
    ASSERT_TRUE(gather->done());
    for (int from = 0; from < 3; ++from) EXPECT_TRUE(is_from(rank(0).blocks.data() + static_cast<std::uint64_t>(from) * kBytes, from));

    const auto early = rank(1).start(OperationKind::broadcast, 3);
    EXPECT_FALSE(early->done());
    ASSERT_TRUE(rank(0).ends_at_once(OperationKind::broadcast, 3));
    rank(1).engine.progress();
    EXPECT_TRUE(early->done());
    EXPECT_TRUE(is_from(rank(1).others.data(), 0));
}

TEST_F(ShortCalls, DoNotEndWhereTheyMustWait) {
    set_up(2);
    EXPECT_FALSE(rank(1).ends_at_once(OperationKind::broadcast, 2)) << "nothing is published yet";
    EXPECT_FALSE(rank(0).ends_at_once(OperationKind::broadcast, 3)) << "the call before has not begun here";
    // Of two ranks, one is at most eight calls ahead of the other.
    std::uint64_t sequence = 2;
    while (rank(0).ends_at_once(OperationKind::broadcast, sequence)) ASSERT_LT(++sequence, 20u);
    EXPECT_EQ(sequence - 2, node::period_for_all(2));
    const auto waits = rank(0).start(OperationKind::broadcast, sequence);
    EXPECT_FALSE(waits->done());
    ASSERT_TRUE(rank(1).ends_at_once(OperationKind::broadcast, 2));
    rank(0).engine.progress();
    EXPECT_TRUE(waits->done());
}

TEST_F(ShortCalls, WakeARankThatSleeps) {
    set_up(3);
    const auto waits = rank(2).start(OperationKind::broadcast, 2);
    rank(2).engine.set_sleeping(true);
    ASSERT_TRUE(rank(0).ends_at_once(OperationKind::broadcast, 2));
    EXPECT_EQ(rank(0).network.sent, 1);
    rank(2).engine.set_sleeping(false);
    rank(2).engine.progress();
    EXPECT_TRUE(waits->done());
}

// There is no memory to wake it.
TEST_F(ShortCalls, WakeARankThatSleepsLater) {
    set_up(3);
    const auto waits = rank(2).start(OperationKind::broadcast, 2);
    rank(2).engine.set_sleeping(true);
    rank(0).network.has_memory = false;
    ASSERT_TRUE(rank(0).ends_at_once(OperationKind::broadcast, 2));
    rank(0).engine.tick(rank(0).engine.due());
    rank(0).network.has_memory = true;
    rank(0).engine.tick(rank(0).engine.due());
    EXPECT_EQ(rank(0).network.sent, 1);
    rank(2).engine.set_sleeping(false);
    rank(2).engine.progress();
    EXPECT_TRUE(waits->done());
}

// Both ranks publish, and neither would read.
TEST_F(ShortCalls, FindAnotherCall) {
    set_up(2);
    ASSERT_TRUE(rank(1).ends_at_once(OperationKind::gather, 2));
    EXPECT_FALSE(rank(0).ends_at_once(OperationKind::broadcast, 2));
    const auto fails = rank(0).start(OperationKind::broadcast, 2);
    ASSERT_TRUE(fails->done() && fails->error());
    EXPECT_EQ(fails->error()->code(), ErrorCode::mismatch);
    EXPECT_NE(std::string(fails->error()->what()).find("gather"), std::string::npos) << fails->error()->what();
    EXPECT_FALSE(rank(0).ends_at_once(OperationKind::broadcast, 3)) << "the communicator is broken";
}

// There is no memory to tell the other rank.
TEST_F(ShortCalls, FindAnotherCallAndDoNotThrow) {
    set_up(2);
    ASSERT_TRUE(rank(1).ends_at_once(OperationKind::gather, 2));
    rank(0).network.has_memory = false;
    EXPECT_FALSE(rank(0).ends_at_once(OperationKind::broadcast, 2));
    const auto fails = rank(0).start(OperationKind::broadcast, 2);
    ASSERT_TRUE(fails->done() && fails->error());
    EXPECT_EQ(fails->error()->code(), ErrorCode::mismatch);
}

TEST_F(ShortCalls, FindAnotherExchange) {
    set_up(2);
    EXPECT_FALSE(rank(0).ends_at_once(OperationKind::allgather, 2));
    EXPECT_FALSE(rank(1).ends_at_once(OperationKind::allreduce, 2));
    const auto fails = rank(1).start(OperationKind::allreduce, 2);
    ASSERT_TRUE(fails->done() && fails->error());
    EXPECT_EQ(fails->error()->code(), ErrorCode::mismatch);
    EXPECT_NE(std::string(fails->error()->what()).find("allgather"), std::string::npos) << fails->error()->what();
}

}  // namespace
}  // namespace rollcall::runtime
