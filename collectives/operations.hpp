/// \file
/// Describes every collective operation in one row: which ranks contribute what, which ranks get what, and its algorithms. The checks of
/// arguments, plans, explanations, the C++ and C interfaces, the benchmark's operands and the tests are all made from these rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>

#include "collectives/algorithm.hpp"
#include "collectives/reductions/reductions.hpp"

namespace rollcall::collectives {

/// The groups of ranks that an operation distinguishes.
enum class RankSet : std::uint8_t { nobody, root, others, everybody };
constexpr bool includes(RankSet ranks, bool is_root) {
    return ranks == RankSet::everybody || ranks == (is_root ? RankSet::root : RankSet::others);
}

/// An operation moves a vector: a message, or the blocks of all ranks in their order. An extent says how much of the vector a buffer holds:
/// the message, this rank's block, or all blocks.
enum class Extent : std::uint8_t { message, block, blocks };

/// One buffer of an operation, with the ranks that read it and those that write it. Other ranks do not have the buffer.
struct Operand {
    RankSet reads = RankSet::nobody, writes = RankSet::nobody;
    Extent extent = Extent::message;
    /// Ranks that write nothing there but their own block of `data`, which they have from the beginning.
    RankSet only_copies = RankSet::nobody;

    constexpr bool is_read(bool is_root) const { return includes(reads, is_root); }
    constexpr bool is_written(bool is_root) const { return includes(writes, is_root); }
    constexpr bool is_had(bool is_root) const { return is_read(is_root) || is_written(is_root); }
    constexpr bool exists() const { return reads != RankSet::nobody || writes != RankSet::nobody; }
    constexpr bool tells_root() const {
        return reads == RankSet::root || reads == RankSet::others || writes == RankSet::root || writes == RankSet::others;
    }
};

/// The ranks whose elements make up the result of a rank, where elements are combined: all ranks; those of the ranks up to this one; or
/// those of the ranks before this one. In the last case rank 0 has no such elements and writes nothing.
enum class Prefix : std::uint8_t { none, inclusive, exclusive };

/// The buffers of a call, named as in runtime::Arguments.
enum class Slot : std::uint8_t { contribution, data, result };
inline constexpr std::array kSlots = {Slot::contribution, Slot::data, Slot::result};

/// The addresses of the buffers. A rank has those that the operation's row gives it; the others are ignored.
struct Buffers {
    const void* contribution = nullptr;
    void* data = nullptr;  ///< Not written where the row says that it is only read.
    void* result = nullptr;
};

/// How much of a buffer a rank has: nothing, `bytes` bytes, or that much for each rank.
enum class Amount : std::uint8_t { none, one, all };
struct Amounts {
    Amount contribution, data, result;
};

struct OperationRow {
    OperationKind kind;
    Operand contribution = {}, data = {}, result = {};
    /// The elements of all ranks are combined into one. The contributions then differ from rank to rank, although the extent is that of a
    /// message. The result is `data`.
    bool combines = false;
    Prefix prefix = Prefix::none;
    /// Each rank has a block for every rank: block r of its contribution is for rank r, and block r of its result comes from rank r.
    bool personalized = false;
    std::string_view reaches;  ///< The word before the ranks in explanations: "broadcast of 8 bytes `to` 4 ranks".
    std::span<const AlgorithmEntry> algorithms;
    std::span<const Rule> rules;

    // Derived from the operands here, because each call looks it up.
    bool moves_data = any_operand([](const Operand& operand) { return operand.exists(); });
    bool has_root = any_operand([](const Operand& operand) { return operand.tells_root(); });
    /// Whether the size of a call is that of a block.
    bool in_blocks = any_operand([](const Operand& operand) { return operand.exists() && operand.extent != Extent::message; });
    /// Whether the operation has a form for blocks with sizes of their own.
    bool has_own_sizes = in_blocks && !combines;
    /// Element 0: of ranks that are not the root. Element 1: of the root.
    std::array<Amounts, 2> amounts = {amounts_of(false), amounts_of(true)};

