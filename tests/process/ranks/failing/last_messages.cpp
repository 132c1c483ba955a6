/// \file
/// Messages of ranks that leave the job at once when their sends have succeeded.
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/mman.h>

#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {
namespace {

constexpr std::size_t kMayLeave = 0, kHaveSent = 1, kHasCome = 2, kTheirProcesses = 10;
constexpr int kWokenWithin = 20'000;  ///< In milliseconds; less than the time after which the launcher ends the job.

std::vector<std::byte> last_message_of(int rank, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(rank));
    return data;
}

void receive_last_from(const Scene& scene, int sender, std::size_t bytes) {
    std::vector<std::byte> data(bytes);
    scene.world.receive(data.data(), bytes, sender, 3, kPatience);
    check(data == last_message_of(sender, bytes), "the message of rank {} is wrong", sender);
}

// UCX makes a connection when the first message that is longer than some 100 bytes is sent, and both sides must look for that.
void connect_with_rank_0(const Scene& scene) {
    std::vector<std::byte> data(1000);
    for (int rank = 1; rank < scene.size; ++rank) {
        if (scene.rank == 0) {
            scene.world.receive(data, rank, 4);
            scene.world.send(data, rank, 4);
        } else if (scene.rank == rank) {
            scene.world.send(data, 0, 4);
            scene.world.receive(data, 0, 4);
        }
    }
}

}  // namespace

// All ranks but rank 0 send a message to it. When it has left, they die. Words: the number of bytes, how they die, and when rank 0
// receives: "late": when it has heard of the deaths, and without having looked for messages before. (A large message does not leave until
// then.)
ROLLCALL_SCENARIO(last_message) {
    const auto bytes = static_cast<std::size_t>(scene.number(0, 8));
    const bool late = scene.word(2) == "late";
    connect_with_rank_0(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank > 0) {
        const std::vector<std::byte> data = last_message_of(scene.rank, bytes);
        scene.at(kTheirProcesses + static_cast<std::size_t>(scene.rank)).store(static_cast<std::uint64_t>(::getpid()));
        scene.await(kMayLeave);
        scene.world.start_send(data.data(), bytes, 0, 3).wait();
        scene.at(kHaveSent).fetch_add(1);
        die(scene, scene.word(1));
    }
    // A paused thread still handles notices of deaths.
    if (late) scene.job.pause_background();
    scene.raise(kMayLeave);
    if (late) {
        scene.await(kHaveSent, static_cast<std::uint64_t>(scene.size - 1));
        for (int rank = 1; rank < scene.size; ++rank) {
            const auto process = static_cast<pid_t>(scene.at(kTheirProcesses + static_cast<std::size_t>(rank)).load());
            while (::kill(process, 0) == 0 || errno != ESRCH) sleep_us(1000);  // until its starter has seen its end
        }
        sleep_us(50'000);
    }
    for (int rank = 1; rank < scene.size; ++rank) receive_last_from(scene, rank, bytes);
    for (int rank = 1; rank < scene.size; ++rank) {
        const Error error =
            expect_error(ErrorCode::peer_failed, "a message that was not sent", [&] { scene.world.receive<int>(rank, 3, kPatience); });
        check(error.failed_rank() == rank, "{} was blamed: {}", error.failed_rank(), error.what());
    }
    end_without_the_dead(scene);
}

// The last rank dies while it writes a message into the memory of rank 0. UCX reserves a place there before it copies the data, and this
// data cannot be read.
ROLLCALL_SCENARIO(death_in_the_queue_of_rank_0) {
    constexpr std::size_t kBytes = 4000;
    connect_with_rank_0(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    const int last = scene.size - 1;
    if (scene.rank == last) {
        ::signal(SIGSEGV, [](int) { ::_exit(7); });
        const void* const unreadable = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        scene.world.start_send(static_cast<const std::byte*>(unreadable), kBytes, 0, 3).wait();
        throw std::runtime_error("what cannot be read was sent");
    }
    const auto fails_because_of = [&](int culprit, const char* why, int from) {
        const Error error = expect_error(ErrorCode::peer_failed, "a receive", [&] { scene.world.receive<int>(from, 3, kPatience); });
        check(error.failed_rank() == culprit, "{} was blamed: {}", error.failed_rank(), error.what());
        check(says(error, why), "not told why: {}", error.what());
    };
    fails_because_of(last, "", last);
    if (scene.rank == 0) {
        fails_because_of(last, "rank 0 receives no more messages, because rank 2 died while it wrote one into its memory", 1);
    } else {
        scene.world.start_send(std::span(&scene.rank, 1), 0, 3).wait();
        fails_because_of(0, "had failed because of rank 2", 0);
    }
    end_without_the_dead(scene);
}

// The last rank dies. Rank 1 sends a message to rank 0 and leaves the job, which fails, before rank 0 looks for the message. Words: the
// number of bytes.
ROLLCALL_SCENARIO(last_message_after_a_death) {
    const auto bytes = static_cast<std::size_t>(scene.number(0, 8));
    connect_with_rank_0(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == scene.size - 1) die(scene, "kill");
    expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    if (scene.rank == 1) {
        const std::vector<std::byte> data = last_message_of(1, bytes);
        scene.await(kMayLeave);
        scene.world.send(data.data(), bytes, 0, 3);
        scene.raise(kHaveSent);
        end_without_the_dead(scene);
        scene.await(kHasCome);  // so its process lives
        return;
    }
    scene.job.pause_background();
    scene.raise(kMayLeave);
    scene.await(kHaveSent);
    sleep_us(20'000);
    receive_last_from(scene, 1, bytes);
    scene.raise(kHasCome);
    end_without_the_dead(scene);
}

// Rank 1 dies without ever having been connected with rank 0, whose event loop sleeps while the background thread is paused.
ROLLCALL_SCENARIO(death_wakes_a_paused_loop) {
    if (scene.rank == 1) {
        scene.at(kTheirProcesses).store(static_cast<std::uint64_t>(::getpid()));
        scene.await(kMayLeave);
        die(scene, "kill");
    }
    scene.await(kTheirProcesses);
    int data = 0;
    Request request = scene.world.start_receive(data, 1, 3);
    scene.job.pause_background();
    pollfd loop{scene.job.progress_descriptor(), POLLIN, 0};
    bool may_die = false;
    for (;;) {
        bool failed = false;
        try {
            check(!request.test(), "there was no message");
        } catch (const Error& error) {
            failed = true;
            check(error.code() == ErrorCode::peer_failed && error.failed_rank() == 1, "it says: {}", error.what());
        }
        if (failed) break;
        if (!scene.job.prepare_to_sleep()) continue;
        if (!std::exchange(may_die, true)) scene.raise(kMayLeave);
        check(::poll(&loop, 1, kWokenWithin) == 1, "nothing woke the loop");
    }
    scene.job.resume_background();
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
