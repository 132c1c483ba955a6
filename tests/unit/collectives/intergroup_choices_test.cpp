// What `auto` takes between two groups on several nodes, apart from the allgather (estimates_test.cpp).
#include <string_view>

#include <gtest/gtest.h>

#include "collectives/selection.hpp"

namespace rollcall::collectives {
namespace {

// Calls between one rank, which is on a node of its own, and a group. With a root, no others of its group have a part.
TEST(CostChoices, TakeTwoLevelsWithOtherGroupsWhereTheyPay) {
    using enum OperationKind;
    constexpr Conditions kScattered = kUsual.with(Condition::background), kSpread = kScattered.with(Condition::several_nodes),
                         kTogether = kScattered.with(Condition::shared_boards | Condition::node_memory);
    const auto taken_by = [](OperationKind kind, std::uint64_t bytes, Conditions has, int ranks, int nodes) {
        return select(kind, {.bytes = bytes,
                             .ranks = ranks + 1,
                             .has = has,
                             .nodes = has.contains(Condition::several_nodes) ? nodes + 1 : 0,
                             .ranks_of_group = ranks,
                             .nodes_of_group = nodes})
            .entry->name;
    };
    struct {
        OperationKind kind;
        std::string_view apart;  ///< What ranks take that have a node each, for 1 KiB.
    } const operations[] = {{intergroup_broadcast, "binomial"},
                            {intergroup_scatter, "linear"},
                            {intergroup_reduce, "binomial"},
                            {intergroup_alltoall, "linear"},
                            {intergroup_allreduce, "reduce_then_broadcast"}};
    for (const auto& [kind, apart] : operations) {
        SCOPED_TRACE(name(kind));
        for (const std::uint64_t bytes : {8, 1 << 10}) {
            EXPECT_EQ(taken_by(kind, bytes, kSpread, 64, 4), "two_level") << bytes;
            EXPECT_EQ(taken_by(kind, bytes, kSpread, 8, 8), apart) << "no two ranks of the group share a node";
            EXPECT_EQ(taken_by(kind, bytes, kScattered, 64, 64), apart) << bytes;
            EXPECT_EQ(taken_by(kind, bytes, kTogether, 64, 1), "shared_memory") << bytes;
        }
    }
    for (const OperationKind kind : {intergroup_scatter, intergroup_gather, intergroup_alltoall})
        EXPECT_NE(taken_by(kind, kAnyBytes, kSpread.without(Condition::equal_blocks), 64, 4), "two_level") << "nobody knows the sizes";
    for (const OperationKind kind : {intergroup_scatter, intergroup_gather, intergroup_alltoall})
        EXPECT_EQ(taken_by(kind, 16 << 10, kSpread, 64, 4), "linear") << name(kind);
    EXPECT_EQ(taken_by(intergroup_alltoall, 1 << 20, kScattered, 64, 64), "pairwise");
    EXPECT_EQ(taken_by(intergroup_alltoall, kAnyBytes, kScattered.without(Condition::equal_blocks), 64, 64), "linear");
    EXPECT_EQ(taken_by(intergroup_scatter, 8, kSpread.without(Condition::background), 64, 4), "linear")
        << "ranks would wait for one another";
    EXPECT_EQ(taken_by(intergroup_gather, 8, kSpread, 64, 4), "linear");
    EXPECT_EQ(taken_by(intergroup_gather, 8, kTogether, 64, 1), "shared_memory");
    EXPECT_EQ(taken_by(intergroup_broadcast, 1 << 20, kSpread, 64, 4), "two_level");
    EXPECT_EQ(taken_by(intergroup_broadcast, 1 << 20, kScattered, 64, 64), "pipelined");
    EXPECT_EQ(taken_by(intergroup_reduce, 1 << 20, kScattered, 8, 8), "pipelined");
    EXPECT_EQ(taken_by(intergroup_allreduce, 64 << 10, kScattered, 15, 15), "pipelined");
    EXPECT_EQ(taken_by(intergroup_allreduce, 64 << 10, kScattered, 1000, 1000), "reduce_then_broadcast");
    // A chain has as many steps as ranks.
    EXPECT_EQ(taken_by(intergroup_broadcast, 16 << 10, kScattered, 8, 8), "binomial");
    EXPECT_EQ(taken_by(intergroup_broadcast, 16 << 10, kScattered, 1000, 1000), "binomial");
    EXPECT_EQ(taken_by(intergroup_broadcast, 1 << 20, kScattered, 50'000, 50'000), "binomial");
    for (const OperationKind kind : {intergroup_reduce, intergroup_allreduce})
        EXPECT_NE(taken_by(kind, 1 << 10, kSpread.without(Condition::commutative), 64, 4), "two_level") << name(kind);
}

}  // namespace
}  // namespace rollcall::collectives
