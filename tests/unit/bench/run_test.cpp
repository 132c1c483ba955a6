/// \file
/// What the benchmarks' runs are made of: data that shows when it is wrong, orders, lists of patterns, bounded
/// children.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "bench/cases/payload.hpp"
#include "bench/options/landing.hpp"
#include "bench/options/sweep.hpp"
#include "bench/ranks/child.hpp"
#include "bench/ranks/rounds.hpp"

namespace rollcall::bench {
namespace {

TEST(BenchPayload, FindsEveryWrongByte) {
    for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 64u, 101u}) {
        std::vector<std::byte> data(size);
        fill(data, 17);
        EXPECT_EQ(find_wrong(data, 17), std::nullopt) << size;
        for (std::size_t at = 0; at < size; ++at) {
            data[at] ^= std::byte{0x40};
            EXPECT_EQ(find_wrong(data, 17), at) << size;
            data[at] ^= std::byte{0x40};
        }
    }
}

TEST(BenchPayload, PoisonIsWrongInEveryByte) {
    std::vector<std::byte> good(37), bad(37);
    fill(good, 3);
    poison(bad, 3);
    for (std::size_t i = 0; i < good.size(); ++i) EXPECT_NE(good[i], bad[i]) << i;
}

TEST(BenchPayload, OtherKeysAreOtherData) {
    std::vector<std::byte> data(64);
    fill(data, key_of({1, 2, 3}));
    for (const auto key : {key_of({1, 2, 4}), key_of({3, 2, 1}), key_of({1, 2}), key_of({})})
        EXPECT_NE(find_wrong(data, key), std::nullopt);
    // The data of one call does not go on in that of the next.
    std::vector<std::byte> moved(data.begin() + 8, data.end());
    EXPECT_NE(find_wrong(moved, key_of({1, 2, 3})), std::nullopt);
}

TEST(BenchSweep, OrdersArePermutationsThatDependOnTheIteration) {
    std::vector<std::size_t> sorted = shuffled(20, 5, 0);
    EXPECT_EQ(sorted, shuffled(20, 5, 0));
    EXPECT_NE(sorted, shuffled(20, 5, 1));
    EXPECT_NE(sorted, shuffled(20, 6, 0));
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
    EXPECT_TRUE(shuffled(0, 5, 0).empty());
}

// Two rows of the same cell could not be told apart.
TEST(BenchSweep, APatternThatIsNamedTwiceIsMeasuredOnce) {
    SweepWords words;
    words.arrivals = {"balanced,uniform:0..1ms", "uniform:0..1000us,uniform:0..2ms,balanced"};
    std::vector<std::string> found;
    for (const Pattern& pattern : checked(words, runtime::OperationKind::broadcast, 4, Ranks::real).patterns)
        found.push_back(pattern.describe());
    EXPECT_EQ(found, (std::vector<std::string>{"balanced", "uniform:0..1ms", "uniform:0..2ms"}));
}

TEST(BenchSweep, PatternsAreSeparatedByCommas) {
    const auto patterns = parse_patterns("max_if:1,max_if:4:2,uniform:0..50ms", 1);
    ASSERT_EQ(patterns.size(), 3u);
    EXPECT_EQ(patterns[1].describe(), "max_if:4:2");
    EXPECT_EQ(patterns[2].describe(), "uniform:0..50ms");
    EXPECT_THROW(parse_patterns("balanced,", 1), Error);
    EXPECT_THROW(parse_patterns("", 1), Error);
    try {
        parse_patterns("balanced,file:/nowhere/a,b", 1);
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("/nowhere/a,b"), std::string::npos) << error.what();
    }
}

