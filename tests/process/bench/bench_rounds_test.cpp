/// \file
/// Tests the benchmarks that measure no collective operation, as a user calls them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

TEST_F(BenchCommand, PlainBenchmarksPrintTheSameForm) {
    const std::vector<std::pair<std::string, std::string>> commands = {
        {"pingpong", "pingpong --bytes 8,20Ki --iterations 2 --rounds 2"},
        {"barrier", "barrier --ranks 3 --iterations 2 --rounds 1 --batch 10"},
        {"overlap", "overlap --bytes 64Ki --compute 10ms --iterations 2"},
        {"loop", "loop --bytes 64Ki --compute uniform:0..1ms --iterations 3 --rounds 2 --ranks 2 --decouple auto"},
        {"idle", "idle --ranks 2 --duration 50ms"}};
    for (const auto& [operation, words] : commands) {
        SCOPED_TRACE(operation);
        const Ended ended = run("bench " + words + " --timeout 100s --format json");
        ASSERT_EQ(ended.code, 0) << ended.error;
        const Lines lines = lines_of(ended.out);
        EXPECT_EQ(lines.size(), operation == "barrier" ? 1u : 2u);
        for (const std::string& line : lines) {
            const Json cell = Json::parse(line);
            expect_cell(cell, operation, false);
            if (operation == "loop") {
                EXPECT_EQ(cell["iterations"], 6) << "3 in each of 2 rounds";
                ASSERT_TRUE(cell.contains("background")) << line;
                EXPECT_GE(cell["background"]["median"], 0.0);
            }
        }
    }
}

TEST_F(BenchCommand, OverlapWithoutLandingMemoryMeasuresWhatIsLeft) {
    const Ended ended =
        run("bench overlap --bytes 64Ki --compute 10ms --iterations 2 --timeout 100s --format json", "ROLLCALL_LANDING_BYTES=0");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 1u) << ended.out;
    EXPECT_EQ(Json::parse(lines[0])["algorithm"], "no_landing");
}

TEST_F(BenchCommand, TheLoopHasOtherTimesInEachRoundAndWithEachSeed) {
    const auto limit = [&](const std::string& seed) {
        const Ended ended =
            run("bench loop --operation gather --bytes 8 --compute uniform:0..4ms --decouple no --iterations 2 --rounds 3 --ranks 2"
                " --timeout 100s --format json --seed " +
                seed);
        EXPECT_EQ(ended.code, 0) << ended.error;
        return ended.code == 0 ? Json::parse(ended.out)["limit"] : Json();
    };
    const Json first = limit("1");
    EXPECT_LT(first["low"], first["high"]) << first;
    EXPECT_EQ(first, limit("1")) << "the same seed gives the same times";
    EXPECT_NE(first, limit("2"));
}

TEST_F(BenchCommand, AllgathersBetweenGroupsHaveOtherDelaysInEachRoundAndWithEachSeed) {
    const auto delays = directory_ / "delays";
    std::ofstream(delays) << "0 0\n0 0\n0 100ms\n0 100ms\n";
    const auto longest = [&](const std::string& words) {
        const Ended ended = run("bench intergroup_allgather --ranks 2 --bytes 8 --timeout 100s --format json --algorithm auto " + words);
        EXPECT_EQ(ended.code, 0) << ended.error;
        return ended.code == 0 ? Json::parse(lines_of(ended.out).front())["run_time"]["high"].get<double>() : 0;
    };
    EXPECT_GE(longest("--iterations 2 --rounds 2 --arrival file:" + delays.string()), 0.1) << "the second round has the other delays";
    EXPECT_GE(longest("--iterations 1 --rounds 1 --arrival late:50%:100ms --seed 2"), 0.1) << "with seed 1, no rank is late";
}

