#include "collectives/trees/completion.hpp"

#include <algorithm>

namespace rollcall::collectives {
namespace {

template <class Costs>
double complete(const BlockTree& tree, const BlockProblem& problem, const Costs& costs, int ports) {
    std::vector<double> ready(tree.nodes.size());  // when each rank has its segment
    const auto segments = segment_sizes(tree, problem.sizes);
    std::vector<double> free;  // when each port is free
    for (const int rank : children_first(tree)) {
        const BlockTreeNode& node = tree.node(rank);
        free.assign(static_cast<std::size_t>(ports), problem.arrival(rank));
        const auto copy = [&] { *std::min_element(free.begin(), free.end()) += costs.copy(rank, problem.size(rank)); };
        int received = 0;
        for (const int child : node.children) {
            if (received++ == node.received_before_copy) copy();
            const auto from = static_cast<std::size_t>(child);
            double& port = *std::min_element(free.begin(), free.end());
            port = std::max(port, ready[from]) + costs.transfer(child, rank, static_cast<double>(segments[from]));
        }
        if (received > 0 && received == node.received_before_copy) copy();
        ready[static_cast<std::size_t>(rank)] = *std::max_element(free.begin(), free.end());
    }
    return ready[static_cast<std::size_t>(tree.root)];
}

}  // namespace

double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinearCosts& costs) {
    return complete(tree, problem, costs, 1);
}
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinkCosts& costs) {
    return complete(tree, problem, costs, 1);
}
double completion_time(const BlockTree& tree, const BlockProblem& problem, const LinearCosts& costs, int ports) {
    return complete(tree, problem, costs, ports);
}

}  // namespace rollcall::collectives
