/// \file
/// Wrong calls, wrong settings and deaths. Every rank is told in words and soon, nothing hangs, and nothing remains.
#include <csignal>
#include <cstdlib>
#include <random>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/process/algorithms.hpp"
#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

void expect_told_soon(const Ended& ended, const std::string& how, int times) {
    const Words lines = lines_with(ended.out, how);
    EXPECT_EQ(static_cast<int>(lines.size()), times) << ended.out << ended.error;
    for (const std::string& line : lines) {
        const int took = std::atoi(line.c_str() + line.find(" after ") + 7);
        EXPECT_LT(took, kToldWithinMilliseconds) << line;
    }
}

/// Calls in which a rank passes on, or collects, what its caller does not know of.
constexpr std::pair<const char*, const char*> kPartsWithoutCallers[] = {{"broadcast", "binomial"},
                                                                        {"broadcast", "pipelined"},
                                                                        {"scatter", "binomial"},
                                                                        {"gather", "binomial"},
                                                                        {"reduce", "binomial"},
                                                                        {"reduce", "pipelined"},
                                                                        {"allgather", "background_disseminated_ring"}};

TEST(BadInput, WrongArgumentsAreRefusedBeforeAnythingIsSent) {
    for (const int ranks : rank_counts()) expect_success(ranks, {"bad_arguments"});
}

TEST(BadInput, WrongSettingsAreRefused) {
    for (const auto& [setting, part] :
         std::vector<std::pair<std::string, std::string>>{{"ROLLCALL_BROADCAST=quick", "scatter_allgather"},
                                                          {"ROLLCALL_BARRIER=binomial", "ROLLCALL_BARRIER: unknown barrier algorithm"},
                                                          {"ROLLCALL_BROADCAST=near_optimal", "(rollcall simulate); allowed: auto, "},
                                                          {"ROLLCALL_BROADCASTS=linear", "did you mean ROLLCALL_BROADCAST?"},
                                                          {"ROLLCALL_LANDING_BYTES=much", "64Ki"},
                                                          {"ROLLCALL_PROGRESS=mine", "thread, host"},
                                                          {"ROLLCALL_NET=no-such-interface", "no-such-interface"}}) {
        const Ended ended = run_ranks(2, {"typed"}, with({setting}));
        EXPECT_EQ(ended.code, 5) << setting << ended.out << ended.error;
        const std::string wrong =
            setting.starts_with("ROLLCALL_BROADCASTS") ? "ROLLCALL_BROADCASTS" : setting.substr(setting.find('=') + 1);
        EXPECT_TRUE(has(ended.out, wrong));
        EXPECT_TRUE(has(ended.out, part)) << setting;
        EXPECT_TRUE(has(ended.out, "error invalid_")) << setting;
    }
}

// Another part of the library judges the algorithms.
TEST(BadInput, AllWrongSettingsAreNamed) {
    const Ended ended = run_ranks(2, {"typed"}, with({"ROLLCALL_BROADCAST=quick", "ROLLCALL_REDUCE=quicker", "ROLLCALL_SPIN=soon"}));
    for (const char* const word : {"3 settings are wrong", "'quick'", "'quicker'", "'soon'"}) EXPECT_TRUE(has(ended.out, word));
}

/// What differs in a call, and the words that the error must contain.
constexpr std::pair<const char*, const char*> kDifferences[] = {{"operation", "barrier"},
                                                                {"started", "barrier"},
                                                                {"split", "split"},
                                                                {"duplicate", "called duplicate()"},
                                                                {"root", "root=1"},
                                                                {"bytes", "9 bytes"},
                                                                {"large", "99999 bytes"},
                                                                {"algorithm", " with linear"},
                                                                {"segment", " with pipelined in segments of 64 bytes"}};

