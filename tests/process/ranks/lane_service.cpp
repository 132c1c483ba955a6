/// \file
/// Scenarios of progress: a rank serves its peers whatever its own calls are, and an event loop is woken for everything.
#include <poll.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kServed = 0;  // Words that all ranks share.
constexpr std::size_t kIsReady = 1;
constexpr std::uint64_t kLongMessage = 100'000;
// The time between two calls, which is short beside the tick that these tests set.
constexpr int kGap = 200;
// The number of calls that a rank may make before its peer has been served. Load slows the calls as much as it slows the service.
constexpr int kCalls = 20'000;
// Only an event loop that is never woken waits that long.
constexpr int kPatienceMilliseconds = 15'000;

// Runs the event loop as a program would, until `done` returns true. Returns the number of rounds.
template <class Done>
int event_loop(Job& job, Done&& done) {
    int rounds = 0;
    for (; !done(); ++rounds) {
        if (!job.prepare_to_sleep()) {
            job.progress();
            continue;
        }
        pollfd entry{job.progress_descriptor(), POLLIN, 0};
        check(::poll(&entry, 1, kPatienceMilliseconds) != 0, "the event loop hears nothing");
        job.progress();
    }
    return rounds;
}

}  // namespace

// The first rank makes calls that end at once, again and again, and never waits. Another rank needs its progress. Words: what the calls are
// (send, broadcast, gather), and how many large messages the other rank has.
ROLLCALL_SCENARIO(served_beside_calls) {
    const std::string what = scene.word(0);
    const int messages = scene.number(1, 3), last = scene.size - 1;
    // The ranks that are called: all but the last.
    const Communicator part = scene.world.split(scene.rank == last ? Communicator::kNoColor : 0, scene.rank);
    std::vector<std::vector<std::byte>> in(static_cast<std::size_t>(messages));
    std::vector<Request> receives;
    if (scene.rank == 0)
        for (std::size_t i = 0; i < in.size(); ++i) {
            in[i].resize(kLongMessage);
            receives.push_back(scene.world.start_receive(std::span(in[i]), last, i));
        }
    scene.world.barrier();
    if (scene.rank == last) {
        for (int i = 0; i < messages; ++i)
            scene.world.send(std::span<const std::byte>(pattern(kLongMessage, static_cast<std::uint64_t>(i))), 0, static_cast<Tag>(i));
        scene.raise(kServed);
        return;
    }
    std::vector<std::int64_t> all(static_cast<std::size_t>(scene.size));
    for (std::int64_t i = 0;; ++i) {
        // The value of the last call is negative, so that all ranks recognise it.
        const bool end = scene.rank == 0 && (scene.at(kServed).load() || i == kCalls);
        std::int64_t value = scene.rank == 0 && end ? -1 - i : i;
        if (what == "send") {
            if (scene.rank == 0)
                part.send(value, 1);
            else if (scene.rank == 1)
                value = part.receive<std::int64_t>(0);
        } else if (what == "broadcast") {
            part.broadcast(value, 0);
        } else {  // A receive that is posted and withdrawn.
            if (scene.rank != 0) break;
            part.start_receive(value, 1, 99);
        }
        if (scene.rank == 0 && end) {
            check(scene.at(kServed).load(), "{} calls have ended, and {} messages to this rank have not", i, messages);
            fmt::print("rank 0: served after {} calls\n", i);
            break;
        }
        if (value < 0 || (what == "send" && scene.rank > 1)) break;
        if (scene.rank == 0) sleep_us(kGap);
    }
    if (scene.rank != 0) return;
    Request::wait_all(receives);
    for (std::size_t i = 0; i < in.size(); ++i) check_pattern(in[i].data(), kLongMessage, i, "a message beside calls");
}

// Ranks that call different operations are told so while both sleep in their event loops.
ROLLCALL_SCENARIO(loop_hears_of_mismatches) {
    const Communicator part = scene.world.duplicate();
    char value = 0;
    // No message moves, because each rank waits for another one.
    Request request = part.start_broadcast(&value, 1, scene.next());
    const Error error = expect_error(ErrorCode::mismatch, "broadcasts from different roots",
                                     [&] { event_loop(scene.job, [&] { return request.test().has_value(); }); });
    check(std::string(error.what()).find(" called ") != std::string::npos, "it says '{}'", error.what());
    scene.world.barrier();
}

// Messages in event loops that sleep whenever they may. Each loop is woken for every end of a message.
ROLLCALL_SCENARIO(loop_hears_of_its_messages) {
    const int rounds = scene.number(0, 50);
    for (int i = 0; i < rounds; ++i) {
        std::vector<std::byte> in(kLongMessage);
        const auto out = pattern(kLongMessage, static_cast<std::uint64_t>(i + scene.rank));
        if (i % 10 == scene.rank) sleep_us(3000);
        Request receive = scene.world.start_receive(std::span(in), scene.previous(), static_cast<Tag>(i));
        Request send = scene.world.start_send(std::span(out), scene.next(), static_cast<Tag>(i));
        event_loop(scene.job, [&] { return receive.test().has_value(); });
        event_loop(scene.job, [&] { return send.test().has_value(); });
        check_pattern(in.data(), kLongMessage, static_cast<std::uint64_t>(i + scene.previous()), "a message in an event loop");
    }
    event_loop(scene.job, [request = scene.world.start_barrier()]() mutable { return request.test().has_value(); });
}

