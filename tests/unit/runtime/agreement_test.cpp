// How the ranks that are left agree on which they are.
#include "runtime/group/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/unit/random.hpp"

namespace rollcall::runtime {
namespace {

using Says = Agreement::Says;

/// Members that exchange their messages. Messages, calls and notices of deaths come in the order that a test gives.
class Scene {
  public:
    explicit Scene(int size) {
        for (int member = 0; member < size; ++member) members_.push_back({Agreement(size, member)});
    }
    int size() const { return static_cast<int>(members_.size()); }
    Agreement& of(int member) { return at(member).agreement; }
    bool is_dead(int member) { return at(member).is_dead; }

    void enter(int member) {
        send(member, [&](Agreement::Messages& out) { of(member).enter(part(member), out); });
    }
    /// What it has sent may still arrive.
    void kill(int member) { at(member).is_dead = true; }
    void notice(int member, int dead) {
        send(member, [&](Agreement::Messages& out) { of(member).lose(dead, out); });
    }
    void remind(int member) {
        send(member, [&](Agreement::Messages& out) { of(member).remind(out); });
    }
    void hear(int member, int from, const Agreement::Message& message) {
        send(member, [&](Agreement::Messages& out) { of(member).hear(from, message, out); });
    }
    bool any_decision() {
        return std::ranges::any_of(members_, [](const Member& one) { return one.agreement.decision() != nullptr; });
    }
    static Agreement::Part part(int member) { return {static_cast<std::uint64_t>(1000 - member), static_cast<std::uint64_t>(10 * member)}; }

    std::size_t under_way() const { return under_way_.size(); }
    void deliver(std::size_t which) {
        const auto [from, message] = under_way_[which];
        under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
        hear(message.to, from, message);
    }
    void deliver_all() {
        while (under_way() > 0) deliver(0);
    }
    /// Loses what a member has sent and what has not been delivered, as a killed process may.
    void lose_messages_of(int member, std::mt19937_64& random) {
        std::erase_if(under_way_, [&](const auto& each) { return each.first == member && random() % 2 == 0; });
    }
    void forget(Says says) {
        std::erase_if(under_way_, [&](const auto& each) { return each.second.says == says; });
    }

    /// All members that are left have decided alike: themselves, what the highest of them gave, and their slots.
    void expect_agreement(const std::string& what) {
        const Survivors* first = nullptr;
        for (int member = 0; member < size(); ++member) {
            if (is_dead(member)) continue;
            ASSERT_TRUE(of(member).decision()) << what << ": member " << member << " has no decision";
            const Survivors& its = *of(member).decision();
            if (!first) first = &its;
            ASSERT_EQ(its.ranks, first->ranks) << what << ": member " << member;
            ASSERT_EQ(its.id, first->id) << what;
            ASSERT_TRUE(its.have(member)) << what << ": member " << member << " was left out";
        }
        if (!first) return;
        std::uint64_t highest = 0;
        for (std::size_t i = 0; i < first->ranks.size(); ++i) {
            const Agreement::Part its = part(first->ranks[i]);
            highest = std::max(highest, its.number);
            ASSERT_EQ(first->first_slots[i], its.first_slot) << what;
        }
        ASSERT_EQ(first->id, highest) << what;
    }

  private:
    struct Member {
        Agreement agreement;
        bool is_dead = false;
    };
    Member& at(int member) { return members_[static_cast<std::size_t>(member)]; }
    template <class Do>
    void send(int from, Do&& what) {
        if (is_dead(from)) return;
        Agreement::Messages out;
        what(out);
        for (const Agreement::Message& message : out) under_way_.emplace_back(from, message);
    }

