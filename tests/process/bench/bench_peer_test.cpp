/// \file
/// Tests benchmarks beside MPI libraries, where these and their headers were there when the peers were built.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

class BenchPeers : public BenchCommand {
  protected:
    void SetUp() override {
        BenchCommand::SetUp();
        for (const auto& [peer, launcher] : {std::pair("openmpi", ROLLCALL_MPIRUN_OPENMPI), std::pair("mpich", ROLLCALL_MPIRUN_MPICH)})
            if (std::filesystem::exists(program("collective", peer)) &&
                std::system(("command -v " + std::string(launcher) + " >/dev/null").c_str()) == 0)
                peers_.emplace_back(peer);
        // Otherwise Open MPI also loads libraries of networks that are not here. It takes longer than the rest of its start.
        ::setenv("OMPI_MCA_pml", "ob1", 0);
        if (peers_.empty())
            GTEST_SKIP() << "no MPI library to compare with was there when the peers were built (libopenmpi-dev, libmpich-dev), or its "
                            "launcher is not in PATH";
    }

    static std::string program(const std::string& name, const std::string& peer) {
        return (std::filesystem::path(ROLLCALL_COMMAND).parent_path() / "peers" / (name + "-" + peer)).string();
    }
    /// Starts so many ranks, as the benchmark does where they share processors.
    static std::string launch(const std::string& peer, int ranks) {
        if (peer == "openmpi") return fmt::format(ROLLCALL_MPIRUN_OPENMPI " --allow-run-as-root --oversubscribe -n {} ", ranks);
        const auto yield = std::filesystem::path(ROLLCALL_COMMAND).parent_path() / "peers" / "librollcall-peer-yield.so";
        return fmt::format(ROLLCALL_MPIRUN_MPICH " -n {} -genv LD_PRELOAD {} -genv ROLLCALL_PEER_YIELD yes ", ranks, yield.string());
    }
    std::string option() const {
        std::string names;
        for (const std::string& peer : peers_) names += (names.empty() ? " --peer " : ",") + peer;
        return names;
    }

    Lines peers_;
};

constexpr const char* kTiny = " --ranks 3 --iterations 2 --rounds 2 --warmup 1 --timeout 100s";

TEST_F(BenchPeers, TheirRowsStandBesideOurs) {
    const auto raw = directory_ / "raw.csv";
    const Ended ended = run("bench gather --bytes 0,3001 --arrival balanced,rotating:20ms --algorithm auto,linear --root 1 --format json" +
                            std::string(kTiny) + option() + " --raw " + raw.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    const std::size_t rows = 2 + peers_.size();
    ASSERT_EQ(lines.size(), 2 * 2 * rows) << ended.out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Json cell = Json::parse(lines[i]);
        expect_cell(cell, "gather", true);
        EXPECT_EQ(cell["algorithm"], i % rows == 0 ? "auto" : i % rows == 1 ? "linear" : peers_[i % rows - 2]);
        EXPECT_EQ(cell["ranks"], 3);
        EXPECT_EQ(cell["iterations"], 4) << "of both rounds";
        EXPECT_GT(cell["elapsed"]["mean"], 0.0);
        if (i % rows == 0) {
            EXPECT_EQ(cell["over_first"]["median"], 1.0);
        }
        EXPECT_GT(cell["over_first"]["median"], 0.0);
        EXPECT_GT(cell["elapsed_over_first"]["mean"], 0.0);
        if (cell["pattern"] == "rotating:20ms") {
            EXPECT_GT(cell["spread"]["median"], 5e-3) << "the peer has the delays, too";
        }
    }
    // A heading; two sizes, two patterns, four calls, three ranks. Iterations go on in the second round.
    const Lines samples = lines_of(contents(raw));
    EXPECT_EQ(samples.size(), 1u + 2 * 2 * rows * 4 * 3);
    EXPECT_NE(contents(raw).find(",3,2,"), std::string::npos);
}

