/// \file
/// Scenarios of transfers that are given up while the peer is well, but busy. No rank loses a connection by it.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include <signal.h>
#include <unistd.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Words of a scene that all ranks share.
constexpr std::size_t kReady = 0;    // The peer is out, or stopped.
constexpr std::size_t kGivenUp = 1;  // The call has returned, and its buffer is the caller's again.
constexpr std::size_t kProcess = 2;
constexpr std::size_t kMoving = 3;  // A part of the message has come.

// Larger than what is landed in any of these tests, and larger than one piece of any transport.
constexpr std::uint64_t kLargeMessage = kSanitized ? 5 << 19 : 4 << 20;
// It takes so long that it can be given up on its way.
constexpr std::uint64_t kHuge = kSanitized ? 16 << 20 : 64 << 20;
constexpr Timeout kSoon = milliseconds(50);

// Reads memory that the lane may be writing. Any value is right, so the thread sanitizer must not look.
__attribute__((noinline, no_sanitize("thread"))) std::byte glance(const std::byte& at) { return const_cast<const volatile std::byte&>(at); }

// Each byte is like the next one. A sanitizer looks at all of them at once.
bool all_are(const std::vector<std::byte>& data, std::byte value) {
    return data[0] == value && std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0;
}

std::uint64_t key(int from, int to) { return 1000 + static_cast<std::uint64_t>(from) * 64 + static_cast<std::uint64_t>(to); }

CollectiveOptions within(Timeout timeout, std::string_view algorithm = {}) {
    CollectiveOptions options;
    options.algorithm = algorithm;
    options.timeout = timeout;
    return options;
}

// Checks a barrier, a broadcast from each rank, and messages between all pairs in both directions, all with the right data.
void all_is_well(const Scene& scene) {
    const Communicator& world = scene.world;
    world.barrier(kPatience);
    for (int root = 0; root < scene.size; ++root) {
        auto data = pattern(kLargeMessage / 8, scene.rank == root ? key(root, root) : 0);
        world.broadcast(std::span(data), root, within(kPatience));
        check_pattern(data.data(), data.size(), key(root, root), "a broadcast afterwards");
    }
    for (const std::uint64_t bytes : {std::uint64_t{100}, kSanitized || scene.size > 3 ? kLargeMessage / 8 : kLargeMessage}) {
        std::vector<std::vector<std::byte>> in(static_cast<std::size_t>(scene.size)), out(in.size());
        std::vector<Request> requests;
        for (int peer = 0; peer < scene.size; ++peer) {
            const auto at = static_cast<std::size_t>(peer);
            in[at].resize(bytes);
            out[at] = pattern(bytes, key(scene.rank, peer));
            requests.push_back(world.start_receive(std::span(in[at]), peer, 900));
            requests.push_back(world.start_send(std::span(out[at]), peer, 900));
        }
        Request::wait_all(requests, kPatience);
        for (int peer = 0; peer < scene.size; ++peer)
            check_pattern(in[static_cast<std::size_t>(peer)].data(), bytes, key(peer, scene.rank), "a message afterwards");
    }
    world.barrier(kPatience);
}

// Exchanges messages between all ranks, so that the connections exist.
void connect(const Scene& scene) {
    const Communicator& world = scene.world;
    for (int peer = 0; peer < scene.size; ++peer) {
        Request send = world.start_send(scene.rank, peer, 901);
        check(world.receive<int>(peer, 901) == peer, "a first message came differently");
        send.wait();
    }
    // Also a large message: the first one between a pair of ranks needs the progress of both.
    const std::vector<std::byte> out(100'000);
    for (int peer = 0; peer < scene.size; ++peer) {
        if (peer == scene.rank) continue;
        std::vector<std::byte> in(out.size());
        Request send = world.start_send(std::span(out), peer, 902);
        Request receive = world.start_receive(std::span(in), peer, 902);
        receive.wait();
        send.wait();
    }
    world.barrier();
}

// The second rank does not call until the first has given up. It computes while its lane progresses (present), computes while nothing
// progresses (computing), or is stopped.
void stay_out(const Scene& scene, const std::string& how) {
    if (how == "stopped") {
        scene.at(kProcess).store(static_cast<std::uint64_t>(::getpid()));
        scene.raise(kReady);
        ::raise(SIGSTOP);  // Until resume().
        return;
    }
    if (how == "computing") scene.job.pause_background();
    scene.raise(kReady);
    scene.await(kGivenUp);
    if (how == "computing") scene.job.resume_background();
}

char state_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto end = text.rfind(") ");
    return end == std::string::npos ? '?' : text[end + 2];
}

void await_out(const Scene& scene, const std::string& how) {
    scene.await(kReady);
    if (how != "stopped") return;
    while (state_of(static_cast<pid_t>(scene.at(kProcess).load())) != 'T') sleep_us(1000);
}

void resume(const Scene& scene, const std::string& how) {
    scene.raise(kGivenUp);
    if (how == "stopped") ::kill(static_cast<pid_t>(scene.at(kProcess).load()), SIGCONT);
}

}  // namespace

