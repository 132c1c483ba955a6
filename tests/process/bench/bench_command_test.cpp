/// \file
/// Tests `rollcall bench` as a user calls it: what it prints, writes and refuses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

constexpr const char* kQuick = "bench broadcast --ranks 3 --iterations 2 --warmup 1 --timeout 100s";

TEST_F(BenchCommand, BroadcastPrintsACellForEachSizePatternAndAlgorithm) {
    const Ended ended = run(std::string(kQuick) +
                            " --bytes 0,8,20Ki --arrival balanced,uniform:0..1ms --arrival root_late:1ms"
                            " --algorithm all,auto --root 1 --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_EQ(ended.error, "");
    std::set<std::string> cells, algorithms;
    for (const std::string& line : lines_of(ended.out)) {
        const Json cell = Json::parse(line);
        expect_cell(cell, "broadcast", true);
        EXPECT_EQ(cell["ranks"], 3);
        EXPECT_EQ(cell["iterations"], 2);
        cells.insert(cell["algorithm"].get<std::string>() + cell["pattern"].get<std::string>() + cell["bytes"].dump());
        algorithms.insert(cell["algorithm"]);
    }
    std::set<std::string> expected = names_of("broadcast");
    expected.insert("auto");
    EXPECT_EQ(algorithms, expected);
    EXPECT_EQ(cells.size(), 3u * 3u * algorithms.size());
}

TEST_F(BenchCommand, CsvHasAHeadingAndARowForEachCell) {
    const Ended ended = run(std::string(kQuick) + " --bytes 8 --algorithm flat,auto --format csv");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 3u);
    EXPECT_TRUE(
        lines[0].starts_with("operation,algorithm,transport,ranks,bytes,pattern,iterations,run_time_median,run_time_low,run_time_high,"
                             "mean_elapsed_median,"))
        << lines[0];
    EXPECT_TRUE(lines[1].starts_with("broadcast,linear,")) << lines[1];
    EXPECT_TRUE(lines[2].starts_with("broadcast,auto,")) << lines[2];
}

