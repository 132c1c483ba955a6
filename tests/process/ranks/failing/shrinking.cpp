/// \file
/// Scenarios in which ranks die and the others go on without them (Communicator::shrink()).
#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {
namespace {

constexpr std::uint64_t kLongData = 300'000;

/// The world ranks of a communicator.
std::vector<int> members(const Communicator& communicator) {
    std::vector<int> ranks(static_cast<std::size_t>(communicator.size()));
    for (int rank = 0; rank < communicator.size(); ++rank) ranks[static_cast<std::size_t>(rank)] = communicator.world_rank(rank);
    return ranks;
}

/// One call that all ranks make, or one exchange of messages, and a look at the result.
void work(const Communicator& on, std::mt19937_64& random) {
    const auto ranks = members(on);
    const int root = static_cast<int>(random() % ranks.size()), kind = static_cast<int>(random() % 7);
    const std::uint64_t bytes = random() % 2 ? 8 : kLongData, which = random();
    const int next = (on.rank() + 1) % on.size(), previous = (on.rank() + on.size() - 1) % on.size();
    switch (kind) {
        case 0: {
            int total = on.world_rank(on.rank());
            on.allreduce(total, rollcall::sum);
            check(total == std::accumulate(ranks.begin(), ranks.end(), 0), "the sum of {} ranks is {}", on.size(), total);
            return;
        }
        case 1: {
            auto data = pattern(bytes, on.rank() == root ? which : 0);
            on.broadcast(std::span(data), root);
            return check_pattern(data.data(), bytes, which, "a broadcast");
        }
        case 2: {
            const auto block = pattern(bytes, key(on.rank(), which));
            std::vector<std::byte> all(on.rank() == root ? bytes * ranks.size() : 0);
            on.gather(std::span<const std::byte>(block), std::span(all), root);
            for (int rank = 0; on.rank() == root && rank < on.size(); ++rank)
                check_pattern(all.data() + bytes * static_cast<std::uint64_t>(rank), bytes, key(rank, which), "a gather");
            return;
        }
        case 3: {
            const auto data = pattern(bytes, key(on.rank(), which));
            std::vector<std::byte> got(bytes);
            Request send = on.start_send(std::span(data), next);
            on.receive(std::span(got), previous);
            send.wait();
            return check_pattern(got.data(), bytes, key(previous, which), "a message");
        }
        case 4: {
            const auto data = pattern(bytes, key(on.rank(), which));
            on.send(std::span(data), next, 5);  // to a receiver that may have gone to shrink()
            std::vector<std::byte> got;
            on.receive_resized(got, previous, 5);
            return check_pattern(got.data(), bytes, key(previous, which), "a message of any size");
        }
        case 5: {
            const Communicator half = on.split(on.rank() % 2, 0);
            half.barrier();
            return;
        }
        default: on.barrier();
    }
}

/// How a rank dies: after a time, or so long after it has come to its first shrink().
struct Fate {
    int victim;
    bool in_shrink;
    int after;  ///< Microseconds.
};

/// UCX opens the memory of a neighbour with the first message of more than 100 bytes to it, after it has reserved a place in its queue. A
/// rank that is killed while it does so leaves the neighbour without messages (docs/architecture/known-limits.md). So that happens before.
void open_queues(const Scene& scene) {
    const std::vector<std::byte> data(4000);
    for (int distance = 1; distance < scene.size; ++distance) {
        Request send = scene.world.start_send(std::span(data), (scene.rank + distance) % scene.size, 4322);
        std::vector<std::byte> got(data.size());
        scene.world.receive(std::span(got), (scene.rank + scene.size - distance) % scene.size, 4322);
        send.wait();
    }
}

void die_later(const Scene& scene, int after) {
    std::thread([&scene, after] {
        sleep_us(after);
        die(scene, "kill");
    }).detach();
}

// A rank that left a split() because of the death has not made the part that others wait in.
void check_is_of_a_death(const Error& error) {
    check(error.code() == ErrorCode::peer_failed || error.code() == ErrorCode::state, "work failed with {}: {}", name(error.code()),
          error.what());
}

}  // namespace

