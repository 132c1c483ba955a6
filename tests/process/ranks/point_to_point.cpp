/// \file
/// Scenarios of send and receive.
#include <array>

#include <sys/mman.h>

#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

// Sizes around possible thresholds: nothing, a word, a cache line, a page, the eager limit, a segment, a huge page.
const std::vector<std::uint64_t> kSizes = {
    0,    1,    7,    8,     63,    64,    65,    4095,   4096,          4097,    8127,          8128,
    8191, 8192, 8193, 16384, 65535, 65536, 65537, 131072, (1 << 20) - 1, 1 << 20, (2 << 20) + 5, 8 << 20};

}  // namespace

ROLLCALL_SCENARIO(sizes) {
    std::uint64_t round = 0;
    for (const std::uint64_t bytes : kSizes) {
        // Both directions at once, to the next rank (with one rank: to itself).
        const auto out = pattern(bytes, key(scene.rank, ++round));
        std::vector<std::byte> in(bytes + 1, std::byte{0x5a});
        Request send = scene.world.start_send(std::span(out), scene.next(), round);
        const Received received = scene.world.receive(in.data(), bytes, scene.previous(), round);
        send.wait();
        check(received.bytes == bytes, "{} bytes instead of {} were received", received.bytes, bytes);
        check_pattern(in.data(), bytes, key(scene.previous(), round), fmt::format("{} bytes", bytes));
        check(in[bytes] == std::byte{0x5a}, "the byte after a message of {} was overwritten", bytes);

        // Blocking calls, in turn.
        if (scene.size > 1) {
            const int partner = scene.rank % 2 == 0 ? scene.rank + 1 : scene.rank - 1;
            if (partner < scene.size) {
                ++round;
                const auto mine = pattern(bytes, key(scene.rank, round));
                if (scene.rank % 2 == 0) scene.world.send(mine.data(), bytes, partner);
                check(scene.world.receive(in.data(), in.size(), partner).bytes == bytes, "a message of {} had another size", bytes);
                check_pattern(in.data(), bytes, key(partner, round), fmt::format("{} bytes in turn", bytes));
                if (scene.rank % 2 == 1) scene.world.send(mine.data(), bytes, partner);
            } else {
                ++round;
            }
        }
        // To itself, with the receive first.
        std::vector<std::byte> self(bytes);
        Request receive = scene.world.start_receive(std::span(self), scene.rank, 77);
        scene.world.send(out.data(), bytes, scene.rank, 77);
        receive.wait();
        check(self == out, "{} bytes to itself came differently", bytes);
    }
    still_works(scene.world);
}

ROLLCALL_SCENARIO(typed) {
    struct Point {
        double x, y;
        int id;
    };
    std::vector<Point> points(1000);
    for (int i = 0; i < 1000; ++i) points[static_cast<std::size_t>(i)] = {i * 0.5, scene.rank + 0.25, i};
    std::vector<Point> got(1500);
    Request send = scene.world.start_send(std::span<const Point>(points), scene.next(), ~Tag{0});
    const Received received = scene.world.receive(std::span(got), scene.previous(), ~Tag{0});
    check(received.count<Point>() == 1000, "{} points were received", received.count<Point>());
    check(got[999].id == 999 && got[999].y == scene.previous() + 0.25, "the last point is wrong");
    send.wait();
    Request value = scene.world.start_send(std::span<const int, 1>(&scene.rank, 1), scene.next());
    check(scene.world.receive<int>(scene.previous()) == scene.previous(), "a value came differently");
    value.wait();
    // A span of writable elements is sent as its elements, too. An address and a number are bytes.
    std::vector<int> three = {scene.rank, 2, 3};
    scene.world.send(std::span(three), scene.next(), 1);
    std::vector<int> got_three(5);
    check(scene.world.receive(std::span(got_three), scene.previous(), 1).count<int>() == 3 && got_three[0] == scene.previous(),
          "a span came differently");
    const int array[] = {scene.rank, 5};
    const void* const bytes_of_array = array;
    scene.world.send(bytes_of_array, 4, scene.next());
    check(scene.world.receive<int>(scene.previous()) == scene.previous(), "an array and a size came differently");
    // A value that arrived only in part is refused. Its message is gone, and the next one is complete.
    for (const std::uint64_t bytes : {0, 4}) {
        Request part = scene.world.start_send(bytes_of_array, bytes, scene.next(), 5);
        const Error error = expect_error(ErrorCode::mismatch, "a value that came too short",
                                         [&] { scene.world.receive<std::uint64_t>(scene.previous(), 5); });
        const std::string said =
            fmt::format("rank {} sent {} bytes with tag 5, but the value to receive has 8 bytes", scene.previous(), bytes);
        check(std::string(error.what()).find(said) != std::string::npos && error.failed_rank() == -1, "it says '{}'", error.what());
        part.wait();
        // As elements, a part may be received.
        Request again = scene.world.start_send(bytes_of_array, bytes, scene.next(), 5);
        std::array<std::uint64_t, 2> elements{1, 2};
        const Received some = scene.world.receive(std::span(elements), scene.previous(), 5);
        check(some.bytes == bytes && some.count<std::uint64_t>() == 0 && elements[1] == 2, "half an element gave {} bytes", some.bytes);
        again.wait();
    }
    // Sizes have 64 bits everywhere.
    static_assert(std::is_same_v<decltype(Received::bytes), std::uint64_t>);
    static_assert(std::is_same_v<decltype(received.count<char>()), std::uint64_t>);
    static_assert(std::is_same_v<Tag, std::uint64_t>);
}

