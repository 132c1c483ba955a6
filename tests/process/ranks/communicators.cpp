/// \file
/// Scenarios of communicators, and of threads that use them.
#include <algorithm>
#include <optional>

#include "tests/process/ranks/collectives.hpp"

namespace rollcall::test {

ROLLCALL_SCENARIO(splits) {
    const Communicator& world = scene.world;
    // Splits by colour, in reverse order of rank.
    const Communicator part = world.split(scene.rank % 2, -scene.rank);
    const int members = (scene.size + 1 - scene.rank % 2) / 2;
    check(part.size() == members, "a part has {} ranks instead of {}", part.size(), members);
    check(part.rank() == members - 1 - scene.rank / 2, "rank {} is {} of its part", scene.rank, part.rank());
    for (int i = 0; i < members; ++i)
        check(part.world_rank(i) == 2 * (members - 1 - i) + scene.rank % 2, "rank {} of a part is {}", i, part.world_rank(i));
    for (const std::string& algorithm : broadcast_algorithms(part))
        for (int root = 0; root < members; ++root)
            check_broadcast(part, 10'000, root, static_cast<std::uint64_t>(scene.rank % 2),
                            {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
    part.barrier();

    // With equal keys, the order is by rank. Some ranks take no part.
    const Communicator some = world.split(scene.rank == 0 ? Communicator::kNoColor : 3, 0);
    check(bool(some) == (scene.rank != 0), "the wrong ranks have a part");
    if (some) {
        check(some.rank() == scene.rank - 1 && some.size() == scene.size - 1, "rank {} is {} of {}", scene.rank, some.rank(), some.size());
        check_broadcast(some, 500, some.size() - 1, 1, {});
    } else {
        expect_error(ErrorCode::state, "a barrier of a null communicator", [&] { some.barrier(); });
        expect_error(ErrorCode::state, "the rank in a null communicator", [&] { some.rank(); });
    }
    // Each rank is alone.
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
    for (int depth = 0; depth < 50; ++depth) nested = nested.duplicate();
    check(nested.name().starts_with("world/") && nested.name().size() < 120, "a communicator has the name {}", nested.name());
    expect_error(ErrorCode::invalid_argument, "a negative colour", [&] { world.split(-7, 0); });
    world.barrier();
}

// A root broadcasts on communicators that the others destroy without making that call, and does not wait. Data that is not read must not
// delay the later communicators in the same slots.
ROLLCALL_SCENARIO(unread_broadcasts) {
    for (int round = 0; round < 3; ++round) {
        {
            const Communicator unused = scene.world.duplicate();
            std::vector<std::byte> data(round * 100'000 + 8);
            if (scene.rank == 0) unused.broadcast(data, 0);
        }
        const Communicator next = scene.world.duplicate();
        for (int root = 0; root < scene.size; ++root)
            check_broadcast(next, 1000, root, static_cast<std::uint64_t>(round),
                            {.algorithm = {}, .segment_bytes = {}, .timeout = std::chrono::seconds(20)});
    }
}

// A root broadcasts, destroys the communicator, and calls on the next one, which has ranks 0 and 1 only. Rank 2 reads what was broadcast
// after that call, so the call must not wait for rank 2.
ROLLCALL_SCENARIO(late_reader_of_a_destroyed_communicator) {
    const CollectiveOptions soon{.algorithm = {}, .segment_bytes = {}, .timeout = std::chrono::seconds(20)};
    const Communicator pair = scene.world.split(scene.rank < 2 ? 0 : Communicator::kNoColor, 0);
    std::optional<Communicator> whole = scene.world.duplicate();
    int token = 0;
    if (scene.rank == 2) scene.world.receive(token, 1, 1);
    check_broadcast(*whole, 100, 0, 1, soon);
    whole.reset();
    if (scene.rank < 2) check_broadcast(pair.duplicate(), 8, 0, 2, soon);
    if (scene.rank == 1) scene.world.send(token, 2, 1);
    scene.world.barrier();
}

// Ranks 0, 1 and 2 share a node, rank 3 has another one. Rank 0 hands a long broadcast over and destroys the communicator. What goes on
// without it publishes last on its own node, for rank 1. The next communicator, of ranks 0 and 2, must not have those entries: rank 2
// waits for rank 1.
ROLLCALL_SCENARIO(publication_after_a_communicator) {
    const CollectiveOptions soon{.algorithm = {}, .segment_bytes = {}, .timeout = std::chrono::seconds(20)};
    std::optional<Communicator> nodes = scene.world.split(scene.rank == 2 ? Communicator::kNoColor : 0, 0);
    const Communicator pair = scene.world.split(scene.rank % 2 ? Communicator::kNoColor : 0, 0);
    if (scene.rank != 2) check_broadcast(*nodes, 4 << 20, 0, 1, soon);
    nodes.reset();
    int token = 0;
    if (scene.rank == 1) scene.world.send(token, 2, 1);
    if (scene.rank == 0 || scene.rank == 2) {
        const Communicator next = pair.duplicate();
        if (scene.rank == 2) scene.world.receive(token, 1, 1);
        check_broadcast(next, 8, 0, 2, soon);
    }
    scene.world.barrier();
}

// Communicators made from a list of ranks, and from the ranks of a host.
ROLLCALL_SCENARIO(created) {
    const Communicator& world = scene.world;
    // Every other rank, from the last to the first.
    std::vector<int> list;
    for (int rank = scene.size - 1; rank >= 0; rank -= 2) list.push_back(rank);
    const Communicator part = world.create(list);
    const auto found = std::find(list.begin(), list.end(), scene.rank);
    check(bool(part) == (found != list.end()), "the wrong ranks have a part");
    if (part) {
        check(part.rank() == found - list.begin() && part.size() == static_cast<int>(list.size()), "rank {} is {} of {}", scene.rank,
              part.rank(), part.size());
        for (int rank = 0; rank < part.size(); ++rank)
            check(part.world_rank(rank) == list[static_cast<std::size_t>(rank)], "rank {} of the list is {}", rank, part.world_rank(rank));
        check_broadcast(part, 10'000, part.size() - 1, 1, {});
        const int first[] = {part.size() - 1};
        const Communicator alone = part.create(first);
        check(bool(alone) == (part.rank() == part.size() - 1), "the wrong rank is alone");
    }
    check(!world.create({}), "a communicator of nobody");
    const int twice[] = {0, 0}, outside[] = {scene.size};
    expect_error(ErrorCode::invalid_argument, "a rank twice", [&] { world.create(twice); });
    expect_error(ErrorCode::invalid_argument, "a rank that is not there", [&] { world.create(outside); });
    if (scene.size > 1) {
        const int mine[] = {scene.rank};
        const Error error = expect_error(ErrorCode::mismatch, "lists that differ", [&] { world.create(mine); });
        check(std::string(error.what()).find("rank 1 gives another list") != std::string::npos, "it says '{}'", error.what());
    }
    world.barrier();
}

// Words: the number of hosts. Each host is a block of consecutive ranks.
ROLLCALL_SCENARIO(hosts) {
    const Communicator& world = scene.world;
    const int each = scene.size / scene.number(0, 1);
    check(world.local_size() == each && world.local_rank() == scene.rank % each, "rank {} is {} of {} on its host", scene.rank,
          world.local_rank(), world.local_size());
    const Communicator host = world.split_by_host();
    check(host.size() == each && host.rank() == scene.rank % each && host.world_rank(0) == scene.rank / each * each,
          "rank {} is {} of {} in the communicator of its host", scene.rank, host.rank(), host.size());
    check_broadcast(host, 1000, host.size() - 1, 1, {});
    // In a communicator with another order.
    const Communicator reversed = world.split(0, -scene.rank);
    check(reversed.local_size() == each && reversed.local_rank() == each - 1 - scene.rank % each,
          "rank {} is {} of {} on its host, reversed", scene.rank, reversed.local_rank(), reversed.local_size());
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

// Communicators are made and destroyed again and again. Slots are reused, and notices of former communicators are not taken for those of
// new ones.
ROLLCALL_SCENARIO(recreate) {
    Random own = own_random(scene, 3);
    std::vector<int> reversed;
    for (int rank = scene.size - 1; rank >= 0; --rank) reversed.push_back(rank);
    Communicator kept;
    for (int i = 0; i < scene.number(0, 200); ++i) {
        Communicator fresh = i % 2 ? scene.world.duplicate() : scene.world.split(scene.rank % 2, scene.rank);
        if (i % 5 == 0) fresh = scene.world.create(reversed);
        const int root = i % fresh.size();
        check_broadcast(fresh, 64, root, static_cast<std::uint64_t>(i),
                        {.algorithm = i % 3 ? "arrival_blocking" : "arrival_nonblocking", .segment_bytes = {}, .timeout = {}});
        if (i % 10 == 0) delay(own, 500);
        if (i % 4 == 0) {
            std::uint64_t number = fresh.rank() == root ? static_cast<std::uint64_t>(i) : 0;
            fresh.plan_broadcast(number, root).run();
            check(number == static_cast<std::uint64_t>(i), "a plan brought {} instead of {}", number, i);
        }
        if (i % 7 == 0) kept = fresh;
        check_broadcast(kept, 8, kept.size() - 1, static_cast<std::uint64_t>(i),
                        {.algorithm = "arrival_blocking", .segment_bytes = {}, .timeout = {}});
    }
    scene.world.barrier();
}

// Ranks 0 and 1 have a communicator. Rank 0 destroys it when its own part of a call there has ended, so that the next communicator gets its
// slots. Rank 1 announces its arrival at that call only afterwards: in the slot in which rank 2 has announced its arrival at a call of the
// next communicator. Words: what that call is, its algorithm.
ROLLCALL_SCENARIO(late_notice) {
    enum : std::size_t { told, overwritten };
    const bool gathers = scene.word(0) == "gather";
    const std::string algorithm = scene.word(1);
    const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = {}};
    const Communicator pair = scene.world.split(scene.rank == 1 ? Communicator::kNoColor : 0, scene.rank);
    Communicator former = scene.world.split(scene.rank == 2 ? Communicator::kNoColor : 0, scene.rank);
    std::uint64_t blocks[2] = {10, 11}, block = 0;
    const auto scatter = [&] {
        former.scatter(blocks, block, 0, {.algorithm = "sorted_linear", .segment_bytes = {}, .timeout = {}});
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
        Request call = gathers ? next.start_gather(block, blocks, 0, options) : next.start_broadcast(block, 0, options);
        if (scene.rank == 2) scene.raise(told);
        call.wait(std::chrono::seconds(60));
        const std::uint64_t got = gathers ? (scene.rank == 0 ? blocks[1] : 22) : block + 2;
        check(got == 22, "the {} brought {}", scene.word(0), got);
    }
    scene.world.barrier();
}

// More communicators than the board has slots for. Notices of the rest go by message.
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

// Several threads use communicators at once, each with its own operations. Meanwhile messages go over the world. Words: threads, rounds,
// greatest sleep in us.
ROLLCALL_SCENARIO(threads) {
    const int threads = scene.number(0, 4);
    std::vector<Communicator> all;
    for (int i = 0; i < threads; ++i) all.push_back(scene.world.duplicate());
    in_threads(threads, [&](int thread) {
        const Communicator& mine = all[static_cast<std::size_t>(thread)];
        Random same(static_cast<std::uint64_t>(thread));
        Random own = own_random(scene, 17 + static_cast<std::uint64_t>(thread));
        const auto algorithms = broadcast_algorithms(mine);
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

}  // namespace rollcall::test
