#include "collectives/costs/costs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "collectives/published/published.hpp"
#include "collectives/relay.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {
namespace {

constexpr double kMebibyte = 1 << 20;
/// How often the time counts for which the busiest port of a broadcast or reduce is taken.
constexpr double kCallsThatWait = 1.5;
/// The part of the latency for which a message keeps a rank busy that sends and receives at the same time.
constexpr double kBusyPart = 0.4;
constexpr std::uint64_t kShortestPiece = 16 << 10, kLongestPiece = 128 << 10;

/// ceil(log2 n)
double rounds(const Scene& scene) { return std::bit_width(static_cast<unsigned>(std::max(scene.ranks, 1)) - 1); }
double others(const Scene& scene) { return std::max(scene.ranks - 1, 0); }
int nodes_of(const Scene& scene) { return static_cast<int>(std::lround(scene.ranks / scene.ranks_of_node)); }
/// The same call with one rank in the place of each node.
Scene a_rank_of_each_node(Scene scene) {
    scene.ranks = nodes_of(scene);
    return scene;
}
double message(const Scene& scene, double bytes) { return scene.latency + bytes * scene.byte; }

double exchange_gap(const Scene& scene) { return std::max(scene.gap, kBusyPart * scene.latency); }

/// What the next call waits for. Short messages hardly take the port.
double port(const Scene& scene, double messages) {
    return scene.bytes <= static_cast<double>(kShortBroadcast) ? 0 : kCallsThatWait * messages * scene.bytes * scene.byte;
}

/// A rank sends or receives n - 1 messages, which have `bytes` bytes together.
double in_a_row(const Scene& scene, double bytes) {
    return scene.ranks < 2 ? 0 : scene.latency + (others(scene) - 1) * scene.gap + bytes * scene.byte;
}

/// What the link of a node carries if each of its ranks gets a block of every rank elsewhere; on a node of one rank, all other blocks.
double over_link(const Scene& scene) { return scene.ranks_of_node * std::max(scene.ranks - scene.ranks_of_node, 0.0) * scene.bytes; }

/// A message between two ranks of a node takes about as long as through its memory.
double within_node(const Scene& scene, double bytes) { return scene.signal + 2 * bytes * scene.copied_byte; }
/// A step in which ranks exchange messages with ranks `distance` away. Both are on one node if that has twice as many ranks. Otherwise
/// `senders` ranks of a node share its link. The ranks of a node follow one another.
double step(const Scene& scene, std::int64_t distance, double bytes, double senders) {
    return 2 * static_cast<double>(distance) <= scene.ranks_of_node ? within_node(scene, bytes) : message(scene, senders * bytes);
}

/// A piece goes through all ranks, which follow one another on their nodes.
double through_all(const Scene& scene, double size, double combined) {
    const double nodes = std::max(nodes_of(scene), 1);
    return (nodes - 1) * (message(scene, size) + combined) + (scene.ranks - nodes) * (within_node(scene, size) + combined);
}
double chain(const Scene& scene, double piece, double combined_byte) {
    if (scene.ranks < 2) return 0;
    const double pieces = std::max(std::ceil(scene.bytes / piece), 1.0), size = std::min(piece, scene.bytes), combined = size * combined_byte;
    return through_all(scene, size, combined) + (pieces - 1) * (message(scene, size) + combined);
}

/// Elements are sent twice more, between neighbours, where n is not a power of two.
double folding(const Scene& scene) {
    const bool is_power_of_two = std::has_single_bit(static_cast<unsigned>(std::max(scene.ranks, 1)));
    return is_power_of_two ? 0 : 2 * step(scene, 1, scene.bytes, 1) + scene.bytes * scene.combined_byte;
}

/// All steps of a binomial tree, in which one rank of a node takes part in those between nodes.
double tree_steps(const Scene& scene, double bytes) {
    double time = 0;
    for (std::int64_t distance = 1; distance < scene.ranks; distance *= 2) time += step(scene, distance, bytes, 1);
    return time;
}
/// Those between nodes.
double steps_between_nodes(const Scene& scene) { return rounds(scene) - std::min(std::floor(std::log2(scene.ranks_of_node)), rounds(scene)); }

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

double whole_rounds(const Scene& scene) { return std::bit_width(static_cast<unsigned>(std::max(scene.ranks, 1))) - 1; }

}  // namespace

Scene scene_of(const Costs& costs, std::uint64_t bytes, int ranks, bool on_one_host, int nodes) {
    const auto of = [](Nanoseconds mebibyte) { return static_cast<double>(mebibyte) / kMebibyte; };
    Scene scene{.bytes = static_cast<double>(bytes),
                .ranks = ranks,
                .ranks_of_node = nodes > 0 ? static_cast<double>(ranks) / nodes : 1,
                .signal = static_cast<double>(costs.signal_latency),
                .copied_byte = of(costs.copy_mebibyte),
                .combined_byte = of(costs.combine_mebibyte)};
    scene.latency = static_cast<double>(on_one_host ? costs.node_latency : costs.network_latency);
    scene.gap = static_cast<double>(on_one_host ? costs.node_gap : costs.network_gap);
    scene.byte = of(on_one_host ? costs.node_mebibyte : costs.network_mebibyte);
    return scene;
}

