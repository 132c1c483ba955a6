/// \file
/// Tests the starters that need only a rendezvous: the user's key file, torchrun's variables, a directory. Ranks are threads.
/// Ranks that read their place from the environment start one at a time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>
#include <rollcall/start.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "bootstrap/starters/directory.hpp"
#include "bootstrap/starters/key_file.hpp"
#include "bootstrap/starters/torchrun.hpp"
#include "foundation/clock.hpp"
#include "tests/unit/bootstrap/rendezvous.hpp"
#include "tests/unit/bootstrap/starters.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

bool same_key(const Key& a, const Key& b) { return std::memcmp(a.bytes().data(), b.bytes().data(), kKeyBytes) == 0; }

using KeyFiles = RendezvousStarters;
using Torchruns = RendezvousStarters;
using Directories = RendezvousStarters;

TEST_F(KeyFiles, AreMadeOnceForTheirOwnerOnly) {
    const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ::setenv("HOME", path("").c_str(), 1);
    const std::string file = key_file_path("");
    before.empty() ? ::unsetenv("HOME") : ::setenv("HOME", before.c_str(), 1);
    const Key key = read_key_file(file);
    EXPECT_TRUE(same_key(key, read_key_file(file)));
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_EQ(status.st_size, 65);
    const std::string directory = fs::path(file).parent_path();
    ASSERT_EQ(::stat(directory.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 1);
    EXPECT_FALSE(same_key(key, read_key_file(path("other"))));
}

TEST_F(KeyFiles, AreNotMadeInADirectoryThatIsNotThere) {
    const Error error = error_of([&] { read_key_file(path("mistyped/key")); });
    EXPECT_EQ(error.code(), ErrorCode::bootstrap);
    EXPECT_TRUE(contains(error.what(), "there is no directory"));
    EXPECT_TRUE(contains(error.what(), "ROLLCALL_KEY_FILE"));
    EXPECT_TRUE(files().empty());
}

TEST_F(KeyFiles, WhoseDirectoryCannotBeMadeAreRefusedWithTheReason) {
    const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    const std::string home = path("home");
    fs::create_directory(home);
    ::chmod(home.c_str(), 0555);
    ::chmod(path("").c_str(), 0755);
    ::setenv("HOME", home.c_str(), 1);
    std::string why;
    {
        // The superuser may write everywhere.
        std::optional<rendezvous_test::OtherUser> user;
        if (::geteuid() == 0) user.emplace();
        why = error_of([&] { read_key_file(key_file_path("")); }).what();
    }
    before.empty() ? ::unsetenv("HOME") : ::setenv("HOME", before.c_str(), 1);
    EXPECT_TRUE(contains(why, home + "/.config/rollcall/key cannot be used: "));
    EXPECT_TRUE(contains(why, "its directory cannot be made: Permission denied"));
    EXPECT_TRUE(contains(why, "set ROLLCALL_KEY_FILE"));
}

TEST_F(KeyFiles, OfManyWhoMakeItAtOnceIsTheSame) {
    for (int round = 0; round < 20; ++round) {
        const std::string file = path(fmt::format("key{}", round));
        std::vector<std::optional<Key>> keys(8);
        std::vector<std::thread> threads;
        for (auto& key : keys) threads.emplace_back([&] { key = read_key_file(file); });
        for (std::thread& thread : threads) thread.join();
        for (const auto& key : keys) EXPECT_TRUE(same_key(*key, *keys.front()));
    }
    EXPECT_EQ(files().size(), 20u);
}

TEST_F(KeyFiles, ThatCannotBeTrustedAreRefused) {
    const auto refusal = [&](const std::string& content, mode_t mode) {
        const std::string file = path("bad");
        std::ofstream(file) << content;
        ::chmod(file.c_str(), mode);
        const Error error = error_of([&] { read_key_file(file); });
        fs::remove(file);
        EXPECT_EQ(error.code(), ErrorCode::bootstrap);
        EXPECT_TRUE(contains(error.what(), file));
        EXPECT_TRUE(contains(error.what(), "ROLLCALL_KEY_FILE"));
        EXPECT_FALSE(contains(error.what(), "aaaaaaaa"));
        return std::string(error.what());
    };
    const std::string good(64, 'a');
    EXPECT_TRUE(contains(refusal(good, 0604), "others may use it (its mode is 604)"));
    EXPECT_TRUE(contains(refusal(good, 0620), "others may use it (its mode is 620)"));
    for (const std::string& content : {std::string(), std::string(63, 'a'), good + "aa", good + "\n\n", std::string(64, 'g')}) {
        EXPECT_TRUE(contains(refusal(content, 0600), "64 hexadecimal digits")) << content;
    }
    fs::create_directory(path("bad"));
    EXPECT_TRUE(contains(error_of([&] { read_key_file(path("bad")); }).what(), "not a regular file"));
    std::ofstream(path("file")) << "x";
    EXPECT_EQ(error_of([&] { read_key_file(path("file") + "/key"); }).code(), ErrorCode::bootstrap);
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);  // A pipe without a writer.
    EXPECT_TRUE(contains(error_of([&] { read_key_file(path("pipe")); }).what(), "not a regular file"));
}