// The first rank gives up a large send to the second one, which does not receive it. Words: how it gives up (deadline, dropped, assigned,
// wait_all), and what the second does meanwhile (stay_out).
ROLLCALL_SCENARIO(send_given_up) {
    const std::string how = scene.word(0), why = scene.word(1);
    connect(scene);
    if (scene.rank == 1) stay_out(scene, why);
    if (scene.rank == 0) {
        await_out(scene, why);
        auto data = pattern(kLargeMessage, 1);
        if (how == "deadline")
            expect_error(ErrorCode::timeout, "a send to who does not progress",
                         [&] { scene.world.send(data.data(), kLargeMessage, 1, 7, kSoon); });
        if (how == "dropped") Request dropped = scene.world.start_send(std::span(data), 1, 7);
        if (how == "assigned") {
            Request request = scene.world.start_send(std::span(data), 1, 7);
            request = Request();
        }
        if (how == "wait_all") {
            std::vector<Request> requests;
            for (int i = 0; i < 4; ++i) requests.push_back(scene.world.start_send(std::span(data), 1, 7));
            expect_error(ErrorCode::timeout, "sends to who does not progress", [&] { Request::wait_all(requests, kSoon); });
        }
        // The buffer is free. Data written there now belongs to no message.
        std::fill(data.begin(), data.end(), std::byte{0xee});
        resume(scene, why);
        data = pattern(kLargeMessage, 2);
        scene.world.send(data.data(), kLargeMessage, 1, 7, kPatience);
    }
    if (scene.rank == 1) {
        // A send that was given up arrives whole, or not at all.
        std::vector<std::byte> in(kLargeMessage);
        const auto second = pattern(kLargeMessage, 2);
        for (int i = 0; i < 5; ++i) {
            check(scene.world.receive(in.data(), kLargeMessage, 0, 7, kPatience).bytes == kLargeMessage, "a message came short");
            if (in == second) break;
            check_pattern(in.data(), kLargeMessage, 1, "what was given up");
        }
        check(in == second, "the send after the one that was given up did not come");
    }
    all_is_well(scene);
}

// The second rank gives up the receive of a message that the first has offered. Words: how (deadline, dropped), and when: after it has
// asked for the data of a sender that does not progress (asked), or after a part of the data has come (moving).
ROLLCALL_SCENARIO(receive_given_up) {
    const std::string how = scene.word(0);
    const bool moving = scene.word(1) == "moving";
    const std::uint64_t bytes = moving ? kHuge : kLargeMessage;
    connect(scene);
    if (scene.rank == 0) {
        const auto data = pattern(bytes, 1);
        scene.job.pause_background();
        Request send = scene.world.start_send(std::span(data), 1, 7);
        scene.raise(kReady);
        while (moving && scene.at(kMoving).load() == 0) scene.job.progress();
        scene.await(kGivenUp);
        scene.job.resume_background();
        try {
            send.wait(4 * kSoon);  // It may have gone, may fail because no rank took it, or may still wait.
        } catch (const Error& error) {
            check(error.code() == ErrorCode::state || error.code() == ErrorCode::timeout, "the send ended with {}: {}", name(error.code()),
                  error.what());
        }
    }
    if (scene.rank == 1) {
        std::vector<std::byte> in(bytes, std::byte{0xee});
        scene.await(kReady);
        Request request = scene.world.start_receive(std::span(in), 0, 7);
        bool done = false;  // The transport may need no progress of the sender, or be quick. Then there is nothing to give up.
        for (int i = 0; !done && (moving ? glance(in[0]) == std::byte{0xee} : i < 50); ++i) {
            done = request.test().has_value();
            if (!moving) sleep_us(1000);
        }
        scene.raise(kMoving);
        if (!done && how == "deadline") {
            try {
                request.wait(moving ? Timeout::zero() : kSoon);
                done = true;
            } catch (const Error& error) {
                check(error.code() == ErrorCode::timeout, "the receive failed with {}: {}", name(error.code()), error.what());
            }
        }
        request = Request();
        if (done) check_pattern(in.data(), bytes, 1, "a message that could not be given up");
        fmt::print("rank 1 has {}\n", done ? "received it" : "given it up");
        std::fill(in.begin(), in.end(), std::byte{0xee});
        scene.raise(kGivenUp);
        all_is_well(scene);
        check(all_are(in, std::byte{0xee}), "the buffer was written after it was given back");
        return;
    }
    all_is_well(scene);
}