// Some ranks die at random times, also while the others go on without them. Words: a seed, how many die, and whether rank 0 may.
ROLLCALL_SCENARIO(going_on) {
    const std::uint64_t seed = std::stoull(scene.word(0));
    std::mt19937_64 fates(seed);
    std::vector<int> ranks(static_cast<std::size_t>(scene.size));
    std::iota(ranks.begin(), ranks.end(), 0);
    if (scene.number(2, 1) == 0) ranks.erase(ranks.begin());
    std::shuffle(ranks.begin(), ranks.end(), fates);
    std::vector<Fate> dying;
    for (int i = 0; i < scene.number(1, 1); ++i)
        dying.push_back(
            {ranks[static_cast<std::size_t>(i)], i > 0 && fates() % 2 == 0, static_cast<int>(fates() % (i > 0 ? 3000 : 20'000))});
    const auto fate = std::ranges::find(dying, scene.rank, &Fate::victim);
    std::vector<int> expected;
    for (int rank = 0; rank < scene.size; ++rank)
        if (std::ranges::find(dying, rank, &Fate::victim) == dying.end()) expected.push_back(rank);

    connect_all(scene);
    open_queues(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (fate != dying.end() && !fate->in_shrink) die_later(scene, fate->after);
    Communicator on = scene.world;
    std::mt19937_64 random(seed);
    int generation = 0, good = 0;
    while (on.size() > static_cast<int>(expected.size()) || good < 6) {
        try {
            work(on, random);
            ++good;
        } catch (const Error& error) {
            check_is_of_a_death(error);
            if (fate != dying.end() && fate->in_shrink && generation == 0) die_later(scene, fate->after);
            on = on.shrink(kPatience);
            random.seed(seed + static_cast<std::uint64_t>(++generation));
            good = 0;
        }
    }
    check(members(on) == expected, "ranks {} are left, not {}", fmt::join(members(on), " "), fmt::join(expected, " "));
    fmt::print("rank {} goes on as rank {} of {} in {}\n", scene.rank, on.rank(), on.size(), on.name());
}

// A host is lost. Words: how many ranks are left.
ROLLCALL_SCENARIO(without_a_host) {
    Communicator on = scene.world;
    std::mt19937_64 random(7);
    for (int i = 0; i < 10; ++i) work(on, random);
    fmt::print("rank {} works\n", scene.rank);
    std::fflush(stdout);
    for (unsigned generation = 0, good = 0; on.size() > scene.number(0, 1) || good < 10;) try {
            work(on, random);
            ++good;
        } catch (const Error& error) {
            check_is_of_a_death(error);
            on = on.shrink(kPatience);
            random.seed(++generation);
            good = 0;
        }
}

// Without a failure it is a duplicate.
ROLLCALL_SCENARIO(shrink_without_a_failure) {
    const Communicator twin = scene.world.shrink(), another = scene.world.shrink(kPatience), third = twin.shrink();
    check(members(twin) == members(scene.world) && members(third) == members(twin), "ranks are missing");
    std::mt19937_64 random(7);
    for (int i = 0; i < 20; ++i) {
        // A message of one communicator is not received in the other one.
        Request wrong = another.start_send(std::span<const int, 1>(&scene.rank, 1), scene.next(), 3);
        work(i % 2 ? twin : third, random);
        check(another.receive<int>(scene.previous(), 3) == scene.previous(), "the message in the other communicator is lost");
        wrong.wait();
    }
    scene.world.barrier();
}

// The last rank dies. Rank 1 learns of it in a call and goes to shrink(), although others wait for its messages or send it some.
ROLLCALL_SCENARIO(brought_to_shrink) {
    const int victim = scene.size - 1;
    check(scene.size >= 4, "it takes four ranks");
    connect_all(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == victim) die(scene, "kill");
    std::vector<std::byte> data(kLongData);
    if (scene.rank == 1) {
        expect_error(ErrorCode::peer_failed, "a receive from the dead rank", [&] { scene.world.receive<int>(victim); });
    } else if (scene.rank == 0) {
        const Error error = expect_error(ErrorCode::peer_failed, "a receive from rank 1", [&] { scene.world.receive<int>(1); });
        // Rank 2 does not wait for rank 1, to which it sends, if its messages are copied. So its call may be the first.
        check(says(error, "rank 1 of communicator world has called shrink()") ||
                  says(error, "rank 2 of communicator world has called shrink()"),
              "it says '{}'", error.what());
        expect_error(ErrorCode::peer_failed, "a look for a message of rank 1", [&] { scene.world.next_size(1); });
        expect_error(ErrorCode::peer_failed, "one more receive", [&] { scene.world.start_receive(std::span(data), 1).wait(); });
    } else {
        for (int i = 0; i < 3; ++i) scene.world.start_send(std::span<const std::byte>(data), 1).wait();
    }
    const Communicator left = scene.world.shrink(kPatience);
    check(left.size() == scene.size - 1, "{} ranks are left", left.size());
    std::mt19937_64 random(7);
    for (int i = 0; i < 20; ++i) work(left, random);
    fmt::print("rank {} was brought\n", scene.rank);
}

// A rank that never comes: the others give up at their deadline. One that has destroyed its communicator is left out.
ROLLCALL_SCENARIO(shrink_without_all) {
    const int absent = scene.number(0, 0) % scene.size;
    Communicator part = scene.world.duplicate();
    if (scene.rank == absent) part = {};
    scene.world.barrier();
    if (scene.rank != absent) {
        const Communicator left = part.shrink(kPatience);
        check(left.size() == scene.size - 1, "{} ranks are left", left.size());
        std::mt19937_64 random(7);
        for (int i = 0; i < 5; ++i) work(left, random);
    }
    scene.world.barrier();
    part = scene.world.duplicate();
    if (scene.rank != absent) {
        const Error error = expect_error(ErrorCode::timeout, "without one rank", [&] { part.shrink(std::chrono::milliseconds(30)); });
        check(says(error, "shrink on world/"), "it says '{}'", error.what());
    }
    scene.world.barrier();
}

// One rank leaves at its deadline, before the others come. They are told that it does not take part.
ROLLCALL_SCENARIO(shrink_without_one_that_left) {
    const int absent = scene.number(0, 0) % scene.size;
    const Communicator part = scene.world.duplicate();
    scene.world.barrier();
    if (scene.rank == absent) {
        expect_error(ErrorCode::timeout, "before the others come", [&] { part.shrink(std::chrono::milliseconds(20)); });
        scene.raise(0);
    } else {
        scene.await(0);
        const Communicator left = part.shrink(kPatience);
        check(left.size() == scene.size - 1, "{} ranks are left", left.size());
        std::mt19937_64 random(7);
        for (int i = 0; i < 5; ++i) work(left, random);
    }
    scene.world.barrier();
}

// The last rank of a node is not taken for one that receives no more messages. It sends itself long ones, longer than the check takes.
ROLLCALL_SCENARIO(alone) {
    connect_all(scene);
    open_queues(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == 1) die(scene, "kill");
    expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    const Communicator alone = scene.world.shrink(kPatience);
    check(alone.size() == 1, "{} ranks are left", alone.size());
    std::mt19937_64 random(7);
    for (const Nanoseconds until = monotonic_now() + 3500 * kMillisecond; monotonic_now() < until; sleep_us(20'000)) work(alone, random);
}

// Ranks go on without the last one. Messages of the world still go, also when one of them is in finalize() already.
ROLLCALL_SCENARIO(messages_in_a_smaller_job) {
    const int victim = scene.size - 1;
    connect_all(scene);
    open_queues(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == victim) die(scene, "kill");
    expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    scene.world.shrink(kPatience).barrier();
    if (scene.rank == 0) return;
    if (scene.rank == 1) {
        Request late = scene.world.start_receive(std::span(&scene.rank, 1), 2, 9);
        check(!late.wait_for(std::chrono::milliseconds(50)), "the message is not sent yet");
        scene.world.send(1, 2);
        late.wait();
        check(scene.rank == 2, "the message says {}", scene.rank);
        scene.rank = 1;
    } else if (scene.rank == 2) {
        scene.world.receive<int>(1);
        scene.world.send(2, 1, 9);
    }
}

// All ranks must have gone on without a dead rank before the job can end in good order. Rank 0 has not, and leaves at once. So its leaving
// is the failure of the others.
ROLLCALL_SCENARIO(end_of_a_smaller_job) {
    const int victim = scene.size - 1;
    connect_all(scene);
    const Communicator part = scene.world.split(scene.rank == 0 ? 0 : 1, 0);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == victim) die(scene, "kill");
    expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    // Rank 0 is not in the part that goes on.
    if (scene.rank != 0) part.shrink(kPatience).barrier();
    const Error error = expect_error(ErrorCode::peer_failed, "the end", [&] { scene.job.finalize(); });
    check(error.failed_rank() == (scene.rank == 0 ? victim : 0), "it blames rank {}: {}", error.failed_rank(), error.what());
    fmt::print("rank {} has left\n", scene.rank);
}

}  // namespace rollcall::test
