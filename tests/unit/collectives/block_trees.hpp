/// \file
/// Random problems for trees of blocks of different sizes.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "collectives/trees/completion.hpp"
#include "collectives/trees/optimal.hpp"
#include "tests/unit/random.hpp"

namespace rollcall::collectives {

using BlockSizes = std::vector<std::uint64_t>;

struct TreeInstance {
    BlockSizes sizes;
    std::vector<double> arrivals;
    LinearCosts costs;
    int root;

    BlockProblem problem() const { return {.sizes = sizes, .arrivals = arrivals}; }
    std::string text() const {
        std::string text = "alpha " + std::to_string(costs.alpha) + " beta " + std::to_string(costs.beta) + " gamma " +
                           std::to_string(costs.gamma) + " root " + std::to_string(root) + " sizes";
        for (const auto size : sizes) text += " " + std::to_string(size);
        for (const auto arrival : arrivals) text += " @" + std::to_string(arrival);
        return text;
    }
};

inline TreeInstance random_instance(std::mt19937_64& random, int ranks, bool late) {
    TreeInstance instance;
    const std::uint64_t most = std::array{1, 5, 40, 1000}[random() % 4];
    for (int rank = 0; rank < ranks; ++rank) {
        instance.sizes.push_back(random() % 5 == 0 ? 0 : random() % (most + 1));
        if (late) instance.arrivals.push_back(static_cast<double>(random() % (most + 20)));
    }
    instance.costs = {.alpha = static_cast<double>(random() % 30), .beta = static_cast<double>(1 + random() % 3), .gamma = 0};
    instance.costs.gamma = static_cast<double>(random() % (static_cast<std::uint64_t>(instance.costs.beta) + 1));
    instance.root = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
    return instance;
}

inline void expect_tree(const TimedTree& found, const TreeInstance& instance, std::optional<int> root = {}) {
    EXPECT_TRUE(is_tree(found.tree)) << instance.text();
    EXPECT_EQ(completion_time(found.tree, instance.problem(), instance.costs), found.time) << instance.text();
    EXPECT_EQ(found.tree.root, root.value_or(found.tree.root)) << instance.text();
}

}  // namespace rollcall::collectives