TEST_F(BenchPeers, TheyWaitAsLongAsOurPhasesTake) {
    const auto raw = directory_ / "raw.csv";
    const Ended ended = run("bench reduce --bytes 3000 --arrival rotating:20ms --compute 5ms --algorithm clairvoyant,ring --format json" +
                            std::string(kTiny) + option() + " --raw " + raw.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 2 + peers_.size()) << ended.out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Json cell = Json::parse(lines[i]);
        EXPECT_EQ(cell["algorithm"], i == 0 ? "clairvoyant" : i == 1 ? "ring" : peers_[i - 2]);
        EXPECT_EQ(cell["iterations"], 4);
        EXPECT_EQ(cell["compute"], "5ms");
        EXPECT_LT(cell["pattern_error"]["median"].get<double>(), 1.0) << "arrivals count from the end of the phase";
        EXPECT_GT(cell["spread"]["median"].get<double>(), 5e-3);
        if (i >= 2) {
            EXPECT_EQ(cell["unpredicted_calls"], "4") << "a library predicts nothing";
        }
    }
    EXPECT_EQ(lines_of(contents(raw)).size(), 1u + lines.size() * 4 * 3);
}

TEST_F(BenchPeers, TheyRunTheSameLoop) {
    const Ended ended =
        run("bench loop --operation broadcast,gather --bytes 3000 --compute uniform:0..8ms --iterations 6 --ranks 3 --rounds 2"
            " --timeout 100s --format json" +
            option());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    const std::size_t rows = 2 + peers_.size();
    ASSERT_EQ(lines.size(), 2 * rows) << ended.out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Json cell = Json::parse(lines[i]);
        EXPECT_EQ(cell["algorithm"], i < 2 ? "decoupled" : i < 4 ? "coupled" : peers_[i / 2 - 2]) << cell;
        EXPECT_EQ(cell["calls"], i % 2 == 0 ? "broadcast" : "gather");
        EXPECT_EQ(cell["iterations"], 12) << "6 in each of 2 rounds";
        EXPECT_EQ(cell["limit"], Json::parse(lines[0])["limit"]) << "in each round, a peer has the compute times of our jobs";
        EXPECT_LT(cell["limit"]["low"], cell["limit"]["high"]) << "the next round has other times";
        EXPECT_GE(cell["ratio"]["median"].get<double>(), 1.0) << "no library is faster than the limit";
    }
}

TEST_F(BenchPeers, BlocksOfOwnSizesToo) {
    const Ended ended =
        run("bench gatherv --bytes 30000 --sizes spikes --arrival balanced --algorithm auto,two_part --root 1 --format json" +
            std::string(kTiny) + option());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 2 + peers_.size()) << ended.out;
    for (const std::string& line : lines) {
        const Json cell = Json::parse(line);
        EXPECT_EQ(cell["sizes"], "spikes");
        EXPECT_EQ(cell["iterations"], 4);
    }
}

TEST_F(BenchPeers, EachNumberOfRanksIsComparedByItself) {
    const Ended ended = run("bench gather --ranks 2,3 --bytes 3000 --algorithm linear --iterations 2 --rounds 2 --format json" + option());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    const std::size_t rows = 1 + peers_.size();
    ASSERT_EQ(lines.size(), 2 * rows) << ended.out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Json cell = Json::parse(lines[i]);
        EXPECT_EQ(cell["ranks"], i < rows ? 2 : 3);
        EXPECT_EQ(cell["algorithm"], i % rows == 0 ? "linear" : peers_[i % rows - 1]);
        EXPECT_EQ(cell["iterations"], 4);
        if (i % rows == 0) {
            EXPECT_EQ(cell["over_first"]["median"], 1.0);
        }
        EXPECT_GT(cell["over_first"]["median"], 0.0);
    }
}

