// Memory that the ranks of a node share: entries, blocks, and which ranks may take them. All ranks are in one process here.
#include "runtime/node/node_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include <sys/mman.h>

#include "runtime/engine/publication.hpp"
#include "runtime/node/segment.hpp"
#include "tests/unit/runtime/private_memory.hpp"

namespace rollcall::runtime::node {
namespace {

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;

// The blocks of one rank.
class OneRank {
  public:
    explicit OneRank(std::uint32_t large_blocks, std::uint64_t budget = kPlenty, std::uint32_t small_blocks = 2,
                     std::uint64_t page_bytes = 4096)
        : node_({4, small_blocks, large_blocks}, 1), landing_(memory_, budget), region_(node_.shared().region(0)) {
        pool_ = std::make_unique<Pool>(region_, landing_, page_bytes);
    }
    Pool& pool() { return *pool_; }
    Landing& landing() { return landing_; }
    // The readers of a block let go of it; true: it was not taken back.
    bool read(Link link, int readers = 1) {
        bool good = true;
        for (int i = 0; i < readers; ++i) good = let_go(region_.head(block_of(link)).state, generation_of(link)) && good;
        return good;
    }
    Region& region() { return region_; }

  private:
    transport::PlainMemory memory_;
    PrivateMemory node_;
    Landing landing_;
    Region region_;
    std::unique_ptr<Pool> pool_;
};

TEST(NodePool, ABlockIsUsedAgainWhenItsLastReaderHasLetGo) {
    OneRank rank(1);
    Publisher publisher;
    const std::uint32_t block = rank.pool().take_large(publisher);
    ASSERT_NE(block, kNoBlock);
    EXPECT_EQ(rank.pool().take_large(publisher), kNoBlock);
    const Link link = rank.pool().publish(block, 100, 3);
    EXPECT_TRUE(rank.read(link, 2));
    EXPECT_EQ(rank.pool().take_large(publisher), kNoBlock);
    EXPECT_TRUE(rank.read(link));
    EXPECT_EQ(rank.pool().take_large(publisher), block);
}

TEST(NodePool, WhoReadsWhatWasTakenBackIsTold) {
    OneRank rank(1);
    Entry entry{};
    Publisher publisher;
    publisher.entry = &entry;
    const Link old = rank.pool().publish(rank.pool().take_large(publisher), 100, 2);
    rank.pool().withdraw(entry);
    const std::uint32_t block = rank.pool().take_large(publisher);
    ASSERT_EQ(block, block_of(old));
    const Link link = rank.pool().publish(block, 100, 1);
    EXPECT_FALSE(rank.read(old)) << "and takes nothing from the new readers";
    EXPECT_TRUE(rank.read(link));
}

TEST(NodePool, CountsInTheLandingBudget) {
    OneRank rank(8, 3 * kLargeBytes);
    Publisher publisher;
    std::vector<std::uint32_t> taken;
    for (int i = 0; i < 3; ++i) taken.push_back(rank.pool().take_large(publisher));
    EXPECT_EQ(rank.landing().used(), 3u * kLargeBytes);
    EXPECT_EQ(rank.pool().take_large(publisher), kNoBlock) << "there are more blocks, and no budget";
    EXPECT_FALSE(rank.landing().take(1, false));
    for (const std::uint32_t block : taken) rank.pool().give_back(block);
    EXPECT_EQ(rank.landing().used(), 0u);
}

// The publisher is not told when a block is read. It looks when room is needed for something else.
TEST(NodePool, LetsEarlyMessagesHaveTheRoomOfWhatHasBeenRead) {
    OneRank rank(2, 2 * kLargeBytes);
    Publisher publisher;
    const Link link = rank.pool().publish(rank.pool().take_large(publisher), 100, 1);
    ASSERT_EQ(rank.landing().used(), kLargeBytes);
    EXPECT_FALSE(rank.landing().take(2 * kLargeBytes, true)) << "it is still being read";
    EXPECT_TRUE(rank.read(link));
    EXPECT_EQ(rank.landing().used(), kLargeBytes) << "nobody has looked";
    const auto all = rank.landing().take(2 * kLargeBytes, true);
    ASSERT_TRUE(all);
    rank.landing().give_back(*all);
    EXPECT_EQ(rank.landing().used(), 0u);
}

TEST(NodePool, GivesItsPagesBackWhenEarlyMessagesNeedTheRoom) {
    constexpr std::uint64_t kBudget = 4 * kLargeBytes;
    OneRank rank(4, kBudget);
    Publisher publisher;
    std::vector<std::uint32_t> taken;
    for (int i = 0; i < 4; ++i) taken.push_back(rank.pool().take_large(publisher));
    for (const std::uint32_t block : taken) {
        std::memset(rank.region().data(block), 1, kLargeBytes);
        rank.pool().give_back(block);
    }
    EXPECT_EQ(rank.pool().spare(), kBudget);
    const auto landed = rank.landing().take(3 * kLargeBytes, false);
    ASSERT_TRUE(landed);
    EXPECT_LE(rank.pool().spare() + rank.landing().used() + rank.landing().kept(), kBudget);
    rank.landing().give_back(*landed);
}

// The kernel would round the length up and take the memory of the next blocks, too.
TEST(NodePool, KeepsBlocksThatAreSmallerThanAPage) {
    for (const std::uint64_t page : {4096u, 16u << 10, 64u << 10}) {
        OneRank rank(2, kPlenty, 4, page);
        Publisher publisher;
        const std::uint32_t small = rank.pool().take_small(publisher), next = rank.pool().take_small(publisher);
        const std::uint32_t large = rank.pool().take_large(publisher);
        for (const std::uint32_t block : {small, next, large}) std::memset(rank.region().data(block), 7, kSmallBytes);
        rank.pool().give_back(small);
        rank.pool().give_back(large);
        const bool droppable = page == kSmallBytes;
        EXPECT_EQ(rank.pool().spare(), kLargeBytes + (droppable ? kSmallBytes : 0));
        rank.pool().drop_spare(kPlenty);
        EXPECT_EQ(rank.pool().spare(), 0u);
        EXPECT_EQ(*rank.region().data(large), std::byte{0});
        EXPECT_EQ(*rank.region().data(small), droppable ? std::byte{0} : std::byte{7});
        EXPECT_EQ(*rank.region().data(next), std::byte{7}) << "it is in use";
        rank.pool().give_back(next);
    }
}

TEST(NodePool, StillCountsWhatTheKernelDoesNotTakeBack) {
    OneRank rank(1);
    Publisher publisher;
    const std::uint32_t block = rank.pool().take_large(publisher);
    rank.pool().give_back(block);
    // Memory without a file cannot be given back in this way.
    constexpr int kPrivate = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    ASSERT_NE(::mmap(rank.region().data(block), kLargeBytes, PROT_READ | PROT_WRITE, kPrivate, -1, 0), MAP_FAILED);
    rank.pool().drop_spare(kPlenty);
    EXPECT_EQ(rank.pool().spare(), kLargeBytes);
}

// Every publisher that was let in has two blocks of its own, whatever the others take: else two of them could wait for each other's
// readers forever.
TEST(NodePool, PublishersThatWereLetInAlwaysGoOn) {
    OneRank rank(5);
    Publisher first, second, third, short_one;
    ASSERT_TRUE(rank.pool().enter(first));
    ASSERT_TRUE(rank.pool().enter(second));
    EXPECT_FALSE(rank.pool().enter(third)) << "one block is not enough";
    // The fifth block is anybody's.
    const std::uint32_t loose = rank.pool().take_large(short_one);
    ASSERT_NE(loose, kNoBlock);
    EXPECT_EQ(rank.pool().take_large(short_one), kNoBlock);
    Link before[2] = {};
    for (int piece = 0; piece < 20; ++piece) {
        int which = 0;
        for (Publisher* publisher : {&first, &second}) {
            const std::uint32_t block = rank.pool().take_large(*publisher);
            ASSERT_NE(block, kNoBlock) << "piece " << piece << " of publisher " << which;
            const Link link = rank.pool().publish(block, kLargeBytes, 1);
            // A reader holds a block until it sees the next.
            if (before[which]) rank.read(before[which]);
            before[which++] = link;
        }
    }
    rank.pool().leave(first);
    rank.pool().leave(second);
    rank.pool().give_back(loose);
    for (const Link link : before) rank.read(link);
    ASSERT_TRUE(rank.pool().enter(third));
    rank.pool().leave(third);
    EXPECT_EQ(rank.landing().used(), 0u);
}

// The block that was published first is not read before the publisher of the others has gone on. There are free blocks, but no budget.
TEST(NodePool, FreesWhatHasBeenReadWhenTheBudgetIsUsedUp) {
    OneRank rank(8, 3 * kLargeBytes);
    Publisher later, earlier;
    const std::uint32_t unread = rank.pool().take_small(later);
    ASSERT_NE(unread, kNoBlock);
    const Link last = rank.pool().publish(unread, kSmallBytes, 1);
    ASSERT_TRUE(rank.pool().enter(earlier));
    Link before{};
    for (int piece = 0; piece < 5; ++piece) {
        const std::uint32_t block = rank.pool().take_large(earlier);
        ASSERT_NE(block, kNoBlock) << "piece " << piece;
        const Link link = rank.pool().publish(block, kLargeBytes, 1);
        if (piece > 0) rank.read(before);
        before = link;
    }
    rank.read(before);
    rank.pool().leave(earlier);
    EXPECT_TRUE(rank.pool().enter(later)) << "what has been read is freed for others, too";
    rank.pool().leave(later);
    rank.read(last);
}

TEST(NodePool, KnowsWhetherEarlierOperationsOfACommunicatorHoldBlocks) {
    OneRank rank(3);
    Publisher one, later, other;
    one.communicator = later.communicator = 7;
    other.communicator = 8;
    one.sequence = 4;
    later.sequence = other.sequence = 5;
    const std::uint32_t block = rank.pool().take_large(one);
    EXPECT_FALSE(rank.pool().holds_blocks_of_earlier(one));
    EXPECT_TRUE(rank.pool().holds_blocks_of_earlier(later));
    EXPECT_FALSE(rank.pool().holds_blocks_of_earlier(other));
    rank.pool().give_back(block);
    EXPECT_FALSE(rank.pool().holds_blocks_of_earlier(later));
}

TEST(NodePool, SmallBlocksAreForShortMessagesAndLargeOnesHelpOut) {
    OneRank rank(1, kPlenty, 1);
    Publisher publisher;
    const std::uint32_t small = rank.pool().take_small(publisher), large = rank.pool().take_small(publisher);
    EXPECT_EQ(small, 0u);
    EXPECT_EQ(large, 1u);
    EXPECT_EQ(rank.pool().take_small(publisher), kNoBlock);
    rank.pool().give_back(large);
    rank.pool().give_back(small);
}

TEST(NodeRegion, EntriesDoNotTouch) {
    OneRank rank(1);
    constexpr std::uint64_t kFirst = 1, kCount = 3;
    Group group;
    group.size = kCount;
    const auto entry = [&](int reader, std::uint64_t sequence) {
        return &entry_at(rank.region().entries_of(kFirst), group, reader, sequence);
    };
    std::set<const Entry*> seen;
    for (std::uint64_t sequence = 0; sequence < kEntriesForOne; ++sequence)
        for (int reader = 0; reader < group.size; ++reader) EXPECT_TRUE(seen.insert(entry(reader, sequence)).second);
    const std::uint64_t ahead = std::min(kMostAhead, kCount * kEntriesForAll);
    for (std::uint64_t sequence = 0; sequence < ahead; ++sequence) EXPECT_TRUE(seen.insert(entry(kEverybody, sequence)).second);
    EXPECT_EQ(entry(kEverybody, 0), entry(kEverybody, ahead));
    for (const Entry* each : seen) {
        EXPECT_GE(each, rank.region().entries_of(kFirst));
        EXPECT_LT(each, rank.region().entries_of(kFirst + kCount));
    }
}

// Two ranks of a node.
class NodeOfTwo : public testing::Test {
  protected:
    NodeOfTwo() : node_({2, 4, 4}, 2), budget_(memory_, kPlenty) {
        for (int rank = 0; rank < 2; ++rank) ranks_.emplace_back(node_.shared(), rank, std::vector<int>{0, 1, -1}, budget_);
        group_->id = 7;
        group_->size = 2;
    }
    // Where a rank whose region this is publishes for rank 1.
    Entry& entry_in(const Region& region) const { return entry_at(region.entries_of(0), *group_, 1, 5); }
    transport::PlainMemory memory_;
    PrivateMemory node_;
    Landing budget_;
    std::deque<NodeMemory> ranks_;
    std::shared_ptr<Group> group_ = std::make_shared<Group>();
};

TEST_F(NodeOfTwo, HoldOnlyGroupsWhoseMembersAreAllThere) {
    EXPECT_TRUE(ranks_[0].holds(*group_));
    Group with_another = *group_;
    with_another.size = 3;
    EXPECT_FALSE(ranks_[0].holds(with_another));
    Group without_slots = *group_;
    without_slots.has_slots = false;
    EXPECT_FALSE(ranks_[0].holds(without_slots));
}

TEST_F(NodeOfTwo, ATakenBackEntryIsFreeAndItsReadersAreTold) {
    Entry& entry = entry_in(ranks_[0].own());
    ranks_[0].claim(entry, group_, 5, 1);
    EXPECT_FALSE(NodeMemory::is_free(entry));
    NodeMemory::show(entry, *group_);
    const Region seen = ranks_[1].region_of(0);
    EXPECT_EQ(entry_in(seen).key.load(), key_of(7, 5));
    const std::uint32_t generation = generation_of(entry.state.load());
    ranks_[0].withdraw([](const Group& group, std::uint64_t sequence) { return group.id == 7 && sequence >= 6; });
    EXPECT_FALSE(NodeMemory::is_free(entry)) << "an earlier operation's";
    ranks_[0].withdraw([](const Group& group, std::uint64_t sequence) { return group.id == 7 && sequence >= 5; });
    EXPECT_TRUE(NodeMemory::is_free(entry));
    EXPECT_NE(entry_in(seen).key.load(), key_of(7, 5));
    EXPECT_FALSE(let_go(entry.state, generation));
}

TEST_F(NodeOfTwo, AnOfferIsTakenOrTakenBackButNotBoth) {
    Entry& entry = entry_in(ranks_[0].own());
    const auto offer = [&] {
        const std::uint32_t generation = ranks_[0].claim(entry, group_, 5, 1);
        NodeMemory::show(entry, *group_);
        return generation;
    };
    const std::uint32_t first = offer();
    EXPECT_TRUE(NodeMemory::take_back(entry, first));
    EXPECT_TRUE(NodeMemory::is_free(entry));
    EXPECT_EQ(entry.key.load(), 0u);
    EXPECT_FALSE(take(entry.state, first));
    EXPECT_FALSE(take(entry.state, first + 1)) << "no publication has this generation";
    EXPECT_FALSE(NodeMemory::take_back(entry, first));
    const std::uint32_t second = offer();
    EXPECT_GT(second, first + 1);
    EXPECT_TRUE(take(entry.state, second));
    EXPECT_FALSE(take(entry.state, second));
    EXPECT_FALSE(NodeMemory::take_back(entry, second));
    EXPECT_FALSE(NodeMemory::is_free(entry));
    EXPECT_EQ(let_go(entry.state, second, kTaken), 0u);
    EXPECT_TRUE(NodeMemory::is_free(entry));
    const std::uint32_t third = offer();
    ASSERT_TRUE(take(entry.state, third));
    ranks_[0].withdraw(entry, third);
    EXPECT_FALSE(let_go(entry.state, third, kTaken)) << "its communicator broke";
    EXPECT_TRUE(NodeMemory::is_free(entry));
}

TEST_F(NodeOfTwo, WhatIsTakenBackIsNotWhatWasPublishedInTheSameEntrySince) {
    Entry& entry = entry_in(ranks_[0].own());
    ranks_[0].claim(entry, group_, 5, 1);
    NodeMemory::show(entry, *group_);
    ASSERT_TRUE(let_go(entry.state, generation_of(entry.state.load())));
    auto other = std::make_shared<Group>(*group_);
    other->id = 8;
    ranks_[0].claim(entry, other, 5, 1);
    NodeMemory::show(entry, *other);
    ranks_[0].withdraw([](const Group& group, std::uint64_t) { return group.id == 7; });
    EXPECT_FALSE(NodeMemory::is_free(entry)) << "the other communicator's";
    const auto unread = [&] {
        auto found = ranks_[0].claims();
        std::erase_if(found, [](const NodeMemory::Claim& claim) { return !claim.is_unread(); });
        return found;
    };
    ASSERT_EQ(unread().size(), 1u);
    EXPECT_EQ(unread()[0].group->id, 8u);
    ranks_[0].withdraw([](const Group& group, std::uint64_t) { return group.id == 8; });
    EXPECT_TRUE(NodeMemory::is_free(entry));
    EXPECT_TRUE(unread().empty());
}

// A break takes it back, another operation publishes in it, and only then does the first operation end.
TEST_F(NodeOfTwo, WhoTakesBackItsClaimTwiceLeavesTheNextOneAlone) {
    Entry& entry = entry_in(ranks_[0].own());
    const std::uint32_t first = ranks_[0].claim(entry, group_, 5, 1);
    ranks_[0].withdraw(entry, first);
    const std::uint32_t second = ranks_[0].claim(entry, group_, 9, 1);
    ASSERT_NE(first, second);
    ranks_[0].withdraw(entry, first);
    EXPECT_FALSE(NodeMemory::is_free(entry));
    ranks_[0].withdraw(entry, second);
    EXPECT_TRUE(NodeMemory::is_free(entry));
}

TEST_F(NodeOfTwo, ASleeperIsWokenOnce) {
    EXPECT_FALSE(ranks_[0].any_sleeps());
    EXPECT_FALSE(ranks_[0].is_to_wake(1));
    ranks_[1].set_sleeping(true);
    EXPECT_TRUE(ranks_[0].any_sleeps());
    EXPECT_TRUE(ranks_[0].is_to_wake(1));
    EXPECT_FALSE(ranks_[0].any_sleeps());
    EXPECT_FALSE(ranks_[0].is_to_wake(1));
    ranks_[1].set_sleeping(true);
    ranks_[1].set_sleeping(false);
    EXPECT_FALSE(ranks_[0].any_sleeps());
    EXPECT_FALSE(ranks_[0].is_to_wake(1));
}

}  // namespace
}  // namespace rollcall::runtime::node
