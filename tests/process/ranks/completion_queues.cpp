/// \file
/// Scenarios of completion queues.
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

bool failed_with(const Completion& completion, ErrorCode code, const std::string& part) {
    return completion.error && completion.error->code() == code && std::string(completion.error->what()).find(part) != std::string::npos;
}

}  // namespace

// Words: rounds. Messages of all sizes and collective operations are in one queue. Each comes out once, with its context and its data.
ROLLCALL_SCENARIO(many_in_a_queue) {
    const Communicator& world = scene.world;
    std::mt19937_64 same(static_cast<std::uint64_t>(scene.number(1, 1)));
    CompletionQueue queue(world);
    constexpr std::uint64_t kSends = 1000, kOperations = 2000;
    for (int round = 0; round < scene.number(0, 20); ++round) {
        std::vector<std::vector<std::byte>> out, in;
        std::vector<int> values(4, scene.rank == round % scene.size ? round : -1);
        std::set<std::uint64_t> expected;
        const auto add = [&](Request request, std::uint64_t context) {
            expected.insert(context);
            queue.add(std::move(request), context);
        };
        for (std::uint64_t i = 0; i < 20; ++i) {
            const std::uint64_t bytes = same() % 3 ? same() % 100 : same() % 200'000;
            out.push_back(pattern(bytes, key(scene.rank, i)));
            in.emplace_back(bytes);
        }
        for (std::uint64_t i = 0; i < out.size(); ++i) {
            if (i % 2) add(world.start_receive(in[i], scene.previous(), i), i);
            add(world.start_send(out[i], scene.next(), i), kSends + i);
            if (i % 5 == 0) add(world.start_broadcast(values[i / 5], round % scene.size), kOperations + i / 5);
        }
        for (std::uint64_t i = 0; i < in.size(); i += 2) add(world.start_receive(in[i], scene.previous(), i), i);
        check(queue.size() == expected.size(), "there are {} of {} in the queue", queue.size(), expected.size());
        while (queue.size() > 0) {
            std::optional<Completion> completion;
            switch (queue.size() % 3) {
                case 0: completion = queue.next(); break;
                case 1: completion = queue.next_for(kPatience); break;
                default:
                    while (!completion) completion = queue.try_next();
            }
            check(completion && !completion->error, "it failed: {}",
                  completion && completion->error ? completion->error->what() : "nothing");
            const std::uint64_t context = completion->context;
            check(expected.erase(context) == 1, "{} came out, and is not there or was there before", context);
            if (context < in.size()) {
                check(completion->received.bytes == in[context].size(), "message {} has {} bytes", context, completion->received.bytes);
                check_pattern(in[context].data(), in[context].size(), key(scene.previous(), context), "a message from the queue");
            } else if (context >= kOperations) {
                check(values[context - kOperations] == round, "a broadcast from the queue gave {}", values[context - kOperations]);
            }
        }
        check(expected.empty() && !queue.try_next() && !queue.next_for(Timeout::zero()), "the queue is empty, and gives something");
    }
    still_works(world);
}

// Requests come out in the order in which they end, whatever the order in which they were added. That includes requests that had ended
// before.
ROLLCALL_SCENARIO(queue_order) {
    const Communicator& world = scene.world;
    CompletionQueue queue(world);
    constexpr std::uint64_t kCount = 50;
    std::vector<std::uint64_t> got(kCount);
    for (std::uint64_t tag = 0; tag < kCount; ++tag) queue.add(world.start_receive(got[tag], scene.previous(), tag), &got[tag]);
    check(!queue.try_next() && queue.size() == kCount, "what was never sent has come");
    world.barrier();
    std::vector<std::uint64_t> tags(kCount);
    std::iota(tags.begin(), tags.end(), 0);
    std::vector<Request> sends;
    for (std::uint64_t tag = kCount; tag-- > 0;) sends.push_back(world.start_send(tags[tag], scene.next(), tag));
    Request::wait_all(sends);
    for (std::uint64_t tag = kCount; tag-- > 0;) {
        const Completion completion = queue.next();
        check(completion.pointer<std::uint64_t>() == &got[tag] && *completion.pointer<std::uint64_t>() == tag,
              "message {} came out of turn", tag);
    }
    std::uint64_t value = 5, back = 0;
    Request send = world.start_send(value, scene.rank, 1), receive = world.start_receive(back, scene.rank, 1);
    while (!receive.wait_for(Timeout(1'000'000))) {
    }
    receive = world.start_receive(back, scene.rank, 2);
    queue.add(std::move(send), 1);
    queue.add(std::move(receive), 2);
    check(!send && !receive, "a request that was put into a queue is not empty");
    check(queue.next_for(kPatience)->context == 1, "what had ended before did not come out");
    world.send(value, scene.rank, 2);
    check(queue.next().context == 2, "what ended later did not come out");
    still_works(world);
}

