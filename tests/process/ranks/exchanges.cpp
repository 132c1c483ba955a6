/// \file
/// Scenarios of allgather and alltoall: each function in its forms, blocks whose sizes differ with every algorithm, and what is refused.
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

using runtime::OperationKind;
using Random = std::mt19937_64;

long element(int from, int to, std::size_t at, int round) {
    return round * 10'000'000'000L + from * 100'000'000L + to * 1'000'000L + static_cast<long>(at);
}

/// Places for blocks of these sizes: one behind the other, or in any order with gaps.
struct Places {
    Places(Random& random, std::vector<int> its_counts) : counts(std::move(its_counts)) {
        std::vector<std::size_t> order(counts.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        has_gaps = random() % 2 != 0;
        if (has_gaps) std::shuffle(order.begin(), order.end(), random);
        offsets.resize(counts.size());
        for (const std::size_t rank : order) {
            offsets[rank] = end + (has_gaps ? random() % 9 : 0);
            end = offsets[rank] + static_cast<std::size_t>(counts[rank]);
        }
    }
    Blocks blocks() const { return has_gaps ? Blocks(counts, offsets) : Blocks(counts); }
    template <class Elements>
    auto of(Elements& all, int rank) const {
        const auto r = static_cast<std::size_t>(rank);
        return std::span(all).subspan(offsets[r], static_cast<std::size_t>(counts[r]));
    }

    std::vector<int> counts;
    std::vector<std::size_t> offsets;
    std::size_t end = 0;
    bool has_gaps = false;
};

/// Returns the sizes of all ranks, one list for each. All ranks compute the same lists.
std::vector<std::vector<int>> sizes_of_all(Random& same, int ranks, std::uint64_t most) {
    std::vector<std::vector<int>> sizes(static_cast<std::size_t>(ranks), std::vector<int>(static_cast<std::size_t>(ranks)));
    for (auto& row : sizes)
        for (int& size : row) size = same() % 4 == 0 ? 0 : static_cast<int>(same() % (most + 1));
    return sizes;
}

using Allgather = std::function<void(std::span<const long> own, std::vector<long>& all, const Blocks& blocks)>;
void check_allgather(const Scene& scene, const Places& places, int round, const std::string& what, const Allgather& call) {
    std::vector<long> all(places.end, -1), expected(places.end, -1);
    for (int rank = 0; rank < scene.size; ++rank) {
        const auto block = places.of(expected, rank);
        for (std::size_t i = 0; i < block.size(); ++i) block[i] = element(rank, 0, i, round);
    }
    const auto mine = places.of(expected, scene.rank);
    const std::vector<long> own(mine.begin(), mine.end());
    std::copy(own.begin(), own.end(), places.of(all, scene.rank).begin());  // For the forms in place.
    call(own, all, places.blocks());
    check(all == expected, "{} of {} elements, round {}: something else came", what, places.end, round);
}

using Alltoall = std::function<void(std::span<const long> from, const Blocks& to_send, std::span<long> into, const Blocks& to_receive)>;
void check_alltoall(const Scene& scene, const Places& sent, const Places& received, int round, const std::string& what,
                    const Alltoall& call) {
    std::vector<long> from(sent.end, -1), into(received.end, -2), expected(received.end, -2);
    for (int rank = 0; rank < scene.size; ++rank) {
        const auto out = sent.of(from, rank);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = element(scene.rank, rank, i, round);
        const auto in = received.of(expected, rank);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = element(rank, scene.rank, i, round);
    }
    call(from, sent.blocks(), into, received.blocks());
    check(into == expected, "{} of {} elements, round {}: something else came", what, received.end, round);
}

/// Runs a plan three times. `forget` clears its results.
void run_some(Plan plan, const std::function<void()>& forget) {
    for (int i = 0; i < 3; ++i) {
        forget();
        if (i % 2) {
            plan.begin();
            plan.edge(0.5);
        }
        plan.run();
    }
}

}  // namespace

