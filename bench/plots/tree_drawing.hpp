/// \file
/// Draws trees of ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "collectives/trees/block_tree.hpp"

namespace rollcall::bench {

/// Returns the tree as SVG. The ranks stand from left to right, with the root above. The area of a rank shows the size of its block, and
/// the width of a line shows the data sent along it. If there is room, each line has a number: the turn of the child at its parent, from 1.
std::string svg_of(const collectives::BlockTree& tree, std::span<const std::uint64_t> sizes, const std::string& title);

/// Draws into the file `path`, which is created or replaced. Throws Error{state} if the file cannot be written.
void draw_tree(const std::filesystem::path& path, const collectives::BlockTree& tree, std::span<const std::uint64_t> sizes,
               const std::string& title);

}  // namespace rollcall::bench
