/// \file
/// Scenarios of ranks that sleep or compute, of the background thread, and of progress that the host program drives.
#include <algorithm>

#include "tests/process/ranks/collectives.hpp"
#include "tests/process/ranks/event_loop.hpp"

namespace rollcall::test {

// Notices must wake owners that sleep. A missed notice would make the test hang. Words: algorithm, count, greatest sleep.
ROLLCALL_SCENARIO(wakes) {
    Random own = own_random(scene, 23);
    const std::string algorithm = scene.word(0);
    for (int i = 0; i < scene.number(1, 2000); ++i) {
        delay(own, static_cast<std::uint64_t>(scene.number(2, 200)));
        std::uint64_t value = scene.rank == i % scene.size ? static_cast<std::uint64_t>(i) + 1 : 0;
        scene.world.broadcast(value, i % scene.size, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
        check(value == static_cast<std::uint64_t>(i) + 1, "broadcast {} gave {}", i, value);
    }
}

// The root has started a broadcast and computes. Its background thread may have parked. Receivers that arrive then must be served: the root
// makes no call before they have the data. Words: algorithm, count.
ROLLCALL_SCENARIO(parked_root) {
    if (scene.size < 2) return;
    Random own = own_random(scene, 29);
    const std::uint64_t receivers = static_cast<std::uint64_t>(scene.size - 1);
    for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(scene.number(1, 100)); ++i) {
        const std::string algorithm = scene.word(0);
        std::vector<std::byte> data(5000);
        if (scene.rank == 0) {
            data = pattern(data.size(), i);
            Request request = scene.world.start_broadcast(std::span(data), 0, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
            scene.await(0, i * receivers);
            request.wait();
        } else {
            sleep_us(static_cast<std::int64_t>(own() % 4000));
            scene.world.broadcast(std::span(data), 0, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
            scene.at(0).fetch_add(1);
        }
        check_pattern(data.data(), data.size(), i, "a broadcast of a parked root");
    }
    if (scene.rank == 0) fmt::print("{} parks\n", scene.job.progress_statistics().background_parks);
}

// Without a background thread a caller stays until its data has left, although it has copied it or could: rank 1 gets everything while no
// other rank makes a call. In the reduce the last of four ranks is the parent of rank 0, whose data may come before its own call.
ROLLCALL_SCENARIO(stays_until_its_data_has_left) {
    constexpr std::size_t kBytes = 300'000;
    const CollectiveOptions options{.algorithm = {}, .segment_bytes = {}, .timeout = kPatience};
    const CollectiveOptions tree{.algorithm = "binomial", .segment_bytes = {}, .timeout = kPatience};
    const auto data = pattern(kBytes, key(0, 1));
    std::vector<std::byte> into(kBytes), all(static_cast<std::size_t>(scene.size) * kBytes);
    const std::vector<long> ones(kBytes / sizeof(long), 1);
    std::vector<long> sums(ones.size());
    for (std::size_t call = 0; call < 3; ++call) {
        if (scene.rank == 0) into = data;
        switch (call) {
            case 0: scene.world.broadcast(std::span(into), 0, options); break;
            case 1: scene.world.gather(std::span(data), std::span(all), 1, options); break;
            default:
                for (int look = 0; look < 30 && scene.rank == scene.size - 1; ++look, sleep_us(1000)) scene.job.progress();
                scene.world.reduce(std::span(ones), std::span(sums), std::plus(), 1, tree);
        }
        if (scene.rank == 1)
            scene.raise(call);
        else
            scene.await(call);
        check_pattern(into.data(), kBytes, key(0, 1), "a broadcast");
    }
    if (scene.rank != 1) return;
    check_pattern(all.data(), kBytes, key(0, 1), "a block");
    check(sums == std::vector<long>(ones.size(), scene.size), "a wrong sum");
}

// The program has an event loop: it starts requests, and calls progress() when the descriptor is readable.
ROLLCALL_SCENARIO(event_loop) {
    for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(scene.number(0, 50)); ++round) {
        const std::uint64_t bytes = round % 3 == 0 ? 200'000 : 8;
        const auto out = pattern(bytes, key(scene.rank, round));
        std::vector<std::byte> in(bytes);
        std::vector<std::byte> all = scene.rank == 0 ? pattern(1000, round) : std::vector<std::byte>(1000);
        Request requests[] = {
            scene.world.start_send(std::span(out), scene.next()), scene.world.start_receive(std::span(in), scene.previous()),
            scene.world.start_broadcast(std::span(all), 0,
                                        {.algorithm = round % 2 ? "binomial" : "arrival_blocking", .segment_bytes = {}, .timeout = {}}),
            scene.world.start_barrier()};
        wait_in_event_loop(scene.job, requests);
        check_pattern(in.data(), bytes, key(scene.previous(), round), "a message in an event loop");
        check_pattern(all.data(), all.size(), round, "a broadcast in an event loop");
    }
    scene.world.barrier();
}

// A program that computes for long is not disturbed: the background thread sleeps until something arrives. With nothing under way, and with
// operations that wait. Words: milliseconds.
ROLLCALL_SCENARIO(idle) {
    for (const bool waiting : {false, true}) {
        scene.world.barrier();
        int value = 0;
        Request request, barrier;
        if (waiting) request = scene.world.start_receive(std::span(&value, 1), scene.previous(), 8);
        if (waiting && scene.rank == 0) barrier = scene.world.start_barrier();
        const ProgressStatistics before = scene.job.progress_statistics();
        sleep_us(1000 * scene.number(0, 1000));
        const ProgressStatistics after = scene.job.progress_statistics();
        const std::uint64_t looks = after.background_looks - before.background_looks;
        fmt::print("rank {} slept {} ms{}: {} looks, {} parks, {} us of CPU\n", scene.rank, scene.number(0, 1000),
                   waiting ? " with receives" : "", looks, after.background_parks - before.background_parks,
                   (after.background_cpu_time - before.background_cpu_time) / 1000);
        // A thread that does not sleep looks at least a thousand times a second.
        check(looks < static_cast<std::uint64_t>(scene.number(0, 1000)) / 2,
              "the background thread has looked {} times though nothing happened", looks);
        if (waiting && scene.rank != 0) barrier = scene.world.start_barrier();
        if (waiting) {
            scene.world.send(scene.rank, scene.next(), 8);
            request.wait();
            barrier.wait();
        }
    }
}

// A part has begun without its caller and has ended. The background thread sleeps soon, though it would wait for silence without end
// otherwise: the first message of the next call must not wait for a tick.
ROLLCALL_SCENARIO(sleeps_after_a_part) {
    if (scene.size != 2) return;
    constexpr std::size_t kRounds = 5;
    constexpr std::uint64_t kBytes = 100'000, kFewLooks = 20;  // A thread that does not sleep looks 100 times or more.
    std::uint64_t least = ~std::uint64_t{0};
    for (std::size_t round = 1; round <= kRounds; ++round) {
        std::vector<std::byte> data = scene.rank == 0 ? pattern(kBytes, round) : std::vector<std::byte>(kBytes);
        if (scene.rank == 0) {
            scene.world.broadcast(std::span(data), 0, {.until_delivered = true});
            scene.raise(round);
        } else {
            scene.await(round);
            const std::uint64_t before = scene.job.progress_statistics().background_looks;
            sleep_us(200'000);
            least = std::min(least, scene.job.progress_statistics().background_looks - before);
            scene.world.broadcast(std::span(data), 0);
        }
        check_pattern(data.data(), kBytes, round, "a broadcast that began before its caller");
    }
    if (scene.rank == 0) return;
    // Where other programs need the core, one of the rounds must do.
    fmt::print("{} looks in 200 ms\n", least);
    check(least < kFewLooks, "the background thread has looked {} times in 200 ms after a part had ended", least);
}

// A rank comes while the pieces of a long broadcast come, at any time. Some calls it starts. Words: count, greatest
// sleep in us.
ROLLCALL_SCENARIO(comes_in_the_middle) {
    constexpr std::uint64_t kBytes = 4 << 20;
    Random own = own_random(scene, 31);
    for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(scene.number(0, 20)); ++i) {
        std::vector<std::byte> data = scene.rank == 0 ? pattern(kBytes, i) : std::vector<std::byte>(kBytes);
        CollectiveOptions options{.algorithm = i % 3 == 2 ? "binomial" : "pipelined", .segment_bytes = 100'000, .timeout = {}};
        if (scene.rank == 0 || i % 2 == 0) {
            if (scene.rank != 0) sleep_us(static_cast<std::int64_t>(own() % static_cast<std::uint64_t>(scene.number(1, 5000))));
            Request request = scene.world.start_broadcast(std::span(data), 0, options);
            sleep_us(static_cast<std::int64_t>(own() % 1000));
            request.wait();
        } else {
            sleep_us(static_cast<std::int64_t>(own() % static_cast<std::uint64_t>(scene.number(1, 5000))));
            scene.world.broadcast(std::span(data), 0, options);
        }
        check_pattern(data.data(), kBytes, i, "a broadcast in pieces");
    }
}

// A paused background thread moves nothing, but calls do. After it is resumed, it moves data again.
ROLLCALL_SCENARIO(pause) {
    if (scene.size < 2) return;
    constexpr std::uint64_t kBytes = 1 << 20;
    for (std::size_t round = 0; round < 3; ++round) {
        scene.world.barrier();
        if (scene.rank == 0) {
            scene.await(10 * round);
            const auto out = pattern(kBytes, round);
            Request send = scene.world.start_send(std::span(out), 1);
            for (int i = 0; i < 50; ++i) {
                check(!send.test(), "a send was done though nobody took it");
                sleep_us(500);
            }
            scene.raise(10 * round + 1);
            send.wait();  // Lands, now that the background thread is back.
            scene.raise(10 * round + 2);
        } else if (scene.rank == 1) {
            scene.job.pause_background();
            scene.job.pause_background();
            scene.raise(10 * round);
            scene.await(10 * round + 1);
            scene.job.resume_background();
            scene.job.resume_background();
            expect_error(ErrorCode::state, "a third resume", [&] { scene.job.resume_background(); });
            scene.await(10 * round + 2);
            std::vector<std::byte> in(kBytes);
            scene.world.receive(std::span(in), 0);
            check_pattern(in.data(), kBytes, round, "after a pause");
        }
    }
    scene.job.pause_background();
    scene.world.barrier();
    int value = scene.rank;
    scene.world.broadcast(value, 0);
    check(value == 0, "a broadcast while paused");
    scene.job.resume_background();
}

}  // namespace rollcall::test
