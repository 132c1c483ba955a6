// Which communicators are, which are being made, and which were.
#include "runtime/engine/communicators.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>

namespace rollcall::runtime {
namespace {

std::shared_ptr<const Group> group(std::uint64_t id) {
    auto made = std::make_shared<Group>();
    made->id = id;
    return made;
}

CommunicatorState make(std::uint64_t id) { return CommunicatorState(group(id), 0); }

TEST(Communicators, NumbersAreOfThisRankAndAscend) {
    Communicators of_one(1, 4), of_two(2, 4);
    const auto first = of_one.expect(), second = of_one.expect();
    EXPECT_LT(first, second);
    EXPECT_EQ(first % 4, 1u);
    EXPECT_EQ(of_two.expect() % 4, 2u);
}

TEST(Communicators, ANumberIsAboveAllThatWereKnown) {
    Communicators all(1, 4);
    CommunicatorState other = make(4 * 17 + 3);  // another rank's number was the highest
    all.add(other);
    EXPECT_GT(all.expect(), other.group->id);
}

TEST(Communicators, PresentThenPast) {
    Communicators all(0, 2);
    const auto number = all.expect();
    EXPECT_EQ(all.find(number), nullptr);
    EXPECT_FALSE(all.is_past(number)) << "it is being made";
    CommunicatorState state = make(number);
    all.add(state);
    all.stop_expecting(number);
    EXPECT_EQ(all.find(number), &state);
    EXPECT_FALSE(all.is_past(number));
    EXPECT_EQ(all.past(number), nullptr);
    state.begun = 12;
    state.signalled = {11, 12};
    state.broken = std::make_unique<Error>(ErrorCode::timeout, "not within its deadline");
    state.broken_from = 9;
    all.remove(state);
    EXPECT_EQ(all.find(number), nullptr);
    EXPECT_TRUE(all.is_past(number));
    const auto* past = all.past(number);
    ASSERT_NE(past, nullptr);
    EXPECT_EQ(past->begun, 12u);
    EXPECT_EQ(past->signalled, (std::array<std::uint64_t, 2>{11, 12}));
    EXPECT_EQ(past->broken_from, 9u);
    ASSERT_NE(past->broken, nullptr);
    EXPECT_EQ(past->broken->code(), ErrorCode::timeout);
}

TEST(Communicators, AnUnknownOneAboveWhatIsExpectedMayStillCome) {
    Communicators all(0, 2);
    const auto older = all.expect(), newer = all.expect();
    EXPECT_FALSE(all.is_past(older + 1));
    EXPECT_FALSE(all.is_past(newer + 1)) << "another rank's number may become the id";
    all.stop_expecting(older);
    EXPECT_TRUE(all.is_past(older));
    EXPECT_FALSE(all.is_past(newer));
    all.stop_expecting(newer);
    EXPECT_TRUE(all.is_past(newer));
    EXPECT_FALSE(all.is_past(newer + 2)) << "the next turn";
}

// Another rank's number was the highest one. This rank knows the id, but could not make the communicator.
TEST(Communicators, OneThatIsNotMadeIsPastAlsoIfItsIdIsOfALaterTurn) {
    for (const bool another_is_expected : {false, true}) {
        Communicators all(0, 2);
        const auto number = all.expect();
        const auto another = another_is_expected ? std::optional(all.expect()) : std::nullopt;
        const auto id = number + 5 * 2 + 1;
        EXPECT_FALSE(all.is_past(id));
        all.stop_expecting(number, id);
        EXPECT_TRUE(all.is_past(id));
        ASSERT_NE(all.past(id), nullptr);
        EXPECT_EQ(all.past(id)->begun, 0u);
        if (another) {
            EXPECT_FALSE(all.is_past(*another));
        }
        EXPECT_GT(all.expect(), id);
    }
}

TEST(Communicators, OneThatIsMadeIsNotPast) {
    Communicators all(0, 2);
    const auto number = all.expect();
    CommunicatorState state = make(number + 1);
    all.add(state);
    all.stop_expecting(number, number + 1);
    EXPECT_FALSE(all.is_past(number + 1));
    EXPECT_EQ(all.past(number + 1), nullptr);
}

TEST(Communicators, OnlyThoseRemovedWhileOthersAreExpectedAreAmbiguous) {
    Communicators all(0, 1);
    const auto waits = all.expect();  // this one takes long
    for (int i = 0; i < 10; ++i) {
        const auto number = all.expect();
        CommunicatorState state = make(number);
        all.add(state);
        all.stop_expecting(number);
        all.remove(state);
        EXPECT_TRUE(all.is_past(number));
    }
    EXPECT_EQ(all.ambiguous(), 10u);
    EXPECT_FALSE(all.is_past(waits));
    all.stop_expecting(waits);
    EXPECT_EQ(all.ambiguous(), 0u);
    const auto number = all.expect();
    CommunicatorState state = make(number);
    all.add(state);
    all.stop_expecting(number);
    all.remove(state);
    EXPECT_EQ(all.ambiguous(), 0u);
}

TEST(Communicators, TheOldestOfManyAreForgotten) {
    Communicators all(0, 1);
    std::uint64_t first = 0, second = 0;
    for (std::size_t i = 0; i <= Communicators::kRemembered; ++i) {
        const auto number = all.expect();
        if (i == 0) first = number;
        if (i == 1) second = number;
        CommunicatorState state = make(number);
        all.add(state);
        all.stop_expecting(number);
        state.begun = i;
        all.remove(state);
        if (i + 1 == Communicators::kRemembered) {
            EXPECT_NE(all.past(first), nullptr);
        }
    }
    EXPECT_EQ(all.past(first), nullptr);
    EXPECT_TRUE(all.is_past(first)) << "that it was is known by its number";
    ASSERT_NE(all.past(second), nullptr);
    EXPECT_EQ(all.past(second)->begun, 1u);
}

TEST(Communicators, EachIsVisitedWhileItIs) {
    Communicators all(0, 1);
    std::deque<CommunicatorState> states;
    for (std::uint64_t id = 1; id <= 5; ++id) all.add(states.emplace_back(group(id), 0));
    all.remove(states[2]);
    std::uint64_t sum = 0;
    all.for_each([&](const CommunicatorState& state) { sum += state.group->id; });
    EXPECT_EQ(sum, 1u + 2 + 4 + 5);
}

}  // namespace
}  // namespace rollcall::runtime