TEST(Left, ByARankThatDestroyedItsHandle) {
    for (const int ranks : {2, 3, 8}) expect_success(ranks, {"left_communicator"});
}
TEST(Mismatches, AreToldToEveryRankWithBothCalls) {
    std::mt19937_64 random(seed());
    const Words broadcasts = algorithms(runtime::OperationKind::broadcast);
    for (const int ranks : {2, 3, 5}) {
        if (kSlower > 1 && ranks == 5) continue;
        Words scenarios;
        for (const auto& [what, names] : kDifferences)
            scenarios.push_back(fmt::format("mismatch:{}:{}:{}:{}", what, random() % static_cast<unsigned>(ranks), random() % 5,
                                            broadcasts[random() % broadcasts.size()]));
        const Ended ended = run_ranks(ranks, scenarios);
        EXPECT_EQ(ended.code, 0) << fmt::format("{}", fmt::join(scenarios, " ")) << "\n" << ended.out << ended.error;
        for (const auto& [what, names] : kDifferences) {
            const std::string told = fmt::format(" mismatch of {} after", what);
            expect_told_soon(ended, told, ranks);
            for (const std::string& line : lines_with(ended.out, told)) EXPECT_TRUE(has(line, names));
        }
    }
}

TEST(Mismatches, OfABarrierOfEachKind) {
    std::mt19937_64 random(seed());
    for (const char* barrier : {"linear", "dissemination", "board_linear", "board_all_to_all"}) {
        constexpr int kRanks = 3;
        Words scenarios;
        for (const char* what : {"operation", "started"})
            scenarios.push_back(
                fmt::format("mismatch:{}:{}:{}:{}", what, random() % kRanks, random() % 5, random() % 2 ? "linear" : "arrival_blocking"));
        const Ended ended = run_ranks(kRanks, scenarios, with({std::string("ROLLCALL_BARRIER=") + barrier}));
        EXPECT_EQ(ended.code, 0) << barrier << fmt::format(" {}", fmt::join(scenarios, " ")) << "\n" << ended.out << ended.error;
        for (const char* what : {"operation", "started"}) {
            const std::string told = fmt::format(" mismatch of {} after", what);
            expect_told_soon(ended, told, kRanks);
            for (const std::string& line : lines_with(ended.out, told)) EXPECT_TRUE(has(line, "called barrier()")) << barrier;
        }
    }
}

// By messages: what has begun without its caller is what the headers of messages say. Rank 2 makes another call afterwards.
TEST(Mismatches, OfCallsThatHaveBegunWithoutTheirCallers) {
    for (const char* what : {"operation", "root", "bytes"}) {
        Words scenarios;
        for (const auto& [operation, algorithm] : kPartsWithoutCallers) {
            if (kSlower > 1 && std::string_view(algorithm) == "pipelined") continue;
            if (std::string_view(operation) == "allgather" && std::string_view(what) == "root") continue;
            scenarios.push_back(fmt::format("mismatch_with_a_part:{}:{}:{}", operation, algorithm, what));
        }
        const Ended ended = run_ranks(4, scenarios, with({"ROLLCALL_NODE_MEMORY=no"}));
        EXPECT_EQ(ended.code, 0) << what << "\n" << ended.out << ended.error;
        EXPECT_EQ(count(ended.out, " done\n"), 4) << ended.out << ended.error;
        expect_told_soon(ended, fmt::format(" mismatch of {} after", what), 4 * static_cast<int>(scenarios.size()));
    }
}

TEST(Deadlines, OfACollectiveEndItOnEveryRank) { expect_success(3, {"collective_deadline"}); }

TEST(Deadlines, OfTheEndOfTheJob) {
    const Ended ended = run_ranks(3, {"late_to_the_end"}, {.environment = {"ROLLCALL_TIMEOUT=4s"}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, " done\n"), 3) << ended.out << ended.error;
}

TEST(Deadlines, OfAllCallsComeFromTheSetting) {
    const Ended ended = run_ranks(2, {"stuck"}, with({"ROLLCALL_TIMEOUT=100ms"}));
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "error timeout"));
}

// The ranks never come to the start within this time of each other.
TEST(Deadlines, OfCallsDoNotLimitTheStart) {
    const Ended ended = run_ranks(2, {"stuck"}, with({"ROLLCALL_TIMEOUT=1us"}));
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "in stuck: error timeout")) << ended.out << ended.error;
    EXPECT_FALSE(has(ended.out, "in the start: error timeout")) << ended.out << ended.error;
}

struct Death {
    std::string how;
    int code;
};

