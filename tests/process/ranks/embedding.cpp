/// \file
/// The rank program as a part of a program that starts its ranks itself, and the scenarios of foreign starters.
#include "tests/process/ranks/embedding.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/clock.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

void read_all(int socket, void* data, std::size_t bytes) {
    if (::recv(socket, data, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) throw Wrong("the starter says nothing");
}

}  // namespace

Job start_job() {
    const char* const given = std::getenv("ROLLCALL_TEST_EMBEDDING");
    if (given == nullptr) return Job();
    std::vector<std::string> words;
    std::istringstream stream(given);
    for (std::string word; std::getline(stream, word, ':');) words.push_back(word);
    Embedding embedding;
    embedding.rank = std::stoi(words.at(1));
    embedding.size = std::stoi(words.at(2));
    const int socket = std::stoi(words.at(3));
    if (words.at(0) == "unique_id") {
        read_all(socket, embedding.unique_id.emplace().bytes.data(), UniqueId::kBytes);
    } else {
        embedding.allgather = [socket](std::span<const std::byte> mine, std::span<std::byte> all) {
            if (::write(socket, mine.data(), mine.size()) != static_cast<ssize_t>(mine.size())) throw Wrong("the starter does not listen");
            read_all(socket, all.data(), all.size());
        };
    }
    return Job(embedding);
}

// The job is complete. Words: its size, what started it.
ROLLCALL_SCENARIO(is_whole) {
    check(scene.size == scene.number(0, -1), "the job has {} ranks", scene.size);
    check(scene.job.started_by() == scene.word(1), "started by {}", scene.job.started_by());
    std::vector<int> all(static_cast<std::size_t>(scene.size), -1);
    scene.world.gather(scene.rank, all, 0);
    for (int rank = 0; scene.rank == 0 && rank < scene.size; ++rank) {
        check(all[static_cast<std::size_t>(rank)] == rank, "rank {} brought {}", rank, all[static_cast<std::size_t>(rank)]);
    }
    for (int root = 0; root < scene.size; ++root) {
        std::uint64_t value = scene.rank == root ? 1000 + static_cast<std::uint64_t>(root) : 0;
        scene.world.broadcast(value, root);
        check(value == 1000 + static_cast<std::uint64_t>(root), "rank {} says {}", root, value);
    }
}

// Rank 0, where all ranks meet, dies while the others wait for it or for each other. Words: the rank that they wait for.
ROLLCALL_SCENARIO(root_dies) {
    scene.world.barrier();
    if (scene.rank == 0) {
        sleep_us(50'000);
        scene.at(0).store(static_cast<std::uint64_t>(monotonic_now()));
        ::kill(::getpid(), SIGKILL);
    }
    const int from = scene.number(0, 0);
    const Error error = expect_error(ErrorCode::peer_failed, "a receive", [&] {
        int value = 0;
        // This rank, like the others that wait, sends nothing. No other rank knows any more that it lives.
        scene.world.receive(value, from == scene.rank ? 0 : from);
    });
    const auto took = monotonic_now() - static_cast<Nanoseconds>(scene.at(0).load());
    fmt::print("rank {} told after {} ms: {}\n", scene.rank, took / 1'000'000, error.what());
    check(std::string(error.what()).find("rank 0") != std::string::npos, "rank 0 is not named: {}", error.what());
    check(error.failed_rank() == 0, "{} was blamed: {}", error.failed_rank(), error.what());
    scene.at(1).fetch_add(1);
    scene.await(1, static_cast<std::uint64_t>(scene.size - 1));
    end_without_the_dead(scene);
}

// All ranks wait for one rank, which sends nothing. That rank waits for rank 0, or for the next rank if it is rank 0. Words: that rank;
// "kill": it dies when it has waited for a while.
ROLLCALL_SCENARIO(waits_for) {
    const int awaited = scene.number(0, 0);
    scene.world.barrier();
    fmt::print("rank {} waits\n", scene.rank);
    std::fflush(stdout);
    if (scene.rank == awaited && scene.word(1) == "kill") {
        sleep_us(300'000);
        ::kill(::getpid(), SIGKILL);
    }
    const Error error = expect_error(ErrorCode::peer_failed, "a receive", [&] {
        int value = 0;
        const int from = scene.rank != awaited ? awaited : awaited != 0 ? 0 : 1;
        scene.world.receive(value, from, 77, std::chrono::seconds(45));
    });
    fmt::print("rank {} told: {}\n", scene.rank, error.what());
    end_without_the_dead(scene);
}

// One rank aborts the job. The others are told which rank, and why.
ROLLCALL_SCENARIO(is_aborted) {
    scene.world.barrier();
    if (scene.rank == scene.number(0, 0)) {
        sleep_us(20'000);
        scene.job.abort(7, "a wheel fell off");
    }
    const Error error = expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    check(error.failed_rank() == scene.number(0, 0), "the failed rank is {}", error.failed_rank());
    fmt::print("rank {} told: {}\n", scene.rank, error.what());
    scene.at(1).fetch_add(1);
    scene.await(1, static_cast<std::uint64_t>(scene.size - 1));
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
