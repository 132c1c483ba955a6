/// \file
/// The starters that need nothing but a rendezvous: the user's key file, torchrun's variables, a directory, embedding. Ranks
/// are threads; those that are told their place by the environment are one at a time.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>
#include <rollcall/start.hpp>

#include "runtime/bootstrap/bootstrap.hpp"
#include "runtime/bootstrap/rendezvous/hosted.hpp"
#include "runtime/bootstrap/rendezvous/network.hpp"
#include "runtime/bootstrap/rendezvous/rendezvous.hpp"
#include "runtime/bootstrap/starters/directory.hpp"
#include "runtime/bootstrap/starters/embedded.hpp"
#include "runtime/bootstrap/starters/key_file.hpp"
#include "runtime/bootstrap/starters/torchrun.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

bool equal(const Key& a, const Key& b) { return std::memcmp(a.bytes().data(), b.bytes().data(), kKeyBytes) == 0; }

/// A directory, and an environment without other starters; both as before afterwards.
class RendezvousStarters : public testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "rollcall-starters-XXXXXX";
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        directory_ = pattern;
        for (const char* variable : kVariables) {
            if (const char* value = std::getenv(variable)) saved_[variable] = value;
            ::unsetenv(variable);
        }
        set("ROLLCALL_NET", "lo");
        set("ROLLCALL_KEY_FILE", path("key"));
        set("ROLLCALL_LAUNCH_TIMEOUT", "20s");
    }
    void TearDown() override {
        for (const char* variable : kVariables) ::unsetenv(variable);
        for (const auto& [variable, value] : saved_) ::setenv(variable.c_str(), value.c_str(), 1);
        fs::remove_all(directory_);
    }
    static void set(const char* variable, const std::string& value) { ::setenv(variable, value.c_str(), 1); }
    std::string path(const std::string& name) const { return directory_ + "/" + name; }
    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(directory_)) names.push_back(entry.path().filename());
        return names;
    }

  private:
    static constexpr const char* kVariables[] = {"RANK",
                                                 "WORLD_SIZE",
                                                 "MASTER_ADDR",
                                                 "MASTER_PORT",
                                                 "TORCHELASTIC_USE_AGENT_STORE",
                                                 "TORCHELASTIC_RUN_ID",
                                                 "ROLLCALL_BOOTSTRAP_FD",
                                                 "ROLLCALL_NET",
                                                 "ROLLCALL_KEY_FILE",
                                                 "ROLLCALL_LAUNCH_TIMEOUT",
                                                 "ROLLCALL_PORT",
                                                 "ROLLCALL_RENDEZVOUS",
                                                 "ROLLCALL_RANK",
                                                 "ROLLCALL_SIZE",
                                                 "ROLLCALL_JOB_ID"};
    std::string directory_;
    std::map<std::string, std::string> saved_;
};

using KeyFiles = RendezvousStarters;
using Torchruns = RendezvousStarters;
using Directories = RendezvousStarters;
using Embeddings = RendezvousStarters;

TEST_F(KeyFiles, AreMadeOnceForTheirOwnerOnly) {
    const std::string file = path("a/b/key");
    const Key key = read_key_file(file);
    EXPECT_TRUE(equal(key, read_key_file(file)));
    struct stat status {};
    ASSERT_EQ(::stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_EQ(status.st_size, 65);
    ASSERT_EQ(::stat(path("a/b").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    EXPECT_EQ(std::distance(fs::directory_iterator(path("a/b")), {}), 1);
    EXPECT_FALSE(equal(key, read_key_file(path("other"))));
}

TEST_F(KeyFiles, OfManyWhoMakeItAtOnceIsTheSame) {
    for (int round = 0; round < 20; ++round) {
        const std::string file = path(fmt::format("key{}", round));
        std::vector<std::optional<Key>> keys(8);
        std::vector<std::thread> threads;
        for (auto& key : keys) threads.emplace_back([&] { key = read_key_file(file); });
        for (std::thread& thread : threads) thread.join();
        for (const auto& key : keys) EXPECT_TRUE(equal(*key, *keys.front()));
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
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);  // which nobody writes to
    EXPECT_TRUE(contains(error_of([&] { read_key_file(path("pipe")); }).what(), "not a regular file"));
}

/// Files of this process may not become longer than that, as on a file system that is full.
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

TEST_F(Torchruns, AreEvidentByAllTheirVariablesOnly) {
    EXPECT_FALSE(torchrun_is_evident());
    set("RANK", "0");
    set("WORLD_SIZE", "2");
    set("MASTER_ADDR", "localhost");
    EXPECT_FALSE(torchrun_is_evident());
    set("MASTER_PORT", "29500");
    EXPECT_TRUE(torchrun_is_evident());
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
    set("MASTER_PORT", "65535");
    set("TORCHELASTIC_USE_AGENT_STORE", "True");
    EXPECT_TRUE(contains(error_of([] { join_torchrun(); }).what(), "set ROLLCALL_PORT"));
}

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
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "ROLLCALL_SIZE="));
    set("ROLLCALL_SIZE", "2");
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "ROLLCALL_RANK="));
    set("ROLLCALL_RANK", "0");
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "No such file"));
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
}

