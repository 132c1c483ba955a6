// Operations between two groups other than the allgather: data placement and the worked examples.
#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rollcall/reduction.hpp>

#include "collectives/combining/combining.hpp"
#include "collectives/selection.hpp"
#include "tests/model/intergroup.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

/// The algorithms of the operations between groups that have a root, and of those that have none.
std::vector<const AlgorithmEntry*> tested_algorithms(bool with_root) {
    std::vector<const AlgorithmEntry*> all;
    for (const collectives::OperationRow& row : collectives::intergroup_operations())
        for (const AlgorithmEntry& entry : row.algorithms)
            if (row.has_root == with_root) all.push_back(&entry);
    return all;
}
std::vector<const AlgorithmEntry*> algorithms_of(OperationKind kind) {
    std::vector<const AlgorithmEntry*> all;
    for (const AlgorithmEntry& entry : collectives::operation(kind).algorithms) all.push_back(&entry);
    return all;
}

/// The data of each rank, before and after.
struct Memory {
    std::vector<std::byte> data, contribution, result;
};
Simulation::Outcome run_between_groups(const AlgorithmEntry& entry, int p, int q, int root, const Simulation::Options& machine,
                                       const runtime::Call& call, std::vector<Memory>& memory, const foundation::Combiner& combiner,
                                       const Times& arrivals) {
    Simulation::Options options = machine;
    options.ranks = p + q;
    options.first_group = p;
    Simulation simulation(options);
    return simulation.run(
        [&](int rank) {
            Memory& its = memory[static_cast<std::size_t>(rank)];
            Simulation::RankCall made{call, entry.algorithm, {}};
            made.call.kind = entry.operation;
            made.call.algorithm = entry.number;
            made.call.root = root;
            made.arguments.data = {its.data.data(), its.data.size()};
            made.arguments.contribution = {its.contribution.data(), its.contribution.size()};
            made.arguments.result = {its.result.data(), its.result.size()};
            made.arguments.combiner = combiner;
            // A rank that has no part knows no size, and not what the others choose by it.
            if (root >= 0 && rank != root && (rank < p) == (root < p)) {
                made.call.bytes = runtime::kManySizes;
                made.call.algorithm = 0;
            }
            return made;
        },
        arrivals);
}

std::vector<std::byte> bytes_of(int from, int to, std::uint64_t size) {
    std::vector<std::byte> bytes(size);
    for (std::uint64_t i = 0; i < size; ++i) bytes[i] = content(from, i, to);
    return bytes;
}
void append(std::vector<std::byte>& all, const std::vector<std::byte>& more) { all.insert(all.end(), more.begin(), more.end()); }

/// Adds bytes, so that the result does not depend on the order of the ranks, but the order may have to be kept. (Matrices in the process
/// tests show the order.)
foundation::Combiner random_sum(Random& random) {
    return collectives::combiner_of(random.chance(0.5) ? reduction_of<std::uint8_t>(sum) : reduction_of<std::uint8_t>(by_rank(sum)));
}