TEST(BenchLists, AllLeavesOutWhatMustBeNamed) {
    const Choice choices[] = {{.name = "linear"}, {.name = "auto", .in_all = false}};
    EXPECT_EQ(parse_names("all", "algorithm", choices), std::vector<std::string>{"linear"});
    EXPECT_EQ(parse_names("all,auto", "algorithm", choices), (std::vector<std::string>{"linear", "auto"}));
    EXPECT_EQ(parse_count("7", "--root", 0, 7), 7u);
    for (const char* wrong : {"8", "", "-1", "1,2", "1.5", "one"}) EXPECT_THROW(parse_count(wrong, "--root", 0, 7), Error) << wrong;
}

TEST(BenchLanding, SimulatedRanksTakeTheSameWordsAndBudgets) {
    const auto landing = parse_simulated_landing("on, off,eager:65536,1Mi,0");
    ASSERT_EQ(landing.size(), 5u);
    const std::vector<Model> models = {Model::nonblocking, Model::blocking, Model::eager, Model::nonblocking, Model::blocking};
    for (std::size_t i = 0; i < models.size(); ++i) EXPECT_EQ(landing[i].model(), models[i]) << i;
    EXPECT_EQ(landing[2].longest, 65'536u);
    EXPECT_EQ(landing[2].budget, landing[0].budget);
    EXPECT_EQ(landing[3].budget, 1u << 20);
    EXPECT_EQ(landing[3].longest, 0u);
    EXPECT_EQ(landing[2].word, "eager:64Ki");
    EXPECT_EQ(parse_simulated_landing("1Mi,on,1024Ki,1Mi").size(), 2u);
    EXPECT_EQ(parse_landing("eager:65536,on,eager:64Ki"), (std::vector<std::string>{"eager:64Ki", "on"}));
    for (const char* wrong : {"", "on,", "unlimited", "eager:", "eager:0", "eager:65Ki", "eager:1Q"})
        EXPECT_THROW(parse_simulated_landing(wrong), Error) << wrong;
    EXPECT_THROW(parse_landing("1Mi"), Error) << "the budget of real ranks is a setting";
}

TEST(BenchRounds, RatiosAreOfTheMediansOfARound) {
    EXPECT_EQ(ratios({{1, 2, 3}, {10}}, {{4}, {5, 5}}), (std::vector<double>{0.5, 2}));
    EXPECT_EQ(together({{1, 2}, {}, {3}}), (std::vector<double>{1, 2, 3}));
}

TEST(BenchRounds, SamplesOfANameAreKeptByRound) {
    const std::vector<Samples> measured = {{.transport = "ucx", .explanation = {}, .values = {{"8", {1, 2}}, {"64", {3}}}},
                                           {.transport = "ucx", .explanation = {}, .values = {{"8", {4}}, {"64", {5}}}}};
    EXPECT_EQ(rounds_of(measured, "8"), (Rounds{{1, 2}, {4}}));
    EXPECT_THROW(rounds_of(measured, "9"), std::out_of_range);
}

TEST(BenchRounds, PeersStandBelowWithTheTimeOfRollcallOverTheirs) {
    const auto printed = [](const std::vector<PeerRounds>& peers) {
        std::ostringstream out;
        CellPrinter printer(out, output::Format::csv);
        add_beside_peers(printer, {.operation = "barrier", .algorithm = "rollcall", .transport = "ucx"}, {{2, 2}, {4}}, peers);
        printer.finish();
        return out.str();
    };
    EXPECT_EQ(printed({}).find("rollcall_ratio"), std::string::npos);
    const std::string beside = printed({{{.operation = "barrier", .algorithm = "mpich", .transport = "tcp"}, {{4}, {8}}}});
    EXPECT_NE(beside.find(",rollcall_ratio_median,"), std::string::npos) << beside;
    EXPECT_NE(beside.find("barrier,rollcall,ucx,0,0,balanced,3,2,2,4,,,,,,,,,,,,\n"), std::string::npos) << beside;
    EXPECT_NE(beside.find("barrier,mpich,tcp,0,0,balanced,2,6,4,8,,,,,,,,,,0.5,0.5,0.5\n"), std::string::npos) << beside;
}

// Another peer has failed in the last round.
TEST(BenchRounds, OfAPeerCountOnlyWhereAllCompetitorsHaveOne) {
    const auto row_of_peer = [](const Rounds& theirs) {
        std::ostringstream out;
        CellPrinter printer(out, output::Format::csv);
        CellIdentity identity;
        identity.algorithm = "a peer";
        const PeerRounds peers[] = {{identity, theirs}};
        add_beside_peers(printer, CellIdentity(), {{1, 3, 5}, {2, 4, 6}}, peers);
        printer.finish();
        return out.str();
    };
    EXPECT_EQ(row_of_peer({{7, 8, 9}, {1, 2, 3}, {50, 60, 70}}), row_of_peer({{7, 8, 9}, {1, 2, 3}}));
}

TEST(BenchChild, IsEndedWhenItsTimeIsOver) {
    const auto begin = std::chrono::steady_clock::now();
    const ChildResult result = run_child({"sleep", "100"}, {}, {.environment = {}, .timeout = std::chrono::milliseconds(50)});
    EXPECT_TRUE(result.timed_out);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
    // One that does not heed the request.
    EXPECT_TRUE(run_child({"sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"}, {},
                          {.environment = {}, .timeout = std::chrono::milliseconds(50)})
                    .timed_out);
    // One of which no output will come.
    EXPECT_TRUE(
        run_child({"sh", "-c", "exec sleep 100 >&- 2>&-"}, {}, {.environment = {}, .timeout = std::chrono::milliseconds(50)}).timed_out);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

TEST(BenchChild, MayHaveMoreTimeThanTheClockCanCount) {
    const ChildResult result = run_child({"true"}, {}, {.environment = {}, .timeout = kForever - std::chrono::nanoseconds(1)});
    EXPECT_FALSE(result.timed_out);
    EXPECT_EQ(result.exit_code, 0);
}

TEST(BenchChild, GetsTheEnvironmentItIsGiven) {
    const ChildResult result = run_child({"sh", "-c", "echo $GIVEN_TO_CHILD:${PATH:+path}"}, {}, {.environment = {"GIVEN_TO_CHILD=yes"}});
    EXPECT_EQ(result.output, "yes:path\n");
    EXPECT_FALSE(result.timed_out);
}

// Results of the rounds before must not be lost.
TEST(BenchChild, EndsInPlaceOfItsParentWhenThatIsAskedToEnd) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        const pid_t parent = ::fork();  // a process of one thread
        if (parent == 0) {
            ::signal(number, SIG_DFL);
            const SignalsToEnd signals;
            const ChildResult result = run_child({"sh", "-c", "kill -" + std::to_string(number) + " $PPID; exec sleep 100"}, {},
                                                 {.environment = {}, .signals = &signals});
            ::_exit(result.interrupted == number && result.exit_code == 128 + SIGTERM && !result.timed_out ? 0 : 1);
        }
        int status = -1;
        ::waitpid(parent, &status, 0);
        EXPECT_TRUE(WIFEXITED(status)) << "it ended by signal " << number;
        EXPECT_EQ(WEXITSTATUS(status), 0);
    }
}

TEST(BenchChild, EndsWhenItsParentIsKilled) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);  // the child inherits it, and so keeps it open until it ends
    const pid_t parent = ::fork();
    if (parent == 0) {
        ::close(ends[0]);
        run_child({"sh", "-c", "echo > /dev/fd/" + std::to_string(ends[1]) + "; exec sleep 100"}, {});
        ::_exit(0);
    }
    ::close(ends[1]);
    char begun = 0;
    EXPECT_EQ(::read(ends[0], &begun, 1), 1);
    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);
    pollfd end{ends[0], POLLIN, 0};
    EXPECT_EQ(::poll(&end, 1, 50'000), 1) << "the child runs on";
    ::close(ends[0]);
}

}  // namespace
}  // namespace rollcall::bench
