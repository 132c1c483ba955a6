/// \file
/// Scenarios of the end: finalize() while operations are under way, or while other ranks still call.
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

constexpr std::size_t kRefused = 0;  // Of the scene's shared words.
constexpr std::size_t kInside = 1;

// Larger than an eager message.
constexpr std::uint64_t kLarge = 300'000;

CollectiveOptions no_longer_than(Timeout timeout) {
    CollectiveOptions options;
    options.timeout = timeout;
    return options;
}

// Checks that everything works: a barrier, a broadcast, and messages in both directions, with the right data.
void all_is_well(const Scene& scene, std::uint64_t round) {
    scene.world.barrier();
    auto data = pattern(kLarge, scene.rank == 0 ? round : ~round);
    scene.world.broadcast(std::span(data), 0);
    check_pattern(data.data(), kLarge, round, "a broadcast");
    const auto key = [&](int from) { return round + static_cast<std::uint64_t>(from) + 1; };
    for (const int distance : {1, scene.size - 1}) {
        const auto out = pattern(kLarge, key(scene.rank));
        std::vector<std::byte> in(kLarge);
        const int from = (scene.rank + scene.size - distance) % scene.size;
        Request send = scene.world.start_send(std::span(out), (scene.rank + distance) % scene.size, 55);
        check(scene.world.receive(std::span(in), from, 55).bytes == kLarge, "a message came short");
        send.wait();
        check_pattern(in.data(), kLarge, key(from), "a message");
    }
}

}  // namespace

// The first rank calls finalize() while operations of its own are under way. It is told so, and no other rank notices. The operations end
// well afterwards. Words: what is under way, how many collective operations and how many messages that is.
ROLLCALL_SCENARIO(finalize_refused) {
    const std::string what = scene.word(0);
    const int operations = scene.number(1, 0), messages = scene.number(2, 0);
    const Communicator& world = scene.world;
    const Communicator part = world.duplicate();
    const std::uint64_t count = static_cast<std::uint64_t>(scene.size);
    auto block = pattern(kLarge, 5);
    std::vector<std::byte> all(kLarge * count);
    const bool plans = what == "begun_plan" || what == "started_plan" || what == "all";
    Plan plan;
    if (plans) plan = part.plan_gather(std::span<const std::byte>(block), std::span(all), 0);
    world.barrier();
    if (scene.rank == 0) {
        const bool everything = what == "all";
        std::vector<std::byte> in(kLarge), other(kLarge);
        int value = 0;
        Request send, receive, next, barrier;
        std::thread thread;
        if (what == "send" || everything) send = world.start_send(std::span<const std::byte>(block), 1, 1);
        if (what == "receive" || everything) receive = world.start_receive(std::span(in), 1, 2);
        if (what == "next_size" || everything) next = world.start_next_size(1, 4);
        if (what == "barrier") barrier = world.start_barrier();
        if (what == "begun_plan" || what == "started_plan" || everything) plan.begin();
        if (what == "started_plan") plan.start();
        if (what == "thread" || everything) {
            thread = std::thread([&] {
                Request its = world.start_receive(value, 1, 3);
                scene.raise(kInside);
                its.wait();
            });
            scene.await(kInside);
        }
        const Error error = expect_error(ErrorCode::state, "an end with " + what + " under way", [&] { scene.job.finalize(); });
        fmt::print("rank 0 refused: {}\n", error.what());
        if (operations) check(says(error, fmt::format("{} collective operation", operations)), "it says '{}'", error.what());
        if (messages) check(says(error, fmt::format("{} point-to-point", messages)), "it says '{}'", error.what());
        check(says(error, "rank 0"), "the rank is not named: '{}'", error.what());
        if (receive) check(says(error, "with tag"), "no receive is named: '{}'", error.what());
        if (what == "next_size")
            check(says(error, "for example a wait for a message with tag 4 from rank 1 of"), "it is not named: '{}'", error.what());
        if (barrier) check(says(error, "barrier") && says(error, world.name()), "the barrier is not named: '{}'", error.what());
        scene.raise(kRefused);
        if (receive) {
            receive.wait();
            check_pattern(in.data(), kLarge, 6, "what was under way");
        }
        if (send) send.wait();
        if (next) {
            check(next.wait().bytes == sizeof(int), "the message that was waited for has another size");
            check(world.receive<int>(1, 4) == 4, "it has another value");
        }
        if (barrier) barrier.wait();
        if (what == "begun_plan" || everything) plan.run();
        if (what == "started_plan") plan.wait();
        if (thread.joinable()) thread.join();
        if (what == "thread" || everything) check(value == 77, "the other thread's receive gave {}", value);
    } else {
        scene.await(kRefused);
        if (scene.rank == 1 && (what == "send" || what == "all")) {
            std::vector<std::byte> in(kLarge);
            world.receive(std::span(in), 0, 1);
            check_pattern(in.data(), kLarge, 5, "the send that was under way");
        }
        if (scene.rank == 1 && (what == "receive" || what == "all")) world.send(std::span<const std::byte>(pattern(kLarge, 6)), 0, 2);
        if (scene.rank == 1 && (what == "next_size" || what == "all")) world.send(4, 0, 4);
        if (what == "barrier") world.barrier();
        if (plans) plan.run();
        if (scene.rank == 1 && (what == "thread" || what == "all")) world.send(77, 0, 3);
    }
    plan = {};
    all_is_well(scene, 1000);
}

