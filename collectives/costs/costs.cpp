#include "collectives/costs/costs.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/costs/model.hpp"
#include "collectives/published/published.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

Scene scene_of(const Costs& costs, std::uint64_t bytes, int ranks, bool on_one_host, int nodes) {
    Scene scene{.bytes = static_cast<double>(bytes),
                .ranks = ranks,
                .ranks_of_node = nodes > 0 ? std::max(static_cast<double>(ranks) / nodes, 1.0) : 1,
                .signal = static_cast<double>(costs.signal_latency),
                .copied_byte = time_of_byte(costs.copy_mebibyte),
                .combined_byte = time_of_byte(costs.combine_mebibyte)};
    scene.latency = static_cast<double>(on_one_host ? costs.node_latency : costs.network_latency);
    scene.gap = static_cast<double>(on_one_host ? costs.node_gap : costs.network_gap);
    scene.byte = time_of_byte(on_one_host ? costs.node_mebibyte : costs.network_mebibyte);
    return scene;
}

Wait wait_for(SendsAwaited sends_awaited, const Scene& scene, bool is_root, double leaving) {
    if (sends_awaited == SendsAwaited::unknown || scene.ranks < 2) return {};
    double messages = 1;
    if (sends_awaited == SendsAwaited::two) messages = std::min(2.0, cost::model::others(scene));
    if (sends_awaited == SendsAwaited::rounds) messages = cost::model::rounds(scene);
    const double others = cost::model::others(scene);
    if (sends_awaited == SendsAwaited::all) messages = is_root ? others : std::max(others / 2, 1.0);
    return {.fixed = scene.latency + (messages - 1) * scene.gap, .byte = (leaving > 0 ? leaving : messages) * scene.byte};
}