    std::vector<Member> members_;
    std::vector<std::pair<int, Agreement::Message>> under_way_;
};

TEST(Agreement, WithoutALossHasAllMembers) {
    for (const int n : {1, 2, 5}) {
        Scene scene(n);
        for (int member = n; member-- > 0;) {
            for (int other = 0; other < n; ++other) EXPECT_FALSE(scene.of(other).decision()) << "member " << member << " has not come";
            scene.enter(member);
            scene.deliver_all();
        }
        scene.expect_agreement("all have come");
        EXPECT_EQ(scene.of(0).decision()->ranks.size(), static_cast<std::size_t>(n));
    }
}

// The example in agreement.hpp.
TEST(Agreement, ADecisionOfALeaderThatDiesIsTaken) {
    Scene scene(4);
    scene.kill(0);
    for (int member = 1; member < 4; ++member) scene.notice(member, 0);
    for (int member = 3; member > 0; --member) scene.enter(member);
    while (scene.under_way() > 0 && !scene.of(2).decision()) scene.deliver(0);
    ASSERT_TRUE(scene.of(2).decision());
    ASSERT_FALSE(scene.of(3).decision());
    scene.kill(1);
    scene.forget(Says::decided);  // 1 had not told 3
    scene.notice(2, 1);
    scene.notice(3, 1);
    scene.deliver_all();
    scene.expect_agreement("2 had heard of the decision");
    EXPECT_EQ(scene.of(3).decision()->ranks, (std::vector{1, 2, 3}));
}

// A member that has answered a leader does not take the decision of an earlier one, of which the leader has not heard.
TEST(Agreement, ALateDecisionIsNotTaken) {
    Scene scene(3);
    for (int member = 0; member < 3; ++member) scene.enter(member);
    while (!scene.of(0).decision()) scene.deliver(0);
    scene.kill(0);
    Agreement::Message late{.says = Says::decided, .to = 2, .leader = 0, .decision = scene.of(0).decision()};
    scene.forget(Says::decided);
    scene.notice(1, 0);
    scene.notice(2, 0);
    while (!scene.of(1).decision()) scene.deliver(0);
    scene.hear(2, 0, late);
    EXPECT_FALSE(scene.of(2).decision());
    scene.deliver_all();
    scene.expect_agreement("1 and 2 are left");
    EXPECT_EQ(scene.of(2).decision()->ranks, (std::vector{1, 2}));
}

// Nor does it if it leads by then: the leader that it has answered may have decided otherwise.
TEST(Agreement, ALateDecisionIsNotTakenByALaterLeader) {
    Scene scene(4);
    const auto decide_and_die = [&](int leader) {
        while (!scene.of(leader).decision()) scene.deliver(0);
        scene.kill(leader);
    };
    for (int member = 0; member < 4; ++member) scene.enter(member);
    decide_and_die(0);
    const Agreement::Message late{.says = Says::decided, .to = 2, .leader = 0, .decision = scene.of(0).decision()};
    scene.forget(Says::decided);
    for (int member = 1; member < 4; ++member) scene.notice(member, 0);
    decide_and_die(1);
    scene.hear(3, 1, {.says = Says::decided, .to = 3, .leader = 1, .decision = scene.of(1).decision()});
    ASSERT_TRUE(scene.of(3).decision());
    scene.forget(Says::decided);
    scene.notice(2, 1);
    scene.notice(3, 1);
    scene.hear(2, 0, late);
    scene.deliver_all();
    scene.expect_agreement("3 has the decision of 1");
}

// A member that has a decision is asked for it by one that has answered a later leader, or by that later leader's successor.
TEST(Agreement, ADecisionIsPassedOnAfterLaterLeadersHaveDied) {
    for (const int n : {4, 5}) {
        Scene scene(n);
        for (int member = 0; member < n; ++member) scene.enter(member);
        while (!scene.of(0).decision()) scene.deliver(0);
        scene.kill(0);
        const int knows = n == 4 ? 2 : 4;
        scene.hear(knows, 0, {.says = Says::decided, .to = knows, .leader = 0, .decision = scene.of(0).decision()});
        scene.forget(Says::decided);
        scene.deliver_all();
        scene.notice(1, 0);
        // The question of 1 comes to all that have no decision, and not to the one that has it.
        for (int member = 2; member < n; ++member)
            if (member != knows) scene.hear(member, 1, {.says = Says::asks, .to = member});
        scene.kill(1);
        scene.forget(Says::asks);
        scene.deliver_all();
        for (int member = 2; member < n; ++member)
            for (const int dead : {0, 1}) scene.notice(member, dead);
        scene.deliver_all();
        for (int member = 2; member < n; ++member) scene.remind(member);
        scene.deliver_all();
        scene.expect_agreement(fmt::format("{} had the decision of 0", knows));
        EXPECT_TRUE(scene.of(2).decision()->have(0));
    }
}

// As above. Member 0 has no part in it, which the member that has the decision has not heard.
TEST(Agreement, ADecisionIsPassedOnBesideAMemberThatHasNoPart) {
    Scene scene(5);
    const Agreement::Message absent{.says = Says::is_absent};
    for (int member = 1; member < 5; ++member) scene.enter(member);
    scene.deliver_all();
    scene.hear(1, 0, absent);
    while (!scene.of(1).decision()) scene.deliver(0);
    scene.hear(3, 1, {.says = Says::decided, .to = 3, .leader = 1, .decision = scene.of(1).decision()});
    scene.kill(1);
    scene.forget(Says::decided);
    scene.hear(2, 0, absent);
    scene.notice(2, 1);
    scene.hear(4, 2, {.says = Says::asks, .to = 4});
    scene.kill(2);
    scene.forget(Says::asks);
    scene.deliver_all();
    for (const int member : {3, 4})
        for (const int dead : {1, 2}) scene.notice(member, dead);
    for (int i = 0; i < 4; ++i) {
        scene.remind(4);
        scene.deliver_all();
    }
    ASSERT_TRUE(scene.of(4).decision()) << "3 has the decision";
    EXPECT_EQ(scene.of(4).decision()->ranks, scene.of(3).decision()->ranks);
}

TEST(Agreement, AMemberThatHasNoPartIsLeftOut) {
    Scene scene(3);
    scene.enter(1);
    scene.enter(2);
    scene.deliver_all();
    EXPECT_FALSE(scene.of(1).decision()) << "0 leads";
    for (const int member : {2, 1}) scene.hear(member, 0, {.says = Says::is_absent, .to = member});
    scene.deliver_all();
    ASSERT_TRUE(scene.of(1).decision() && scene.of(2).decision());
    EXPECT_EQ(scene.of(2).decision()->ranks, (std::vector{1, 2}));
}

// Two members take each other for lost, but the third does not. The one that is left out learns of it from the third.
TEST(Agreement, AMemberThatWasTakenForLostIsTold) {
    Scene scene(3);
    scene.notice(0, 1);
    scene.notice(1, 0);
    for (int member = 0; member < 3; ++member) scene.enter(member);
    scene.forget(Says::asks);  // of 1, which expects 0 to be lost
    scene.remind(0);
    scene.deliver_all();
    ASSERT_TRUE(scene.of(0).decision());
    EXPECT_EQ(scene.of(2).decision()->ranks, (std::vector{0, 2}));
    EXPECT_TRUE(scene.of(1).awaited().size() == 1);
    for (int i = 0; i < 2; ++i) scene.remind(1);
    scene.deliver_all();
    EXPECT_TRUE(scene.of(1).is_left_out());
    EXPECT_TRUE(scene.of(1).awaited().empty());
}

// Messages, calls, deaths, and the notices of deaths come in any order.
TEST(Agreement, RandomDeathsLeaveOneDecision) {
    std::mt19937_64 random = seeded_random();
    std::size_t decided_by_the_dead = 0;
    for (int run = 0; run < 20'000; ++run) {
        const int n = 1 + static_cast<int>(random() % 9);
        Scene scene(n);
        std::vector<std::pair<int, int>> notices;
        std::vector<int> calls;
        for (int member = 0; member < n; ++member) calls.push_back(member);
        int deaths = static_cast<int>(random() % static_cast<std::uint64_t>(n + 1));
        const auto take = [&](auto& from) {
            const std::size_t which = random() % from.size();
            const auto taken = from[which];
            from.erase(from.begin() + static_cast<std::ptrdiff_t>(which));
            return taken;
        };
        std::string what = fmt::format("run {}:", run);
        while (!calls.empty() || !notices.empty() || scene.under_way() > 0) {
            switch (random() % 8) {
                case 0:
                    if (!calls.empty()) scene.enter(take(calls));
                    break;
                case 1:
                    // In half of the runs all deaths come after the first decision.
                    if (deaths > 0 && (run % 2 == 0 || scene.any_decision())) {
                        --deaths;
                        const int member = static_cast<int>(random() % static_cast<std::uint64_t>(n));
                        if (scene.is_dead(member)) break;
                        what += fmt::format(" {} dies", member);
                        decided_by_the_dead += scene.of(member).decision() != nullptr;
                        scene.kill(member);
                        scene.lose_messages_of(member, random);
                        for (int other = 0; other < n; ++other)
                            if (other != member) notices.emplace_back(other, member);
                    }
                    break;
                case 2:
                    if (!notices.empty()) {
                        const auto [member, dead] = take(notices);
                        scene.notice(member, dead);
                    }
                    break;
                case 3: scene.remind(static_cast<int>(random() % static_cast<std::uint64_t>(n))); break;
                default:
                    if (scene.under_way() > 0) scene.deliver(random() % scene.under_way());
            }
        }
        // What a leader that died has asked or told may be lost.
        for (int reminded = 0; reminded < 2 * n; ++reminded)
            for (int member = 0; member < n; ++member) {
                scene.remind(member);
                scene.deliver_all();
            }
        scene.expect_agreement(what);
        if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(decided_by_the_dead, 100u) << "hardly any member has died after its decision";
}

}  // namespace
}  // namespace rollcall::runtime