// Objects that were destroyed do not hinder finalize().
ROLLCALL_SCENARIO(finalize_after_dropping) {
    auto data = pattern(kLarge, 1);
    std::vector<std::byte> in(kLarge);
    if (scene.rank == 0) {
        Request send = scene.world.start_send(std::span<const std::byte>(data), 1, 1);
        Request receive = scene.world.start_receive(std::span(in), 1, 2);
        expect_error(ErrorCode::state, "an end with two requests", [&] { scene.job.finalize(); });
        scene.raise(kRefused);
    } else {
        scene.await(kRefused);
    }
    all_is_well(scene, 2000);
}

// A request outlives its job: it still exists when the process ends. (The end of the job reports it, in main.)
ROLLCALL_SCENARIO(leaves_a_request) {
    static std::vector<std::byte> data(kLarge);
    static Request kept;
    scene.world.barrier();
    if (scene.rank != 0) return;
    const std::string what = scene.word(0);
    if (what == "send") kept = scene.world.start_send(std::span<const std::byte>(data), 1, 1);
    if (what == "receive") kept = scene.world.start_receive(std::span(data), 1, 1);
    if (what == "next_size") kept = scene.world.start_next_size(1, 1);
    if (what == "barrier") kept = scene.world.start_barrier();
}

// The last rank finalizes while the others call. They are told which rank they wait for, and what that rank does instead.
ROLLCALL_SCENARIO(finalize_while_others_call) {
    const std::string what = scene.word(0, "barrier");
    const int last = scene.size - 1;
    const Communicator part = scene.world.duplicate();
    if (scene.rank == last) {
        // This rank may be told of the others' calls, or may reach the end together with them once they have been told.
        try {
            scene.job.finalize();
        } catch (const Error& error) {
            check(error.code() == ErrorCode::mismatch || error.code() == ErrorCode::state, "the end failed otherwise: {}", error.what());
        }
        return;
    }
    std::uint64_t value = 1;
    std::vector<std::uint64_t> all(static_cast<std::size_t>(scene.size));
    const std::vector<std::byte> block(kLarge);
    const std::span<const std::byte> long_block(block);
    const Error error = [&] {
        try {
            for (int i = 0; i < 2; ++i) {
                if (what == "barrier") part.barrier(std::chrono::seconds(20));
                if (what == "broadcast") part.broadcast(value, last, no_longer_than(std::chrono::seconds(20)));
                if (what == "gather") part.gather(value, all, 0, no_longer_than(std::chrono::seconds(20)));
                if (what == "long_gather") part.gather(long_block, std::span<std::byte>(), last, no_longer_than(std::chrono::seconds(20)));
            }
            part.barrier(std::chrono::seconds(20));  // A rank that only contributed is told there.
        } catch (const Error& told) {
            return told;
        }
        throw Wrong(what + " ended well though one rank has gone to the end");
    }();
    check(error.code() == ErrorCode::mismatch || error.code() == ErrorCode::state, "a {} was told as {}: {}", what, name(error.code()),
          error.what());
    check(says(error, "finalize") && says(error, fmt::format("rank {}", last)), "the one who left is not named: '{}'", error.what());
    fmt::print("rank {} told: {}\n", scene.rank, error.what());
}

