/// \file
/// Scenarios of messages that no rank asks for yet: where they are meanwhile, and what their senders may see.
#include <algorithm>
#include <csignal>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

constexpr std::uint64_t kLandingLarge = 300'000;
constexpr std::chrono::seconds kLandingPatience(60);
// Of the scene's shared words: the receiver has left its last call. In a call it may begin to fetch a message, which then waits for the
// next.
constexpr std::size_t kReceiverIsOut = 1;

long resident_kilobytes() {
    ::malloc_trim(0);  // What was freed does not count.
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) return std::stol(line.substr(8));
    return 0;
}

// Tests again and again that the request is not done.
void must_wait(Request& request, const char* what) {
    for (int i = 0; i < kLooks; ++i) {
        check(!request.test(), "{} was done before anybody asked for its data", what);
        sleep_us(500);
    }
}

}  // namespace

// With landing budget 0, a send that no receive waits for ends at its deadline. Then its buffer is free, and the connection works.
ROLLCALL_SCENARIO(send_deadline) {
    if (scene.size < 2) return;
    for (std::uint64_t round = 0; round < 5; ++round) {
        const std::uint64_t bytes = round % 2 == 0 ? 1 << 20 : 100;
        if (scene.rank == 0) {
            std::vector<std::byte> buffer = pattern(bytes, 1);
            expect_error(ErrorCode::timeout, "a send that nobody asks for",
                         [&] { scene.world.send(buffer.data(), bytes, 1, 3, std::chrono::milliseconds(20)); });
            { Request given_up = scene.world.start_send(std::span<const std::byte>(buffer), 1, 3); }
            std::fill(buffer.begin(), buffer.end(), std::byte{0xee});
            const auto second = pattern(bytes, 2 + round);
            scene.raise(round);
            scene.world.send(second.data(), bytes, 1, 3);
        } else if (scene.rank == 1) {
            scene.await(round);
            std::vector<std::byte> in(bytes);
            scene.world.receive(std::span(in), 0, 3);
            check_pattern(in.data(), bytes, 2 + round, "the message after one that was taken back");
        }
        still_works(scene.world);
    }
}

// A flood of messages that no receive waits for. The receiver holds no more than its budget. Words: bytes, messages, MiB allowed.
ROLLCALL_SCENARIO(flood) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(scene.number(0, 8000));
    const int messages = scene.number(1, 20'000);
    if (scene.size < 2) return;
    still_works(scene.world);
    const auto what = pattern(bytes, 5);
    if (scene.rank == 0) {
        std::vector<Request> sends;
        for (int i = 0; i < messages; ++i) sends.push_back(scene.world.start_send(std::span(what), 1, 4));
        for (int i = 0; i < kLooks; ++i) {  // Whatever can move meanwhile, moves.
            scene.job.progress();
            sleep_us(500);
        }
        scene.raise(0);
        Request::wait_all(sends);
    } else if (scene.rank == 1) {
        const long before = resident_kilobytes();
        scene.await(0);
        const long grown = resident_kilobytes() - before;
        fmt::print("flood of {} messages of {} bytes: {} KiB more at the receiver\n", messages, bytes, grown);
        if (!kSanitized) check(grown < scene.number(2, 40) * 1024, "the receiver has grown by {} KiB", grown);
        std::vector<std::byte> in(bytes);
        for (int i = 0; i < messages; ++i) {
            check(scene.world.receive(std::span(in), 0, 4).bytes == bytes, "message {} has another size", i);
            if (i % 100 == 0) check_pattern(in.data(), bytes, 5, fmt::format("message {}", i));
        }
    }
    still_works(scene.world);
}

// The receiver computes and does not call. The sender must end nevertheless: the receiver goes on only after that.
ROLLCALL_SCENARIO(early_large) {
    if (scene.size < 2) return;
    for (int round = 0; round < scene.number(0, 10); ++round) {
        const std::size_t word = static_cast<std::size_t>(round);
        const std::uint64_t bytes = round % 2 == 0 ? 8 << 20 : 20'000;
        if (scene.rank == 0) {
            const auto out = pattern(bytes, word);
            scene.world.send(std::span<const std::byte>(out), 1, word);
            scene.raise(word);
        } else if (scene.rank == 1) {
            if (round % 3 == 0) sleep_us(5000);  // Sometimes long enough for a background thread to have parked.
            scene.await(word);
            std::vector<std::byte> in(bytes);
            scene.world.receive(std::span(in), 0, word);
            check_pattern(in.data(), bytes, word, "an early message");
        }
    }
    if (scene.rank == 1)
        check(scene.job.progress_statistics().landing_peak_bytes >= 8 << 20, "nothing has landed: {}",
              scene.job.progress_statistics().landing_peak_bytes);
    still_works(scene.world);
}

// With landing budget 0, a message of any size stays at its sender until it is asked for.
ROLLCALL_SCENARIO(no_landing) {
    if (scene.size < 2) return;
    std::size_t word = 0;
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4096}, std::uint64_t{1 << 20}}) {
        ++word;
        if (scene.rank == 0) {
            const auto out = pattern(bytes, word);
            Request send = scene.world.start_send(std::span(out), 1);
            must_wait(send, "a send without landing");
            scene.raise(word);
            send.wait();
        } else if (scene.rank == 1) {
            scene.await(word);
            std::vector<std::byte> in(bytes);
            scene.world.receive(std::span(in), 0);
            check_pattern(in.data(), bytes, word, "a message without landing");
        }
    }
    still_works(scene.world);
}

