/// \file
/// Scenarios of the cost of early messages for their receiver.
#include <algorithm>
#include <cstring>
#include <fstream>

#include <malloc.h>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

constexpr std::size_t kSent = 0;  // Words that all ranks share.
constexpr std::size_t kMeasured = 1;
constexpr std::uint64_t kMebibyte = 1 << 20;

std::uint64_t resident(const std::string& kind) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(kind)) return std::stoull(line.substr(kind.size())) * 1024;
    throw Wrong(fmt::format("there is no {} in /proc/self/status", kind));
}
// Returns the resident memory that belongs to this process alone, without the shared memory of the transport.
std::uint64_t resident_bytes() {
    ::malloc_trim(0);  // What was freed does not count.
    return resident("RssAnon:");
}
// Returns what this process has touched of the memory that it shares with others.
std::uint64_t resident_shared_bytes() { return resident("RssShmem:"); }

void at_most(std::uint64_t before, std::uint64_t most, const std::string& what) {
    const std::uint64_t now = resident_bytes(), grown = now > before ? now - before : 0;
    fmt::print("{}: {} bytes, at most {}\n", what, grown, most);
    check(kSanitized || grown <= most, "{}: memory has grown by {} bytes, and may by {}", what, grown, most);
}

}  // namespace

// Early messages of one size, then of another. The memory in use and the memory kept for later use are together within the budget. Words:
// MiB of the budget.
ROLLCALL_SCENARIO(landing_of_many_sizes) {
    const std::uint64_t budget = static_cast<std::uint64_t>(scene.number(0, 32)) * kMebibyte;
    // Room for what allocators keep to themselves, and for UCX: over TCP, two pools of eight pieces of 256 KiB.
    constexpr std::uint64_t kSlack = 8 * kMebibyte;
    const Communicator& world = scene.world;
    std::vector<std::byte> in(4 * kMebibyte, std::byte{1});
    const std::vector<std::byte> out(kMebibyte / 4);
    // What the libraries allocate for the first messages does not count: ofi_rxm makes a pool of 17 MB when it first sends.
    for (int i = 0; i < 20; ++i)
        for (const std::uint64_t size : {std::uint64_t{8}, kMebibyte / 128, kMebibyte / 4}) {
            Request send = world.start_send(std::span(out).first(size), scene.next(), 7);
            world.receive(in.data(), size, scene.previous(), 7);
            send.wait();
        }
    const std::uint64_t before = resident_bytes();
    std::uint64_t round = 0;
    for (const std::uint64_t size : {kMebibyte, 2 * kMebibyte, 4 * kMebibyte, kMebibyte / 2, kMebibyte / 4, kMebibyte / 8}) {
        const std::uint64_t count = budget / 8 * 3 / size;  // Half of the budget may be promised to eager messages.
        ++round;
        if (scene.rank == 0) {
            const auto data = pattern(size, size);
            std::vector<Request> sends;
            for (std::uint64_t i = 0; i < count; ++i) sends.push_back(world.start_send(std::span(data), 1, 7));
            Request::wait_all(sends);  // All have landed, and none has been received yet.
            scene.at(kSent).store(round);
        } else if (scene.rank == 1) {
            scene.await(kSent, round);
            at_most(before, budget + kSlack, fmt::format("with {} early messages of {} bytes", count, size));
            for (std::uint64_t i = 0; i < count; ++i) {
                world.receive(in.data(), size, 0, 7);
                check_pattern(in.data(), size, size, "an early message");
            }
            at_most(before, budget + kSlack, fmt::format("after early messages of {} bytes", size));
        }
        world.barrier();
    }
    const std::uint64_t peak = scene.job.progress_statistics().landing_peak_bytes;
    check(peak <= budget, "{} bytes were held", peak);
}

