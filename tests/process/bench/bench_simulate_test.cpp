/// \file
/// Tests `rollcall simulate` as a user calls it, and the tables of the papers.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <string>

#include <fmt/format.h>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

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

    // LIN sends 2 Mi floats to 48 ranks that arrive at once. By the paper's equation (3) it takes 47 (alpha + N/48 beta), and the
    // background variant takes no less.
    const Ended simulated = run("simulate scatter --paper table3 --bytes 8Mi --delays 0 --iterations 1 --format json");
    ASSERT_EQ(simulated.code, 0) << simulated.error;
    const Json cell = Json::parse(simulated.out);
    EXPECT_EQ(cell["ranks"], 48);
    EXPECT_NEAR(cell["base_run_time"]["median"].get<double>(), 47 * (50e-6 + 174'760 * 8.547e-9), 1e-6);
    EXPECT_LE(cell["quotient"]["median"], 1.01);
    // The base would be another algorithm.
    for (const char* way : {"auto", "no,auto"})
        expect_refused(std::string("simulate scatter --paper table3 --decouple ") + way, {"--decouple ", "allowed: --decouple no"});
}

TEST_F(BenchCommand, SimulatedFiguresHaveThePapersIterations) {
    const Ended ended = run("simulate reduce --paper fig10 --ranks 3 --bytes 512Ki --delays 0 --scale 0.001 --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    EXPECT_EQ(lines.size(), 5u) << ended.out;
    for (const std::string& line : lines) EXPECT_EQ(Json::parse(line)["iterations"], 128) << line;
}

TEST_F(BenchCommand, ASignalKeepsTheSimulatedRowsThatAreComplete) {
    // The second number of ranks takes longer than anyone waits. The file of raw samples has all lines of the first one when it is
    // complete.
    const std::string raw = (directory_ / "raw.csv").string();
    const std::string words =
        "simulate broadcast --algorithm linear --landing on --decouple no --bytes 8 --ranks 2,100000 --iterations 5000 --raw " + raw;
    for (const int signal : {SIGINT, SIGTERM}) {
        std::filesystem::remove(raw);
        const auto out = directory_ / "out", error = directory_ / "error";
        // A shell lets its background processes ignore SIGINT.
        const std::string script = fmt::format(
            "env --default-signal=INT timeout 100 " ROLLCALL_COMMAND
            " {} >{} 2>{} & while kill -0 $! && ! [ \"$(wc -l <{})\" = 10001 ]; do sleep 0.02; done 2>/dev/null; kill -{} $!; wait $!",
            words, out.string(), error.string(), raw, signal);
        const int status = std::system(script.c_str());
        EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 128 + signal);
        EXPECT_NE(contents(out).find("ranks: 2"), std::string::npos) << contents(out);
        EXPECT_EQ(lines_of(contents(error)),
                  Lines{fmt::format("rollcall: signal {} came; only the rows that were complete are printed", signal)});
    }
}

TEST_F(BenchCommand, SimulatedGroupsAreThePapersOrGiven) {
    const std::string words = "simulate intergroup_allgather ";
    expect_refused(words + "--groups 2,1 --ranks 8", {"--ranks with --groups; allowed: "});
    expect_refused(words + "--blocks 8,8 --block 8", {"--block with --blocks; allowed: "});
    expect_refused(words + "--groups 2,1 --settings 1", {"--settings with --groups; allowed: "});
    EXPECT_EQ(lines_of(run(words + "--groups 2,1 --algorithms full_duplex --format json").out).size(), 1u);
    const std::string named = run(words + "--settings 1 --ranks 4 --block 8 --algorithms full_duplex --format json").out;
    EXPECT_EQ(lines_of(named).size(), 1u);
    EXPECT_EQ(run(words + "--settings 1 --ranks 4 --bytes 8 --algorithm full_duplex --format json").out, named)
        << "the names that other commands have";
    const std::string tree = "simulate tree --sizes spikes --ranks 4 --root 0 ";
    const std::string trees = run(tree + "--block 8 --trees linear --format json").out;
    EXPECT_EQ(lines_of(trees).size(), 1u);
    EXPECT_EQ(run(tree + "--bytes 8 --algorithm linear --format json").out, trees);
}

TEST_F(BenchCommand, SimulatedGroupsAreComparedWithTheBaseline) {
    const Ended ended = run("simulate intergroup_allgather --settings 2 --ranks 16 --block 64Ki --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    std::map<std::string, Json> rows;
    for (const std::string& line : lines_of(ended.out)) rows[Json::parse(line)["algorithm"]] = Json::parse(line);
    ASSERT_TRUE(rows.contains("root_gathering_sequential")) << ended.out;
    ASSERT_TRUE(rows.contains("full_duplex")) << ended.out;
    const double baseline = rows["root_gathering_sequential"]["time"].get<double>();
    EXPECT_GT(baseline, rows["full_duplex"]["time"].get<double>());
    for (const auto& [algorithm, row] : rows) {
        const double time = row["time"].get<double>();
        EXPECT_DOUBLE_EQ(row["improvement"].get<double>(), baseline / time) << algorithm;
        EXPECT_DOUBLE_EQ(row["over_least"].get<double>(), time / row["bytes_of_first"].get<double>()) << algorithm;
    }
}

// The simulator knows exactly what its messages cost. There `auto` takes the fastest algorithm, or one that takes little longer, wherever
// nothing but the time decides.
TEST_F(BenchCommand, AutoTakesTheFastestAlgorithmOnASimulatedNetwork) {
    struct {
        const char *operation, *algorithms, *sizes;
        double little;
    } const compared[] = {
        // Of these the next call counts, too (cost::broadcast_chain).
        {"broadcast", "binomial,binary,pipelined,linear", "16,16Ki,128Ki,1Mi,8Mi", 1.5},
        {"reduce", "binomial,binary,pipelined,linear", "16,64Ki,128Ki,1Mi,8Mi", 1.5},
        {"scan", "recursive_doubling,linear", "16,64Ki,128Ki,1Mi,8Mi", 1.25},
        {"allreduce", "recursive_doubling,rabenseifner,ring", "64,1Ki,8Ki,64Ki,128Ki", 1.25},
        {"allgather", "bruck,linear", "1Ki,64Ki,1Mi", 1.25},
        {"alltoall", "bruck,linear", "1Ki,16Ki,64Ki,1Mi", 1.25},
    };
    for (const auto& [operation, algorithms, sizes, little] : compared) {
        const Ended ended =
            run(fmt::format("simulate {} --ranks {} --bytes {} --algorithm auto,{} --arrival balanced --decouple auto"
                            " --iterations 1 --format json",
                            operation, kSanitized ? "12" : "12,16,24,48", sizes, algorithms));
        ASSERT_EQ(ended.code, 0) << ended.error;
        std::map<std::string, std::map<bool, double>> best;  // of a cell: of `auto`, and of the others
        for (const std::string& line : lines_of(ended.out)) {
            const Json cell = Json::parse(line);
            const std::string name = cell["algorithm"];
            auto& times = best[fmt::format("{}, {} ranks, {} bytes", operation, cell["ranks"].dump(), cell["bytes"].dump())];
            const double time = cell["run_time"]["median"];
            const auto known = times.try_emplace(name.starts_with("auto"), time).first;
            known->second = std::min(known->second, time);
        }
        EXPECT_FALSE(best.empty());
        for (const auto& [cell, times] : best) {
            ASSERT_EQ(times.size(), 2u) << cell;
            EXPECT_LE(times.at(true), little * times.at(false)) << cell;
        }
    }
}

// Blocks of 43 KiB leave their sender at once, as in the paper, so the plain algorithm loses nothing to late ranks. Blocks of 85 KiB wait.
TEST_F(BenchCommand, SimulatedTablesOfThePaperHaveItsEagerLimit) {
    const auto quotients = [&](const std::string& more) {
        const Ended ended = run("simulate scatter --paper table3 --bytes 2Mi,4Mi --delays 50 --iterations 10 --format json" + more);
        EXPECT_EQ(ended.code, 0) << ended.error;
        std::map<std::string, double> found;
        for (const std::string& line : lines_of(ended.out)) {
            const Json cell = Json::parse(line);
            found[cell["model"].get<std::string>() + " " + cell["bytes"].dump()] = cell["quotient"]["median"].get<double>();
        }
        return found;
    };
    std::map<std::string, double> usual = quotients(""), off = quotients(" --landing off");
    ASSERT_EQ(usual.size(), 2u);
    EXPECT_NEAR(usual.at("eager 2097152"), 1.0, 0.02);
    EXPECT_GT(usual.at("eager 4194304"), 1.1);
    EXPECT_GT(off.at("blocking 2097152"), 1.1);
    EXPECT_DOUBLE_EQ(off.at("blocking 4194304"), usual.at("eager 4194304")) << "long messages wait either way";
}

TEST_F(BenchCommand, SimulatedPlansPredictPerfectlyWithoutNoise) {
    const std::string words =
        "simulate gather --ranks 9 --bytes 1Mi --arrival uniform:0..10ms --iterations 5 --algorithm linear "
        "--compute 10ms --decouple no --format json";
    const auto error = [&](const std::string& more) {
        const Ended ended = run(words + more);
        EXPECT_EQ(ended.code, 0) << ended.error;
        return Json::parse(ended.out)["prediction_error"]["median"].get<double>();
    };
    EXPECT_LE(error(""), 1e-9);  // An odd delay cannot be halved.
    // The median of |normal deviation| is 0.674 of its standard deviation. Phases take 20 to 30 ms.
    EXPECT_GT(error(" --prediction-noise 5%"), 0.2e-3);
    EXPECT_LT(error(" --prediction-noise 5%"), 2e-3);
    EXPECT_GT(error(" --predictor last"), 1e-3) << "delays are drawn anew";
    // The first phase has nothing to learn from. The others count.
    EXPECT_GT(error(" --predictor last --no-edge"), 1e-3);
    EXPECT_EQ(Json::parse(run(words + " --predictor last --no-edge").out)["unpredicted_calls"], "1");
}

TEST_F(BenchCommand, SimulationIsDeterministicForASeed) {
    const std::string iterations = kSanitized ? "1" : "3";
    const std::string words =
        "simulate broadcast --ranks 33 --bytes 64,1Mi --arrival uniform:0..10ms --format json --iterations " + iterations + " --seed ";
    const Ended first = run(words + "5"), again = run(words + "5"), other = run(words + "6");
    ASSERT_EQ(first.code, 0) << first.error;
    EXPECT_EQ(first.out, again.out);
    EXPECT_NE(first.out, other.out);
    bool oracle = false;
    std::map<std::string, double> took;
    for (const std::string& line : lines_of(first.out)) {
        const Json cell = Json::parse(line);
        expect_cell(cell, "broadcast", true);
        EXPECT_EQ(cell["transport"], "simulated");
        if (cell["bytes"] == 1 << 20) took[cell["algorithm"]] = cell["mean_elapsed"]["median"].get<double>();
        oracle = oracle || (cell["algorithm"] == "near_optimal" && cell["forwarding"] == "first_bit");
    }
    // The oracle is used instead of node memory. Some algorithms run both ways.
    std::size_t both_ways = 0;
    for (const auto& [name, seconds] : took) {
        const std::size_t end = name.find("+decoupled");
        if (end == std::string::npos) continue;
        ++both_ways;
        EXPECT_LT(seconds, took.at(name.substr(0, end))) << "late ranks keep nobody";
    }
    EXPECT_EQ(both_ways, 6u) << "linear, binomial, pipelined, binary, scatter_allgather, circulant";
    EXPECT_EQ(lines_of(first.out).size(), 2 * (names_of("broadcast").size() + both_ways));
    EXPECT_TRUE(oracle);
    // The oracle of a reduce combines pieces that have come.
    const std::string reduce =
        "simulate reduce --ranks 4 --bytes 1Mi --arrival balanced --algorithm near_optimal --iterations 1 --format json";
    EXPECT_EQ(Json::parse(run(reduce).out)["forwarding"], "message");
    // Both models in one run, with phases.
    const std::string gather =
        "simulate gather --ranks 17 --bytes 1Mi --arrival uniform:0..10ms --iterations 2 --compute 1ms --landing "
        "on,off --prediction-noise 5% --format json --seed ";
    const Ended planned = run(gather + "5");
    ASSERT_EQ(planned.code, 0) << planned.error;
    EXPECT_EQ(planned.out, run(gather + "5").out);
    std::map<std::string, int> models;
    for (const std::string& line : lines_of(planned.out)) ++models[Json::parse(line)["model"]];
    EXPECT_EQ(models.size(), 2u);
    EXPECT_EQ(models["blocking"] + 2, models["nonblocking"]) << "linear and binomial, decoupled";
}

// Budgets of one model are told apart, and calls are compared with those of the first algorithm under the same budget.
TEST_F(BenchCommand, EachSimulatedLandingIsComparedByItself) {
    const Ended ended =
        run("simulate broadcast --ranks 9 --bytes 1Mi --landing 2Mi,64Ki,off --decouple auto --algorithm binomial,pipelined"
            " --arrival uniform:0..20ms --iterations 3 --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    std::map<std::string, int> rows;
    for (const std::string& line : lines_of(ended.out)) {
        const Json cell = Json::parse(line);
        const bool is_first = ++rows[cell["landing"]] == 1;
        EXPECT_EQ(cell["over_first"]["median"] == 1, is_first) << cell;
    }
    EXPECT_EQ(rows, (std::map<std::string, int>{{"2Mi", 2}, {"64Ki", 2}, {"off", 2}}));
}

TEST_F(BenchCommand, SimulationFollowsItsModel) {
    // One message of 1000 bytes takes alpha + 1000 beta.
    const Ended ended =
        run("simulate broadcast --ranks 2 --bytes 1000 --algorithm linear --decouple no --iterations 1 --format json --model "
            "alpha=3us,beta=2,gamma=0");
    ASSERT_EQ(ended.code, 0) << ended.error;
    EXPECT_DOUBLE_EQ(Json::parse(ended.out)["run_time"]["median"].get<double>(), 5e-6);
}

// Two long blocks side by side, far from the root.
TEST_F(BenchCommand, TreesForBlocksOfOwnSizes) {
    const std::string words = "simulate tree --sizes 1,1,1000,1000 --alpha 10 --gamma 0 --root 0 --format json --trees ";
    const auto time = [&](const std::string& tree) {
        const Ended ended = run(words + tree);
        EXPECT_EQ(ended.code, 0) << ended.error;
        const Json row = Json::parse(ended.out);
        EXPECT_EQ(row["tree"], tree);
        EXPECT_EQ(row["root"], 0);
        EXPECT_EQ(row["total"], 2002);
        return row["time"].get<double>();
    };
    EXPECT_EQ(time("linear"), 2031);
    EXPECT_EQ(time("adaptive"), 3020);
    EXPECT_EQ(time("optimal"), 2031);
    EXPECT_EQ(time("unordered"), 2021);  // Rank 1 waits at 3 while 2 is sent.
    EXPECT_EQ(lines_of(run("simulate tree --sizes all --format json --ranks " + std::string(kSanitized ? "12" : "40")).out).size(),
              11u * 2 * 7);

    // The rank that comes last is received last.
    const Ended late = run("simulate tree --sizes 8,8,8,8,8,8 --late 1000 --seed 3 --alpha 10 --root 0 --format json");
    std::map<std::string, double> times;
    for (const std::string& line : lines_of(late.out)) times[Json::parse(line)["tree"]] = Json::parse(line)["time"].get<double>();
    EXPECT_EQ(times.size(), 6u) << late.out;
    EXPECT_LE(times["sorted"], times["linear"]);
    EXPECT_LE(times["optimal"], times["adaptive"]);
    EXPECT_EQ(late.out, run("simulate tree --sizes 8,8,8,8,8,8 --late 1000 --seed 3 --alpha 10 --root 0 --format json").out);

    const auto picture = directory_ / "tree.svg";
    ASSERT_EQ(run("simulate tree --sizes 1,1,1000,1000 --trees adaptive --root 0 --draw " + picture.string()).code, 0);
    const std::string drawn = contents(picture);
    EXPECT_NE(drawn.find("</svg>"), std::string::npos);
    EXPECT_NE(drawn.find("rank 3: 1000 bytes, 2000 together"), std::string::npos) << drawn;

    expect_refused("simulate tree --sizes heaps", {"'heaps'", "spikes, decreasing"});
    expect_refused("simulate tree --gamma 2", {"--gamma is more than --beta"});
    expect_refused("simulate tree --sizes 1,2 --ranks 2", {"leave out --ranks"});
    expect_refused("simulate tree --sizes same --rho 7", {"--rho changes the sizes of spikes and skewed only"});
    expect_refused("simulate tree --sizes random,bucket --rho 7", {"--rho changes the sizes of spikes and skewed only"});
    expect_refused("simulate tree --sizes same,skewed --seed 9", {"--seed", "nothing random", "--late"});
    for (const char* used :
         {"--sizes same,skewed --rho 7", "--sizes same,bucket --seed 9", "--sizes same --seed 9 --late 10", "--rho 7 --seed 9"})
        EXPECT_EQ(run("simulate tree --ranks 8 --trees adaptive --root '0, best' --block 10 " + std::string(used)).code, 0) << used;
    for (const char* ignored : {" --rho 6", " --seed 2"})
        expect_refused("simulate tree --sizes 1,2" + std::string(ignored), {"draws no sizes"});
    expect_refused("simulate tree --sizes 1,2 --root 2", {"--root '2'", "middle, best, or ranks from 0 to 1"});
    expect_refused("simulate tree --sizes 1,2 --root 1,", {"--root ''", "0 to 1"});
    expect_refused("simulate tree --trees unordered --ranks 15", {"unordered for 15 ranks; allowed: up to 14"});
    expect_refused("simulate tree --draw " + picture.string(), {"--draw with several trees"});
    expect_refused("simulate tree --paper table1 --ranks 8", {"--paper together with"});
    expect_refused("simulate tree --late 5 --trees binary", {"--late with --trees binary"});
    expect_refused("simulate tree --paper table4", {"table1, table2, table3"});
    expect_refused("simulate tree --alpha -1", {"--alpha '-1'"});
}

// The columns that are cheap to compute. tests/unit/collectives/traeff_tables_test.cpp checks all columns.
TEST_F(BenchCommand, TheTablesOfTreesArePrintedBesideOurs) {
    const Ended ended = run("simulate tree --paper table1 --trees linear,adaptive --root middle,best --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 22u * 4);
    int better = 0;
    for (const std::string& line : lines) {
        const Json row = Json::parse(line);
        EXPECT_EQ(row["alpha"], 100);
        for (const char* number : {"time", "over_bound", "times_sent", "difference"}) ASSERT_TRUE(row[number].is_number()) << line;
        const double difference = row["difference"].get<double>();
        EXPECT_LE(difference, 0) << line;
        better += difference < 0;
    }
    EXPECT_EQ(better, 2) << "the paper's linear trees of random and bucket with a root of their own, without copies, are not the best ones";
}

TEST_F(BenchCommand, SimulatedAllgathersBetweenGroupsArePrintedAsNumbers) {
    const Ended ended = run("simulate intergroup_allgather --groups 3,2 --blocks 1Ki,8 --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    EXPECT_GE(lines.size(), 2u);
    for (const std::string& line : lines) {
        const Json row = Json::parse(line);
        for (const char* number : {"time", "over_least", "improvement"}) EXPECT_TRUE(row[number].is_number()) << line;
        EXPECT_TRUE(row["algorithm"] == "full_duplex" ? row["expected"].is_number() : row["expected"].is_null()) << line;
    }
    const Ended one_message =
        run("simulate intergroup_allgather --groups 1,1 --blocks 8,8 --model alpha=2us,beta=1 --format json --algorithms full_duplex");
    ASSERT_EQ(one_message.code, 0) << one_message.error;
    EXPECT_EQ(Json::parse(one_message.out)["time"], 2008.0) << "nanoseconds, as the help says";
}

// The sum of the times would not be a number of nanoseconds.
TEST_F(BenchCommand, SimulatedCostsThatNobodyCanWaitForAreRefused) {
    const auto refused = [&](const std::string& words, const std::string& what) {
        expect_refused(words, {"--model: " + what, "years in this model; allowed: smaller costs"});
    };
    refused("simulate broadcast --ranks 8 --bytes 8 --model beta=1e300", "a message of 1Mi");
    refused("simulate broadcast --ranks 4096 --bytes 8Mi --algorithm linear --model beta=1e10", "4096 messages of 8Mi in each of 20 calls");
    refused("simulate intergroup_allgather --groups 8,8 --blocks 8,8 --model gamma=1e300", "a message of 1Mi");
    // The second case is too long. Nothing is printed of the first one.
    refused("simulate intergroup_allgather --settings 1 --ranks 4,400 --block 1Mi --format csv --model beta=1e9",
            "400 messages of 200Mi in each of 1 calls");
    // Calls follow one another on one clock.
    const std::string calls = "simulate broadcast --ranks 8 --bytes 1Mi --algorithm linear --model beta=1e10 --iterations ";
    refused(calls + "1000", "8 messages of 1Mi in each of 1000 calls");
    EXPECT_EQ(run(calls + "2").code, 0);
    // Short messages of a slow network: 18 hours.
    EXPECT_EQ(run("simulate broadcast --ranks 4096 --bytes 8 --algorithm linear --iterations 1 --model beta=2e9").code, 0);
}

TEST_F(BenchCommand, SimulatedRanksShareNoMemory) {
    for (const char* words :
         {"simulate broadcast --ranks 4 --algorithm binomial,shared_memory", "simulate gather --ranks 4 --algorithm 2l"})
        expect_refused(words, {"shares the memory of a node, and simulated ranks have a node each; allowed: linear, "});
    expect_refused("simulate broadcast --ranks 4 --algorithm frob", {"unknown algorithm 'frob'"});
}

TEST_F(BenchCommand, SimulatedWaysToDecoupleMayHaveAnyOrder) {
    const std::string words = "simulate gather --ranks 4 --bytes 8Ki --iterations 1 --format csv --decouple ";
    const Ended usual = run(words + "no,auto"), other = run(words + "auto,no");
    ASSERT_EQ(usual.code, 0) << usual.error;
    EXPECT_EQ(other.out, usual.out) << other.error;
    expect_refused(words + "yes", {"unknown way to decouple 'yes'", "no, auto"});
}

// Each rank of a chain is late once. As in a job, the part of rank 1 passes the message on before its caller comes.
TEST_F(BenchCommand, SimulatedPlansPassDataOnBeforeTheirCallersCome) {
    const Ended ended =
        run("simulate broadcast --ranks 3 --bytes 1Mi --algorithm pipelined --compute 100ms --arrival rotating:50ms "
            "--iterations 3 --format json");
    const std::vector<std::string> rows = lines_of(ended.out);
    ASSERT_EQ(rows.size(), 2u) << ended.error;
    EXPECT_EQ(Json::parse(rows[1])["algorithm"], "pipelined+decoupled");
    // Both wait for rank 0. Rank 2 does not wait for rank 1.
    const auto mean = [](const std::string& row) { return Json::parse(row)["elapsed"]["mean"].get<double>(); };
    EXPECT_NEAR(mean(rows[1]) / mean(rows[0]), 2.0 / 3, 0.05);
}

}  // namespace
}  // namespace rollcall::test
