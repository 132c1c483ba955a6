// Every algorithm that combines, with every operator on every type, against a reference that combines rank after rank.
#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rollcall/reduction.hpp>

#include "foundation/number.hpp"
#include "foundation/reductions.hpp"
#include "tests/model/job.hpp"
#include "tests/model/reduced.hpp"

namespace rollcall::model_test {
namespace {

/// Operands for which the order does not change the result: small whole numbers, and for products numbers of size 1. Integers have any
/// value.
template <class T>
T exact_operand(Random& random, Operator operation) {
    const auto number = [&] {
        return static_cast<int>(operation == Operator::product ? random.between(0, 1) * 2 - 1 : random.between(-8, 8));
    };
    if constexpr (requires { T{}.location; }) {
        static constexpr std::uint16_t kBits[] = {0xC000, 0xBC00, 0x0000, 0x3C00, 0x4000};
        const std::uint64_t which = random.below(5);
        if constexpr (requires { T{}.value.bits; })
            return {{kBits[which]}, random.between(0, 4)};
        else
            return {static_cast<decltype(T{}.value)>(which), random.between(0, 4)};
    } else if constexpr (requires { T{}.real(); }) {
        using Part = typename T::value_type;
        const T value(static_cast<Part>(number()), static_cast<Part>(number()));
        if (operation != Operator::product) return value;
        return random.chance(0.5) ? T(value.real(), 0) : T(0, value.real());
    } else if constexpr (std::is_same_v<T, Float16>) {
        static constexpr std::uint16_t kBits[] = {0xC000, 0xBC00, 0x0000, 0x3C00, 0x4000};  // -2 to 2
        return {operation == Operator::product ? kBits[random.chance(0.5) ? 1 : 3] : random.pick(kBits)};
    } else if constexpr (std::is_same_v<T, BFloat16>) {
        return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(number())) >> 16)};
    } else if constexpr (std::is_floating_point_v<T>) {
        return static_cast<T>(number());
    } else {
        return random.chance(0.2) ? T{0} : static_cast<T>(random.below(~std::uint64_t{0}));
    }
}

/// An operator on a type. Elements are bytes here, so that not everything is compiled for each type.
struct Combination {
    Reduction reduction;
    void (*write)(Random& random, Operator operation, void* element);
    bool (*is_same)(const void* one, const void* other);
};

template <class T>
bool is_same_element(const void* one, const void* other) {
    if constexpr (
        requires { T{}.real(); } || requires { T{}.location; }) {  // a zero of either sign; bytes that are no part of the value
        T first, second;
        std::memcpy(static_cast<void*>(&first), one, sizeof(T));
        std::memcpy(static_cast<void*>(&second), other, sizeof(T));
        return first == second;
    } else {
        return std::memcmp(one, other, sizeof(T)) == 0;
    }
}

template <class... T>
std::vector<Combination> combinations_of() {
    std::vector<Combination> all;
    const auto add = [&]<class One>(One*) {
        using Element = detail::ElementOf<One>;
        for (int number = 0; number < static_cast<int>(Operator::function); ++number) {
            const auto operation = static_cast<Operator>(number);
            if (!is_defined(operation, Element::type, Element::is_located)) continue;
            Reduction reduction;
            reduction.operation = operation;
            reduction.type = Element::type;
            reduction.element_bytes = Element::bytes;
            all.push_back({reduction,
                           [](Random& random, Operator of, void* element) {
                               const One value = exact_operand<One>(random, of);
                               std::memcpy(element, &value, sizeof(One));
                           },
                           &is_same_element<One>});
        }
    };
    (add(static_cast<T*>(nullptr)), ...);
    return all;
}

const std::vector<Combination>& combinations() {
    static const auto all =
        combinations_of<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                        float, double, Float16, BFloat16, std::complex<float>, std::complex<double>, Located<std::int8_t>,
                        Located<std::int32_t>, Located<std::int64_t>, Located<std::uint16_t>, Located<std::uint64_t>, Located<float>,
                        Located<double>, Located<Float16>>();
    return all;
}

