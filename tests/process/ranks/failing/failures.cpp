/// \file
/// Scenarios of wrong calls and of deaths.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "foundation/clock.hpp"
#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {

ROLLCALL_SCENARIO(bad_arguments) {
    const Communicator& world = scene.world;
    const auto refused = [](const char* what, const std::function<void()>& call) { expect_error(ErrorCode::invalid_argument, what, call); };
    void* const kNull = nullptr;
    // Only one rank makes the mistakes. If anything were sent, the others would notice.
    if (scene.rank == scene.size - 1) {
        int value = 0;
        for (const int rank : {-1, scene.size, 1 << 30, -(1 << 30)}) {
            refused("broadcast with a wrong root", [&] { world.broadcast(value, rank); });
            refused("start_broadcast with a wrong root", [&] { world.start_broadcast(value, rank); });
            refused("send to a wrong rank", [&] { world.send(value, rank); });
            refused("start_send to a wrong rank", [&] { world.start_send(value, rank); });
            refused("receive from a wrong rank", [&] { world.receive<int>(rank); });
            refused("start_receive from a wrong rank", [&] { world.start_receive(value, rank); });
            refused("world_rank of a wrong rank", [&] { world.world_rank(rank); });
        }
        refused("broadcast of null", [&] { world.broadcast(kNull, 8, 0); });
        refused("start_broadcast of null", [&] { world.start_broadcast(kNull, 8, 0); });
        refused("send of null", [&] { world.send(kNull, 8, 0); });
        refused("start_send of null", [&] { world.start_send(kNull, 8, 0); });
        refused("receive into null", [&] { world.receive(kNull, 8, 0); });
        refused("start_receive into null", [&] { world.start_receive(kNull, 8, 0); });
        refused("split by a negative colour", [&] { world.split(-2, 0); });
        for (const char* name : {"fast", "near_optimal", "Linear", "binomial "})
            for (const std::uint64_t bytes : {0, 8}) {
                const Error error = expect_error(ErrorCode::invalid_argument, "an unknown algorithm", [&] {
                    world.broadcast(static_cast<void*>(&value), bytes % 5, 0, {.algorithm = name, .segment_bytes = {}, .timeout = {}});
                });
                check(std::string(error.what()).find(name) != std::string::npos &&
                          std::string(error.what()).find("scatter_allgather") != std::string::npos,
                      "the error does not name it and what is allowed: {}", error.what());
            }
    }
    world.broadcast(nullptr, 0, 0);
    std::uint64_t value = scene.rank == 0 ? 42 : 0;
    world.broadcast(value, 0, {.algorithm = "sca-all", .segment_bytes = {}, .timeout = {}});
    check(value == 42, "a broadcast after wrong calls gave {}", value);
    const Communicator copy = world.duplicate();
    copy.barrier();
    world.barrier();
}

