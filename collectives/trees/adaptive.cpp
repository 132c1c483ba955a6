#include "collectives/trees/adaptive.hpp"

namespace rollcall::collectives {
namespace {

// `into_left(left, right)` decides, for two segments without the root, whether the left one receives.
template <class Decide>
BlockTree merge_in_pairs(const BlockProblem& problem, const LinearCosts& costs, int root, Decide into_left) {
    BlockTree tree(problem.ranks());
    std::vector<MergedSegment> segments;
    for (int rank = 0; rank < problem.ranks(); ++rank) segments.push_back(single_segment(problem, rank));
    while (segments.size() > 1) {
        std::size_t merged = 0;
        for (std::size_t i = 0; i < segments.size(); i += 2) {
            if (i + 1 == segments.size()) {
                segments[merged++] = segments[i];
                continue;
            }
            const MergedSegment &left = segments[i], &right = segments[i + 1];
            const bool left_receives = left.contains(root) || (!right.contains(root) && into_left(left, right));
            segments[merged++] = merge(left, right, left_receives, costs, tree);
        }
        segments.resize(merged);
    }
    tree.root = segments[0].root;
    return tree;
}

}  // namespace

BlockTree star_tree(int ranks, int root) {
    BlockTree tree(ranks);
    tree.root = root;
    for (int rank = 0; rank < ranks; ++rank)
        if (rank != root) tree.connect(rank, root);
    return tree;
}

BlockTree oblivious_tree(int ranks, int root) {
    const std::vector<std::uint64_t> none(static_cast<std::size_t>(ranks), 0);
    return merge_in_pairs({.sizes = none}, {}, root, [](const auto&, const auto&) { return false; });
}

BlockTree adaptive_tree(const BlockProblem& problem, const LinearCosts& costs, int root) {
    return merge_in_pairs(problem, costs, root, [&](const MergedSegment& left, const MergedSegment& right) {
        return time_to_merge(left, right, true, costs) < time_to_merge(left, right, false, costs);
    });
}

bool lower_receives(std::uint64_t lower_bytes, std::uint64_t upper_bytes) { return lower_bytes > upper_bytes; }

BlockTree adaptive_tree(std::span<const std::uint64_t> sizes, int root) {
    // The sums are kept in whole bytes, because sizes as doubles may have been rounded.
    std::vector<std::uint64_t> sums(1, 0);
    for (const std::uint64_t size : sizes) sums.push_back(sums.back() + size);
    const auto bytes = [&](const MergedSegment& segment) {
        return sums[static_cast<std::size_t>(segment.last) + 1] - sums[static_cast<std::size_t>(segment.first)];
    };
    return merge_in_pairs({.sizes = sizes}, {}, root,
                          [&](const MergedSegment& left, const MergedSegment& right) { return lower_receives(bytes(left), bytes(right)); });
}

}  // namespace rollcall::collectives
