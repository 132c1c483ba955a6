/// \file
/// Pictures of trees of ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "collectives/trees/block_tree.hpp"

namespace rollcall::bench {

/// The tree as SVG: the ranks from left to right, the root above; the area of a rank is the size of its block, and a line is as thick as
/// what is sent along it. At each line its turn at the parent, from 1 on, where there is room for it.
std::string svg_of(const collectives::BlockTree& tree, std::span<const std::uint64_t> sizes, const std::string& title);

/// Into the file `path`, which is created or replaced. Throws Error{state} when it cannot be written.
void draw_tree(const std::filesystem::path& path, const collectives::BlockTree& tree, std::span<const std::uint64_t> sizes,
               const std::string& title);

}  // namespace rollcall::bench
