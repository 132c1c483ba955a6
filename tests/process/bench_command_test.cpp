/// \file
/// `rollcall bench` and `rollcall simulate` as a user calls them: what they print, write and refuse.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::ordered_json;
using Lines = std::vector<std::string>;

std::string contents(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

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
    expect_refused("bench broadcast --compute dream", {"'dream'", "allowed: sleep, spin"});
    expect_refused("bench broadcast --env ROLLCALL_LANDIN_BYTES=0", {"ROLLCALL_LANDIN_BYTES"});
    expect_refused("bench broadcast --raw /nowhere/raw.csv", {"--raw '/nowhere/raw.csv' cannot be written"});
    expect_refused("bench broadcast --plot /", {"--plot '/' cannot be written"});
    expect_refused("bench broadcast --sise 8", {"'--sise'", "--bytes"});
    expect_refused("bench brodcast", {"'brodcast'", "broadcast, pingpong, barrier, overlap, idle"});
    expect_refused("bench barrier --peer gasnet", {"'gasnet'", "allowed: all, openmpi, mpich"});
    expect_refused("bench overlap --transport ib", {"'ib'", "allowed: all, default, shm, tcp"});
    expect_refused("bench idle --duration 0", {"--duration"});
    expect_refused("simulate broadcast --ranks 4 --model alpha=2us,delta=3", {"'delta=3'", "allowed: alpha=T"});
    expect_refused("simulate broadcast --ranks 4 --landing much", {"'much'", "allowed: "});
    expect_refused("simulate broadcast --segments 4 --segment 8", {"--segments"});
}

TEST_F(BenchCommand, HelpNamesEveryPattern) {
    for (const char* command : {"bench broadcast --help", "simulate broadcast --help"}) {
        const Ended ended = run(command);
        EXPECT_EQ(ended.code, 0);
        for (const char* text : {"max_if:K", "late:P%:D", "file:PATH", "--plot", "--explain"})
            EXPECT_NE(ended.out.find(text), std::string::npos) << text;
        EXPECT_EQ(ended.out.find("--inherited"), std::string::npos);
    }
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
}

TEST_F(BenchCommand, SimulationFollowsItsModel) {
    // One message of 1000 bytes: alpha + 1000 beta.
    const Ended ended =
        run("simulate broadcast --ranks 2 --bytes 1000 --algorithm linear --iterations 1 --format json --model "
            "alpha=3us,beta=2,gamma=0");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_DOUBLE_EQ(Json::parse(ended.out)["run_time"]["median"].get<double>(), 5e-6);
}

}  // namespace
