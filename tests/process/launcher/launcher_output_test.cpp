/// \file
/// Tests what `rollcall run` does when it cannot write the output of its ranks.
#include <optional>
#include <stdexcept>

#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

/// Returns the result of a job whose output goes to /dev/full, where each write fails as on a disk that is full.
Result run_to_full(const Words& arguments) {
    Launched::Given given;
    given.output = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
    Launched job(arguments, given);
    const Result result = job.finish();
    ::close(given.output);
    return result;
}
const std::string kFull = "rollcall run: standard output cannot be written: No space left on device";

TEST(LauncherOutput, ThatCannotBeWrittenIsAFailureAfterTheRanksHaveEnded) {
    const Result result = run_to_full({"-n", "2", "echo", "x"});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(count(result.error, kFull), 1) << result.error;
    EXPECT_EQ(lines_of(result.error).size(), 1u) << result.error;
}

/// The ranks would run forever. None of them may be blamed, so none may get SIGPIPE.
TEST(LauncherOutput, ThatCannotBeWrittenEndsTheJobAndNoRankIsBlamed) {
    const std::string shell = "sh -c '\"$@\"; exit $?' {host}";
    for (const Words& where : {Words{"-n", "2"}, Words{"--hosts", "a,b", "--agent", shell, "--fanout", "1"}}) {
        Words words = where;
        words.insert(words.end(), {"--grace", "100ms", "yes"});
        const Result result = run_to_full(words);
        EXPECT_EQ(result.code, 1);
        EXPECT_EQ(result.error, kFull + "; the job is ended\n");
    }
}

TEST(LauncherOutput, ToAFileThatCannotBeMadeEndsTheJob) {
    const std::string directory = fmt::format("{}/rollcall-output-{}", testing::TempDir(), ::getpid());
    std::filesystem::create_directories(directory + "/rank.1.out");  // a directory in the place of a file
    const Result result = run({"-n", "2", "--output-directory", directory, "--grace", "100ms", "yes"});
    EXPECT_EQ(result.code, 1);
    EXPECT_EQ(result.error, fmt::format("rollcall run: a file in '{}' cannot be written: Is a directory; the job is ended\n", directory));
    std::filesystem::remove_all(directory);
}

/// What its reader has not taken by then is lost.
TEST(LauncherOutput, ThatASignalCutsShortIsNotASuccess) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Launched::Given given;
    given.output = ends[1];
    Launched job({"-n", "1", "sh", "-c", "head -c 200000 /dev/zero"}, given);
    ::close(ends[1]);
    // The rank has ended when only the command and its guard are left.
    const auto has_rank = [&] {
        const auto all = job.left();
        return std::any_of(all.begin(), all.end(), [](pid_t one) { return has_entry(one, "ROLLCALL_BOOTSTRAP_RANK=0"); });
    };
    char byte = 0;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    ASSERT_TRUE(eventually([&] { return !has_rank(); }));
    job.signal(SIGTERM);
    const Result result = job.finish();
    ::close(ends[0]);
    EXPECT_EQ(result.code, 128 + SIGTERM);
    EXPECT_TRUE(has(result.error, "the launcher got signal 15 (Terminated)")) << result.error;
}

TEST(LauncherOutput, ThatNobodyTakesDoesNotOutlastTheTimeLimit) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    Launched::Given given;
    given.output = ends[1];
    // The rank ends well: what it wrote waits in the launcher.
    Launched job({"-n", "1", "--timeout", "500ms", "--grace", "0s", "sh", "-c", "head -c 130000 /dev/zero"}, given);
    ::close(ends[1]);
    const Result result = job.finish();
    ::close(ends[0]);
    EXPECT_EQ(result.code, 124);
    EXPECT_TRUE(has(result.error, "within")) << result.error;
}

