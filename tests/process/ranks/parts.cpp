/// \file
/// Scenarios of parts that run without their callers (runtime/engine/deputy.hpp): wrong calls, deaths, and communicators that come and go.
#include <algorithm>
#include <functional>
#include <vector>

#include "tests/process/ranks/collectives.hpp"
#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {
namespace {

constexpr std::size_t kLong = 300'000;  // Longer than what travels with its header.
constexpr std::size_t kPassedOn = 0;    // A word that all ranks share.

// One call of an operation with long data, whose contents do not matter. Also holds its buffers.
class LongCall {
  public:
    LongCall(const Scene& scene, std::string operation, std::string algorithm)
        : operation_(std::move(operation)),
          algorithm_(std::move(algorithm)),
          block_(kLong),
          all_(kLong * static_cast<std::size_t>(scene.size)) {}
    void operator()(const Communicator& on, int root, std::size_t bytes = kLong) {
        const CollectiveOptions how{.algorithm = algorithm_, .segment_bytes = {}, .timeout = kPatience};
        const auto block = std::span(block_).first(bytes), all = std::span(all_).first(bytes * static_cast<std::size_t>(on.size()));
        if (operation_ == "broadcast")
            on.broadcast(block, root, how);
        else if (operation_ == "scatter")
            on.scatter(std::span<const std::byte>(all), block, root, how);
        else if (operation_ == "gather")
            on.gather(std::span<const std::byte>(block), all, root, how);
        else if (operation_ == "allgather")
            on.allgather(std::span<const std::byte>(block), all, how);
        else
            on.reduce(std::span(numbers_).first(bytes / 8), std::span(sums_).first(bytes / 8), std::plus(), root, how);
    }
    /// Whether data goes to the root.
    bool collects() const { return operation_ == "gather" || operation_ == "reduce"; }
    /// Whether no rank is done before all ranks have come.
    bool is_among_all() const { return operation_ == "allgather"; }

  private:
    std::string operation_, algorithm_;
    std::vector<std::byte> block_, all_;
    std::vector<std::uint64_t> numbers_ = std::vector<std::uint64_t>(kLong / 8), sums_ = numbers_;
};

}  // namespace

