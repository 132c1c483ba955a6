/// \file
/// Scenarios of broadcast, barrier, communicators, threads, and of progress that the host drives.
#include <algorithm>
#include <mutex>
#include <numeric>

#include <poll.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

using Random = std::mt19937_64;

std::uint64_t key(int root, std::uint64_t round) { return static_cast<std::uint64_t>(root) * 7'000'003 + round; }

void check_broadcast(const Communicator& communicator, std::uint64_t bytes, int root, std::uint64_t round,
                     const CollectiveOptions& options) {
    std::vector<std::byte> data = communicator.rank() == root ? pattern(bytes, key(root, round)) : std::vector<std::byte>(bytes);
    communicator.broadcast(data.data(), bytes, root, options);
    check_pattern(data.data(), bytes, key(root, round),
                  fmt::format("broadcast {} of {} bytes from {} of {} by {}", round, bytes, root, communicator.size(), options.algorithm));
}

// Sleeps 0 to `most` microseconds, each rank its own time, half of the times none.
void delay(Random& own, std::uint64_t most) {
    if (most && own() % 2) sleep_us(static_cast<std::int64_t>(own() % most));
}

Random own_random(const Scene& scene, std::uint64_t seed) { return Random(seed * 1009 + static_cast<std::uint64_t>(scene.rank)); }

// Runs work(thread) in that many threads; the first that finds something wrong speaks for all.
void in_threads(int threads, const std::function<void(int)>& work) {
    std::mutex mutex;
    std::string wrong;
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread)
        all.emplace_back([&, thread] {
            try {
                work(thread);
            } catch (const std::exception& error) {
                const std::lock_guard lock(mutex);
                if (wrong.empty()) wrong = fmt::format("thread {}: {}", thread, error.what());
            }
        });
    for (std::thread& thread : all) thread.join();
    check(wrong.empty(), "{}", wrong);
}

}  // namespace