Wait wait_in(Queue queue, const Scene& scene, bool is_root, double leaving) {
    if (queue == Queue::unknown || scene.ranks < 2) return {};
    double messages = 1;
    if (queue == Queue::rounds) messages = rounds(scene);
    if (queue == Queue::all) messages = is_root ? others(scene) : std::max(others(scene) / 2, 1.0);
    return {.fixed = scene.latency + (messages - 1) * scene.gap, .byte = (leaving > 0 ? leaving : messages) * scene.byte};
}

namespace cost {
namespace {

/// The ranks of a group combine on their nodes, in lanes if the elements are many, and the nodes up a tree or a chain.
double reduce_to_a_node(const Scene& scene) {
    const double of_node = OneGroup(scene).of_node, lanes = scene.bytes <= static_cast<double>(kOneLane) ? 1 : of_node;
    const Scene nodes = nodes_of_group(scene);
    return scene.signal + scene.bytes * (scene.copied_byte + of_node / lanes * scene.combined_byte) +
           std::min(reduce_binomial(nodes), reduce_chain(nodes));
}

}  // namespace

double linear(const Scene& scene) { return in_a_row(scene, others(scene) * scene.bytes); }

double binomial(const Scene& scene) { return tree_steps(scene, scene.bytes); }

double binomial_combining(const Scene& scene) { return binomial(scene) + rounds(scene) * scene.bytes * scene.combined_byte; }

double binomial_of_blocks(const Scene& scene) { return rounds(scene) * scene.latency + others(scene) * scene.bytes * scene.byte; }

double chain(const Scene& scene) { return collectives::chain(scene, static_cast<double>(chain_segment(scene)), 0); }

double chain_combining(const Scene& scene) {
    return collectives::chain(scene, static_cast<double>(chain_segment(scene)), scene.combined_byte);
}

double broadcast_linear(const Scene& scene) { return linear(scene) + port(scene, others(scene)); }

double broadcast_binomial(const Scene& scene) { return binomial(scene) + port(scene, steps_between_nodes(scene)); }

double broadcast_chain(const Scene& scene) { return chain(scene) + port(scene, 1); }

double reduce_linear(const Scene& scene) { return broadcast_linear(scene) + others(scene) * scene.bytes * scene.combined_byte; }

double reduce_binomial(const Scene& scene) { return binomial_combining(scene) + port(scene, steps_between_nodes(scene)); }

double reduce_chain(const Scene& scene) { return chain_combining(scene) + port(scene, 1); }

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
        time += message(scene, std::min(static_cast<double>(distance), scene.ranks_of_node) * scene.bytes) + scene.bytes * scene.combined_byte;
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
    const double exchanged =
        all <= static_cast<double>(kOneLane) ? message(scene, all) + (group.nodes - 1) * exchange_gap(scene) : group.nodes * message(scene, of_node);
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
    Scene and_root = one_group(scene);
    ++and_root.ranks;
    return reduce_chain(and_root);
}

double intergroup_reduce_two_level(const Scene& scene) { return reduce_to_a_node(scene) + message(scene, scene.bytes); }

double intergroup_allreduce_binomial(const Scene& scene) {
    const Scene one = one_group(scene);
    return reduce_binomial(one) + message(scene, scene.bytes) + std::min(broadcast_binomial(one), broadcast_chain(one));
}

double intergroup_allreduce_chain(const Scene& both_groups) {
    Scene scene = both_groups;
    scene.ranks_of_node = OneGroup(scene).of_node;
    const double piece = std::min(static_cast<double>(chain_segment(scene)), scene.bytes), combined = piece * scene.combined_byte;
    const double pieces = piece > 0 ? std::ceil(scene.bytes / piece) : 1;
    const double first = std::max(through_all(scene, piece, combined) - (message(scene, piece) + combined), 0.0);
    return first + pieces * (message(scene, 2 * piece) + combined) + port(scene, 2);
}

double intergroup_allreduce_two_level(const Scene& scene) {
    const Scene nodes = nodes_of_group(scene);
    return reduce_to_a_node(scene) + message(scene, scene.bytes) + std::min(binomial(nodes), chain(nodes)) + scene.signal +
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

std::uint64_t chain_segment(const Scene& scene) {
    std::uint64_t best = kShortestPiece;
    double least = collectives::chain(scene, static_cast<double>(best), 0);
    for (std::uint64_t piece = 2 * kShortestPiece; piece <= kLongestPiece; piece *= 2)
        if (const double time = collectives::chain(scene, static_cast<double>(piece), 0); is_less(time, least)) {
            least = time;
            best = piece;
        }
    return best;
}

}  // namespace cost
}  // namespace rollcall::collectives
