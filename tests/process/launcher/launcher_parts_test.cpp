/// \file
/// Parts of the launcher, in states that a whole job reaches only by chance.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "launcher/pair.hpp"
#include "launcher/processes/leftovers.hpp"
#include "launcher/protocol.hpp"
#include "launcher/remote.hpp"
#include "tests/process/launcher/launched.hpp"

namespace {

using namespace rollcall::test;
using namespace rollcall::launcher;
using rollcall::bootstrap::Frame;
using rollcall::bootstrap::FrameType;
using rollcall::bootstrap::FrameWriter;

/// A remote host whose agent is a shell command that writes frames from files, and what it says.
struct ScriptedHost {
    /// `script` is executed by sh. It must not contain single quotes.
    ScriptedHost(const std::string& script, std::chrono::nanoseconds silence) {
        order.size = 1;
        order.applications.push_back({{"true"}, {}});
        order.remote_shell = fmt::format("sh -c '{}' {{host}}", script);
        order.command = "rollcall";
        order.silence = silence.count();
        order.launch_timeout = std::chrono::nanoseconds(seconds(60)).count();
        order.hosts.push_back({0, "a", {{0, 0, 0}}, -1});
        events.said = [this](const Frame& frame) { said.push_back(frame.type); };
        events.lost = [this](const std::string& how, int code) {
            lost = how;
            lost_code = code;
        };
        events.shell_said = [](const std::string&) {};
        remote.emplace(poller, order, inherited, events);
    }

    Order order;
    std::vector<FrameType> said;
    std::string lost;
    int lost_code = -1;
    Remote::Events events;
    Poller poller;
    const Inherited inherited;
    std::optional<Remote> remote;
};

/// The launcher sees the death of a remote shell before it reads the shell's last output.
TEST(LauncherParts, LastWordsCountBeforeTheEndOfTheRemoteShell) {
    const std::string file = fmt::format("{}/rollcall-parts-words-{}", testing::TempDir(), ::getpid());
    {
        std::ofstream words(file, std::ios::binary);
        words << "welcome\n";
        for (const auto& frame :
             {FrameWriter(FrameType::agent_hello).u32(kAgentProtocol).text("a").finish(),
              encode_stream(FrameType::agent_output, 0, false, "last words\n"), FrameWriter(FrameType::agent_finished).i32(0).finish()}) {
            words.write(reinterpret_cast<const char*>(frame.data()), static_cast<std::streamsize>(frame.size()));
        }
    }
    ScriptedHost host("cat " + file, seconds(60));
    Remote& remote = *host.remote;
    remote.start();
    int status = 0;
    ASSERT_EQ(::waitpid(remote.shell(), &status, 0), remote.shell());
    remote.shell_ended(status);
    EXPECT_EQ(host.said, (std::vector<FrameType>{FrameType::agent_output, FrameType::agent_finished}));
    EXPECT_EQ(host.lost, "");
    EXPECT_TRUE(remote.over());
    ::unlink(file.c_str());
}

/// Remote shells that lose their host have codes of their own. The code of the job says that a host was lost, except where the shell tells
/// which signal killed the agent.
TEST(LauncherParts, ALostHostHasOneCodeUnderAllRemoteShells) {
    const std::string file = fmt::format("{}/rollcall-parts-lost-{}", testing::TempDir(), ::getpid());
    const auto hello = FrameWriter(FrameType::agent_hello).u32(kAgentProtocol).text("a").finish();
    std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(hello.data()), static_cast<std::streamsize>(hello.size()));
    for (const auto& [of_shell, of_job] : {std::pair(0, 125), std::pair(1, 125), std::pair(255, 125), std::pair(137, 137)}) {
        ScriptedHost host(fmt::format("cat {}; exit {}", file, of_shell), seconds(60));
        Remote& remote = *host.remote;
        remote.start();
        int status = 0;
        ASSERT_EQ(::waitpid(remote.shell(), &status, 0), remote.shell());
        remote.shell_ended(status);
        EXPECT_EQ(host.lost, fmt::format("was lost: its agent or remote shell ended with code {}", of_shell));
        EXPECT_EQ(host.lost_code, of_job) << of_shell;
    }
    ::unlink(file.c_str());
}