TEST(Intergroup, RootsInEitherGroup) {
    Random random(164);
    for (const AlgorithmEntry* const entry : tested_algorithms(true))
        for (int p = 1; p <= 7; ++p)
            for (int q = 1; q <= 7; ++q)
                for (int root = 0; root < p + q; ++root) {
                    if (random.leaves_out(8)) continue;
                    const std::uint64_t bytes = random.pick(BlockSizes{0, 1, 63, 64, 1000, 9000, 100'000});
                    const auto machine = random_machine(random, p + q, bytes, *entry);
                    SCOPED_TRACE(fmt::format("{} {} p={} q={} root={} bytes={} {}", name(entry->operation), entry->name, p, q, root, bytes,
                                             describe(machine)));
                    const int first_other = root < p ? p : 0, others = root < p ? q : p;
                    std::vector<Memory> memory(static_cast<std::size_t>(p + q)), expected(memory.size());
                    Memory& at_root = memory[static_cast<std::size_t>(root)];
                    auto sums = std::vector<std::byte>(bytes);
                    for (int member = 0; member < others; ++member) {
                        const int rank = first_other + member;
                        Memory& its = memory[static_cast<std::size_t>(rank)];
                        Memory& after = expected[static_cast<std::size_t>(rank)];
                        const auto block = bytes_of(root, member, bytes);
                        switch (entry->operation) {
                            case OperationKind::intergroup_broadcast:
                                at_root.data = bytes_of(root, 0, bytes);
                                its.data.resize(bytes);
                                after.data = at_root.data;
                                break;
                            case OperationKind::intergroup_scatter:
                                append(at_root.data, block);
                                its.result.resize(bytes);
                                after.result = block;
                                break;
                            default:
                                its.contribution = after.contribution = block;
                                for (std::uint64_t i = 0; i < bytes; ++i)
                                    sums[i] = static_cast<std::byte>(static_cast<unsigned>(sums[i]) + static_cast<unsigned>(block[i]));
                        }
                    }
                    expected[static_cast<std::size_t>(root)] = at_root;
                    if (entry->operation == OperationKind::intergroup_gather || entry->operation == OperationKind::intergroup_reduce) {
                        const bool gathers = entry->operation == OperationKind::intergroup_gather;
                        at_root.data.resize(gathers ? bytes * static_cast<std::uint64_t>(others) : bytes);
                        auto& after = expected[static_cast<std::size_t>(root)].data;
                        if (!gathers) after = sums;
                        for (int member = 0; gathers && member < others; ++member) append(after, bytes_of(root, member, bytes));
                    }
                    runtime::Call call;
                    call.bytes = bytes;
                    const auto outcome = run_between_groups(*entry, p, q, root, machine, call, memory, random_sum(random),
                                                            random_delays(random, p + q, root, 1000));
                    for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
                    for (std::size_t r = 0; r < memory.size(); ++r) {
                        ASSERT_TRUE(memory[r].data == expected[r].data) << "rank " << r;
                        ASSERT_TRUE(memory[r].result == expected[r].result) << "rank " << r;
                    }
                }
}

TEST(Intergroup, AllreduceAndAlltoall) {
    Random random(165);
    for (int p = 1; p <= 9; ++p)
        for (int q = 1; q <= 9; ++q) {
            if (random.leaves_out(4)) continue;
            const std::uint64_t a = random.pick(BlockSizes{0, 1, 64, 1000, 9000}), b = random.pick(BlockSizes{0, 1, 64, 1000, 9000});
            SCOPED_TRACE(fmt::format("p={} q={} blocks of {} and {}", p, q, a, b));
            std::vector<Memory> exchanged(static_cast<std::size_t>(p + q)), reduced(exchanged.size());
            const std::uint64_t elements = random.pick(BlockSizes{a, a, a, 4097, 150'000});
            std::vector<std::vector<std::byte>> blocks(exchanged.size()), sums(2, std::vector<std::byte>(elements));
            for (int rank = 0; rank < p + q; ++rank) {
                const auto r = static_cast<std::size_t>(rank);
                const bool is_first = rank < p;
                for (int other = is_first ? p : 0; other < (is_first ? p + q : p); ++other) {
                    append(exchanged[r].contribution, bytes_of(rank, other, is_first ? a : b));
                    append(blocks[r], bytes_of(other, rank, is_first ? b : a));
                }
                exchanged[r].data.resize(blocks[r].size());
                reduced[r].contribution = bytes_of(rank, 0, elements);
                reduced[r].data.resize(elements);
                for (std::uint64_t i = 0; i < elements; ++i)
                    sums[is_first][i] = static_cast<std::byte>(static_cast<unsigned>(sums[is_first][i]) +
                                                               static_cast<unsigned>(reduced[r].contribution[i]));
            }
            const auto run = [&](const AlgorithmEntry& entry, const runtime::Call& call, const foundation::Combiner& combiner,
                                 std::vector<Memory> memory) {
                const auto machine = random_machine(random, p + q, std::max(a, b), entry);
                SCOPED_TRACE(fmt::format("{} {} {}", name(entry.operation), entry.name, describe(machine)));
                const auto outcome =
                    run_between_groups(entry, p, q, -1, machine, call, memory, combiner, random_delays(random, p + q, 0, 1000));
                for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
                for (std::size_t r = 0; r < memory.size(); ++r) {
                    const auto& expected =
                        entry.operation == OperationKind::intergroup_alltoall ? blocks[r] : sums[static_cast<int>(r) >= p];
                    EXPECT_TRUE(memory[r].data == expected) << "rank " << r;
                }
            };
            runtime::Call call;
            call.bytes = elements;
            for (const AlgorithmEntry* const entry : algorithms_of(OperationKind::intergroup_allreduce))
                run(*entry, call, random_sum(random), reduced);
            call.bytes = a;
            call.segment_bytes = b;
            for (const AlgorithmEntry* const entry : algorithms_of(OperationKind::intergroup_alltoall)) run(*entry, call, {}, exchanged);
            if (HasFailure()) return;
        }
}

// A piece of node memory does not hold a whole number of these elements.
TEST(Intergroup, LongElementsAreNotCut) {
    struct Whole {
        std::uint64_t a, b, c;
    };
    const auto combiner = collectives::combiner_of(reduction_of<Whole>([](const Whole& x, const Whole& y) noexcept {
        return Whole{x.a + y.a, x.b + y.b, x.c + y.c};
    }));
    constexpr int p = 3, q = 4;
    for (const std::size_t count : {2731, 20'000})
        for (const OperationKind kind : {OperationKind::intergroup_reduce, OperationKind::intergroup_allreduce})
            for (const AlgorithmEntry* const entry : algorithms_of(kind)) {
                if (!entry->needs.contains(collectives::Condition::whole_pieces)) continue;
                SCOPED_TRACE(fmt::format("{} {}, {} elements", name(kind), entry->name, count));
                const int root = kind == OperationKind::intergroup_reduce ? 1 : -1;
                std::vector<Memory> memory(p + q);
                std::vector<std::vector<Whole>> expected(memory.size());
                const auto sum_of = [&](int first, int last) {
                    std::vector<Whole> sums(count);
                    for (std::size_t i = 0; i < count; ++i)
                        for (auto r = static_cast<std::uint64_t>(first); r < static_cast<std::uint64_t>(last); ++r)
                            sums[i] = {sums[i].a + (r << 32) + i, sums[i].b + r, sums[i].c + i};
                    return sums;
                };
                for (int rank = 0; rank < p + q; ++rank) {
                    const auto r = static_cast<std::size_t>(rank);
                    const auto own = std::as_bytes(std::span(expected[r] = sum_of(rank, rank + 1)));
                    const bool gets = root < 0 || rank == root, brings = root < 0 || rank >= p;
                    if (brings) memory[r].contribution.assign(own.begin(), own.end());
                    expected[r] = gets ? sum_of(rank < p ? p : 0, rank < p ? p + q : p) : std::vector<Whole>();
                    memory[r].data.resize(expected[r].size() * sizeof(Whole));
                }
                Simulation::Options machine;
                machine.ranks_per_node = entry->needs.contains(collectives::Condition::several_nodes) ? 2 : 0;
                runtime::Call call;
                call.bytes = count * sizeof(Whole);
                const auto outcome = run_between_groups(*entry, p, q, root, machine, call, memory, combiner, Times(p + q));
                for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
                for (std::size_t r = 0; r < memory.size(); ++r) {
                    const auto wanted = std::as_bytes(std::span(expected[r]));
                    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), memory[r].data.begin(), memory[r].data.end())) << "rank " << r;
                }
            }
}

// Sums of floats differ with the order of the operands. The ranks of a group must not.
TEST(Intergroup, AnAllreduceGivesAllRanksOfAGroupTheSameBits) {
    constexpr int kFirst = 3, kSecond = 5, kRanks = kFirst + kSecond;
    Random random(166);
    runtime::Call call;
    for (const AlgorithmEntry* const entry : algorithms_of(OperationKind::intergroup_allreduce))
        for (const std::size_t count : {std::size_t{700}, std::size_t{3000}})  // below and above published.hpp's kReadByAll
            for (int repetition = 0; repetition < repetitions(8); ++repetition) {
                std::vector<Memory> memory(kRanks);
                call.bytes = count * sizeof(float);
                for (Memory& its : memory) {
                    std::vector<float> operand(count);
                    for (float& element : operand) element = static_cast<float>(random.between(-1'000'000, 1'000'000)) * 1e-3F;
                    const auto bytes = std::as_bytes(std::span(operand));
                    its.contribution.assign(bytes.begin(), bytes.end());
                    its.data.resize(call.bytes);
                }
                const auto outcome =
                    run_between_groups(*entry, kFirst, kSecond, -1, random_machine(random, kRanks, call.bytes, *entry), call, memory,
                                       collectives::combiner_of(reduction_of<float>(sum)), random_delays(random, kRanks, 0, 50'000));
                for (const auto& error : outcome.errors) ASSERT_EQ(error, nullptr) << error->what();
                for (int rank = 0; rank < kRanks; ++rank)
                    EXPECT_TRUE(memory[static_cast<std::size_t>(rank)].data == memory[rank < kFirst ? 0 : kFirst].data)
                        << entry->name << ": rank " << rank << ", " << count << " elements";
            }
}

Times exits_between_groups(OperationKind kind, std::string_view name, int p, int q, int root,
                           const Simulation::Options& machine = single_ported(), std::uint64_t bytes = 1) {
    std::vector<Memory> memory(static_cast<std::size_t>(p + q));
    for (Memory& its : memory) {
        its.data.resize(kind == OperationKind::intergroup_alltoall ? 2 : bytes);
        its.contribution.resize(its.data.size());
    }
    if (kind == OperationKind::intergroup_alltoall) {  // p = 2, q = 1
        for (const std::size_t rank : {0u, 1u}) memory[rank] = {std::vector<std::byte>(1), std::vector<std::byte>(1), {}};
    }
    runtime::Call call;
    call.bytes = call.segment_bytes = bytes;
    return run_between_groups(collectives::find_algorithm(kind, name, collectives::kReal), p, q, root, machine, call, memory,
                              collectives::combiner_of(reduction_of<std::uint8_t>(sum)), Times(memory.size()))
        .exits;
}
TEST(IntergroupExamples, OtherOperations) {
    EXPECT_EQ(exits_between_groups(OperationKind::intergroup_broadcast, "binomial", 2, 3, 1), (Times{0, 2, 2, 2, 2}));
    EXPECT_EQ(exits_between_groups(OperationKind::intergroup_reduce, "binomial", 2, 3, 1), (Times{0, 3, 3, 1, 2}));
    EXPECT_EQ(exits_between_groups(OperationKind::intergroup_allreduce, "reduce_then_broadcast", 2, 1, -1), (Times{3, 3, 2}));
    for (const char* const name : {"linear", "pairwise"})
        EXPECT_EQ(exits_between_groups(OperationKind::intergroup_alltoall, name, 2, 1, -1), (Times{1, 2, 2})) << name;
    const auto in_pieces = [](OperationKind kind, int root) {
        constexpr std::uint64_t kPiece = 16 << 10;  // what the built-in costs say
        Times exits = exits_between_groups(kind, "pipelined", 2, 1, root, single_ported(), 2 * kPiece);
        for (Nanoseconds& exit : exits) exit /= kPiece;
        return exits;
    };
    EXPECT_EQ(in_pieces(OperationKind::intergroup_reduce, 2), (Times{3, 2, 3}));
    EXPECT_EQ(in_pieces(OperationKind::intergroup_allreduce, -1), (Times{5, 5, 4}));
}
TEST(IntergroupExamples, OtherOperationsOnOneNode) {
    const auto exits = [](OperationKind kind, int p, int q, int root, std::uint64_t bytes = 1) {
        return exits_between_groups(kind, "shared_memory", p, q, root, one_node(), bytes);
    };
    EXPECT_EQ(exits(OperationKind::intergroup_broadcast, 2, 1, 1), (Times{0, 1, 2}));
    EXPECT_EQ(exits(OperationKind::intergroup_alltoall, 2, 1, -1), (Times{2, 3, 4}));
    EXPECT_EQ(exits(OperationKind::intergroup_reduce, 2, 1, 2), (Times{1, 1, 3}));
    EXPECT_EQ(exits(OperationKind::intergroup_allreduce, 2, 1, -1), (Times{2, 2, 3}));
    EXPECT_EQ(exits(OperationKind::intergroup_allreduce, 2, 1, -1, 10'000), (Times{25'000, 25'000, 30'000}));
}

}  // namespace
}  // namespace rollcall::model_test