// An event loop sleeps while another thread starts a call. The loop is woken when the other rank comes. Word: the call.
ROLLCALL_SCENARIO(loop_beside_a_start) {
    const bool is_barrier = scene.word(0) == "barrier";
    const Communicator& world = scene.world;
    // The connections exist, so that no new connection wakes the loop.
    for (int i = 0; i < 20; ++i) world.broadcast(i, 0);
    world.barrier();
    if (scene.rank == 0) {
        int value = 7;
        Request request;
        sleep_us(100'000);  // Everything that the earlier calls sent has arrived.
        while (!scene.job.prepare_to_sleep()) scene.job.progress();
        std::thread([&] { request = is_barrier ? world.start_barrier() : world.start_broadcast(value, 1); }).join();
        scene.raise(kIsReady);
        pollfd entry{scene.job.progress_descriptor(), POLLIN, 0};
        check(::poll(&entry, 1, kPatienceMilliseconds) != 0, "the event loop hears nothing of what was started beside it");
        event_loop(scene.job, [&] { return request.test().has_value(); });
        check(is_barrier || value == 8, "the broadcast gave {}", value);
        scene.raise(kServed);
    } else if (scene.rank == 1) {
        scene.await(kIsReady);
        sleep_us(30'000);
        int value = 8;
        if (is_barrier)
            world.barrier();
        else
            world.broadcast(value, 1);
        scene.await(kServed);  // No data of this rank's next call wakes the loop.
    }
    world.barrier();
}

// A request ends, the event loop goes to sleep, and another thread puts the request into the loop's queue.
ROLLCALL_SCENARIO(loop_beside_an_add) {
    const Communicator& world = scene.world;
    world.barrier();
    CompletionQueue queue(world);
    for (int i = 0; i < 20; ++i) {
        Request request = world.start_send(i, scene.next());  // ends at once
        do {
            while (scene.job.progress()) {
            }
        } while (!scene.job.prepare_to_sleep());
        std::thread([&] { queue.add(std::move(request), static_cast<std::uint64_t>(i)); }).join();
        pollfd entry{scene.job.progress_descriptor(), POLLIN, 0};
        check(::poll(&entry, 1, kPatienceMilliseconds) != 0, "the event loop does not hear of the request");
        check(!scene.job.prepare_to_sleep(), "the loop may sleep although there is a request to be taken");
        const auto taken = queue.try_next();
        check(taken.has_value() && taken->context == static_cast<std::uint64_t>(i), "the request is not in the queue");
        int value = -1;
        world.receive(value, scene.previous());
        check(value == i, "message {} gave {}", i, value);
    }
    world.barrier();
}

// An event loop runs beside another thread's blocking call. It is woken for its own messages, and sleeps in between.
ROLLCALL_SCENARIO(loop_beside_a_call) {
    constexpr int kMessages = 5;
    // Each message takes some rounds: its pieces, its end, and the time-driven work in between. A loop that does not sleep makes tens of
    // thousands.
    constexpr int kRoundsEach = 200;
    const Communicator& world = scene.world;
    world.barrier();
    if (scene.rank == 0) {
        int blocked = 0;
        std::thread thread([&] { world.receive(blocked, 1, 100); });
        int rounds = 0;
        for (int i = 0; i < kMessages; ++i) {
            int value = 0;
            Request request = world.start_receive(value, 1, static_cast<Tag>(i));
            scene.at(kIsReady).store(static_cast<std::uint64_t>(i + 1));
            rounds += event_loop(scene.job, [&] { return request.test().has_value(); });
            check(value == i + 1, "message {} gave {}", i, value);
        }
        scene.at(kIsReady).store(kMessages + 1);
        thread.join();
        check(blocked == 7, "the blocking call gave {}", blocked);
        fmt::print("rank 0: {} rounds for {} messages\n", rounds, kMessages);
        check(rounds <= kMessages * kRoundsEach, "the event loop made {} rounds for {} messages", rounds, kMessages);
    } else if (scene.rank == 1) {
        for (int i = 0; i < kMessages; ++i) {
            scene.await(kIsReady, static_cast<std::uint64_t>(i + 1));
            sleep_us(30'000);  // in which the loop has nothing to do
            world.send(i + 1, 0, static_cast<Tag>(i));
        }
        scene.await(kIsReady, kMessages + 1);
        world.send(7, 0, 100);
    }
    world.barrier();
}

// A rank destroys its plan and makes many communicators. A rank that runs the plan is told which rank it waits for in vain.
ROLLCALL_SCENARIO(gone_long_ago) {
    const Communicator& world = scene.world;
    std::uint64_t block = 1;
    std::vector<std::uint64_t> data(static_cast<std::size_t>(scene.size));
    PlanOptions options;
    options.timeout = seconds(20);
    Plan plan = world.plan_gather(block, data, 1, options);
    plan.run();
    if (scene.rank == 0) plan = {};
    for (int i = 0; i < scene.number(0, 300); ++i) world.duplicate();
    world.barrier();
    if (scene.rank == 1) {
        const Error error = expect_error(ErrorCode::state, "a plan that another rank has destroyed", [&] { plan.run(); });
        check(std::string(error.what()).find("rank 0") != std::string::npos, "it says '{}'", error.what());
    }
    world.barrier();
}

}  // namespace rollcall::test
