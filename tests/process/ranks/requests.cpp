/// \file
/// Scenarios of requests that are waited for in parts, given up, or have their own deadlines, and of messages whose size is asked for.
#include <chrono>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>

#include "tests/process/ranks/collectives.hpp"
#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kShort(20);

}  // namespace

// wait_for() leaves the request alive. A message that comes later still completes it.
ROLLCALL_SCENARIO(wait_in_parts) {
    const Communicator& world = scene.world;
    int got = -1;
    Request receive = world.start_receive(got, scene.previous(), 1);
    for (int i = 0; i < 3; ++i) check(!receive.wait_for(milliseconds(i)), "a receive of nothing is done");
    check(bool(receive), "wait_for() took an unfinished request");
    world.barrier();
    Request send = world.start_send(scene.rank, scene.next(), 1);
    const std::optional<Received> received = receive.wait_for(kPatience);
    check(received && received->bytes == sizeof(int) && got == scene.previous(), "it got {}", got);
    check(!receive && receive.wait_for(Timeout::zero()), "a request that is done is not empty");
    send.wait();
    // Of a collective operation.
    if (scene.rank == 0 && scene.size > 1) {
        Request barrier = world.start_barrier();
        check(!barrier.wait_for(kShort), "a barrier is done that nobody else has entered");
        scene.raise(0);
        check(barrier.wait_for(kPatience).has_value(), "a barrier took a minute");
    } else {
        if (scene.size > 1) scene.await(0);
        world.barrier();
    }
    still_works(world);
}

// A cancelled request is empty, and its message goes to the next receive. A request that is done keeps its result.
ROLLCALL_SCENARIO(cancelled_requests) {
    const Communicator& world = scene.world;
    int nobody = -1;
    Request receive = world.start_receive(nobody, scene.previous(), 1);
    check(receive.cancel() && !receive, "a receive of nothing could not be cancelled");
    check(!receive.cancel(), "an empty request was cancelled");
    world.barrier();
    Request send = world.start_send(scene.rank, scene.next(), 1);
    check(world.receive<int>(scene.previous(), 1) == scene.previous() && nobody == -1, "a message went into a cancelled receive");
    send.wait();
    int got = -1;
    Request done = world.start_receive(got, scene.previous(), 2);
    world.barrier();
    world.send(scene.rank, scene.next(), 2);
    while (!done.wait_for(kShort)) {
    }
    done = world.start_send(scene.rank, scene.rank, 3);
    check(world.receive<int>(scene.rank, 3) == scene.rank, "a message to itself");
    check(!done.cancel() && done, "what was done was cancelled");
    check(done.wait().bytes == 0, "a send has received something");
    // One rank cancels a collective operation. The others may have done their part, but get no further. The last rank comes afterwards, so
    // that the barrier does not end before.
    if (scene.size > 1) {
        const Communicator part = world.duplicate();
        const int last = scene.size - 1;
        if (scene.rank == 0) {
            Request barrier = part.start_barrier();
            check(barrier.cancel() && !barrier, "a barrier could not be cancelled");
            world.send(last, last, 4);
        } else {
            if (scene.rank == last) check(world.receive<int>(0, 4) == last, "a word is wrong");
            try {
                part.barrier(kPatience);
            } catch (const Error& error) {
                check(error.code() == ErrorCode::state, "it says '{}'", error.what());
            }
        }
        const Error error = expect_error(ErrorCode::state, "a barrier afterwards", [&] { part.barrier(kPatience); });
        check(says(error, "was cancelled"), "it says '{}'", error.what());
    }
    still_works(world);
}

