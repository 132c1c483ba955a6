/// \file
/// Scenarios of blocks whose sizes differ: every algorithm and form, sizes that do not match, and arguments that are no valid blocks.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include <sys/mman.h>

#include "bench/cases/block_sizes.hpp"
#include "collectives/catalogue.hpp"
#include "tests/process/ranks/messages.hpp"

namespace rollcall::test {
namespace {

using runtime::OperationKind;
using Random = std::mt19937_64;

// Sizes that are the same on all ranks, some of them zero, and places in any order with gaps, or without gaps.
struct Sizes {
    Sizes(Random& same, int ranks, std::uint64_t most) : counts(static_cast<std::size_t>(ranks)) {
        for (int& count : counts) count = same() % 4 == 0 ? 0 : static_cast<int>(same() % (most + 1));
        if (same() % 2) {
            std::vector<std::size_t> order(counts.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::shuffle(order.begin(), order.end(), same);
            offsets.resize(counts.size());
            for (const std::size_t rank : order) {
                offsets[rank] = end + same() % 9;
                end = offsets[rank] + static_cast<std::size_t>(counts[rank]);
            }
        } else {
            end = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
        }
    }
    /// One block behind the other.
    explicit Sizes(const std::vector<std::uint64_t>& sizes) : counts(sizes.begin(), sizes.end()) {
        end = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    }
    Blocks blocks() const { return offsets.empty() ? Blocks(counts) : Blocks(counts, offsets); }
    std::size_t offset(int rank) const {
        if (!offsets.empty()) return offsets[static_cast<std::size_t>(rank)];
        return std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
    }
    std::size_t count(int rank) const { return static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]); }