// Words: seed. Blocks whose sizes differ, with every algorithm: blocking, started and planned.
ROLLCALL_SCENARIO(exchanges_by_all_algorithms) {
    const Communicator& world = scene.world;
    Random same(static_cast<std::uint64_t>(scene.number(0, 1)));
    Random own(same() + static_cast<std::uint64_t>(scene.rank));  // Each rank has its own places.
    const auto gathers = algorithms_of_blocks(world, OperationKind::allgather),
               exchanges = algorithms_of_blocks(world, OperationKind::alltoall);
    check(gathers.size() >= 5 && exchanges.size() >= 3, "only {} and {} algorithms take blocks of different sizes", gathers.size(),
          exchanges.size());
    int round = 0;
    for (const std::uint64_t most : {1, 6, 500, 20'000})
        for (int form = 0; form < 3; ++form) {
            for (const std::string& algorithm : gathers) {
                const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
                const PlanOptions plan_options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
                const Places places(own, sizes_of_all(same, scene.size, most)[0]);
                const bool in_place = same() % 3 == 0;
                check_allgather(scene, places, ++round, "allgather " + algorithm, [&](auto block, auto& all, auto& blocks) {
                    switch (form) {
                        case 0: return in_place ? world.allgather(all, blocks, options) : world.allgather(block, all, blocks, options);
                        case 1:
                            return void((in_place ? world.start_allgather(all, blocks, options)
                                                  : world.start_allgather(block, all, blocks, options))
                                            .wait());
                        default:
                            return run_some(in_place ? world.plan_allgather(all, blocks, plan_options)
                                                     : world.plan_allgather(block, all, blocks, plan_options),
                                            [&] {
                                                std::fill(all.begin(), all.end(), -1);
                                                std::copy(block.begin(), block.end(), places.of(all, scene.rank).begin());
                                            });
                    }
                });
            }
            for (const std::string& algorithm : exchanges) {
                const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
                const PlanOptions plan_options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
                const auto sizes = sizes_of_all(same, scene.size, most);
                std::vector<int> to_receive;
                for (const auto& row : sizes) to_receive.push_back(row[static_cast<std::size_t>(scene.rank)]);
                const Places sent(own, sizes[static_cast<std::size_t>(scene.rank)]), received(own, to_receive);
                check_alltoall(scene, sent, received, ++round, "alltoall " + algorithm,
                               [&](auto from, auto& to_send, auto into, auto& to_take) {
                                   switch (form) {
                                       case 0: return world.alltoall(from, to_send, into, to_take, options);
                                       case 1: return void(world.start_alltoall(from, to_send, into, to_take, options).wait());
                                       default:
                                           return run_some(world.plan_alltoall(from, to_send, into, to_take, plan_options),
                                                           [&] { std::fill(into.begin(), into.end(), -2); });
                                   }
                               });
            }
        }
    still_works(world);
}

// Every function that a program can call, with `auto`.
ROLLCALL_SCENARIO(exchanges) {
    const Communicator& world = scene.world;
    const auto ranks = static_cast<std::size_t>(scene.size), me = static_cast<std::size_t>(scene.rank);
    const auto raw = [](auto& data) { return static_cast<void*>(data.data()); };
    const auto gathered = [&](const std::function<void(std::vector<int>&, std::vector<int>&)>& call) {
        std::vector<int> own = {scene.rank, -scene.rank}, all(2 * ranks, 7);
        all[2 * me] = scene.rank;
        all[2 * me + 1] = -scene.rank;
        call(own, all);
        for (std::size_t i = 0; i < ranks; ++i)
            check(all[2 * i] == static_cast<int>(i) && all[2 * i + 1] == -static_cast<int>(i), "an allgather gave {}", all[2 * i]);
    };
    gathered([&](auto& own, auto& all) { world.allgather(raw(own), raw(all), 8); });
    gathered([&](auto& own, auto& all) { world.start_allgather(raw(own), raw(all), 8).wait(); });
    gathered([&](auto& own, auto& all) { world.plan_allgather(raw(own), raw(all), 8).run(); });
    gathered([&](auto& own, auto& all) { world.allgather(own, all); });
    gathered([&](auto& own, auto& all) { world.start_allgather(own, all).wait(); });
    gathered([&](auto& own, auto& all) { world.plan_allgather(own, all).run(); });
    gathered([&](auto&, auto& all) { world.allgather(all); });
    gathered([&](auto&, auto& all) { world.start_allgather(all).wait(); });
    gathered([&](auto&, auto& all) { world.plan_allgather(all).run(); });
    const std::vector<std::uint64_t> bytes(ranks, 8);
    gathered([&](auto& own, auto& all) { world.allgather(raw(own), 8, raw(all), Blocks(bytes)); });
    gathered([&](auto& own, auto& all) { world.start_allgather(raw(own), 8, raw(all), Blocks(bytes)).wait(); });
    gathered([&](auto& own, auto& all) { world.plan_allgather(raw(own), 8, raw(all), Blocks(bytes)).run(); });
    // One element each.
    std::vector<double> values(ranks);
    world.allgather(0.5 * scene.rank, values);
    for (std::size_t i = 0; i < ranks; ++i) check(values[i] == 0.5 * static_cast<double>(i), "an allgather of elements gave {}", values[i]);

    const auto exchanged = [&](const std::function<void(std::vector<int>&, std::vector<int>&)>& call) {
        std::vector<int> from(2 * ranks), into(2 * ranks, -1);
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<int>(1000 * me + i);
        const std::vector<int> before = from;
        call(from, into);
        check(from == before, "what is sent was written");
        for (std::size_t i = 0; i < into.size(); ++i)
            check(into[i] == static_cast<int>(1000 * (i / 2) + 2 * me + i % 2), "an alltoall gave {}", into[i]);
    };
    exchanged([&](auto& from, auto& into) { world.alltoall(raw(from), raw(into), 8); });
    exchanged([&](auto& from, auto& into) { world.start_alltoall(raw(from), raw(into), 8).wait(); });
    exchanged([&](auto& from, auto& into) { world.plan_alltoall(raw(from), raw(into), 8).run(); });
    exchanged([&](auto& from, auto& into) { world.alltoall(from, into); });
    exchanged([&](auto& from, auto& into) { world.start_alltoall(from, into).wait(); });
    exchanged([&](auto& from, auto& into) { world.plan_alltoall(from, into).run(); });
    const Blocks each(bytes);
    exchanged([&](auto& from, auto& into) { world.alltoall(raw(from), each, raw(into), each); });
    exchanged([&](auto& from, auto& into) { world.start_alltoall(raw(from), each, raw(into), each).wait(); });
    exchanged([&](auto& from, auto& into) { world.plan_alltoall(raw(from), each, raw(into), each).run(); });

    // A rank that sends nothing, or receives nothing, may give one buffer for both.
    std::vector<std::uint64_t> sizes_sent(ranks), sizes_received(ranks);
    if (me == 0) sizes_sent.back() = 8;
    if (me + 1 == ranks) sizes_received.front() = 8;
    std::vector<int> one(2, scene.rank == 0 ? 7 : 0), other(2);
    auto& into = scene.size == 1 ? other : one;
    world.alltoall(raw(one), Blocks(sizes_sent), raw(into), Blocks(sizes_received));
    if (me + 1 == ranks) check(into[0] == 7 && into[1] == 7, "an alltoall to one rank gave {}", into[0]);

    // Calls that are refused before anything is sent.
    const auto refused = [&](const std::string& sentence, const std::function<void()>& call) {
        const std::string what = expect_error(ErrorCode::invalid_argument, sentence, call).what();
        check(what.find(sentence) != std::string::npos, "it says '{}'", what);
    };
    std::vector<int> own(2), all(2 * ranks), odd(2 * ranks + 1), result(2 * ranks + 1);
    refused(fmt::format("allgather on world: the data has {} elements, but {} blocks of 2 are {}: give it exactly as many", odd.size(),
                        ranks, 2 * ranks),
            [&] { world.allgather(own, odd); });
    refused("the result has", [&] { world.alltoall(all, result); });
    refused("the data received would overwrite the data to send", [&] { world.alltoall(all, all); });
    const std::vector<int> counts(ranks, 2), more(ranks, 3), few(ranks - 1, 2);
    refused("ends outside of the data", [&] { world.allgather(own, all, Blocks(more)); });
    refused(fmt::format("there are {} counts", ranks - 1), [&] { world.allgather(own, all, Blocks(few)); });
    refused("this rank's own block has 2 elements, but the list gives it a count of 3", [&] {
        std::vector<int> room(3 * ranks);
        world.allgather(own, room, Blocks(more));
    });
    refused("alltoall on world, data to send: ", [&] { world.alltoall(all, Blocks(few), result, Blocks(counts)); });
    refused("alltoall on world, data received: ", [&] { world.alltoall(all, Blocks(counts), result, Blocks(few)); });
    std::vector<int> other_own = counts;
    other_own[me] = 1;
    refused("this rank's own block has 2 elements, but the list gives it a count of 1",
            [&] { world.alltoall(all, Blocks(counts), result, Blocks(other_own)); });
    refused("needs blocks of one size", [&] {
        world.alltoall(all, Blocks(counts), result, Blocks(counts), {.algorithm = "bruck", .segment_bytes = {}, .timeout = {}});
    });
    if (scene.size > 1) {
        refused("cannot be cut into equal blocks", [&] { world.allgather(odd); });
        refused("cannot be cut into equal blocks", [&] { world.alltoall(odd, result); });
        const std::vector<int> zeros(ranks, 0);
        refused("overlap", [&] { world.allgather(own, all, Blocks(counts, zeros)); });
        refused("overlap", [&] { world.alltoall(all, Blocks(counts, zeros), result, Blocks(counts, zeros)); });
    }
    world.barrier();
    still_works(world);
}

// Ranks that count different sizes are told, and so are all others, with every algorithm.
ROLLCALL_SCENARIO(exchanges_that_do_not_match) {
    const auto ranks = static_cast<std::size_t>(scene.size);
    const auto told = [&](const std::string& what, const Communicator& world, const std::function<void()>& call) {
        // A rank whose part was done before learns of the error in its next call.
        return std::string(expect_error(ErrorCode::mismatch, what, [&] {
                               for (;;) {
                                   call();
                                   world.barrier(kPatience);
                               }
                           }).what());
    };
    // A rank whose part was done no longer knows its sizes when it sees the other call.
    constexpr const char* kOnlyRanks = "counts other sizes than rank";
    for (const std::string& algorithm : algorithms_of_blocks(scene.world, OperationKind::allgather)) {
        const Communicator world = scene.world.duplicate();
        // Rank 1 counts 30 elements for rank 0. All others count 10.
        std::vector<std::size_t> counts(ranks, 10);
        if (scene.rank == 1) counts[0] = 30;
        std::vector<long> all(10 * ranks + 20), own(10);
        const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
        const std::string what = told("allgather " + algorithm, world, [&] { world.allgather(own, all, Blocks(counts), options); });
        const bool names_block = what.find("for the block of rank 0, but rank") != std::string::npos;
        const bool has_sizes = what.find("240") != std::string::npos && what.find("80") != std::string::npos;
        check((names_block && has_sizes) || what.find(kOnlyRanks) != std::string::npos, "{} says '{}'", algorithm, what);
    }
    // `auto` may take another algorithm for what rank 1 counts.
    for (const std::size_t wrong : {1000, 300'000}) {
        const Communicator world = scene.world.duplicate();
        std::vector<std::size_t> counts(ranks, 10);
        if (scene.rank == 1) counts[0] = wrong;
        std::vector<long> all(10 * ranks + wrong), own(10);
        const CollectiveOptions options{.algorithm = "auto", .segment_bytes = {}, .timeout = kPatience};
        const std::string what = told("allgather", world, [&] { world.allgather(own, all, Blocks(counts), options); });
        const bool names_block = what.find("for the block of rank 0, but rank") != std::string::npos;
        check(names_block || what.find(kOnlyRanks) != std::string::npos, "it says '{}'", what);
    }
    for (const std::string& algorithm : algorithms_of_blocks(scene.world, OperationKind::alltoall))
        for (const std::size_t wrong : {2, 100}) {
            const Communicator world = scene.world.duplicate();
            // Rank 1 counts another size from rank 0 than rank 0 sends.
            std::vector<std::size_t> counts(ranks, 10), expected(ranks, 10);
            if (scene.rank == 1) expected[0] = wrong;
            std::vector<long> from(10 * ranks), into(10 * ranks + 100);
            const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
            const std::string what =
                told("alltoall " + algorithm, world, [&] { world.alltoall(from, Blocks(counts), into, Blocks(expected), options); });
            check(what.find(fmt::format("rank 0 sends 80 bytes to rank 1, which counts {} from it", 8 * wrong)) != std::string::npos,
                  "{} says '{}'", algorithm, what);
        }
    // Different sizes of equal blocks, and counts that differ in plans.
    const Communicator part = scene.world.duplicate();
    std::vector<long> own(scene.rank == 1 ? 3 : 2), all(own.size() * ranks);
    const std::string what = told("other blocks", part, [&] { part.allgather(own, all); });
    check(what.find("allgather(16 bytes)") != std::string::npos && what.find("allgather(24 bytes)") != std::string::npos, "it says '{}'",
          what);
    const Communicator planned = scene.world.duplicate();
    std::vector<std::size_t> counts(ranks, 2);
    std::vector<long> two(2), room(2 * ranks + 1);
    const std::string right = planned.plan_allgather(two, room, Blocks(counts)).explanation();
    check(right.starts_with("allgather of blocks of different sizes (16 bytes on the average) "), "it says '{}'", right);
    if (scene.rank == 1) counts[0] = 3;
    const Error error =
        expect_error(ErrorCode::mismatch, "plans that count differently", [&] { planned.plan_allgather(two, room, Blocks(counts)); });
    check(std::string(error.what()).find("with other sizes of the blocks") != std::string::npos, "it says '{}'", error.what());
    still_works(scene.world);
}

}  // namespace rollcall::test
