/// \file
/// Scenarios of reduce and allreduce: each function in its forms, operators and functions of the program, and what is refused.
#include <complex>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

struct Affine {
    std::int64_t a, b;
    bool operator==(const Affine&) const = default;
};
constexpr auto kCompose = [](const Affine& left, const Affine& right) noexcept {
    return Affine{left.a * right.a % 1009, (left.a * right.b + left.b) % 1009};
};
Affine affine_of(int rank, int i) { return {rank + 2, 3 * rank + i}; }

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

    // Operators, types.
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

    // A function of the program, in rank order, by each algorithm that can.
    for (const auto kind : {OperationKind::reduce, OperationKind::allreduce})
        for (const std::string_view algorithm :
             collectives::algorithm_names(kind, collectives::kUsual.without(collectives::Condition::commutative)))
            for (const int count : {1, 100, 30'000}) {
                std::vector<Affine> data, expected;
                for (int i = 0; i < count; ++i) {
                    data.push_back(affine_of(scene.rank, i));
                    expected.push_back(affine_of(0, i));
                    for (int rank = 1; rank < n; ++rank) expected.back() = kCompose(expected.back(), affine_of(rank, i));
                }
                const CollectiveOptions options{.algorithm = algorithm, .segment_bytes = 1000, .timeout = {}};
                if (kind == OperationKind::reduce)
                    world.reduce(data, data, kCompose, n / 2, options);
                else
                    world.allreduce(data, kCompose, options);
                if (kind == OperationKind::allreduce || scene.rank == n / 2)
                    check(data == expected, "{} {} of {} elements does not keep the order", name(kind), algorithm, count);
            }
    std::vector<Affine> data(10, affine_of(scene.rank, 0));
    world.allreduce(data, kCompose);

    // What is refused, before anything is sent.
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
    refused("an element of 0 bytes", [&] { world.plan_allreduce(nullptr, nullptr, 0, wrong); });
    std::vector<int> own(5), few(4);
    if (is_root) refused("the result has room for 4 elements, and each rank brings 5", [&] { world.reduce(own, few, sum, root); });
    refused("the result has room for 4 elements", [&] { world.allreduce(own, few, sum); });
    refused("are more than a buffer can have", [&] { world.allreduce(raw(own), raw(own), ~std::uint64_t{0} / 2, sum_of_int); });
    reduced_by_all([&](auto& mine_again, auto& all) { world.allreduce(mine_again, all, sum); });

    // Sums of other elements are told as different calls.
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
