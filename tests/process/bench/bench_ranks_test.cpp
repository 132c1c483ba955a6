/// \file
/// Tests benchmarks and simulations of several numbers of ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

constexpr const char* kSmall = " --iterations 2 --warmup 0 --bytes 8Ki --algorithm linear,binomial --timeout 100s ";

TEST_F(BenchCommand, EachNumberOfRanksIsAJobOfOneReport) {
    const auto raw = directory_ / "raw.csv";
    const Ended ended = run("bench gather --ranks 2..4,3" + std::string(kSmall) + "--format csv --raw " + raw.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 1u + 3u * 2u) << ended.out;
    const char* const asked = std::getenv("ROLLCALL_TRANSPORT");
    const char* const provider = std::getenv("ROLLCALL_OFI_PROVIDER");
    const std::string transport = (asked ? asked : "ucx") + (provider ? fmt::format(":{}", provider) : "");
    std::size_t row = 0;
    for (const int ranks : {2, 4, 3})
        for (const char* const algorithm : {"linear", "binomial"})
            EXPECT_TRUE(lines[++row].starts_with(fmt::format("gather,{},{},{},", algorithm, transport, ranks))) << ended.out;
    EXPECT_EQ(lines_of(contents(raw)).size(), 1u + (2u + 4u + 3u) * 2u * 2u);

    const Ended text = run("bench scatterv --ranks 2,3 --sizes skewed" + std::string(kSmall));
    ASSERT_EQ(text.code, 0) << text.error;
    EXPECT_EQ(text.out.find("ranks: "), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("ranks"), std::string::npos) << text.out;
    EXPECT_NE(text.out.find("skewed"), std::string::npos) << text.out;

    const Ended several = run("bench scatterv --ranks 2,3 --sizes skewed,spikes --format csv" + std::string(kSmall));
    ASSERT_EQ(several.code, 0) << several.error;
    const Lines rows = lines_of(several.out);
    ASSERT_EQ(rows.size(), 1u + 2u * 2u * 2u) << several.out;
    for (const char* const sizes : {"skewed", "spikes"})
        EXPECT_EQ(std::ranges::count_if(rows, [&](const std::string& line) { return line.find(sizes) != std::string::npos; }), 2 * 2)
            << several.out;
}

TEST_F(BenchCommand, ProvidersOfLibfabricAreTransportsOfOneReport) {
    const std::string words =
        "bench pingpong --transport ofi_shm,ofi_tcp --bytes 8,100000 --rounds 1 --iterations 2 --timeout 100s --format csv";
    const Ended ended = run(words);
    if (ended.error.find("was built without libfabric") != std::string::npos) GTEST_SKIP() << ended.error;
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 1u + 2u * 2u) << ended.out;
    for (std::size_t i = 1; i < lines.size(); ++i)
        EXPECT_NE(lines[i].find(i < 3 ? ",ofi:shm," : ",ofi:tcp,"), std::string::npos) << lines[i];
}

// Each process of another starter is a rank of one job, and does not start a job of its own.
TEST_F(BenchCommand, TakesPartInTheJobOfAnotherStarter) {
    const std::string bench = ROLLCALL_COMMAND " bench broadcast --bytes 8 --iterations 2 --warmup 0 --algorithm linear --format json";
    const auto start = [&](const std::string& words) {
        const auto of = [&](int rank) {
            const std::string file = (directory_ / fmt::format("{}", rank)).string();
            return fmt::format("ROLLCALL_RENDEZVOUS={} ROLLCALL_SIZE=2 ROLLCALL_RANK={} timeout 100 {} {} >{}.out 2>{}.error",
                               (directory_ / "meeting").string(), rank, bench, words, file, file);
        };
        std::filesystem::create_directories(directory_ / "meeting");
        const int status = std::system(fmt::format("{} & {}; code=$?; wait; exit $code", of(1), of(0)).c_str());
        return WEXITSTATUS(status);
    };
    ASSERT_EQ(start(""), 0) << contents(directory_ / "0.error") << contents(directory_ / "1.error");
    const Lines lines = lines_of(contents(directory_ / "0.out"));
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(Json::parse(lines[0])["ranks"], 2);
    EXPECT_EQ(contents(directory_ / "1.out"), "");
    EXPECT_EQ(start("--ranks 3"), 2);
    EXPECT_NE(contents(directory_ / "0.error").find("--ranks 3 in a job of 2 ranks"), std::string::npos);
    const Ended unknown = run("bench broadcast", "PMIX_RANK=0 PMIX_NAMESPACE=some");
    EXPECT_NE(unknown.code, 0);
    EXPECT_NE(unknown.error.find("does not tell it how many ranks the job has; allowed: `rollcall run`"), std::string::npos)
        << unknown.error;
}

TEST_F(BenchCommand, NumbersOfRanksMustFit) {
    expect_refused("bench broadcast --ranks 2,0", {"--ranks '0' in '2,0'", "2..64"});
    expect_refused("bench broadcast --ranks 4,2 --root 3", {"--root '3'", "0 to 1"});
    expect_refused("simulate broadcast --ranks 8,few", {"--ranks 'few' in '8,few'"});
    for (const char* one : {"barrier", "pingpong", "bandwidth", "loop", "overlap", "idle"})
        expect_refused("bench " + std::string(one) + " --ranks 2,4", {"--ranks '2,4'; allowed: a whole number"});
    const Ended in_job = run("run -n 2 " ROLLCALL_COMMAND " bench broadcast --ranks 2,3");
    EXPECT_EQ(in_job.code, 2);
    EXPECT_NE(in_job.error.find("--ranks 2,3 in a job of 2 ranks; allowed: 2"), std::string::npos) << in_job.error;
}

TEST_F(BenchCommand, SimulationsOfSeveralNumbersAreThoseOfEachNumber) {
    const auto simulated = [&](const std::string& ranks) {
        const Ended ended =
            run("simulate broadcast --bytes 1Mi --arrival max_if:1,max_if:9 --algorithm binomial,pipelined --iterations 2 "
                "--format csv --ranks " +
                ranks);
        EXPECT_EQ(ended.code, 0) << ended.error;
        return ended.out;
    };
    const auto rows = [](const std::string& csv) { return csv.substr(csv.find('\n') + 1); };
    EXPECT_EQ(simulated("2..8:x4,5"), simulated("2") + rows(simulated("8")) + rows(simulated("5")));
}

TEST_F(BenchCommand, TimeIsDrawnAgainstRanks) {
    if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "gnuplot is not installed";
    const auto plot = directory_ / "plot.svg";
    const Ended ended =
        run("simulate gather --ranks 8..512:x8 --bytes 8Ki --algorithm linear,binomial --iterations 2 --plot " + plot.string());
    ASSERT_EQ(ended.code, 0) << ended.error;
    const std::string picture = contents(plot);
    for (const char* text : {"gather of 8Ki, balanced: time against ranks", ">8<", ">64<", ">512<", ">ranks<"})
        EXPECT_NE(picture.find(text), std::string::npos) << text;
}

}  // namespace
}  // namespace rollcall::test