// The root gives up a broadcast. That breaks its communicator for all its ranks, and nothing else.
ROLLCALL_SCENARIO(broadcast_given_up) {
    const std::string algorithm = scene.word(0), why = scene.word(1);
    connect(scene);
    const Communicator part = scene.world.duplicate();
    part.barrier();
    auto data = pattern(kLargeMessage, 1);
    if (scene.rank == 1) stay_out(scene, why);
    if (scene.rank == 0) {
        await_out(scene, why);
        expect_error(ErrorCode::timeout, "a broadcast to who does not progress",
                     [&] { part.broadcast(std::span(data), 0, within(kSoon, algorithm)); });
        std::fill(data.begin(), data.end(), std::byte{0xee});
        resume(scene, why);
    } else {
        const Error error = expect_error(ErrorCode::timeout, "a broadcast that its root has given up", [&] {
            part.broadcast(std::span(data), 0, within(kPatience, algorithm));
            part.barrier(kPatience);
        });
        check(std::string(error.what()).find("broadcast") != std::string::npos, "it says '{}'", error.what());
    }
    all_is_well(scene);
}

// Many transfers are given up, in all directions at once and while all ranks are well, some as the first message between two ranks.
ROLLCALL_SCENARIO(storm_of_giving_up) {
    std::mt19937_64 random(static_cast<std::uint64_t>(scene.number(1, 1)) * 100 + static_cast<std::uint64_t>(scene.rank));
    std::vector<std::byte> out(kLargeMessage, std::byte{1}), in(kLargeMessage);
    const Communicator& world = scene.world;
    for (int i = 0; i < scene.number(0, 20); ++i)
        for (int distance = 1; distance < scene.size; ++distance) {
            const int to = (scene.rank + distance) % scene.size, from = (scene.rank + scene.size - distance) % scene.size;
            const std::uint64_t bytes = random() % (random() % 2 ? kLargeMessage : 20'000);
            Request send = world.start_send(out.data(), bytes, to, static_cast<Tag>(i));
            Request receive = world.start_receive(in.data(), kLargeMessage, from, static_cast<Tag>(i));
            const auto end = [&](Request& request) {
                try {
                    switch (random() % 4) {
                        case 0: request = Request(); return;
                        case 1: request.wait(std::chrono::microseconds(random() % 300)); return;
                        case 2: request.wait(Timeout::zero()); return;
                        default: request.test();
                    }
                } catch (const Error& error) {
                    check(error.code() == ErrorCode::timeout, "giving up gave {}", error.what());
                }
            };
            end(send);
            end(receive);
        }
    all_is_well(scene);
}

// A rank gives a barrier up and then sends a message. Whoever has the message knows of the failure, whatever way the message went.
ROLLCALL_SCENARIO(told_before_a_message) {
    const Communicator& world = scene.world;
    const auto tell = [&](const Communicator& through, int value) {
        if (scene.rank != 0)
            through.send(value, 0, 1);
        else
            for (int rank = 1; rank < scene.size; ++rank)
                check(through.receive<int>(rank, 1) == value, "message {} of rank {}", value, rank);
    };
    // After these, short messages of a node have a way of their own.
    for (int i = 0; i < 40; ++i) tell(world, i);
    for (int round = 0; round < scene.number(0, 30); ++round) {
        const Communicator part = world.duplicate();
        if (scene.rank != 0) {
            Request barrier = part.start_barrier();
            expect_error(ErrorCode::timeout, "a barrier without rank 0", [&] { barrier.wait(std::chrono::microseconds(0)); });
        }
        if (scene.rank == 0) sleep_us(1000);  // both have come when it looks
        tell(round % 2 == 0 ? world : part, round);
        expect_error(ErrorCode::timeout, fmt::format("barrier {} after its failure", round), [&] { part.barrier(); });
    }
}

// Many large sends to ranks that do not progress are given up together.
ROLLCALL_SCENARIO(all_given_up) {
    connect(scene);
    if (scene.rank == 0) {
        scene.await(kReady, static_cast<std::uint64_t>(scene.size - 1));
        const auto data = pattern(kLargeMessage, 1);
        const auto time_to_give_up = [&](milliseconds deadline) {
            std::vector<Request> requests;
            for (int peer = 1; peer < scene.size; ++peer) requests.push_back(scene.world.start_send(std::span(data), peer, 7));
            const auto begun = std::chrono::steady_clock::now();
            if (scene.word(0) == "dropped")
                requests.clear();
            else
                expect_error(ErrorCode::timeout, "sends to who does not progress", [&] { Request::wait_all(requests, deadline); });
            return std::chrono::steady_clock::now() - begun;
        };
        // If each send had the whole deadline, or took a second, no attempt would be shorter than all deadlines together. What else a busy
        // machine does matters less where the deadline is longer.
        bool together = false;
        for (milliseconds deadline{50}; deadline < seconds(1) && !together; deadline *= 2)
            together = time_to_give_up(deadline) < deadline * (scene.size - 1);
        check(together, "{} sends are given up one after the other", scene.size - 1);
        scene.raise(kGivenUp);
    } else {
        if (scene.word(1) == "computing") scene.job.pause_background();
        scene.at(kReady).fetch_add(1);
        scene.await(kGivenUp);
        if (scene.word(1) == "computing") scene.job.resume_background();
    }
    all_is_well(scene);
}

}  // namespace rollcall::test