/// Limits the length of files that this process writes, as on a full file system.
class FileLimit {
  public:
    explicit FileLimit(rlim_t bytes) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{bytes, before_.rlim_max};
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    }
    ~FileLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        ::signal(SIGXFSZ, SIG_DFL);
    }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

  private:
    rlimit before_{};
};

TEST_F(KeyFiles, ThatCannotBeWrittenWholeAreNotThere) {
    const FileLimit limit(10);
    EXPECT_TRUE(contains(error_of([&] { read_key_file(path("key")); }).what(), "cannot be made: File too large"));
    EXPECT_TRUE(files().empty());
}

TEST_F(KeyFiles, LieInTheHomeOfTheUserByDefault) {
    const std::string before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
    ::setenv("HOME", "/home/somebody", 1);
    EXPECT_EQ(key_file_path(""), "/home/somebody/.config/rollcall/key");
    EXPECT_EQ(key_file_path("/a/key"), "/a/key");
    before.empty() ? ::unsetenv("HOME") : ::setenv("HOME", before.c_str(), 1);
}

TEST_F(Torchruns, AreEvidentIfOneVariableOfRank0IsThere) {
    EXPECT_FALSE(torchrun_is_evident());
    set("MASTER_ADDR", "localhost");
    set("MASTER_PORT", "29500");
    EXPECT_FALSE(torchrun_is_evident());
    set("RANK", "0");
    set("WORLD_SIZE", "2");
    EXPECT_TRUE(torchrun_is_evident());
    for (const char* forgotten : {"MASTER_ADDR", "MASTER_PORT"}) {
        set("MASTER_ADDR", "localhost");
        set("MASTER_PORT", "29500");
        ::unsetenv(forgotten);
        EXPECT_TRUE(torchrun_is_evident());
        const Error error = error_of([] { join_torchrun(); });
        EXPECT_EQ(error.code(), ErrorCode::bootstrap);
        EXPECT_TRUE(contains(error.what(), fmt::format("are set, but {} is not", forgotten))) << error.what();
    }
    ::unsetenv("MASTER_ADDR");
    EXPECT_FALSE(torchrun_is_evident()) << "variables of another starter";
}

TEST_F(Torchruns, SayWhatIsWrongWithTheirVariables) {
    set("MASTER_ADDR", "127.0.0.1");
    for (const auto& [rank, size, port, wrong] : std::vector<std::array<const char*, 4>>{{"x", "2", "29500", "RANK=x"},
                                                                                         {"2", "2", "29500", "RANK=2"},
                                                                                         {"-1", "2", "29500", "RANK=-1"},
                                                                                         {"0", "many", "29500", "WORLD_SIZE=many"},
                                                                                         {"0", "2", "0", "MASTER_PORT=0"},
                                                                                         {"0", "2", "65536", "MASTER_PORT=65536"}}) {
        set("RANK", rank);
        set("WORLD_SIZE", size);
        set("MASTER_PORT", port);
        const Error error = error_of([] { join_torchrun(); });
        EXPECT_EQ(error.code(), ErrorCode::bootstrap);
        EXPECT_TRUE(contains(error.what(), wrong));
    }
    set("RANK", "0");
    set("MASTER_PORT", "29500");
    set("MASTER_ADDR", "no-such-host.invalid");
    set("ROLLCALL_LAUNCH_TIMEOUT", "100ms");
    for (const char* rank : {"0", "1"}) {  // rank 0 waits, because others may know the name, and says it then
        set("RANK", rank);
        EXPECT_TRUE(contains(error_of([] { join_torchrun(); }).what(), "MASTER_ADDR=no-such-host.invalid")) << rank;
    }
}

