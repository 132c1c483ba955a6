/// \file
/// Jobs that are started by other means than `rollcall run`: real processes that find each other by themselves.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

struct Kind {
    const char* word;     ///< The argument for the foreign starter.
    const char* started;  ///< As Job::started_by() returns it.
    friend void PrintTo(const Kind& kind, std::ostream* stream) { *stream << kind.word; }
};

constexpr const char* kTorchrun = "a launcher like torchrun";
constexpr const char* kEmbedded = "the program that Rollcall is embedded in";
const Kind kKinds[] = {{"torchrun", kTorchrun},
                       {"agent_store", kTorchrun},
                       {"directory", "a rendezvous directory"},
                       {"unique_id", kEmbedded},
                       {"allgather", kEmbedded}};

class ForeignStarters : public testing::TestWithParam<Kind> {
  protected:
    JobOptions by_it(int ranks, Words environment = {}) const {
        return {.environment = std::move(environment),
                .launcher = {},
                .starter = {"timeout", "100", ROLLCALL_FOREIGN_STARTER, GetParam().word, std::to_string(ranks)}};
    }
    static void expect_told_soon(const Ended& ended, int times) {
        const Words lines = lines_with(ended.out, " told after ");
        EXPECT_EQ(static_cast<int>(lines.size()), times) << ended.out << ended.error;
        for (const std::string& line : lines)
            EXPECT_LT(std::atoi(line.c_str() + line.find(" after ") + 7), kToldWithinMilliseconds) << line;
    }
};

INSTANTIATE_TEST_SUITE_P(Of, ForeignStarters, testing::ValuesIn(kKinds), [](const auto& kind) { return kind.param.word; });

TEST_P(ForeignStarters, MakeWholeJobs) {
    for (const int ranks : kSlower > 1 ? std::vector<int>{3} : std::vector<int>{2, 3, 8}) {
        expect_success(ranks, {fmt::format("is_whole:{}:{}", ranks, GetParam().started), fmt::format("storm:{}:1", 50 / kSlower), "splits"},
                       by_it(ranks));
    }
}

// The rank that comes first on a host leads it. If the leader dies, the other ranks of its host are lost as well. The test repeats until
// the victim was not the leader.
TEST_P(ForeignStarters, ADeathIsToldToAllWithItsName) {
    Ended ended = run_ranks(4, {"death:kill:2:absent:20000"}, by_it(4));
    for (int again = 0; again < 20 && count(ended.out, "rank 2, the leader of this host") > 0; ++again)
        ended = run_ranks(4, {"death:kill:2:absent:20000"}, by_it(4));
    EXPECT_EQ(ended.code, 128 + 9) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, "wrong"), 0) << ended.out;
    expect_told_soon(ended, 3);
}

TEST_P(ForeignStarters, TheLastMessageOfARankThatDiesArrives) {
    for (const char* message : {"8:exit0:late", "1000000:exit0"}) {
        // With more ranks, the first one that dies may be the leader of the others, which then could not send any more.
        const Ended ended = run_ranks(2, {fmt::format("last_message:{}", message)}, by_it(2, {"ROLLCALL_SINGLE_COPY=no"}));
        EXPECT_EQ(ended.code, 0) << message << ended.out << ended.error;
        EXPECT_EQ(count(ended.out, "rank 0 done"), 1) << message << ended.out << ended.error;
    }
}

TEST_P(ForeignStarters, AnAbortIsToldToAllWithItsReason) {
    for (const int who : {0, 2}) {
        const Ended ended = run_ranks(3, {fmt::format("is_aborted:{}", who)}, by_it(3));
        EXPECT_EQ(ended.code, 7) << ended.out << ended.error;
        EXPECT_EQ(static_cast<int>(lines_with(ended.out, "told: ").size()), 2) << ended.out;
        EXPECT_EQ(count(ended.out, fmt::format("rank {} on host ", who)), 2) << ended.out;
        EXPECT_EQ(count(ended.out, "aborted it with code 7: a wheel fell off"), 2) << ended.out;
        EXPECT_TRUE(has(ended.error, "a wheel fell off"));
    }
}

TEST_P(ForeignStarters, MakeWholeJobsInTheScriptOfARunOfOneProcess) {
    JobOptions options = by_it(2);
    const char* const run[] = {ROLLCALL_TEST_COMMAND, "run", "-n", "1"};
    options.starter.insert(options.starter.begin() + 2, std::begin(run), std::end(run));
    expect_success(2, {fmt::format("is_whole:2:{}", GetParam().started)}, options);
}

class ByTheirOwnMeans : public ForeignStarters {};
// The root of a unique id is in the process that made the id.
INSTANTIATE_TEST_SUITE_P(Of, ByTheirOwnMeans, testing::Values(kKinds[0], kKinds[2], kKinds[4]),
                         [](const auto& kind) { return kind.param.word; });

TEST_P(ByTheirOwnMeans, TheDeathOfRank0EndsTheJobForAll) {
    for (const int awaited : {0, 1}) {
        const Ended ended = run_ranks(3, {fmt::format("root_dies:{}", awaited)}, by_it(3));
        EXPECT_EQ(ended.code, 128 + 9) << ended.out << ended.error;
        EXPECT_EQ(count(ended.out, "wrong"), 0) << ended.out;
        expect_told_soon(ended, 2);
    }
}

class Torchrun : public ForeignStarters {};
INSTANTIATE_TEST_SUITE_P(Of, Torchrun, testing::Values(kKinds[0]), [](const auto& kind) { return kind.param.word; });

TEST_P(Torchrun, OfOneRankNeedsNoBootstrap) { expect_success(1, {"is_whole:1:alone"}, by_it(1)); }

TEST_P(Torchrun, RefusesAKeyFileThatOthersCanRead) {
    const std::string path = fmt::format("{}rollcall-key-{}", testing::TempDir(), ::getpid());
    std::ofstream(path) << std::string(64, 'a') << "\n";
    ::chmod(path.c_str(), 0640);
    const Ended ended = run_ranks(2, {"is_whole"}, by_it(2, {"ROLLCALL_KEY_FILE=" + path}));
    std::filesystem::remove(path);
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, "others may use it (its mode is 640)"), 2) << ended.out;
}

TEST(PortOfTorchrun, ThatIsTakenIsSaidWithWhatToDo) {
    const Ended ended = run_ranks(2, {"is_whole"},
                                  {.environment = {"ROLLCALL_LAUNCH_TIMEOUT=2s"},
                                   .launcher = {},
                                   .starter = {"timeout", "100", ROLLCALL_FOREIGN_STARTER, "port_taken", "2"}});
    EXPECT_EQ(ended.code, 5) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, "Address already in use; set ROLLCALL_PORT"), 1) << ended.out;
    EXPECT_EQ(count(ended.out, "the job did not start within 2 s"), 1) << ended.out;
}

}  // namespace
}  // namespace rollcall::test
