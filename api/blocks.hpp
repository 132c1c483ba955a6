/// \file
/// From the counts and offsets of a program to where blocks are, in bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <rollcall/blocks.hpp>

#include "runtime/lane/operation.hpp"

namespace rollcall {

/// Of each rank. Must stay as long as an operation uses it.
using Layout = std::unique_ptr<const runtime::Block[]>;

struct LaidOut {
    Layout blocks;
    std::uint64_t end = 0;  ///< Of the last one, in bytes.
};

/// `own`: the size of the block of rank `rank`, in bytes, if it is known otherwise. Throws Error{invalid_argument}, which begins with
/// `caller`, when the numbers are no blocks of `ranks` ranks among the data; when the own block has another size; and when blocks that are
/// written overlap.
LaidOut lay_out(const Blocks& blocks, int ranks, int rank, std::optional<std::uint64_t> own, bool written, const std::string& caller);

}  // namespace rollcall