// Rank 2, whose part passes data on between ranks 3 and 0 in every tree and chain of four ranks, comes when rank 3 is done, or has come if
// no rank can be done before. Then it makes another call. Words: operation, algorithm, what differs (operation, root, bytes).
ROLLCALL_SCENARIO(mismatch_with_a_part) {
    constexpr int kOdd = 2, kBelow = 3;
    const std::string what = scene.word(2);
    LongCall call(scene, scene.word(0), scene.word(1));
    const Communicator part = scene.world.duplicate();
    connect_all(scene);
    scene.world.barrier();
    const Nanoseconds start = monotonic_now();
    const Error error = expect_error(ErrorCode::mismatch, what, [&] {
        if (scene.rank == kBelow && call.is_among_all()) scene.raise(kPassedOn);
        if (scene.rank == kOdd) {
            scene.await(kPassedOn);
            sleep_us(20'000);
            if (what == "operation") part.barrier();
            if (what == "root") call(part, kOdd);
            if (what == "bytes") call(part, 0, kLong - 8);
        } else if (scene.rank != 0 || !call.collects()) {
            call(part, 0);
        } else {
            scene.await(kPassedOn);
            call(part, 0);
        }
        if (scene.rank == kBelow && !call.is_among_all()) scene.raise(kPassedOn);
        // Whose part is done hears of it by its next call.
        part.barrier();
        part.barrier();
    });
    fmt::print("rank {} mismatch of {} after {} ms: {}\n", scene.rank, what, (monotonic_now() - start) / 1'000'000, error.what());
    const auto named = [&](int rank, const std::string& its) { return says(error, fmt::format("rank {} called {}", rank, its)); };
    const std::string others = scene.word(0), odd = what == "operation" ? "barrier" : others;
    check(named(kOdd, odd), "the call of rank {} is not named: {}", kOdd, error.what());
    check(named(0, others) || named(1, others) || named(kBelow, others), "no call of another rank is named: {}", error.what());
    if (what == "root") check(says(error, "root=2") && says(error, "root=0"), "the roots are not named: {}", error.what());
    if (what == "bytes")
        check(says(error, fmt::format("{} bytes", kLong)) && says(error, fmt::format("{} bytes", kLong - 8)), "the sizes are not named: {}",
              error.what());
    int value = scene.rank == 0 ? 7 : 0;
    scene.world.broadcast(value, 0);
    check(value == 7, "the world is broken, too");
    scene.world.barrier();
}

// A rank of four is killed. Words: operation, algorithm, and which one: "handed_over" (rank 3 has left its data, which is on its way or
// landed), "forwards" (rank 2 has passed on, or collected, what its caller does not know of), or "root".
ROLLCALL_SCENARIO(death_of_a_part) {
    const std::string which = scene.word(2);
    const int victim = which == "root" ? 0 : which == "forwards" ? 2 : 3;
    LongCall call(scene, scene.word(0), scene.word(1));
    const Communicator part = scene.world.duplicate();
    connect_all(scene);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (scene.rank == victim) {
        const bool comes = victim != 2 && !(victim == 0 && call.collects());
        if (comes)
            call(part, 0);
        else
            scene.await(kPassedOn);
        sleep_us(which == "forwards" ? 20'000 : 0);
        die(scene, "kill");
    }
    const Error error = expect_error(ErrorCode::peer_failed, which, [&] {
        if (scene.rank == 0 && call.collects()) scene.await(kTimeOfDeath);  // The root comes last of all.
        if (scene.rank == 3 && call.is_among_all()) scene.raise(kPassedOn);
        call(part, 0);
        if (scene.rank == 3 && !call.is_among_all()) scene.raise(kPassedOn);
        part.barrier();
    });
    check(scene.at(kTimeOfDeath).load() != 0, "a death was told before it happened: {}", error.what());
    fmt::print("rank {} told after {} ms: {}\n", scene.rank,
               (monotonic_now() - static_cast<Nanoseconds>(scene.at(kTimeOfDeath).load())) / 1'000'000, error.what());
    check(error.failed_rank() == victim, "{} was blamed: {}", error.failed_rank(), error.what());
    check(says(error, fmt::format("rank {} on host ", victim)), "rank and host are not named: {}", error.what());
    scene.at(kEnded).fetch_add(1);
    scene.await(kEnded, static_cast<std::uint64_t>(scene.size - 1));
    end_without_the_dead(scene);
}

// Ten communicators at a time, on each of which ranks make a few calls and come late to some of them, so that their parts begin without
// them. Ranks drop their communicators as soon as their own calls are done, while others still depend on their parts. Words: rounds, seed.
ROLLCALL_SCENARIO(parts_on_many_communicators) {
    constexpr int kCommunicators = 10, kCalls = 3;
    Random same(static_cast<std::uint64_t>(scene.number(1, 1)));
    Random own = own_random(scene, 23);
    const std::string algorithms[] = {"binomial", "pipelined", "auto"}, ring = "background_disseminated_ring";
    for (int round = 0; round < scene.number(0, 4); ++round) {
        std::vector<Communicator> all;
        for (int i = 0; i < kCommunicators; ++i)
            all.push_back(i % 2 ? scene.world.split(0, (scene.rank * 3 + i) % scene.size) : scene.world.split(scene.rank % 2, 0));
        for (int i = 0; i < kCommunicators; ++i) {
            const Communicator on = std::move(all[static_cast<std::size_t>(i)]);  // It goes at the end of its turn.
            const auto n = static_cast<std::uint64_t>(on.size());
            for (int number = 0; number < kCalls; ++number) {
                const auto which = static_cast<std::uint64_t>(1000 * round + 10 * i + number);
                const std::uint64_t kind = same() % 4, bytes = 8 * (same() % 2 ? 4'000 + same() % 8'000 : 1 + same() % 500);
                const int root = static_cast<int>(same() % 60 % n);
                const std::string& algorithm = kind == 3 ? ring : algorithms[same() % (kind == 1 ? 1 : std::size(algorithms))];
                const CollectiveOptions how{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
                if (own() % 3 == 0) sleep_us(static_cast<std::int64_t>(own() % 2000));
                if (kind == 0) {
                    auto data = pattern(bytes, on.rank() == root ? which : 0);
                    on.broadcast(std::span(data), root, how);
                    check_pattern(data.data(), bytes, which, "a broadcast");
                } else if (kind == 1) {
                    const auto block = pattern(bytes, key(on.rank(), which));
                    std::vector<std::byte> blocks(on.rank() == root ? n * bytes : 0);
                    on.gather(std::span<const std::byte>(block), std::span(blocks), root, how);
                    for (std::uint64_t rank = 0; on.rank() == root && rank < n; ++rank)
                        check_pattern(blocks.data() + rank * bytes, bytes, key(static_cast<int>(rank), which), "a gather");
                } else if (kind == 3) {
                    std::vector<std::byte> blocks(n * bytes);
                    on.allgather(std::span<const std::byte>(pattern(bytes, key(on.rank(), which))), std::span(blocks), how);
                    for (std::uint64_t rank = 0; rank < n; ++rank)
                        check_pattern(blocks.data() + rank * bytes, bytes, key(static_cast<int>(rank), which), "an allgather");
                } else {
                    const std::vector<std::uint64_t> numbers(bytes / 8, which + static_cast<std::uint64_t>(on.rank()));
                    std::vector<std::uint64_t> sums(numbers.size());
                    on.reduce(numbers, std::span(sums), std::plus(), root, how);
                    const std::uint64_t expected = n * which + n * (n - 1) / 2;
                    if (on.rank() == root)
                        check(std::all_of(sums.begin(), sums.end(), [&](std::uint64_t sum) { return sum == expected; }),
                              "a reduce is wrong");
                }
            }
        }
    }
    scene.world.barrier();
}

}  // namespace rollcall::test
