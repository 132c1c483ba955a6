#include "bootstrap/hub.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include <rollcall/error.hpp>

#include "tests/unit/random.hpp"

namespace rollcall::bootstrap {
namespace {

using Kind = Hub::Kind;

Blob blob_of(int rank, std::uint64_t sequence) {
    Blob blob(static_cast<std::size_t>(rank % 5) + 1, static_cast<std::byte>(rank));
    blob.push_back(static_cast<std::byte>(sequence));
    return blob;
}

/// What a rank heard.
struct Heard {
    std::map<std::uint64_t, FrameType> answers;
    std::map<std::uint64_t, int> failed_rank;
    std::map<std::uint64_t, std::string> why;
    std::map<std::uint64_t, std::vector<Blob>> gathered;
    std::vector<int> notices;
};

/// Hubs that are connected by queues: what is on its way is delivered when the test says so.
class Tree {
  public:
    /// parents[i] < i: the hub above hub i; hub 0 is the root. Ranks are dealt to the hubs in blocks of `per_node`.
    Tree(std::vector<int> parents, int per_node)
        : parents_(std::move(parents)), heard_(parents_.size() * static_cast<std::size_t>(per_node)) {
        const auto hubs = parents_.size();
        std::vector<std::vector<int>> own(hubs), covered(hubs);
        for (std::size_t hub = 0; hub < hubs; ++hub) {
            for (int i = 0; i < per_node; ++i) own[hub].push_back(static_cast<int>(hub) * per_node + i);
        }
        covered = own;
        children_.resize(hubs);
        place_.resize(hubs);
        for (std::size_t hub = hubs - 1; hub > 0; --hub) {
            auto& above = covered[static_cast<std::size_t>(parents_[hub])];
            above.insert(above.end(), covered[hub].begin(), covered[hub].end());
        }
        for (std::size_t hub = 1; hub < hubs; ++hub) {
            auto& siblings = children_[static_cast<std::size_t>(parents_[hub])];
            place_[hub] = static_cast<int>(siblings.size());
            siblings.push_back(static_cast<int>(hub));
        }
        for (std::size_t hub = 0; hub < hubs; ++hub) {
            std::vector<std::vector<int>> below;
            for (const int child : children_[hub]) below.push_back(covered[static_cast<std::size_t>(child)]);
            hubs_.emplace_back(static_cast<int>(heard_.size()), own[hub], below, hub == 0);
        }
        per_node_ = per_node;
    }

    int size() const { return static_cast<int>(heard_.size()); }
    int hub_of(int rank) const { return rank / per_node_; }
    const Heard& heard(int rank) const { return heard_[static_cast<std::size_t>(rank)]; }
    Hub& hub(int index) { return hubs_[static_cast<std::size_t>(index)]; }

    void call(int rank, Kind kind, std::uint64_t sequence) {
        const int at = hub_of(rank);
        take(at, hub(at).arrive(rank, kind, sequence, kind == Kind::exchange ? blob_of(rank, sequence) : Blob{}));
    }
    void lose(int rank) {
        const int at = hub_of(rank);
        take(at, hub(at).lose(rank, "h" + std::to_string(at), "died", true));
    }
    void lose_hub(int lost) {
        dead_.insert(lost);
        const int above = parents_[static_cast<std::size_t>(lost)];
        take(above, hub(above).lose_below(place_[static_cast<std::size_t>(lost)], "h", "is not heard of any more"));
    }

    /// Delivers the frame that has waited longest on one connection.
    template <typename Random>
    bool deliver_one(Random& random) {
        std::vector<std::pair<int, int>> ways;
        for (const auto& [way, queue] : moving_) {
            if (!queue.empty()) ways.push_back(way);
        }
        if (ways.empty()) return tell_collected();
        const auto way = ways[random() % ways.size()];
        const auto frame = moving_[way].front();
        moving_[way].pop_front();
        const auto [from, to] = way;
        if (dead_.contains(from) || dead_.contains(to)) return true;
        Inbox inbox(kLongestAnswer);
        inbox.append(*frame);
        const auto read = inbox.next();
        if (parents_[static_cast<std::size_t>(from)] == to && from != 0) {
            take(to, hub(to).hear_below(place_[static_cast<std::size_t>(from)], *read));
        } else {
            take(to, hub(to).hear_above(*read));
        }
        return true;
    }
    void deliver_all() {
        std::mt19937 random(1);
        while (deliver_one(random)) {
        }
    }

