/// \file
/// Scenarios of the operations that combine: each function in its forms, operators and functions of the program, and what is refused.
#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "api/collective.hpp"
#include "collectives/catalogue.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

struct alignas(16) Affine {
    std::int64_t a, b;
    bool operator==(const Affine&) const = default;
};
constexpr auto kCompose = [](const Affine& left, const Affine& right) noexcept {
    return Affine{left.a * right.a % 1009, (left.a * right.b + left.b) % 1009};
};
Affine affine_of(int rank, int i) { return {rank + 2, 3 * rank + i}; }

/// Composes elements where they stand, as functions of C programs do.
std::atomic<bool> are_misaligned = false;
void compose_in_place(const void*, void* into, const void* left, const void* right, std::uint64_t count) {
    for (const void* buffer : {static_cast<const void*>(into), left, right})
        if (reinterpret_cast<std::uintptr_t>(buffer) % alignof(Affine) != 0) are_misaligned = true;
    if (are_misaligned) return;
    for (std::uint64_t i = 0; i < count; ++i)
        static_cast<Affine*>(into)[i] = kCompose(static_cast<const Affine*>(left)[i], static_cast<const Affine*>(right)[i]);
}

}  // namespace

ROLLCALL_SCENARIO(reductions) {
    const Communicator& world = scene.world;
    const int n = scene.size, root = n - 1, mine = scene.rank + 1, total = n * (n + 1) / 2;
    const bool is_root = scene.rank == root;
    const auto raw = [](auto& data) { return static_cast<void*>(data.data()); };
    const Reduction sum_of_int = reduction_of<int>(sum);

    const auto reduced = [&](const std::function<void(std::vector<int>&, std::vector<int>&)>& call) {
        std::vector<int> own(5, mine), all(5, -1);
        call(own, all);
        check(own == std::vector<int>(5, mine), "what a rank brings was written");
        check(all == std::vector<int>(5, is_root ? total : -1), "a reduce gave {} at rank {}", all[0], scene.rank);
    };
    reduced([&](auto& own, auto& all) { world.reduce(raw(own), raw(all), 5, sum_of_int, root); });
    reduced([&](auto& own, auto& all) { world.start_reduce(raw(own), raw(all), 5, sum_of_int, root).wait(); });
    reduced([&](auto& own, auto& all) { world.plan_reduce(raw(own), raw(all), 5, sum_of_int, root).run(); });
    reduced([&](auto& own, auto& all) { is_root ? world.reduce(own, all, sum, root) : world.reduce(own, {}, sum, root); });
    reduced([&](auto& own, auto& all) { world.start_reduce(own, all, sum, root).wait(); });
    reduced([&](auto& own, auto& all) { world.plan_reduce(own, all, sum, root).run(); });
    reduced([&](auto& own, auto& all) {
        for (std::size_t i = 0; i < own.size(); ++i) world.reduce(own[i], all[i], sum, root);
    });

    const auto reduced_by_all = [&](const std::function<void(std::vector<int>&, std::vector<int>&)>& call) {
        std::vector<int> own(5, mine), all(5, -1);
        call(own, all);
        check(all == std::vector<int>(5, total), "an allreduce gave {}", all[0]);
    };
    reduced_by_all([&](auto& own, auto& all) { world.allreduce(raw(own), raw(all), 5, sum_of_int); });
    reduced_by_all([&](auto& own, auto& all) { world.start_allreduce(raw(own), raw(all), 5, sum_of_int).wait(); });
    reduced_by_all([&](auto& own, auto& all) { world.plan_allreduce(raw(own), raw(all), 5, sum_of_int).run(); });
    reduced_by_all([&](auto& own, auto& all) { world.allreduce(own, all, sum); });
    reduced_by_all([&](auto& own, auto& all) { world.start_allreduce(own, all, sum).wait(); });
    reduced_by_all([&](auto& own, auto& all) { world.plan_allreduce(own, all, sum).run(); });
    reduced_by_all([&](auto& own, auto& all) { world.allreduce(all = own, sum); });
    reduced_by_all([&](auto& own, auto& all) { world.start_allreduce(all = own, sum).wait(); });
    reduced_by_all([&](auto& own, auto& all) { world.plan_allreduce(all = own, sum).run(); });

    const auto scattered = [&](const std::function<void(std::vector<int>&, std::span<int>)>& call, bool in_place = false) {
        std::vector<int> own, block(5, -1);
        for (int i = 0; i < 5 * n; ++i) own.push_back(mine + i);
        const std::vector<int> brought = own;
        const std::span<int> place = std::span(own).subspan(static_cast<std::size_t>(5 * scene.rank), 5);
        call(own, in_place ? place : block);
        for (int i = 0; i < 5; ++i) {
            const int got = (in_place ? place : std::span(block))[static_cast<std::size_t>(i)];
            check(got == total + n * (5 * scene.rank + i), "a reduce_scatter gave {} as element {}", got, i);
        }
        std::copy_n(brought.begin() + 5 * scene.rank, 5, place.begin());
        check(own == brought, "what a rank brings was written");
    };
    for (const bool in_place : {false, true}) {
        scattered([&](auto& own, auto block) { world.reduce_scatter(raw(own), raw(block), 5, sum_of_int); }, in_place);
        scattered([&](auto& own, auto block) { world.start_reduce_scatter(raw(own), raw(block), 5, sum_of_int).wait(); }, in_place);
        scattered([&](auto& own, auto block) { world.plan_reduce_scatter(raw(own), raw(block), 5, sum_of_int).run(); }, in_place);
        scattered([&](auto& own, auto block) { world.reduce_scatter(own, block, sum); }, in_place);
        scattered([&](auto& own, auto block) { world.start_reduce_scatter(own, block, sum).wait(); }, in_place);
        scattered([&](auto& own, auto block) { world.plan_reduce_scatter(own, block, sum).run(); }, in_place);
    }
    int one = -1;
    const std::vector<int> of_each(static_cast<std::size_t>(n), mine);
    world.reduce_scatter(of_each, one, maximum);
    check(one == n, "a reduce_scatter of single elements gave {}", one);

    // The contributions of the ranks up to this one, and of the ranks before it. If there are none, nothing is written.
    const auto scanned = [&](bool exclusive, const std::function<void(std::vector<int>&, std::vector<int>&)>& call, bool in_place = false) {
        std::vector<int> own(5, mine), got(5, -1);
        call(own, got);
        const int before = scene.rank * mine / 2, nothing = in_place ? mine : -1;
        const int expected = !exclusive ? before + mine : scene.rank > 0 ? before : nothing;
        check(got == std::vector<int>(5, expected), "a scan gave {} and not {}", got[0], expected);
        check(own == std::vector<int>(5, mine), "what a rank brings was written");
    };
    scanned(false, [&](auto& own, auto& got) { world.scan(raw(own), raw(got), 5, sum_of_int); });
    scanned(false, [&](auto& own, auto& got) { world.start_scan(raw(own), raw(got), 5, sum_of_int).wait(); });
    scanned(false, [&](auto& own, auto& got) { world.plan_scan(raw(own), raw(got), 5, sum_of_int).run(); });
    scanned(false, [&](auto& own, auto& got) { world.scan(own, got, sum); });
    scanned(false, [&](auto& own, auto& got) { world.start_scan(own, got, sum).wait(); });
    scanned(false, [&](auto& own, auto& got) { world.plan_scan(own, got, sum).run(); });
    scanned(
        false, [&](auto& own, auto& got) { world.scan(got = own, sum); }, true);
    scanned(
        false, [&](auto& own, auto& got) { world.start_scan(got = own, sum).wait(); }, true);
    scanned(
        false, [&](auto& own, auto& got) { world.plan_scan(got = own, sum).run(); }, true);
    scanned(true, [&](auto& own, auto& got) { world.exclusive_scan(raw(own), raw(got), 5, sum_of_int); });
    scanned(true, [&](auto& own, auto& got) { world.start_exclusive_scan(raw(own), raw(got), 5, sum_of_int).wait(); });
    scanned(true, [&](auto& own, auto& got) { world.plan_exclusive_scan(raw(own), raw(got), 5, sum_of_int).run(); });
    scanned(true, [&](auto& own, auto& got) { world.exclusive_scan(own, got, sum); });
    scanned(true, [&](auto& own, auto& got) { world.start_exclusive_scan(own, got, sum).wait(); });
    scanned(true, [&](auto& own, auto& got) { world.plan_exclusive_scan(own, got, sum).run(); });
    scanned(
        true, [&](auto& own, auto& got) { world.exclusive_scan(got = own, sum); }, true);
    scanned(
        true, [&](auto& own, auto& got) { world.start_exclusive_scan(got = own, sum).wait(); }, true);
    scanned(
        true, [&](auto& own, auto& got) { world.plan_exclusive_scan(got = own, sum).run(); }, true);

    // Operators and element types.
    double value = mine;
    world.allreduce(value, maximum);
    check(value == n, "a maximum gave {}", value);
    Located<float> lowest{static_cast<float>(scene.rank % 2), scene.rank};
    world.allreduce(lowest, minimum_location);
    check(lowest == Located<float>{0, 0}, "a location gave {}", lowest.location);
    std::vector<std::complex<double>> numbers(100, {1, static_cast<double>(mine)});
    world.allreduce(numbers, by_rank(sum));
    check(numbers[99] == std::complex<double>(n, total), "a complex sum is wrong");
    unsigned bits = 1u << scene.rank;
    world.allreduce(bits, bitwise_or);
    check(bits == (1u << n) - 1, "the bits are {}", bits);

    // A function of the program, in rank order, with each algorithm that supports it.
    Reduction composed = reduction_of<Affine>(kCompose);
    composed.combine = &compose_in_place;
    for (const collectives::OperationRow& row : collectives::operations()) {
        if (!row.combines) continue;
        for (const std::string_view algorithm :
             collectives::algorithm_names(row, collectives::kUsual.without(collectives::Condition::commutative)))
            for (const int count : {1, 100, 30'000}) {
                const int all = row.in_blocks ? count * n : count, first = row.in_blocks ? count * scene.rank : 0;
                const int ranks = row.combined_ranks(n, scene.rank), its_root = row.has_root ? n / 2 : scene.rank;
                std::vector<Affine> data, expected, result(static_cast<std::size_t>(count));
                for (int i = 0; i < all; ++i) data.push_back(affine_of(scene.rank, i));
                for (int i = first; i < first + count && ranks > 0; ++i) {
                    expected.push_back(affine_of(0, i));
                    for (int rank = 1; rank < ranks; ++rank) expected.back() = kCompose(expected.back(), affine_of(rank, i));
                }
                const Collective call(world, row.kind, {.contribution = data.data(), .data = result.data()},
                                      static_cast<std::uint64_t>(count), composed, row.has_root ? n / 2 : 0);
                call.call({.algorithm = algorithm, .segment_bytes = 1000, .timeout = {}});
                check(!are_misaligned, "{} {} combines elements that are misaligned", name(row.kind), algorithm);
                if (scene.rank == its_root && ranks > 0)
                    check(result == expected, "{} {} of {} elements does not keep the order", name(row.kind), algorithm, count);
            }
    }
    std::vector<Affine> data(10, affine_of(scene.rank, 0));
    world.allreduce(data, kCompose);
    Affine product = affine_of(0, 0);
    for (int rank = 1; rank < n; ++rank) product = kCompose(product, affine_of(rank, 0));
    check(data == std::vector<Affine>(10, product), "an allreduce by a function does not keep the order");

    // Calls that are refused before anything is sent.
    const auto refused = [&](const std::string& sentence, const std::function<void()>& call) {
        const std::string what = expect_error(ErrorCode::invalid_argument, sentence, call).what();
        check(what.find(sentence) != std::string::npos, "it says '{}'", what);
    };
    refused("needs an operation that commutes",
            [&] { world.allreduce(data, kCompose, {.algorithm = "ring", .segment_bytes = {}, .timeout = {}}); });
    Reduction wrong = reduction_of<float>(sum);
    wrong.operation = Operator::bitwise_and;
    refused("there is no bitwise_and of float32", [&] { world.allreduce(nullptr, nullptr, 0, wrong); });
    wrong.operation = Operator::function;
    wrong.combine = [](const void*, void*, const void*, const void*, std::uint64_t) {};
    wrong.element_bytes = 0;
    refused("the elements have a size of 0 bytes", [&] { world.plan_allreduce(nullptr, nullptr, 0, wrong); });
    std::vector<int> own(5), few(4);
    if (is_root) refused("the result has room for 4 elements, but each rank brings 5", [&] { world.reduce(own, few, sum, root); });
    refused("the result has room for 4 elements", [&] { world.allreduce(own, few, sum); });
    refused("the result has room for 4 elements", [&] { world.exclusive_scan(own, few, sum); });
    // In place means this rank's place in the contribution.
    std::vector<int> blocks(static_cast<std::size_t>(4 * n));
    for (const int at : {0, 4 * scene.rank - 1, 4 * scene.rank + 1, 4 * n - 1}) {
        if (at < 0 || at == 4 * scene.rank) continue;
        const std::span<int> place = std::span(blocks).subspan(static_cast<std::size_t>(at));
        refused("give it this rank's place in the contribution, or a buffer of its own",
                [&] { world.reduce_scatter(raw(blocks), raw(place), 4, sum_of_int); });
    }
    refused("the contribution has 5 elements, but", [&] { world.reduce_scatter(own, std::span(few).first(n == 1 ? 4 : 3), sum); });
    refused("needs an operation that commutes", [&] {
        world.reduce_scatter(std::vector<Affine>(static_cast<std::size_t>(n)), data[0], kCompose,
                             {.algorithm = "recursive_halving", .segment_bytes = {}, .timeout = {}});
    });
    refused("are more than a buffer can have", [&] { world.allreduce(raw(own), raw(own), ~std::uint64_t{0} / 2, sum_of_int); });
    reduced_by_all([&](auto& mine_again, auto& all) { world.allreduce(mine_again, all, sum); });

    // Sums of different element types are reported as different calls.
    if (n == 1) return;
    const Communicator part = world.duplicate();
    float real = 1;
    int whole = 1;
    const Error error = expect_error(ErrorCode::mismatch, "other elements", [&] {
        scene.rank == 1 ? part.allreduce(real, sum) : part.allreduce(whole, sum);
        part.barrier();
    });
    const std::string what = error.what();
    check(what.find("allreduce(4 bytes, sum of float32)") != std::string::npos &&
              what.find("allreduce(4 bytes, sum of int32)") != std::string::npos,
          "it says '{}'", what);
    world.barrier();
}

}  // namespace rollcall::test