TEST_F(Directories, ThatRank0WaitedAtInVainAreLeftClean) {
    set("ROLLCALL_RENDEZVOUS", path(""));
    set("ROLLCALL_SIZE", "2");
    set("ROLLCALL_RANK", "0");
    set("ROLLCALL_LAUNCH_TIMEOUT", "100ms");
    EXPECT_TRUE(contains(error_of([] { join_directory(); }).what(), "rank 1 did not come"));
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
    ASSERT_EQ(::mkfifo(path("rollcall-invitation").c_str(), 0600), 0);  // which nobody writes to
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
    // What a job has left that was killed before all had come: nobody answers there.
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
        // In a step of Slurm's: what this rank starts is no rank of either.
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
    std::this_thread::sleep_for(100ms);  // it is likely to have read the stale one
    set("ROLLCALL_RANK", "0");
    const auto bootstrap = join_directory();
    EXPECT_TRUE(files().empty());
    bootstrap->barrier({}, 20s);
    bootstrap->leave();
    int status = -1;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
}

/// Runs a rank of an embedding in each of several threads.
void embed(int size, const std::function<void(int, Embedding&)>& prepare, const std::function<void(int, Bootstrap&)>& part) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                Embedding embedding;
                embedding.rank = rank;
                embedding.size = size;
                prepare(rank, embedding);
                const auto bootstrap = join_embedding(embedding);
                part(rank, *bootstrap);
            } catch (const Error& error) {
                ADD_FAILURE() << "rank " << rank << ": " << error.what();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
}

TEST_F(Embeddings, ByAUniqueIdMeetAndEnd) {
    const UniqueId id = make_unique_id();
    embed(
        4, [&](int, Embedding& embedding) { embedding.unique_id = id; },
        [](int rank, Bootstrap& bootstrap) {
            EXPECT_EQ(bootstrap.place().size, 4);
            EXPECT_EQ(bootstrap.place().rank, rank);
            EXPECT_EQ(bootstrap.place().hosts, 1);
            EXPECT_EQ(bootstrap.exchange({}, {}, 20s).size(), 4u);
            bootstrap.leave();
        });
    // The root has ended: nobody answers there any more.
    const Invitation invitation = Invitation::parse(reinterpret_cast<const char*>(id.bytes.data()));
    std::string why;
    EXPECT_FALSE(connect_to(*SocketAddress::parse(invitation.address, invitation.port), after(5s), why));
    EXPECT_TRUE(contains(why, "refused"));
}

TEST_F(Embeddings, ByAUniqueIdOfAJobThatCannotStartLeaveNothing) {
    set("ROLLCALL_LAUNCH_TIMEOUT", "200ms");
    const UniqueId id = make_unique_id();
    Embedding embedding;
    embedding.size = 2;
    embedding.unique_id = id;
    const Error error = error_of([&] { join_embedding(embedding); });
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_TRUE(contains(error.what(), "rank 1 did not come"));
    const Invitation invitation = Invitation::parse(reinterpret_cast<const char*>(id.bytes.data()));
    std::string why;
    for (const Nanoseconds until = after(20s); now() < until && why.find("refused") == std::string::npos;) {
        connect_to(*SocketAddress::parse(invitation.address, invitation.port), after(5s), why);
    }
    EXPECT_TRUE(contains(why, "refused"));
}