  private:
    /// As when time has passed. Returns whether there was something to tell.
    bool tell_collected() {
        bool any = false;
        for (std::size_t at = 0; at < hubs_.size(); ++at) {
            const auto told = hubs_[at].tell_collected();
            any = any || !told.empty();
            if (!dead_.contains(static_cast<int>(at))) take(static_cast<int>(at), told);
        }
        return any;
    }
    void take(int at, const Hub::Deliveries& deliveries) {
        for (const auto& one : deliveries) {
            switch (one.to) {
                case Hub::Delivery::To::above: moving_[{at, parents_[static_cast<std::size_t>(at)]}].push_back(one.frame); break;
                case Hub::Delivery::To::below:
                    moving_[{at, children_[static_cast<std::size_t>(at)][static_cast<std::size_t>(one.which)]}].push_back(one.frame);
                    break;
                case Hub::Delivery::To::rank: hear(one.which, *one.frame); break;
                case Hub::Delivery::To::notice:
                    for (int rank = at * per_node_; rank < (at + 1) * per_node_; ++rank) {
                        if (!hub(at).is_lost(rank)) hear(rank, *one.frame);
                    }
            }
        }
    }
    void hear(int rank, const Blob& bytes) {
        Heard& heard = heard_[static_cast<std::size_t>(rank)];
        Inbox inbox(kLongestAnswer);
        inbox.append(bytes);
        const auto frame = inbox.next();
        if (frame->type == FrameType::notice) {
            heard.notices.push_back(decode_notice(frame->body).rank);
            return;
        }
        FrameReader reader(frame->body);
        const auto sequence = reader.u64();
        ASSERT_FALSE(heard.answers.contains(sequence)) << "rank " << rank << " was answered twice";
        heard.answers[sequence] = frame->type;
        if (frame->type == FrameType::failed) {
            reader.u32();
            heard.failed_rank[sequence] = reader.i32();
            heard.why[sequence] = reader.text();
        } else if (frame->type == FrameType::gathered) {
            for (auto count = reader.u32(); count > 0; --count) {
                const auto bytes_of_one = reader.blob();
                heard.gathered[sequence].emplace_back(bytes_of_one.begin(), bytes_of_one.end());
            }
        }
    }