// Rank 0 prints, and its standard output is a pipe to the command.
TEST_F(BenchCommand, TextFitsTheScreen) {
    const std::string words = std::string(kQuick) + " --bytes 8 --arrival balanced,uniform:0..1ms --algorithm flat,auto";
    const auto longest = [](const std::string& text) {
        std::ptrdiff_t most = 0;
        for (const std::string& line : lines_of(text))
            if (!line.starts_with("columns not shown (use --format csv or json): "))
                most = std::max(most, std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
        return most;
    };
    const Ended narrow = run(words, "COLUMNS=90"), usual = run(words, "env -u COLUMNS"), wide = run(words, "COLUMNS=400");
    for (const Ended& ended : {narrow, usual, wide}) EXPECT_EQ(ended.code, 0) << ended.error;
    EXPECT_NE(usual.out.find("mean_elapsed"), std::string::npos) << usual.out;
    EXPECT_LE(longest(narrow.out), 90) << narrow.out;
    EXPECT_LE(longest(usual.out), 100) << usual.out;
    EXPECT_EQ(wide.out.find("columns not shown"), std::string::npos) << wide.out;
    for (const char* column : {"mean_elapsed", "over_first"}) EXPECT_NE(narrow.out.find(column), std::string::npos) << narrow.out;
    EXPECT_NE(wide.out.find("imbalance_factor"), std::string::npos) << wide.out;
}

TEST_F(BenchCommand, UsesTheJobItIsStartedIn) {
    const std::string bench = " " ROLLCALL_COMMAND " bench broadcast --bytes 8 --iterations 2 --warmup 0 --algorithm linear --format json";
    const Ended ended = run("run -n 2" + bench);
    ASSERT_EQ(ended.code, 0) << ended.error;
    ASSERT_EQ(lines_of(ended.out).size(), 1u);
    EXPECT_EQ(Json::parse(ended.out)["ranks"], 2);
    const Ended other = run("run -n 2" + bench + " --ranks 3");
    EXPECT_EQ(other.code, 2);
    EXPECT_NE(other.error.find("a job of 2 ranks"), std::string::npos) << other.error;
    const Ended files = run("run -n 2" + bench + " --raw /nowhere/raw.csv");
    EXPECT_EQ(files.code, 2);
    const std::string unwritable = "--raw '/nowhere/raw.csv' cannot be written: No such file or directory";
    EXPECT_NE(files.error.find("rank 0 on host"), std::string::npos) << files.error;
    EXPECT_NE(files.error.find(unwritable), std::string::npos) << files.error;
    EXPECT_EQ(files.error.find("rollcall: " + unwritable), std::string::npos) << "rank 1 does not look: " << files.error;
}

TEST_F(BenchCommand, ExplainsWhatAutoChooses) {
    const Ended ended = run(std::string(kQuick) + " --bytes 8 --algorithm auto --explain");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_NE(ended.out.find("because"), std::string::npos) << ended.out;
    // A planned call cannot be decoupled, so the choice may be another one.
    const Ended planned = run(std::string(kQuick) + " --bytes 8 --algorithm auto --compute 1ms --explain");
    ASSERT_EQ(planned.code, 0) << planned.error;
    EXPECT_NE(planned.out.find("because"), std::string::npos) << planned.out;
    const Ended simulated = run("simulate broadcast --ranks 4 --bytes 8 --algorithm auto --explain");
    ASSERT_EQ(simulated.code, 0) << simulated.error;
    for (const char* way : {"--decouple no: broadcast of 8 bytes", "--decouple auto: broadcast of 8 bytes"})
        EXPECT_NE(simulated.out.find(way), std::string::npos) << simulated.out;
}

TEST_F(BenchCommand, AJobThatFailsLeavesTheResultsOfThoseBeforeIt) {
    // Only the second job has a rank 2.
    const Ended ended =
        run("bench broadcast --ranks 2,3 --bytes 8 --iterations 2 --algorithm binomial --format csv", "ROLLCALL_TEST_CORRUPT=2");
    EXPECT_EQ(ended.code, 1) << ended.error;
    EXPECT_NE(ended.error.find("gave a wrong result"), std::string::npos) << ended.error;
    EXPECT_EQ(lines_of(ended.out).size(), 2u) << ended.out;
}

TEST_F(BenchCommand, ASpoiledResultEndsTheRun) {
    const Ended ended = run(std::string(kQuick) + " --bytes 1000 --algorithm binomial", "ROLLCALL_TEST_CORRUPT=2");
    EXPECT_EQ(ended.code, 1);
    EXPECT_NE(ended.error.find("binomial of 1000 bytes from rank 0 gave a wrong result: byte 500 on rank 2"), std::string::npos)
        << ended.error;
    EXPECT_EQ(ended.out, "");
}

TEST_F(BenchCommand, WritesRawSamplesAndAPicture) {
    const auto raw = directory_ / "raw.csv", plot = directory_ / "plot.svg";
    const std::string files =
        " --raw " + raw.string() + (std::system("command -v gnuplot >/dev/null") == 0 ? " --plot " + plot.string() : "");
    const Ended ended = run(std::string(kQuick) + " --bytes 8,4Ki --arrival max_if:1,max_if:8 --algorithm binomial,arrival_nb" + files);
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_EQ(lines_of(contents(raw)).size(),
              1u + 2 * 2 * 2 * 2 * 3);  // heading; sizes, patterns, algorithms, iterations, ranks
    if (files.find("--plot") == std::string::npos) GTEST_SKIP() << "gnuplot is not installed";
    const std::string picture = contents(plot);
    EXPECT_NE(picture.find("<svg"), std::string::npos);
    EXPECT_NE(picture.find("</svg>"), std::string::npos);
    EXPECT_NE(picture.find("arrival_nonblocking, 4Ki"), std::string::npos);
}

TEST_F(BenchCommand, RefusesWrongWordsInOneLine) {
    expect_refused("bench broadcast --algorithm binomal", {"'binomal'", "allowed: all, linear, binomial"});
    expect_refused("bench broadcast --algorithm near_optimal", {"'near_optimal'", "allowed: "});
    expect_refused("bench broadcast --bytes 8,64Q", {"--bytes: ", "'64Q'", "allowed: "});
    expect_refused("bench broadcast --arrival unifrm:0..1ms", {"'unifrm:0..1ms'", "allowed: balanced, uniform:A..B"});
    expect_refused("bench broadcast --ranks 4 --arrival last:9:1ms", {"last:9:1ms"});
    expect_refused("bench broadcast --ranks 4 --root 4", {"--root '4'", "0 to 3"});
    expect_refused("bench broadcast --ranks 0", {"--ranks '0'", "allowed: "});
    expect_refused("bench broadcast --iterations none", {"--iterations 'none'", "allowed: "});
    expect_refused("bench broadcast --wait dream", {"'dream'", "allowed: sleep, spin"});
    expect_refused("bench broadcast --landing maybe", {"'maybe'", "allowed: on, off, eager:SIZE"});
    expect_refused("bench broadcast --landing eager:65Ki", {"'eager:65Ki'", "64Ki at most"});
    expect_refused("bench broadcast --env ROLLCALL_LANDIN_BYTES=0", {"ROLLCALL_LANDIN_BYTES"});
    expect_refused("bench broadcast --raw /nowhere/raw.csv", {"--raw '/nowhere/raw.csv' cannot be written"});
    expect_refused("bench broadcast --plot picture.jpg", {"'picture.jpg'", ".svg, .png or .pdf"});
    expect_refused("bench broadcast --plot /", {"--plot '/' cannot be written"});
    expect_refused("bench broadcast --sise 8", {"'--sise'", "--bytes"});
    expect_refused("bench brodcast", {"'brodcast'",
                                      "broadcast, scatter, scatterv, gather, gatherv, allgather, allgatherv, alltoall, alltoallv, reduce, "
                                      "allreduce, reduce_scatter, scan, exclusive_scan, intergroup_broadcast, intergroup_scatter, "
                                      "intergroup_scatterv, intergroup_gather, intergroup_gatherv, intergroup_reduce, "
                                      "intergroup_allreduce, intergroup_alltoall, intergroup_alltoallv, intergroup_allgather, "
                                      "intergroup_allgatherv, "
                                      "pingpong, bandwidth, barrier, intergroup_barrier, overlap, loop, idle, "
                                      "schedule"});
    expect_refused("bench barrier --peer gasnet", {"'gasnet'", "allowed: all, openmpi, mpich"});
    expect_refused("bench loop --operation barrier", {"'barrier'", "allowed: all, broadcast, scatter, gather"});
    expect_refused("bench loop --compute uniform:0..4T", {"uniform:0..4T", "in units of time"});
    expect_refused("bench overlap --ranks 3", {"3 ranks", "allowed: 2"});
    expect_refused("bench overlap --landing on --env ROLLCALL_LANDING_BYTES=0", {"--landing on", "allowed: --landing off"});
    expect_refused("bench overlap --landing on,off --env ROLLCALL_LANDING_BYTES=0", {"--landing on", "allowed: --landing off"});
    expect_refused("bench overlap --transport ib", {"'ib'", "allowed: all, default, shm, tcp"});
    expect_refused("bench idle --duration 0", {"--duration"});
    expect_refused("bench schedule --search tree", {"'tree'", "allowed: all, linear, pairing_heap, segment_tree"});
    expect_refused("bench schedule --pattern late", {"'late'", "allowed: all, uniform, skewed"});
    expect_refused("bench schedule --segments 0", {"--segments '0'", "from 1 to 100000"});
    expect_refused("bench schedule --ranks 8,100000", {"100000 ranks with 100000 segments"});
    expect_refused("bench schedule --ranks 8,0", {"ranks '0'"});
    expect_refused("bench pingpong -n 5", {"a ping-pong of 5 ranks", "allowed: 2"});
    expect_refused("bench broadcast --arrival file:/dev/zero", {"'file:/dev/zero'", "not a regular file"});
    expect_refused("simulate broadcast --ranks 4 --model alpha=2us,delta=3", {"'delta=3'", "allowed: alpha=T"});
    expect_refused("simulate broadcast --ranks 4 --landing much", {"--landing", "'much'", "allowed: on, off, eager:SIZE"});
    expect_refused("simulate broadcast --segments 4 --segment 8", {"--segments"});
}

TEST_F(BenchCommand, RefusesWrongWordsAboutScatterAndGatherInOneLine) {
    expect_refused("bench scatter --algorithm pipelined", {"'pipelined'", "allowed: all, linear"});
    expect_refused("bench gather --algorithm nothing", {"'nothing'", "linear_synchronized"});
    expect_refused("bench broadcast --paper table3", {"'--paper'"});
    expect_refused("bench gather --compute long", {"'long'", "allowed: a duration"});
    expect_refused("bench gather --predictor last", {"--predictor", "--compute"});
    expect_refused("bench gather --compute 1ms --predictor crystal", {"'crystal'", "allowed: edge_linear, last"});
    expect_refused("bench gather --compute 1ms --prediction-noise 5", {"'5'", "allowed: 0% to 100%"});
    for (const char* words : {" --no-edge", " --predictor last"})
        expect_refused("bench gather --compute 1ms --prediction-noise 5%" + std::string(words), {"--prediction-noise", "edge_linear"});
    expect_refused("bench scatter --paper table4", {"'table4'", "allowed: table3"});
    expect_refused("bench gather --paper table4 --arrival balanced", {"--paper", "allowed: --bytes and --delays"});
    expect_refused("simulate gather --paper table4 --delays 7", {"'7'", "allowed: all, 0ms, 1ms, 5ms"});
    expect_refused("simulate gather --paper table4 --bytes 8", {"--bytes 8", "512Ki"});
    expect_refused("simulate gather --delays 5", {"--delays", "--paper"});
    expect_refused("simulate scatter --landing on,1Mi,eager:65Ki", {"'eager:65Ki'", "64Ki at most"});
    EXPECT_NE(run("bench scatter --landing on", "ROLLCALL_LANDING_BYTES=0").error.find("allowed: off"), std::string::npos);
    EXPECT_NE(run("bench scatter --landing on", "ROLLCALL_LANDING_LONGEST=8Ki").error.find("allowed: eager:8Ki"), std::string::npos);
    const Ended in_job = run("run -n 2 " ROLLCALL_COMMAND " bench gather --landing off");
    EXPECT_EQ(in_job.code, 2);
    EXPECT_NE(in_job.error.find("allowed: on"), std::string::npos) << in_job.error;
}

/// Small sweeps of every algorithm over shared memory. 1001 bytes to 3 ranks give blocks of 332.
TEST_F(BenchCommand, ScatterAndGatherPrintACellForEachSizePatternAndAlgorithm) {
    for (const std::string operation : {"scatter", "gather"}) {
        SCOPED_TRACE(operation);
        const Ended ended =
            run("bench " + operation +
                    " --ranks 3 --iterations 2 --warmup 1 --timeout 100s --bytes 0,1001,100Ki --arrival balanced,root_late:1ms"
                    " --algorithm all,auto --root 1 --format json",
                "UCX_TLS=posix,self");
        ASSERT_EQ(ended.code, 0) << ended.error;
        EXPECT_EQ(ended.error, "");
        std::set<std::string> cells, algorithms;
        for (const std::string& line : lines_of(ended.out)) {
            const Json cell = Json::parse(line);
            expect_cell(cell, operation, true);
            EXPECT_FALSE(cell.contains("performance_ratio") || cell.contains("competitive_ratio"));
            EXPECT_FALSE(cell.contains("prediction_error")) << "calls without phases predict nothing";
            cells.insert(cell["algorithm"].get<std::string>() + cell["pattern"].get<std::string>() + cell["bytes"].dump());
            algorithms.insert(cell["algorithm"]);
        }
        std::set<std::string> expected = names_of(operation);
        expected.insert("auto");
        EXPECT_EQ(algorithms, expected);
        EXPECT_EQ(cells.size(), 3u * 2u * algorithms.size());
    }
}

TEST_F(BenchCommand, BlocksOfOwnSizes) {
    for (const std::string operation : {"scatter", "gather"}) {
        const Ended ended =
            run("bench " + operation +
                "v --ranks 4 --bytes 1Ki,100Ki --sizes spikes,two_blocks --arrival balanced,max_if:2 --iterations 2 --warmup 1"
                " --algorithm auto,binomial,adaptive,optimal --root 1 --format json");
        ASSERT_EQ(ended.code, 0) << ended.error;
        std::map<std::string, int> sizes;
        for (const std::string& line : lines_of(ended.out)) {
            const Json cell = Json::parse(line);
            expect_cell(cell, operation, true);
            ++sizes[cell["sizes"]];
        }
        EXPECT_EQ(sizes, (std::map<std::string, int>{{"spikes", 16}, {"two_blocks", 16}}));
        const Ended spoiled = run("bench " + operation + "v --ranks 3 --bytes 100 --sizes same --algorithm adaptive --iterations 1",
                                  "ROLLCALL_TEST_CORRUPT=0");
        EXPECT_EQ(spoiled.code, 1);
        EXPECT_NE(spoiled.error.find(operation + " adaptive of blocks of different sizes"), std::string::npos) << spoiled.error;
        expect_refused("bench " + operation + "v --algorithm sorted_binomial", {"'sorted_binomial'"});
        expect_refused("bench " + operation + "v --sizes heaps", {"'heaps'", "skewed"});
        expect_refused("bench " + operation + " --sizes spikes", {"--sizes"});
        expect_refused("bench " + operation + "v --ranks 4 --bytes 8Gi --sizes random",
                       {"blocks of 2Gi", "in the distribution random", "1Gi"});
    }
}

TEST_F(BenchCommand, PlansArePrecededByPhasesAndTheirPredictionsAreJudged) {
    for (const std::string operation : {"broadcast", "scatter", "gather"}) {
        SCOPED_TRACE(operation);
        const auto raw = directory_ / "raw.csv";
        const Ended ended = run("bench " + operation +
                                    " --ranks 3 --iterations 2 --warmup 1 --timeout 100s --bytes 100Ki --arrival balanced,uniform:0..1ms"
                                    " --algorithm all --root 2 --compute 2ms --format json --raw " +
                                    raw.string(),
                                "UCX_TLS=posix,self");
        ASSERT_EQ(ended.code, 0) << ended.error;
        const Lines lines = lines_of(ended.out);
        EXPECT_EQ(lines.size(), 2 * names_of(operation).size());
        for (const std::string& line : lines) {
            const Json cell = Json::parse(line);
            expect_cell(cell, operation, true);
            EXPECT_EQ(cell["compute"], "2ms");
            EXPECT_EQ(cell["predictor"], "edge_linear");
            EXPECT_GE(cell["prediction_error"]["median"], 0.0);
            EXPECT_EQ(cell["unpredicted_calls"], "0");
        }
        const Lines rows = lines_of(contents(raw));
        ASSERT_EQ(rows.size(), 1 + lines.size() * 2 * 3);  // heading; cells, iterations, ranks
        for (std::size_t row = 1; row < rows.size(); ++row) {
            Lines fields;
            std::istringstream in(rows[row]);
            for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
            // The fields are ..., asked, arrival, exit, first data, predicted. No rank arrives before its delay is over, and all ranks
            // predict.
            EXPECT_GE(std::stoll(fields.end()[-4]), std::stoll(fields.end()[-5])) << rows[row];
            EXPECT_FALSE(rows[row].ends_with(',')) << rows[row];
        }
    }
    const Ended silent =
        run("bench gather --ranks 2 --iterations 1 --warmup 0 --bytes 8 --algorithm linear --compute 1ms --no-edge --format json");
    ASSERT_EQ(silent.code, 0) << silent.error;
    EXPECT_TRUE(Json::parse(silent.out)["prediction_error"]["median"].is_null()) << silent.out;
}

TEST_F(BenchCommand, EveryPlanHasArrivalSlots) {
    // Two for the world, and two for each of two plans.
    const std::string words =
        "bench gather --ranks 2 --iterations 1 --warmup 0 --bytes 8 --algorithm linear,binomial --compute 0 --timeout 100s ";
    expect_refused(words + "--env ROLLCALL_BOARD_SLOTS=5", {"2 plans of 2 ranks", "ROLLCALL_BOARD_SLOTS=6"});
    EXPECT_EQ(run(words + "--env ROLLCALL_BOARD_SLOTS=6").code, 0);
    EXPECT_EQ(
        run("bench gather --ranks 2 --iterations 1 --warmup 0 --bytes 8 --algorithm linear,binomial --env ROLLCALL_BOARD_SLOTS=2").code, 0)
        << "single calls have the world's";
}

TEST_F(BenchCommand, EachLandingIsAJobOfOneReport) {
    const auto raw = directory_ / "raw.csv";
    const Ended ended =
        run("bench scatter --ranks 2 --iterations 2 --warmup 0 --bytes 8Ki --algorithm linear,binomial --landing on,off,eager:4Ki"
            " --timeout 100s --format csv --raw " +
            raw.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 1u + 6u) << ended.out;
    for (std::size_t line = 1; line < lines.size(); ++line)
        EXPECT_TRUE(lines[line].ends_with(line <= 2 ? ",nonblocking,on" : line <= 4 ? ",blocking,off" : ",eager,eager:4Ki")) << lines[line];
    EXPECT_EQ(lines_of(contents(raw)).size(), 1u + 6u * 2u * 2u);
    const Ended text = run("bench gather --ranks 2 --iterations 2 --warmup 0 --bytes 8Ki --algorithm linear --landing off --timeout 100s");
    EXPECT_TRUE(lines_of(text.out).at(0).ends_with("model: blocking")) << text.out;
    const Ended failed =
        run("bench gather --ranks 2 --iterations 2 --bytes 8Ki --algorithm linear --landing on,off", "ROLLCALL_TEST_CORRUPT=0");
    EXPECT_EQ(failed.code, 1);
    EXPECT_EQ(failed.out, "");
}

TEST_F(BenchCommand, ASpoiledBlockEndsTheRun) {
    const std::string quick = " --ranks 3 --iterations 1 --warmup 0 --timeout 100s --bytes 3000 --algorithm linear";
    const Ended scatter = run("bench scatter" + quick, "ROLLCALL_TEST_CORRUPT=2");
    EXPECT_EQ(scatter.code, 1);
    EXPECT_NE(
        scatter.error.find("scatter linear of 1000 bytes from rank 0 gave a wrong result: byte 500 on rank 2 is not what rank 0 sent"),
        std::string::npos)
        << scatter.error;
    const Ended gather = run("bench gather --compute 1ms" + quick, "ROLLCALL_TEST_CORRUPT=0");
    EXPECT_EQ(gather.code, 1);
    EXPECT_NE(gather.error.find(
                  "gather linear of 1000 bytes to rank 0 gave a wrong result: byte 500 of block 1 on rank 0 is not what rank 1 sent"),
              std::string::npos)
        << gather.error;
}

TEST_F(BenchCommand, SchedulesOfAllSearches) {
    const std::string ranks = kSanitized ? "8,10" : "8,20";
    const std::string words = "bench schedule --ranks " + ranks + " --segments 70 --iterations 3 --format json";
    const Ended ended = run(words);
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 2u * 2u * 3u);
    std::vector<Json> cells;
    for (const std::string& line : lines) {
        cells.push_back(Json::parse(line));
        expect_cell(cells.back(), "schedule", false);
        EXPECT_EQ(cells.back()["segments"], "70");
        EXPECT_EQ(cells.back()["iterations"], 3);
        // The same reductions give the same schedules.
        EXPECT_EQ(cells.back()["transfers"], cells[(cells.size() - 1) / 3 * 3]["transfers"]);
        EXPECT_GE(cells.back()["transfers"]["median"], 7.0 * 70);
    }
    EXPECT_EQ(cells[2]["algorithm"], "segment_tree");
    EXPECT_EQ(cells[2]["over_segment_tree"]["median"], 1.0);
    // The seed determines the patterns.
    const auto transfers = [](const Ended& of) { return Json::parse(lines_of(of.out).at(0))["transfers"]; };
    EXPECT_EQ(transfers(run(words + " --search linear --seed 1")), cells[0]["transfers"]);
    EXPECT_NE(transfers(run(words + " --search linear --seed 2")), cells[0]["transfers"]);
    EXPECT_EQ(lines_of(run(words + " --search linear --pattern skewed").out).at(0).find("over_segment_tree"), std::string::npos);
}