    std::vector<int> counts;
    std::vector<std::size_t> offsets;
    std::size_t end = 0;
};

long element(int rank, std::size_t at, int round) { return round * 1'000'000'000L + rank * 1'000'000L + static_cast<long>(at); }

using Scatter = std::function<void(std::span<const long> all, const Blocks& blocks, std::span<long> own, int root)>;
using Gather = std::function<void(std::span<const long> own, std::span<long> all, const Blocks& blocks, int root)>;

void check_scatter(const Scene& scene, const Sizes& sizes, int root, int round, const std::string& what, const Scatter& scatter) {
    const bool is_root = scene.rank == root;
    std::vector<long> all(is_root ? sizes.end : 0, -1), own(sizes.count(scene.rank), -2);
    for (int rank = 0; is_root && rank < scene.size; ++rank)
        for (std::size_t i = 0; i < sizes.count(rank); ++i) all[sizes.offset(rank) + i] = element(rank, i, round);
    scatter(all, is_root ? sizes.blocks() : Blocks(), own, root);
    for (std::size_t i = 0; i < own.size(); ++i)
        check(own[i] == element(scene.rank, i, round), "{}: element {} of {} is {}", what, i, own.size(), own[i]);
}

void check_gather(const Scene& scene, const Sizes& sizes, int root, int round, const std::string& what, const Gather& gather) {
    const bool is_root = scene.rank == root;
    std::vector<long> all(is_root ? sizes.end : 0, -1), own(sizes.count(scene.rank));
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = element(scene.rank, i, round);
    gather(own, all, is_root ? sizes.blocks() : Blocks(), root);
    std::vector<long> expected(all.size(), -1);
    for (int rank = 0; is_root && rank < scene.size; ++rank)
        for (std::size_t i = 0; i < sizes.count(rank); ++i) expected[sizes.offset(rank) + i] = element(rank, i, round);
    for (std::size_t i = 0; i < all.size(); ++i) check(all[i] == expected[i], "{}: element {} is {}, not {}", what, i, all[i], expected[i]);
}

}  // namespace

// Words: seed. Every algorithm, all roots, blocking, started and planned.
ROLLCALL_SCENARIO(blocks_by_all_algorithms) {
    const Communicator& world = scene.world;
    Random same(static_cast<std::uint64_t>(scene.number(0, 1)));
    int round = 0;
    const auto scatters = algorithms_of_blocks(world, OperationKind::scatter), gathers = algorithms_of_blocks(world, OperationKind::gather);
    check(scatters.size() >= 7 && gathers.size() >= 8, "only {} and {} algorithms take blocks of different sizes", scatters.size(),
          gathers.size());
    for (const std::uint64_t most : {1, 6, 500, 20'000})
        for (int root = 0; root < scene.size; ++root) {
            for (const std::string& algorithm : scatters) {
                const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
                check_scatter(scene, Sizes(same, scene.size, most), root, ++round, "scatter " + algorithm,
                              [&](auto all, auto& blocks, auto own, int from) { world.scatter(all, blocks, own, from, options); });
                check_scatter(
                    scene, Sizes(same, scene.size, most), root, ++round, "start_scatter " + algorithm,
                    [&](auto all, auto& blocks, auto own, int from) { world.start_scatter(all, blocks, own, from, options).wait(); });
            }
            for (const std::string& algorithm : gathers) {
                CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
                if (same() % 2) options.segment_bytes = 64;
                check_gather(scene, Sizes(same, scene.size, most), root, ++round, "gather " + algorithm,
                             [&](auto own, auto all, auto& blocks, int to) { world.gather(own, all, blocks, to, options); });
                check_gather(scene, Sizes(same, scene.size, most), root, ++round, "start_gather " + algorithm,
                             [&](auto own, auto all, auto& blocks, int to) { world.start_gather(own, all, blocks, to, options).wait(); });
            }
        }
    const auto repeated = [&](const std::string& algorithm, auto&& check_plan) {
        check_plan(PlanOptions{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience});
    };
    const auto run = [&](Plan plan, std::span<long> results) {
        for (int i = 0; i < 4; ++i) {
            std::fill(results.begin(), results.end(), -1);
            if (i % 2) {
                plan.begin();
                plan.edge(0.5);
            }
            plan.run();
        }
    };
    for (const std::string& algorithm : scatters)
        repeated(algorithm, [&](const PlanOptions& options) {
            check_scatter(
                scene, Sizes(same, scene.size, 3000), scene.size - 1, ++round, "plan_scatter " + algorithm,
                [&](auto all, auto& blocks, auto own, int from) { run(world.plan_scatter(all, blocks, own, from, options), own); });
        });
    for (const std::string& algorithm : gathers)
        repeated(algorithm, [&](const PlanOptions& options) {
            check_gather(scene, Sizes(same, scene.size, 3000), scene.size - 1, ++round, "plan_gather " + algorithm,
                         [&](auto own, auto all, auto& blocks, int to) { run(world.plan_gather(own, all, blocks, to, options), all); });
        });
    still_works(world);
}

// Every tree, `linear` and `auto` for blocks of different sizes among some of the ranks: every distribution of sizes, and every root. More
// than nine are a power of two, or one more: where trees gain a level. (The model tests have all numbers.)
ROLLCALL_SCENARIO(blocks_of_every_distribution) {
    constexpr std::array kAlgorithms = {"linear", "auto", "binomial", "adaptive", "optimal", "sorted_optimal", "two_part"};
    for (int ranks = 1; ranks <= scene.size; ++ranks) {
        const auto number = static_cast<unsigned>(ranks);
        if (ranks > 9 && !std::has_single_bit(number) && !std::has_single_bit(number - 1)) continue;
        const Communicator some = scene.world.split(scene.rank < ranks ? 0 : Communicator::kNoColor, scene.rank);
        if (!some) continue;
        const Scene part{scene.job, some, scene.rank, ranks, {}, scene.first_word, scene.end_may_say};
        const int calls = std::max(ranks, static_cast<int>(bench::kSizeDistributions.size()));
        for (int call = 0; call < calls; ++call) {
            const auto distribution = bench::kSizeDistributions[static_cast<std::size_t>(call) % bench::kSizeDistributions.size()];
            const Sizes sizes(bench::block_sizes(distribution, ranks, call % 3 ? 20 : 900));
            const int root = call % ranks;
            const auto algorithm = kAlgorithms[static_cast<std::size_t>(call + ranks) % kAlgorithms.size()];
            const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
            const std::string what = fmt::format("{} of {} ranks, {}", algorithm, ranks, name(distribution));
            check_scatter(part, sizes, root, 2 * call, "scatter " + what,
                          [&](auto all, auto& blocks, auto own, int from) { some.scatter(all, blocks, own, from, options); });
            check_gather(part, sizes, root, 2 * call + 1, "gather " + what,
                         [&](auto own, auto all, auto& blocks, int to) { some.gather(own, all, blocks, to, options); });
        }
    }
    still_works(scene.world);
}

// Short blocks more than 4 GiB apart, so that offsets need more than 32 bits. Only the pages with blocks are touched.
ROLLCALL_SCENARIO(blocks_far_apart) {
    const Communicator& world = scene.world;
    constexpr std::uint64_t kApart = (std::uint64_t{4} << 30) + 4321, kBlock = 100, kAround = 64;
    const std::uint64_t bytes = kApart * static_cast<std::uint64_t>(scene.size + 1);
    std::vector<std::uint64_t> counts, offsets;
    for (int rank = 0; rank < scene.size; ++rank) {
        counts.push_back(kBlock + static_cast<std::uint64_t>(rank));
        offsets.push_back(kApart * static_cast<std::uint64_t>(scene.size - rank));  // in the reverse order of ranks
    }
    const Blocks blocks(counts, offsets);
    const auto block = [&](int rank, std::uint64_t round) { return pattern(counts[static_cast<std::size_t>(rank)], key(rank, round)); };
    const std::vector<std::byte> around(kAround);
    std::uint64_t round = 0;
    for (const auto kind : {OperationKind::gather, OperationKind::scatter})
        for (const std::string& algorithm : algorithms_of_blocks(world, kind)) {
            const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
            const int root = static_cast<int>(++round) % scene.size;
            const bool is_root = scene.rank == root, gathers = kind == OperationKind::gather;
            void* const memory =
                is_root ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : nullptr;
            check(memory != MAP_FAILED, "no memory");
            auto* const all = static_cast<std::byte*>(memory);
            std::vector<std::byte> own = block(scene.rank, round);
            if (gathers) {
                world.gather(own.data(), own.size(), all, is_root ? blocks : Blocks(), root, options);
            } else {
                for (int rank = 0; is_root && rank < scene.size; ++rank) {
                    const auto its = block(rank, round);
                    std::memcpy(all + offsets[static_cast<std::size_t>(rank)], its.data(), its.size());
                }
                std::fill(own.begin(), own.end(), std::byte{0});
                world.scatter(all, is_root ? blocks : Blocks(), own.data(), own.size(), root, options);
            }
            check(own == block(scene.rank, round), "{}: the block of this rank is wrong", algorithm);
            for (int rank = 0; is_root && rank < scene.size; ++rank) {
                const auto at = static_cast<std::size_t>(rank);
                const std::byte *const begin = all + offsets[at], *const end = begin + counts[at];
                check(std::equal(begin, end, block(rank, round).begin()), "{}: the block of rank {} is wrong", algorithm, rank);
                check(std::equal(around.begin(), around.end(), begin - kAround) && std::equal(around.begin(), around.end(), end),
                      "{}: there is something around the block of rank {}", algorithm, rank);
            }
            if (memory) munmap(memory, bytes);
        }
    still_works(world);
}

// All forms, with the algorithm `auto`: bytes, single elements, other integer types for the numbers, and in place.
ROLLCALL_SCENARIO(blocks_in_all_forms) {
    const Communicator& world = scene.world;
    Random same(5);
    const int root = scene.size / 2;
    const bool is_root = scene.rank == root;
    const auto in_bytes = [&](const Blocks& blocks) {
        std::pair<std::vector<unsigned>, std::vector<long>> numbers;
        for (std::size_t i = 0; i < blocks.counts().size(); ++i) {
            numbers.first.push_back(static_cast<unsigned>(blocks.counts()[i] * sizeof(long)));
            if (blocks.offsets()) numbers.second.push_back(static_cast<long>(blocks.offsets()[i] * sizeof(long)));
        }
        return numbers;
    };
    const auto memory = [](auto elements) {
        using T = typename decltype(elements)::element_type;
        return static_cast<std::conditional_t<std::is_const_v<T>, const void*, void*>>(elements.data());
    };
    for (int form = 0; form < 3; ++form) {
        check_scatter(scene, Sizes(same, scene.size, 50), root, form, "scatter of bytes", [&](auto all, auto& blocks, auto own, int from) {
            const auto [counts, offsets] = in_bytes(blocks);
            const Blocks bytes = offsets.empty() ? Blocks(counts) : Blocks(counts, offsets);
            switch (form) {
                case 0: return world.scatter(memory(all), bytes, memory(own), own.size_bytes(), from);
                case 1: world.start_scatter(memory(all), bytes, memory(own), own.size_bytes(), from).wait(); return;
                case 2: return world.plan_scatter(memory(all), bytes, memory(own), own.size_bytes(), from).run();
            }
        });
        check_gather(scene, Sizes(same, scene.size, 50), root, form, "gather of bytes", [&](auto own, auto all, auto& blocks, int to) {
            const auto [counts, offsets] = in_bytes(blocks);
            const Blocks bytes = offsets.empty() ? Blocks(counts) : Blocks(counts, offsets);
            switch (form) {
                case 0: return world.gather(memory(own), own.size_bytes(), memory(all), bytes, to);
                case 1: world.start_gather(memory(own), own.size_bytes(), memory(all), bytes, to).wait(); return;
                case 2: return world.plan_gather(memory(own), own.size_bytes(), memory(all), bytes, to).run();
            }
        });
    }
    // One element each, in reverse order of ranks.
    const std::vector<short> counts(static_cast<std::size_t>(scene.size), 1);
    std::vector<std::uint64_t> offsets(counts.size());
    std::vector<double> all(counts.size());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        offsets[i] = offsets.size() - 1 - i;
        all[i] = 0.5 * static_cast<double>(i);
    }
    const Blocks turned(counts, offsets);
    double own = -1;
    is_root ? world.scatter(all, turned, own, root) : world.scatter({}, Blocks(), own, root);
    check(own == 0.5 * (scene.size - 1 - scene.rank), "a scatter of single elements gave {}", own);
    own = scene.rank;
    is_root ? world.gather(own, all, turned, root) : world.gather(own, {}, Blocks(), root);
    for (std::size_t i = 0; is_root && i < all.size(); ++i)
        check(all[i] == static_cast<double>(offsets[i]), "a gather of single elements gave {}", all[i]);
    // The root's own block is in its place. Blocks that are only read may overlap.
    const std::vector<double> kept = all;
    const auto here = std::span(all).subspan(offsets[static_cast<std::size_t>(root)], is_root ? 1 : 0);
    is_root ? world.gather(here, all, turned, root) : world.gather(own, {}, Blocks(), root);
    check(!is_root || all == kept, "a gather in place changed something");
    const std::vector<int> zeros(counts.size(), 0);
    is_root ? world.scatter(all, Blocks(counts, zeros), own, root) : world.scatter({}, Blocks(), own, root);
    check(own == scene.size - 1, "a scatter of one element to all gave {}", own);
    const std::string why = world.explain("scatter", kOwnSizes);
    check(why.starts_with("scatter of blocks of different sizes to each of "), "it says '{}'", why);
    // A setting or a call may ask for a tree.
    const Error error = expect_error(ErrorCode::invalid_argument, "a tree", [&] {
        world.gather(own, all, is_root ? turned : Blocks(), root,
                     {.algorithm = "sorted_binomial", .segment_bytes = {}, .timeout = kPatience});
    });
    check(std::string(error.what()).find("needs blocks of one size") != std::string::npos, "it says '{}'", error.what());
    still_works(world);
}

// Words: operation. The root counts another size for a rank than that rank gives. Both are told, and so are the other ranks.
ROLLCALL_SCENARIO(blocks_that_do_not_match) {
    const bool scatters = scene.word(0) == "scatter";
    for (const std::string& algorithm : algorithms_of_blocks(scene.world, scatters ? OperationKind::scatter : OperationKind::gather))
        for (const std::size_t wrong : {2, 100}) {
            const Communicator world = scene.world.duplicate();
            const std::vector<std::size_t> counts(static_cast<std::size_t>(scene.size), 10);
            std::vector<long> all(10 * counts.size()), own(scene.rank == 1 ? wrong : 10);
            const Blocks blocks = scene.rank == 0 ? Blocks(counts) : Blocks();
            const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = {}, .timeout = kPatience};
            // A rank whose part was done before learns of the error in its next call.
            const Error error = expect_error(ErrorCode::mismatch, algorithm, [&] {
                for (;;) {
                    scatters ? world.scatter(all, blocks, own, 0, options) : world.gather(own, all, blocks, 0, options);
                    world.barrier(kPatience);
                }
            });
            check(std::string(error.what()).find(fmt::format("the root counts 80 bytes for rank 1, but its block has {}", 8 * wrong)) !=
                      std::string::npos,
                  "it says '{}'", error.what());
        }
    still_works(scene.world);
}

// Errors in the root's arguments are reported at the root before anything is sent.
ROLLCALL_SCENARIO(blocks_that_are_none) {
    const Communicator& world = scene.world;
    if (scene.rank == 0) {
        const auto ranks = static_cast<std::size_t>(scene.size);
        std::vector<long> all(10 * ranks), own(10);
        const auto refused = [&](const std::string& what, const std::function<void()>& call) {
            const Error error = expect_error(ErrorCode::invalid_argument, what, call);
            check(std::string(error.what()).find(what) != std::string::npos, "it says '{}'", error.what());
        };
        const std::vector<int> counts(ranks, 10), few(ranks - 1, 10), many(ranks, 11);
        std::vector<int> negative = counts, offsets(ranks, 0), beyond(ranks, 0);
        negative.back() = -3;
        beyond[0] = static_cast<int>(10 * ranks) - 9;
        refused(fmt::format("scatter on world: there are {} counts for {} ranks", ranks - 1, ranks),
                [&] { world.scatter(all, Blocks(few), own, 0); });
        refused("there are 0 counts", [&] { world.start_scatter(all, Blocks(), own, 0); });
        refused(fmt::format("the count of rank {} is -3", ranks - 1), [&] { world.plan_scatter(all, Blocks(negative), own, 0); });
        refused("the offset of rank", [&] { world.scatter(all, Blocks(counts, negative), own, 0); });
        refused(fmt::format("{} offsets", ranks - 1),
                [&] { world.scatter(all, Blocks(counts, std::span(offsets).first(ranks - 1)), own, 0); });
        refused("ends outside of the data", [&] { world.scatter(all, Blocks(counts, beyond), own, 0); });
        refused("this rank's own block has 10 elements, but the list gives it a count of 11", [&] {
            std::vector<long> more(11 * ranks);
            world.scatter(more, Blocks(many), own, 0);
        });
        const std::vector<std::uint64_t> huge(ranks, ~std::uint64_t{0} - 3);
        void* const memory = all.data();
        refused("ends beyond the longest buffer that is possible", [&] { world.scatter(memory, Blocks(huge), memory, 8, 0); });
        refused(fmt::format("scatter on world: `data`, of {} bytes, is a null pointer", 10 * ranks),
                [&] { world.scatter(nullptr, Blocks(counts), memory, 10, 0); });
        refused("scatter on world: `block`, of 10 bytes, is a null pointer",
                [&] { world.scatter(memory, Blocks(counts), nullptr, 10, 0); });
        refused("gather on world: `block`, of 10 bytes", [&] { world.gather(nullptr, 10, memory, Blocks(counts), 0); });
        refused(fmt::format("gather on world: `data`, of {} bytes", 10 * ranks),
                [&] { world.gather(memory, 10, nullptr, Blocks(counts), 0); });
        refused(fmt::format("alltoall on world: `result`, of {} bytes", 10 * ranks),
                [&] { world.alltoall(memory, Blocks(counts), nullptr, Blocks(counts)); });
        refused(fmt::format("alltoall on world: `data`, of {} bytes", 7 * ranks), [&] { world.alltoall(nullptr, memory, 7); });
        refused("allreduce on world: `result`, of 8 bytes", [&] { world.allreduce(memory, nullptr, 2, reduction_of<int>(sum)); });
        refused("allreduce on world: `contribution`, of 8 bytes", [&] { world.allreduce(nullptr, memory, 2, reduction_of<int>(sum)); });
        if (scene.size > 1) {
            refused("the blocks of rank 0 (10 from 0 on) and rank 1", [&] { world.gather(own, all, Blocks(counts, offsets), 0); });
            const std::vector<std::uint64_t> half(ranks, (std::uint64_t{1} << 63) - 1);
            refused("ends beyond the longest buffer that is possible", [&] { world.scatter(memory, Blocks(half), memory, half[0], 0); });
        }
    }
    world.barrier();
    still_works(world);
}

// A rank that only sends, from memory that the others read, does not leave before they have come.
ROLLCALL_SCENARIO(blocks_until_delivered) {
    constexpr std::uint64_t kBytes = 1 << 20;
    const std::array<std::uint64_t, 2> counts{kBytes, kBytes};
    Memory memory = scene.job.allocate(2 * kBytes);
    std::vector<std::byte> block(kBytes);
    const CollectiveOptions options{
        .algorithm = "shared_memory", .segment_bytes = {}, .timeout = std::chrono::milliseconds(30), .until_delivered = true};
    const Communicator scatters = scene.world.duplicate(), gathers = scene.world.duplicate();
    if (scene.rank == 0)
        expect_error(ErrorCode::timeout, "a scatter to a rank that does not come",
                     [&] { scatters.scatter(memory.data(), Blocks(counts), block.data(), kBytes, 0, options); });
    else
        expect_error(ErrorCode::timeout, "a gather to a root that does not come",
                     [&] { gathers.gather(memory.data(), kBytes, nullptr, Blocks(), 0, options); });
    scene.world.barrier();
}

}  // namespace rollcall::test