// A request has the deadline that it was started with, however it is waited for.
ROLLCALL_SCENARIO(own_deadlines) {
    const Communicator& world = scene.world;
    int got = -1;
    const auto nothing = [&] { return world.start_receive(got, scene.previous(), 1, kShort); };
    const auto late = [&](const char* how, const std::function<void(Request&)>& wait) {
        Request request = nothing();
        const Error error = expect_error(ErrorCode::timeout, how, [&] { wait(request); });
        check(says(error, "20.0 ms"), "{} says '{}'", how, error.what());
        check(!request, "{} left a request that is given up", how);
    };
    late("wait", [](Request& request) { request.wait(); });
    late("wait for longer", [](Request& request) { request.wait(kPatience); });
    late("wait forever", [](Request& request) { request.wait(kForever); });
    late("wait_for", [](Request& request) { request.wait_for(kPatience); });
    late("test", [](Request& request) {
        while (!request.test()) sleep_us(100);
    });
    late("wait_all", [](Request& request) { Request::wait_all(std::span(&request, 1)); });
    late("wait_any", [](Request& request) {
        check(Request::wait_any(std::span(&request, 1)) == 0 && request, "wait_any does not keep what failed");
        request.wait();
    });
    // Of two requests, the one whose deadline is over fails. The other one goes on.
    std::vector<Request> two(2);
    two[0] = world.start_receive(got, scene.previous(), 2);
    int never = -1;
    two[1] = world.start_receive(never, scene.previous(), 1, kShort);
    check(Request::wait_any(two) == 1, "wait_any gave the one that has no deadline");
    expect_error(ErrorCode::timeout, "its wait", [&] { two[1].wait(); });
    world.barrier();
    Request send = world.start_send(scene.rank, scene.next(), 2, kPatience);
    two[0].wait();
    check(got == scene.previous(), "the other request got {}", got);
    send.wait();
    if (scene.size > 1) {
        const Communicator part = world.duplicate();
        if (scene.rank == 0) {
            CollectiveOptions options;
            options.timeout = kShort;
            Request call = part.start_broadcast(got, 1, options);
            expect_error(ErrorCode::timeout, "a broadcast whose root does not come", [&] { call.wait(); });
            expect_error(ErrorCode::invalid_argument, "a deadline below 0", [&] { world.start_send(got, 0, 0, milliseconds(-1)); });
        }
    }
    still_works(world);
}

// With ROLLCALL_TIMEOUT, which applies wherever no other time is given. Three threads wait at the same time, each in another way.
ROLLCALL_SCENARIO(default_timeouts) {
    const Communicator& world = scene.world;
    in_threads(3, [&](int thread) {
        if (thread == 0) {
            expect_error(ErrorCode::timeout, "next_size", [&] { world.next_size(scene.previous(), 1); });
            return;
        }
        int got = -1;
        std::vector<Request> requests;
        requests.push_back(world.start_receive(got, scene.previous(), 2));
        const auto wait = [&](const char* how, auto call) {
            const Error error = expect_error(ErrorCode::timeout, how, [&] { call(requests); });
            check(says(error, "2.00 s"), "{} says '{}'", how, error.what());
        };
        if (thread == 1) {
            wait("wait_any", [](auto& all) { Request::wait_any(all); });
            check(requests[0] && !requests[0].test(), "wait_any has given up a request");
        } else {
            wait("wait_all", [](auto& all) { Request::wait_all(all); });
            check(!requests[0], "wait_all has left a request");
        }
    });
    world.barrier(kPatience);
}

// With ROLLCALL_TIMEOUT, which does not count for requests that were given kForever. Each thread waits for longer than that, in its own
// way.
ROLLCALL_SCENARIO(for_ever_in_spite_of_the_setting) {
    const Communicator& world = scene.world;
    constexpr int kMessages = 4;
    if (scene.rank == 1) {
        scene.await(0, kMessages + 1);
        std::this_thread::sleep_for(milliseconds(2300));  // above ROLLCALL_TIMEOUT
        scene.await(1);
        for (Tag tag = 0; tag < kMessages; ++tag) world.send(static_cast<int>(tag) + 10, 0, tag, kPatience);
        world.barrier(kPatience);
    } else {
        in_threads(kMessages + 1, [&](int thread) {
            int got = -1, never = -1;
            std::vector<Request> requests;
            const bool calls = thread == kMessages;
            if (calls)
                requests.push_back(world.start_barrier({.algorithm = {}, .segment_bytes = {}, .timeout = kForever}));
            else
                requests.push_back(world.start_receive(got, 1, static_cast<Tag>(thread), kForever));
            scene.at(0).fetch_add(1);
            if (calls || thread == 0) {
                requests[0].wait();
            } else if (thread == 1) {
                check(Request::wait_any(requests) == 0, "wait_any gave another request");
                requests[0].wait();
            } else if (thread == 2) {
                Request::wait_all(requests);
            } else {
                // It counts for the other request.
                requests.push_back(world.start_receive(never, 1, 100));
                expect_error(ErrorCode::timeout, "wait_any", [&] { Request::wait_any(requests); });
                scene.raise(1);
                const Error error = expect_error(ErrorCode::timeout, "wait_all", [&] { Request::wait_all(requests); });
                check(says(error, "1 of the 2 requests"), "it says '{}'", error.what());
            }
            if (!calls) check(got == thread + 10, "thread {} got {}", thread, got);
        });
    }
    world.barrier(kPatience);
}