// A budget of 1 MiB and messages of 600 KiB. The second message lands when the first is taken, and not before.
ROLLCALL_SCENARIO(deferred_landing) {
    if (scene.size < 2) return;
    constexpr std::uint64_t kBytes = 600 * 1024;
    constexpr int kMessages = 6;
    if (scene.rank == 0) {
        std::vector<std::vector<std::byte>> out;
        std::vector<Request> sends;
        for (int i = 0; i < kMessages; ++i) {
            out.push_back(pattern(kBytes, static_cast<std::uint64_t>(i)));
            sends.push_back(scene.world.start_send(std::span<const std::byte>(out.back()), 1, static_cast<Tag>(i)));
        }
        for (std::size_t i = 0; i < kMessages; ++i) {
            sends[i].wait();  // Lands while the receiver does not call.
            if (i + 1 < kMessages) must_wait(sends[i + 1], "a send beyond the budget");
            scene.raise(i);
        }
    } else if (scene.rank == 1) {
        std::vector<std::byte> in(kBytes);
        for (std::size_t i = 0; i < kMessages; ++i) {
            scene.await(i);
            scene.world.receive(std::span(in), 0, i);
            check_pattern(in.data(), kBytes, i, fmt::format("message {}", i));
        }
        const std::uint64_t peak = scene.job.progress_statistics().landing_peak_bytes;
        check(peak >= kBytes && peak <= 1 << 20, "{} bytes were held with a budget of 1 MiB", peak);
    }
    still_works(scene.world);
}

// Sends end though their receiver makes no call: each message has been copied, so that its buffer is free. What is started waits. (Without
// background threads; with them the messages land.)
ROLLCALL_SCENARIO(sends_and_goes) {
    constexpr int kMessages = 12;
    if (scene.size < 2) return;
    still_works(scene.world);
    if (scene.rank == 0) {
        scene.await(kReceiverIsOut);
        for (int i = 0; i < kMessages; ++i) {
            auto what = pattern(kLandingLarge + static_cast<std::uint64_t>(i), key(0, static_cast<std::uint64_t>(i)));
            scene.world.send(std::span<const std::byte>(what), 1, 6, kLandingPatience);
            std::fill(what.begin(), what.end(), std::byte{0xee});
        }
        const auto last = pattern(kLandingLarge, 77);
        Request started = scene.world.start_send(std::span(last), 1, 6);
        must_wait(started, "a started send");
        scene.raise(0);
        started.wait();
    } else if (scene.rank == 1) {
        scene.raise(kReceiverIsOut);
        scene.await(0);
        std::vector<std::byte> in(kLandingLarge + kMessages);
        for (int i = 0; i < kMessages; ++i) {
            const std::uint64_t size = kLandingLarge + static_cast<std::uint64_t>(i);
            check(scene.world.receive(std::span(in), 0, 6).bytes == size, "message {} has another size", i);
            check_pattern(in.data(), size, key(0, static_cast<std::uint64_t>(i)), fmt::format("message {}", i));
        }
        scene.world.receive(std::span(in), 0, 6);
        check_pattern(in.data(), kLandingLarge, 77, "the started message");
    }
    still_works(scene.world);
}

// The sender is at the end of its job before the receiver asks for its messages. The last scenario of a job.
ROLLCALL_SCENARIO(sends_and_leaves) {
    constexpr std::uint64_t kMessages = 5;
    if (scene.rank == 0) {
        scene.await(kReceiverIsOut);
        for (std::uint64_t i = 0; i < kMessages; ++i) {
            const auto what = pattern(kLandingLarge, key(0, i));
            scene.world.send(std::span(what), 1, 6, kLandingPatience);
        }
        scene.raise(0);
    } else if (scene.rank == 1) {
        scene.raise(kReceiverIsOut);
        scene.await(0);
        std::vector<std::byte> in(kLandingLarge);
        for (std::uint64_t i = 0; i < kMessages; ++i) {
            scene.world.receive(std::span(in), 0, 6);
            check_pattern(in.data(), kLandingLarge, key(0, i), fmt::format("message {}", i));
        }
    }
}

// A rank dies: the sender whose messages wait for their receiver (word 0: sender), or that receiver. The other one is told.
ROLLCALL_SCENARIO(dies_with_messages) {
    const bool sender_dies = scene.word(0) == "sender";
    const int dead = sender_dies ? 0 : 1, other = 1 - dead;
    still_works(scene.world);
    if (scene.rank == 0) {
        scene.await(kReceiverIsOut);
        const auto what = pattern(kLandingLarge, 3);
        for (int i = 0; i < 3; ++i) scene.world.send(std::span(what), 1, 6, kLandingPatience);
        scene.raise(0);
    } else {
        scene.raise(kReceiverIsOut);
        scene.await(0);
    }
    if (scene.rank == dead) ::kill(::getpid(), SIGKILL);
    const Error error = expect_error(ErrorCode::peer_failed, "the next call", [&] {
        std::vector<std::byte> in(kLandingLarge);
        if (scene.rank == other && sender_dies)
            for (int i = 0; i < 4; ++i) scene.world.receive(std::span(in), 0, 6, kLandingPatience);
        scene.world.barrier(kLandingPatience);
        scene.world.barrier(kLandingPatience);
    });
    check(error.failed_rank() == dead, "it says '{}'", error.what());
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
