// Tests the cluster itself: what its hosts share and what they do not share, how commands reach them, and that nothing remains of it.
#include "tests/cluster/harness.hpp"
#include "tests/cluster/sockets.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ipc.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rollcall::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

using Scripts = std::map<std::string, std::string>;

/// While this object lives, these programs come before those of the system in PATH.
class Tools {
  public:
    explicit Tools(const Scripts& scripts)
        : directory_(std::filesystem::path(testing::TempDir()) / fmt::format("cluster-tools-{}", ::getpid())) {
        std::filesystem::create_directory(directory_);
        for (const auto& [name, script] : scripts) {
            std::ofstream(directory_ / name) << "#!/bin/bash\n" << script;
            std::filesystem::permissions(directory_ / name, std::filesystem::perms::owner_all);
        }
    }
    ~Tools() { std::filesystem::remove_all(directory_); }
    Tools(const Tools&) = delete;
    Tools& operator=(const Tools&) = delete;

    std::string file(const char* name) const { return directory_ / name; }
    /// An environment entry that puts these programs first.
    std::string path() const { return fmt::format("PATH={}:{}", directory_.string(), std::getenv("PATH")); }

  private:
    std::filesystem::path directory_;
};

TEST_F(ClusterTest, IsMadeAndLeavesNothing) {
    Cluster cluster("5", {"--rate", "100mbit", "--ssh"});
    EXPECT_EQ(cluster.call({"hosts"}).out, "node0\nnode1\nnode2\nnode3\nnode4\n");
    EXPECT_EQ(cluster.call({"address", "head"}).out, "10.77.0.1\n");
    EXPECT_EQ(cluster.call({"address", "node4"}).out, "10.77.0.6\n");
    // A daemon that a command leaves behind on a host ends with the cluster.
    EXPECT_EQ(cluster.exec("node1", {"sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo >/dev/shm/left"}).code, 0);
    const Result processes = cluster.exec("node1", {"ps", "-e", "-o", "args="});
    EXPECT_NE(processes.out.find("sleep 1000"), std::string::npos) << processes.out;
    EXPECT_FALSE(std::filesystem::exists("/dev/shm/left"));
}

TEST_F(ClusterTest, FortyEightHostsStartAndKnowEachOther) {
    Cluster cluster("48");
    std::vector<std::unique_ptr<Command>> commands;
    for (int host = 0; host < 48; ++host)
        commands.push_back(std::make_unique<Command>(cluster.words({"exec", fmt::format("node{}", host), "hostname"})));
    for (int host = 0; host < 48; ++host) EXPECT_EQ(commands[static_cast<std::size_t>(host)]->finish().out, fmt::format("node{}\n", host));
    const Result names = cluster.exec("node47", {"getent", "hosts", "node0", "node46"});
    EXPECT_EQ(names.code, 0) << names.error;
    connect(cluster, "node47", "node0");
    connect(cluster, "head", "node46");
    connect(cluster, "node46", "head");
}

TEST_F(ClusterTest, HostsShareNoMemoryNoNamesAndNoProcesses) {
    Cluster cluster("left,right");
    EXPECT_EQ(cluster.exec("left", {"hostname"}).out, "left\n");
    EXPECT_EQ(cluster.exec("right", {"cat", "/etc/hostname"}).out, "right\n");
    EXPECT_EQ(cluster.exec("head", {"hostname"}).out, "head\n");

    EXPECT_EQ(cluster.exec("left", {"sh", "-c", "echo > /dev/shm/segment; echo > /run/file"}).code, 0);
    EXPECT_EQ(cluster.exec("left", {"ls", "/dev/shm"}).out, "segment\n");
    EXPECT_EQ(cluster.exec("right", {"ls", "/dev/shm"}).out, "");
    EXPECT_EQ(cluster.exec("right", {"ls", "/run/file"}).code, 2);

    const auto make_segment = [&](const char* host) {
        int made = -1;
        cluster.inside(host, CLONE_NEWIPC, [&] { made = ::shmget(0x5243, 4096, IPC_CREAT | IPC_EXCL | 0600); });
        return made >= 0;
    };
    EXPECT_TRUE(make_segment("left"));
    EXPECT_TRUE(make_segment("right")) << "the same key is free on another host";
    EXPECT_FALSE(make_segment("left"));

    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    address.sun_path[1] = 'x';
    std::vector<Socket> sockets;
    const auto take_name = [&](const char* host) {
        int result = -1;
        cluster.inside(host, CLONE_NEWNET, [&] {
            sockets.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
            result = ::bind(sockets.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof address.sun_family + 2);
        });
        return result == 0;
    };
    EXPECT_TRUE(take_name("left"));
    EXPECT_TRUE(take_name("right")) << "the same abstract name is free on another host";
    EXPECT_FALSE(take_name("left"));

    EXPECT_EQ(cluster.exec("left", {"ps", "-p", "1", "-o", "args="}).out, "rollcall-cluster left infinity\n");
    EXPECT_EQ(cluster.exec("left", {"ls", "/sys/class/net"}).out, "eth0\nlo\n") << "programs look for links there";
}