// Tests what a queue refuses, and how requests in it fail: by their own deadline, or in a collective operation that another rank gives up.
ROLLCALL_SCENARIO(queue_failures) {
    const Communicator& world = scene.world;
    CompletionQueue queue(world);
    expect_error(ErrorCode::state, "next() of an empty queue", [&] { queue.next(); });
    expect_error(ErrorCode::invalid_argument, "an empty request", [&] { queue.add(Request()); });
    expect_error(ErrorCode::invalid_argument, "a time below 0", [&] { queue.next_for(Timeout(-1)); });
    int never[3], own = -1;
    queue.add(world.start_receive(never[0], scene.previous(), 1, std::chrono::milliseconds(300)), 300);
    queue.add(world.start_receive(never[1], scene.previous(), 2, std::chrono::milliseconds(10)), 10);
    queue.add(world.start_receive(own, scene.rank, 3, kPatience), 60);
    for (const auto& [first, time] : {std::pair(10u, "10.0 ms"), std::pair(300u, "300 ms")}) {
        const Completion late = queue.next();
        check(late.context == first && failed_with(late, ErrorCode::timeout, time), "{} came first: {}", late.context,
              late.error ? late.error->what() : "it went well");
    }
    check(!queue.next_for(Timeout(5'000'000)) && queue.size() == 1, "what was never sent has come");
    world.send(7, scene.rank, 3);
    check(queue.next().context == 60 && own == 7, "a message came as {}", own);
    // Another thread adds a request whose deadline is earlier than the one that is waited for.
    queue.add(world.start_receive(never[0], scene.previous(), 1, kPatience), 1);
    std::thread other([&] {
        sleep_us(2000);
        queue.add(world.start_receive(never[1], scene.previous(), 2, std::chrono::milliseconds(5)), 2);
    });
    const std::optional<Completion> earlier = queue.next_for(kPatience);
    other.join();
    check(earlier && earlier->context == 2 && failed_with(*earlier, ErrorCode::timeout, "5.00 ms"), "the earlier deadline was not seen");
    if (scene.size > 1) {
        // The last rank comes afterwards, so that the barrier does not end before.
        const Communicator part = world.duplicate();
        const int last = scene.size - 1;
        if (scene.rank == 0) {
            Request barrier = part.start_barrier();
            check(barrier.cancel(), "a barrier could not be cancelled");
            world.send(last, last, 4);
            world.barrier();
        } else {
            if (scene.rank == last) check(world.receive<int>(0, 4) == last, "a word is wrong");
            queue.add(part.start_barrier(), 4);
            // A rank whose part is done without rank 0 may have ended the first one.
            Completion barrier = queue.next();
            if (!barrier.error) {
                queue.add(part.start_barrier(), 4);
                barrier = queue.next();
            }
            check(barrier.context == 4 && failed_with(barrier, ErrorCode::state, "was cancelled"), "a cancelled barrier ended {}",
                  barrier.error ? barrier.error->what() : "well");
            world.barrier();
        }
    }
    still_works(world);
}

// A queue with requests under way is destroyed. They are given up, and their messages go to other receives. Queues that were moved go on.
ROLLCALL_SCENARIO(queue_destroyed) {
    const Communicator& world = scene.world;
    int nobody = -1, got = -1;
    {
        CompletionQueue queue(world);
        queue.add(world.start_receive(nobody, scene.previous(), 1));
        queue.add(world.start_send(scene.rank, scene.rank, 9));  // Its result is not taken.
        queue.add(world.start_receive(nobody, scene.rank, 8), 2);
    }
    check(world.receive<int>(scene.rank, 9) == scene.rank, "a send that had left was taken back");
    world.barrier();
    Request send = world.start_send(scene.rank, scene.next(), 1);
    CompletionQueue first(world);
    first.add(world.start_receive(got, scene.previous(), 1), 3);
    CompletionQueue second(std::move(first));
    check(first.size() == 0, "a queue that was moved from has requests");  // NOLINT(bugprone-use-after-move)
    expect_error(ErrorCode::state, "a queue that was moved from", [&] { first.try_next(); });
    first = CompletionQueue(world);
    check(second.next().context == 3 && got == scene.previous() && nobody == -1, "it got {}, the dead one {}", got, nobody);
    check(first.size() == 0 && second.size() == 0, "something is left in a queue");
    send.wait();
    if (scene.size > 1) {
        const Communicator part = world.duplicate();
        {
            CompletionQueue queue(part);
            if (scene.rank == 0) queue.add(part.start_barrier());
        }
        world.barrier();
        try {
            part.barrier(kPatience);
        } catch (const Error& error) {
            check(error.code() == ErrorCode::state, "it says '{}'", error.what());
        }
    }
    still_works(world);
}

