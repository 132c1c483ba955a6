/// \file
/// Tests how `rollcall run` calls remote shells, and what becomes of their agents and ranks. The shells are scripts that run their
/// arguments here.
#include <iterator>
#include <thread>

#include "launcher/launch.hpp"
#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;

Words words_of(const std::string& text) {
    std::istringstream stream(text);
    return {std::istream_iterator<std::string>(stream), {}};
}

/// In an allocation of Slurm, this name is the way back to ssh.
TEST(Shells, SshByItsNameIsTheDefault) {
    const Result unnamed = run({"--hosts", "localhost:1,a:1", "--dry-run", "true"});
    const Result named = run({"--hosts", "localhost:1,a:1", "--agent", "ssh", "--dry-run", "true"});
    EXPECT_EQ(named.code, 0) << named.error;
    EXPECT_EQ(named.out, unnamed.out);
    EXPECT_EQ(count(named.out, " by: ssh "), 1) << named.out;
}

TEST(Shells, SettingsOfAnotherStepReachRanksButNotTheAgentsSrun) {
    // Those of srun's manual, and some of other versions.
    const Words names = words_of(
        "SLURM_BCAST SLURM_CONSTRAINT SLURM_CPUS_PER_GPU SLURM_CPUS_PER_TASK SLURM_CPU_BIND SLURM_DISTRIBUTION SLURM_DIST_PLANESIZE "
        "SLURM_EXACT SLURM_EXCLUSIVE SLURM_EXPORT_ENV SLURM_GPUS SLURM_GPUS_PER_NODE SLURM_GPUS_PER_SOCKET SLURM_GPUS_PER_TASK "
        "SLURM_GPU_BIND SLURM_GRES SLURM_GRES_FLAGS SLURM_HINT SLURM_IMMEDIATE SLURM_LABELIO SLURM_MEM_BIND SLURM_MEM_PER_CPU "
        "SLURM_MEM_PER_GPU SLURM_MEM_PER_NODE SLURM_NCORES_PER_SOCKET SLURM_NSOCKETS_PER_NODE SLURM_NTASKS_PER_CORE "
        "SLURM_NTASKS_PER_GPU SLURM_NTASKS_PER_NODE SLURM_NTASKS_PER_SOCKET SLURM_NTASKS_PER_TRES SLURM_REMOTE_CWD SLURM_SIGNAL "
        "SLURM_STDERRMODE SLURM_STDINMODE SLURM_STDOUTMODE SLURM_STEP_GRES SLURM_THREADS_PER_CORE SLURM_TIMELIMIT SLURM_TRES_BIND "
        "SLURM_TRES_PER_TASK SLURM_WORKING_DIR SRUN_CPUS_PER_TASK SRUN_EXPORT_ENV");
    for (const std::string& name : names) ::setenv(name.c_str(), "of-a-step", 1);
    const FirstInPath srun("srun", "env | grep of-a-step >&2; while [ $1 != -- ]; do shift; done; shift; exec \"$@\"");
    for (const char* fanout : {"flat", "1"}) {
        const Result result = run({"--hosts", "a,b", "--agent", "srun", "--fanout", fanout, "-n", "2", "--tag-output", "sh", "-c",
                                   "env | grep =of-a-step | sort"});
        EXPECT_EQ(result.code, 0);
        EXPECT_EQ(result.error, "");
        for (const std::string& name : names) EXPECT_EQ(count(result.out, "] " + name + "=of-a-step\n"), 2) << result.out;
    }
    for (const std::string& name : names) ::unsetenv(name.c_str());
}

/// This process is in a directory that it knows by a link, as with a home that is a link, while this object lives.
class InALink {
  public:
    InALink()
        : before_(std::filesystem::current_path()),
          base_(std::filesystem::canonical(testing::TempDir()) / fmt::format("rollcall-link-{}", ::getpid())),
          link_((base_ / "link").string()) {
        if (const char* const name = std::getenv("PWD")) name_before_ = name;
        std::filesystem::create_directories(base_ / "real" / "deep");
        std::filesystem::create_directory_symlink(base_ / "real", link_);
        std::filesystem::current_path(link_);
        ::setenv("PWD", link_.c_str(), 1);
    }
    ~InALink() {
        std::filesystem::current_path(before_);
        ::setenv("PWD", name_before_.c_str(), 1);
        std::filesystem::remove_all(base_);
    }
    InALink(const InALink&) = delete;
    InALink& operator=(const InALink&) = delete;

    std::string base() const { return base_.string(); }
    std::string real() const { return (base_ / "real").string(); }
    const std::string& link() const { return link_; }

  private:
    std::filesystem::path before_;
    std::filesystem::path base_;
    std::string link_;
    std::string name_before_;
};

