/// \file
/// Scenarios of requests that wait for the next message of a rank, whatever its size is: start_next_size().
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "tests/process/ranks/collectives.hpp"
#include "tests/process/ranks/failing/deaths.hpp"
#include "tests/process/ranks/event_loop.hpp"
#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSoonOver(20);
constexpr Tag kAnyTag = 31;

void check_size(const Received& received, std::uint64_t bytes, const char* how) {
    check(received.bytes == bytes, "{}: the next message has {} bytes instead of {}", how, received.bytes, bytes);
}

/// The sizes of the messages that one rank sends to another one.
std::vector<std::uint64_t> sizes_between(std::uint64_t seed, int from, int to, int count) {
    std::mt19937_64 random(seed * 1'000'003 + static_cast<std::uint64_t>(1000 * from + to));
    std::vector<std::uint64_t> sizes;
    for (int i = 0; i < count; ++i) sizes.push_back(random() % 3 ? random() % 300 : random() % 200'000);
    return sizes;
}

/// Takes messages of any size from all ranks, in the order in which they come, until each has sent what sizes_between() says.
void serve(const Scene& scene, std::uint64_t seed, int count, Tag tag) {
    CompletionQueue queue(scene.world);
    std::vector<std::vector<std::uint64_t>> expected;
    std::vector<std::size_t> taken(static_cast<std::size_t>(scene.size));
    for (int from = 0; from < scene.size; ++from) {
        expected.push_back(sizes_between(seed, from, scene.rank, count));
        queue.add(scene.world.start_next_size(from, tag), static_cast<std::uint64_t>(from));
    }
    std::vector<std::byte> data;
    while (queue.size() > 0) {
        std::optional<Completion> next = queue.next_for(kPatience);
        check(next.has_value(), "no message came for a minute");
        check(!next->error, "no message came: {}", next->error ? next->error->what() : "");
        const std::size_t from = next->context;
        const std::uint64_t size = expected[from][taken[from]];
        check_size(next->received, size, "in the queue");
        const Received got = scene.world.receive_resized(data, static_cast<int>(from), tag, kPatience);
        check(got.bytes == size, "{} bytes came instead of {}", got.bytes, size);
        check_pattern(data.data(), size, key(static_cast<int>(from), taken[from]), "a message from whichever rank");
        if (++taken[from] < expected[from].size())
            queue.add(scene.world.start_next_size(static_cast<int>(from), tag, from % 2 ? kForever : kPatience), from);
    }
}

}  // namespace

// Words: how many messages each rank sends to each one, and a seed. All ranks are servers that take messages from whichever rank, also from
// themselves, and all send to them.
ROLLCALL_SCENARIO(serves_whoever_comes) {
    const int count = scene.number(0, 20);
    const auto seed = static_cast<std::uint64_t>(scene.number(1, 1));
    if (scene.rank == 0) fmt::print("seed {}\n", seed);
    // Two servers of a rank, each with its tag.
    for (const bool in_thread : {false, true}) {
        const Tag first = in_thread ? 2 : 1;
        std::vector<std::vector<std::byte>> out;
        std::vector<Request> sends;
        const auto send_all = [&](Tag tag) {
            std::vector<std::vector<std::uint64_t>> sizes;
            for (int to = 0; to < scene.size; ++to) sizes.push_back(sizes_between(seed, scene.rank, to, count));
            Random own = own_random(scene, seed);
            for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
                for (int distance = 0; distance < scene.size; ++distance) {
                    const int to = (scene.rank + distance) % scene.size;
                    out.push_back(pattern(sizes[static_cast<std::size_t>(to)][i], key(scene.rank, i)));
                    sends.push_back(scene.world.start_send(out.back(), to, tag));
                    delay(own, 20);
                }
        };
        if (in_thread) {
            in_threads(3, [&](int thread) {
                if (thread == 0)
                    for (const Tag tag : {first, first + 1}) send_all(tag);
                else
                    serve(scene, seed, count, first + static_cast<Tag>(thread) - 1);
            });
        } else {
            send_all(first);
            serve(scene, seed, count, first);
        }
        Request::wait_all(sends, kPatience);
    }
    still_works(scene.world);
}