TEST_F(BenchPeers, EveryOperationIsChecked) {
    const Lines all = {"broadcast",      "scatter", "gather",         "allgather", "alltoall", "reduce",     "allreduce",
                       "reduce_scatter", "scan",    "exclusive_scan", "scatterv",  "gatherv",  "allgatherv", "alltoallv"};
    Lines operations = all;
    for (const std::string& operation : all)
        if (operation != "reduce_scatter" && operation.find("scan") == std::string::npos) operations.push_back("intergroup_" + operation);
    const auto result = [&](const std::string& peer, const std::string& plan, const std::string& before) {
        const auto file = directory_ / "plan";
        std::ofstream(file) << plan;
        const std::string words = before + " timeout 60 " + launch(peer, 3) + program("collective", peer) + " " + file.string();
        return std::system((words + " >" + (directory_ / "out").string() + " 2>" + (directory_ / "error").string()).c_str());
    };
    const auto error = [&] { return contents(directory_ / "error"); };
    std::vector<std::string> plans;
    for (const std::string& operation : operations) {
        const bool is_between = operation.starts_with("intergroup_");
        // Rank 1 is the root. Between groups it is in the second one, with rank 2.
        const std::string head = operation + (is_between ? " 1 1 0 3 1\n" : " 1 1 0 3\n");
        if (operation.back() == 'v')
            plans.push_back(head + "0 77 0 0 0 5 4000 0\n0 78 0 0 0 0 0 0\n0 79 0 300000 0 1 70000 12\n");
        else if (operation == "intergroup_allgather")
            plans.push_back(head + "0 77 0 0 0 5 40 40\n0 78 0 0 0 0 7 7\n0 79 0 300000 0 70000 12 12\n");
        else
            plans.push_back(head + "1000 77 0 0 0\n0 78 0 0 0\n40000 18446744073709551615 0 300000 0\n");
    }
    for (const std::string& peer : peers_) {
        SCOPED_TRACE(peer);
        EXPECT_EQ(result(peer, fmt::format("{}", fmt::join(plans, "")), ""), 0) << error();
        EXPECT_EQ(lines_of(contents(directory_ / "out")).size(), 3 * plans.size()) << contents(directory_ / "out");
    }
    // A loop of three calls, one of which is not measured, also checks its last call.
    const std::string loop = "gather 1 1 1 3\n30 77 0 0 0\n30 77 0 0 0\n30 77 0 0 0\n";
    for (const std::string& peer : peers_) {
        EXPECT_EQ(result(peer, loop, ""), 0) << error();
        EXPECT_NE(result(peer, loop, "ROLLCALL_TEST_CORRUPT=1"), 0);
        EXPECT_NE(error().find("gather gave a wrong result: "), std::string::npos) << error();
    }
    // In one job all results of all operations are changed. An operation with blocks of own sizes has the name of the other one, so those
    // are in a job of their own.
    for (const std::string& peer : peers_)
        for (const bool own_sizes : {false, true}) {
            SCOPED_TRACE(peer);
            std::string some;
            Lines names;
            for (std::size_t i = 0; i < operations.size(); ++i) {
                if ((operations[i].back() == 'v') != own_sizes) continue;
                some += plans[i];
                names.push_back(operations[i].substr(0, operations[i].size() - (own_sizes ? 1 : 0)) + " gave a wrong result: ");
            }
            EXPECT_NE(result(peer, some, "ROLLCALL_TEST_CORRUPT=all"), 0);
            const Lines told = lines_of(error());
            for (const std::string& name : names)
                EXPECT_TRUE(std::any_of(told.begin(), told.end(), [&](const std::string& line) { return line.starts_with(name); }))
                    << name << "is not in: " << error();
        }
}