TEST_F(BenchCommand, TheLoopDrawsBars) {
    if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "gnuplot is not installed";
    const auto picture = directory_ / "loop.svg";
    const Ended ended =
        run("bench loop --operation gather --bytes 4Ki --compute uniform:0..1ms --iterations 3 --rounds 1 --ranks 2"
            " --timeout 100s --plot " +
            picture.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const std::string drawn = contents(picture);
    for (const char* name : {"limit", "decoupled", "coupled", "gather of 4Ki with 2 ranks"})
        EXPECT_NE(drawn.find(name), std::string::npos) << name;
}

// Before the first call, by the only process that draws.
TEST_F(BenchCommand, TheLoopChecksItsPicture) {
    const std::string words = "bench loop --operation gather --bytes 8 --compute balanced --iterations 1 --rounds 1 --ranks 2 --plot ";
    const std::string unwritable = "--plot '/nowhere/loop.svg' cannot be written: No such file or directory";
    expect_refused(words + "/nowhere/loop.svg", {unwritable});
    expect_refused(words + (directory_ / "loop.gif").string(), {"allowed: a name that ends in .svg, .png or .pdf"});
    const Ended in_job = run("run -n 2 " ROLLCALL_COMMAND " " + words + "/nowhere/loop.svg");
    EXPECT_EQ(in_job.code, 2);
    EXPECT_EQ(in_job.out, "") << "no result comes before the check";
    EXPECT_NE(in_job.error.find("rank 0 on host"), std::string::npos) << in_job.error;
    EXPECT_NE(in_job.error.find(unwritable), std::string::npos) << in_job.error;
    EXPECT_EQ(in_job.error.find("rollcall: " + unwritable), std::string::npos) << "rank 1 does not look: " << in_job.error;
}

TEST_F(BenchCommand, TheLoopIsChecked) {
    const Ended ended =
        run("bench loop --operation gather --bytes 3000 --compute balanced --iterations 2 --rounds 1 --ranks 3 --timeout 100s",
            "ROLLCALL_TEST_CORRUPT=0");
    EXPECT_EQ(ended.code, 1);
    EXPECT_NE(ended.error.find("gather auto of 1000 bytes to rank 0 gave a wrong result: byte 500 of block 1 on rank 0"), std::string::npos)
        << ended.error;
    expect_refused("bench loop --ranks 3 --compute last:4:1ms", {"last:4:1ms"});
}

TEST_F(BenchCommand, TheLoopTakesAlgorithmsThatAllOfItsOperationsHave) {
    const Ended ended = run("bench loop --operation broadcast,gather --algorithm pipelined");
    EXPECT_EQ(ended.code, 2);
    EXPECT_NE(ended.error.find("unknown algorithm 'pipelined'; allowed: all, auto, linear, binomial, shared_memory, two_level\n"),
              std::string::npos)
        << ended.error;
}

TEST_F(BenchCommand, SettingsOfARunningJobCannotBeChanged) {
    const std::string job = "run -n 2 " ROLLCALL_COMMAND " bench ";
    const auto expect_refusal = [&](const std::string& words, const std::string& reason) {
        const Ended ended = run(job + words);
        EXPECT_EQ(ended.code, 2) << words;
        EXPECT_NE(ended.error.find(reason + " in a job that is already running; allowed: "), std::string::npos) << ended.error;
    };
    const std::string loop = "loop --operation gather --compute balanced --iterations 1 --bytes 8";
    expect_refusal(loop + " --decouple no", "--decouple no");
    expect_refusal(loop + " --algorithm binomial", "--algorithm binomial");
    expect_refusal("overlap --landing off", "--landing off");
    const Ended ended =
        run(job + loop + " --decouple no --algorithm binomial --format json", "ROLLCALL_DECOUPLE=no ROLLCALL_GATHER=binomial");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_EQ(Json::parse(ended.out)["algorithm"], "binomial, coupled");
    // An alias names the same algorithm, in the option and in the setting.
    for (const auto& [asked, set] : {std::pair("lin", "linear"), std::pair("linear,lin", "lin")}) {
        const Ended alias = run(job + loop + " --algorithm " + asked + " --format json", std::string("ROLLCALL_GATHER=") + set);
        ASSERT_EQ(alias.code, 0) << alias.error;
        EXPECT_EQ(Json::parse(alias.out)["algorithm"], "linear, decoupled");
    }
}

// The variants of a benchmark are what it says, also if --env names their variables.
TEST_F(BenchCommand, VariablesOfTheUserDoNotChangeWhatIsCompared) {
    const Ended blocking =
        run("bench gather --ranks 2 --bytes 8 --algorithm linear --iterations 1 --timeout 100s --format json --landing on,off"
            " --env ROLLCALL_LANDING_BYTES=8Mi");
    ASSERT_EQ(blocking.code, 0) << blocking.error;
    const Lines lines = lines_of(blocking.out);
    ASSERT_EQ(lines.size(), 2u) << blocking.out;
    EXPECT_EQ(Json::parse(lines[0])["model"], "nonblocking");
    EXPECT_EQ(Json::parse(lines[1])["model"], "blocking");
    const Ended shm = run("bench pingpong --iterations 1 --rounds 1 --timeout 100s --format json --transport shm --env UCX_TLS=tcp,self");
    ASSERT_EQ(shm.code, 0) << shm.error;
    EXPECT_EQ(Json::parse(shm.out)["transport"], "ucx:posix,self");
    // A job that the user has started has its own environment, which --env changes.
    const Ended in_job =
        run("run -n 2 " ROLLCALL_COMMAND " bench gather --bytes 8 --iterations 1 --format json --env ROLLCALL_LANDING_BYTES=0",
            "ROLLCALL_LANDING_BYTES=8Mi");
    ASSERT_EQ(in_job.code, 0) << in_job.error;
    EXPECT_EQ(Json::parse(lines_of(in_job.out).at(0))["model"], "blocking");
}

// The setting that names no algorithm shows what is set: a job refuses it.
TEST_F(BenchCommand, TheLoopFollowsTheSettingsOnlyWhereItIsToldNoAlgorithm) {
    const std::string loop =
        "bench loop --operation gather --compute balanced --iterations 1 --rounds 1 --bytes 8 --ranks 2 --timeout 100s --format json"
        " --decouple no";
    const Ended as_set = run(loop, "ROLLCALL_GATHER=binomial");
    ASSERT_EQ(as_set.code, 0) << as_set.error;
    EXPECT_EQ(Json::parse(as_set.out)["algorithm"], "binomial, coupled");
    const Ended asked = run(loop + " --algorithm auto", "ROLLCALL_GATHER=nonsense");
    ASSERT_EQ(asked.code, 0) << asked.error;
    EXPECT_EQ(Json::parse(asked.out)["algorithm"], "coupled");
}

// Words that mean the same algorithm in only some of the operations are not names of it.
TEST_F(BenchCommand, TheLoopTakesAliasesThatAllOfItsOperationsHave) {
    expect_refused("bench loop --operation broadcast,gather --algorithm lin", {"unknown algorithm 'lin'; allowed: all, auto, linear, "});
    for (const std::string wait : {"--wait", "--by"})
        expect_refused("bench loop --operation gather --algorithm lin " + wait + " nothing", {"way to compute 'nothing'"});
}

TEST_F(BenchCommand, RawUcxIsComparedWithUcxOnly) {
    expect_refused("bench pingpong --raw-ucx --transport shm,ofi_shm", {"--raw-ucx with --transport ofi_shm; allowed: default, shm, tcp"});
    expect_refused("bench pingpong --raw-ucx --env ROLLCALL_TRANSPORT=ofi", {"--raw-ucx with ROLLCALL_TRANSPORT=ofi; allowed: ucx"});
    expect_refused("bench pingpong --raw-ucx --env ROLLCALL_TRANSPORT=auto", {"--raw-ucx with ROLLCALL_TRANSPORT=auto; allowed: ucx"});
}

// `auto` is a choice that the job makes.
TEST_F(BenchCommand, NamesTheTransportThatTheJobTook) {
    const std::string words = "bench pingpong --iterations 1 --rounds 1 --timeout 100s --format json";
    const Ended ended = run(words, "env -u UCX_TLS -u ROLLCALL_OFI_PROVIDER ROLLCALL_TRANSPORT=auto");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_EQ(Json::parse(ended.out)["transport"], "ucx");
    // A choice of UCX is one, whatever the environment says.
    const Ended shm = run(words + " --transport shm", "env ROLLCALL_TRANSPORT=ofi");
    ASSERT_EQ(shm.code, 0) << shm.error;
    EXPECT_EQ(Json::parse(shm.out)["transport"], "ucx:posix,self");
}

/// Expects that the rates follow from the time of a window in which so many messages move.
void expect_rates(const Json& cell, double messages) {
    const double bytes = cell["bytes"].get<double>();
    const auto expect = [&](const char* rate, const char* time) {
        const double seconds = cell["run_time"][time].get<double>();
        EXPECT_NEAR(cell["message_rate"][rate].get<double>() * seconds / messages, 1, 1e-9) << cell;
        EXPECT_NEAR(cell["bandwidth"][rate].get<double>() * seconds, messages * bytes, 1e-9 * messages * bytes) << cell;
    };
    // The largest rate belongs to the shortest time. The number of samples is odd, so the medians are of one sample.
    expect("median", "median");
    expect("low", "high");
    expect("high", "low");
}

TEST_F(BenchCommand, BandwidthIsOfAllMessagesOfAWindow) {
    const Ended ended = run("bench bandwidth --bytes 0,8..4Ki:x512,64Mi --iterations 3 --rounds 1 --timeout 100s --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 4u) << ended.out;
    const double windows[] = {64, 64, 64, 1};
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Json cell = Json::parse(lines[i]);
        expect_cell(cell, "bandwidth", false);
        EXPECT_EQ(cell["algorithm"], "one_way");
        EXPECT_EQ(cell["ranks"], 2);
        EXPECT_EQ(cell["pairs"], "1");
        EXPECT_EQ(cell["window"], std::to_string(static_cast<int>(windows[i])));
        expect_rates(cell, windows[i]);
    }
}

TEST_F(BenchCommand, BandwidthOfSeveralPairsInBothDirections) {
    const std::string words = "bench bandwidth --ranks 4 --bytes 1000,20Ki --window 5 --both-ways --iterations 3 --rounds 1 --timeout 100s";
    const Ended ended = run(words + " --format json", "UCX_TLS=posix,self");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 2u) << ended.out;
    for (const std::string& line : lines) {
        const Json cell = Json::parse(line);
        expect_cell(cell, "bandwidth", false);
        EXPECT_EQ(cell["algorithm"], "both_ways");
        EXPECT_EQ(cell["pairs"], "2");
        expect_rates(cell, 2 * 2 * 5);
    }
    // A job that already runs is measured once.
    const Ended in_job = run("run -n 2 " ROLLCALL_COMMAND " bench bandwidth --bytes 8 --iterations 2");
    ASSERT_EQ(in_job.code, 0) << in_job.error;
    EXPECT_NE(in_job.out.find("ranks: 2, iterations: 2, pairs: 1, window: 64"), std::string::npos) << in_job.out;
}