// All ranks but the root hand a block over and are done with it: their buffers are free, the communicator is destroyed, and (word 0: now)
// they leave the job, all before the root has called. The root receives the data that was in the buffers at the time of the call.
ROLLCALL_SCENARIO(hands_over) {
    const bool leaves_now = scene.word(0) == "now";
    const int root = scene.size - 1;
    auto block = pattern(kLarge, static_cast<std::uint64_t>(scene.rank) + 7);
    std::vector<std::byte> all(scene.rank == root ? kLarge * static_cast<std::uint64_t>(scene.size) : 0);
    {
        const Communicator part = scene.world.duplicate();
        scene.world.barrier();
        if (scene.rank != root) {
            part.gather(std::span<const std::byte>(block), std::span(all), root);
            // This happens before the root calls, because the root waits for these words.
            std::fill(block.begin(), block.end(), std::byte{0xee});
            scene.world.send(scene.rank, root, 3);
        } else {
            for (int rank = 0; rank < root; ++rank) {
                int word = -1;
                scene.world.receive(word, rank, 3);
                check(word == rank, "a word is wrong");
            }
            part.gather(std::span<const std::byte>(block), std::span(all), root);
            for (int rank = 0; rank < scene.size; ++rank)
                check_pattern(all.data() + static_cast<std::uint64_t>(rank) * kLarge, kLarge, static_cast<std::uint64_t>(rank) + 7,
                              "a block");
        }
    }
    if (!leaves_now) all_is_well(scene, 40);
}

// Like hands_over, but the root of a scatter hands the blocks over. It has its own block at once.
ROLLCALL_SCENARIO(hands_blocks_over) {
    const bool leaves_now = scene.word(0) == "now";
    const int root = scene.size - 1;
    std::vector<std::byte> block(kLarge), all;
    if (scene.rank == root)
        for (int rank = 0; rank < scene.size; ++rank) {
            const auto its = pattern(kLarge, static_cast<std::uint64_t>(rank) + 9);
            all.insert(all.end(), its.begin(), its.end());
        }
    {
        const Communicator part = scene.world.duplicate();
        scene.world.barrier();
        if (scene.rank != root) {
            int word = -1;
            scene.world.receive(word, root, 3);
        }
        part.scatter(std::span<const std::byte>(all), std::span(block), root);
        check_pattern(block.data(), kLarge, static_cast<std::uint64_t>(scene.rank) + 9, "a block");
        if (scene.rank == root) {
            std::fill(all.begin(), all.end(), std::byte{0xee});
            for (int rank = 0; rank < root; ++rank) scene.world.send(rank, rank, 3);
        }
    }
    if (!leaves_now) all_is_well(scene, 60);
}

// The root of a broadcast hands its data over, and then the call fails. Rank 1 has no room for the data and does not call the broadcast.
// Words: why it fails ("mismatch": rank 1 calls a barrier, "timeout": rank 2 gives up), and who tells the root ("call": its next call on
// the communicator, "end": finalize(), "dropped": finalize() after the root has destroyed the communicator).
ROLLCALL_SCENARIO(hands_over_in_vain) {
    const bool differs = scene.word(0) == "mismatch";
    const std::string told_by = scene.word(1);
    const ErrorCode code = differs ? ErrorCode::mismatch : ErrorCode::timeout;
    const CollectiveOptions chain{
        .algorithm = "pipelined", .segment_bytes = {}, .timeout = differs ? std::chrono::seconds(60) : std::chrono::milliseconds(50)};
    auto data = pattern(kLarge, 3);
    std::vector<std::byte> filler(3 * kLarge);
    Communicator part = scene.world.duplicate();
    if (scene.rank == 0) {
        scene.world.start_send(filler, 1, 5).wait();  // It has landed.
        part.broadcast(data, 0, {.algorithm = "pipelined", .segment_bytes = {}, .timeout = {}});
        scene.world.send(1, 1, 6);
        scene.world.send(1, 2, 6);
        if (told_by == "dropped") part = {};
        const Error error =
            expect_error(code, "what follows the call that failed", [&] { told_by == "call" ? part.barrier() : scene.job.finalize(); });
        check(says(error, "broadcast") && says(error, differs ? "rank 1 called barrier" : "rank 2"), "it says '{}'", error.what());
    } else {
        scene.world.receive<int>(0, 6);
        if (scene.rank == 1 && differs) expect_error(code, "a barrier", [&] { part.barrier(); });
        if (scene.rank == 2) expect_error(code, "a broadcast", [&] { part.broadcast(data, 0, chain); });
        if (scene.rank == 2) scene.world.send(1, 1, 7);
        if (scene.rank == 1) scene.world.receive<int>(2, 7);
        if (scene.rank == 1) scene.world.receive(filler, 0, 5);
    }
}