TEST_F(BenchPeers, TheyAlsoGatherBetweenTwoGroups) {
    const auto delays = directory_ / "delays";
    std::ofstream(delays) << "0 0 0\n0 0 0\n0 0 100ms\n0 0 100ms\n";  // of two rounds
    struct {
        std::string words, groups, expected_operation;
        std::size_t cases;
        int rounds;
    } const runs[] = {
        {"intergroup_allgather --ranks 3 --groups 2,1 --bytes 0,3001", "2+1", "intergroup_allgather", 2, 2},
        {"intergroup_allgatherv --ranks 3 --groups 1,2 --bytes 3001", "1+2", "intergroup_allgatherv", 1, 1},
        {"intergroup_allgather --ranks 3 --groups 1,2 --bytes 8 --arrival last:1:30ms", "1+2", "intergroup_allgather", 1, 1},
        {"intergroup_allgather --ranks 3 --groups 1,2 --bytes 8 --arrival file:" + delays.string(), "1+2", "intergroup_allgather", 1, 2},
        {"intergroup_allgather --paper --ranks 4 --settings 3,4 --bytes 1000", "3+1", "intergroup_allgather", 2, 1}};
    for (const auto& [words, groups, operation, cases, rounds] : runs) {
        const Ended ended = run("bench " + words + " --algorithm full_duplex --iterations 2 --timeout 100s --format json --rounds " +
                                std::to_string(rounds) + option());
        ASSERT_EQ(ended.code, 0) << ended.error;
        const Lines lines = lines_of(ended.out);
        const std::size_t rows = 3 + peers_.size();
        ASSERT_EQ(lines.size(), cases * rows) << ended.out;
        for (std::size_t i = 0; i < lines.size(); ++i) {
            SCOPED_TRACE(lines[i]);
            const Json cell = Json::parse(lines[i]);
            expect_cell(cell, operation, false);
            const bool is_theirs = i % rows > 2;
            const char* const ours[] = {"full_duplex", "root_gathering_sequential", "auto"};
            EXPECT_EQ(cell["algorithm"], is_theirs ? peers_[i % rows - 3] : ours[i % rows]);
            EXPECT_EQ(cell["groups"], groups);
            EXPECT_EQ(cell["iterations"], 2 * rounds) << "of all rounds, without the calls that warm up";
            EXPECT_GT(cell["improvement"]["median"], 0.0);
            const bool is_late = cell["pattern"] == "last:1:30ms",
                       is_late_in_second = cell["pattern"].get<std::string>().starts_with("file:");
            EXPECT_EQ(cell["expected"]["median"].is_null(), i % rows != 0 || is_late || is_late_in_second);
            if (is_late_in_second) {
                EXPECT_GE(cell["run_time"]["high"], 100e-3) << "the peer has the delays of that round";
            }
            if (is_late) {
                EXPECT_GE(cell["run_time"]["low"], 30e-3) << "the peer has the delays, too";
            }
            EXPECT_EQ(cell["rollcall_ratio"]["median"].is_null(), !is_theirs);
            EXPECT_EQ(cell["fastest_ratio"]["median"].is_null(), !is_theirs);
        }
    }
}

TEST_F(BenchPeers, BetweenTwoGroupsTheirDelaysAreTheSameToo) {
    const bool draws = std::system("command -v gnuplot >/dev/null") == 0;
    const auto plot = directory_ / "plot.svg";
    const Ended ended =
        run("bench intergroup_scatterv --ranks 3 --groups 2,1 --root 2 --bytes 3001 --arrival last:1:20ms --algorithm auto"
            " --iterations 3 --rounds 1 --warmup 1 --timeout 100s --format json" +
            (draws ? " --plot " + plot.string() : "") + option());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 1 + peers_.size()) << ended.out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Json cell = Json::parse(lines[i]);
        expect_cell(cell, "intergroup_scatter", true);
        EXPECT_EQ(cell["algorithm"], i == 0 ? "auto" : peers_[i - 1]);
        EXPECT_EQ(cell["groups"], "2+1");
        EXPECT_EQ(cell["iterations"], 3);
        EXPECT_GT(cell["spread"]["median"], 5e-3);
        EXPECT_GT(cell["over_first"]["median"], 0.0);
    }
    for (const std::string& peer : peers_) EXPECT_TRUE(!draws || contents(plot).find(peer) != std::string::npos) << peer;
}

TEST_F(BenchPeers, PlainBenchmarksHaveThemToo) {
    for (const std::string words : {"pingpong --bytes 8,20Ki", "intergroup_barrier --ranks 3 --groups 2,1 --batch 10"}) {
        const Ended ended = run("bench " + words + " --iterations 2 --rounds 2 --timeout 100s --format json" + option());
        ASSERT_EQ(ended.code, 0) << ended.error;
        std::map<std::string, int> rows;
        for (const std::string& line : lines_of(ended.out)) {
            const Json cell = Json::parse(line);
            ++rows[cell["algorithm"]];
            EXPECT_EQ(cell["iterations"], 4);
            EXPECT_EQ(cell["rollcall_ratio"]["median"].is_number(), cell["algorithm"] != "rollcall");
        }
        EXPECT_EQ(rows.size(), 1 + peers_.size()) << ended.out;
    }
}