TEST_F(ClusterTest, OrphansOfAHostAreReaped) {
    Cluster cluster("1");
    EXPECT_EQ(cluster.exec("node0", {"sh", "-c", "for i in 1 2 3; do (sh -c 'exit 3' & exec true); done"}).code, 0);
    EXPECT_TRUE(eventually([&] { return cluster.exec("node0", {"ps", "-e", "-o", "stat="}).out.find('Z') == std::string::npos; }));
}

TEST_F(ClusterTest, ExecPassesOnCodesSignalsStreamsAndSurroundings) {
    Cluster cluster("1");
    EXPECT_EQ(cluster.exec("node0", {"true"}).code, 0);
    EXPECT_EQ(cluster.exec("node0", {"sh", "-c", "exit 7"}).code, 7);
    const Result killed = cluster.exec("node0", {"sh", "-c", "kill -9 $$"});
    EXPECT_EQ(killed.code, 128 + SIGKILL);
    EXPECT_EQ(killed.error, "") << "what is written there is the command's own";
    EXPECT_EQ(cluster.exec("node0", {"no-such-program"}).code, 127);
    EXPECT_EQ(cluster.exec("nowhere", {"true"}).code, 255);
    const Tools tools(Scripts{{"name=value", "echo ran\n"}});
    for (const char* host : {"node0", "head"}) EXPECT_EQ(cluster.exec(host, {tools.file("name=value")}).out, "ran\n");

    std::string noise(3'000'000, '\0');
    std::mt19937 random(17);
    for (char& byte : noise) byte = static_cast<char>(random());
    const Result copied = cluster.exec("node0", {"sh", "-c", "echo apart >&2; cat"}, noise);
    EXPECT_TRUE(copied.out == noise);
    EXPECT_EQ(copied.error, "apart\n");

    const auto directory = std::filesystem::current_path().string();
    EXPECT_EQ(run(cluster.words({"exec", "node0", "sh", "-c", "echo \"$PWD $GREETING\""}), {}, {"GREETING=hello"}).out,
              directory + " hello\n");

    for (const auto& [number, name] :
         {std::pair(SIGTERM, "TERM"), std::pair(SIGINT, "INT"), std::pair(SIGHUP, "HUP"), std::pair(SIGUSR1, "USR1")}) {
        SCOPED_TRACE(name);
        const std::string program = fmt::format("trap 'echo heard; exit 3' {}; echo ready; while :; do sleep 0.01; done", name);
        Command handles(cluster.words({"exec", "node0", "sh", "-c", program}));
        ASSERT_TRUE(handles.wait_for("ready"));
        handles.signal(number);
        const Result heard = handles.finish();
        EXPECT_EQ(heard.code, 3);
        EXPECT_EQ(heard.out, "ready\nheard\n") << "once";
        Command dies(cluster.words({"exec", "node0", "sh", "-c", "echo ready; exec sleep 1000"}));
        ASSERT_TRUE(dies.wait_for("ready"));
        dies.signal(number);
        EXPECT_EQ(dies.finish().code, 128 + number);
    }
}