/// A job of which all ranks have ended, while agents hold the last of their output, because nobody reads it.
class HeldOutput {
  public:
    explicit HeldOutput(Words options) {
        if (::pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
        Launched::Given given;
        given.output = ends_[1];
        const std::string go = fmt::format("{}/rollcall-output-go-{}", testing::TempDir(), ::getpid());
        options.insert(options.end(), {"--fanout", "flat"});
        // This much fits into an agent's window and a pipe, so that every rank can end. But the launcher does not take the rest, 56 KiB,
        // from all of them.
        job_.emplace(on("h[0-31]", options,
                        shell(fmt::format("setsid sleep 1000 > /dev/null 2>&1 & while [ ! -e {} ]; do sleep 0.2; done; "
                                          "yes | head -c 320000",
                                          go))),
                     given);
        ::close(ends_[1]);
        const std::string orphan(
            "sleep\0"
            "1000\0",
            11);
        EXPECT_TRUE(eventually([&] { return with(orphan).size() == 32 || job_->left().empty(); }));
        std::ofstream(go) << "go";
        // An agent ends the leftovers of its ranks when it is told to finish. That happens when all ranks have ended.
        EXPECT_TRUE(eventually([&] { return with(orphan).empty(); }));
        ::unlink(go.c_str());
    }
    ~HeldOutput() { ::close(ends_[0]); }
    HeldOutput(const HeldOutput&) = delete;
    HeldOutput& operator=(const HeldOutput&) = delete;

    std::vector<pid_t> agents() const { return with(kCommand + '\0' + "agent" + '\0'); }
    void signal_agents(int signal) const {
        for (const pid_t one : agents()) ::kill(one, signal);
    }
    /// Reads all that comes, and returns how the job has ended.
    Result finish() {
        std::vector<char> chunk(1 << 20);
        pollfd entry{ends_[0], POLLIN, 0};
        while (::poll(&entry, 1, kQuietMilliseconds) > 0 && ::read(ends_[0], chunk.data(), chunk.size()) > 0) {
        }
        return job_->finish();
    }

  private:
    static constexpr int kQuietMilliseconds = 60'000;  ///< Only a job that does not end is quiet for so long.

    std::vector<pid_t> with(const std::string& words) const {
        std::vector<pid_t> found;
        for (const pid_t process : job_->left()) {
            if (contents(fmt::format("/proc/{}/cmdline", process)) == words) found.push_back(process);
        }
        return found;
    }

    int ends_[2] = {-1, -1};
    std::optional<Launched> job_;
};

TEST(LauncherOutput, ThatIsLostWithItsHostIsNotASuccess) {
    for (const int signal : {SIGKILL, SIGTERM}) {
        HeldOutput held({"--silence", "60s"});  // on a busy machine the default may pass
        EXPECT_FALSE(held.agents().empty());
        held.signal_agents(signal);
        EXPECT_TRUE(eventually([&] { return held.agents().empty(); }));
        const Result result = held.finish();
        EXPECT_NE(result.code, 0);
        EXPECT_TRUE(has(result.error, "the last output of its ranks is missing"));
    }
}

/// As over a link that is too slow. Agents that are stopped are not lost within the time of silence.
TEST(LauncherOutput, ThatDoesNotComeWithinTheTimeLimitIsNotASuccess) {
    Result result;
    // On a busy machine the time limit may be over before the ranks have ended. That is another case.
    for (const char* limit : {"3s", "6s", "12s"}) {
        HeldOutput held({"--silence", "60s", "--grace", "0s", "--timeout", limit});
        held.signal_agents(SIGSTOP);
        result = held.finish();
        held.signal_agents(SIGCONT);
        if (!has(result.error, "the job has not ended within") && !has(result.error, "not all output was taken within")) break;
    }
    EXPECT_EQ(result.code, 124);
    EXPECT_TRUE(has(result.error, "has not come within the time limit of ")) << result.error;
    EXPECT_TRUE(has(result.error, "the last output of host")) << result.error;
}

/// A shell's ulimit -f. The ranks write to a pipe, so it is the launcher that reaches the limit.
TEST(LauncherOutput, ThatReachesTheLimitOfFileSizesIsAFailure) {
    const std::string path = fmt::format("{}/rollcall-output-limit-{}", testing::TempDir(), ::getpid());
    Launched::Given given;
    given.output = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = before;
    small.rlim_cur = 10000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);  // the job inherits it
    Launched job({"-n", "1", "head", "-c", "20000", "/dev/zero"}, given);
    ::setrlimit(RLIMIT_FSIZE, &before);
    const Result result = job.finish();
    ::close(given.output);
    EXPECT_EQ(std::filesystem::file_size(path), 10000u);
    std::filesystem::remove(path);
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "rollcall run: standard output cannot be written: File too large")) << result.error;
}

}  // namespace