// The clocks of the hosts are seconds apart. Delays are kept, and all times are on one clock.
TEST_F(BenchCommand, OnHostsWhoseClocksAreWrong) {
    const std::string clocks = "ROLLCALL_TEST_CLOCKS=0:0,4000000000:30,-3000000000:-30";
    for (const std::string& words : {std::string("broadcast --bytes 1Ki --algorithm binomial"),
                                     std::string("scatter --bytes 3Ki --algorithm background_sorted_linear --compute 5ms"),
                                     std::string("gather --bytes 3Ki --algorithm linear --compute 5ms")}) {
        const Ended ended =
            run("bench " + words + " --ranks 3 --iterations 5 --arrival uniform:0..10ms --timeout 100s --format json", clocks);
        ASSERT_EQ(ended.code, 0) << ended.error;
        EXPECT_EQ(ended.error.rfind("clocks of several hosts: synchronised, at most ", 0), 0u) << ended.error;
        ASSERT_EQ(lines_of(ended.out).size(), 1u) << ended.out;
        const Json cell = Json::parse(lines_of(ended.out)[0]);
        // A generous bound: the clocks are at least three seconds apart.
        EXPECT_GT(cell["run_time"]["median"], 0.0);
        EXPECT_LT(cell["run_time"]["median"], 1.0);
        EXPECT_LT(cell["spread"]["median"], 1.0);
        EXPECT_LT(cell["pattern_error"]["median"], 1.0);
        if (cell.contains("prediction_error")) {
            EXPECT_LT(cell["prediction_error"]["median"], 1.0);
        }
    }
    const Ended overlap = run("bench overlap --ranks 2 --bytes 64Ki --iterations 2 --transport shm --timeout 100s --format json", clocks);
    EXPECT_EQ(overlap.code, 0) << overlap.error;
}

}  // namespace
}  // namespace rollcall::test