class Deaths : public testing::TestWithParam<std::string> {};
Words places_to_die() {
    Words places = {"absent", "waiting_all", "computing", "barrier", "split", "messages"};
    for (const std::string& broadcast : algorithms(runtime::OperationKind::broadcast)) places.push_back(broadcast);
    return places;
}
INSTANTIATE_TEST_SUITE_P(While, Deaths, testing::ValuesIn(places_to_die()), [](const auto& tested) { return tested.param; });

void die(int ranks, const Death& death, const std::string& where, std::mt19937_64& random, const Words& environment) {
    const int victim = static_cast<int>(random() % static_cast<unsigned>(ranks));
    const std::string scenario = fmt::format("death:{}:{}:{}:{}", death.how, victim, where, random() % 30'000);
    // A survivor that hangs must be recognised as such. It must not look like one that the launcher ended.
    const Ended ended = run_ranks(ranks, {scenario}, {.environment = environment, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, death.code) << scenario << " of " << ranks << "\n" << ended.out << ended.error;
    expect_told_soon(ended, " told after", ranks - 1);
    for (const std::string& line : lines_with(ended.out, " told after")) fmt::print("{}\n", line.substr(0, 160));
}

TEST_P(Deaths, AreToldToEveryRankWithTheName) {
    std::mt19937_64 random(seed());
    // How a process ends is seen by the launcher, whatever the ranks do. So each place has one of the three other ways, and one of the two
    // settings: others in each run.
    const Death kill{"kill", 128 + SIGKILL}, others[] = {{"exit7", 7}, {"exit0", 0}, {"abort", 128 + SIGABRT}};
    die(4, kill, GetParam(), random, {});
    die(2, others[random() % std::size(others)], GetParam(), random, {});
    die(3, kill, GetParam(), random, {random() % 2 == 0 ? "ROLLCALL_SPIN=0" : "ROLLCALL_PROGRESS=host"});
}

// Through node memory, by messages, and between emulated nodes.
TEST(Deaths, InAGatherOrScatter) {
    std::mt19937_64 random(seed());
    for (const char* where : {"gather", "scatter"})
        for (const char* setting : {"ROLLCALL_NODE_MEMORY=auto", "ROLLCALL_NODE_MEMORY=no"})
            for (int repetition = 0; repetition < (kSlower > 1 ? 1 : 3); ++repetition)
                die(repetition == 1 ? 3 : 4, {"kill", 128 + SIGKILL}, where, random, {setting});
}

TEST(Deaths, OfPartsThatRunWithoutTheirCallers) {
    for (const auto& [operation, algorithm] : kPartsWithoutCallers)
        for (const std::string which : {"handed_over", "forwards", "root"}) {
            if (kSlower > 1 && std::string_view(algorithm) == "pipelined") continue;
            // What comes from the root is handed over by the root only.
            const std::string_view kind = operation;
            if (which == "handed_over" && kind != "gather" && kind != "reduce") continue;
            if (which == "root" && kind == "allgather") continue;
            const std::string scenario = fmt::format("death_of_a_part:{}:{}:{}", operation, algorithm, which);
            const Ended ended = run_ranks(4, {scenario}, {.environment = {"ROLLCALL_NODE_MEMORY=no"}, .launcher = {"--grace", "60s"}});
            EXPECT_EQ(ended.code, 128 + SIGKILL) << scenario << "\n" << ended.out << ended.error;
            expect_told_soon(ended, " told after", 3);
        }
}

TEST(LastMessages, OfRanksThatDieArriveIfTheirSendsHaveSucceeded) {
    const Death kill{"kill", 128 + SIGKILL}, exit{"exit0", 0};
    for (const auto& [how, code] : {kill, exit})
        for (const char* setting : {"ROLLCALL_SINGLE_COPY=auto", "ROLLCALL_SINGLE_COPY=no"}) {
            const JobOptions options{.environment = {setting}, .launcher = {"--grace", "60s"}};
            // With the long ones, the death may come while the receiver has taken a part.
            for (const char* message : {"8:{}:late", "5000:{}:late", "8:{}", "1000000:{}", "1000000:{}"}) {
                const Ended ended = run_ranks(4, {"last_message:" + fmt::format(fmt::runtime(message), how)}, options);
                EXPECT_EQ(ended.code, code) << message << how << setting << ended.out << ended.error;
                EXPECT_EQ(count(ended.out, "rank 0 done"), 1) << message << how << setting << ended.out << ended.error;
            }
        }
}

TEST(LastMessages, OfARankThatLeavesAfterAFailureArrive) {
    for (const char* bytes : {"8", "5000", "1000000"}) {
        const std::string scenario = fmt::format("last_message_after_a_death:{}", bytes);
        const Ended ended = run_ranks(3, {scenario}, {.environment = {}, .launcher = {"--grace", "60s"}});
        EXPECT_EQ(ended.code, 128 + SIGKILL) << bytes << ended.out << ended.error;
        EXPECT_EQ(count(ended.out, " done\n"), 2) << bytes << ended.out << ended.error;
    }
}

TEST(SharedMemory, InWhichADeadRankHasReservedAPlaceIsToldOf) {
    const Ended ended =
        run_ranks(3, {"death_in_the_queue_of_rank_0"}, {.environment = {"UCX_TLS=posix,self"}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 7) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, " done\n"), 2) << ended.out << ended.error;
}

TEST(Deaths, WakeAnEventLoopThoughTheBackgroundThreadIsPaused) {
    const Ended ended = run_ranks(2, {"death_wakes_a_paused_loop"}, {.environment = {}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 128 + SIGKILL) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, "rank 0 done"), 1) << ended.out << ended.error;
}

