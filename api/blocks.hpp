/// \file
/// Translates the counts and offsets that a program gives into places of blocks, in bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rollcall/blocks.hpp>

#include "runtime/engine/operation.hpp"

namespace rollcall {

/// The block of each rank. Must outlive every operation that uses it.
using Layout = std::unique_ptr<const runtime::Block[]>;

struct LaidOut {
    Layout blocks;
    std::uint64_t end = 0;  ///< Where the last block ends, in bytes.
};

/// Lays out the blocks of `ranks` ranks. `own` is the size of the block of rank `rank`, in bytes, if it is known from elsewhere. `written`
/// says that the operation writes the blocks. Throws Error{invalid_argument}, whose text begins with `caller`, if the numbers do not
/// describe blocks of `ranks` ranks within the data, if the own block has another size, or if blocks that are written overlap.
LaidOut lay_out(const Blocks& blocks, int ranks, int rank, std::optional<std::uint64_t> own, bool written, const std::string& caller);

/// For a rank that sends a block to each of `ranks` ranks and gets one from each. Sets where the blocks are, and the sizes of the buffers,
/// in `arguments`. Returns the layout that they point into. If the rank is one of these ranks, `self` is its number; both lists must give
/// its block the same size. Throws as lay_out() does.
Layout lay_out_both(const Blocks& to_send, const Blocks& to_receive, int ranks, std::optional<int> self, const std::string& caller,
                    runtime::Arguments& arguments);

}  // namespace rollcall