TEST_F(Embeddings, WhoHostsARootIsToldOfStrangers) {
    // In a process of its own: it has no job, and its standard error is a file.
    const pid_t host = ::fork();
    if (host == 0) {
        const int file = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(file, 2);
        const UniqueId id = make_unique_id();
        const Invitation invitation = Invitation::parse(reinterpret_cast<const char*>(id.bytes.data()));
        std::string why;
        const Descriptor stranger = connect_to(*SocketAddress::parse(invitation.address, invitation.port), after(5s), why);
        const std::string words(100, '?');
        if (::send(stranger.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0) ::_exit(1);
        for (;;) ::pause();
    }
    std::string said;
    for (const Nanoseconds until = after(20s); now() < until && said.find("is not of this job") == std::string::npos;) {
        std::this_thread::sleep_for(5ms);
        std::ifstream file(path("log"));
        said.assign(std::istreambuf_iterator<char>(file), {});
    }
    ::kill(host, SIGKILL);
    ::waitpid(host, nullptr, 0);
    EXPECT_TRUE(contains(said, "warning: a connection was dropped that is not of this job"));
}

TEST_F(Embeddings, ByTwoUniqueIdsAreTwoJobs) {
    const UniqueId ids[] = {make_unique_id(), make_unique_id()};
    EXPECT_NE(ids[0].bytes, ids[1].bytes);
    std::vector<std::thread> jobs;
    for (const UniqueId& id : ids) {
        jobs.emplace_back([&] {
            embed(
                2, [&](int, Embedding& embedding) { embedding.unique_id = id; },
                [](int, Bootstrap& bootstrap) {
                    EXPECT_EQ(bootstrap.exchange({}, {}, 20s).size(), 2u);
                    bootstrap.leave();
                });
        });
    }
    for (std::thread& job : jobs) job.join();
}

TEST_F(Embeddings, ByAUniqueIdInAChildOfItsMakerWork) {
    // The child has the maker's memory, but not its thread: it must neither wait for that nor keep the port.
    const UniqueId id = make_unique_id();
    const pid_t other = ::fork();
    if (other == 0) {
        try {
            Embedding embedding;
            embedding.rank = 1;
            embedding.size = 2;
            embedding.unique_id = id;
            const auto bootstrap = join_embedding(embedding);
            bootstrap->barrier({}, 20s);
            bootstrap->leave();
            ::_exit(0);
        } catch (const std::exception&) {
            ::_exit(2);
        }
    }
    embed(
        1, [&](int, Embedding& embedding) { embedding.size = 2, embedding.unique_id = id; },
        [](int, Bootstrap& bootstrap) {
            bootstrap.barrier({}, 20s);
            bootstrap.leave();
        });
    int status = -1;
    ASSERT_EQ(::waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
}

TEST_F(Embeddings, ThatCannotBeAreRefused) {
    const auto refusal = [](const Embedding& embedding) {
        const Error error = error_of([&] { join_embedding(embedding); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        return std::string(error.what());
    };
    EXPECT_TRUE(contains(refusal({}), "unique id or an allgather"));
    EXPECT_TRUE(contains(refusal({.rank = 2, .size = 2, .unique_id = {}, .allgather = {}}), "no such rank"));
    EXPECT_TRUE(contains(refusal({.rank = 0, .size = 1, .unique_id = UniqueId{}, .allgather = {}}), "its unique id is empty"));
    UniqueId noise;
    noise.bytes.fill(std::byte{'x'});
    EXPECT_EQ(error_of([&] { join_embedding({.rank = 0, .size = 1, .unique_id = noise, .allgather = {}}); }).code(), ErrorCode::bootstrap);
    const auto nothing = [](std::span<const std::byte>, std::span<std::byte>) {};
    EXPECT_TRUE(contains(error_of([&] { join_embedding({.rank = 1, .size = 2, .unique_id = {}, .allgather = nothing}); }).what(),
                         "nothing of rank 0's"));
    const auto throwing = [](std::span<const std::byte>, std::span<std::byte>) { throw std::runtime_error("no wires"); };
    EXPECT_THROW(join_embedding({.rank = 0, .size = 2, .unique_id = {}, .allgather = throwing}), std::runtime_error);
}

}  // namespace
}  // namespace rollcall::bootstrap