// Measures the cost of early messages that no receive waits for. Words: how many, of which size, what each may cost beyond the budget, and
// the budget in bytes.
ROLLCALL_SCENARIO(cost_of_early_messages) {
    const std::uint64_t count = static_cast<std::uint64_t>(scene.number(0, 20'000)), size = static_cast<std::uint64_t>(scene.number(1, 8)),
                        each = static_cast<std::uint64_t>(scene.number(2, 500)),
                        budget = static_cast<std::uint64_t>(scene.number(3, 1 << 20));
    constexpr std::uint64_t kSlack = 2 * kMebibyte;
    const Communicator& world = scene.world;
    // The structures that the first messages create do not count.
    for (int i = 0; i < 100; ++i) {
        Request send = world.start_send(i, scene.next(), 1);
        check(world.receive<int>(scene.previous(), 1) == i, "a message came differently");
        send.wait();
    }
    world.barrier();
    if (scene.rank != 0) {
        const auto data = pattern(size, 3);
        std::vector<Request> sends;
        sends.reserve(count);
        for (std::uint64_t i = 0; i < count; ++i) sends.push_back(world.start_send(std::span(data), 0, 7));
        world.send(1, 0, 8);  // After all of them: messages of one rank are handled in order.
        scene.await(kMeasured);
        Request::wait_all(sends);
    } else {
        std::vector<std::byte> in(size + 1);
        const std::uint64_t before = resident_bytes(), messages = count * static_cast<std::uint64_t>(scene.size - 1);
        for (int from = 1; from < scene.size; ++from) world.receive<int>(from, 8);
        at_most(before, budget + each * messages + kSlack, fmt::format("{} early messages of {} bytes", messages, size));
        check(scene.job.progress_statistics().landing_peak_bytes <= budget, "{} bytes were held",
              scene.job.progress_statistics().landing_peak_bytes);
        scene.raise(kMeasured);
        for (int from = 1; from < scene.size; ++from)
            for (std::uint64_t i = 0; i < count; ++i) {
                check(world.receive(in.data(), in.size(), from, 7).bytes == size, "an early message has another size");
                check_pattern(in.data(), size, 3, "an early message");
            }
    }
    world.barrier();
}

// A block whose contents differ from call to call, at little cost: each page begins with a word of the call.
namespace {
constexpr std::uint64_t kPage = 4096;
void mark(std::vector<std::byte>& block, std::uint64_t which) {
    for (std::uint64_t at = 0; at < block.size(); at += kPage) {
        const std::uint64_t word = which * 1'000'003 + at;
        std::memcpy(block.data() + at, &word, sizeof word);
    }
}
void check_marks(const std::byte* block, std::uint64_t bytes, std::uint64_t which, const std::string& what) {
    for (std::uint64_t at = 0; at < bytes; at += kPage) {
        std::uint64_t word = 0;
        std::memcpy(&word, block + at, sizeof word);
        check(word == which * 1'000'003 + at, "{}: the page at {} is of another call or rank", what, at);
    }
}
}  // namespace

// All ranks bring long blocks to a root that sleeps, by a gather or by plain sends, and are some calls ahead of it. Meanwhile neither side
// holds more than its budget, of its own memory and of what the ranks of a node share. In the end all blocks arrive, in order. Words: KiB
// of a block (at least 4), calls, MiB of the budget, "gather" or "send".
ROLLCALL_SCENARIO(many_wait_for_a_root) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(scene.number(0, 1024)) * 1024,
                        calls = static_cast<std::uint64_t>(scene.number(1, 4)),
                        budget = static_cast<std::uint64_t>(scene.number(2, 128)) * kMebibyte;
    const bool by_gather = scene.word(3, "gather") == "gather";
    constexpr std::uint64_t kSlack = 16 * kMebibyte;
    const Communicator& world = scene.world;
    const auto n = static_cast<std::uint64_t>(scene.size);
    const auto key = [&](int rank, std::uint64_t call) { return static_cast<std::uint64_t>(rank) * 1000 + call; };
    std::vector<std::byte> all(scene.rank == 0 ? (by_gather ? n : 1) * bytes : 0, std::byte{1});
    std::vector<std::byte> block = pattern(bytes, 0);
    world.barrier();
    const std::uint64_t before = resident_bytes(), shared_before = resident_shared_bytes();
    if (scene.rank == 0) {
        while (scene.at(kSent).load() < n - 1) sleep_us(1000);  // All others have called.
        sleep_us(50'000);
        at_most(before, budget + kSlack, fmt::format("the root, before {} calls of {} ranks", calls, n));
    }
    for (std::uint64_t call = 0; call < calls; ++call) {
        mark(block, key(scene.rank, call));
        if (scene.rank != 0 && call == 0) scene.at(kSent).fetch_add(1);
        if (by_gather)
            world.gather(std::span<const std::byte>(block), std::span(all), 0);
        else if (scene.rank != 0)
            world.send(std::span<const std::byte>(block), 0, 7);
        for (int rank = by_gather ? 0 : 1; scene.rank == 0 && rank < scene.size; ++rank) {
            if (!by_gather) world.receive(all.data(), all.size(), rank, 7);
            check_marks(all.data() + (by_gather ? static_cast<std::uint64_t>(rank) * bytes : 0), bytes, key(rank, call),
                        fmt::format("block {} of call {}", rank, call));
        }
    }
    at_most(before, budget + bytes + kSlack, fmt::format("{} calls of {} ranks", calls, n));
    // A rank touches its own region; the root reads those of all ranks.
    const std::uint64_t shared = resident_shared_bytes() - std::min(shared_before, resident_shared_bytes());
    const std::uint64_t most = (scene.rank == 0 ? n : 1) * budget + kSlack;
    fmt::print("{} calls of {} ranks: {} shared bytes, at most {}\n", calls, n, shared, most);
    check(kSanitized || shared <= most, "shared memory has grown by {} bytes, and may by {}", shared, most);
    const std::uint64_t peak = scene.job.progress_statistics().landing_peak_bytes;
    check(peak <= budget, "{} bytes were held", peak);
    world.barrier();
}

// Rank 1 starts more gathers than it has places to publish in. When the first one has been read, its place is free, and rank 1 starts one
// more before it looks. The last one must not take the place for which an older one waits: rank 0 waits for that older one. (Without a
// background thread, rank 1 does not look meanwhile.)
ROLLCALL_SCENARIO(started_gathers_publish_in_order) {
    constexpr std::size_t kRead = 2;
    constexpr int kCalls = 25;  // There are eight places: the first call and the last one share one.
    const Communicator& world = scene.world;
    std::vector<std::uint64_t> all(static_cast<std::size_t>(scene.size));
    std::vector<std::uint64_t> own(kCalls);
    std::vector<Request> requests;
    world.barrier();
    if (scene.rank == 0) {
        for (int call = 0; call < kCalls; ++call) {
            if (call == 1) scene.raise(kRead);
            world.gather(own[static_cast<std::size_t>(call)], all, 0);
            for (std::size_t rank = 1; rank < all.size(); ++rank)
                check(all[rank] == rank * 100 + static_cast<std::size_t>(call), "call {}: rank {} gave {}", call, rank, all[rank]);
        }
    } else {
        for (int call = 0; call < kCalls; ++call) {
            if (call == kCalls - 1) scene.await(kRead);
            auto& value = own[static_cast<std::size_t>(call)];
            value = static_cast<std::uint64_t>(scene.rank) * 100 + static_cast<std::uint64_t>(call);
            requests.push_back(world.start_gather(value, all, 0));
        }
        for (Request& request : requests) request.wait();
    }
    world.barrier();
}

}  // namespace rollcall::test
