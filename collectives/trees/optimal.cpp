#include "collectives/trees/optimal.hpp"

#include <limits>

#include "collectives/trees/part.hpp"
#include "collectives/trees/ranges.hpp"
#include "collectives/trees/splits.hpp"

namespace rollcall::collectives {

OptimalTrees::OptimalTrees(const BlockProblem& problem, const LinearCosts& costs)
    : RangeTable(problem.sizes), problem_(problem), costs_(costs) {
    for (int rank = 0; rank < n_; ++rank) set(rank, rank, problem.arrival(rank));
}

double OptimalTrees::time_of(int i, int j) {
    // A rank that is alone may be the root, and then it copies. So the splits with a single rank are computed one by one.
    const auto split_at = [&](int k) {
        const MergedSegment left = segment(i, k), right = segment(k + 1, j);
        return std::min(time_to_merge(left, right, true, costs_), time_to_merge(left, right, false, costs_));
    };
    double least = std::min(split_at(i), split_at(j - 1));
    if (j - i > 2)
        least = std::min(least, best_split({.left = &at(i, i + 1),
                                            .right = &by_last(j, i + 2),
                                            .sums = &sum_before(i + 2),
                                            .count = static_cast<std::size_t>(j - i - 2),
                                            .before = sum_before(i),
                                            .end = sum_before(j + 1),
                                            .alpha = costs_.alpha,
                                            .beta = costs_.beta},
                                           Sent::smaller));
    return least;
}

void OptimalTrees::compute(int first, int last) {
    for_ranges(first, last - 1, first, last, [&](int i, int j) { set(i, j, time_of(i, j)); });
}

int OptimalTrees::build(int i, int j, BlockTree& tree) {
    if (i == j) return i;
    double least = std::numeric_limits<double>::infinity();
    int best = i;
    bool into_left = true;
    for (int k = i; k < j; ++k)
        for (const bool left_receives : {false, true})
            if (const double time = time_to_merge(segment(i, k), segment(k + 1, j), left_receives, costs_); time < least) {
                least = time;
                best = k;
                into_left = left_receives;
            }
    const int left = build(i, best, tree), right = build(best + 1, j, tree);
    return merge(segment(i, best, left), segment(best + 1, j, right), into_left, costs_, tree).root;
}

TimedTree OptimalTrees::best() {
    if (!all_) compute(0, n_ - 1);
    all_ = true;
    TimedTree result{BlockTree(n_), at(0, n_ - 1)};
    result.tree.root = build(0, n_ - 1, result.tree);
    return result;
}

/// The ranges that contain a given root. They grow around it.
class OptimalTrees::RangesWithRoot {
  public:
    RangesWithRoot(OptimalTrees& others, int root)
        : others_(others),
          root_(root),
          columns_(static_cast<std::size_t>(others.n_ - root)),
          rows_(static_cast<std::size_t>(root) + 1),
          times_(std::make_unique_for_overwrite<double[]>(rows_ * columns_)),
          times_by_last_(std::make_unique_for_overwrite<double[]>(rows_ * columns_)) {
        // The value that ranges to the right use: the root has copied its own block.
        const double alone = others.problem_.arrival(root) + others.costs_.copy(root, others.problem_.size(root));
        set(root, root, alone);
        for (int j = root + 1; j < others.n_; ++j) set(root, j, time_of(root, j));
        for_ranges(0, root - 1, root, others.n_ - 1, [&](int i, int j) { set(i, j, time_of(i, j)); });
    }

    TimedTree whole() {
        TimedTree result{BlockTree(others_.n_), 0};
        result.tree.root = root_;
        build(0, others_.n_ - 1, result.tree);
        result.time = others_.n_ == 1 ? others_.problem_.arrival(root_) : at(0, others_.n_ - 1);
        return result;
    }

  private:
    double& at(int i, int j) { return times_[static_cast<std::size_t>(i) * columns_ + static_cast<std::size_t>(j - root_)]; }
    double& by_last(int j, int i) { return times_by_last_[static_cast<std::size_t>(j - root_) * rows_ + static_cast<std::size_t>(i)]; }
    void set(int i, int j, double time) { at(i, j) = by_last(j, i) = time; }

    /// The part with the root, or a part without it. A root that is alone has not copied yet, as merge() expects.
    MergedSegment segment(int first, int last, int root) {
        if (first > root_ || last < root_) return others_.segment(first, last, root);
        return {first, last, root_, others_.sum(first, last), first == last ? others_.problem_.arrival(root_) : at(first, last)};
    }
    double split_at(int i, int j, int k) {
        return time_to_merge(segment(i, k, kAnyRoot), segment(k + 1, j, kAnyRoot), k >= root_, others_.costs_);
    }

    double time_of(int i, int j) {
        Splits splits{.left = nullptr,
                      .right = nullptr,
                      .sums = nullptr,
                      .count = 0,
                      .before = others_.sum_before(i),
                      .end = others_.sum_before(j + 1),
                      .alpha = others_.costs_.alpha,
                      .beta = others_.costs_.beta};
        double least = std::numeric_limits<double>::infinity();
        if (j > root_) {
            splits.left = &at(i, root_);
            splits.right = &others_.by_last(j, root_ + 1);
            splits.sums = &others_.sum_before(root_ + 1);
            splits.count = static_cast<std::size_t>(j - root_);
            least = best_split(splits, Sent::right);
        } else {
            least = split_at(i, j, root_ - 1);
        }
        const int last = j > root_ ? root_ - 1 : root_ - 2;
        if (last >= i) {
            splits.left = &others_.at(i, i);
            splits.right = &by_last(j, i + 1);
            splits.sums = &others_.sum_before(i + 1);
            splits.count = static_cast<std::size_t>(last - i + 1);
            least = std::min(least, best_split(splits, Sent::left));
        }
        return least;
    }

    void build(int i, int j, BlockTree& tree) {
        if (i == j) return;
        int best = i;
        for (int k = i; k < j; ++k)
            if (split_at(i, j, k) < split_at(i, j, best)) best = k;
        int left = root_, right = root_;
        if (best >= root_) {
            build(i, best, tree);
            right = others_.build(best + 1, j, tree);
        } else {
            left = others_.build(i, best, tree);
            build(best + 1, j, tree);
        }
        merge(segment(i, best, left), segment(best + 1, j, right), best >= root_, others_.costs_, tree);
    }

    OptimalTrees& others_;
    const int root_;
    const std::size_t columns_, rows_;
    std::unique_ptr<double[]> times_, times_by_last_;
};

TimedTree OptimalTrees::with_root(int root) {
    // Of the ranges without the root, only those on each side of it are needed.
    if (!all_) {
        compute(0, root - 1);
        compute(root + 1, n_ - 1);
    }
    return RangesWithRoot(*this, root).whole();
}

TimedTree optimal_tree_in_order(const BlockProblem& problem, std::span<const int> order, const LinearCosts& costs, int root) {
    const ProblemPart reordered(problem, order);
    TimedTree result = optimal_tree(reordered.problem(), costs, reordered.place_of(root));
    result.tree = in_order(result.tree, order);
    return result;
}

}  // namespace rollcall::collectives