// Messages of a source with one tag arrive in the order in which they were sent, whatever their sizes and paths.
ROLLCALL_SCENARIO(order) {
    const int messages = scene.number(0, 300);
    constexpr int kTags = 3;
    std::mt19937_64 random(static_cast<std::uint64_t>(scene.number(1, 1)));
    std::vector<std::uint64_t> sizes(static_cast<std::size_t>(messages));
    const std::uint64_t choices[] = {8, 40, 41, 100, 8000, 8192, 9000, 70'000, 300'000};
    for (auto& size : sizes) size = choices[random() % std::size(choices)];
    std::vector<std::vector<std::byte>> out;
    std::vector<Request> sends;
    for (int i = 0; i < messages; ++i) {
        out.push_back(pattern(sizes[static_cast<std::size_t>(i)], key(scene.rank, static_cast<std::uint64_t>(i))));
        sends.push_back(scene.world.start_send(std::span<const std::byte>(out.back()), scene.next(), static_cast<Tag>(i % kTags)));
    }
    std::vector<std::byte> in(300'000);
    // Tag by tag: meanwhile the messages of the second tag wait.
    for (int tag = kTags - 1; tag >= 0; --tag)
        for (int i = tag; i < messages; i += kTags) {
            const Received received = scene.world.receive(in.data(), in.size(), scene.previous(), static_cast<Tag>(tag));
            check(received.bytes == sizes[static_cast<std::size_t>(i)], "message {} of tag {}: {} bytes", i, tag, received.bytes);
            check_pattern(in.data(), received.bytes, key(scene.previous(), static_cast<std::uint64_t>(i)), fmt::format("message {}", i));
        }
    Request::wait_all(sends);
    still_works(scene.world);
}

// Messages that were not received are dropped with their communicator. Their room is free for the next one, and their sender does not wait.
ROLLCALL_SCENARIO(unreceived) {
    const auto large = pattern(400'000, 1);
    for (int i = 0; i < scene.number(0, 20); ++i) {
        std::vector<Request> sends;
        {
            const Communicator copy = i % 2 ? scene.world.duplicate() : scene.world.split(0, -scene.rank);
            const int next = (copy.rank() + 1) % copy.size();
            for (Tag tag = 0; tag < 100; ++tag) sends.push_back(copy.start_send(std::span<const int, 1>(&scene.rank, 1), next, tag));
            sends.push_back(copy.start_send(std::span<const std::byte>(large), next));
            if (i % 3) copy.barrier();
        }
        // A request keeps its communicator at the sender. That of the receiver is gone as soon as its own sends are done.
        for (Request& send : sends) send.wait(std::chrono::seconds(20));
    }
    scene.world.barrier();
}

ROLLCALL_SCENARIO(requests) {
    Request empty;
    check(!empty && empty.wait().bytes == 0 && empty.test(), "an empty request is not done");
    expect_error(ErrorCode::invalid_argument, "wait_any of nothing", [&] { Request::wait_any(std::span(&empty, 1)); });
    Request::wait_all(std::span(&empty, 1));

    constexpr int kMany = 40;
    std::vector<int> in(kMany, -1);
    std::vector<Request> receives;
    for (std::size_t i = 0; i < kMany; ++i) receives.push_back(scene.world.start_receive(std::span(&in[i], 1), scene.previous(), i));
    scene.world.barrier();
    // From the last to the first, with a test() loop that must come to an end.
    for (int i = kMany; i-- > 0;) {
        const int value = scene.rank * 1000 + i;
        Request send = scene.world.start_send(std::span<const int, 1>(&value, 1), scene.next(), static_cast<Tag>(i));
        while (!send.test()) {
        }
        check(!send, "a tested request is not empty");
    }
    std::vector<bool> seen(kMany);
    for (int i = 0; i < kMany; ++i) {
        const std::size_t index = Request::wait_any(receives);
        check(!seen[index], "wait_any gave {} twice", index);
        seen[index] = true;
        check(receives[index].wait().bytes == sizeof(int), "a request had lost its result");
        check(in[index] == scene.previous() * 1000 + static_cast<int>(index), "message {} is {}", index, in[index]);
    }
    // Requests that were moved or assigned.
    Request moved = scene.world.start_receive(std::span(&in[0], 1), scene.previous(), 5);
    receives[0] = std::move(moved);
    scene.world.send(scene.rank, scene.next(), 5);
    std::vector<Request> rest(3);
    rest[1] = std::move(receives[0]);
    Request::wait_all(rest);
    check(in[0] == scene.previous(), "a moved request received {}", in[0]);
    // A receive that is given up no longer exists. The message goes to the next receive.
    {
        int nobody = 0;
        Request given_up = scene.world.start_receive(std::span(&nobody, 1), scene.previous(), 6);
    }
    scene.world.barrier();
    Request wanted = scene.world.start_send(std::span(&scene.rank, 1), scene.next(), 6);
    check(scene.world.receive<int>(scene.previous(), 6) == scene.previous(),
          "after a receive that was given up, the next one got something else");
    wanted.wait();
    still_works(scene.world);
}

ROLLCALL_SCENARIO(receive_deadline) {
    std::vector<std::byte> buffer(100'000, std::byte{1});
    const auto left = buffer;
    const Error error = expect_error(ErrorCode::timeout, "a receive of nothing", [&] {
        scene.world.receive(buffer.data(), buffer.size(), scene.previous(), 9, std::chrono::milliseconds(20));
    });
    check(std::string(error.what()).find("tag 9") != std::string::npos && std::string(error.what()).find("20.0 ms") != std::string::npos,
          "the error says too little: {}", error.what());
    Request waits = scene.world.start_receive(std::span(buffer), scene.previous(), 9);
    expect_error(ErrorCode::timeout, "wait_any", [&] { Request::wait_any(std::span(&waits, 1), std::chrono::milliseconds(5)); });
    check(bool(waits), "wait_any abandoned a request");
    expect_error(ErrorCode::timeout, "wait_all", [&] { Request::wait_all(std::span(&waits, 1), std::chrono::milliseconds(5)); });
    check(!waits, "wait_all kept a request that was too late");
    scene.world.barrier();
    // Messages that arrive now must not go into the buffer of the withdrawn receives.
    const auto out = pattern(buffer.size(), key(scene.rank, 1));
    Request send = scene.world.start_send(std::span(out), scene.next(), 9);
    sleep_us(5000);
    check(buffer == left, "an abandoned receive's buffer was written");
    std::vector<std::byte> in(buffer.size());
    scene.world.receive(std::span(in), scene.previous(), 9, std::chrono::seconds(60));
    check_pattern(in.data(), in.size(), key(scene.previous(), 1), "after the deadline");
    send.wait();
    check(buffer == left, "an abandoned receive's buffer was written");
    still_works(scene.world);
}

ROLLCALL_SCENARIO(truncation) {
    for (const std::uint64_t bytes : {std::uint64_t{9}, std::uint64_t{8192}, std::uint64_t{100'000}, std::uint64_t{3 << 20}})
        for (const bool early : {false, true}) {
            const auto out = pattern(bytes, key(scene.rank, bytes));
            std::vector<std::byte> in(bytes, std::byte{7});
            Request receive;
            if (!early) receive = scene.world.start_receive(in.data(), bytes - 1, scene.previous(), 1);
            scene.world.barrier();
            Request send = scene.world.start_send(std::span(out), scene.next(), 1);
            if (early) {
                scene.world.barrier();
                receive = scene.world.start_receive(in.data(), bytes - 1, scene.previous(), 1);
            }
            const Error error = expect_error(ErrorCode::truncated, "a receive into too little", [&] { receive.wait(); });
            check(std::string(error.what()).find(fmt::format("{} bytes", bytes)) != std::string::npos, "it does not say the size: {}",
                  error.what());
            check(in[bytes - 1] == std::byte{7}, "the byte behind the buffer was written");
            send.wait();
            const int value = scene.rank;
            Request after = scene.world.start_send(std::span<const int, 1>(&value, 1), scene.next(), 1);
            check(scene.world.receive<int>(scene.previous(), 1) == scene.previous(), "after a truncated message, the next one is wrong");
            after.wait();
        }
    still_works(scene.world);
}

// One message whose size needs more than 31 bits. Its memory is touched page by page only.
ROLLCALL_SCENARIO(huge) {
    const std::uint64_t bytes = (std::uint64_t{2} << 30) + 12345;
    void* memory =
        scene.rank < 2 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : nullptr;
    check(memory != MAP_FAILED, "no memory");
    auto* data = static_cast<std::byte*>(memory);
    constexpr std::uint64_t kStep = 1'048'573;
    if (scene.rank == 0) {
        for (std::uint64_t i = 0; i < bytes; i += kStep) data[i] = static_cast<std::byte>(i / kStep + 1);
        data[bytes - 1] = std::byte{99};
        scene.world.send(data, bytes, 1);
    } else if (scene.rank == 1) {
        check(scene.world.receive(data, bytes, 0).bytes == bytes, "it came shorter");
        for (std::uint64_t i = 0; i < bytes; i += kStep) check(data[i] == static_cast<std::byte>(i / kStep + 1), "byte {} is wrong", i);
        check(data[bytes - 1] == std::byte{99}, "the last byte is wrong");
    }
    if (memory) munmap(memory, bytes);
    still_works(scene.world);
}

// Many outstanding requests, posted on both sides in different orders.
ROLLCALL_SCENARIO(many) {
    const std::size_t requests = static_cast<std::size_t>(scene.number(0, 10'000));
    std::vector<std::uint64_t> out(requests), in(requests);
    std::vector<Request> all;
    for (std::size_t i = 0; i < requests; i += 2) all.push_back(scene.world.start_receive(std::span(&in[i], 1), scene.previous(), i));
    for (std::size_t i = 0; i < requests; ++i) {
        out[i] = key(scene.rank, i);
        all.push_back(scene.world.start_send(std::span<const std::uint64_t, 1>(&out[i], 1), scene.next(), i));
    }
    for (std::size_t i = (requests - 1) | 1; i < requests + 1; i -= 2) {
        if (i < requests) all.push_back(scene.world.start_receive(std::span(&in[i], 1), scene.previous(), i));
        if (i < 2) break;
    }
    Request::wait_all(all);
    for (std::size_t i = 0; i < requests; ++i) check(in[i] == key(scene.previous(), i), "message {} is {}", i, in[i]);
    still_works(scene.world);
}

// All ranks send to rank 0, which receives from one after the other. Words: messages of each rank.
ROLLCALL_SCENARIO(all_to_one) {
    const int messages = scene.number(0, 60);
    const auto size = [](int rank, int message) {
        return static_cast<std::uint64_t>((rank * 7 + message * 13) % 300 + (message % 8 == 7 ? 3900 : 0));
    };
    for (int rank = 1; rank < scene.size; ++rank)
        for (int message = 0; message < messages && (scene.rank == rank || scene.rank == 0); ++message) {
            const std::uint64_t bytes = size(rank, message), which = key(rank, static_cast<std::uint64_t>(message));
            if (scene.rank == rank) {
                const auto out = pattern(bytes, which);
                scene.world.send(std::span(out), 0, 0);
            } else {
                std::vector<std::byte> in(4200);
                const Received received = scene.world.receive(in.data(), in.size(), rank, 0);
                check(received.bytes == bytes, "message {} of rank {}: {} bytes instead of {}", message, rank, received.bytes, bytes);
                check_pattern(in.data(), bytes, which, fmt::format("message {} of rank {}", message, rank));
            }
        }
    still_works(scene.world);
}

// Several threads of one rank use one communicator, each with its own tag. Words: threads, rounds.
ROLLCALL_SCENARIO(threads_point_to_point) {
    const int threads = scene.number(0, 4);
    const int rounds = scene.number(1, 200);
    std::vector<std::string> wrong(static_cast<std::size_t>(threads));
    const auto work = [&](int thread) {
        try {
            std::mt19937_64 random(static_cast<std::uint64_t>(thread));  // The same on all ranks.
            for (int round = 0; round < rounds; ++round) {
                const std::uint64_t choices[] = {0, 8, 1000, 8192, 20'000, 200'000};
                const std::uint64_t bytes = choices[random() % std::size(choices)];
                const std::uint64_t which = static_cast<std::uint64_t>(thread * 100'000 + round);
                const auto out = pattern(bytes, key(scene.rank, which));
                std::vector<std::byte> in(bytes);
                Request send = scene.world.start_send(std::span(out), scene.next(), static_cast<Tag>(thread));
                if (round % 3 == 0) {
                    Request receive = scene.world.start_receive(std::span(in), scene.previous(), static_cast<Tag>(thread));
                    while (!receive.test()) std::this_thread::yield();
                } else {
                    scene.world.receive(std::span(in), scene.previous(), static_cast<Tag>(thread));
                }
                send.wait();
                check_pattern(in.data(), bytes, key(scene.previous(), which), fmt::format("thread {} round {}", thread, round));
            }
        } catch (const std::exception& error) {
            wrong[static_cast<std::size_t>(thread)] = error.what();
        }
    };
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; ++thread) all.emplace_back(work, thread);
    for (std::thread& thread : all) thread.join();
    for (const std::string& text : wrong) check(text.empty(), "{}", text);
    still_works(scene.world);
}

}  // namespace rollcall::test
