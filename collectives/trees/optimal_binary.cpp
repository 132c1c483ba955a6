#include "collectives/trees/optimal_binary.hpp"

#include <array>
#include <limits>

#include "collectives/trees/ranges.hpp"
#include "collectives/trees/splits.hpp"

namespace rollcall::collectives {

OptimalBinaryTrees::OptimalBinaryTrees(std::span<const std::uint64_t> sizes, const LinearCosts& costs) : RangeTable(sizes), costs_(costs) {
    for (int rank = 0; rank < n_; ++rank) set(rank, rank, 0);
}

// The root receives the part before it first, and then copies. If the root is the first rank of the range, it copies while the others
// collect.
double OptimalBinaryTrees::with_root_between(int i, int root, int j) {
    return received(root + 1, j, received(i, root - 1, 0) + copy(root));
}

double OptimalBinaryTrees::with_one_child(int i, int j) { return std::min(with_root_between(i, i, j), with_root_between(i, j, j)); }

// The least value of max(received_first[k], time of k + 1 .. j) + its transfer, for k from first_split to j - 1.
double OptimalBinaryTrees::over_splits(const double* received_first, int i, int first_split, int j) {
    if (first_split >= j) return std::numeric_limits<double>::infinity();
    return best_split({.left = received_first + first_split,
                       .right = &by_last(j, first_split + 1),
                       .sums = &sum_before(first_split + 1),
                       .count = static_cast<std::size_t>(j - first_split),
                       .before = sum_before(i),
                       .end = sum_before(j + 1),
                       .alpha = costs_.alpha,
                       .beta = costs_.beta},
                      Sent::right);
}

void OptimalBinaryTrees::compute(int first, int last) {
    // Values that only ranges which begin at the same i need, for the rows that are computed side by side. The lists are indexed by k.
    struct Row {
        std::vector<double> one_child;   ///< When a root at one end of i .. k has received the rest of it as one child.
        std::vector<double> given_away;  ///< When a rank outside of i .. k has received it.
        double both_given_away = 0;      ///< When a rank outside has received i .. j - 1 as two children, with the best split.
    };
    std::array<Row, kRangeRows> rows;
    for (Row& row : rows) row.one_child = row.given_away = std::vector<double>(static_cast<std::size_t>(n_));
    for_ranges(first, last - 1, first, last, [&](int i, int j) {
        Row& row = rows[static_cast<std::size_t>(i % kRangeRows)];
        const auto of = [](std::vector<double>& list, int k) -> double& { return list[static_cast<std::size_t>(k)]; };
        if (j == i + 1) of(row.given_away, i) = received(i, i, 0);
        double least = of(row.one_child, j) = with_one_child(i, j);
        // one_child[k] contains the first child already, whether the root is before it or after it. The second child is k + 1 .. j.
        least = std::min(least, over_splits(row.one_child.data(), i, i + 1, j));
        if (j > i + 1) least = std::min(least, row.both_given_away + copy(j));
        set(i, j, least);
        of(row.given_away, j) = received(i, j, 0);
        row.both_given_away = over_splits(row.given_away.data(), i, i, j);
    });
}

OptimalBinaryTrees::Shape OptimalBinaryTrees::shape(int i, int j, int root) {
    Shape best{with_root_between(i, root, j), root};
    if (root == i)
        for (int k = i + 1; k < j; ++k)
            if (const double time = received(k + 1, j, received(i + 1, k, copy(i))); time < best.time) best = {time, root, k};
    if (root == j)
        for (int k = i; k < j - 1; ++k)
            if (const double time = received(k + 1, j - 1, received(i, k, 0)) + copy(j); time < best.time) best = {time, root, k};
    return best;
}

OptimalBinaryTrees::Shape OptimalBinaryTrees::shape(int i, int j) {
    Shape best = shape(i, j, i);
    for (int root = i + 1; root <= j; ++root)
        if (const Shape other = shape(i, j, root); other.time < best.time) best = other;
    return best;
}

int OptimalBinaryTrees::build(int i, int j, const Shape& shape, BlockTree& tree) {
    const auto take = [&](int first, int last) {
        if (first <= last) tree.connect(first == last ? first : build(first, last, this->shape(first, last), tree), shape.root);
    };
    if (shape.split < 0) {
        take(i, shape.root - 1);
        tree.node(shape.root).received_before_copy = i < shape.root ? 1 : 0;
        take(shape.root + 1, j);
    } else {
        const bool first = shape.root == i;
        take(first ? i + 1 : i, shape.split);
        take(shape.split + 1, first ? j : j - 1);
        tree.node(shape.root).received_before_copy = first ? 0 : 2;
    }
    return shape.root;
}

TimedTree OptimalBinaryTrees::best() {
    TimedTree result{BlockTree(n_), 0};
    if (n_ == 1) return result;
    if (!all_) compute(0, n_ - 1);
    all_ = true;
    const Shape whole = shape(0, n_ - 1);
    result.tree.root = build(0, n_ - 1, whole, result.tree);
    result.time = whole.time;
    return result;
}

TimedTree OptimalBinaryTrees::with_root(int root) {
    TimedTree result{BlockTree(n_), 0};
    result.tree.root = root;
    if (n_ == 1) return result;
    // Only the ranges on each side of the root are needed.
    if (!all_) {
        compute(0, root - 1);
        compute(root + 1, n_ - 1);
    }
    const Shape whole = shape(0, n_ - 1, root);
    build(0, n_ - 1, whole, result.tree);
    result.time = whole.time;
    return result;
}

}  // namespace rollcall::collectives