// A rank passes a broadcast on while its own caller is elsewhere. Words: how many calls ahead, and the algorithm.
ROLLCALL_SCENARIO(begins_early) {
    const int ahead = scene.number(0, 3);
    const int late = 1;
    const std::string algorithm = scene.word(1, "pipelined");
    const CollectiveOptions chain{.algorithm = algorithm, .segment_bytes = 32 << 10, .timeout = std::chrono::seconds(60)};
    scene.world.barrier();
    // Waits until all others have reported that they have all data.
    for (int rank = 0; scene.rank == late && rank < scene.size; ++rank) {
        int word = 0;
        if (rank != late && rank != 0) scene.world.receive(word, rank, 4);
    }
    for (int call = 0; call < ahead; ++call) {
        auto data = pattern(kLarge, scene.rank == 0 ? static_cast<std::uint64_t>(call) + 100 : 0);
        scene.world.broadcast(std::span(data), 0, chain);
        check_pattern(data.data(), kLarge, static_cast<std::uint64_t>(call) + 100, "a broadcast");
    }
    if (scene.rank != late && scene.rank != 0) scene.world.send(scene.rank, late, 4);
    all_is_well(scene, 50);
}

// A rank collects for others while its own caller is elsewhere: the ranks below it are done with all calls before it makes the first.
// Words: how many calls.
ROLLCALL_SCENARIO(collects_early) {
    const int calls = scene.number(0, 3), late = 2;
    const CollectiveOptions tree{.algorithm = "binomial", .segment_bytes = {}, .timeout = std::chrono::seconds(60)};
    const auto value = [](int call, int rank) { return static_cast<std::uint64_t>(call) * 31 + static_cast<std::uint64_t>(rank); };
    std::vector<std::uint64_t> block(kLarge / 8), all(scene.rank == 0 ? block.size() * static_cast<std::size_t>(scene.size) : 0),
        sum(block);
    scene.world.barrier();
    // Waits until all others that only contribute have reported that their data is on its way.
    for (int rank = 0; scene.rank == late && rank < scene.size; ++rank) {
        int word = 0;
        if (rank != late && rank != 0) scene.world.receive(word, rank, 4);
    }
    for (int call = 0; call < calls; ++call) {
        std::fill(block.begin(), block.end(), value(call, scene.rank));
        if (call % 2 == 0) {
            scene.world.gather(block, std::span(all), 0, tree);
            for (std::size_t at = 0; at < all.size(); ++at)
                check(all[at] == value(call, static_cast<int>(at / block.size())), "call {}: element {} is {}", call, at, all[at]);
        } else {
            scene.world.reduce(block, std::span(sum), std::plus(), 0, tree);
            std::uint64_t expected = 0;
            for (int rank = 0; rank < scene.size; ++rank) expected += value(call, rank);
            for (const std::uint64_t one : sum) check(scene.rank != 0 || one == expected, "call {}: {} instead of {}", call, one, expected);
        }
    }
    if (scene.rank != late && scene.rank != 0) scene.world.send(scene.rank, late, 4);
    all_is_well(scene, 70);
}

// Rank 0 leaves before it has done anything. Its memory goes with it.
ROLLCALL_SCENARIO(leaves_at_once) {
    if (scene.rank != 0) {
        const Error error = expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
        check(says(error, "rank 0") && says(error, "left the job by leave()"), "it says '{}'", error.what());
    }
    scene.job.leave();
    scene.end_may_say = "was finalized";
}

// A thread of rank 1 throws while the program leaves the job. The program ends, and the others hear of the exception or that the rank has
// left.
ROLLCALL_SCENARIO(throws_while_leaving) {
    ::signal(SIGTERM, SIG_IGN);  // the launcher's request to end
    scene.world.barrier();
    if (scene.rank == 1) {
        std::atomic<bool> leaves = false;
        std::thread([&] {
            while (!leaves) std::this_thread::yield();
            throw std::runtime_error("a wheel fell off");
        }).detach();
        leaves = true;
        scene.job.leave();
        for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));  // until the exception ends the program
    }
    const Error error = expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    check(error.failed_rank() == 1, "rank {} was named", error.failed_rank());
    check(says(error, "a wheel fell off") || says(error, "left the job by leave()") || says(error, "killed by signal 6"), "it says '{}'",
          error.what());
    throw Error(error);
}

}  // namespace rollcall::test
