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
    explicit OneGroup(const Scene& scene) {
        const int its_ranks = scene.ranks_of_group > 0 ? scene.ranks_of_group : (scene.ranks + 1) / 2;
        ranks = std::max(its_ranks, 1);
        nodes = scene.nodes_of_group > 0 ? scene.nodes_of_group : std::max(std::round(ranks / scene.ranks_of_node), 1.0);
        of_node = std::max(ranks / nodes, 1.0);
    }
    double ranks, nodes, of_node;
};

/// The ranks of a group.
Scene one_group(Scene scene) {
    const OneGroup group(scene);
    scene.ranks = static_cast<int>(group.ranks);
    scene.ranks_of_node = group.of_node;
    return scene;
}
/// The nodes of a group in a call between two groups, as one rank each.
Scene nodes_of_group(Scene scene) {
    scene.ranks = static_cast<int>(std::lround(OneGroup(scene).nodes));
    scene.ranks_of_node = 1;
    return scene;
}
/// The same and a root on another node.
Scene root_and_nodes(const Scene& scene) {
    Scene nodes = nodes_of_group(scene);
    ++nodes.ranks;
    return nodes;
}

/// The ranks of a group combine on their nodes, in so many lanes, and the nodes up a tree or a chain.
double reduce_to_a_node(const Scene& scene, double lanes) {
    const double of_node = OneGroup(scene).of_node;
    const Scene nodes = nodes_of_group(scene);
    return scene.signal + scene.bytes * (scene.copied_byte + of_node / lanes * scene.combined_byte) +
           std::min(reduce_binomial(nodes), reduce_chain(nodes));
}

}  // namespace

double intergroup_root_gathering(const Scene& scene) {
    const OneGroup group(scene);
    const Scene one = one_group(scene);
    Scene all = one;
    all.bytes = group.ranks * scene.bytes;
    return binomial_of_blocks(one) + message(scene, all.bytes) + std::min(binomial(all), chain(all));
}

double intergroup_full_duplex(const Scene& scene) {
    const OneGroup group(scene);
    return message(scene, group.of_node * scene.bytes) + (group.ranks - 1) * message(scene, scene.bytes);
}

double intergroup_two_level(const Scene& scene) {
    const OneGroup group(scene);
    const double of_node = group.of_node * scene.bytes;
    // The rank that exchanges messages copies the blocks of its group on its node, and publishes all that came. The others copy that out.
    const double all = group.ranks * scene.bytes, copied = of_node + 2 * all;
    const double exchanged = all <= static_cast<double>(kOneLane) ? message(scene, all) + (group.nodes - 1) * exchange_gap(scene)
                                                                  : group.nodes * message(scene, of_node);
    return exchanged + 2 * scene.signal + copied * scene.copied_byte;
}

double intergroup_broadcast_two_level(const Scene& scene) {
    const Scene nodes = root_and_nodes(scene);
    return std::min(broadcast_binomial(nodes), broadcast_chain(nodes)) + scene.signal + 2 * scene.bytes * scene.copied_byte;
}

double intergroup_two_level_of_blocks(const Scene& scene) {
    Scene nodes = root_and_nodes(scene);
    nodes.bytes = OneGroup(scene).of_node * scene.bytes;
    // As in one group.
    return scene.signal + (nodes.bytes + scene.bytes) * scene.copied_byte + linear(nodes);
}

double intergroup_reduce_binomial(const Scene& scene) { return reduce_binomial(one_group(scene)) + message(scene, scene.bytes); }

double intergroup_reduce_chain(const Scene& scene) {
    const Scene group = one_group(scene);
    const ChainPieces pieces(scene, static_cast<double>(chain_segment(group)));
    return through_all(group, pieces) + pieces.count * next(scene, pieces) + port(scene, 1);
}

double intergroup_reduce_two_level(const Scene& scene) {
    const double lanes = scene.bytes <= static_cast<double>(kOneLane) ? 1 : OneGroup(scene).of_node;
    return reduce_to_a_node(scene, lanes) + message(scene, scene.bytes);
}

double intergroup_allreduce_binomial(const Scene& scene) {
    const Scene one = one_group(scene);
    return reduce_binomial(one) + message(scene, scene.bytes) + std::min(broadcast_binomial(one), broadcast_chain(one));
}

double intergroup_allreduce_chain(const Scene& both_groups) {
    Scene scene = both_groups;
    scene.ranks_of_node = OneGroup(scene).of_node;
    const ChainPieces pieces(scene, static_cast<double>(chain_segment(scene)));
    const double first = std::max(through_all(scene, pieces) - next(scene, pieces), 0.0);
    return first + pieces.count * (message(scene, 2 * pieces.size) + pieces.combined) + port(scene, 2);
}

double intergroup_allreduce_two_level(const Scene& scene) {
    const Scene nodes = nodes_of_group(scene);
    const double of_node = OneGroup(scene).of_node, lanes = lanes_of_all(scene.bytes, of_node, of_node);
    return reduce_to_a_node(scene, lanes) + message(scene, scene.bytes) + std::min(binomial(nodes), chain(nodes)) + scene.signal +
           2 * scene.bytes * scene.copied_byte;
}

double intergroup_alltoall_linear(const Scene& scene) {
    const OneGroup group(scene);
    return scene.latency + (group.ranks - 1) * exchange_gap(scene) + group.of_node * group.ranks * scene.bytes * scene.byte;
}

double intergroup_alltoall_two_level(const Scene& scene) {
    const OneGroup group(scene);
    // A rank puts its blocks in order and publishes them. The first rank of the node collects all of these, puts what came in order for
    // each rank, and publishes that.
    const double copied = (2 + 3 * group.of_node) * group.ranks * scene.bytes;
    return scene.latency + (group.nodes - 1) * exchange_gap(scene) + group.of_node * group.ranks * scene.bytes * scene.byte +
           2 * scene.signal + copied * scene.copied_byte;
}

}  // namespace rollcall::collectives::cost