// Words: algorithm, seed. All roots, sizes around thresholds, segments, delays.
ROLLCALL_SCENARIO(broadcasts) {
    const std::string algorithm = scene.word(0);
    Random own = own_random(scene, static_cast<std::uint64_t>(scene.number(1, 1)));
    std::uint64_t round = 0;
    const std::vector<std::uint64_t> sizes = {0, 1, 8, 100, 8191, 8192, 8193, 65'541, 131'073};
    for (const std::uint64_t bytes : sizes)
        for (int root = 0; root < scene.size; ++root) {
            delay(own, 300);
            check_broadcast(scene.world, bytes, root, ++round, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
        }
    for (const std::uint64_t segment : {0, 64, 1000, 65'536})
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{63}, std::uint64_t{4096}, std::uint64_t{100'001}}) {
            delay(own, 300);
            check_broadcast(scene.world, bytes, static_cast<int>(round % static_cast<std::uint64_t>(scene.size)), round,
                            {.algorithm = algorithm, .segment_bytes = segment, .timeout = {}});
            ++round;
        }
    for (int root : {0, scene.size - 1})
        check_broadcast(scene.world, (1 << 20) + 3, root, ++round, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
    check_broadcast(scene.world, 8 << 20, scene.size / 2, ++round, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});

    // One rank after the other is very late; the record tells it.
    for (int late = 0; late < scene.size; ++late) {
        if (scene.rank == late) sleep_us(3000);
        CallRecord record;
        std::uint64_t value = scene.rank == 0 ? round : 0;
        scene.world.broadcast(value, 0, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}, .record = &record});
        check(value == round, "a late rank: {} instead of {}", value, round);
        check(record.arrival > 0 && record.exit >= record.arrival, "the record is not in order");
    }
}

// Back to back, no barrier: algorithms, roots and sizes drawn by all ranks alike. Words: count, seed, greatest sleep in us.
ROLLCALL_SCENARIO(storm) {
    const std::uint64_t seed = static_cast<std::uint64_t>(scene.number(1, 1));
    Random same(seed);
    Random own = own_random(scene, seed);
    for (int i = 0; i < scene.number(0, 300); ++i) {
        const auto& algorithms = broadcast_algorithms();
        const std::string& algorithm = algorithms[same() % algorithms.size()];
        const int root = static_cast<int>(same() % static_cast<std::uint64_t>(scene.size));
        const std::uint64_t choices[] = {0, 8, 500, 8192, 12'000, 100'000};
        const std::uint64_t bytes = choices[same() % std::size(choices)];
        delay(own, static_cast<std::uint64_t>(scene.number(2, 0)));
        check_broadcast(scene.world, bytes, root, static_cast<std::uint64_t>(i),
                        {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
    }
    scene.world.barrier();
}

// Nobody leaves a barrier before all have entered it: a counter outside tells. Words: count.
ROLLCALL_SCENARIO(barriers) {
    Random own = own_random(scene, 5);
    const std::uint64_t size = static_cast<std::uint64_t>(scene.size);
    for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(scene.number(0, 200)); ++i) {
        if (i % 10 == 0) delay(own, 2000);
        scene.at(0).fetch_add(1);
        if (i % 4 == 0) {
            Request request = scene.world.start_barrier();
            if (i % 8 == 0)
                while (!request.test()) {
                }
            else
                request.wait();
        } else {
            scene.world.barrier();
        }
        const std::uint64_t entered = scene.at(0).load();
        check(entered >= i * size, "barrier {} was left when {} of {} had entered", i, entered - (i - 1) * size, size);
        // And nobody enters the next but one before all have left.
        check(entered <= (i + 1) * size, "barrier {}: {} entries", i, entered);
    }
}

// What is written to shared memory before a barrier is read after it, by plain instructions. Words: count.
ROLLCALL_SCENARIO(barriers_publish) {
    Random own = own_random(scene, 6);
    const auto word_of = [&](int rank) { return scene.at(static_cast<std::size_t>(rank)).load(std::memory_order_relaxed); };
    const Communicator part = scene.world.split(0, scene.size - scene.rank);
    for (std::uint64_t i = 1; i <= static_cast<std::uint64_t>(scene.number(0, 100)); ++i) {
        if (i % 20 == 0) delay(own, 1000);
        scene.at(static_cast<std::size_t>(scene.rank)).store(i, std::memory_order_relaxed);
        (i % 3 == 0 ? part : scene.world).barrier();
        for (int rank = 0; rank < scene.size; ++rank)
            check(word_of(rank) == i, "after barrier {} rank {}'s word is {}", i, rank, word_of(rank));
        (i % 2 == 0 ? part : scene.world).barrier();
    }
}

// Several operations of one communicator under way at once, ended in any order.
ROLLCALL_SCENARIO(started) {
    const auto& algorithms = broadcast_algorithms();
    for (std::uint64_t round = 0; round < 10; ++round) {
        std::vector<std::vector<std::byte>> buffers;
        std::vector<Request> requests;
        for (std::size_t i = 0; i < 2 * algorithms.size(); ++i) {
            const int root = static_cast<int>(i % static_cast<std::size_t>(scene.size));
            const std::uint64_t bytes = i % 3 == 0 ? 50'000 : 10 * i;
            buffers.push_back(scene.rank == root ? pattern(bytes, key(root, round * 100 + i)) : std::vector<std::byte>(bytes));
            requests.push_back(scene.world.start_broadcast(
                std::span(buffers.back()), root, {.algorithm = algorithms[i % algorithms.size()], .segment_bytes = {}, .timeout = {}}));
            if (i % 5 == 4) requests.push_back(scene.world.start_barrier());
        }
        if (round % 2 == 0) {
            Request::wait_all(requests);
        } else {
            for (std::size_t left = requests.size(); left > 0; --left) requests[Request::wait_any(requests)].wait();
        }
        for (std::size_t i = 0; i < buffers.size(); ++i)
            check_pattern(buffers[i].data(), buffers[i].size(),
                          key(static_cast<int>(i % static_cast<std::size_t>(scene.size)), round * 100 + i),
                          fmt::format("started broadcast {}", i));
    }
    scene.world.barrier();
}

// --- communicators -----------------------------------------------------------------------------------------------------

ROLLCALL_SCENARIO(splits) {
    const Communicator& world = scene.world;
    // By colour, in reverse order of rank.
    const Communicator part = world.split(scene.rank % 2, -scene.rank);
    const int members = (scene.size + 1 - scene.rank % 2) / 2;
    check(part.size() == members, "a part has {} ranks instead of {}", part.size(), members);
    check(part.rank() == members - 1 - scene.rank / 2, "rank {} is {} of its part", scene.rank, part.rank());
    for (int i = 0; i < members; ++i)
        check(part.world_rank(i) == 2 * (members - 1 - i) + scene.rank % 2, "rank {} of a part is {}", i, part.world_rank(i));
    for (const std::string& algorithm : broadcast_algorithms())
        for (int root = 0; root < members; ++root)
            check_broadcast(part, 10'000, root, static_cast<std::uint64_t>(scene.rank % 2),
                            {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
    part.barrier();

    // Same key: by rank. Some have no part.
    const Communicator some = world.split(scene.rank == 0 ? Communicator::kNoColor : 3, 0);
    check(bool(some) == (scene.rank != 0), "the wrong ranks have a part");
    if (some) {
        check(some.rank() == scene.rank - 1 && some.size() == scene.size - 1, "rank {} is {} of {}", scene.rank, some.rank(), some.size());
        check_broadcast(some, 500, some.size() - 1, 1, {});
    } else {
        expect_error(ErrorCode::state, "a barrier of a null communicator", [&] { some.barrier(); });
        expect_error(ErrorCode::state, "the rank in a null communicator", [&] { some.rank(); });
    }
    // Everybody alone.
    const Communicator alone = world.split(scene.rank, 0);
    check(alone.size() == 1 && alone.rank() == 0 && alone.world_rank(0) == scene.rank, "not alone");
    check_broadcast(alone, 100, 0, 2, {.algorithm = "arrival_nonblocking", .segment_bytes = {}, .timeout = {}});
    alone.barrier();
    // Parts of parts, and their duplicates.
    Communicator nested = world;
    for (int depth = 0; depth < 5; ++depth) {
        nested = (depth % 2 ? nested.split(nested.rank() % 2, 0) : nested.duplicate());
        check_broadcast(nested, 300, nested.size() - 1, static_cast<std::uint64_t>(depth), {});
        nested.barrier();
    }
    check(nested.name() != world.name(), "a part has the name of the whole");
    expect_error(ErrorCode::invalid_argument, "a negative colour", [&] { world.split(-7, 0); });
    world.barrier();
}

// Messages on different communicators do not mix, though tag and source are the same.
ROLLCALL_SCENARIO(separation) {
    std::vector<Communicator> all = {scene.world, scene.world.duplicate(), scene.world.duplicate(), scene.world.split(0, -scene.rank)};
    std::vector<int> out;
    std::vector<Request> sends;
    for (std::size_t i = 0; i < all.size(); ++i) out.push_back(scene.rank * 10 + static_cast<int>(i));
    const auto same_rank = [&](const Communicator& communicator, int world_rank) {
        for (int i = 0; i < communicator.size(); ++i)
            if (communicator.world_rank(i) == world_rank) return i;
        return -1;
    };
    for (std::size_t i = 0; i < all.size(); ++i)
        sends.push_back(all[i].start_send(std::span<const int, 1>(&out[i], 1), same_rank(all[i], scene.next()), 4));
    for (std::size_t i = all.size(); i-- > 0;) {
        const int got = all[i].receive<int>(same_rank(all[i], scene.previous()), 4);
        check(got == scene.previous() * 10 + static_cast<int>(i), "communicator {} got {}", i, got);
    }
    Request::wait_all(sends);
    scene.world.barrier();
}

// Made and let go again and again: slots are used anew, notices of former communicators are not taken for new ones.
ROLLCALL_SCENARIO(recreate) {
    Random own = own_random(scene, 3);
    Communicator kept;
    for (int i = 0; i < scene.number(0, 200); ++i) {
        const Communicator fresh = i % 2 ? scene.world.duplicate() : scene.world.split(scene.rank % 2, scene.rank);
        const int root = i % fresh.size();
        check_broadcast(fresh, 64, root, static_cast<std::uint64_t>(i),
                        {.algorithm = i % 3 ? "arrival_blocking" : "arrival_nonblocking", .segment_bytes = {}, .timeout = {}});
        if (i % 10 == 0) delay(own, 500);
        if (i % 7 == 0) kept = fresh;
        check_broadcast(kept, 8, kept.size() - 1, static_cast<std::uint64_t>(i),
                        {.algorithm = "arrival_blocking", .segment_bytes = {}, .timeout = {}});
    }
    scene.world.barrier();
}

// Ranks 0 and 1 have a communicator that rank 0 destroys when it has ended its part of a call there, so that its slots are those of
// the next. Rank 1 tells of its arrival at that call afterwards: in the slot in which rank 2 has told of one at a call of the next.
// Words: what that call is, its algorithm.
ROLLCALL_SCENARIO(late_notice) {
    enum : std::size_t { told, overwritten };
    const bool gathers = scene.word(0) == "gather";
    const std::string algorithm = scene.word(1);
    const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = {}};
    const Communicator pair = scene.world.split(scene.rank == 1 ? Communicator::kNoColor : 0, scene.rank);
    Communicator former = scene.world.split(scene.rank == 2 ? Communicator::kNoColor : 0, scene.rank);
    std::uint64_t blocks[2] = {10, 11}, block = 0;
    const auto scatter = [&] {
        former.scatter(blocks, &block, sizeof block, 0, {.algorithm = "sorted_linear", .segment_bytes = {}, .timeout = {}});
        check(block == blocks[scene.rank], "the scatter brought {}", block);
    };
    if (scene.rank == 1) {
        scene.await(told);
        scatter();
        scene.raise(overwritten);
    } else {
        if (scene.rank == 0) scatter();
        former = Communicator();
        const Communicator next = pair.duplicate();
        if (scene.rank == 0) scene.await(overwritten);
        block = 20 + static_cast<std::uint64_t>(scene.rank);
        Request call =
            gathers ? next.start_gather(&block, blocks, sizeof block, 0, options) : next.start_broadcast(&block, sizeof block, 0, options);
        if (scene.rank == 2) scene.raise(told);
        call.wait(std::chrono::seconds(60));
        const std::uint64_t got = gathers ? (scene.rank == 0 ? blocks[1] : 22) : block + 2;
        check(got == 22, "the {} brought {}", scene.word(0), got);
    }
    scene.world.barrier();
}

// More communicators than the board has slots for: notices go by message there.
ROLLCALL_SCENARIO(many_communicators) {
    std::vector<Communicator> all;
    for (int i = 0; i < scene.number(0, 20); ++i) all.push_back(scene.world.duplicate());
    Random own = own_random(scene, 11);
    for (std::uint64_t round = 0; round < 5; ++round)
        for (std::size_t i = 0; i < all.size(); ++i) {
            delay(own, 100);
            check_broadcast(
                all[i], 100 + 5000 * round, static_cast<int>(i % static_cast<std::size_t>(scene.size)), round,
                {.algorithm = (i + round) % 2 ? "arrival_blocking" : "arrival_nonblocking", .segment_bytes = {}, .timeout = {}});
        }
    scene.world.barrier();
}

// Communicators at once from several threads, each with its own operations; with messages on the world meanwhile.
// Words: threads, rounds, greatest sleep in us.
ROLLCALL_SCENARIO(threads) {
    const int threads = scene.number(0, 4);
    std::vector<Communicator> all;
    for (int i = 0; i < threads; ++i) all.push_back(scene.world.duplicate());
    in_threads(threads, [&](int thread) {
        const Communicator& mine = all[static_cast<std::size_t>(thread)];
        Random same(static_cast<std::uint64_t>(thread));
        Random own = own_random(scene, 17 + static_cast<std::uint64_t>(thread));
        const auto& algorithms = broadcast_algorithms();
        for (int round = 0; round < scene.number(1, 100); ++round) {
            const std::uint64_t choices[] = {0, 8, 8192, 9000, 100'000};
            const std::uint64_t bytes = choices[same() % std::size(choices)];
            const int root = static_cast<int>(same() % static_cast<std::uint64_t>(scene.size));
            delay(own, static_cast<std::uint64_t>(scene.number(2, 200)));
            check_broadcast(mine, bytes, root, static_cast<std::uint64_t>(round),
                            {.algorithm = algorithms[same() % algorithms.size()], .segment_bytes = {}, .timeout = {}});
            if (same() % 4 == 0) mine.barrier();
            if (same() % 3 == 0) {
                Request send = scene.world.start_send(std::span<const int, 1>(&scene.rank, 1), scene.next(), static_cast<Tag>(thread));
                check(scene.world.receive<int>(scene.previous(), static_cast<Tag>(thread)) == scene.previous(),
                      "a message of another thread");
                send.wait();
            }
            if (same() % 10 == 0) {
                const Communicator part = mine.split(scene.rank % 2, 0);
                check_broadcast(part, 100, part.size() - 1, static_cast<std::uint64_t>(round), {});
            }
        }
    });
    scene.world.barrier();
}

// --- the board and sleeping ---------------------------------------------------------------------------------------------

// Owners that sleep must be woken by notices: every one that is missed would hang. Words: algorithm, count, greatest sleep.
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

// The root has started a broadcast and computes; its background thread may have parked. Receivers that arrive then are
// served: the root calls nothing before they have the data. Words: algorithm, count.
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

// --- progress ---------------------------------------------------------------------------------------------------------------

// An event loop of the program: requests are started, then progress() when the descriptor says so.
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
        for (;;) {
            bool done = true;
            for (Request& request : requests)
                if (!request.test()) done = false;
            if (done) break;
            if (scene.job.prepare_to_sleep()) {
                pollfd entry{scene.job.progress_descriptor(), POLLIN, 0};
                ::poll(&entry, 1, 20'000);
                check(entry.revents != 0, "it was not woken for 20 s");
            }
            while (scene.job.progress()) {
            }
        }
        check_pattern(in.data(), bytes, key(scene.previous(), round), "a message in an event loop");
        check_pattern(all.data(), all.size(), round, "a broadcast in an event loop");
    }
    scene.world.barrier();
}

// Who computes for long is left alone: the background thread sleeps until something comes. With nothing under way, and
// with operations that wait. Words: milliseconds.
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
        // One that does not sleep looks some ten thousand times a second.
        check(looks < 500, "the background thread has looked {} times though nothing happened", looks);
        if (waiting && scene.rank != 0) barrier = scene.world.start_barrier();
        if (waiting) {
            scene.world.send(scene.rank, scene.next(), 8);
            request.wait();
            barrier.wait();
        }
    }
}

// A paused background thread does not move anything; calls do, and it does again when resumed.
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
            send.wait();  // lands, now that the background thread is back
            scene.raise(10 * round + 2);
        } else if (scene.rank == 1) {
            scene.job.pause_background();
            scene.job.pause_background();
            // A look that it has begun must end before it counts as paused.
            sleep_us(20'000);
            scene.raise(10 * round);
            scene.await(10 * round + 1);
            scene.job.resume_background();
            scene.job.resume_background();
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

// Words: who started it.
ROLLCALL_SCENARIO(describes_itself) {
    check(scene.job.started_by() == scene.word(0, "rollcall run"), "started by {}", scene.job.started_by());
    check(!scene.job.transport_description().empty(), "no description");
    check(scene.world.name() == "world" && scene.world.world_rank(scene.rank) == scene.rank, "the world is strange");
    check(scene.world.explain_broadcast(8).find("broadcast") != std::string::npos, "no explanation: {}", scene.world.explain_broadcast(8));
    const ProgressStatistics statistics = scene.job.progress_statistics();
    check(statistics.background_cpu_time >= 0, "no statistics");
}

// Broadcasts of all sizes and roots without options.
ROLLCALL_SCENARIO(mixed_defaults) {
    std::uint64_t round = 0;
    for (const std::uint64_t bytes : {0, 8, 999, 1000, 1001, 8192, 30'000, 200'000})
        for (int root = 0; root < scene.size; ++root) check_broadcast(scene.world, bytes, root, ++round, {});
}

// A random program, the same on all ranks: Words: seed, milliseconds.
ROLLCALL_SCENARIO(soak) {
    Random same(std::stoull(scene.word(0)));
    Random own = own_random(scene, same());
    std::vector<Communicator> all = {scene.world, scene.world.duplicate(), scene.world.split(scene.rank % 2, -scene.rank),
                                     scene.world.split(scene.rank / 3, 0)};
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(scene.number(1, 1000));
    std::uint64_t round = 0;
    for (bool on = true; on;) {
        for (int i = 0; i < 50; ++i, ++round) {
            const auto draw = [&](std::uint64_t below) { return same() % below; };
            const std::size_t which = draw(all.size());
            const std::uint64_t action = draw(12), size_class = draw(10), root_draw = same(),
                                algorithm = draw(broadcast_algorithms().size()), fine = same();
            const std::uint64_t bytes = size_class < 4   ? fine % 64
                                        : size_class < 7 ? fine % 20'000
                                        : size_class < 9 ? fine % 300'000
                                                         : fine % 3'000'000;
            const Communicator& on_which = all[which];
            const int root = static_cast<int>(root_draw % static_cast<std::uint64_t>(on_which.size()));
            if (own() % 8 == 0) sleep_us(static_cast<std::int64_t>(own() % 3000));
            if (action < 5) {
                check_broadcast(on_which, bytes, root, round,
                                {.algorithm = broadcast_algorithms()[algorithm], .segment_bytes = {}, .timeout = {}});
            } else if (action < 6) {
                on_which.barrier();
            } else if (action < 10) {
                const int size = on_which.size();
                const int distance = static_cast<int>(root_draw % 7) % size;
                const int from = (on_which.rank() + size - distance) % size;
                const auto out = pattern(bytes, key(on_which.rank(), round));
                std::vector<std::byte> in(bytes);
                Request send = on_which.start_send(std::span(out), (on_which.rank() + distance) % size, fine);
                if (own() % 4 == 0) sleep_us(static_cast<std::int64_t>(own() % 2000));
                on_which.receive(std::span(in), from, fine);
                check_pattern(in.data(), bytes, key(from, round), fmt::format("round {}", round));
                send.wait();
            } else if (action < 11) {
                std::vector<std::byte> data = on_which.rank() == root ? pattern(bytes, round) : std::vector<std::byte>(bytes);
                Request requests[] = {
                    on_which.start_broadcast(std::span(data), root,
                                             {.algorithm = broadcast_algorithms()[algorithm], .segment_bytes = {}, .timeout = {}}),
                    on_which.start_barrier()};
                if (own() % 2 == 0) sleep_us(static_cast<std::int64_t>(own() % 1000));
                Request::wait_all(requests);
                check_pattern(data.data(), bytes, round, fmt::format("round {}", round));
            } else {
                all[2] = scene.world.split(static_cast<int>((static_cast<std::uint64_t>(scene.rank) * 7 + fine) % 3),
                                           static_cast<int>(own() % 100));
            }
        }
        on = std::chrono::steady_clock::now() < until;
        scene.world.broadcast(on, 0);
    }
    if (scene.rank == 0) fmt::print("{} rounds\n", round);
}

}  // namespace rollcall::test
