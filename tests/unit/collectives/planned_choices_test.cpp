// What `auto` takes for plans, beside what it takes for calls.
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/selection.hpp"
#include "tests/unit/collectives/places.hpp"

namespace rollcall::collectives {
namespace {

std::string_view choice_of(const OperationRow& row, std::uint64_t bytes, int ranks, Conditions has) {
    return select(row, {.bytes = bytes, .ranks = ranks, .has = has, .nodes = has.contains(Condition::several_nodes) ? ranks / 4 : 0})
        .entry->name;
}
std::string_view planned_choice(OperationKind kind, std::uint64_t bytes, int ranks, Conditions has) {
    return choice_of(operation(kind), bytes, ranks, has.without(Condition::called));
}

void expect_choices_of_calls(const OperationRow& row, Conditions has) {
    const std::string_view with_hints = row.kind == OperationKind::gather    ? "background_sorted_linear_synchronized"
                                        : row.kind == OperationKind::scatter ? "online_linear"
                                                                             : "no other";
    for (const int ranks : {1, 2, 4, 8, 16, 48, 1000})
        for (int power = 0; power < 30; ++power) {
            const std::uint64_t bytes = std::uint64_t{1} << power;
            const std::string_view call = choice_of(row, bytes, ranks, has);
            const std::string_view plan = choice_of(row, bytes, ranks, has.without(Condition::called));
            if (call == plan) continue;
            SCOPED_TRACE(fmt::format("{} {} bytes, {} ranks", name(row.kind), bytes, ranks));
            EXPECT_TRUE(has.contains(Condition::background) || has.contains(Condition::landing));
            EXPECT_EQ(call, "linear");
            EXPECT_EQ(plan, with_hints);
        }
}

// Deputies serve both. Only where hints are worth more than leaving after a copy is the choice another one.
TEST(PlannedChoices, AreThoseOfCalls) {
    for (const OperationRow& row : all_operations())
        for (const Conditions has : {kApart, kOnNodes, kOnOneNode}) {
            expect_choices_of_calls(row, has);
            expect_choices_of_calls(row, has.without(Condition::background));
            expect_choices_of_calls(row, has.without(Condition::background | Condition::landing));
            if (row.has_own_sizes) expect_choices_of_calls(row, has.without(Condition::equal_blocks));
        }
}

TEST(PlannedChoices, AreAlgorithmsWithDeputies) {
    using enum OperationKind;
    EXPECT_EQ(planned_choice(broadcast, 1 << 20, 16, kApart), "pipelined");
    EXPECT_EQ(planned_choice(broadcast, 1 << 20, 16, kOnNodes), "two_level");
    EXPECT_EQ(planned_choice(broadcast, 1 << 20, 16, kApart.without(Condition::background)), "arrival_nonblocking");
    EXPECT_EQ(planned_choice(broadcast, 64 << 10, 16, kApart.without(Condition::background)), "binary") << "as a call";
    EXPECT_EQ(planned_choice(broadcast, 1 << 20, 16, kOnOneNode), "shared_memory");
    EXPECT_EQ(planned_choice(scatter, 1 << 10, 16, kOnNodes), "two_level");
    EXPECT_EQ(planned_choice(allgather, 1 << 20, 16, kApart), "background_disseminated_ring");
    EXPECT_EQ(planned_choice(intergroup_scatter, 8, 16, kOnNodes), "two_level");
    // These use the hints: they move each block during the compute phase, straight to its place, and first to ranks that wait for it.
    EXPECT_EQ(planned_choice(scatter, 1 << 20, 16, kApart), "online_linear");
    EXPECT_EQ(planned_choice(gather, 1 << 20, 16, kApart), "background_sorted_linear_synchronized");
}

// Where the parts of ranks wait for their callers: arrival-aware algorithms for what takes longer than their notices.
TEST(PlannedChoices, AreNotNeededForMessagesOfMediumSize) {
    using enum OperationKind;
    constexpr Conditions kWaits = kApart.without(Condition::background), kNothingLands = kWaits.without(Condition::landing);
    for (const Conditions has : {kWaits, kNothingLands})
        for (const std::uint64_t bytes : {16 << 10, 64 << 10, 128 << 10}) {
            const std::string_view taken = choice_of(operation(broadcast), bytes, 16, has);
            EXPECT_TRUE(taken == "binary" || taken == "binomial" || taken == "pipelined") << taken << ' ' << bytes;
        }
    EXPECT_EQ(choice_of(operation(broadcast), 64 << 10, 16, kOnNodes.without(Condition::background)), "two_level");
    EXPECT_EQ(choice_of(operation(broadcast), 256 << 10, 16, kWaits), "arrival_nonblocking");
    EXPECT_EQ(choice_of(operation(broadcast), 256 << 10, 16, kNothingLands), "arrival_blocking");
    EXPECT_EQ(choice_of(operation(gather), 256 << 10, 16, kWaits), "linear");
    EXPECT_EQ(choice_of(operation(gather), 512 << 10, 16, kWaits), "background_sorted_linear_synchronized");
    EXPECT_EQ(choice_of(operation(gather), 64 << 10, 16, kNothingLands), "background_sorted_linear_synchronized");
    EXPECT_EQ(choice_of(operation(scatter), 128 << 10, 16, kWaits), "linear");
    EXPECT_EQ(choice_of(operation(scatter), 256 << 10, 16, kWaits), "online_linear");
    EXPECT_EQ(choice_of(operation(scatter), 64 << 10, 16, kNothingLands), "online_linear");
}

}  // namespace
}  // namespace rollcall::collectives