TEST_F(Torchruns, SayWhereTheyLookedForRank0InVain) {
    set("RANK", "1");
    set("WORLD_SIZE", "2");
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", "29500");
    set("ROLLCALL_LAUNCH_TIMEOUT", "100ms");
    const Error error = error_of([] { join_torchrun(); });
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    const std::string key = fmt::format("the key file {} must be the same on all hosts", path("key"));
    EXPECT_TRUE(contains(error.what(), "; MASTER_ADDR=127.0.0.1 says where rank 0 is, and " + key)) << error.what();
    set("RANK", "0");
    const Error of_rank_0 = error_of([] { join_torchrun(); });
    // On a busy machine not even rank 0 has come after this time: "ranks 0, 1 did not come".
    EXPECT_TRUE(contains(of_rank_0.what(), " 1 did not come; " + key)) << of_rank_0.what();
}

/// Two ranks, of which rank 1 probably comes first. Each has a value of MASTER_ADDR.
void expect_two_to_meet(const std::string& name_at_0, const std::string& name_at_1) {
    ::setenv("WORLD_SIZE", "2", 1);
    ::setenv("MASTER_PORT", "29500", 1);
    const pid_t other = ::fork();
    if (other == 0) {
        ::setenv("RANK", "1", 1);
        ::setenv("MASTER_ADDR", name_at_1.c_str(), 1);
        try {
            const auto bootstrap = join_torchrun();
            bootstrap->barrier({}, 20s);
            bootstrap->leave();
            ::_exit(bootstrap->place().size == 2 ? 0 : 1);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s\n", error.what());
            ::_exit(2);
        }
    }
    std::this_thread::sleep_for(200ms);
    ::setenv("RANK", "0", 1);
    ::setenv("MASTER_ADDR", name_at_0.c_str(), 1);
    const auto bootstrap = join_torchrun();
    bootstrap->barrier({}, 20s);
    bootstrap->leave();
    int status = -1;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
}

/// On Debian, a host knows its own name as 127.0.1.1. The resolver takes "127.1.1" for 127.1.0.1, which stands for such a name here.
TEST_F(Torchruns, MeetIfTheNameOfTheirHostIsALoopbackAddress) { expect_two_to_meet("127.1.1", "127.1.1"); }

/// As under Kubeflow. Ranks that know rank 0 by different names meet as if they were on different hosts.
TEST_F(Torchruns, MeetIfRank0IsLocalhostOnlyOnItsHost) { expect_two_to_meet("localhost", "127.0.0.1"); }

TEST_F(Torchruns, DoNotListenEverywhere) {
    set("WORLD_SIZE", "2");
    set("MASTER_PORT", "29500");
    for (const char* rank : {"0", "1"}) {
        set("RANK", rank);
        for (const char* wildcard : {"0.0.0.0", "0", "::", "0:0::0", "::ffff:0.0.0.0"}) {
            set("MASTER_ADDR", wildcard);
            const Error error = error_of([] { join_torchrun(); });
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_TRUE(contains(error.what(), "stands for every address")) << wildcard;
        }
    }
}

TEST_F(Directories, SayWhatIsWrongWithTheirVariables) {
    set("ROLLCALL_RENDEZVOUS", path("nowhere"));
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "ROLLCALL_SIZE is not set"));
    set("ROLLCALL_SIZE", "2");
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "ROLLCALL_RANK is not set"));
    set("ROLLCALL_RANK", "0");
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "nowhere does not exist: make it"));
    for (const char* job : {"../a", "a b", "a/b", "ä"}) {
        set("ROLLCALL_JOB_ID", job);
        EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "ROLLCALL_JOB_ID")) << job;
    }
}