/// An agent sends no heartbeats while it looks for its directory and its program, which may be on a slow file system.
TEST(LauncherParts, ASilenceCountsOnlyWhenAnAgentIsPrepared) {
    const std::string file = fmt::format("{}/rollcall-parts-slow-{}", testing::TempDir(), ::getpid());
    const auto write = [&](const char* name, const rollcall::launcher::Blob& frame) {
        std::ofstream(file + name, std::ios::binary)
            .write(reinterpret_cast<const char*>(frame.data()), static_cast<std::streamsize>(frame.size()));
    };
    write("-hello", FrameWriter(FrameType::agent_hello).u32(kAgentProtocol).text("a").finish());
    write("-prepared", encode_prepared({}));
    ScriptedHost host(fmt::format("cat {0}-hello; sleep 0.5; cat {0}-prepared; exec sleep 1000", file), milliseconds(100));
    Remote& remote = *host.remote;
    remote.start();
    const auto limit = Clock::now() + kLimit;
    while (!remote.over() && Clock::now() < limit) {
        host.poller.wait(std::min(remote.tick_at(), rollcall::monotonic_now() + rollcall::kMillisecond * 100));
        remote.tick();
    }
    ::waitpid(remote.shell(), nullptr, 0);
    EXPECT_EQ(host.said, std::vector<FrameType>{FrameType::agent_prepared});
    EXPECT_TRUE(has(host.lost, "nothing was heard of it for 100ms")) << host.lost;
    for (const char* const name : {"-hello", "-prepared"}) std::filesystem::remove(file + name);
}

/// The start has failed, so what such an agent looks for is not needed any more.
TEST(LauncherParts, AFailedStartDoesNotWaitForAnAgentThatHangs) {
    const std::string file = fmt::format("{}/rollcall-parts-hangs-{}", testing::TempDir(), ::getpid());
    const auto hello = FrameWriter(FrameType::agent_hello).u32(kAgentProtocol).text("a").finish();
    std::ofstream(file + "-hello", std::ios::binary)
        .write(reinterpret_cast<const char*>(hello.data()), static_cast<std::streamsize>(hello.size()));
    // Host b fails when host a has its order.
    const std::string a = fmt::format("cat {0}-hello; head -c 1 > {0}-order; exec sleep 1000", file);
    const std::string b = fmt::format("until test -s {}-order; do sleep 0.01; done; exit 3", file);
    const std::string shell = fmt::format("sh -c 'if test $0 = a; then {}; else {}; fi' {{host}}", a, b);
    Launched job({"--hosts", "a,b", "--fanout", "flat", "--silence", "500ms", "--launch-timeout", "1000s", "--agent", shell, "true"});
    const Result result = job.finish();
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.error, "host b could not be reached")) << result.error;
    for (const char* const name : {"-hello", "-order"}) std::filesystem::remove(file + name);
}

/// A rank that is told of a loss may fail at once because of it. The launcher must see the cause before that.
TEST(LauncherParts, AnAgentTellsTheExitOfARankBeforeItsLoss) {
    Order order;
    order.size = 2;
    order.applications.push_back({{"sh", "-c", "kill -KILL $$"}, {}});
    order.remote_shell = "sh -c '\"$@\"' {host}";
    order.command = kCommand;
    order.silence = order.launch_timeout = std::chrono::nanoseconds(seconds(60)).count();
    order.hosts.push_back({0, "a", {{1, 0, 0}}, -1});

    Poller poller;
    const Inherited inherited;
    std::vector<FrameType> said;
    std::string lost;
    Remote* agent = nullptr;
    const auto tell = [&](FrameType type, std::uint32_t value) {
        agent->send(std::make_shared<const Blob>(FrameWriter(type).u32(value).finish()));
    };
    Remote::Events events;
    events.said = [&](const Frame& frame) {
        said.push_back(frame.type);
        if (frame.type == FrameType::agent_prepared) tell(FrameType::agent_go, 0);
        if (frame.type == FrameType::loss) tell(FrameType::agent_finish, 1);
    };
    events.lost = [&](const std::string& how, int) { lost = how; };
    events.shell_said = [](const std::string&) {};
    Remote remote(poller, order, inherited, events);
    agent = &remote;
    remote.start();
    const auto limit = Clock::now() + kLimit;
    while (!remote.over() && Clock::now() < limit) {
        poller.wait(std::min(remote.tick_at(), rollcall::monotonic_now() + rollcall::kMillisecond * 100));
        remote.tick();
    }
    ::waitpid(remote.shell(), nullptr, 0);
    EXPECT_EQ(lost, "");
    const auto exited = std::find(said.begin(), said.end(), FrameType::agent_exited);
    const auto loss = std::find(said.begin(), said.end(), FrameType::loss);
    ASSERT_NE(loss, said.end());
    EXPECT_LT(exited, loss);
}

