/// \file
/// Collective operations of jobs on several nodes, where ranks share the memory of their node. Here a node is a part of
/// the ranks of this host.
#include <csignal>
#include <random>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tests/process/algorithms.hpp"
#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

// Jobs in which so many ranks, one after the other, share memory.
JobOptions on_nodes(int ranks, Words environment = {}) {
    environment.push_back(fmt::format("ROLLCALL_NODE_RANKS={}", ranks));
    return {.environment = std::move(environment), .launcher = {}};
}

// Every operation's algorithms for several nodes.
Words calls(const std::string& scenario, const std::string& rest = "") {
    Words scenarios;
    for (const OperationInTable& operation : operations_in_table())
        for (const auto& algorithm : operation.algorithms)
            if (operation.moves_data && algorithm.needs.contains(collectives::Condition::several_nodes))
                scenarios.push_back(fmt::format("{}:{}:{}{}", scenario, operation.name, algorithm.name, rest));
    EXPECT_GE(scenarios.size(), 7u);
    return scenarios;
}

// A sanitizer looks at code. It sees the same with six ranks as with eight.
bool is_left_out(int ranks) { return kSanitized && ranks == 8; }

TEST(SeveralNodes, GiveRightResults) {
    const std::string number = ":" + a_seed(), few = number + ":128:few";
    for (const auto& [ranks, of_node] : {std::pair(6, 4), std::pair(8, 3), std::pair(4, 2)}) {
        if (is_left_out(ranks)) continue;
        expect_success(ranks, calls("calls", kSanitized && ranks == 4 ? few : number), on_nodes(of_node));
    }
    expect_success(4, calls("calls", kSanitized ? few : number), on_nodes(2, {"ROLLCALL_DECOUPLE=no"}));
    expect_success(5, calls("calls", number), on_nodes(3, {"ROLLCALL_PROGRESS=host"}));
    // Long messages find no room in the memory of a node.
    expect_success(5, calls("calls", kSanitized ? number : number + ":1024"), on_nodes(3, {"ROLLCALL_LANDING_BYTES=600Ki"}));
    // All algorithms of these operations.
    expect_success(3, {"reductions"}, on_nodes(2));
    expect_success(4, {"exchanges_by_all_algorithms"}, on_nodes(3));
}

TEST(SeveralNodes, Barriers) {
    const std::string times = kSlower > 1 ? "20" : "40";
    for (const auto& [ranks, of_node] : {std::pair(6, 4), std::pair(8, 3), std::pair(4, 2)}) {
        if (is_left_out(ranks)) continue;
        expect_success(ranks, {"barriers:" + times, "barriers_publish:" + times, "started", "many_started"},
                       on_nodes(of_node, {"ROLLCALL_BARRIER=two_level"}));
    }
    expect_success(5, {"barriers:" + times}, on_nodes(3, {"ROLLCALL_BARRIER=two_level", "ROLLCALL_SPIN=0"}));
    expect_success(5, {"barriers:20", "event_loop:20"}, on_nodes(3, {"ROLLCALL_BARRIER=two_level", "ROLLCALL_PROGRESS=host"}));
}

TEST(SeveralNodes, WithPlans) {
    expect_success(4, calls("plans", kSlower > 1 ? ":2" : ":6"), on_nodes(2));
    expect_success(4, calls("dropped_plan"), on_nodes(3));
}

// Communicators within nodes, across them, and with other ranks in another order.
TEST(SeveralNodes, AmongEverythingElse) {
    const std::string number = a_seed();
    expect_success(5, {"splits", "created", "soak:" + number + (kSlower > 1 ? ":50" : ":400")}, on_nodes(2));
    expect_success(6, {"storm:" + std::string(kSlower > 1 ? "20:" : "200:") + number, "many_communicators:5"},
                   on_nodes(3, {"ROLLCALL_SPIN=0"}));
    // Not all of these communicators get slots.
    expect_success(4, {"many_communicators:10"}, on_nodes(2, {"ROLLCALL_BOARD_SLOTS=5"}));
}

