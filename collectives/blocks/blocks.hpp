/// \file
/// Blocks of data, one for each rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "runtime/engine/operation.hpp"

namespace rollcall::collectives {

using runtime::Operation;
using runtime::Pending;
using runtime::Task;

/// `count` blocks of `bytes` bytes each, from number `first` on.
inline transport::Bytes blocks_of(transport::Bytes all, std::uint64_t bytes, std::size_t first, std::size_t count) {
    return runtime::slice(all, first * bytes, count * bytes);
}
/// The block of one rank, in a call whose blocks have one size and stand one behind the other in `all`.
template <class Bytes>
Bytes block_at(Bytes all, const runtime::Call& call, int rank) {
    return runtime::slice(all, call.bytes * static_cast<std::uint64_t>(rank), call.bytes);
}
/// The block of one rank, in the data of a rank that holds all blocks.
inline transport::Bytes block_of(const Operation& op, int rank) {
    const runtime::Arguments& arguments = op.arguments();
    if (arguments.blocks) [[unlikely]]
        return runtime::slice(arguments.data, arguments.blocks[rank].offset, arguments.blocks[rank].size);
    return block_at(arguments.data, op.call(), rank);
}
/// Where that block stands in the data.
inline runtime::Block place_of_block(const Operation& op, int rank) {
    if (const runtime::Block* const blocks = op.arguments().blocks) return blocks[rank];
    return {op.call().bytes * static_cast<std::uint64_t>(rank), op.call().bytes};
}

/// Where `count` blocks begin in the data, if they stand there one behind the other; otherwise nothing. `place_of` takes the number of a
/// block in this order and returns its runtime::Block. Empty blocks may be anywhere. If all are empty, they begin at 0.
template <class PlaceOf>
std::optional<std::uint64_t> begin_if_contiguous(int count, PlaceOf place_of) {
    std::optional<std::uint64_t> begin;
    std::uint64_t next = 0;
    for (int number = 0; number < count; ++number) {
        const runtime::Block block = place_of(number);
        if (block.size == 0) continue;
        if (begin && block.offset != next) return std::nullopt;
        if (!begin) begin = block.offset;
        next = block.offset + block.size;
    }
    return begin.value_or(0);
}

/// What this rank has for another rank, or for itself, in calls where every rank has something for all: the same data for all ranks, or a
/// block for each.
using BlockFor = transport::ConstBytes (*)(const Operation& op, int rank);
inline transport::ConstBytes same_for_all(const Operation& op, int) { return op.arguments().contribution; }
inline transport::ConstBytes block_for(const Operation& op, int rank) {
    const runtime::Arguments& arguments = op.arguments();
    if (arguments.contribution_blocks) [[unlikely]]
        return runtime::slice(arguments.contribution, arguments.contribution_blocks[rank].offset, arguments.contribution_blocks[rank].size);
    return block_at(arguments.contribution, op.call(), rank);
}

/// Copies a block of this rank to its destination, unless it is there already.
inline Pending copy_own(Operation& op, transport::Bytes into, transport::ConstBytes from) {
    return from.data && from.data == into.data ? Pending() : op.copy(into, from);
}

/// How many ranks at the beginning of the list follow one another. Their blocks stand side by side.
inline std::size_t consecutive(std::span<const int> ranks) {
    std::size_t count = 1;
    while (count < ranks.size() && ranks[count] == ranks[0] + static_cast<int>(count)) ++count;
    return count;
}

enum class Copy { into_list, out_of_list };

/// Copies between blocks in the order of this list of ranks and blocks in the order of ranks. Blocks that stand side by side in both are
/// copied together.
Task copy_runs(Operation& op, std::uint64_t bytes, std::span<const int> ranks, transport::Bytes in_list_order,
               transport::Bytes in_rank_order, Copy way);
/// The first of these, for blocks in the order of ranks that may not be written.
inline Task copy_into_list(Operation& op, std::uint64_t bytes, std::span<const int> ranks, transport::Bytes in_list_order,
                           transport::ConstBytes in_rank_order) {
    return copy_runs(op, bytes, ranks, in_list_order, {const_cast<void*>(in_rank_order.data), in_rank_order.size}, Copy::into_list);
}

/// Memory for blocks that are passed on. It is a phantom if `like` is one. (Empty data is no phantom, though its address may be null.)
class Scratch {
  public:
    Scratch(std::uint64_t size, transport::ConstBytes like)
        : memory_(like.data || like.size == 0 ? std::make_unique_for_overwrite<std::byte[]>(size) : nullptr), size_(size) {}
    transport::Bytes bytes() const { return {memory_.get(), size_}; }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::uint64_t size_;
};

}  // namespace rollcall::collectives