TEST_F(Directories, WithoutRank0TheOthersSaySo) {
    set("ROLLCALL_RENDEZVOUS", path(""));
    set("ROLLCALL_SIZE", "2");
    set("ROLLCALL_RANK", "1");
    set("ROLLCALL_LAUNCH_TIMEOUT", "100ms");
    const Error error = error_of([] { join_directory(); });
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_TRUE(contains(error.what(), "rank 0 has not put its invitation"));
    std::ofstream(path("rollcall-invitation")).flush();
    ASSERT_EQ(::chmod(path("rollcall-invitation").c_str(), 0600), 0);
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "the file there is empty"));
}

TEST_F(Directories, ThatRank0WaitedAtInVainAreLeftClean) {
    set("ROLLCALL_RENDEZVOUS", path(""));
    set("ROLLCALL_SIZE", "2");
    set("ROLLCALL_RANK", "0");
    set("ROLLCALL_LAUNCH_TIMEOUT", "1s");
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "rank 1 did not come"));
    EXPECT_TRUE(files().empty());
    // If nobody catches the exception, nothing is destroyed. A thread of its own has no handler of the test around it.
    const pid_t child = ::fork();
    if (child == 0) {
        std::set_terminate([] { ::_exit(3); });
        std::thread([] { join_directory(); }).join();
        ::_exit(4);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3) << status;
    EXPECT_TRUE(files().empty());
}

TEST_F(Directories, ThatTakeAPartOfTheInvitationOnlyAreRefused) {
    set("ROLLCALL_RENDEZVOUS", path(""));
    set("ROLLCALL_SIZE", "2");
    set("ROLLCALL_RANK", "0");
    const FileLimit limit(10);
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "cannot be written: File too large"));
    EXPECT_TRUE(files().empty());
}

TEST_F(Directories, WithAPipeForTheInvitationAreRefused) {
    set("ROLLCALL_RENDEZVOUS", path(""));
    set("ROLLCALL_SIZE", "2");
    set("ROLLCALL_RANK", "1");
    ASSERT_EQ(::mkfifo(path("rollcall-invitation").c_str(), 0600), 0);  // A pipe without a writer.
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "remove it"));
}

TEST_F(Directories, WithAnInvitationThatOthersCanReadAreRefused) {
    set("ROLLCALL_RENDEZVOUS", path(""));
    set("ROLLCALL_SIZE", "2");
    set("ROLLCALL_RANK", "1");
    std::ofstream(path("rollcall-invitation")) << "x";
    ::chmod(path("rollcall-invitation").c_str(), 0644);
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "others can read it"));
}

TEST_F(Directories, WithTheInvitationOfADeadJobStartTheNextOne) {
    // The invitation of a job that was killed before all ranks had come: there is no answer at its address.
    {
        const Descriptor unused = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        const Invitation stale{"127.0.0.1", SocketAddress::of(unused.get()).port(), Key::random()};
        std::ofstream(path("rollcall-invitation")) << stale.text();
        ::chmod(path("rollcall-invitation").c_str(), 0600);
    }
    set("ROLLCALL_RENDEZVOUS", path(""));
    set("ROLLCALL_SIZE", "2");
    const pid_t other = ::fork();
    if (other == 0) {
        set("ROLLCALL_RANK", "1");
        // In a step of Slurm: a process that this rank starts is a rank neither of this job nor of the step.
        set("SLURM_PROCID", "1");
        set("SLURM_STEP_ID", "0");
        set("SLURM_NTASKS", "8");
        try {
            const auto bootstrap = find_bootstrap();
            bootstrap->barrier({}, 20s);
            bootstrap->leave();
            ::_exit(bootstrap->place().size == 2 && evident_starter().starter == "alone" ? 0 : 1);
        } catch (const std::exception&) {
            ::_exit(2);
        }
    }
    std::this_thread::sleep_for(100ms);  // By now it has probably read the stale invitation.
    set("ROLLCALL_RANK", "0");
    const auto bootstrap = join_directory();
    EXPECT_TRUE(files().empty());
    bootstrap->barrier({}, 20s);
    bootstrap->leave();
    int status = -1;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace rollcall::bootstrap