// Words: rounds. Three threads add requests while a fourth takes them out.
ROLLCALL_SCENARIO(queue_threads) {
    const Communicator& world = scene.world;
    constexpr std::uint64_t kThreads = 3;
    const auto rounds = static_cast<std::uint64_t>(scene.number(0, 200));
    CompletionQueue queue(world);
    std::vector<std::uint64_t> in(kThreads * rounds), out(kThreads * rounds);
    std::vector<std::thread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
            for (std::uint64_t i = thread; i < in.size(); i += kThreads) {
                out[i] = i * 7 + 1;
                if (i % 2) queue.add(world.start_receive(in[i], scene.previous(), i), i);
                queue.add(world.start_send(out[i], scene.next(), i), in.size() + i);
                if (i % 2 == 0) queue.add(world.start_receive(in[i], scene.previous(), i, i % 4 ? kForever : kPatience), i);
            }
        });
    std::vector<int> seen(2 * in.size());
    for (std::size_t left = seen.size(); left > 0;) {
        const std::optional<Completion> completion = queue.next_for(kPatience);
        check(completion.has_value(), "nothing has come for a minute; {} are left", left);
        check(!completion->error, "it failed: {}", completion->error ? completion->error->what() : "");
        check(++seen[completion->context] == 1, "{} came twice", completion->context);
        --left;
    }
    for (std::thread& thread : threads) thread.join();
    check(queue.size() == 0, "{} are left", queue.size());
    for (std::uint64_t i = 0; i < in.size(); ++i) check(in[i] == i * 7 + 1, "message {} is {}", i, in[i]);
    still_works(world);
}

// A rank dies. Requests that depend on it fail, and the others go on.
ROLLCALL_SCENARIO(queue_of_the_dead) {
    const Communicator& world = scene.world;
    CompletionQueue queue(world);
    int of_the_dead = 0, own = -1;
    const int own_five = 5;
    if (scene.rank != 1) {
        queue.add(world.start_receive(of_the_dead, 1, 1), 1);
        queue.add(world.start_receive(own, scene.rank, 2), 2);
        scene.at(0).fetch_add(1);
    } else {
        scene.await(0, static_cast<std::uint64_t>(scene.size - 1));
        std::_Exit(0);
    }
    const Completion failed = queue.next();
    check(failed.context == 1 && failed_with(failed, ErrorCode::peer_failed, "receive of 4 bytes") && failed.error->failed_rank() == 1,
          "it ended with {}", failed.error ? failed.error->what() : "success");
    Request send = world.start_send(own_five, scene.rank, 2);
    check(queue.next().context == 2 && own == 5, "a message to itself came as {}", own);
    send.wait();
    end_without_the_dead(scene);
}

// ROLLCALL_TIMEOUT does not end next() if all requests have deadlines of their own, such as kForever. It counts again as soon as another
// thread adds a request without one.
ROLLCALL_SCENARIO(queue_for_ever) {
    if (scene.rank == 1) {
        scene.await(0);
        sleep_us(2'300'000);  // above ROLLCALL_TIMEOUT
        scene.world.send(1, 0, 1);
        return scene.await(1);  // so that it does not wait at the end for longer than ROLLCALL_TIMEOUT
    }
    CompletionQueue queue(scene.world);
    int value = 0, never = 0;
    queue.add(scene.world.start_receive(value, 1, 1, kForever), 1);
    scene.raise(0);
    const Completion completion = queue.next();
    check(completion.context == 1 && !completion.error && value == 1, "the request did not end well");
    queue.add(scene.world.start_receive(never, 1, 2, kForever), 2);
    std::thread adds([&] {
        sleep_us(10'000);
        queue.add(scene.world.start_receive(never, 1, 3), 3);
    });
    const auto joins = [&] {
        adds.join();
        scene.raise(1);
    };
    try {
        expect_error(ErrorCode::timeout, "a queue with a request that has no deadline", [&] { queue.next(); });
    } catch (...) {
        joins();
        throw;
    }
    joins();
}

}  // namespace rollcall::test
