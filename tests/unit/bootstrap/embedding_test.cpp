/// \file
/// Tests jobs of a program that passes the invitation to its ranks itself. Ranks are threads.
#include "bootstrap/starters/embedded.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <rollcall/error.hpp>
#include <rollcall/start.hpp>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/rendezvous/hosted.hpp"
#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "foundation/clock.hpp"
#include "tests/unit/bootstrap/starters.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap {
namespace {

using namespace std::chrono_literals;
using Embeddings = RendezvousStarters;

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
    // The root has ended: there is no answer at its address any more.
    const Invitation invitation = Invitation::parse(reinterpret_cast<const char*>(id.bytes.data()));
    std::string why;
    EXPECT_FALSE(connect_to(*SocketAddress::parse(invitation.address, invitation.port), deadline_after(5s), why));
    EXPECT_TRUE(contains(why, "refused"));
}

TEST_F(Embeddings, ByAUniqueIdOfAJobThatCannotStartLeaveNothing) {
    set("ROLLCALL_LAUNCH_TIMEOUT", "1s");
    const UniqueId id = make_unique_id();
    Embedding embedding;
    embedding.size = 2;
    embedding.unique_id = id;
    const Error error = error_of([&] { join_embedding(embedding); });
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_TRUE(contains(error.what(), "rank 1 did not come"));
    const Invitation invitation = Invitation::parse(reinterpret_cast<const char*>(id.bytes.data()));
    std::string why;
    for (const Nanoseconds until = deadline_after(20s); monotonic_now() < until && why.find("refused") == std::string::npos;) {
        connect_to(*SocketAddress::parse(invitation.address, invitation.port), deadline_after(5s), why);
    }
    EXPECT_TRUE(contains(why, "refused"));
}

TEST_F(Embeddings, ByAUniqueIdThatIsForgottenLeaveNothing) {
    const auto count = [](const char* directory) {
        return std::distance(std::filesystem::directory_iterator(directory), std::filesystem::directory_iterator());
    };
    forget_unique_id(make_unique_id());  // this also destroys what is left of jobs that have ended
    const auto threads = count("/proc/self/task"), files = count("/proc/self/fd");
    std::vector<UniqueId> ids;
    for (int i = 0; i < 5; ++i) ids.push_back(make_unique_id());
    EXPECT_EQ(count("/proc/self/task"), threads + 5);
    for (const UniqueId& id : ids) forget_unique_id(id);
    EXPECT_EQ(count("/proc/self/task"), threads);
    EXPECT_EQ(count("/proc/self/fd"), files);
    forget_unique_id(ids[0]);  // has no effect
    EXPECT_EQ(error_of([] { forget_unique_id({}); }).code(), ErrorCode::invalid_argument);
    UniqueId wrong;
    wrong.bytes.fill(std::byte{'x'});
    EXPECT_EQ(error_of([&] { forget_unique_id(wrong); }).code(), ErrorCode::bootstrap);
}

TEST_F(Embeddings, WhoseUniqueIdIsOverSayThatItsMakerIsMissing) {
    set("ROLLCALL_LAUNCH_TIMEOUT", "1s");
    Embedding embedding;
    embedding.size = 2;
    embedding.unique_id = make_unique_id();
    error_of([&] { join_embedding(embedding); });  // rank 1 does not come, so its root ends
    set("ROLLCALL_LAUNCH_TIMEOUT", "1s");
    // Rank 0 has come: it says this itself.
    const Error error = error_of([&] { join_embedding(embedding); });
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_TRUE(contains(error.what(), "the process that made the unique id"));
    EXPECT_FALSE(contains(error.what(), "rank 0 has not come")) << error.what();
    EXPECT_FALSE(contains(error.what(), "if rank 0 runs")) << error.what();
}

TEST_F(Embeddings, WhoHostsARootIsToldOfStrangers) {
    // Runs in a process of its own, which has no job, and whose standard error is a file.
    const pid_t host = ::fork();
    if (host == 0) {
        const int file = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(file, 2);
        const UniqueId id = make_unique_id();
        const Invitation invitation = Invitation::parse(reinterpret_cast<const char*>(id.bytes.data()));
        std::string why;
        const Descriptor stranger = connect_to(*SocketAddress::parse(invitation.address, invitation.port), deadline_after(5s), why);
        const std::string words(100, '?');
        if (::send(stranger.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0) ::_exit(1);
        for (;;) ::pause();
    }
    std::string said;
    for (const Nanoseconds until = deadline_after(20s); monotonic_now() < until && said.find("is not of this job") == std::string::npos;) {
        std::this_thread::sleep_for(5ms);
        std::ifstream file(path("log"));
        said.assign(std::istreambuf_iterator<char>(file), {});
    }
    ::kill(host, SIGKILL);
    ::waitpid(host, nullptr, 0);
    EXPECT_TRUE(contains(said, "warning: a connection that is not of this job was dropped"));
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

/// Waits until all other threads of this process sleep. In a child that is forked while another thread allocates memory, the allocator of
/// clang 16's address sanitizer is locked forever.
void wait_until_others_sleep() {
    const auto sleep = [] {
        for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
            if (task.path().filename() == std::to_string(::gettid())) continue;
            std::string line;
            std::getline(std::ifstream(task.path() / "stat"), line);
            if (const auto name_end = line.rfind(')'); name_end != std::string::npos && line.substr(name_end, 3) != ") S") return false;
        }
        return true;
    };
    while (!sleep()) std::this_thread::sleep_for(1ms);
}

TEST_F(Embeddings, ByAUniqueIdInAChildOfItsMakerWork) {
    // The child has the memory of the process that made the id, but not its thread. It must neither wait for the thread nor keep the port.
    const UniqueId id = make_unique_id();
    wait_until_others_sleep();
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
                         "no data of rank 0"));
    const auto throwing = [](std::span<const std::byte>, std::span<std::byte>) { throw std::runtime_error("no wires"); };
    EXPECT_THROW(join_embedding({.rank = 0, .size = 2, .unique_id = {}, .allgather = throwing}), std::runtime_error);
}

}  // namespace
}  // namespace rollcall::bootstrap