TEST_F(BenchCommand, BandwidthNeedsPairs) {
    expect_refused("bench bandwidth --ranks 3", {"pairs of 3 ranks", "allowed: an even number"});
    expect_refused("bench bandwidth --window 0", {"--window '0'", "from 1 to"});
    expect_refused("bench bandwidth --bytes 8Mi..8", {"--bytes: ", "'8Mi..8'", "8..8Mi:x4"});
}

TEST_F(BenchCommand, AllgathersBetweenGroupsAreComparedWithRootGathering) {
    const std::string quick = " --iterations 2 --rounds 1 --timeout 100s --format json";
    const Ended ended = run("bench intergroup_allgather --ranks 3 --groups 2,1 --bytes 0,1Ki" + quick);
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    EXPECT_GE(lines.size(), 8u) << ended.out;
    for (const std::string& line : lines) {
        const Json cell = Json::parse(line);
        expect_cell(cell, "intergroup_allgather", false);
        EXPECT_EQ(cell["groups"], "2+1");
        EXPECT_EQ(cell["iterations"], 2);
        const bool is_baseline = cell["algorithm"] == "root_gathering_sequential", is_theirs = cell["algorithm"] == "full_duplex";
        EXPECT_TRUE(!is_baseline || cell["improvement"]["median"] == 1) << cell;
        const double expected = cell["bytes"] == 0 ? 1 : 1 + 3.0 * (2 + 1) / 2;
        EXPECT_TRUE(is_theirs ? cell["expected"]["median"] == expected : cell["expected"]["median"].is_null()) << cell;
    }

    const Ended late = run("bench intergroup_allgather --ranks 3 --bytes 8 --algorithm full_duplex --arrival balanced,last:1:30ms" + quick);
    ASSERT_EQ(late.code, 0) << late.error;
    const Lines patterns = lines_of(late.out);
    ASSERT_EQ(patterns.size(), 4u) << late.out;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        const Json cell = Json::parse(patterns[i]);
        EXPECT_EQ(cell["pattern"], i < 2 ? "balanced" : "last:1:30ms");
        EXPECT_EQ(cell["expected"]["median"].is_null(), i != 0) << "the equation knows no late ranks";
        if (i >= 2) {
            EXPECT_GE(cell["run_time"]["low"], 30e-3) << "until the last rank has its blocks";
        }
    }

    const Ended chosen = run("bench intergroup_allgather --ranks 2 --bytes 8 --algorithm auto" + quick);
    ASSERT_EQ(chosen.code, 0) << chosen.error;
    ASSERT_EQ(lines_of(chosen.out).size(), 2u) << chosen.out;
    EXPECT_EQ(Json::parse(lines_of(chosen.out)[0])["algorithm"], "auto");

    const Ended paper = run("bench intergroup_allgatherv --paper --ranks 4 --bytes 1000 --algorithm full_duplex" + quick);
    ASSERT_EQ(paper.code, 0) << paper.error;
    std::vector<std::string> rows;
    for (const std::string& line : lines_of(paper.out)) {
        const Json cell = Json::parse(line);
        rows.push_back(cell["setting"].get<std::string>() + " " + cell["groups"].get<std::string>() + " " +
                       cell["algorithm"].get<std::string>());
    }
    const std::vector<std::string> expected = {
        "5 2+2 full_duplex", "5 2+2 root_gathering_sequential", "6 2+2 full_duplex", "6 2+2 root_gathering_sequential",
        "7 3+1 full_duplex", "7 3+1 root_gathering_sequential", "8 3+1 full_duplex", "8 3+1 root_gathering_sequential"};
    EXPECT_EQ(rows, expected);
}