TEST_F(ClusterTest, SecureShellReachesEachHostFromEach) {
    Cluster cluster("2", {"--ssh"});
    const std::string configuration = cluster.state() + "/ssh_config";
    struct stat key {};
    ASSERT_EQ(::stat((cluster.state() + "/ssh/key").c_str(), &key), 0);
    EXPECT_EQ(key.st_mode & 0777, 0600u);
    const Result from_head = cluster.exec("head", {"ssh", "-F", configuration, "node1", "hostname; cat; exit 5"}, "input");
    EXPECT_EQ(from_head.code, 5);
    EXPECT_EQ(from_head.out, "node1\ninput") << from_head.error;
    EXPECT_EQ(from_head.error, "");
    EXPECT_EQ(cluster.exec("node1", {"ssh", "-F", configuration, "node0", "hostname"}).out, "node0\n");
    EXPECT_EQ(cluster.exec("node0", {"ssh", "-F", configuration, "node0", "hostname"}).out, "node0\n");
    EXPECT_EQ(cluster
                  .exec("head", {"ssh", "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
                                 "UserKnownHostsFile=/dev/null", "node1", "true"})
                  .code,
              255);
    const Result listening = cluster.exec("node0", {"sh", "-c", "PATH=$PATH:/usr/sbin:/sbin ss -ltnH"});
    EXPECT_NE(listening.out.find(cluster.line_of({"address", "node0"}) + ":22"), std::string::npos) << listening.out;
    EXPECT_EQ(listening.out.find("0.0.0.0:22"), std::string::npos) << listening.out;
}

/// Counts how many of these connections sshd accepts before a login.
int accepted_by_sshd(const Cluster& cluster) {
    std::vector<Socket> sockets;
    for (int i = 0; i < 40; ++i) {
        sockets.push_back(connection(cluster, "head", "node0", 22));
        char text[5] = {};
        if (sockets.back().get() < 0 || !is_ready(sockets.back(), POLLIN, seconds(10)) || ::recv(sockets.back().get(), text, 4, 0) != 4 ||
            std::string(text) != "SSH-")
            sockets.pop_back();
    }
    return static_cast<int>(sockets.size());
}

TEST_F(ClusterTest, SecureShellDropsConnectionsOnlyWhereAskedTo) {
    {
        Cluster cluster("1", {"--ssh"});
        EXPECT_EQ(accepted_by_sshd(cluster), 40);
    }
    // By default sshd drops 30 % of the connections beyond ten, and a larger share when there are more. All of 40 connections come through
    // once in ten million times.
    Cluster cluster("1", {"--ssh-default-limits"});
    EXPECT_LT(accepted_by_sshd(cluster), 40);
}

TEST_F(ClusterTest, NothingRemainsWhenItsHoldersAreKilled) {
    {
        SCOPED_TRACE("the watch");
        Cluster cluster("3", {"--ssh", "--rate", "1gbit"});
        cluster.exec("node0", {"sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 </dev/null &"});
        ::kill(cluster.process_of("head"), SIGKILL);
        EXPECT_EQ(cluster.holder().finish().code, 128 + SIGKILL);
        EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(cluster.state()); }));
        EXPECT_EQ(cluster.call({"hosts"}).code, 1);
    }
    {
        SCOPED_TRACE("the switch");
        Cluster cluster("3", {"--ssh"});
        pid_t process = -1;
        std::ifstream(cluster.state() + "/switch") >> process;
        ASSERT_GT(process, 1);
        ::kill(process, SIGKILL);
        EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(cluster.state()); }));
    }
    {
        SCOPED_TRACE("its owner");
        Command owner({"cat"});
        Cluster cluster("2", {"--owner", std::to_string(owner.process())});
        owner.signal(SIGKILL);
        owner.finish();
        EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(cluster.state()); }));
    }
}

TEST_F(ClusterTest, NothingRemainsWhenItIsKilledWhileItIsMade) {
    std::mt19937_64 random(seed());
    for (int round = 0; round < 8; ++round) {
        SCOPED_TRACE(round);
        const std::string name = fmt::format("test-{}-killed-{}", ::getpid(), round), mark = "ROLLCALL_CLUSTER_TEST=" + name;
        Command holder({ROLLCALL_CLUSTER_SCRIPT, "--name", name, "up", "4", "--ssh", "--until-eof"}, {mark});
        // The directory remains if its maker is killed before two processes hold it. See StaysWithoutItsMakerUntilItIsTakenDown.
        ASSERT_TRUE(eventually([&] { return std::filesystem::exists("/run/rollcall-cluster-" + name + "/switch"); }));
        std::this_thread::sleep_for(milliseconds(random() % 500));
        holder.signal(SIGKILL);
        EXPECT_EQ(holder.finish().code, 128 + SIGKILL);
        expect_gone(name, mark);
    }
}