// Words: what differs (operation, root, bytes, algorithm, segment, split, duplicate), the rank that differs, and how many good calls come
// before.
ROLLCALL_SCENARIO(mismatch) {
    const std::string what = scene.word(0);
    const bool odd = scene.rank == scene.number(1, 0);
    const Communicator part = scene.world.duplicate();
    for (int i = 0; i < scene.number(2, 3); ++i) {
        std::uint64_t value = 1;
        part.broadcast(value, i % scene.size);
    }
    std::vector<std::byte> data(100'000);
    const std::string algorithm = scene.word(3, "binomial");
    CollectiveOptions options;
    options.algorithm = algorithm;
    const Nanoseconds start = monotonic_now();
    const Error error = expect_error(ErrorCode::mismatch, what, [&] {
        const std::uint64_t bytes = 8;
        if (what == "operation" && odd) return part.barrier();
        if (what == "started" && odd) return static_cast<void>(part.start_barrier().wait());
        if (what == "split" && odd) return static_cast<void>(part.split(0, 0));
        if (what == "duplicate") return static_cast<void>(odd ? part.duplicate() : part.split(0, part.rank()));
        if (what == "algorithm" && odd) options.algorithm = algorithm == "linear" ? "pipelined" : "linear";
        if (what == "segment") options.algorithm = "pipelined", options.segment_bytes = odd ? 64 : 128;
        if (what == "large")
            part.broadcast(data.data(), odd ? 99'999 : 100'000, 0, options);
        else
            part.broadcast(data.data(), what == "bytes" && odd ? bytes + 1 : bytes, what == "root" && odd ? 1 : 0, options);
        // A rank whose part was done may leave before the mistake is seen. Its next call reports it.
        part.barrier();
        part.barrier();
    });
    const std::string text = error.what();
    fmt::print("rank {} mismatch of {} after {} ms: {}\n", scene.rank, what, (monotonic_now() - start) / 1'000'000, text);
    check(text.find(" called ") != std::string::npos && text.find(" called ") != text.rfind(" called "), "both calls are not named: {}",
          text);
    check(text.find(fmt::format("rank {} called", scene.number(1, 0))) != std::string::npos, "the one who differs is not named: {}", text);
    check(text.find("sequence") != std::string::npos && error.failed_rank() == -1, "rank {} is blamed, or: {}", error.failed_rank(), text);
    // From now on calls fail at once. Other communicators and messages still work.
    expect_error(ErrorCode::mismatch, "the next call", [&] { part.barrier(); });
    std::uint64_t value = scene.rank == 0 ? 7 : 0;
    scene.world.broadcast(value, 0);
    check(value == 7, "the world is broken, too");
    Request send = part.start_send(std::span<const int, 1>(&scene.rank, 1), scene.next());
    check(part.receive<int>(scene.previous()) == scene.previous(), "messages are broken, too");
    send.wait();
    scene.world.barrier();
}

// A rank destroys its handle of a communicator. The ranks that still use it are told, and are told which rank left.
ROLLCALL_SCENARIO(left_communicator) {
    const int leaver = scene.size - 1;
    Communicator part = scene.world.duplicate();
    for (int i = 0; i < 3; ++i) part.barrier();
    if (scene.rank == leaver) {
        part = {};
    } else {
        const Error error = expect_error(ErrorCode::state, "a barrier without one rank", [&] { part.barrier(std::chrono::seconds(20)); });
        check(std::string(error.what()).find(fmt::format("rank {}", leaver)) != std::string::npos && error.failed_rank() == leaver,
              "it says '{}'", error.what());
    }
    scene.world.barrier();
}

// An operation that does not end in time on one rank ends with an error on all ranks.
ROLLCALL_SCENARIO(collective_deadline) {
    if (scene.size < 2) return;
    const Communicator part = scene.world.duplicate();
    if (scene.rank == 0) {
        expect_error(ErrorCode::timeout, "a barrier that one rank has not entered", [&] { part.barrier(std::chrono::milliseconds(30)); });
        scene.raise(0);
    } else {
        if (scene.rank == 1) scene.await(0);
        // A rank that comes after all others had entered may find the barrier done before it is told. Its next call reports the error.
        expect_error(ErrorCode::timeout, "a barrier that another rank has given up", [&] {
            part.barrier();
            part.barrier();
        });
    }
    scene.world.barrier();
}

// No rank sends what this rank waits for.
ROLLCALL_SCENARIO(stuck) { scene.world.receive<int>(scene.next()); }

// Ranks that share the memory of their node go on without the one that died, whatever it was doing.
static void go_on_over_node_memory(const Communicator& survivors) {
    const auto usable = usable_algorithms(survivors, *collectives::find_operation("gather"));
    if (survivors.size() < 2 || std::find(usable.begin(), usable.end(), "shared_memory") == usable.end()) return;
    const CollectiveOptions how{.algorithm = "shared_memory", .segment_bytes = {}, .timeout = kPatience};
    for (std::uint64_t round = 0; round < 6; ++round) {
        const std::uint64_t bytes = round % 2 ? 200'000 : 100;
        const int root = static_cast<int>(round % static_cast<std::uint64_t>(survivors.size()));
        auto data = pattern(bytes, survivors.rank() == root ? round : 0);
        survivors.broadcast(std::span(data), root, how);
        check_pattern(data.data(), bytes, round, "a broadcast among survivors");
        const auto block = pattern(bytes, key(survivors.rank(), round));
        std::vector<std::byte> all(survivors.rank() == root ? bytes * static_cast<std::uint64_t>(survivors.size()) : 0), own(bytes);
        survivors.gather(std::span<const std::byte>(block), std::span(all), root, how);
        for (int rank = 0; survivors.rank() == root && rank < survivors.size(); ++rank)
            check_pattern(all.data() + bytes * static_cast<std::uint64_t>(rank), bytes, key(rank, round), "a gather among survivors");
        survivors.scatter(std::span<const std::byte>(all), std::span(own), root, how);
        check_pattern(own.data(), bytes, key(survivors.rank(), round), "a scatter among survivors");
    }
}

// A rank dies and the others are told. Words: how, which rank, what the others do, microseconds before it, and the algorithm of a gather or
// scatter.
ROLLCALL_SCENARIO(death) {
    const std::string how = scene.word(0);
    const int victim = scene.number(1, 0) % scene.size;
    const std::string where = scene.word(2);
    const Communicator& world = scene.world;
    const Communicator part = world.duplicate();
    const Communicator survivors = world.split(scene.rank == victim ? 1 : 0, scene.rank);
    connect_all(scene);
    world.barrier();
    nobody_is_in_a_call(scene);
    const auto work = [&](const std::function<void(int)>& operation) {
        for (int i = 0;; ++i) operation(i);
    };
    std::thread killer;
    if (scene.rank == victim) {
        const int after = scene.number(3, 1000);
        if (where == "absent" || where == "computing" || where == "waiting_all") {
            sleep_us(after);
            die(scene, how);
        }
        killer = std::thread([&scene, how, after] {
            sleep_us(after);
            die(scene, how);
        });
        killer.detach();
    }
    std::vector<std::byte> data(300'000);
    const Error error = expect_error(ErrorCode::peer_failed, where, [&] {
        if (where == "absent") {  // It dies outside, the others wait inside.
            work([&](int) { world.barrier(); });
        } else if (where == "waiting_all") {  // Receives of a message that will never come. Half of the ranks only look, again and again.
            Request receive = world.start_receive(data.data(), data.size(), victim, 3);
            while (scene.rank % 2 != 0 && !receive.wait_for(Timeout::zero())) {
            }
            receive.wait();
        } else if (where == "computing") {  // The others do not call when it dies.
            while (scene.at(kTimeOfDeath).load() == 0) sleep_us(200);
            sleep_us(50'000);
            scene.at(kTimeOfDeath).store(static_cast<std::uint64_t>(monotonic_now()));  // From now on they could know.
            work([&](int) { part.barrier(); });
        } else if (where == "barrier") {
            work([&](int) { world.barrier(); });
        } else if (where == "split") {
            const int some[] = {0, scene.size - 1};
            work([&](int i) {  // Not on the part alone: survivors of a part without the victim would wait for each other.
                if (i % 3 == 0) world.split(scene.rank % 2, 0);
                if (i % 3 == 1) world.create(some);
                if (i % 3 == 2) world.plan_barrier();
                world.barrier();
            });
        } else if (where == "messages") {
            work([&](int i) {
                try {
                    Request send = world.start_send(data.data(), i % 2 ? 8 : data.size(), scene.next());
                    world.receive(data.data(), data.size(), scene.previous(), 0, std::chrono::milliseconds(200));
                    send.wait(std::chrono::milliseconds(200));
                } catch (const Error& late) {
                    // A living neighbour that was told before this rank has stopped sending.
                    if (late.code() != ErrorCode::timeout) throw;
                    world.barrier();
                }
            });
        } else if (where == "allreduce") {
            std::vector<double> values(20'000, 1);
            work([&](int i) {
                const auto some = std::span(values).first(i % 2 ? 1 : values.size());
                part.allreduce(some, rollcall::maximum);
            });
        } else if (where == "gather" || where == "scatter") {
            const std::string algorithm = scene.word(4, "auto");
            const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = {}};
            std::vector<std::byte> all(data.size() * static_cast<std::size_t>(scene.size));
            work([&](int i) {
                const auto bytes = i % 2 ? 8 : data.size();
                const auto block = std::span(data).first(bytes),
                           blocks = std::span(all).first(bytes * static_cast<std::size_t>(scene.size));
                if (where == "gather")
                    part.gather(std::span<const std::byte>(block), blocks, i / 4 % scene.size, options);
                else
                    part.scatter(std::span<const std::byte>(blocks), block, i / 4 % scene.size, options);
                if (i % 4 == 3) part.barrier();
            });
        } else {
            work([&](int i) {
                part.broadcast(data.data(), i % 2 ? 8 : data.size(), i % scene.size,
                               {.algorithm = where, .segment_bytes = {}, .timeout = {}});
            });
        }
    });
    if (scene.rank == victim) {  // Its operations may have failed because of its own death: never
        throw Wrong(fmt::format("the victim lives and got: {}", error.what()));
    }
    const Nanoseconds took = monotonic_now() - static_cast<Nanoseconds>(scene.at(kTimeOfDeath).load());
    fmt::print("rank {} told after {} ms: {}\n", scene.rank, took / 1'000'000, error.what());
    check(scene.at(kTimeOfDeath).load() != 0, "a death was told before it happened");
    check(error.failed_rank() == victim, "{} was blamed: {}", error.failed_rank(), error.what());
    check(std::string(error.what()).find(fmt::format("rank {} on host ", victim)) != std::string::npos, "rank and host are not named: {}",
          error.what());
    // From now on everything with the dead rank fails at once, and everything else goes on.
    expect_error(ErrorCode::peer_failed, "a barrier with the dead", [&] { world.barrier(); });
    // Another rank may have reported the death first. Then this rank detects the death itself a moment later, and until then short messages
    // leave.
    expect_error(ErrorCode::peer_failed, "a send to the dead", [&] {
        for (const Nanoseconds until = deadline_after(std::chrono::seconds(20)); monotonic_now() < until; sleep_us(200))
            world.send(1, victim);
    });
    expect_error(ErrorCode::peer_failed, "a receive from the dead", [&] { world.receive<int>(victim, 999); });
    go_on_over_node_memory(survivors);
    int left = -1, right = -1;
    for (int i = 1; i < scene.size && right < 0; ++i)
        if ((scene.rank + i) % scene.size != victim) right = (scene.rank + i) % scene.size;
    for (int i = 1; i < scene.size && left < 0; ++i)
        if ((scene.rank + scene.size - i) % scene.size != victim) left = (scene.rank + scene.size - i) % scene.size;
    if (right >= 0 && right != scene.rank) {
        // Over shared memory, a process writes into a receiver's queue of UCX in three steps: it takes a slot, fills it and shows it. If
        // the process is killed in between, that receiver no longer hears any rank, and is told so. So only the death of a rank at rest is
        // sure to leave the others intact.
        const bool at_rest = where == "absent" || where == "computing" || where == "waiting_all";
        const Timeout patience = at_rest ? kForever : Timeout(std::chrono::seconds(5));
        try {
            Request send = world.start_send(std::span<const int, 1>(&scene.rank, 1), right, 1234);
            int heard = -1;
            world.receive(heard, left, 1234, patience);
            check(heard == left, "the survivors do not hear each other");
            send.wait(patience);
        } catch (const Error& deaf) {
            const bool is_told = says(deaf, "receives no more messages") && deaf.failed_rank() == victim;
            if (at_rest || (deaf.code() != ErrorCode::timeout && !is_told)) throw;
            fmt::print("rank {} or {} was left deaf\n", scene.rank, right);
        }
    }
    // All ranks have seen the death before one leaves.
    scene.at(kEnded).fetch_add(1);
    scene.await(kEnded, static_cast<std::uint64_t>(scene.size - 1));
    end_without_the_dead(scene);
}

// One rank dies while the others leave in good order. They must come to an end.
ROLLCALL_SCENARIO(death_at_the_end) {
    connect_all(scene);
    scene.world.barrier();
    if (scene.rank == scene.number(1, 0) % scene.size) {
        sleep_us(20'000);
        die(scene, scene.word(0));
    }
}

// After finalize() nothing more is sent.
ROLLCALL_SCENARIO(after_the_end) {
    const Communicator kept = scene.world;
    const Communicator copy = scene.world.duplicate();
    int value = 0;
    std::vector<int> all(static_cast<std::size_t>(scene.size));
    Plan plan = copy.plan_gather(value, all, 0);
    plan.run();
    scene.job.finalize();
    scene.job.finalize();
    expect_error(ErrorCode::state, "a barrier after finalize", [&] { kept.barrier(); });
    expect_error(ErrorCode::state, "a broadcast after finalize", [&] { copy.broadcast(value, 0); });
    expect_error(ErrorCode::state, "a send after finalize", [&] { kept.send(value, 0); });
    expect_error(ErrorCode::state, "a receive after finalize", [&] { kept.receive<int>(0); });
    expect_error(ErrorCode::state, "a split after finalize", [&] { kept.split(0, 0); });
    expect_error(ErrorCode::state, "a create after finalize", [&] { kept.create(std::vector{0}); });
    expect_error(ErrorCode::state, "groups after finalize", [&] { kept.create_intercommunicator(std::vector{0}, std::vector{1}); });
    // A plan that was not started is not waited for, and the second start fails in the same way.
    const std::function<void()> starts[] = {[&] { plan.start(); }, [&] { plan.run(); }, [&] { plan.begin(); }};
    for (const auto& start : starts) {
        const Error error = expect_error(ErrorCode::state, "a plan after finalize", start);
        check(std::string(error.what()).find("finalized") != std::string::npos, "a plan after finalize says '{}'", error.what());
        expect_error(ErrorCode::state, "waiting for a plan after finalize", [&] { plan.wait(); });
        expect_error(ErrorCode::state, "looking at a plan after finalize", [&] { plan.test(); });
    }
    check(plan.record().exit > 0, "a plan has forgotten its last iteration");
    check(kept.size() == scene.size && kept.rank() == scene.rank, "a communicator has forgotten its ranks");
}

// One rank comes to the end when the others have given it up. No rank may take that for a good end.
ROLLCALL_SCENARIO(late_to_the_end) {
    const int late = scene.size - 1;
    if (scene.rank == late) {
        scene.await(0, static_cast<std::uint64_t>(late));
        const Error error = expect_error(ErrorCode::peer_failed, "the end of the late rank", [&] { scene.job.finalize(); });
        check(error.failed_rank() >= 0 && error.failed_rank() != late, "{} was blamed", error.failed_rank());
    } else {
        const Error error = expect_error(ErrorCode::timeout, "an end without one rank", [&] { scene.job.finalize(); });
        check(std::string(error.what()).find(fmt::format("rank {} on host ", scene.rank)) != std::string::npos, "it says '{}'",
              error.what());
        scene.at(0).fetch_add(1);
    }
    scene.job.finalize();  // The others have given it up.
    expect_error(ErrorCode::state, "a barrier after that", [&] { scene.world.barrier(); });
}

// An exception leaves main's scope while others wait.
ROLLCALL_SCENARIO(gives_up) {
    connect_all(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == scene.number(0, 0)) throw Wrong("giving up, as asked");
    const Error error = expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    check(error.failed_rank() == scene.number(0, 0), "{} was blamed", error.failed_rank());
    end_without_the_dead(scene);
}

ROLLCALL_SCENARIO(aborts) {
    scene.world.barrier();
    if (scene.rank == scene.number(0, 0)) scene.job.abort(43, "enough of this");
    scene.world.receive<int>(scene.number(0, 0));
}

static void lose_a_wheel() { throw std::runtime_error("a wheel fell off"); }

// One rank is killed. The others wait for it, and do not handle the error.
ROLLCALL_SCENARIO(killed) {
    connect_all(scene);
    scene.world.barrier();
    if (scene.rank == scene.number(0, 0)) die(scene, "kill");
    scene.world.receive<int>(scene.number(0, 0));
}

// The program of one rank ends by an exception. The others wait for that rank. Second word, "later": there was another job meanwhile.
ROLLCALL_SCENARIO(uncaught) {
    if (scene.word(1) == "later") {
        Embedding alone;
        alone.unique_id = make_unique_id();
        Job(alone).finalize();
    }
    ::signal(SIGTERM, SIG_IGN);  // The launcher's request to end, which comes with the news.
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    const auto careless = [&]() noexcept {
        if (scene.rank == scene.number(0, 0)) lose_a_wheel();
    };
    careless();
    const Error error = expect_error(ErrorCode::peer_failed, "a barrier", [&] { scene.world.barrier(); });
    fmt::print("rank {} was told of rank {}\n", scene.rank, error.failed_rank());
    throw Error(error);
}

}  // namespace rollcall::test