TEST_F(BenchCommand, OtherOperationsBetweenGroupsAreMeasured) {
    for (const std::string operation : {"broadcast", "scatter", "gather", "reduce", "allreduce", "alltoall"}) {
        const Ended ended = run("bench intergroup_" + operation +
                                " --ranks 4 --groups 1,3 --bytes 0,1001 --env ROLLCALL_NODE_RANKS=2 --iterations 2 --timeout 100s"
                                " --arrival last:1:1ms --warmup 1 --root 3 --format json");
        ASSERT_EQ(ended.code, 0) << ended.error;
        std::vector<std::string> algorithms;
        for (const std::string& line : lines_of(ended.out)) {
            const Json cell = Json::parse(line);
            expect_cell(cell, "intergroup_" + operation, true);
            EXPECT_EQ(cell["groups"], "1+3");
            EXPECT_EQ(cell["iterations"], 2);
            algorithms.push_back(cell["algorithm"]);
            EXPECT_TRUE(algorithms.size() > 1 || cell["over_first"]["median"] == 1) << cell;
        }
        EXPECT_EQ(std::count(algorithms.begin(), algorithms.end(), "two_level"), 2) << ended.out;
        EXPECT_EQ(std::count(algorithms.begin(), algorithms.end(), "shared_memory"), 0) << ended.out;
    }
    expect_refused("bench intergroup_broadcast --ranks 4 --groups 2,1", {"--groups 2,1 of 4 ranks"});
    expect_refused("bench intergroup_broadcast --ranks 1", {"--ranks '1'", "from 2"});
    expect_refused("bench intergroup_barrier --ranks 1", {"--ranks '1'", "from 2"});
    expect_refused("bench intergroup_barrier --explain", {"'--explain'"});
    expect_refused("bench intergroup_reduce --algorithm ring", {"ring", "binomial"});
}

