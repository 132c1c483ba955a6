/// \file
/// Scenarios of memory that a program takes from the runtime: what is read there, how long it is read, and what deaths change.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "tests/process/ranks/failing/deaths.hpp"

namespace rollcall::test {
namespace {

using Word = std::uint32_t;
using Words = std::span<Word>;

Word value_of(int rank, std::size_t i) { return static_cast<Word>(rank + 1) * 1'000'003u + static_cast<Word>(i); }
// These two take most of the time if a sanitizer looks at each word.
__attribute__((no_sanitize("address", "thread", "undefined"))) void fill(Words words, int rank) {
    Word* const all = words.data();
    for (std::size_t i = 0, count = words.size(); i < count; ++i) all[i] = value_of(rank, i);
}
template <class Expected>
__attribute__((no_sanitize("address", "thread", "undefined"))) void expect(std::span<const Word> words, const char* what,
                                                                           Expected expected) {
    const Word* const all = words.data();
    for (std::size_t i = 0, count = words.size(); i < count; ++i)
        if (all[i] != expected(i)) throw Wrong(fmt::format("{}: element {} is {}, not {}", what, i, all[i], expected(i)));
}
// The sum of value_of() over all ranks.
Word total_of(int ranks, std::size_t i) {
    const auto n = static_cast<Word>(ranks);
    return n * (n + 1) / 2 * 1'000'003u + n * static_cast<Word>(i);
}
/// As soon as a call is over, its buffers are written: what is still read there would be wrong.
void spoil(Words words) { std::fill(words.begin(), words.end(), 0xeeeeeeeeu); }

/// Some buffers, each of which is in taken memory or in other memory, as each rank likes.
struct Buffers {
    Buffers(Scene& scene, std::mt19937_64& own, std::size_t words) {
        for (Words* const each : {&from, &into}) {
            if (own() % 4 > 0) {
                Memory& memory = taken.emplace_back(scene.job.allocate((words + 8) * sizeof(Word)));
                *each = memory.as<Word>().subspan(own() % 8, words);
            } else {
                *each = other.emplace_back(words);
            }
        }
        fill(from, scene.rank);
    }
    std::vector<Memory> taken;
    std::vector<std::vector<Word>> other;
    Words from, into;
};

void call_everything(Scene& scene, const Communicator& world, std::mt19937_64& own, std::size_t count, int root) {
    const int n = scene.size;
    const auto ranks = static_cast<std::size_t>(n), rank = static_cast<std::size_t>(scene.rank);
    const bool is_root = scene.rank == root;
    CollectiveOptions whole;
    whole.until_delivered = own() % 2 == 0;
    {
        Buffers at(scene, own, count);
        const bool in_place = own() % 2 == 0;
        in_place ? world.allreduce(at.from, rollcall::sum) : world.allreduce(at.from, at.into, rollcall::sum);
        expect(in_place ? at.from : at.into, "allreduce", [&](std::size_t i) { return total_of(n, i); });
        spoil(at.from);
    }
    {
        Buffers at(scene, own, count * ranks);
        world.reduce_scatter(at.from, at.into.first(count), rollcall::sum);
        spoil(at.from);
        expect(at.into.first(count), "reduce_scatter", [&](std::size_t i) { return total_of(n, rank * count + i); });
    }
    {
        Buffers at(scene, own, count * ranks);
        world.alltoall(at.from, at.into);
        spoil(at.from);
        expect(at.into, "alltoall", [&](std::size_t i) { return value_of(static_cast<int>(i / count), rank * count + i % count); });
    }
    {
        Buffers at(scene, own, count * ranks);
        world.allgather(at.from.first(count), at.into);
        spoil(at.from);
        expect(at.into, "allgather", [&](std::size_t i) { return value_of(static_cast<int>(i / count), i % count); });
    }
    {
        Buffers at(scene, own, count);
        const Words result = own() % 2 ? at.from : at.into;
        is_root ? world.reduce(at.from, result, rollcall::sum, root, whole) : world.reduce(at.from, {}, rollcall::sum, root, whole);
        if (!is_root || result.data() != at.from.data()) spoil(at.from);
        if (is_root) expect(result, "reduce", [&](std::size_t i) { return total_of(n, i); });
    }
    {
        Buffers at(scene, own, count * ranks);
        world.gather(at.from.first(count), at.into, root, whole);
        spoil(at.from);
        if (is_root) expect(at.into, "gather", [&](std::size_t i) { return value_of(static_cast<int>(i / count), i % count); });
    }
    {
        Buffers at(scene, own, count);
        world.broadcast(at.from, root, whole);
        expect(at.from, "broadcast", [&](std::size_t i) { return value_of(root, i); });
        spoil(at.from);
    }
}

/// The same memory is read for calls on two communicators at the same time.
void call_at_once(Scene& scene, const Communicator& world, const Communicator& other, Memory& memory) {
    const Words from = memory.as<Word>();
    fill(from, scene.rank);
    std::vector<Word> one(from.size()), two(from.size());
    Request first = world.start_allreduce(from, one, rollcall::sum), second = other.start_alltoall(from, two);
    second.wait();
    first.wait();
    spoil(from);
    const std::size_t block = from.size() / static_cast<std::size_t>(scene.size);
    expect(one, "allreduce at once", [&](std::size_t i) { return total_of(scene.size, i); });
    expect(two, "alltoall at once",
           [&](std::size_t i) { return value_of(static_cast<int>(i / block), static_cast<std::size_t>(scene.rank) * block + i % block); });
}

}  // namespace

// Takes and gives back so many MiB, one after the other. Words: MiB.
ROLLCALL_SCENARIO(taken_again_and_again) {
    Memory kept = scene.job.allocate(1 << 20);
    kept.as<Word>().back() = 0;
    for (Word i = 1; i <= static_cast<Word>(scene.number(0, 1)); ++i) {
        Memory next = scene.job.allocate(1 << 20);
        next.as<Word>().back() = i;
        check(kept.as<Word>().back() == i - 1, "memory changed when other memory was written");
        kept = std::move(next);
    }
}

// Words: a seed.
ROLLCALL_SCENARIO(taken_memory) {
    const auto seed = static_cast<std::uint64_t>(scene.number(0, 1));
    std::mt19937_64 all(seed), own(seed + static_cast<std::uint64_t>(scene.rank) + 1);
    const Communicator other = scene.world.duplicate();
    const auto ranks = static_cast<std::size_t>(scene.size);
    for (int round = 0; round < (kSanitized ? 3 : 6); ++round) {
        // With the longest, a block of three ranks is longer than one piece of what a reader copies. More ranks see the same code with
        // less.
        const std::size_t counts[] = {1, 1025, 5000, 70'001, scene.size > 3 ? 100'003u : 300'000u};
        call_everything(scene, round % 2 ? scene.world : other, own, counts[all() % std::size(counts)], static_cast<int>(all() % ranks));
        if (own() % 3 == 0) sleep_us(static_cast<std::int64_t>(own() % 2000));
    }
    Memory memory = scene.job.allocate(20'000 * ranks * sizeof(Word));
    for (int round = 0; round < 5; ++round) call_at_once(scene, scene.world, other, memory);
    // A plan reads it in each iteration.
    std::vector<Word> into(memory.as<Word>().size());
    Plan plan = scene.world.plan_allreduce(memory.as<Word>(), into, rollcall::sum);
    for (int round = 0; round < 5; ++round) {
        plan.begin();
        fill(memory.as<Word>(), scene.rank);
        plan.run();
        spoil(memory.as<Word>());
        expect(into, "planned allreduce", [&](std::size_t i) { return total_of(scene.size, i); });
    }
    check(scene.job.allocate(0).data() == nullptr && Memory().size() == 0, "there is memory of no bytes");
    expect_error(ErrorCode::state, "more memory than there is", [&] { scene.job.allocate(std::uint64_t{1} << 62); });
    // Messages and moved objects.
    Memory moved = std::move(memory);
    check(memory.data() == nullptr, "memory that was moved is still there");
    fill(moved.as<Word>(), scene.rank);
    Request send = scene.world.start_send(moved.as<Word>(), scene.next(), 5);
    scene.world.receive(Words(into), scene.previous(), 5);
    send.wait();
    expect(into, "a message", [&](std::size_t i) { return value_of(scene.previous(), i); });
}

// Memory may live as long as the program, and longer than the job.
ROLLCALL_SCENARIO(memory_at_the_end) {
    static Memory longer = scene.job.allocate(1 << 20);
    std::vector<Word> into(longer.as<Word>().size());
    fill(longer.as<Word>(), scene.rank);
    scene.world.allreduce(longer.as<Word>(), into, rollcall::sum);
    expect(into, "allreduce", [&](std::size_t i) { return total_of(scene.size, i); });
}

namespace {

/// After a death finalize() does not wait for other ranks. So a rank of the rest that ended now would end the call of a slower one.
void end_together(const Scene& scene, const Communicator& rest) {
    fmt::print("rank {} went on\n", scene.rank);
    scene.at(0).fetch_add(1);
    scene.await(0, static_cast<std::uint64_t>(rest.size()));
}

}  // namespace

// Rank 1 dies while it combines what others have in taken memory. All others are told, and go on without it.
ROLLCALL_SCENARIO(death_while_memory_is_read) {
    Memory memory = scene.job.allocate(1 << 20);
    const Words from = memory.as<Word>();
    std::vector<Word> into(from.size());
    fill(from, scene.rank);
    scene.world.allreduce(from, into, rollcall::sum);
    const bool dies = scene.rank == 1;
    const Communicator rest = scene.world.split(dies ? 1 : 0, 0);
    // UCX ends a process when a peer dies while the two are connecting over tcp. So all ranks are connected before.
    std::vector<int> words(static_cast<std::size_t>(scene.size)), others(words.size());
    scene.world.alltoall(words, others, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
    nobody_is_in_a_call(scene);
    const auto add = [dies](Word left, Word right) noexcept {
        if (dies) ::kill(::getpid(), SIGKILL);
        return left + right;
    };
    Reduction reduction = reduction_of<Word>(add);
    reduction.is_commutative = true;  // Else ranks of several nodes would not combine on two levels.
    const Error error = expect_error(ErrorCode::peer_failed, "a death", [&] {
        scene.world.allreduce(memory.data(), static_cast<void*>(into.data()), from.size(), reduction);
    });
    check(error.failed_rank() == 1, "rank {} is said to have died", error.failed_rank());
    spoil(from);
    fill(from, rest.rank());
    rest.allreduce(from, into, rollcall::sum);
    expect(into, "allreduce of the rest", [&](std::size_t i) { return total_of(rest.size(), i); });
    end_together(scene, rest);
}

namespace {

/// Blocks so long that their readers copy them out of the memory of this process, in two pieces, and not out of node memory.
constexpr std::size_t kPrivateWords = (1 << 18) + 1000;

void exchange_blocks(const Communicator& world, std::vector<Word>& from, std::vector<Word>& into, const CollectiveOptions& options) {
    fill(from, world.rank());
    world.alltoall(from, into, options);
    spoil(from);
    expect(into, "alltoall", [&](std::size_t i) {
        return value_of(static_cast<int>(i / kPrivateWords), static_cast<std::size_t>(world.rank()) * kPrivateWords + i % kPrivateWords);
    });
}

}  // namespace

// Long blocks of a scatter are offered where they stand. In half of the rounds one rank comes only when the root has left, so that the root
// must have made a copy for it. The others come when they like. Words: a seed, the number of rounds, 0 if there is no room for copies.
ROLLCALL_SCENARIO(blocks_that_are_offered) {
    const std::string seed = scene.word(0, "1");
    std::mt19937_64 common(std::stoull(seed)), own(std::stoull(seed) + static_cast<std::uint64_t>(scene.rank));
    const std::size_t sizes[] = {8193, 16'384, 100'003, kPrivateWords};
    for (int round = 0; round < scene.number(1, 20); ++round) {
        const std::size_t words = sizes[static_cast<std::size_t>(round) % std::size(sizes)];
        const int root = static_cast<int>(common() % static_cast<std::uint64_t>(scene.size)), late = (root + 1) % scene.size;
        const bool comes_late = common() % 2 == 0 && scene.size > 1 && scene.number(2, 1) != 0;
        const std::size_t of_root = scene.rank == root ? words * static_cast<std::size_t>(scene.size) : 0;
        Memory taken = own() % 3 == 0 ? scene.job.allocate(of_root * sizeof(Word)) : Memory();
        std::vector<Word> ordinary(taken.data() ? 0 : of_root), into(words);
        const Words from = taken.data() ? taken.as<Word>() : Words(ordinary);
        fill(from, root);
        std::byte word{};
        sleep_us(static_cast<long>(own() % 200));
        if (comes_late && scene.rank == late) scene.world.receive(std::span(&word, 1), root);
        CollectiveOptions options;
        options.until_delivered = !comes_late && own() % 4 == 0;
        scene.world.scatter(from, into, root, options);
        spoil(from);
        if (comes_late && scene.rank == root) scene.world.send(std::span(&word, 1), late);
        expect(into, "scatter", [&](std::size_t i) { return value_of(root, static_cast<std::size_t>(scene.rank) * words + i); });
    }
}

namespace {

struct ThreeWords {
    std::array<Word, 3> words;
};
struct AddThreeWords {
    ThreeWords operator()(const ThreeWords& x, const ThreeWords& y) const noexcept {
        return {{x.words[0] + y.words[0], x.words[1] + y.words[1], x.words[2] + y.words[2]}};
    }
};

}  // namespace
}  // namespace rollcall::test

template <>
inline constexpr bool rollcall::commutes<rollcall::test::AddThreeWords> = true;

namespace rollcall::test {

// Between two ranks, long elements are combined where they stand, and results are copied from where they stand. Words: a seed, and the
// number of rounds.
ROLLCALL_SCENARIO(long_sums) {
    const std::string seed = scene.word(0, "1");
    std::mt19937_64 common(std::stoull(seed)), own(std::stoull(seed) + static_cast<std::uint64_t>(scene.rank));
    const std::size_t sizes[] = {1500, 16'384, 16'387, 100'003, kPrivateWords / 2, 2 * kPrivateWords + 5};
    const auto ranks = static_cast<std::size_t>(scene.size), rank = static_cast<std::size_t>(scene.rank);
    const auto total = [&](std::size_t i) { return total_of(scene.size, i); };
    for (int round = 0; round < scene.number(1, 24); ++round) {
        const std::size_t words = sizes[static_cast<std::size_t>(round) % std::size(sizes)] / ranks * ranks;
        Buffers buffers(scene, own, words);
        sleep_us(static_cast<long>(own() % 200));
        // Of 24 rounds, each size has each way once.
        switch ((static_cast<std::size_t>(round) + static_cast<std::size_t>(round) / std::size(sizes)) % 4) {
            case 0:
                scene.world.allreduce(buffers.from, buffers.into, rollcall::sum);
                spoil(buffers.from);
                expect(buffers.into, "allreduce", total);
                break;
            case 1:  // its result takes the place of what it brings
                scene.world.allreduce(buffers.from, rollcall::sum);
                expect(buffers.from, "allreduce in place", total);
                spoil(buffers.from);
                break;
            default: {
                const Words block = common() % 2 ? buffers.from.subspan(rank * (words / ranks), words / ranks)  // in place, too
                                                 : buffers.into.first(words / ranks);
                scene.world.reduce_scatter(buffers.from, block, rollcall::sum);
                expect(block, "reduce_scatter", [&](std::size_t i) { return total(rank * (words / ranks) + i); });
                spoil(buffers.from);
            }
        }
        spoil(buffers.into);
    }
    // Neither a piece of node memory nor one of private memory holds a whole number of these elements.
    std::vector<ThreeWords> brought(kPrivateWords), added(brought.size());
    for (std::size_t i = 0; i < brought.size(); ++i)
        for (std::size_t k = 0; k < 3; ++k) brought[i].words[k] = value_of(scene.rank, 3 * i + k);
    scene.world.allreduce(brought, added, AddThreeWords());
    for (std::size_t i = 0; i < added.size(); ++i)
        for (std::size_t k = 0; k < 3; ++k) check(added[i].words[k] == total(3 * i + k), "allreduce of long elements: word {} of {}", k, i);
}

// Rank 1 publishes its blocks, or what is to be added, and dies. The others come later, and find that they cannot read its memory. They are
// told, and go on without it.
ROLLCALL_SCENARIO(death_of_a_rank_whose_memory_is_read) {
    const bool adds = scene.word(0, "alltoall") == "allreduce";
    const auto words = [](const Communicator& among) { return static_cast<std::size_t>(among.size()) * kPrivateWords; };
    std::vector<Word> from(words(scene.world)), into(from.size());
    exchange_blocks(scene.world, from, into, {});
    const bool dies = scene.rank == 1;
    const Communicator rest = scene.world.split(dies ? 1 : 0, 0);
    scene.world.barrier();
    nobody_is_in_a_call(scene);
    if (dies) {
        Request request = adds ? scene.world.start_allreduce(from, into, rollcall::sum) : scene.world.start_alltoall(from, into);
        ::kill(::getpid(), SIGKILL);
    }
    sleep_us(20'000);
    const Error error = expect_error(ErrorCode::peer_failed, "a death", [&] {
        if (adds)
            scene.world.allreduce(from, into, rollcall::sum);
        else
            scene.world.alltoall(from, into);
    });
    check(error.failed_rank() == 1, "rank {} is said to have died", error.failed_rank());
    from.resize(words(rest));
    into.resize(words(rest));
    exchange_blocks(rest, from, into, {});
    end_together(scene, rest);
}

// Rank 1 comes so late that the others give up. Their buffers are theirs again. What rank 1 then gets is an error, or the blocks as they
// were.
ROLLCALL_SCENARIO(memory_that_is_read_is_taken_back) {
    std::vector<Word> from(static_cast<std::size_t>(scene.size) * kPrivateWords), into(from.size());
    exchange_blocks(scene.world, from, into, {});
    const Communicator other = scene.world.duplicate();
    CollectiveOptions options;
    options.timeout = std::chrono::milliseconds(scene.rank == 1 ? 60'000 : 50);
    if (scene.rank == 1) sleep_us(200'000);
    try {
        exchange_blocks(scene.world, from, into, options);
        check(scene.rank == 1, "a call without rank 1 did not time out");
    } catch (const Error& error) {
        check(error.code() == ErrorCode::timeout, "the call failed otherwise: {}", error.what());
        spoil(from);
    }
    exchange_blocks(other, from, into, {});
}

}  // namespace rollcall::test
