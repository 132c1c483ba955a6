// Estimates of operations between two groups.
#include <algorithm>
#include <cmath>

#include "collectives/costs/model.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives::cost {

using namespace model;

namespace {

/// The larger one of two groups, as if both had as many ranks on as many nodes.
struct OneGroup {
    explicit OneGroup(const CostInput& input) {
        const int its_ranks = input.ranks_of_group > 0 ? input.ranks_of_group : (input.ranks + 1) / 2;
        ranks = std::max(its_ranks, 1);
        nodes = input.nodes_of_group > 0 ? input.nodes_of_group : std::max(std::round(ranks / input.ranks_of_node), 1.0);
        of_node = std::max(ranks / nodes, 1.0);
    }
    double ranks, nodes, of_node;
};

/// The ranks of a group.
CostInput one_group(CostInput input) {
    const OneGroup group(input);
    input.ranks = static_cast<int>(group.ranks);
    input.ranks_of_node = group.of_node;
    return input;
}
/// The nodes of a group in a call between two groups, as one rank each.
CostInput nodes_of_group(CostInput input) {
    input.ranks = static_cast<int>(std::lround(OneGroup(input).nodes));
    input.ranks_of_node = 1;
    return input;
}
/// The same and a root on another node.
CostInput root_and_nodes(const CostInput& input) {
    CostInput nodes = nodes_of_group(input);
    ++nodes.ranks;
    return nodes;
}

/// The ranks of a group combine on their nodes, in so many lanes, and the nodes up a tree or a chain.
double reduce_to_a_node(const CostInput& input, double lanes) {
    const double of_node = OneGroup(input).of_node;
    const CostInput nodes = nodes_of_group(input);
    return input.signal + input.bytes * (input.copied_byte + of_node / lanes * input.combined_byte) +
           std::min(reduce_binomial(nodes), reduce_chain(nodes));
}

}  // namespace

double intergroup_root_gathering(const CostInput& input) {
    const OneGroup group(input);
    const CostInput one = one_group(input);
    CostInput all = one;
    all.bytes = group.ranks * input.bytes;
    return binomial_of_blocks(one) + message(input, all.bytes) + std::min(binomial(all), chain(all));
}

double intergroup_full_duplex(const CostInput& input) {
    const OneGroup group(input);
    return message(input, group.of_node * input.bytes) + (group.ranks - 1) * message(input, input.bytes);
}

double intergroup_two_level(const CostInput& input) {
    const OneGroup group(input);
    const double of_node = group.of_node * input.bytes;
    // The rank that exchanges messages copies the blocks of its group on its node, and publishes all that came. The others copy that out.
    const double all = group.ranks * input.bytes, copied = of_node + 2 * all;
    const double exchanged = all <= static_cast<double>(kOneLane) ? message(input, all) + (group.nodes - 1) * exchange_gap(input)
                                                                  : group.nodes * message(input, of_node);
    return exchanged + 2 * input.signal + copied * input.copied_byte;
}

double intergroup_broadcast_two_level(const CostInput& input) {
    const CostInput nodes = root_and_nodes(input);
    return std::min(broadcast_binomial(nodes), broadcast_chain(nodes)) + input.signal + 2 * input.bytes * input.copied_byte;
}

double intergroup_two_level_of_blocks(const CostInput& input) {
    CostInput nodes = root_and_nodes(input);
    nodes.bytes = OneGroup(input).of_node * input.bytes;
    // As in one group.
    return input.signal + (nodes.bytes + input.bytes) * input.copied_byte + linear(nodes);
}

double intergroup_reduce_binomial(const CostInput& input) { return reduce_binomial(one_group(input)) + message(input, input.bytes); }

double intergroup_reduce_chain(const CostInput& input) {
    const CostInput group = one_group(input);
    const ChainPieces pieces(input, static_cast<double>(chain_segment(group)));
    return through_all(group, pieces) + pieces.count * next(input, pieces) + port(input, 1);
}

double intergroup_reduce_two_level(const CostInput& input) {
    const double lanes = input.bytes <= static_cast<double>(kOneLane) ? 1 : OneGroup(input).of_node;
    return reduce_to_a_node(input, lanes) + message(input, input.bytes);
}

double intergroup_allreduce_binomial(const CostInput& input) {
    const CostInput one = one_group(input);
    return reduce_binomial(one) + message(input, input.bytes) + std::min(broadcast_binomial(one), broadcast_chain(one));
}

double intergroup_allreduce_chain(const CostInput& both_groups) {
    CostInput input = both_groups;
    input.ranks_of_node = OneGroup(input).of_node;
    const ChainPieces pieces(input, static_cast<double>(chain_segment(input)));
    const double first = std::max(through_all(input, pieces) - next(input, pieces), 0.0);
    return first + pieces.count * (message(input, 2 * pieces.size) + pieces.combined) + port(input, 2);
}

double intergroup_allreduce_two_level(const CostInput& input) {
    const CostInput nodes = nodes_of_group(input);
    const double of_node = OneGroup(input).of_node, lanes = lanes_of_all(input.bytes, of_node, of_node);
    return reduce_to_a_node(input, lanes) + message(input, input.bytes) + std::min(binomial(nodes), chain(nodes)) + input.signal +
           2 * input.bytes * input.copied_byte;
}

double intergroup_alltoall_linear(const CostInput& input) {
    const OneGroup group(input);
    return input.latency + (group.ranks - 1) * exchange_gap(input) + group.of_node * group.ranks * input.bytes * input.byte;
}

double intergroup_alltoall_two_level(const CostInput& input) {
    const OneGroup group(input);
    // A rank puts its blocks in order and publishes them. The first rank of the node collects all of these, puts what came in order for
    // each rank, and publishes that.
    const double copied = (2 + 3 * group.of_node) * group.ranks * input.bytes;
    return input.latency + (group.nodes - 1) * exchange_gap(input) + group.of_node * group.ranks * input.bytes * input.byte +
           2 * input.signal + copied * input.copied_byte;
}

}  // namespace rollcall::collectives::cost
