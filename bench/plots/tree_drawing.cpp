#include "bench/plots/tree_drawing.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"

namespace rollcall::bench {
namespace {

// Pixels.
constexpr double kWidth = 1200, kLevel = 90, kMargin = 50, kTitle = 40, kLargestDisk = 22, kSmallestDisk = 1.5, kThickestLine = 12;
/// Up to this many ranks there is room for their numbers.
constexpr int kNumbered = 64;

}  // namespace

std::string svg_of(const collectives::BlockTree& tree, std::span<const std::uint64_t> sizes, const std::string& title) {
    const auto n = tree.nodes.size();
    std::vector<int> depth(n, 0);
    auto order = collectives::children_first(tree);
    std::reverse(order.begin(), order.end());
    for (const int rank : order)
        for (const int child : tree.node(rank).children) depth[static_cast<std::size_t>(child)] = depth[static_cast<std::size_t>(rank)] + 1;
    const auto segments = collectives::segment_sizes(tree, sizes);
    const double total = std::max(1.0, std::accumulate(sizes.begin(), sizes.end(), 0.0));
    const double largest = std::max<double>(1, static_cast<double>(*std::max_element(sizes.begin(), sizes.end())));
    const double step = (kWidth - 2 * kMargin) / static_cast<double>(std::max<std::size_t>(n - 1, 1));
    const auto x = [&](int rank) { return n == 1 ? kWidth / 2 : kMargin + step * rank; };
    const auto y = [&](int rank) { return kTitle + kMargin + kLevel * depth[static_cast<std::size_t>(rank)]; };
    const bool numbered = n <= kNumbered;
    const double height = kTitle + 2 * kMargin + kLevel * *std::max_element(depth.begin(), depth.end());

    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{2}\" y=\"{3}\" font-size=\"16\">{4}</text>\n",
        kWidth, height, kMargin / 2, kTitle * 0.7, title);
    for (const int rank : order) {
        int turn = 0;
        for (const int child : tree.node(rank).children) {
            const double share = static_cast<double>(segments[static_cast<std::size_t>(child)]) / total;
            svg +=
                fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#8899aa\" stroke-width=\"{:.2f}\"/>\n",
                            x(rank), y(rank), x(child), y(child), std::max(0.5, share * kThickestLine));
            ++turn;
            if (numbered)
                svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" fill=\"#aa3300\">{}</text>\n",
                                   (x(rank) + 2 * x(child)) / 3 + 3, (y(rank) + 2 * y(child)) / 3, turn);
        }
    }
    const double most = std::min(kLargestDisk, std::max(kSmallestDisk, step / 2));
    for (const int rank : order) {
        const double radius =
            std::max(kSmallestDisk, most * std::sqrt(static_cast<double>(sizes[static_cast<std::size_t>(rank)]) / largest));
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\"><title>rank {}: {} bytes, {} together</title></circle>\n",
            x(rank), y(rank), radius, rank == tree.root ? "#cc2222" : "#225588", rank, sizes[static_cast<std::size_t>(rank)],
            segments[static_cast<std::size_t>(rank)]);
        if (numbered)
            svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" text-anchor=\"middle\">{}</text>\n", x(rank),
                               y(rank) + radius + 11, rank);
    }
    return svg + "</svg>\n";
}

void draw_tree(const std::filesystem::path& path, const collectives::BlockTree& tree, std::span<const std::uint64_t> sizes,
               const std::string& title) {
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << svg_of(tree, sizes, title);
    file.close();
    if (!file) throw Error(ErrorCode::state, fmt::format("the drawing cannot be written to '{}': {}", path.string(), error_text(errno)));
}

}  // namespace rollcall::bench