TEST_F(BenchPeers, TheyStopAfterTheSameTime) {
    for (const std::string& peer : peers_) {
        for (const std::string words : {"pingpong 50 6 1000 0 8 100", "barrier 50 6 2 0"}) {
            const auto out = directory_ / "out";
            const std::string name = words.substr(0, words.find(' '));
            const std::string command =
                "timeout 60 " + launch(peer, 2) + program(name, peer) + words.substr(name.size()) + " >" + out.string();
            ASSERT_EQ(std::system(command.c_str()), 0) << command;
            const Lines lines = lines_of(contents(out));
            EXPECT_EQ(lines.size(), name == "pingpong" ? 2u : 1u) << "a line for each size";
            for (const std::string& line : lines) {
                std::istringstream in(line);
                int samples = 0;
                for (double seconds = 0; in >> seconds;) samples += seconds > 0;
                EXPECT_EQ(samples, 6) << "the fewest, because the time is over at once: " << line;
            }
        }
    }
}

TEST_F(BenchPeers, ASignalKeepsTheRoundsThatAreComplete) {
    const std::string launcher = peers_.front() == "openmpi" ? "mpirun.openmpi" : "mpiexec.hydra";
    // The launcher of the second round is not the real one: it asks the benchmark to end.
    const auto tools = directory_ / "tools";
    std::filesystem::create_directory(tools);
    const auto file = tools / launcher;
    std::ofstream(file) << "#!/bin/sh\nPATH=${PATH#*:}\nmkdir " << (directory_ / "second").string() << " 2>/dev/null && exec " << launcher
                        << " \"$@\"\nkill -INT $PPID\nexec sleep 100\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    for (const std::string words : {"barrier --batch 5", "gather --bytes 8 --algorithm linear --warmup 0"}) {
        std::filesystem::remove(directory_ / "second");
        const Ended ended = run("bench " + words + " --ranks 2 --iterations 2 --rounds 3 --format csv --peer " + peers_.front(),
                                "PATH=" + tools.string() + ":$PATH");
        EXPECT_EQ(ended.code, 130) << ended.error;
        EXPECT_EQ(lines_of(ended.out).size(), 3u) << "a heading and the first round: " << ended.out;
        EXPECT_NE(ended.error.find("signal 2 came while the peer"), std::string::npos) << ended.error;
    }
}

TEST_F(BenchCommand, WhatPeersCannotDoIsRefused) {
    const std::string gather = "bench gather --peer openmpi ";
    expect_refused("bench gather --peer gasnet", {"'gasnet'", "allowed: all, openmpi, mpich"});
    expect_refused("bench gather --rounds 2", {"--rounds without --peer"});
    expect_refused(gather + "--paper table4", {"--peer with a table of --paper; allowed: a figure, or --compute"});
    expect_refused(gather + "--landing on,off", {"--peer with several values of --landing"});
    expect_refused(gather + "--bytes 64Gi", {"2 GiB", "smaller"});
    expect_refused(gather + "--rounds 0", {"--rounds '0'"});
    expect_refused("bench intergroup_allgather --peer openmpi --ranks 600 --iterations 1000000",
                   {"--peer with 2000002 calls of 600 ranks", "fewer --iterations"});
    expect_refused("bench gatherv --peer openmpi --sizes spikes,same", {"--peer with several distributions", "allowed: one"});
    expect_refused("bench pingpong --peer openmpi --transport tcp", {"--peer with --transport tcp"});
    expect_refused("bench intergroup_allgather --peer openmpi --transport tcp", {"--peer with --transport tcp"});
    expect_refused("bench loop --peer openmpi --transport ofi_tcp", {"--peer with --transport ofi_tcp"});
    expect_refused("bench intergroup_gatherv --ranks 4 --peer openmpi --bytes 1Gi", {"2 GiB", "together", "smaller"});
    expect_refused("bench intergroup_allgatherv --ranks 4 --peer openmpi --bytes 2Gi", {"2 GiB", "smaller"});
    const Ended in_job = run("run -n 2 " ROLLCALL_COMMAND " " + gather);
    EXPECT_EQ(in_job.code, 2);
    EXPECT_NE(in_job.error.find("--peer in a job that is already running"), std::string::npos) << in_job.error;
}

}  // namespace
}  // namespace rollcall::test