/// A rank on each of two hosts. Remote shells begin in another directory.
Words on_two(const Words& options) {
    Words words{"--hosts", "a,b", "--fanout", "1", "--agent", "sh -c 'cd / && exec \"$@\"' {host}"};
    words.insert(words.end(), options.begin(), options.end());
    return words;
}
std::string twice(const std::string& line) { return line + "\n" + line + "\n"; }

TEST(Shells, RanksFindTheNameOfTheirDirectoryInPwd) {
    const InALink here;
    const std::vector<std::pair<std::string, std::string>> cases{
        {".", here.link()}, {"deep/", here.link() + "/deep"}, {"..", here.base()}, {"/usr/../usr", "/usr"}, {"/", "/"}};
    for (const auto& [directory, name] : cases) {
        EXPECT_EQ(run(on_two({"--directory", directory, "printenv", "PWD"})).out, twice(name));
        EXPECT_EQ(run({"-n", "2", "--directory", directory, "printenv", "PWD"}).out, twice(name));
    }
    EXPECT_EQ(run(on_two({"printenv", "PWD"})).out, twice(here.link()));
    EXPECT_EQ(run(on_two({"--env", "PWD=/as/given", "printenv", "PWD"})).out, twice("/as/given"));
    ::setenv("PWD", "/usr", 1);  // it is not where this process is
    EXPECT_EQ(run(on_two({"printenv", "PWD"})).out, twice(here.real()));
}

TEST(Shells, AHostMayHaveADirectoryWithoutTheLinkToIt) {
    const InALink here;
    const std::string agent = fmt::format("sh -c 'rm {} && cd / && exec \"$@\"' {{host}}", here.link());
    const Result result = run({"--hosts", "a", "--agent", agent, "printenv", "PWD"});
    EXPECT_EQ(result.out, here.real() + "\n") << result.error;
}

/// The launcher would wait for its host for as long as --silence, so the agent is to do the same.
TEST(Shells, AnAgentsGuardMayBeStoppedForTheSilence) {
    const std::string go = fmt::format("{}/rollcall-shells-go-{}", testing::TempDir(), ::getpid());
    Launched job({"--hosts", "a", "--agent", "sh -c '\"$@\"; exit $?' {host}", "--silence", "1000s", "sh", "-c",
                  fmt::format("echo ready; while [ ! -e {} ]; do sleep 0.05; done", go)});
    ASSERT_TRUE(job.saw("ready"));
    pid_t guard = -1;
    for (const pid_t process : job.left()) {
        const bool is_agent = contents(fmt::format("/proc/{}/cmdline", process)) == kCommand + '\0' + "agent" + '\0';
        if (is_agent && contents(fmt::format("/proc/{}/comm", process)) == "rollcall-guard\n") guard = process;
    }
    ASSERT_GT(guard, 0) << "the guard was not found";
    ::kill(guard, SIGSTOP);
    std::this_thread::sleep_for(rollcall::launcher::kDefaultSilence + milliseconds(500));
    ::kill(guard, SIGCONT);
    std::ofstream(go) << "go";
    const Result result = job.finish();
    ::unlink(go.c_str());
    EXPECT_EQ(result.code, 0) << result.error;
}

/// A greeting is often longer than what fits into one sentence, and the cause comes after it.
TEST(Shells, ALongGreetingDoesNotHideTheCause) {
    const std::string greeting = "i=0; while [ $i -lt 500 ]; do echo Only for those who may use it.; i=$((i+1)); done >&2";
    const Result result =
        run({"--hosts", "a", "--agent", fmt::format("sh -c '{}; echo a: Permission denied >&2; exit 255' {{host}}", greeting), "true"});
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "who may use it.;a: Permission denied\n")) << result.error;
    EXPECT_TRUE(has(result.error, "ended with code 255: ...")) << result.error;
    EXPECT_EQ(count(result.error, "\n"), 1);
}

TEST(Shells, OneThatIsNotThereIsMissedOnTheHostThatStartsIt) {
    const Result result = run({"--hosts", "a", "--agent", "no-such-shell", "true"});
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "host a could not be reached: `no-such-shell` cannot be started on host ")) << result.error;
    EXPECT_TRUE(has(result.error, ": No such file or directory\n")) << result.error;
}

/// For example a question that nobody answers.
TEST(Shells, WhatOneHasWrittenThatDoesNotAnswerIsTold) {
    const std::string limit = "3s";  // it must have written by then, also on a busy machine
    const Result result =
        run({"--hosts", "a", "--launch-timeout", limit, "--agent", "sh -c 'echo Password: >&2; exec sleep 1000' {host}", "true"});
    EXPECT_EQ(result.code, 124);
    EXPECT_TRUE(has(result.error, "host a has not answered within 3s; its remote shell has written: Password:\n")) << result.error;
}

}  // namespace