TEST(LauncherParts, WhatAGuardLeavesThatFailsIsRemoved) {
    const std::string name = fmt::format("/rollcall-parts-left-{}", ::getpid());
    PairOptions options;
    options.name = "a guard that is to fail";
    const int code = run_guarded(
        [&](Guarded& guarded) -> int {
            Leftovers leftovers(false);
            if (::shm_open(name.c_str(), O_CREAT | O_RDWR, 0600) < 0) return 3;
            if (::fork() == 0) {
                for (;;) ::pause();  // A rank that has the file open.
            }
            for (const auto& found : leftovers.look()) ::send(guarded.commands.get(), &found, sizeof found, 0);
            throw rollcall::Error(rollcall::ErrorCode::bootstrap, "this is what it was to do");
        },
        options);
    EXPECT_EQ(code, 1);
    EXPECT_FALSE(shared_memory().contains(name.substr(1)));
    ::shm_unlink(name.c_str());
}

/// A rank over libfabric may die without harm to the others, before its file has lost its name.
TEST(LauncherParts, AJobThatEndsWellLeavesNoFilesOfTransports) {
    const std::string of_transport = fmt::format("/dev/shm/{}:77777:0", ::getpid());
    const std::string kept = fmt::format("/dev/shm/launcher_parts_kept_{}", ::getpid());
    Leftovers leftovers(false);
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t rank = ::fork();
    if (rank == 0) {
        for (const std::string& file : {of_transport, kept})
            if (::open(file.c_str(), O_CREAT | O_RDWR, 0600) < 0) ::_exit(1);
        if (::write(ready[1], "x", 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char word = 0;
    EXPECT_EQ(::read(ready[0], &word, 1), 1);
    EXPECT_EQ(leftovers.look().size(), 2u);
    leftovers.remove(false);
    EXPECT_EQ(::access(of_transport.c_str(), F_OK), 0) << "it is in use";
    ::kill(rank, SIGKILL);
    ::waitpid(rank, nullptr, 0);
    leftovers.remove(false);
    EXPECT_NE(::access(of_transport.c_str(), F_OK), 0);
    EXPECT_EQ(::access(kept.c_str(), F_OK), 0) << "it may have been left on purpose";
    leftovers.remove(true);
    EXPECT_NE(::access(kept.c_str(), F_OK), 0);
    for (const std::string& file : {of_transport, kept}) ::unlink(file.c_str());
    for (const int end : ready) ::close(end);
}

/// Containers may share /dev/shm but not their processes.
TEST(LauncherParts, AFileStaysThatAProcessOfAnotherPidNamespaceUses) {
    int ready[2];
    int go[2];
    ASSERT_EQ(::pipe(ready), 0);
    ASSERT_EQ(::pipe(go), 0);
    const pid_t container = ::fork();
    if (container == 0) {
        if (::unshare(CLONE_NEWPID | CLONE_NEWNS | (::geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) ::_exit(77);
        const pid_t inner = ::fork();
        if (inner == 0) {
            if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 || ::mount("proc", "/proc", "proc", 0, nullptr) != 0) {
                ::_exit(77);
            }
            Leftovers leftovers(false);
            char word = 'x';
            if (::write(ready[1], &word, 1) != 1 || ::read(go[0], &word, 1) != 1) ::_exit(1);
            leftovers.remove(true);
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(inner, &status, 0);
        ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    ::close(ready[1]);
    ::close(go[0]);
    std::vector<std::string> mapped, unused;
    for (const char* const name : {"/dev/shm/ucx_shm_posix_launcher_parts_{}_{}", "/dev/shm/{}:77777:{}"}) {
        mapped.push_back(fmt::format(fmt::runtime(name), ::getpid(), 1));
        unused.push_back(fmt::format(fmt::runtime(name), ::getpid(), 2));
    }
    char word = 'x';
    bool possible = true;
    if (::read(ready[0], &word, 1) == 1) {
        std::vector<void*> memory;
        for (const std::string& file : mapped) {
            const rollcall::Descriptor opened(::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
            ASSERT_EQ(::ftruncate(opened.get(), 4096), 0);
            memory.push_back(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, opened.get(), 0));
            ASSERT_NE(memory.back(), MAP_FAILED);
        }
        for (const std::string& file : unused) std::ofstream(file) << "x";
        EXPECT_EQ(::write(go[1], &word, 1), 1);
        int status = 0;
        EXPECT_EQ(::waitpid(container, &status, 0), container);
        EXPECT_EQ(status, 0);
        for (const std::string& file : mapped) EXPECT_EQ(::unlink(file.c_str()), 0) << file << " was in use";
        for (const std::string& file : unused) EXPECT_NE(::unlink(file.c_str()), 0) << file << " was left";
        for (void* const one : memory) ::munmap(one, 4096);
    } else {
        int status = 0;
        EXPECT_EQ(::waitpid(container, &status, 0), container);
        EXPECT_EQ(WEXITSTATUS(status), 77);
        possible = false;
    }
    ::close(ready[0]);
    ::close(go[1]);
    if (!possible) GTEST_SKIP() << "no namespaces can be made here";
}

}  // namespace
