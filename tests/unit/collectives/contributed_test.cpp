// What a rank that only contributes data compares: its wait, and a copy (collectives/catalogue.hpp, collectives/selection.hpp).
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "collectives/selection.hpp"

namespace rollcall::collectives {
namespace {

constexpr Conditions kGoesOn = kUsual.with(Condition::background);
// At 100 Gbit/s a copy takes as long as the wait for one message without its latency. These are 200 Gbit/s.
constexpr Costs kFast{.network_latency = 2'000, .network_gap = 200, .network_mebibyte = 42'000};

std::string said(OperationKind kind, std::string_view name, int ranks, const Costs& costs = kFast, Conditions has = kGoesOn,
                 const Leaving& leaving = {.room = 64 << 20, .longest = 64 << 20}) {
    const SelectionInput input{.bytes = 1 << 20, .ranks = ranks, .has = has, .costs = &costs};
    return stay_or_leave(operation(kind), input, find_algorithm(kind, name), leaving);
}

TEST(Contributed, IsWhatLeavesOnceOrOftenOrInAQueue) {
    EXPECT_EQ(said(OperationKind::broadcast, "pipelined", 16, kBuiltInCosts),
              "the root leaves after a copy (84.0 us), because it would wait for 852 us");
    EXPECT_EQ(said(OperationKind::broadcast, "pipelined", 16),
              "the root waits until its data has left (44.0 us), because a copy would take 84.0 us");
    EXPECT_EQ(said(OperationKind::broadcast, "binomial", 16), "the root leaves after a copy (84.0 us), because it would wait for 171 us");
    EXPECT_EQ(said(OperationKind::gather, "linear", 16),
              "a rank that only contributes leaves after a copy (84.0 us), because it would wait for 318 us");
    EXPECT_EQ(said(OperationKind::reduce, "pipelined", 16),
              "a rank that only contributes waits until its data has left (44.0 us), because a copy would take 84.0 us");
}

TEST(Contributed, OfBlocksAllButTheOwnOneLeave) {
    EXPECT_EQ(said(OperationKind::scatter, "linear", 16),
              "the root waits until its data has left (635 us), because a copy would take 1.34 ms");
    // Between two groups the root has no block of its own: here 15 blocks for 15 ranks.
    EXPECT_EQ(said(OperationKind::intergroup_scatter, "linear", 16),
              "the root waits until its data has left (635 us), because a copy would take 1.26 ms");
    EXPECT_EQ(said(OperationKind::intergroup_scatter, "linear", 2),
              "the root waits until its data has left (44.0 us), because a copy would take 84.0 us");
}

TEST(Contributed, IsNotCopiedWhereThereIsNoRoom) {
    EXPECT_EQ(said(OperationKind::scatter, "linear", 16, kBuiltInCosts, kGoesOn, {.room = 16 << 20}),
              "the root leaves after a copy (1.34 ms), because it would wait for 12.6 ms");
    EXPECT_EQ(
        said(OperationKind::scatter, "linear", 16, kBuiltInCosts, kGoesOn, {.room = (16 << 20) - 1}),
        "the root waits until its data has left (12.6 ms), because a copy of it would need more than the half of ROLLCALL_LANDING_BYTES");
    EXPECT_EQ(said(OperationKind::scatter, "linear", 16, kBuiltInCosts, kGoesOn, {.room = 16 << 20, .longest = (16 << 20) - 1}),
              "the root waits until its data has left (12.6 ms), because a copy of it would be longer than ROLLCALL_LANDING_LONGEST");
    EXPECT_EQ(said(OperationKind::scatter, "linear", 16, kBuiltInCosts, kGoesOn, {.room = 16 << 20, .has_background = false}),
              "the root waits until its data has left (12.6 ms), because no background thread would send a copy");
}

TEST(Contributed, MayBeLeftWhereTheSettingsAllowIt) {
    Settings settings;
    EXPECT_EQ(conditions_of(settings, {}), kUsual.with(Condition::background));
    EXPECT_EQ(conditions_of(settings, {.boards = true, .node_memory = true}), kGoesOn | Condition::shared_boards | Condition::node_memory);
    EXPECT_EQ(conditions_of(settings, {.several_nodes = true}), kGoesOn | Condition::several_nodes);
    settings.decouple = "no";
    EXPECT_EQ(conditions_of(settings, {}), kUsual);
    settings.decouple = "auto";
    settings.landing_bytes = 0;
    EXPECT_EQ(conditions_of(settings, {}), kUsual.without(Condition::landing));
}

TEST(Contributed, NothingIsSaidWhereNothingIsCompared) {
    EXPECT_EQ(said(OperationKind::reduce, "ring", 16), "") << "its part waits for other ranks";
    EXPECT_EQ(said(OperationKind::allgather, "ring", 16), "") << "no rank only contributes";
    EXPECT_EQ(said(OperationKind::broadcast, "pipelined", 1), "") << "nobody else is there";
    EXPECT_EQ(said(OperationKind::broadcast, "pipelined", 16, kFast, kUsual), "") << "calls end with their callers";
}

// What the engine is told is what is said: for a group of hosts, and for one of a single node.
TEST(Contributed, EngineIsToldTheSame) {
    const auto& entry = find_algorithm(OperationKind::broadcast, "pipelined");
    runtime::Group group;
    group.size = 16;
    group.costs = &kFast;
    const runtime::Call call = make_call(entry, 3, 1 << 20, 0);
    const runtime::PartAlone root = part_alone(call, 3, group), other = part_alone(call, 4, group);
    EXPECT_DOUBLE_EQ(root.wait + (1 << 20) * root.wait_byte, 44'000);
    EXPECT_DOUBLE_EQ((1 << 20) * root.copy_byte, 84'000);
    EXPECT_EQ(other.wait + other.wait_byte, 0) << "it does not only contribute";
    group.on_one_node = true;
    const runtime::PartAlone on_node = part_alone(call, 3, group);
    EXPECT_DOUBLE_EQ(on_node.wait + (1 << 20) * on_node.wait_byte, 130'750);
}

}  // namespace
}  // namespace rollcall::collectives