// A request is done at once if the message is here, and else when it comes. The message stays. Several requests see the same one.
ROLLCALL_SCENARIO(starts_next_sizes) {
    const Communicator& world = scene.world;
    const int from = scene.previous(), to = scene.next();
    expect_error(ErrorCode::invalid_argument, "a message of no rank", [&] { world.start_next_size(scene.size, kAnyTag); });
    expect_error(ErrorCode::invalid_argument, "a deadline below 0", [&] { world.start_next_size(from, kAnyTag, milliseconds(-1)); });
    for (const std::uint64_t bytes : {0, 1, 100, 8192, 100'000, 3 << 20}) {
        const auto out = pattern(bytes, key(scene.rank, bytes));
        std::vector<std::byte> in;
        const auto take = [&] {
            world.receive_resized(in, from, kAnyTag, kPatience);
            check_pattern(in.data(), bytes, key(from, bytes), "a message that was waited for");
        };
        // Before the message is sent: two requests, and one for another tag.
        std::vector<Request> requests;
        for (const Tag tag : {kAnyTag + 1, kAnyTag, kAnyTag}) requests.push_back(world.start_next_size(from, tag));
        for (Request& request : requests) check(!request.test(), "a message is there before it was sent");
        world.barrier();
        Request send = world.start_send(out, to, kAnyTag);
        const std::size_t first = Request::wait_any(requests, kPatience);
        check(first > 0, "wait_any gave a message that nobody sends");
        check_size(requests[first].wait(), bytes, "wait_any");
        check_size(requests[3 - first].wait(kPatience), bytes, "the second request");
        check(!requests[0].wait_for(Timeout::zero()) && requests[0].cancel(), "the request for another tag has ended");
        // The message is here.
        for (int again = 0; again < 2; ++again) {
            Request request = world.start_next_size(from, kAnyTag);
            const std::optional<Received> received = request.test();
            check(received && !request, "a message that is here is not seen at once");
            check_size(*received, bytes, "test");
        }
        Request done = world.start_next_size(from, kAnyTag);
        check(!done.cancel() && done, "what was done was cancelled");
        Request::wait_all(std::span(&done, 1), kPatience);
        // It stays also if a request that has seen it is destroyed.
        static_cast<void>(world.start_next_size(from, kAnyTag));
        take();
        check(!world.start_next_size(from, kAnyTag).wait_for(Timeout::zero()), "a message that was received is still there");
        send.wait();
        world.barrier();
    }
    // A message to this rank itself; and a receive that was started before has its message first.
    Request own = world.start_next_size(scene.rank, kAnyTag);
    int first = -1;
    Request receive = world.start_receive(first, scene.rank, kAnyTag);
    world.send(7, scene.rank, kAnyTag);
    receive.wait();
    check(first == 7 && !own.test(), "a message that a receive claims was seen");
    Request send = world.start_send(std::string_view("hello"), scene.rank, kAnyTag);
    check_size(own.wait(), 5, "a message to itself");
    std::string text;
    world.receive_resized(text, scene.rank, kAnyTag);
    send.wait();
    check(text == "hello", "it came as '{}'", text);
    still_works(world);
}

// Requests that are given up, or whose deadlines pass, leave the message to others.
ROLLCALL_SCENARIO(gives_up_next_sizes) {
    const Communicator& world = scene.world;
    const int from = scene.previous();
    const auto late = [&](const char* how, const std::function<void(Request&)>& wait) {
        Request request = world.start_next_size(from, kAnyTag, kSoonOver);
        const Error error = expect_error(ErrorCode::timeout, how, [&] { wait(request); });
        check(says(error, "20.0 ms") && says(error, fmt::format("start_next_size of a message with tag {} from rank {}", kAnyTag, from)),
              "{} says '{}'", how, error.what());
        check(!request, "{} left a request that is given up", how);
    };
    late("wait", [](Request& request) { request.wait(); });
    late("wait_for", [](Request& request) { request.wait_for(kPatience); });
    late("wait_all", [](Request& request) { Request::wait_all(std::span(&request, 1)); });
    late("test", [](Request& request) {
        while (!request.test()) sleep_us(100);
    });
    CompletionQueue queue(world);
    queue.add(world.start_next_size(from, kAnyTag, kSoonOver), 1);
    const Completion completion = queue.next();
    check(completion.error && completion.error->code() == ErrorCode::timeout, "the queue has not given up a request");
    {
        CompletionQueue destroyed(world);
        destroyed.add(world.start_next_size(from, kAnyTag), 1);
    }
    Request cancelled = world.start_next_size(from, kAnyTag);
    check(cancelled.cancel() && !cancelled, "a request could not be cancelled");
    Request waits = world.start_next_size(from, kAnyTag);
    static_cast<void>(world.start_next_size(from, kAnyTag));  // destroyed
    world.barrier();
    Request send = world.start_send(scene.rank, scene.next(), kAnyTag);
    check_size(waits.wait(kPatience), sizeof(int), "the request that is left");
    check(world.receive<int>(from, kAnyTag) == from, "it has another value");
    send.wait();
    still_works(world);
}

// Threads wait for the same messages, and each message gets to one of them. Word: how many each one takes.
ROLLCALL_SCENARIO(next_sizes_by_threads) {
    constexpr int kThreads = 3;
    const int each = scene.number(0, 60);
    const auto length = [](int i) { return static_cast<std::size_t>(i % 3 == 0 ? i * 997 % 60'000 : i % 100) + 1; };
    in_threads(kThreads + 1, [&](int thread) {
        if (thread == kThreads) {
            for (int i = 0; i < kThreads * each; ++i)
                scene.world.send(std::string(length(i), static_cast<char>('a' + length(i) % 26)), scene.next(), kAnyTag);
            return;
        }
        for (int i = 0; i < each; ++i) {
            const Received seen = scene.world.start_next_size(scene.previous(), kAnyTag).wait(kPatience);
            check(seen.bytes > 0, "an empty message was seen");
            std::string in;  // Another thread may have taken what was seen. Then this is another message.
            scene.world.receive_resized(in, scene.previous(), kAnyTag, kPatience);
            check(in.find_first_not_of(static_cast<char>('a' + in.size() % 26)) == std::string::npos, "a message is not as it was sent");
        }
    });
    still_works(scene.world);
}

// The arrival of a message wakes an event loop, and the loop can sleep again afterwards.
ROLLCALL_SCENARIO(next_sizes_in_an_event_loop) {
    for (int round = 0; round < scene.number(0, 20); ++round) {
        const std::uint64_t bytes = round % 2 ? 100'000 : 8;
        const auto out = pattern(bytes, key(scene.rank, static_cast<std::uint64_t>(round)));
        Request next[] = {scene.world.start_next_size(scene.previous(), kAnyTag)};
        Request unused = scene.world.start_next_size(scene.previous(), kAnyTag + 1);
        if (round % scene.size == scene.rank) sleep_us(1000);  // so that the others sleep
        Request send = scene.world.start_send(out, scene.next(), kAnyTag);
        wait_in_event_loop(scene.job, next);
        int turns = 0;
        for (; !scene.job.prepare_to_sleep(); ++turns) {
            check(turns < 1000, "a request that has not ended keeps the loop from sleeping");
            check(!unused.test(), "there is a message that nobody sends");
            while (scene.job.progress()) {
            }
        }
        std::vector<std::byte> in;
        scene.world.receive_resized(in, scene.previous(), kAnyTag, kPatience);
        check(in.size() == bytes, "a message has {} bytes", in.size());
        send.wait();
    }
    scene.world.barrier();
}

// A rank dies. What it had sent before is seen. A request for a further message of it fails, and the others go on.
ROLLCALL_SCENARIO(next_size_of_the_dead) {
    const Communicator& world = scene.world;
    connect_all(scene);
    nobody_is_in_a_call(scene);
    if (scene.rank == 1) {
        for (int to = 0; to < scene.size; ++to)
            if (to != 1) world.send(std::string_view("last"), to, kAnyTag);
        scene.await(0, static_cast<std::uint64_t>(scene.size - 1));
        std::_Exit(0);
    }
    CompletionQueue queue(world);
    for (const int from : {1, scene.rank}) queue.add(world.start_next_size(from, kAnyTag), static_cast<std::uint64_t>(from));
    const Completion last = queue.next();
    check(last.context == 1 && !last.error, "{} came first", last.context);
    check_size(last.received, 4, "what the dead has sent");
    std::string text;
    world.receive_resized(text, 1, kAnyTag, kPatience);
    queue.add(world.start_next_size(1, kAnyTag), 1);
    Request other = world.start_next_size(1, kAnyTag + 1);
    scene.at(0).fetch_add(1);
    const Completion failed = queue.next();
    check(failed.context == 1 && failed.error && failed.error->code() == ErrorCode::peer_failed && failed.error->failed_rank() == 1 &&
              says(*failed.error, fmt::format("start_next_size of a message with tag {} from rank 1", kAnyTag)),
          "it ended with {}", failed.error ? failed.error->what() : "success");
    expect_error(ErrorCode::peer_failed, "a wait", [&] { other.wait(kPatience); });
    expect_error(ErrorCode::peer_failed, "a wait that begins later", [&] { world.start_next_size(1, kAnyTag).wait(kPatience); });
    Request send = world.start_send(scene.rank, scene.rank, kAnyTag);
    const Completion own = queue.next();
    check(own.context == static_cast<std::uint64_t>(scene.rank) && !own.error, "a message to itself failed");
    check(world.receive<int>(scene.rank, kAnyTag) == scene.rank, "it has another value");
    send.wait();
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
