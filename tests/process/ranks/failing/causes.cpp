/// \file
/// Scenarios of deaths that cause further deaths.
#include <cerrno>
#include <cstdio>
#include <string>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {
namespace {

constexpr std::size_t kProcesses = 0;  // Words that all ranks share: the processes, by rank.

// Returns whether the starter has seen the end of the process. Before that, it cannot tell the ranks about it; on a busy machine that may
// take longer than a rank waits for its word.
bool gone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

}  // namespace

// Rank 1 dies. Rank 2 is told and leaves. Rank 0, which was busy, is told of both. It must name the rank that died first.
ROLLCALL_SCENARIO(left_because_of) {
    const Communicator& world = scene.world;
    const Communicator part = world.split(scene.rank == 1 ? 1 : 0, scene.rank);  // Consists of ranks 0 and 2.
    for (int peer = 0; peer < scene.size; ++peer) {                              // All are connected.
        Request send = world.start_send(scene.rank, peer, 1);
        world.receive<int>(peer, 1);
        send.wait();
    }
    scene.at(kProcesses + static_cast<std::size_t>(scene.rank)).store(static_cast<std::uint64_t>(::getpid()));
    world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == 1) ::kill(::getpid(), SIGKILL);
    if (scene.rank == 2) {
        world.barrier();  // Throws, and the exception is not caught.
        throw Wrong("a barrier with the dead went well");
    }
    for (const std::size_t rank : {1, 2})
        while (!gone(static_cast<pid_t>(scene.at(kProcesses + rank).load()))) sleep_us(500);
    const auto names_the_first = [](const char* what, const std::function<void()>& call) {
        const Error error = expect_error(ErrorCode::peer_failed, what, call);
        fmt::print("rank 0 told: {}\n", error.what());
        check(std::string(error.what()).find("rank 1 on host ") != std::string::npos, "{} does not name the first cause: {}", what,
              error.what());
        return error;
    };
    const Error error = names_the_first("a barrier of all", [&] { world.barrier(); });
    check(error.failed_rank() == 1, "{} was blamed: {}", error.failed_rank(), error.what());
    names_the_first("a receive from the one who left", [&] { world.receive<int>(2, 9); });
    names_the_first("a barrier with the one who left", [&] { part.barrier(); });
    end_without_the_dead(scene);
}

// Rank 1 dies. So the end of rank 2 fails, and rank 2 leaves. Rank 0, which waits for a message of it, is told why it left.
ROLLCALL_SCENARIO(left_after_its_end_failed) {
    connect_all(scene);
    nobody_is_in_a_call(scene);
    if (scene.rank == 1) die(scene, "exit0");
    if (scene.rank == 2) {
        const Error error = expect_error(ErrorCode::peer_failed, "the end without rank 1", [&] { scene.job.finalize(); });
        check(error.failed_rank() == 1, "{} was blamed: {}", error.failed_rank(), error.what());
        ::_exit(0);
    }
    const Error error = expect_error(ErrorCode::peer_failed, "a receive from rank 2", [&] { scene.world.receive<int>(2, 9); });
    check(says(error, "left the job after its finalize() had failed because of rank 1"), "it says '{}'", error.what());
    end_without_the_dead(scene);
}

// The test cuts the link between two ranks while they wait for each other. The starter of the job notices nothing.
ROLLCALL_SCENARIO(waits_over_a_dead_link) {
    const Communicator& world = scene.world;
    std::vector<std::byte> data(100'000);
    for (int i = 0; i < 3; ++i) {
        Request send = world.start_send(std::span(data), scene.next(), 1);
        world.receive(std::span(data), scene.previous(), 1);
        send.wait();
        world.barrier();
    }
    fmt::print("rank {} waits\n", scene.rank);
    std::fflush(stdout);
    const Error error = expect_error(ErrorCode::peer_failed, "a receive over a dead link", [&] {
        if (scene.word(0) == "barrier")
            for (;;) world.barrier();
        if (scene.word(0) == "send")
            for (;;) world.send(std::span(data), scene.next(), 2);  // No rank receives them.
        world.receive(std::span(data), scene.previous(), 2);
    });
    fmt::print("rank {} told: {}\n", scene.rank, error.what());
    check(error.failed_rank() == scene.previous(), "{} was blamed: {}", error.failed_rank(), error.what());
    end_without_the_dead(scene);
}

// A debugger stops a rank for longer than a host may be silent. The rank still counts as alive.
ROLLCALL_SCENARIO(waits_for_a_stopped_rank) {
    scene.world.barrier();
    if (scene.rank == 1) {
        const pid_t self = ::getpid();
        const pid_t child = ::fork();
        if (child == 0) {
            ::usleep(static_cast<useconds_t>(scene.number(0, 0)) * 1000);
            ::kill(self, SIGCONT);
            ::_exit(0);
        }
        ::raise(SIGSTOP);
        ::waitpid(child, nullptr, 0);
    } else {
        scene.world.receive<int>(1, 3);
    }
    if (scene.rank == 1) scene.world.send(scene.rank, 0, 3);
    scene.world.barrier();
}

}  // namespace rollcall::test