    std::vector<int> parents_;
    int per_node_ = 1;
    std::vector<std::vector<int>> children_;
    std::vector<int> place_;  // among the siblings
    std::vector<Hub> hubs_;
    std::vector<Heard> heard_;
    std::map<std::pair<int, int>, std::deque<std::shared_ptr<const Blob>>> moving_;
    std::set<int> dead_;
};

TEST(Hubs, GatherInRankOrderHoweverTheyAreConnected) {
    for (const auto& parents : {std::vector{0}, std::vector{0, 0, 0, 0}, std::vector{0, 0, 1, 2}, std::vector{0, 0, 0, 1, 1, 2, 2}}) {
        Tree tree(parents, 3);
        for (int rank = tree.size() - 1; rank >= 0; --rank) tree.call(rank, Kind::exchange, 1);
        tree.deliver_all();
        EXPECT_TRUE(tree.hub(0).has_met());
        for (int rank = 0; rank < tree.size(); ++rank) {
            const auto& all = tree.heard(rank).gathered.at(1);
            ASSERT_EQ(all.size(), static_cast<std::size_t>(tree.size()));
            for (int other = 0; other < tree.size(); ++other) EXPECT_EQ(all[static_cast<std::size_t>(other)], blob_of(other, 1));
        }
    }
}

TEST(Hubs, PassUpOneContributionPerNode) {
    Hub hub(6, {2, 3, 4}, {{5}}, false);
    EXPECT_TRUE(hub.arrive(2, Kind::barrier, 1, {}).empty());
    EXPECT_TRUE(hub.arrive(4, Kind::barrier, 1, {}).empty());
    EXPECT_TRUE(hub.arrive(3, Kind::barrier, 1, {}).empty());
    Hub below(6, {5}, {}, false);
    const auto up = below.arrive(5, Kind::barrier, 1, {});
    ASSERT_EQ(up.size(), 1u);
    Inbox inbox(kLongestAnswer);
    inbox.append(*up[0].frame);
    const auto whole = hub.hear_below(0, *inbox.next());
    ASSERT_EQ(whole.size(), 1u);
    EXPECT_EQ(whole[0].to, Hub::Delivery::To::above);
}

TEST(Hubs, WhoWaitsForALostRankIsToldAtOnceEvenIfItsOwnNodeStillComputes) {
    Tree tree({0, 0, 0}, 2);         // ranks 0 1 | 2 3 | 4 5
    tree.call(2, Kind::barrier, 1);  // 3 computes
    tree.lose(5);
    tree.deliver_all();
    EXPECT_EQ(tree.heard(2).failed_rank.at(1), 5);
    EXPECT_NE(tree.heard(2).why.at(1).find("rank 5 on host h2 died"), std::string::npos);
    for (int rank = 0; rank < 5; ++rank) EXPECT_EQ(tree.heard(rank).notices, std::vector{5}) << rank;
    tree.call(3, Kind::barrier, 1);
    EXPECT_EQ(tree.heard(3).failed_rank.at(1), 5);
}

TEST(Hubs, ARoundThatALostRankHadCalledEndsWell) {
    Tree tree({0, 0, 1}, 1);
    tree.call(2, Kind::exchange, 1);
    tree.deliver_all();
    tree.lose(2);
    tree.deliver_all();
    tree.call(0, Kind::exchange, 1);
    tree.call(1, Kind::exchange, 1);
    tree.deliver_all();
    EXPECT_EQ(tree.heard(0).gathered.at(1).size(), 3u);
    EXPECT_EQ(tree.heard(1).gathered.at(1).size(), 3u);
    tree.call(0, Kind::exchange, 2);
    EXPECT_EQ(tree.heard(0).failed_rank.at(2), 2);
}

TEST(Hubs, ALostNodeTakesAllItsRanksAndThoseBelowItWithIt) {
    Tree tree({0, 0, 1}, 1);
    tree.call(0, Kind::barrier, 1);
    tree.lose_hub(1);
    tree.deliver_all();
    EXPECT_EQ(tree.heard(0).answers.at(1), FrameType::failed);
    EXPECT_EQ(tree.heard(0).notices, (std::vector{1, 2}));
    EXPECT_FALSE(tree.hub(0).has_met());
}

TEST(Hubs, DifferentCallsAreToldToAll) {
    for (const bool same_node : {true, false}) {
        Tree tree({0, 0, 1}, 2);
        const int other = same_node ? 4 : 2;
        tree.call(5, Kind::exchange, 1);
        tree.call(other, Kind::barrier, 1);
        for (int rank = 0; rank < 5; ++rank) {
            if (rank != other) tree.call(rank, Kind::exchange, 1);
        }
        tree.deliver_all();
        for (int rank = 0; rank < 6; ++rank) {
            ASSERT_TRUE(tree.heard(rank).answers.contains(1)) << rank;
            EXPECT_EQ(tree.heard(rank).answers.at(1), FrameType::failed) << rank;
            EXPECT_NE(tree.heard(rank).why.at(1).find("called barrier"), std::string::npos) << tree.heard(rank).why.at(1);
            EXPECT_NE(tree.heard(rank).why.at(1).find("called exchange"), std::string::npos) << tree.heard(rank).why.at(1);
        }
        for (int rank = 0; rank < 6; ++rank) tree.call(rank, Kind::barrier, 2);
        tree.deliver_all();
        for (int rank = 0; rank < 6; ++rank) EXPECT_EQ(tree.heard(rank).answers.at(2), FrameType::released);
    }
}

TEST(Hubs, LeavingIsNoNewsButEndsWhatWaits) {
    Hub hub(2, {0, 1}, {}, true);
    hub.arrive(0, Kind::barrier, 1, {});
    const auto out = hub.lose(1, "h", "has left the job", false);
    ASSERT_EQ(out.size(), 1u);
    EXPECT_EQ(out[0].to, Hub::Delivery::To::rank);
    EXPECT_TRUE(hub.lose(1, "h", "died", true).empty());
}

TEST(Hubs, DeparturesAreToldTogether) {
    Hub hub(5, {0, 1}, {{2}, {3, 4}}, true);
    EXPECT_TRUE(hub.lose(0, "a", "has left the job", false).empty());
    EXPECT_TRUE(hub.lose(1, "a", "has left the job", false).empty());
    Inbox inbox(kLongestAnswer);
    inbox.append(Hub::encode_loss({{2}, "b", "has left the job", false}, 0));
    EXPECT_TRUE(hub.hear_below(0, *inbox.next()).empty());
    ASSERT_TRUE(hub.has_departures());
    const auto told = hub.tell_collected();
    EXPECT_FALSE(hub.has_departures());
    ASSERT_EQ(told.size(), 2u);
    inbox.append(*told[1].frame);
    Hub below(5, {3, 4}, {}, false);
    EXPECT_TRUE(below.hear_above(*inbox.next()).empty());
    const auto answer = below.arrive(3, Kind::barrier, 1, {});
    ASSERT_EQ(answer.size(), 1u);
    inbox.append(*answer[0].frame);
    const auto frame = inbox.next();
    FrameReader reader(frame->body);
    reader.u64();
    reader.u32();
    EXPECT_EQ(reader.i32(), 0);
    EXPECT_EQ(reader.text(), "rank 0 has left the job");
}

// The root had come to a call, and left it by its deadline. It said why it goes, and then it is gone, so nobody can answer the call any
// more.
TEST(Hubs, AnswerACallToWhichALostRankHadComeWhenItsHubIsGone) {
    Hub below(2, {1}, {}, false);
    Inbox inbox(kLongestAnswer);
    const auto answers_to_rank_1 = [&](const std::string& how, std::uint64_t last) {
        inbox.append(Hub::encode_loss({{0}, "a", how, true}, last));
        const auto out = below.hear_above(*inbox.next());
        return std::ranges::count_if(out, [](const auto& each) { return each.to == Hub::Delivery::To::rank && each.which == 1; });
    };
    below.arrive(1, Kind::barrier, 5, {});
    EXPECT_EQ(answers_to_rank_1("left the job after its finalize() had failed", 5), 0);
    for (const int answers : {1, 0}) EXPECT_EQ(answers_to_rank_1("died, or left without saying so", 0), answers);
    const auto later = below.arrive(1, Kind::barrier, 6, {});
    ASSERT_EQ(later.size(), 1u);
    EXPECT_EQ(later[0].to, Hub::Delivery::To::rank);
}

TEST(Hubs, RefuseWhatNobodyMaySend) {
    Hub hub(4, {0, 1}, {{2, 3}}, true);
    const auto hear = [&](const Blob& bytes) {
        Inbox inbox(kLongestAnswer);
        inbox.append(bytes);
        hub.hear_below(0, *inbox.next());
    };
    EXPECT_THROW(hear(FrameWriter(FrameType::contribution).u64(1).u32(1).u32(1).i32(2).blob({}).finish()), Error);  // one of two
    EXPECT_THROW(hear(FrameWriter(FrameType::contribution).u64(1).u32(7).u32(2).finish()), Error);
    EXPECT_THROW(hear(FrameWriter(FrameType::contribution).u64(0).u32(1).u32(2).finish()), Error);
    EXPECT_THROW(hear(FrameWriter(FrameType::contribution).u64(2).u32(1).u32(2).i32(2).blob({}).i32(0).blob({}).finish()), Error);
    EXPECT_THROW(hear(Hub::encode_loss({{0}, "h", "died", true}, 0)), Error);
    EXPECT_THROW(hear(FrameWriter(FrameType::abort).finish()), Error);
    hub.arrive(0, Kind::barrier, 5, {});
    EXPECT_THROW(hub.arrive(0, Kind::barrier, 5, {}), Error);
    EXPECT_THROW(for (std::uint64_t i = 6; i < 1000; ++i) hub.arrive(0, Kind::barrier, i, {}), Error);
}

/// Random trees, calls, deaths and delays: every call of a living rank is answered, and with success exactly if that is
/// possible for all.
TEST(Hubs, EveryCallIsAnsweredWhateverDies) {
    std::mt19937_64 random = seeded_random();
    for (int run = 0; run < 300; ++run) {
        std::vector<int> parents{0};
        for (int hubs = 1 + static_cast<int>(random() % 7); static_cast<int>(parents.size()) < hubs;) {
            parents.push_back(static_cast<int>(random() % parents.size()));
        }
        Tree tree(parents, 1 + static_cast<int>(random() % 3));
        constexpr std::uint64_t kCalls = 6;
        std::vector<std::uint64_t> called(static_cast<std::size_t>(tree.size()), 0);
        std::set<int> dead;
        const auto waits = [&](int rank) {
            const auto last = called[static_cast<std::size_t>(rank)];
            return last > 0 && !tree.heard(rank).answers.contains(last);
        };
        const auto kind_of = [](std::uint64_t sequence) { return sequence % 2 == 0 ? Kind::barrier : Kind::exchange; };
        for (bool busy = true; busy;) {
            busy = tree.deliver_one(random);
            const int rank = static_cast<int>(random() % static_cast<unsigned>(tree.size()));
            if (!dead.contains(rank) && random() % 200 == 0) {
                dead.insert(rank);
                tree.lose(rank);
                busy = true;
            }
            for (int other = 0; other < tree.size(); ++other) {
                auto& last = called[static_cast<std::size_t>(other)];
                if (dead.contains(other) || waits(other) || last == kCalls) continue;
                busy = true;
                if (random() % 4 == 0) {
                    ++last;
                    tree.call(other, kind_of(last), last);
                }
            }
        }
        std::uint64_t least = kCalls;
        for (const int rank : dead) least = std::min(least, called[static_cast<std::size_t>(rank)]);
        for (int rank = 0; rank < tree.size(); ++rank) {
            if (dead.contains(rank)) continue;
            for (std::uint64_t sequence = 1; sequence <= kCalls; ++sequence) {
                ASSERT_TRUE(tree.heard(rank).answers.contains(sequence)) << "run " << run << " rank " << rank << " call " << sequence;
                const auto answer = tree.heard(rank).answers.at(sequence);
                const auto good = kind_of(sequence) == Kind::barrier ? FrameType::released : FrameType::gathered;
                EXPECT_EQ(answer, sequence <= least ? good : FrameType::failed)
                    << "run " << run << " rank " << rank << " call " << sequence;
            }
            EXPECT_EQ(std::set<int>(tree.heard(rank).notices.begin(), tree.heard(rank).notices.end()), dead);
            EXPECT_EQ(tree.heard(rank).notices.size(), dead.size());
        }
    }
}

TEST(Hub, AContributionHasEachRankOnce) {
    Hub root(4, {0, 1}, {{3, 2}}, true);
    const auto contribute = [&](int first, int second) {
        const Blob whole = FrameWriter(FrameType::contribution).u64(1).u32(0).u32(2).i32(first).blob({}).i32(second).blob({}).finish();
        root.hear_below(0, {FrameType::contribution, Blob(whole.begin() + kHeaderBytes, whole.end())});
    };
    EXPECT_THROW(contribute(2, 2), Error);
    EXPECT_THROW(contribute(1, 2), Error);
    contribute(2, 3);
    root.arrive(0, Kind::exchange, 1, {});
    EXPECT_EQ(root.arrive(1, Kind::exchange, 1, {}).size(), 3u);  // the answer goes to two ranks and to the hub below
}

}  // namespace
}  // namespace rollcall::bootstrap