TEST_F(ClusterTest, NothingRemainsWhenItsWatchIsKilledAsTheSwitchIsBorn) {
    const std::string name = fmt::format("test-{}-born", ::getpid()), mark = "ROLLCALL_CLUSTER_TEST=" + name;
    Command holder({ROLLCALL_CLUSTER_SCRIPT, "--name", name, "up", "2", "--until-eof"}, {mark});
    const pid_t watch = holder.process();
    if (::ptrace(PTRACE_SEIZE, watch, nullptr, PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE) != 0)
        GTEST_SKIP() << "no process can be traced here: " << std::strerror(errno);
    for (bool killed = false; !killed;) {
        int status = 0;
        ASSERT_EQ(::waitpid(watch, &status, 0), watch);
        ASSERT_TRUE(WIFSTOPPED(status)) << "it ended before it made a switch: " << holder.finish().error;
        const int event = status >> 16;
        if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
            unsigned long child = 0;
            ::ptrace(PTRACE_GETEVENTMSG, watch, nullptr, &child);
            // The process that is started once these two exist is the switch. It has not run until now.
            killed = std::filesystem::exists("/run/rollcall-cluster-" + name + "/answer");
            if (killed) holder.signal(SIGKILL);
            ASSERT_EQ(::waitpid(static_cast<pid_t>(child), &status, __WALL), static_cast<pid_t>(child));
            ::ptrace(PTRACE_DETACH, static_cast<pid_t>(child), nullptr, nullptr);
        }
        if (!killed) ::ptrace(PTRACE_CONT, watch, nullptr, event == 0 ? WSTOPSIG(status) : 0);
    }
    EXPECT_EQ(holder.finish().code, 128 + SIGKILL);
    expect_gone(name, mark);
}

TEST_F(ClusterTest, AHostDoesNotTakeItsClusterForDead) {
    Cluster cluster("2");
    for (const Words& words : std::vector<Words>{{"down"}, {"up", "1"}, {"hosts"}}) {
        const Result refused = cluster.exec("node0", cluster.words(words));
        EXPECT_EQ(refused.code, 1) << words.front();
        EXPECT_NE(refused.error.find("another process namespace"), std::string::npos) << refused.error;
    }
    EXPECT_EQ(cluster.call({"hosts"}).out, "node0\nnode1\n");
    EXPECT_EQ(cluster.exec("node1", {"hostname"}).out, "node1\n");
}