TEST(SeveralNodes, DeathsAreToldToEveryRank) {
    constexpr int kRanks = 4;
    std::mt19937_64 random(seed());
    // Each rank dies in some of the jobs. The seed says in which, and when.
    std::uint64_t victim = random();
    for (const int ranks_of_node : {2, 3})
        for (const char* const where : {"two_level", "allreduce", "gather", "scatter", "barrier"}) {
            const std::string scenario = fmt::format("death:kill:{}:{}:{}:two_level", victim++ % kRanks, where, random() % 30'000);
            JobOptions options = on_nodes(ranks_of_node);
            options.launcher.insert(options.launcher.end(), {"--grace", "60s"});
            const Ended ended = run_ranks(kRanks, {scenario}, options);
            EXPECT_EQ(ended.code, 128 + SIGKILL) << scenario << " on nodes of " << ranks_of_node << "\n" << ended.out << ended.error;
            EXPECT_EQ(static_cast<int>(lines_with(ended.out, " told after").size()), kRanks - 1) << scenario << ended.out;
        }
}

// Jobs in which all operations between groups go by two levels, where they can.
JobOptions by_two_levels(int of_node, Words environment = {}) {
    for (const OperationName& operation : kOperationNames)
        if (operation.is_between_groups) environment.push_back(fmt::format("{}=two_level", operation.setting));
    return on_nodes(of_node, std::move(environment));
}

// In random groups. Where these are on one node, the setting does not count.
TEST(SeveralNodes, GroupsExchangeBlocks) {
    const std::string number = a_seed(), scenario = "allgathers_between_groups:";
    for (const auto& [ranks, of_node] : {std::pair(5, 2), std::pair(8, 3), std::pair(6, 4)}) {
        if (is_left_out(ranks)) continue;
        expect_success(ranks, {scenario + (kSanitized ? "1:" : "3:") + number}, by_two_levels(of_node));
    }
    // What has no room in node memory goes by messages.
    expect_success(5, {scenario + (kSanitized ? "1:" : "3:") + number}, by_two_levels(3, {"ROLLCALL_LANDING_BYTES=600Ki"}));
    expect_success(5, {scenario + (kSanitized ? "1:" : "2:") + number}, by_two_levels(2, {"ROLLCALL_PROGRESS=host"}));
    expect_success(3, {"wrong_intercommunicators"}, by_two_levels(2));
}

// All operations between groups.
TEST(SeveralNodes, GroupsExchangeEverything) {
    const std::string scenario = "intercommunicators:1:" + a_seed();
    expect_success(is_left_out(8) ? 6 : 8, {scenario}, by_two_levels(3));
    if (!kSanitized) expect_success(5, {scenario}, by_two_levels(3, {"ROLLCALL_PROGRESS=host", "ROLLCALL_DECOUPLE=no"}));
    // What has no room in node memory goes by messages.
    expect_success(6, {scenario}, by_two_levels(4, {"ROLLCALL_LANDING_BYTES=600Ki"}));
    // Not all plans get slots. Those that get none cannot go by two levels.
    expect_success(5, {scenario}, by_two_levels(2, {"ROLLCALL_BOARD_SLOTS=14"}));
}

// The last rank exchanges messages for its node, or shares blocks with a rank that does.
TEST(SeveralNodes, ADeathBetweenGroupsIsToldToEveryRank) {
    int number = 0;
    for (const auto& [ranks, of_node] : {std::pair(4, 2), std::pair(4, 3), std::pair(5, 2), std::pair(6, 4)})
        for (const char* const operation : {"allgather", "broadcast", "scatter", "gather", "reduce", "allreduce", "alltoall"}) {
            if (number++ % (kSanitized ? 4 : 2) != 0) continue;  // Each operation in two of the jobs, or in one.
            JobOptions options = by_two_levels(of_node);
            options.launcher.insert(options.launcher.end(), {"--grace", "60s"});
            const Ended ended = run_ranks(ranks, {fmt::format("death_between_groups:{}", operation)}, options);
            EXPECT_EQ(ended.code, 128 + SIGKILL) << operation << ended.out << ended.error;
            EXPECT_EQ(lines_with(ended.out, "was told of the death").size(), static_cast<std::size_t>(ranks - 1))
                << operation << ended.out << ended.error;
        }
}

// Of four nodes, every other one comes late. In lanes, what comes goes straight to its place.
TEST(SeveralNodes, EarlyOnesExchangeFirst) {
    expect_success(8, {"early_ranks_exchange:alltoall:arrival_ordered_two_level:2"}, on_nodes(2));
    expect_success(4, {"exchanges_that_do_not_match"}, on_nodes(2));
}

// The rank that passes the message on to the ranks of its node calls only when these have all data.
TEST(SeveralNodes, ABroadcastGoesOnWithoutTheRankThatPassesItOn) {
    expect_success(4, {"begins_early:1:two_level", "begins_early:10:two_level"}, on_nodes(3));
}

// Of three nodes, the second one comes late. The blocks of the first one go through its first rank to that of the third one.
TEST(SeveralNodes, AnAllgatherGoesOnWithoutTheRankThatPassesItOn) {
    expect_success(6, {"early_ranks_exchange:allgather:two_level:2:20000:2", "early_ranks_exchange:allgather:two_level:2:100:2"},
                   on_nodes(2));
    expect_success(4, {"mismatch_with_a_part:allgather:two_level:operation", "mismatch_with_a_part:allgather:two_level:bytes"},
                   on_nodes(2));
    JobOptions options = on_nodes(2);
    options.launcher.insert(options.launcher.end(), {"--grace", "60s"});
    const Ended ended = run_ranks(4, {"death_of_a_part:allgather:two_level:forwards"}, options);
    EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.out << ended.error;
    EXPECT_EQ(lines_with(ended.out, " told after").size(), 3u) << ended.out << ended.error;
}

}  // namespace
}  // namespace rollcall::test