TEST_F(BenchCommand, ASpoiledResultBetweenGroupsEndsTheRun) {
    // The rank that gets a result, where rank 0 is the root and ranks 0 and 1 are the first group.
    const std::pair<std::string, std::string> takers[] = {{"gather", "0"}, {"allreduce", "1"}, {"scatterv", "2"}, {"alltoallv", "3"}};
    for (const auto& [operation, taker] : takers) {
        SCOPED_TRACE(operation);
        const Ended ended = run("bench intergroup_" + operation + " --ranks 4 --bytes 1000 --algorithm auto --warmup 0 --iterations 1",
                                "ROLLCALL_TEST_CORRUPT=" + taker);
        EXPECT_EQ(ended.code, 1);
        EXPECT_NE(ended.error.find("gave a wrong result: "), std::string::npos) << ended.error;
        EXPECT_NE(ended.error.find("on rank " + taker), std::string::npos) << ended.error;
        EXPECT_EQ(ended.out, "");
    }
    const Ended planned =
        run("bench intergroup_gather --ranks 4 --groups 3,1 --root 3 --bytes 1000 --compute 1ms --warmup 0 --iterations 2"
            " --format json --algorithm all");
    EXPECT_EQ(planned.code, 0) << planned.error;
    EXPECT_GE(lines_of(planned.out).size(), 1u);
}

TEST_F(BenchCommand, AllgathersBetweenGroupsRefuseWhatDoesNotFit) {
    expect_refused("bench intergroup_allgather --ranks 4 --groups 2,1", {"--groups 2,1 of 4 ranks"});
    expect_refused("bench intergroup_allgather --paper --settings 5", {"unknown setting '5'", "all, 1, 2, 3, 4"});
    expect_refused("bench intergroup_allgatherv --settings 5", {"--settings without --paper"});
    expect_refused("bench intergroup_allgather --paper --groups 2,2", {"--groups with --paper"});
    expect_refused("bench intergroup_allgather --algorithm ring", {"ring", "full_duplex"});
    expect_refused("bench intergroup_allgather --arrival uniform:0..4T", {"uniform:0..4T", "units of time"});
    expect_refused("bench intergroup_allgather --ranks 3 --arrival last:4:1ms", {"last:4:1ms"});
}

}  // namespace
}  // namespace rollcall::test