TEST_F(ClusterTest, OfTwoMakersOfOneNameTheSecondIsRefused) {
    const std::string name = fmt::format("test-{}-twice", ::getpid()), state = "/run/rollcall-cluster-" + name;
    // The second caller comes when the first has made the directory but has put nothing into it. This state lasts until the second has
    // ended or waits.
    const Tools tools(Scripts{{"mkdir", fmt::format(R"sh(command -p mkdir "$@" || exit
[[ "$*" == '-m 700 {0}' && -z $second ]] || exit 0
export second=1
{1} --name {2} up 1 </dev/null >"${{0%/*}}/second" 2>&1 &
while [[ -e /proc/$! && ! -e ${{0%/*}}/waits ]]; do sleep 0.01; done
)sh",
                                                    state, ROLLCALL_CLUSTER_SCRIPT, name)},
                              {"flock", R"sh([[ -z $second ]] || : >"${0%/*}/waits"
exec "$(command -pv flock)" "$@"
)sh"}});
    const auto second = [&] { return contents(tools.file("second")); };
    const auto call = [&](Words words) {
        words.insert(words.begin(), {ROLLCALL_CLUSTER_SCRIPT, "--name", name});
        return run(words, {}, {tools.path()});
    };
    const Result first = call({"up", "2"});
    EXPECT_EQ(first.code, 0) << first.error;
    EXPECT_TRUE(eventually([&] { return second().find("is up already") != std::string::npos; })) << second();
    EXPECT_EQ(call({"exec", "node1", "hostname"}).out, "node1\n");
    EXPECT_EQ(call({"down"}).code, 0);
    EXPECT_FALSE(std::filesystem::exists(state));
}

TEST_F(ClusterTest, StaysWithoutItsMakerUntilItIsTakenDown) {
    const std::string name = fmt::format("test-{}-stays", ::getpid());
    const auto call = [&](Words words, const Words& environment = {}) {
        words.insert(words.begin(), {ROLLCALL_CLUSTER_SCRIPT, "--name", name});
        return run(words, {}, environment);
    };
    const Result up = call({"up", "2"});
    EXPECT_EQ(up.code, 0) << up.error;
    EXPECT_EQ(call({"exec", "node1", "hostname"}).out, "node1\n");
    EXPECT_EQ(call({"up", "2"}).code, 1) << "there is one of this name";
    EXPECT_EQ(call({"exec", "node1", "hostname"}).out, "node1\n");
    EXPECT_EQ(call({"down"}).code, 0);
    EXPECT_EQ(call({"down"}).code, 0) << "nothing to do";
    EXPECT_FALSE(std::filesystem::exists("/run/rollcall-cluster-" + name));
    EXPECT_EQ(call({"exec", "node1", "true"}).code, 1);

    // If both processes that hold a cluster are killed at once, its directory stays. It must not prevent a new cluster.
    std::filesystem::create_directory("/run/rollcall-cluster-" + name);
    EXPECT_EQ(call({"up", "1"}).code, 0);
    EXPECT_EQ(call({"down"}).code, 0);
}

TEST_F(ClusterTest, AHalfMadeClusterGoesAndSaysWhy) {
    const std::string name = fmt::format("test-{}-half", ::getpid());
    const std::string fails = "echo 'none of it today' >&2; exit 1\n";
    // The first call of unshare makes the watch, the second makes the switch.
    const std::string fails_second = "[[ $1 == --pid ]] || exec \"$(command -pv unshare)\" \"$@\"\n" + fails;
    for (const Scripts& scripts : {Scripts{{"tc", fails}}, Scripts{{"unshare", fails_second}}}) {
        SCOPED_TRACE(scripts.begin()->first);
        const Tools tools(scripts);
        const Result up = run({ROLLCALL_CLUSTER_SCRIPT, "--name", name, "up", "3", "--rate", "1gbit"}, {}, {tools.path()});
        EXPECT_EQ(up.code, 1);
        EXPECT_NE(up.error.find("the cluster cannot be made: none of it today"), std::string::npos) << up.error;
        EXPECT_FALSE(std::filesystem::exists("/run/rollcall-cluster-" + name));
    }
}

TEST_F(ClusterTest, WrongUsageIsRefused) {
    for (const Words& words : std::vector<Words>{{"up", "0"},
                                                 {"up", "2000"},
                                                 {"up", "10000"},
                                                 {"up", "18446744073709551617"},
                                                 {"up", "10,20"},
                                                 {"up", "a,a"},
                                                 {"up", "head"},
                                                 {"up", "A"},
                                                 {"up"},
                                                 {"up", "2", "3"},
                                                 {"up", "2", "--rate", "fast"},
                                                 {"up", "2", "--what"},
                                                 {"exec", "node0"},
                                                 {"down", "now"},
                                                 {"dance"},
                                                 {},
                                                 {"--name", "a/b", "down"}}) {
        Words all = {ROLLCALL_CLUSTER_SCRIPT};
        all.insert(all.end(), words.begin(), words.end());
        const Result refused = run(all);
        EXPECT_EQ(refused.code, 2) << testing::PrintToString(words);
        EXPECT_TRUE(refused.error.starts_with("cluster.sh: ")) << refused.error;
    }
    const Result help = run({ROLLCALL_CLUSTER_SCRIPT, "--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* word : {"up ", "--until-eof", "partition", "crash"}) EXPECT_NE(help.out.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace rollcall::test