template <std::size_t kBytes>
void expect_combined(Random& random, const AlgorithmEntry& entry, const Combination& what, int n, int root) {
    using Element = std::array<std::byte, kBytes>;
    const auto& row = collectives::operation(entry.operation);
    std::uint64_t count = random.pick(std::vector<std::uint64_t>{1, 2, 17, 100});
    // A few calls are longer than a piece of node memory, and than what one rank of each of several nodes combines.
    if (random.chance(0.02)) count = 70'000 / kBytes / (row.in_blocks ? static_cast<std::uint64_t>(n) : 1) + 1;
    const std::uint64_t segment = random.pick(std::vector<std::uint64_t>{0, 24, 256});
    const bool in_place = random.chance(0.3);
    const auto options = random_machine(random, n, count * kBytes, entry);
    SCOPED_TRACE(fmt::format("{} {} {} root={} count={} segment={} in_place={} {}", name(row.kind), entry.name,
                             reduction_name(number_of(what.reduction)), root, count, segment, in_place, describe(options)));
    const auto ranks = static_cast<std::size_t>(n), own = row.in_blocks ? count * ranks : count;
    std::vector<std::vector<Element>> operands(ranks, std::vector<Element>(own));
    for (auto& operand : operands)
        for (Element& element : operand) what.write(random, what.reduction.operation, element.data());
    const Reduced<Element> made(options, entry, root, what.reduction, operands, segment, in_place, random_delays(random, n, root, 20'000));
    const Combiner combine = collectives::combiner_of(what.reduction);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto combined = static_cast<std::size_t>(row.combined_ranks(n, static_cast<int>(rank)));
        if (made.results[rank].empty() || combined == 0) continue;
        std::vector<Element> expected = operands[0];
        for (std::size_t r = 1; r < combined; ++r) combine(expected.data(), expected.data(), operands[r].data(), own * kBytes);
        const std::size_t first = row.in_blocks ? rank * count : 0;
        for (std::size_t i = 0; i < count; ++i)
            ASSERT_TRUE(what.is_same(made.results[rank][i].data(), expected[first + i].data())) << "element " << i << " of rank " << rank;
    }
}

void expect_combined(Random& random, const AlgorithmEntry& entry, const Combination& what, int n, int root) {
    switch (what.reduction.element_bytes) {
        case 1: return expect_combined<1>(random, entry, what, n, root);
        case 2: return expect_combined<2>(random, entry, what, n, root);
        case 4: return expect_combined<4>(random, entry, what, n, root);
        case 8: return expect_combined<8>(random, entry, what, n, root);
        case 16: return expect_combined<16>(random, entry, what, n, root);
        default: FAIL() << "elements of " << what.reduction.element_bytes << " bytes";
    }
}

// All combinations of the two tests would take minutes. Here the ranks and the root are random, in the next one the operator and the type.
TEST(EveryReduction, EveryAlgorithmWithEveryOperatorOnEveryType) {
    Random random(84);
    for (const auto& row : collectives::operations()) {
        if (!row.combines) continue;
        for (const AlgorithmEntry* const entry : algorithms(row.kind))
            for (const Combination& what : combinations()) {
                if (random.leaves_out(9)) continue;
                const int n = static_cast<int>(random.between(1, 17));
                expect_combined(random, *entry, what, n, static_cast<int>(random.below(static_cast<std::uint64_t>(n))));
                if (HasFailure()) return;
            }
    }
}

TEST(EveryReduction, EveryAlgorithmWithEveryNumberOfRanksAndEveryRoot) {
    Random random(85);
    for (const auto& row : collectives::operations()) {
        if (!row.combines) continue;
        for (const AlgorithmEntry* const entry : algorithms(row.kind))
            for (int n = 1; n <= 17; ++n)
                for (int root = 0; root < (row.has_root ? n : 1); root += kSanitized ? 4 : 1) {
                    expect_combined(random, *entry, random.pick(combinations()), n, root);
                    if (HasFailure()) return;
                }
    }
}

/// The part of a long test that this process runs: of all cases, every `of`-th one, from number `first` on.
struct PartOfTest {
    std::uint64_t first = 0, of = 1;
};
/// ROLLCALL_TEST_PART=3/20 is the third of twenty parts. Without it, a test runs a random one of `usual` parts. Nothing: the text is wrong.
std::optional<PartOfTest> part_of_test(std::uint64_t usual) {
    const char* const given = std::getenv("ROLLCALL_TEST_PART");
    if (!given) return PartOfTest{Random(86).below(usual), usual};
    const std::string text = given;
    const std::size_t slash = text.find('/');
    const auto number = [](std::string_view digits) { return number_of_text<std::uint64_t>(digits).value_or(0); };
    if (slash == std::string::npos) return {};
    const std::uint64_t part = number(std::string_view(text).substr(0, slash)), of = number(std::string_view(text).substr(slash + 1));
    if (part == 0 || part > of) return {};
    return PartOfTest{part - 1, of};
}

// Some hundred thousand calls, of which a random part runs. ROLLCALL_TEST_PART=1/1 makes all of them. The random numbers of a case do not
// depend on the part that it is in.
TEST(EveryReduction, EveryAlgorithmOperatorTypeNumberOfRanksAndRoot) {
    const auto part = part_of_test(kSanitized ? 640 : 64);
    ASSERT_TRUE(part) << "ROLLCALL_TEST_PART is a part and a number of parts, such as 3/20";
    std::uint64_t number = 0, cases = 0, calls = 0;
    for (const auto& row : collectives::operations()) {
        if (!row.combines) continue;
        for (const AlgorithmEntry* const entry : algorithms(row.kind))
            for (const Combination& what : combinations())
                for (int n = 1; n <= 17; ++n) {
                    if (number++ % part->of != part->first) continue;
                    ++cases;
                    Random random(1000 + number);
                    for (int root = 0; root < (row.has_root ? n : 1); ++root, ++calls) {
                        expect_combined(random, *entry, what, n, root);
                        if (HasFailure()) return;
                    }
                }
    }
    RecordProperty("calls", std::to_string(calls));
    fmt::print("{} calls, in {} of {} cases\n", calls, cases, number);
}

// If the operands must stay in rank order, an algorithm keeps them so, or is refused by its name.
TEST(EveryReduction, WhatCannotKeepTheRankOrderIsRefused) {
    const std::pair<OperationKind, std::vector<std::string_view>> refused[] = {
        {OperationKind::reduce, {"rabenseifner", "ring", "radix_k", "circulant", "two_level", "clairvoyant", "online", "near_optimal"}},
        {OperationKind::allreduce,
         {"ring", "rabenseifner", "two_level", "sorted_linear_tree", "pre_reduced_ring", "straggler", "clairvoyant"}},
        {OperationKind::reduce_scatter, {"ring", "recursive_halving", "two_level"}},
        {OperationKind::scan, {}},
        {OperationKind::exclusive_scan, {}},
    };
    Combiner in_order = collectives::combiner_of(reduction_of<float>(sum));
    in_order.is_commutative = false;
    const auto has = collectives::conditions_of(in_order, collectives::kReal | collectives::Condition::oracle);
    for (const auto& [operation, names] : refused) {
        std::vector<std::string_view> found;
        for (const AlgorithmEntry* const entry : algorithms(operation)) {
            try {
                collectives::find_algorithm(operation, entry->name, has);
            } catch (const Error& error) {
                found.push_back(entry->name);
                EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
                EXPECT_EQ(std::string(error.what()),
                          fmt::format("{} algorithm '{}' needs an operation that commutes; allowed: auto, {}", name(operation), entry->name,
                                      fmt::join(collectives::algorithm_names(operation, has), ", ")));
            }
        }
        EXPECT_EQ(found, names) << name(operation);
    }
}

}  // namespace
}  // namespace rollcall::model_test