/// The size of the next message. `looks`: this rank looks again and again, instead of waiting.
std::uint64_t size_of_next(const Communicator& world, int from, Tag tag, bool looks) {
    if (!looks) return world.next_size(from, tag, kPatience);
    const auto until = std::chrono::steady_clock::now() + kPatience;
    for (;;) {
        if (const auto size = world.try_next_size(from, tag)) return *size;
        check(std::chrono::steady_clock::now() < until, "no message with tag {} was found", tag);
        std::this_thread::yield();
    }
}

// The size of the next message is known before it is received, and the message stays. Words: how many are sent at a time, and `looks` if
// nobody waits for a size.
ROLLCALL_SCENARIO(next_sizes) {
    const Communicator& world = scene.world;
    const bool looks = scene.word(1) == "looks";
    check(!world.try_next_size(scene.previous(), 100'000), "there is a message that nobody sends");
    expect_error(ErrorCode::invalid_argument, "a look for what nobody sends", [&] { world.try_next_size(scene.size, 5); });
    const Error nothing =
        expect_error(ErrorCode::timeout, "the size of nothing", [&] { world.next_size(scene.previous(), 100'000, kShort); });
    check(says(nothing, "tag 100000"), "it says '{}'", nothing.what());
    expect_error(ErrorCode::invalid_argument, "the size of what nobody sends", [&] { world.next_size(scene.size, 5); });
    const int count = scene.number(0, 3);
    for (const std::uint64_t bytes : {0, 1, 100, 8192, 100'000, 3 << 20}) {
        if (bytes * static_cast<std::uint64_t>(count) > (16 << 20)) continue;
        // All messages are sent in this order before the first is asked for. They are asked for from the last tag to the first.
        std::vector<std::vector<std::byte>> out;
        std::vector<Request> sends;
        for (int i = 0; i < count; ++i) {
            out.push_back(pattern(bytes + static_cast<std::uint64_t>(i), key(scene.rank, static_cast<std::uint64_t>(i))));
            sends.push_back(world.start_send(out.back(), scene.next(), static_cast<Tag>(i)));
        }
        for (int i = count; i-- > 0;) {
            const auto tag = static_cast<Tag>(i);
            const std::uint64_t expected = bytes + tag;
            for (int again = 0; again < 2; ++again) {
                const std::uint64_t size = size_of_next(world, scene.previous(), tag, looks);
                check(size == expected, "the next message has {} bytes instead of {}", size, expected);
            }
            std::vector<std::byte> in(3, std::byte{7});
            world.receive_resized(in, scene.previous(), tag, kPatience);
            check(in.size() == expected, "a vector has become {} bytes long instead of {}", in.size(), expected);
            check_pattern(in.data(), in.size(), key(scene.previous(), tag), "a message whose size was asked for");
        }
        Request::wait_all(sends, kPatience);
    }
    // The size is asked for before the message is sent, beside a receive that comes first.
    int first = -1;
    Request receive = world.start_receive(first, scene.previous(), 9);
    std::vector<Request> sends;
    std::thread sender([&] {
        sleep_us(2000);
        sends.push_back(world.start_send(scene.rank, scene.next(), 9));
        sends.push_back(world.start_send(std::string_view("hello"), scene.next(), 9));
    });
    const std::uint64_t size = size_of_next(world, scene.previous(), 9, looks);
    sender.join();
    check(size == 5, "the message after that of a receive has {} bytes", size);
    receive.wait();
    // A message that ends within an element is refused.
    std::vector<short> numbers(1);
    expect_error(ErrorCode::mismatch, "five bytes for a vector of two-byte numbers",
                 [&] { world.receive_resized(numbers, scene.previous(), 9, kPatience); });
    std::string text;
    world.receive_resized(text, scene.previous(), 9, kPatience);
    check(text == "hello" && first == scene.previous(), "it came as '{}'", text);
    Request::wait_all(sends);
    still_works(world);
}

// Several threads receive messages of different sizes with the same tag. Each message gets to one of them, as long as it is. Word: count.
ROLLCALL_SCENARIO(resized_by_threads) {
    constexpr int kThreads = 3;
    constexpr Tag kTag = 41;
    const int each = scene.number(0, 60);
    const auto length = [](int i) { return static_cast<std::size_t>(i % 3 == 0 ? i * 997 % 60'000 : i % 100) + 1; };
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0, failed = 0;
    for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&] {
            for (int i = 0; i < each; ++i) try {
                    std::string in;
                    const Received got = scene.world.receive_resized(in, scene.previous(), kTag, kPatience);
                    const auto letter = static_cast<char>('a' + in.size() % 26);
                    if (got.bytes != in.size() || in.find_first_not_of(letter) != std::string::npos) ++wrong;
                } catch (const Error&) {
                    ++failed;
                }
        });
    for (int i = 0; i < kThreads * each; ++i)
        scene.world.send(std::string(length(i), static_cast<char>('a' + length(i) % 26)), scene.next(), kTag);
    for (std::thread& thread : threads) thread.join();
    check(wrong == 0 && failed == 0, "{} messages were not as long as their string, and {} were lost", wrong.load(), failed.load());
    still_works(scene.world);
}

// A sender takes its message back while the receiver has seen its size. The receiver gets the next one. Word: count.
ROLLCALL_SCENARIO(resized_or_taken_back) {
    if (scene.size < 2) return;
    constexpr Tag kTag = 42;
    const std::vector<int> big(25'000, 7);
    for (int round = 0; round < scene.number(0, 30); ++round) {
        const std::string other(round % 2 ? 3 : 200'001, 'o');
        if (scene.rank == 0) {
            Request request = scene.world.start_send(big, 1, kTag);
            if (round % 3 == 0) sleep_us(100);
            if (!request.cancel()) request.wait();
            scene.world.send(other, 1, kTag);
        } else if (scene.rank == 1) {
            std::vector<int> numbers;
            while (true) try {
                    const Received got = scene.world.receive_resized(numbers, 0, kTag, kPatience);
                    check(got.bytes == numbers.size() * sizeof(int), "{} bytes came into {} numbers", got.bytes, numbers.size());
                    check(numbers == big, "it has other numbers");
                } catch (const Error& error) {
                    if (error.code() != ErrorCode::mismatch) throw;
                    break;  // the other one, which ends within an element
                }
            std::string text;
            check(scene.world.receive_resized(text, 0, kTag, kPatience).bytes == other.size(), "it has another size");
            check(text == other, "a string of {} bytes came", text.size());
        }
    }
    still_works(scene.world);
}

// An event loop looks for messages, and sleeps while there are none. The look for the second tag, with which nobody sends, may take in the
// message that was looked for before it.
ROLLCALL_SCENARIO(looks_in_an_event_loop) {
    constexpr Tag kTag = 77, kUnused = 78;
    for (int round = 0; round < scene.number(0, 20); ++round) {
        int turns = 0;
        do {
            check(++turns < 1000, "a look keeps the loop from sleeping");
            check(!scene.world.try_next_size(scene.previous(), kTag), "a message is there before it was sent");
            while (scene.job.progress()) {
            }
        } while (!scene.job.prepare_to_sleep());
        scene.world.barrier();
        const std::uint64_t bytes = round % 2 ? 100'000 : 8;
        std::vector<std::byte> in, out(bytes, static_cast<std::byte>(round));
        if (round % scene.size == scene.rank) sleep_us(1000);  // so that its message comes between the two looks
        Request send = scene.world.start_send(std::span(out), scene.next(), kTag);
        scene.job.prepare_to_sleep();  // what has ended so far keeps the loop awake no more
        std::optional<std::uint64_t> size;
        for (turns = 0; !(size = scene.world.try_next_size(scene.previous(), kTag)); ++turns) {
            sleep_us(2000);
            check(!scene.world.try_next_size(scene.previous(), kUnused), "there is a message that nobody sends");
            if (!scene.job.prepare_to_sleep()) continue;
            // A background thread takes the events, and the arrival of a message is not the end of anything.
            const bool is_told = scene.word(1) == "host";
            pollfd entry{scene.job.progress_descriptor(), POLLIN, 0};
            ::poll(&entry, 1, is_told ? 20'000 : 1);
            check(entry.revents != 0 || !is_told, "it was not woken for 20 s");
        }
        check(*size == bytes, "a message of {} bytes was found", *size);
        scene.world.receive_resized(in, scene.previous(), kTag, kPatience);
        check(in == out, "the message has other data");
        send.wait();
        scene.world.barrier();
    }
}

// A rank that waits for the size of a message is told of its sender's death.
ROLLCALL_SCENARIO(size_of_the_dead) {
    if (scene.rank == 1) std::_Exit(0);
    const Error error = expect_error(ErrorCode::peer_failed, "the size of a message of a rank that is gone",
                                     [&] { scene.world.next_size(1, 0, kPatience); });
    check(error.failed_rank() == 1 && says(error, "next_size"), "it says '{}'", error.what());
    const Error look =
        expect_error(ErrorCode::peer_failed, "a look for a message of a rank that is gone", [&] { scene.world.try_next_size(1); });
    check(look.failed_rank() == 1 && says(look, "try_next_size of a message with tag 0 from rank 1"), "it says '{}'", look.what());
    end_without_the_dead(scene);
}

}  // namespace rollcall::test