TEST(Deaths, WhileTheOthersLeave) {
    for (const auto& [how, code] : {Death{"exit7", 7}, Death{"kill", 128 + SIGKILL}})
        for (const int ranks : {2, 4}) {
            const Ended ended = run_ranks(ranks, {"death_at_the_end:" + how + ":1"});
            EXPECT_EQ(ended.code, code) << ended.out << ended.error;
            EXPECT_LT(ended.took.count(), 20'000) << ended.out << ended.error;
        }
}

TEST(Deaths, ByAnExceptionThatLeavesTheScopeOfTheJob) {
    const Ended ended = run_ranks(3, {"gives_up:1"}, {.environment = {}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 3) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, " done\n"), 2) << ended.out << ended.error;
}

TEST(Deaths, ByAnExceptionAreNotHiddenByACommunicatorThatStays) {
    const Ended ended = run_ranks(3, {"gives_up_but_keeps"}, {.environment = {}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 3) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "2 of 2 noticed")) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.out, "kept: the job was")) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, " done\n"), 2) << ended.out << ended.error;
}

TEST(Deaths, ByAnExceptionThatNobodyCatchesAreToldWithIt) {
    for (const char* scenario : {"uncaught:1", "uncaught:1:later"}) {
        const Ended ended = run_ranks(3, {scenario}, {.environment = {}, .launcher = {"--grace", "60s"}});
        EXPECT_EQ(ended.code, 128 + SIGABRT) << ended.out << ended.error;
        EXPECT_TRUE(has(ended.error, "aborted the job with code 134: uncaught exception: a wheel fell off")) << ended.error;
        for (const int rank : {0, 2}) EXPECT_TRUE(has(ended.out, fmt::format("rank {} was told of rank 1\n", rank))) << ended.out;
    }
}

TEST(Deaths, ByAnExceptionWhileTheJobIsLeft) {
    for (int round = 0; round < 5; ++round) {
        const Ended ended = run_ranks(3, {"throws_while_leaving"}, {.environment = {}, .launcher = {"--grace", "60s"}});
        EXPECT_EQ(ended.code, 128 + SIGABRT) << ended.out << ended.error;
        EXPECT_FALSE(has(ended.out, "wrong: ")) << ended.out << ended.error;
    }
}

TEST(Deaths, ByAbort) {
    const Ended ended = run_ranks(3, {"aborts:2"});
    EXPECT_EQ(ended.code, 43) << ended.out << ended.error;
    EXPECT_TRUE(has(ended.error, "enough of this"));
}

}  // namespace
}  // namespace rollcall::test
