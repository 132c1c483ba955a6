// The table by which messages find their receives, against a plain list.
#include "runtime/messages/match_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <list>
#include <random>
#include <string>
#include <vector>

namespace rollcall::runtime {
namespace {

struct Node {
    MatchKey key;
    Node* match_next = nullptr;
    int number = 0;
    Node* match_previous = nullptr;
};
struct WithLinksBack : ByMatchKey<Node> {
    static Node*& previous(Node& node) noexcept { return node.match_previous; }
};

TEST(MatchTable, AnEmptyOneFindsNothing) {
    MatchTable<Node> table;
    Node node;
    EXPECT_EQ(table.find({}), nullptr);
    EXPECT_EQ(table.take({}), nullptr);
    EXPECT_EQ(table.find_if({}, [](const Node&) { return true; }), nullptr);
    EXPECT_FALSE(table.remove(node));
    table.for_each([](Node&) { FAIL(); });
}

TEST(MatchTable, EqualKeysComeInTheirOrderAlsoAfterGrowing) {
    MatchTable<Node> table;
    std::deque<Node> nodes;
    for (int i = 0; i < 1000; ++i) {
        nodes.push_back({{1, 0, static_cast<std::uint64_t>(i % 3), 0}, nullptr, i});
        table.insert(nodes.back());
    }
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(table.take(nodes[static_cast<std::size_t>(i)].key)->number, i);
    EXPECT_EQ(table.size(), 0u);
}

TEST(MatchTable, EveryPartOfTheKeyCounts) {
    MatchTable<Node> table;
    Node node{{1, 2, 3, 4}, nullptr, 0};
    table.insert(node);
    for (const MatchKey& other : {MatchKey{2, 2, 3, 4}, MatchKey{1, 3, 3, 4}, MatchKey{1, 2, 4, 4}, MatchKey{1, 2, 3, 5}})
        EXPECT_EQ(table.find(other), nullptr);
    EXPECT_EQ(table.find({1, 2, 3, 4}), &node);
}

template <class Table>
void expect_to_do_what_a_list_does() {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const auto seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
    SCOPED_TRACE("ROLLCALL_TEST_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    Table table;
    std::deque<Node> nodes;
    std::list<Node*> list;
    const auto any_key = [&] { return MatchKey{random() % 2, random() % 3, random() % 5, static_cast<std::int32_t>(random() % 3)}; };
    for (int step = 0; step < 50'000; ++step) {
        const MatchKey key = any_key();
        const auto first = std::find_if(list.begin(), list.end(), [&](const Node* node) { return node->key == key; });
        Node* const expected = first == list.end() ? nullptr : *first;
        switch (random() % 5) {
            case 0:
            case 1:
                nodes.push_back({key, nullptr, step});
                table.insert(nodes.back());
                list.push_back(&nodes.back());
                break;
            case 2: ASSERT_EQ(table.find(key), expected); break;
            case 3:
                ASSERT_EQ(table.take(key), expected);
                if (expected) list.erase(first);
                break;
            default: {
                if (list.empty()) break;
                auto any = list.begin();
                std::advance(any, static_cast<std::ptrdiff_t>(random() % list.size()));
                const int number = (*any)->number;
                ASSERT_EQ(table.find_if((*any)->key, [&](const Node& node) { return node.number == number; }), *any);
                ASSERT_TRUE(table.remove(**any));
                ASSERT_FALSE(table.remove(**any));
                list.erase(any);
            }
        }
        ASSERT_EQ(table.size(), list.size());
    }
    std::size_t visited = 0;
    table.for_each([&](Node&) { ++visited; });
    EXPECT_EQ(visited, list.size());
}

TEST(MatchTable, DoesWhatAListDoes) { expect_to_do_what_a_list_does<MatchTable<Node>>(); }
TEST(MatchTable, DoesWhatAListDoesWithLinksBack) { expect_to_do_what_a_list_does<MatchTable<Node, WithLinksBack>>(); }

TEST(MatchTable, WithLinksBackANodeIsRemovedAtOnceWhereverItStands) {
    MatchTable<Node, WithLinksBack> table;
    std::deque<Node> nodes;
    for (int i = 0; i < 1000; ++i) {
        nodes.push_back({{1, 2, 3, 4}, nullptr, i});
        table.insert(nodes.back());
    }
    for (const std::size_t i : {500u, 999u, 0u, 998u, 1u}) {
        ASSERT_TRUE(table.remove(nodes[i]));
        ASSERT_FALSE(table.remove(nodes[i]));
    }
    EXPECT_EQ(table.steps(), 10u);
    std::vector<int> numbers;
    table.for_each_of({1, 2, 3, 4}, [&](Node& node) { numbers.push_back(node.number); });
    ASSERT_EQ(numbers.size(), 995u);
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    for (int i = 999; i >= 0; --i) table.remove(nodes[static_cast<std::size_t>(i)]);
    EXPECT_EQ(table.size(), 0u);
    EXPECT_EQ(table.find({1, 2, 3, 4}), nullptr);
}

// A node that stands in two tables: in one by its whole key, in the other by its call.
struct CallNode {
    MatchKey key;
    CallNode* match_next = nullptr;
    CallNode* call_next = nullptr;
    CallNode* call_previous = nullptr;
};
struct NodeByCall {
    using Key = CallKey;
    static CallKey key(const CallNode& node) noexcept { return {node.key.communicator, node.key.sequence}; }
    static CallNode*& next(CallNode& node) noexcept { return node.call_next; }
    static CallNode*& previous(CallNode& node) noexcept { return node.call_previous; }
};

TEST(MatchTable, AnotherKeyGathersWhatTheWholeKeyTellsApart) {
    for (const std::uint64_t calls : {2, 100}) {  // one list, and many
        MatchTable<CallNode> by_key;
        MatchTable<CallNode, NodeByCall> by_call;
        std::deque<CallNode> nodes;
        for (std::uint64_t i = 0; i < 3 * calls; ++i) {
            nodes.push_back({{1, i % calls, i, 0}});
            by_key.insert(nodes.back());
            by_call.insert(nodes.back());
        }
        // All of a call, oldest first; and they may leave both tables meanwhile.
        for (std::uint64_t call = 0; call < calls; ++call) {
            std::vector<std::uint64_t> tags;
            by_call.for_each_of({1, call}, [&](CallNode& node) {
                tags.push_back(node.key.tag);
                EXPECT_TRUE(by_call.remove(node));
                EXPECT_TRUE(by_key.remove(node));
            });
            EXPECT_EQ(tags, (std::vector<std::uint64_t>{call, call + calls, call + 2 * calls}));
            by_call.for_each_of({1, call}, [](CallNode&) { FAIL() << "it has left"; });
            EXPECT_EQ(by_key.size(), 3 * (calls - call - 1));
            EXPECT_EQ(by_call.size(), by_key.size());
        }
    }
}

TEST(MatchTable, OnlySomeOfAKeyMayLeaveWhileTheyAreVisited) {
    MatchTable<CallNode, NodeByCall> table;
    std::deque<CallNode> nodes;
    for (std::uint64_t i = 0; i < 20; ++i) {
        nodes.push_back({{1, i % 2, i, 0}});
        table.insert(nodes.back());
    }
    table.for_each_of({1, 0}, [&](CallNode& node) {
        if (node.key.tag % 4 == 0) table.remove(node);
    });
    EXPECT_EQ(table.size(), 15u);
    std::vector<std::uint64_t> left;
    table.for_each_of({1, 0}, [&](CallNode& node) { left.push_back(node.key.tag); });
    EXPECT_EQ(left, (std::vector<std::uint64_t>{2, 6, 10, 14, 18}));
    CallNode late{{1, 0, 99, 0}};
    table.insert(late);  // the last of its key again, though the last one may have left
    CallNode* last = nullptr;
    table.for_each_of({1, 0}, [&](CallNode& node) { last = &node; });
    EXPECT_EQ(last, &late);
    table.for_each([&](CallNode& node) { table.remove(node); });
    EXPECT_EQ(table.size(), 0u);
}

}  // namespace
}  // namespace rollcall::runtime
