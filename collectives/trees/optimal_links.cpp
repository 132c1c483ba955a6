#include "collectives/trees/optimal_links.hpp"

#include <limits>

namespace rollcall::collectives {
namespace {

class LinkTrees {
  public:
    LinkTrees(const BlockProblem& problem, const LinkCosts& costs)
        : costs_(costs),
          n_(static_cast<std::size_t>(problem.ranks())),
          sums_(n_ + 1, 0),
          times_(n_ * n_ * n_, std::numeric_limits<double>::infinity()) {
        const int n = problem.ranks();
        for (int rank = 0; rank < n; ++rank) {
            sums_[static_cast<std::size_t>(rank) + 1] = sums_[static_cast<std::size_t>(rank)] + problem.size(rank);
            at(rank, rank, rank) = problem.arrival(rank);
        }
        for (int length = 2; length <= n; ++length)
            for (int i = 0; i + length <= n; ++i)
                for_merges(i, i + length - 1, [&](const Merge& merge) {
                    double& time = at(i, i + length - 1, merge.to);
                    time = std::min(time, merge.time);
                });
    }

    double time(int i, int j, int root) { return at(i, j, root); }

    void build(int i, int j, int root, BlockTree& tree) {
        if (i == j) return;
        Merge best{.k = i, .from = i, .to = i, .time = std::numeric_limits<double>::infinity()};
        for_merges(i, j, [&](const Merge& merge) {
            if (merge.to == root && merge.time < best.time) best = merge;
        });
        const bool into_left = root <= best.k;
        build(i, best.k, into_left ? root : best.from, tree);
        build(best.k + 1, j, into_left ? best.from : root, tree);
        tree.connect(best.from, root);
        if (!into_left && best.k + 1 == j) tree.node(root).received_before_copy = 1;
    }

  private:
    struct Merge {
        int k, from, to;
        double time;
    };
    double& at(int i, int j, int root) {
        return times_[(static_cast<std::size_t>(i) * n_ + static_cast<std::size_t>(j)) * n_ + static_cast<std::size_t>(root)];
    }
    double sum(int first, int last) const { return sums_[static_cast<std::size_t>(last) + 1] - sums_[static_cast<std::size_t>(first)]; }

    template <class Take>
    void for_merges(int i, int j, Take take) {
        for (int k = i; k < j; ++k) {
            const double left_size = sum(i, k), right_size = sum(k + 1, j);
            for (int left = i; left <= k; ++left) {
                const double left_time = at(i, k, left);
                const double copied = i == k ? left_time + costs_.copy(left, left_size) : left_time;
                for (int right = k + 1; right <= j; ++right) {
                    const double right_time = at(k + 1, j, right);
                    const double copy_last = k + 1 == j ? costs_.copy(right, right_size) : 0;
                    take({k, right, left, std::max(copied, right_time) + costs_.transfer(right, left, right_size)});
                    take({k, left, right, std::max(left_time, right_time) + costs_.transfer(left, right, left_size) + copy_last});
                }
            }
        }
    }

    const LinkCosts& costs_;
    const std::size_t n_;
    std::vector<double> sums_, times_;
};

}  // namespace

TimedTree optimal_tree(const BlockProblem& problem, const LinkCosts& costs, int root) {
    const int n = problem.ranks();
    LinkTrees trees(problem, costs);
    if (root == kAnyRoot) {
        root = 0;
        for (int other = 1; other < n; ++other)
            if (trees.time(0, n - 1, other) < trees.time(0, n - 1, root)) root = other;
    }
    TimedTree result{BlockTree(n), trees.time(0, n - 1, root)};
    result.tree.root = root;
    trees.build(0, n - 1, root, result.tree);
    return result;
}

LinearCosts costs_of_message(const LinearCosts& costs, double message) { return {.alpha = costs.transfer(message), .beta = 0, .gamma = 0}; }

LinkCosts costs_of_message(const LinkCosts& costs, double message) {
    LinkCosts result = costs;
    for (std::size_t link = 0; link < result.alpha.size(); ++link) {
        result.alpha[link] = message > 0 ? costs.alpha[link] + costs.beta[link] * message : 0;
        result.beta[link] = 0;
    }
    result.gamma.assign(costs.gamma.size(), 0);
    return result;
}

}  // namespace rollcall::collectives
