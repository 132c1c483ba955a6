/// \file
/// `rollcall bench` and `rollcall simulate` as a user calls them: what they print, write and refuse.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/common.hpp"

namespace {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;
using rollcall::test::contents;

Lines lines_of(const std::string& text) {
    Lines lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

class BenchCommand : public testing::Test {
  protected:
    struct Ended {
        int code = -1;
        std::string out, error;
    };

    void SetUp() override {
        std::string name = testing::TempDir() + "rollcall-bench-XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        directory_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    /// The words go through a shell, unquoted.
    Ended run(const std::string& words, const std::string& before = "") {
        const auto out = directory_ / "out", error = directory_ / "error";
        const std::string command = before + " timeout 120 " ROLLCALL_COMMAND " " + words + " >" + out.string() + " 2>" + error.string();
        const int status = std::system(command.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, contents(out), contents(error)};
    }

    void expect_refused(const std::string& words, const Lines& mentioned) {
        SCOPED_TRACE(words);
        const Ended ended = run(words);
        EXPECT_EQ(ended.code, 2);
        EXPECT_EQ(ended.out, "");
        EXPECT_EQ(lines_of(ended.error).size(), 1u) << ended.error;
        for (const std::string& text : mentioned) EXPECT_NE(ended.error.find(text), std::string::npos) << text << ": " << ended.error;
    }

    std::filesystem::path directory_;
};

/// What every line of every benchmark begins with.
void expect_cell(const Json& cell, const std::string& operation, bool collective) {
    const Lines expected = {"operation",  "algorithm", "transport",    "ranks",         "bytes",     "pattern",
                            "iterations", "run_time",  "mean_elapsed", "worst_elapsed", "last_delay"};
    Lines keys;
    for (const auto& [key, value] : cell.items()) keys.push_back(key);
    ASSERT_GE(keys.size(), expected.size());
    keys.resize(expected.size());
    EXPECT_EQ(keys, expected);
    EXPECT_EQ(cell["operation"], operation);
    for (const char* key : {"ranks", "bytes", "iterations"})
        EXPECT_TRUE(cell[key].is_number_unsigned() || cell[key].is_number_integer()) << key;
    for (const char* key : {"algorithm", "transport", "pattern"}) EXPECT_TRUE(cell[key].is_string()) << key;
    for (const char* key : {"run_time", "mean_elapsed", "worst_elapsed", "last_delay"}) {
        Lines parts;
        for (const auto& [part, value] : cell[key].items()) {
            parts.push_back(part);
            if (collective || std::string(key) == "run_time") {
                EXPECT_TRUE(value.is_number()) << key << ' ' << part;
            }
        }
        EXPECT_EQ(parts, (Lines{"median", "low", "high"}));
    }
    EXPECT_GT(cell["run_time"]["median"], 0.0);
    EXPECT_LE(cell["run_time"]["low"], cell["run_time"]["median"]);
    EXPECT_LE(cell["run_time"]["median"], cell["run_time"]["high"]);
}

constexpr const char* kQuick = "bench broadcast --ranks 3 --iterations 2 --warmup 1 --timeout 100s";

TEST_F(BenchCommand, BroadcastPrintsACellForEachSizePatternAndAlgorithm) {
    const Ended ended = run(std::string(kQuick) +
                            " --bytes 0,8,20Ki --arrival balanced,uniform:0..1ms --arrival root_late:1ms"
                            " --algorithm all --root 1 --format json");
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
    EXPECT_EQ(algorithms.size(), 6u);
    EXPECT_EQ(cells.size(), 3u * 3u * 6u);
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

TEST_F(BenchCommand, UsesTheJobItIsStartedIn) {
    const std::string bench = " " ROLLCALL_COMMAND " bench broadcast --bytes 8 --iterations 2 --warmup 0 --algorithm linear --format json";
    const Ended ended = run("run -n 2" + bench);
    ASSERT_EQ(ended.code, 0) << ended.error;
    ASSERT_EQ(lines_of(ended.out).size(), 1u);
    EXPECT_EQ(Json::parse(ended.out)["ranks"], 2);
    const Ended other = run("run -n 2" + bench + " --ranks 3");
    EXPECT_EQ(other.code, 2);
    EXPECT_NE(other.error.find("a job of 2 ranks"), std::string::npos) << other.error;
}

TEST_F(BenchCommand, ExplainsWhatAutoChooses) {
    const Ended ended = run(std::string(kQuick) + " --bytes 8 --algorithm auto --explain");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_NE(ended.out.find("because"), std::string::npos) << ended.out;
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
    expect_refused("bench broadcast --bytes 8,64Q", {"'64Q'", "allowed: "});
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
    expect_refused("bench broadcast --plot /", {"--plot '/' cannot be written"});
    expect_refused("bench broadcast --sise 8", {"'--sise'", "--bytes"});
    expect_refused("bench brodcast", {"'brodcast'", "broadcast, scatter, gather, pingpong, barrier, overlap, idle"});
    expect_refused("bench barrier --peer gasnet", {"'gasnet'", "allowed: all, openmpi, mpich"});
    expect_refused("bench overlap --transport ib", {"'ib'", "allowed: all, default, shm, tcp"});
    expect_refused("bench idle --duration 0", {"--duration"});
    expect_refused("simulate broadcast --ranks 4 --model alpha=2us,delta=3", {"'delta=3'", "allowed: alpha=T"});
    expect_refused("simulate broadcast --ranks 4 --landing much", {"'much'", "allowed: "});
    expect_refused("simulate broadcast --segments 4 --segment 8", {"--segments"});
}

TEST_F(BenchCommand, RefusesWrongWordsAboutScatterAndGatherInOneLine) {
    expect_refused("bench scatter --algorithm pipelined", {"'pipelined'", "allowed: all, linear"});
    expect_refused("bench gather --algorithm nothing", {"'nothing'", "linear_synchronized"});
    expect_refused("bench broadcast --compute 10ms", {"'--compute'"});
    expect_refused("bench gather --compute long", {"'long'", "allowed: a duration"});
    expect_refused("bench gather --predictor last", {"--predictor", "--compute"});
    expect_refused("bench gather --compute 1ms --predictor crystal", {"'crystal'", "allowed: edge_linear, last"});
    expect_refused("bench gather --compute 1ms --prediction-noise 5", {"'5'", "allowed: 0% to 100%"});
    expect_refused("bench scatter --paper table4", {"'table4'", "allowed: table3"});
    expect_refused("bench gather --paper table4 --arrival balanced", {"--paper", "allowed: --bytes and --delays"});
    expect_refused("simulate gather --paper table4 --delays 7", {"'7'", "allowed: all, 0ms, 1ms, 5ms"});
    expect_refused("simulate gather --paper table4 --bytes 8", {"--bytes 8", "512Ki"});
    expect_refused("simulate gather --delays 5", {"--delays", "--paper"});
    expect_refused("simulate scatter --landing unlimited,much", {"'much'", "allowed: "});
    EXPECT_NE(run("bench scatter --landing on", "ROLLCALL_LANDING_BYTES=0").error.find("allowed: off"), std::string::npos);
    EXPECT_NE(run("bench scatter --landing on", "ROLLCALL_LANDING_LONGEST=8Ki").error.find("allowed: eager:8Ki"), std::string::npos);
    const Ended in_job = run("run -n 2 " ROLLCALL_COMMAND " bench gather --landing off");
    EXPECT_EQ(in_job.code, 2);
    EXPECT_NE(in_job.error.find("allowed: on"), std::string::npos) << in_job.error;
}

TEST_F(BenchCommand, HelpNamesEveryPattern) {
    for (const char* command : {"bench broadcast --help", "bench scatter --help", "simulate broadcast --help", "simulate gather --help"}) {
        const Ended ended = run(command);
        EXPECT_EQ(ended.code, 0);
        for (const char* text : {"max_if:K", "late:P%:D", "file:PATH", "--plot", "--explain"})
            EXPECT_NE(ended.out.find(text), std::string::npos) << text;
        EXPECT_EQ(ended.out.find("--inherited"), std::string::npos);
    }
}

/// Small sweeps of every algorithm over shared memory. 1001 bytes to 3 ranks: blocks of 332.
TEST_F(BenchCommand, ScatterAndGatherPrintACellForEachSizePatternAndAlgorithm) {
    for (const std::string operation : {"scatter", "gather"}) {
        SCOPED_TRACE(operation);
        const Ended ended =
            run("bench " + operation +
                    " --ranks 3 --iterations 2 --warmup 1 --timeout 100s --bytes 0,1001,300Ki --arrival balanced,root_late:2ms"
                    " --algorithm all,auto --root 1 --format json",
                "UCX_TLS=posix,self");
        ASSERT_EQ(ended.code, 0) << ended.error;
        EXPECT_EQ(ended.error, "");
        std::set<std::string> cells, algorithms;
        for (const std::string& line : lines_of(ended.out)) {
            const Json cell = Json::parse(line);
            expect_cell(cell, operation, true);
            EXPECT_FALSE(cell.contains("competitive_ratio"));
            EXPECT_FALSE(cell.contains("prediction_error")) << "calls without phases predict nothing";
            cells.insert(cell["algorithm"].get<std::string>() + cell["pattern"].get<std::string>() + cell["bytes"].dump());
            algorithms.insert(cell["algorithm"]);
        }
        EXPECT_TRUE(algorithms.contains("linear") && algorithms.contains("auto"));
        EXPECT_GT(algorithms.size(), 4u);
        EXPECT_EQ(cells.size(), 3u * 2u * algorithms.size());
    }
}

TEST_F(BenchCommand, PlansArePrecededByPhasesAndTheirPredictionsAreJudged) {
    for (const std::string operation : {"scatter", "gather"}) {
        SCOPED_TRACE(operation);
        const auto raw = directory_ / "raw.csv";
        const Ended ended = run("bench " + operation +
                                    " --ranks 3 --iterations 3 --warmup 1 --timeout 100s --bytes 100Ki --arrival balanced,uniform:0..5ms"
                                    " --algorithm all --root 2 --compute 5ms --format json --raw " +
                                    raw.string(),
                                "UCX_TLS=posix,self");
        ASSERT_EQ(ended.code, 0) << ended.error;
        const Lines lines = lines_of(ended.out);
        EXPECT_GT(lines.size(), 8u);
        for (const std::string& line : lines) {
            const Json cell = Json::parse(line);
            expect_cell(cell, operation, true);
            EXPECT_EQ(cell["compute"], "5ms");
            EXPECT_EQ(cell["predictor"], "edge_linear");
            EXPECT_GE(cell["prediction_error"]["median"], 0.0);
        }
        const Lines rows = lines_of(contents(raw));
        ASSERT_EQ(rows.size(), 1 + lines.size() * 3 * 3);  // heading; cells, iterations, ranks
        for (std::size_t row = 1; row < rows.size(); ++row) {
            Lines fields;
            std::istringstream in(rows[row]);
            for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
            // ..., asked, arrival, exit, first data, predicted: nobody arrives before its delay is over, and all predict.
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
        EXPECT_TRUE(lines[line].ends_with(line <= 2 ? ",nonblocking" : line <= 4 ? ",blocking" : ",eager")) << lines[line];
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

TEST_F(BenchCommand, PaperTablesAreComparedCellByCell) {
    const Ended real =
        run("bench scatter --paper table3 --ranks 2 --bytes 512Ki,1Mi --delays 0,1 --compute 1ms --iterations 2 --warmup 0"
            " --timeout 100s --format json");
    ASSERT_EQ(real.code, 0) << real.error;
    const Lines lines = lines_of(real.out);
    ASSERT_EQ(lines.size(), 4u) << real.out;
    for (const std::string& line : lines) {
        const Json cell = Json::parse(line);
        expect_cell(cell, "scatter", true);
        EXPECT_EQ(cell["algorithm"], "background_sorted_linear");
        EXPECT_EQ(cell["base"], "linear");
        EXPECT_EQ(cell["model"], "eager") << "the paper's long messages wait for their receivers";
        EXPECT_GT(cell["quotient"]["median"], 0.0);
    }
    EXPECT_DOUBLE_EQ(Json::parse(lines[3])["paper_difference"]["median"].get<double>(), -0.1e-3);
    EXPECT_DOUBLE_EQ(Json::parse(lines[3])["paper_quotient"]["median"].get<double>(), 1.12);

    // LIN of 2 Mi floats to 48 ranks at once, by the paper's equation (3): 47 (alpha + N/48 beta), and no sooner in the background.
    const Ended simulated = run("simulate scatter --paper table3 --bytes 8Mi --delays 0 --iterations 1 --format json");
    ASSERT_EQ(simulated.code, 0) << simulated.error;
    const Json cell = Json::parse(simulated.out);
    EXPECT_EQ(cell["ranks"], 48);
    EXPECT_NEAR(cell["base_run_time"]["median"].get<double>(), 47 * (50e-6 + 174'760 * 8.547e-9), 1e-6);
    EXPECT_LE(cell["quotient"]["median"], 1.01);
}

TEST_F(BenchCommand, SimulatedPlansPredictPerfectlyWithoutNoise) {
    const std::string words =
        "simulate gather --ranks 9 --bytes 1Mi --arrival uniform:0..10ms --iterations 5 --algorithm linear --compute 10ms --format json";
    const auto error = [&](const std::string& more) {
        const Ended ended = run(words + more);
        EXPECT_EQ(ended.code, 0) << ended.error;
        return Json::parse(ended.out)["prediction_error"]["median"].get<double>();
    };
    EXPECT_LE(error(""), 1e-9);  // an odd delay cannot be halved
    // The median of |normal deviation| is 0.674 of its standard deviation; phases take 20 to 30 ms.
    EXPECT_GT(error(" --prediction-noise 5%"), 0.2e-3);
    EXPECT_LT(error(" --prediction-noise 5%"), 2e-3);
    EXPECT_GT(error(" --predictor last"), 1e-3) << "delays are drawn anew";
}

TEST_F(BenchCommand, PlainBenchmarksPrintTheSameForm) {
    const std::vector<std::pair<std::string, std::string>> commands = {
        {"pingpong", "pingpong --bytes 8,20Ki --iterations 2 --rounds 2"},
        {"barrier", "barrier --ranks 3 --iterations 2 --rounds 1 --batch 10"},
        {"overlap", "overlap --bytes 64Ki --compute 10ms --iterations 2"},
        {"idle", "idle --ranks 2 --duration 50ms"}};
    for (const auto& [operation, words] : commands) {
        SCOPED_TRACE(operation);
        const Ended ended = run("bench " + words + " --timeout 100s --format json");
        ASSERT_EQ(ended.code, 0) << ended.error;
        const Lines lines = lines_of(ended.out);
        EXPECT_EQ(lines.size(), operation == "barrier" ? 1u : 2u);
        for (const std::string& line : lines) expect_cell(Json::parse(line), operation, false);
    }
}

TEST_F(BenchCommand, SimulationIsDeterministicForASeed) {
    const std::string words = "simulate broadcast --ranks 33 --bytes 64,1Mi --arrival uniform:0..10ms --iterations 3 --format json --seed ";
    const Ended first = run(words + "5"), again = run(words + "5"), other = run(words + "6");
    ASSERT_EQ(first.code, 0) << first.error;
    EXPECT_EQ(first.out, again.out);
    EXPECT_NE(first.out, other.out);
    bool oracle = false;
    for (const std::string& line : lines_of(first.out)) {
        const Json cell = Json::parse(line);
        expect_cell(cell, "broadcast", true);
        EXPECT_EQ(cell["transport"], "simulated");
        oracle = oracle || (cell["algorithm"] == "near_optimal" && cell["forwarding"] == "first_bit");
    }
    EXPECT_EQ(lines_of(first.out).size(), 2u * 7u);
    EXPECT_TRUE(oracle);
    // Both models in one run, with phases.
    const std::string gather =
        "simulate gather --ranks 17 --bytes 1Mi --arrival uniform:0..10ms --iterations 2 --compute 1ms --landing "
        "unlimited,0 --prediction-noise 5% --format json --seed ";
    const Ended planned = run(gather + "5");
    ASSERT_EQ(planned.code, 0) << planned.error;
    EXPECT_EQ(planned.out, run(gather + "5").out);
    std::map<std::string, int> models;
    for (const std::string& line : lines_of(planned.out)) ++models[Json::parse(line)["model"]];
    EXPECT_EQ(models.size(), 2u);
    EXPECT_EQ(models["blocking"], models["nonblocking"]);
}

TEST_F(BenchCommand, SimulationFollowsItsModel) {
    // One message of 1000 bytes: alpha + 1000 beta.
    const Ended ended =
        run("simulate broadcast --ranks 2 --bytes 1000 --algorithm linear --iterations 1 --format json --model "
            "alpha=3us,beta=2,gamma=0");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_DOUBLE_EQ(Json::parse(ended.out)["run_time"]["median"].get<double>(), 5e-6);
}

// Hosts whose clocks are seconds apart: delays are kept, and times are of one clock.
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
        // Generous: the clocks are three seconds apart, and more.
        EXPECT_GT(cell["run_time"]["median"], 0.0);
        EXPECT_LT(cell["run_time"]["median"], 1.0);
        EXPECT_LT(cell["spread"]["median"], 1.0);
        EXPECT_LT(cell["pattern_error"]["median"], 1.0);
        if (cell.contains("prediction_error")) {
            EXPECT_LT(cell["prediction_error"]["median"], 1.0);
        }
    }
    const Ended overlap = run("bench overlap --ranks 3 --iterations 2 --transport shm --timeout 100s --format json", clocks);
    EXPECT_EQ(overlap.code, 0) << overlap.error;
}

}  // namespace