namespace cost {

using namespace model;

double linear(const Scene& scene) { return in_a_row(scene, others(scene) * scene.bytes); }

double binomial(const Scene& scene) { return tree_steps(scene, scene.bytes); }

double binomial_combining(const Scene& scene) { return binomial(scene) + rounds(scene) * scene.bytes * scene.combined_byte; }

double binomial_of_blocks(const Scene& scene) { return rounds(scene) * scene.latency + others(scene) * scene.bytes * scene.byte; }

double chain(const Scene& scene) { return model::chain(scene, {scene, static_cast<double>(chain_segment(scene)), false}); }

double chain_combining(const Scene& scene) { return model::chain(scene, {scene, static_cast<double>(chain_segment(scene))}); }

double binary(const Scene& scene) { return model::binary(scene, {scene, static_cast<double>(chain_segment(scene)), false}); }

double broadcast_linear(const Scene& scene) { return linear(scene) + port(scene, others(scene)); }

double broadcast_binomial(const Scene& scene) { return binomial(scene) + port(scene, steps_between_nodes(scene)); }

double broadcast_chain(const Scene& scene) { return chain(scene) + port(scene, 1); }

double broadcast_binary(const Scene& scene) { return binary(scene) + port(scene, edges_of_binary(scene)); }

double reduce_linear(const Scene& scene) { return broadcast_linear(scene) + others(scene) * scene.bytes * scene.combined_byte; }

double reduce_binomial(const Scene& scene) { return binomial_combining(scene) + port(scene, steps_between_nodes(scene)); }

double reduce_chain(const Scene& scene) { return chain_combining(scene) + port(scene, 1); }

double reduce_binary(const Scene& scene) {
    return model::binary(scene, {scene, static_cast<double>(chain_segment(scene))}) + port(scene, edges_of_binary(scene));
}

double reduce_two_level(const Scene& scene) {
    const double of_node = scene.ranks_of_node, lanes = lanes_of_all(scene.bytes, of_node, of_node);
    Scene nodes = a_rank_of_each_node(scene);
    nodes.ranks_of_node = 1;
    const double on_node = scene.signal + scene.bytes * (scene.copied_byte + std::max(of_node - 1, 0.0) / lanes * scene.combined_byte);
    const double gathered = lanes > 1 ? scene.signal + 2 * scene.bytes * scene.copied_byte : 0;
    return on_node + std::min({reduce_linear(nodes), reduce_binomial(nodes), reduce_chain(nodes), reduce_binary(nodes)}) + gathered;
}

double two_level_of_blocks(const Scene& scene) {
    Scene nodes = a_rank_of_each_node(scene);
    nodes.bytes = scene.ranks_of_node * scene.bytes;
    // Each rank writes or reads its block; the one that exchanges messages does so with all blocks of its node.
    return scene.signal + (nodes.bytes + scene.bytes) * scene.copied_byte + linear(nodes);
}

double barrier_linear(const Scene& scene) { return 2 * in_a_row(scene, 0); }

double barrier_dissemination(const Scene& scene) { return rounds(scene) * scene.latency; }

double barrier_two_level(const Scene& scene) { return 2 * scene.signal + barrier_dissemination(a_rank_of_each_node(scene)); }

double exchange(const Scene& scene) {
    Scene busy = scene;
    busy.gap = exchange_gap(scene);
    return in_a_row(busy, over_link(scene));
}

double allgather_bruck(const Scene& scene) {
    return rounds(scene) * scene.latency + over_link(scene) * scene.byte + scene.ranks * scene.bytes * scene.copied_byte;
}

double allgather_two_level(const Scene& scene) {
    const double nodes = scene.ranks / scene.ranks_of_node, of_node = scene.ranks_of_node * scene.bytes;
    // A leader copies its node's blocks and publishes all blocks, which the other ranks copy out.
    const double copied = of_node + 2 * scene.ranks * scene.bytes;
    return (nodes - 1) * message(scene, of_node) + 2 * scene.signal + copied * scene.copied_byte;
}

double alltoall_bruck(const Scene& scene) {
    const double half = (scene.ranks / 2) * scene.bytes;
    return rounds(scene) * (message(scene, half * scene.ranks_of_node) + 2 * half * scene.copied_byte);
}

double alltoall_two_level(const Scene& scene) {
    const double of_node = scene.ranks_of_node, nodes = scene.ranks / of_node;
    // What the rank copies that takes longest, in blocks. With one lane, that is the first rank of a node: it collects all blocks of the
    // node, copies those that stay, and publishes all that came, and the others copy out theirs. In lanes, each rank puts its blocks in
    // order, publishes them, collects those of its lane, and puts them in order. On a single node there is only what is published.
    const bool has_one_lane = scene.bytes * of_node * of_node <= static_cast<double>(kOneLane);
    const double copied = nodes < 2      ? 2 * scene.ranks
                          : has_one_lane ? (2 * of_node + 1) * scene.ranks + of_node * of_node
                                         : 4 * scene.ranks - nodes;
    return scene.latency + std::max(nodes - 2, 0.0) * exchange_gap(scene) + over_link(scene) * scene.byte + 2 * scene.signal +
           copied * scene.bytes * scene.copied_byte;
}

double allreduce_recursive_doubling(const Scene& scene) {
    double time = folding(scene);
    for (std::int64_t distance = 1; 2 * distance <= scene.ranks; distance *= 2)
        time += step(scene, distance, scene.bytes, scene.ranks_of_node) + scene.bytes * scene.combined_byte;
    return time;
}

double allreduce_rabenseifner(const Scene& scene) {
    Scene share = scene;
    share.bytes /= std::max(scene.ranks, 1);
    return 2 * (whole_rounds(scene) * scene.latency + over_link(share) * scene.byte) + others(scene) * share.bytes * scene.combined_byte +
           folding(scene);
}

double allreduce_ring(const Scene& scene) {
    const double sent = scene.bytes * others(scene) / std::max(scene.ranks, 1);
    return 2 * others(scene) * scene.latency + sent * (2 * scene.byte + scene.combined_byte);
}

double allreduce_reduce_then_broadcast(const Scene& scene) {
    return 2 * tree_steps(scene, scene.bytes) + rounds(scene) * scene.bytes * scene.combined_byte;
}

double allreduce_pairwise(const Scene& scene) {
    Scene share = scene;
    share.bytes /= std::max(scene.ranks, 1);
    return reduce_scatter_pairwise(share) + others(share) * message(share, share.bytes);
}

double reduce_scatter_ring(const Scene& scene) { return others(scene) * (message(scene, scene.bytes) + scene.bytes * scene.combined_byte); }

double reduce_scatter_halving(const Scene& scene) {
    const double all = scene.ranks * scene.bytes;
    const double folded = std::has_single_bit(static_cast<unsigned>(std::max(scene.ranks, 1)))
                              ? 0
                              : message(scene, all) + message(scene, scene.bytes) + all * scene.combined_byte;
    return whole_rounds(scene) * scene.latency + over_link(scene) * scene.byte + others(scene) * scene.bytes * scene.combined_byte + folded;
}

double reduce_scatter_pairwise(const Scene& scene) { return exchange(scene) + others(scene) * scene.bytes * scene.combined_byte; }

double reduce_scatter_reduce_then_scatter(const Scene& scene) {
    const double all = scene.ranks * scene.bytes, of_node = scene.ranks_of_node;
    return tree_steps(scene, all) + rounds(scene) * all * scene.combined_byte + rounds(scene) * scene.latency +
           scene.bytes * (std::max(scene.ranks - of_node, 0.0) * scene.byte + 2 * (of_node - 1) * scene.copied_byte);
}

bool takes_halving(const Scene& scene) {
    return scene.bytes <= static_cast<double>(kComparedShare) && !is_less(reduce_scatter_ring(scene), reduce_scatter_halving(scene));
}

double reduce_scatter_two_level(const Scene& scene) {
    const double all = scene.ranks * scene.bytes, of_node = scene.ranks_of_node;
    const double lanes = lanes_of_all(all, of_node, of_node), blocks = of_node / lanes;  // for each lane of a node
    // Each rank writes all of its elements. In lanes, it puts them in order before.
    const double copied = (lanes > 1 ? 2 : 1) * all, combined = (of_node - 1) * all / lanes;
    Scene nodes = a_rank_of_each_node(scene);
    nodes.ranks_of_node = 1;
    nodes.bytes = blocks * scene.bytes;
    const bool by_halving = takes_halving(nodes);
    nodes.bytes = of_node * scene.bytes;  // What the link carries for all lanes together.
    const double between = by_halving ? reduce_scatter_halving(nodes) : reduce_scatter_ring(nodes);
    // A rank that has the blocks of several ranks passes them on.
    const bool passes_on = lanes == 1 || blocks > 1;
    return between + (passes_on ? 2 : 1) * scene.signal + (copied + (passes_on ? blocks * scene.bytes : 0)) * scene.copied_byte +
           combined * scene.combined_byte;
}

double scan_recursive_doubling(const Scene& scene) {
    double time = 0;
    for (std::int64_t distance = 1; distance < scene.ranks; distance *= 2)
        time +=
            message(scene, std::min(static_cast<double>(distance), scene.ranks_of_node) * scene.bytes) + scene.bytes * scene.combined_byte;
    return time;
}

double scan_two_level(const Scene& scene) {
    const double of_node = scene.ranks_of_node, pieces = std::ceil(scene.bytes / static_cast<double>(runtime::kPieceOfNode));
    const bool is_short = scene.bytes <= static_cast<double>(kReadByAll);
    // What a rank of the node combines, in times of all elements: those of all ranks before it, or pieces that come down a chain.
    const double combined = is_short ? of_node : (pieces + of_node) / std::max(pieces, 1.0);
    // The elements are written, passed on to the last rank of the node, which combines twice, and the prefix is written and combined.
    double time = 3 * scene.signal + scene.bytes * (3 * scene.copied_byte + (combined + 2) * scene.combined_byte);
    const int nodes = nodes_of(scene);
    // A node that is to pass on what comes gets it twice: at its first rank and at its last one.
    for (std::int64_t distance = 1; distance < nodes; distance *= 2)
        time += message(scene, (3 * distance < nodes ? 2 : 1) * scene.bytes) + scene.bytes * scene.combined_byte;
    return time;
}

std::uint64_t chain_segment(const Scene& scene) {
    std::uint64_t best = kShortestPiece;
    double least = model::chain(scene, {scene, static_cast<double>(best), false});
    for (std::uint64_t piece = 2 * kShortestPiece; piece <= kLongestPiece; piece *= 2)
        if (const double time = model::chain(scene, {scene, static_cast<double>(piece), false}); is_less(time, least)) {
            least = time;
            best = piece;
        }
    return best;
}

std::uint64_t broadcast_segment(const Scene& scene) { return std::max<std::uint64_t>(chain_segment(scene), 2 * kShortestPiece); }

}  // namespace cost
}  // namespace rollcall::collectives