    constexpr const Operand& operand(Slot slot) const {
        return slot == Slot::contribution ? contribution : slot == Slot::data ? data : result;
    }
    /// How many ranks, from rank 0 on, contribute elements to the result of `rank`.
    constexpr int combined_ranks(int ranks, int rank) const {
        return prefix == Prefix::none ? ranks : prefix == Prefix::inclusive ? rank + 1 : rank;
    }
    constexpr bool any_operand(auto predicate) const { return predicate(contribution) || predicate(data) || predicate(result); }
    /// Whether such a rank gives data and gets none but its own.
    constexpr bool only_contributes(bool is_root) const {
        const auto writes = [&](const Operand& operand) { return operand.is_written(is_root) && !includes(operand.only_copies, is_root); };
        return any_operand([&](const Operand& operand) { return operand.is_read(is_root); }) && !any_operand(writes);
    }

  private:
    constexpr Amounts amounts_of(bool is_root) const {
        const auto of = [&](const Operand& operand) {
            if (!operand.is_had(is_root)) return Amount::none;
            return operand.extent == Extent::blocks ? Amount::all : Amount::one;
        };
        return {of(contribution), of(data), of(result)};
    }
};

/// The row of an operation. The kind must be one that has algorithms.
const OperationRow& operation(OperationKind kind) noexcept;
/// The one of operations() with this name, or null.
const OperationRow* find_operation(std::string_view name) noexcept;
std::span<const OperationRow> operations() noexcept;
/// The operations between two groups. What a rank gets are the blocks of the other group. If there is a root, `others` are the ranks of the
/// group that it is not in; the other ranks of its own group have no buffers. (operations() has the other operations.)
std::span<const OperationRow> intergroup_operations() noexcept;
/// First operations(), then intergroup_operations().
std::span<const OperationRow> all_operations() noexcept;
/// Every algorithm of operations(), by operation.
inline auto catalogue() {
    return operations() | std::views::transform([](const OperationRow& row) -> const auto& { return row.algorithms; }) | std::views::join;
}

/// No buffer can be larger: this is the size of the largest object in C++.
inline constexpr std::uint64_t kMostBytes = std::numeric_limits<std::ptrdiff_t>::max();

/// The part of the vector that an operand holds, in bytes.
struct Part {
    std::uint64_t offset, size;
};
constexpr Part part_of(const Operand& operand, std::uint64_t bytes, int ranks, int rank) {
    switch (operand.extent) {
        case Extent::block: return {bytes * static_cast<std::uint64_t>(rank), bytes};
        case Extent::blocks: return {0, bytes * static_cast<std::uint64_t>(ranks)};
        case Extent::message: break;
    }
    return {0, bytes};
}

/// Sets the addresses of the buffers that a rank has.
inline void give_addresses(runtime::Arguments& arguments, const OperationRow& row, const Buffers& buffers, bool is_root) noexcept {
    const Amounts& amounts = row.amounts[is_root];
    if (amounts.contribution != Amount::none) arguments.contribution.data = buffers.contribution;
    if (amounts.data != Amount::none) arguments.data.data = buffers.data;
    if (amounts.result != Amount::none) arguments.result.data = buffers.result;
}

/// The arguments of one rank's call: the buffers that the rank has, with their sizes, which are `bytes` or `all`. Null buffers are
/// phantoms. Where elements are combined, the combiner is that of Reduction(): a sum of bytes.
inline runtime::Arguments arguments_of(const OperationRow& row, const Buffers& buffers, std::uint64_t bytes, std::uint64_t all,
                                       bool is_root) noexcept {
    const Amounts& amounts = row.amounts[is_root];
    const auto size = [&](Amount amount) { return amount == Amount::none ? 0 : amount == Amount::one ? bytes : all; };
    runtime::Arguments arguments;
    arguments.contribution.size = size(amounts.contribution);
    arguments.data.size = size(amounts.data);
    arguments.result.size = size(amounts.result);
    give_addresses(arguments, row, buffers, is_root);
    if (row.combines) [[unlikely]]
        arguments.combiner = combiner_of(Reduction());
    return arguments;
}
inline runtime::Arguments arguments_of(const OperationRow& row, const Buffers& buffers, std::uint64_t bytes, int ranks,
                                       bool is_root) noexcept {
    return arguments_of(row, buffers, bytes, bytes * static_cast<std::uint64_t>(ranks), is_root);
}

}  // namespace rollcall::collectives
