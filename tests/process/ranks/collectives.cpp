/// \file
/// Scenarios of broadcasts and barriers.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/process/ranks/collectives.hpp"

namespace rollcall::test {

// Broadcasts back to back, without a barrier. All ranks draw the same algorithms, roots and sizes. Words: count, seed, greatest sleep in
// us.
ROLLCALL_SCENARIO(storm) {
    const std::uint64_t seed = static_cast<std::uint64_t>(scene.number(1, 1));
    Random same(seed);
    Random own = own_random(scene, seed);
    for (int i = 0; i < scene.number(0, 300); ++i) {
        const auto algorithms = broadcast_algorithms(scene.world);
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

// No rank leaves a barrier before all have entered it. A counter outside Rollcall shows that. Words: count.
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
        // No rank enters the barrier after the next before all have left this one.
        check(entered <= (i + 1) * size, "barrier {}: {} entries", i, entered);
    }
}

// Data written to shared memory before a barrier is read after it, by plain instructions. Words: count.
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

// Several operations of one communicator are under way at once and end in any order.
ROLLCALL_SCENARIO(started) {
    const auto algorithms = broadcast_algorithms(scene.world);
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

// Starts many more operations than one look at node memory takes in (NodeLink::look()), and than a publisher may be ahead of its
// readers. The last rank comes when the others sleep. Each rank waits for its last call first.
ROLLCALL_SCENARIO(many_started) {
    constexpr std::uint64_t kCalls = 1500;
    std::vector<std::uint64_t> values(kCalls);
    std::vector<Request> requests;
    if (scene.rank == scene.size - 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (std::uint64_t i = 0; i < kCalls; ++i) {
        const int root = static_cast<int>(i / 100 % static_cast<std::uint64_t>(scene.size));
        if (scene.rank == root) values[i] = key(root, i);
        requests.push_back(scene.world.start_broadcast(values[i], root));
    }
    for (std::size_t i = kCalls; i-- > 0;) requests[i].wait();
    for (std::uint64_t i = 0; i < kCalls; ++i) {
        const std::uint64_t sent = key(static_cast<int>(i / 100 % static_cast<std::uint64_t>(scene.size)), i);
        check(values[i] == sent, "started broadcast {}: {} instead of {}", i, values[i], sent);
    }
}

// Words: which starter started the job.
ROLLCALL_SCENARIO(describes_itself) {
    check(scene.job.started_by() == scene.word(0, "rollcall run"), "started by {}", scene.job.started_by());
    check(!scene.job.transport_description().empty(), "no description");
    check(scene.world.name() == "world" && scene.world.world_rank(scene.rank) == scene.rank, "the world is strange");
    check(scene.world.explain("broadcast", 8).find("broadcast") != std::string::npos, "no explanation: {}",
          scene.world.explain("broadcast", 8));
    const ProgressStatistics statistics = scene.job.progress_statistics();
    check(statistics.background_cpu_time >= 0, "no statistics");
}

// The description of the transport has each of these words.
ROLLCALL_SCENARIO(uses) {
    const std::string text = scene.job.transport_description();
    for (const std::string& word : scene.words) check(text.find(word) != std::string::npos, "'{}' is not in '{}'", word, text);
}

// Broadcasts of all sizes and roots, without options.
ROLLCALL_SCENARIO(mixed_defaults) {
    std::uint64_t round = 0;
    for (const std::uint64_t bytes : {0, 8, 999, 1000, 1001, 8192, 30'000, 200'000})
        for (int root = 0; root < scene.size; ++root) check_broadcast(scene.world, bytes, root, ++round, {});
}

// A random program, the same on all ranks. Words: seed, milliseconds.
ROLLCALL_SCENARIO(soak) {
    Random same(std::stoull(scene.word(0)));
    Random own = own_random(scene, same());
    std::vector<Communicator> all = {scene.world, scene.world.duplicate(), scene.world.split(scene.rank % 2, -scene.rank),
                                     scene.world.split(scene.rank / 3, 0)};
    std::vector<std::vector<std::string>> algorithms;
    for (const Communicator& communicator : all) algorithms.push_back(broadcast_algorithms(communicator));
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(scene.number(1, 1000));
    std::uint64_t round = 0;
    for (bool on = true; on;) {
        for (int i = 0; i < 50; ++i, ++round) {
            const auto draw = [&](std::uint64_t below) { return same() % below; };
            const std::size_t which = draw(all.size());
            const std::uint64_t action = draw(12), size_class = draw(10), root_draw = same(), algorithm_draw = same(), fine = same();
            const std::uint64_t bytes = size_class < 4   ? fine % 64
                                        : size_class < 7 ? fine % 20'000
                                        : size_class < 9 ? fine % 300'000
                                                         : fine % 3'000'000;
            const Communicator& on_which = all[which];
            const int root = static_cast<int>(root_draw % static_cast<std::uint64_t>(on_which.size()));
            const std::string& algorithm = algorithms[which][algorithm_draw % algorithms[which].size()];
            if (own() % 8 == 0) sleep_us(static_cast<std::int64_t>(own() % 3000));
            if (action < 5) {
                check_broadcast(on_which, bytes, root, round, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
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
                    on_which.start_broadcast(std::span(data), root, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}}),
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
