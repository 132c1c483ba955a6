#include "collectives/costs/costs.hpp"

#include <algorithm>
#include <cmath>

#include "collectives/costs/model.hpp"
#include "collectives/published/published.hpp"
#include "collectives/two_level/levels.hpp"

namespace rollcall::collectives {

CostInput cost_input_of(const Costs& costs, std::uint64_t bytes, int ranks, bool on_one_host, int nodes) {
    CostInput input{.bytes = static_cast<double>(bytes),
                    .ranks = ranks,
                    .ranks_of_node = nodes > 0 ? std::max(static_cast<double>(ranks) / nodes, 1.0) : 1,
                    .signal = static_cast<double>(costs.signal_latency),
                    .copied_byte = time_of_byte(costs.copy_mebibyte),
                    .combined_byte = time_of_byte(costs.combine_mebibyte)};
    input.latency = static_cast<double>(on_one_host ? costs.node_latency : costs.network_latency);
    input.gap = static_cast<double>(on_one_host ? costs.node_gap : costs.network_gap);
    input.byte = time_of_byte(on_one_host ? costs.node_mebibyte : costs.network_mebibyte);
    return input;
}

Wait wait_for(SendsAwaited sends_awaited, const CostInput& input, bool is_root, double leaving) {
    if (sends_awaited == SendsAwaited::unknown || input.ranks < 2) return {};
    double messages = 1;
    if (sends_awaited == SendsAwaited::two) messages = std::min(2.0, cost::model::others(input));
    if (sends_awaited == SendsAwaited::rounds) messages = cost::model::rounds(input);
    const double others = cost::model::others(input);
    if (sends_awaited == SendsAwaited::all) messages = is_root ? others : std::max(others / 2, 1.0);
    return {.fixed = input.latency + (messages - 1) * input.gap, .byte = (leaving > 0 ? leaving : messages) * input.byte};
}

namespace cost {

using namespace model;

double linear(const CostInput& input) { return in_a_row(input, others(input) * input.bytes); }

double binomial(const CostInput& input) { return tree_steps(input, input.bytes); }

double binomial_combining(const CostInput& input) { return binomial(input) + rounds(input) * input.bytes * input.combined_byte; }

double binomial_of_blocks(const CostInput& input) { return rounds(input) * input.latency + others(input) * input.bytes * input.byte; }

double chain(const CostInput& input) { return model::chain(input, {input, static_cast<double>(chain_segment(input)), false}); }

double chain_combining(const CostInput& input) { return model::chain(input, {input, static_cast<double>(chain_segment(input))}); }

double binary(const CostInput& input) { return model::binary(input, {input, static_cast<double>(chain_segment(input)), false}); }

double broadcast_linear(const CostInput& input) { return linear(input) + port(input, others(input)); }

double broadcast_binomial(const CostInput& input) { return binomial(input) + port(input, steps_between_nodes(input)); }

double broadcast_chain(const CostInput& input) { return chain(input) + port(input, 1); }

double broadcast_binary(const CostInput& input) { return binary(input) + port(input, edges_of_binary(input)); }

double reduce_linear(const CostInput& input) { return broadcast_linear(input) + others(input) * input.bytes * input.combined_byte; }

double reduce_binomial(const CostInput& input) { return binomial_combining(input) + port(input, steps_between_nodes(input)); }

double reduce_chain(const CostInput& input) { return chain_combining(input) + port(input, 1); }

double reduce_binary(const CostInput& input) {
    return model::binary(input, {input, static_cast<double>(chain_segment(input))}) + port(input, edges_of_binary(input));
}

double reduce_two_level(const CostInput& input) {
    const double of_node = input.ranks_of_node, lanes = lanes_of_all(input.bytes, of_node, of_node);
    CostInput nodes = a_rank_of_each_node(input);
    nodes.ranks_of_node = 1;
    const double on_node = input.signal + input.bytes * (input.copied_byte + std::max(of_node - 1, 0.0) / lanes * input.combined_byte);
    const double gathered = lanes > 1 ? input.signal + 2 * input.bytes * input.copied_byte : 0;
    return on_node + std::min({reduce_linear(nodes), reduce_binomial(nodes), reduce_chain(nodes), reduce_binary(nodes)}) + gathered;
}

double two_level_of_blocks(const CostInput& input) {
    CostInput nodes = a_rank_of_each_node(input);
    nodes.bytes = input.ranks_of_node * input.bytes;
    // Each rank writes or reads its block; the one that exchanges messages does so with all blocks of its node.
    return input.signal + (nodes.bytes + input.bytes) * input.copied_byte + linear(nodes);
}

double barrier_linear(const CostInput& input) { return 2 * in_a_row(input, 0); }

double barrier_dissemination(const CostInput& input) { return rounds(input) * input.latency; }

double barrier_two_level(const CostInput& input) { return 2 * input.signal + barrier_dissemination(a_rank_of_each_node(input)); }

double exchange(const CostInput& input) {
    CostInput busy = input;
    busy.gap = exchange_gap(input);
    return in_a_row(busy, over_link(input));
}

double allgather_bruck(const CostInput& input) {
    return rounds(input) * input.latency + over_link(input) * input.byte + input.ranks * input.bytes * input.copied_byte;
}

double allgather_two_level(const CostInput& input) {
    const double nodes = input.ranks / input.ranks_of_node, of_node = input.ranks_of_node * input.bytes;
    // A leader copies its node's blocks and publishes all blocks, which the other ranks copy out.
    const double copied = of_node + 2 * input.ranks * input.bytes;
    return (nodes - 1) * message(input, of_node) + 2 * input.signal + copied * input.copied_byte;
}

double alltoall_bruck(const CostInput& input) {
    const double half = (input.ranks / 2) * input.bytes;
    return rounds(input) * (message(input, half * input.ranks_of_node) + 2 * half * input.copied_byte);
}

double alltoall_two_level(const CostInput& input) {
    const double of_node = input.ranks_of_node, nodes = input.ranks / of_node;
    // What the rank copies that takes longest, in blocks. With one lane, that is the first rank of a node: it collects all blocks of the
    // node, copies those that stay, and publishes all that came, and the others copy out theirs. In lanes, each rank puts its blocks in
    // order, publishes them, collects those of its lane, and puts them in order. On a single node there is only what is published.
    const bool has_one_lane = input.bytes * of_node * of_node <= static_cast<double>(kOneLane);
    const double copied = nodes < 2      ? 2 * input.ranks
                          : has_one_lane ? (2 * of_node + 1) * input.ranks + of_node * of_node
                                         : 4 * input.ranks - nodes;
    return input.latency + std::max(nodes - 2, 0.0) * exchange_gap(input) + over_link(input) * input.byte + 2 * input.signal +
           copied * input.bytes * input.copied_byte;
}

double allreduce_recursive_doubling(const CostInput& input) {
    double time = folding(input);
    for (std::int64_t distance = 1; 2 * distance <= input.ranks; distance *= 2)
        time += step(input, distance, input.bytes, input.ranks_of_node) + input.bytes * input.combined_byte;
    return time;
}

double allreduce_rabenseifner(const CostInput& input) {
    CostInput share = input;
    share.bytes /= std::max(input.ranks, 1);
    return 2 * (whole_rounds(input) * input.latency + over_link(share) * input.byte) + others(input) * share.bytes * input.combined_byte +
           folding(input);
}

double allreduce_ring(const CostInput& input) {
    const double sent = input.bytes * others(input) / std::max(input.ranks, 1);
    return 2 * others(input) * input.latency + sent * (2 * input.byte + input.combined_byte);
}

double allreduce_reduce_then_broadcast(const CostInput& input) {
    return 2 * tree_steps(input, input.bytes) + rounds(input) * input.bytes * input.combined_byte;
}

double allreduce_pairwise(const CostInput& input) {
    CostInput share = input;
    share.bytes /= std::max(input.ranks, 1);
    return reduce_scatter_pairwise(share) + others(share) * message(share, share.bytes);
}

double reduce_scatter_ring(const CostInput& input) {
    return others(input) * (message(input, input.bytes) + input.bytes * input.combined_byte);
}

double reduce_scatter_halving(const CostInput& input) {
    const double all = input.ranks * input.bytes;
    const double folded = std::has_single_bit(static_cast<unsigned>(std::max(input.ranks, 1)))
                              ? 0
                              : message(input, all) + message(input, input.bytes) + all * input.combined_byte;
    return whole_rounds(input) * input.latency + over_link(input) * input.byte + others(input) * input.bytes * input.combined_byte + folded;
}

double reduce_scatter_pairwise(const CostInput& input) { return exchange(input) + others(input) * input.bytes * input.combined_byte; }

double reduce_scatter_reduce_then_scatter(const CostInput& input) {
    const double all = input.ranks * input.bytes, of_node = input.ranks_of_node;
    return tree_steps(input, all) + rounds(input) * all * input.combined_byte + rounds(input) * input.latency +
           input.bytes * (std::max(input.ranks - of_node, 0.0) * input.byte + 2 * (of_node - 1) * input.copied_byte);
}

bool takes_halving(const CostInput& input) {
    return input.bytes <= static_cast<double>(kComparedShare) && !is_less(reduce_scatter_ring(input), reduce_scatter_halving(input));
}

double reduce_scatter_two_level(const CostInput& input) {
    const double all = input.ranks * input.bytes, of_node = input.ranks_of_node;
    const double lanes = lanes_of_all(all, of_node, of_node), blocks = of_node / lanes;  // for each lane of a node
    // Each rank writes all of its elements. In lanes, it puts them in order before.
    const double copied = (lanes > 1 ? 2 : 1) * all, combined = (of_node - 1) * all / lanes;
    CostInput nodes = a_rank_of_each_node(input);
    nodes.ranks_of_node = 1;
    nodes.bytes = blocks * input.bytes;
    const bool by_halving = takes_halving(nodes);
    nodes.bytes = of_node * input.bytes;  // What the link carries for all lanes together.
    const double between = by_halving ? reduce_scatter_halving(nodes) : reduce_scatter_ring(nodes);
    // A rank that has the blocks of several ranks passes them on.
    const bool passes_on = lanes == 1 || blocks > 1;
    return between + (passes_on ? 2 : 1) * input.signal + (copied + (passes_on ? blocks * input.bytes : 0)) * input.copied_byte +
           combined * input.combined_byte;
}

double scan_recursive_doubling(const CostInput& input) {
    double time = 0;
    for (std::int64_t distance = 1; distance < input.ranks; distance *= 2)
        time +=
            message(input, std::min(static_cast<double>(distance), input.ranks_of_node) * input.bytes) + input.bytes * input.combined_byte;
    return time;
}

double scan_two_level(const CostInput& input) {
    const double of_node = input.ranks_of_node, pieces = std::ceil(input.bytes / static_cast<double>(runtime::kPieceOfNode));
    const bool is_short = input.bytes <= static_cast<double>(kReadByAll);
    // What a rank of the node combines, in times of all elements: those of all ranks before it, or pieces that come down a chain.
    const double combined = is_short ? of_node : (pieces + of_node) / std::max(pieces, 1.0);
    // The elements are written, passed on to the last rank of the node, which combines twice, and the prefix is written and combined.
    double time = 3 * input.signal + input.bytes * (3 * input.copied_byte + (combined + 2) * input.combined_byte);
    const int nodes = nodes_of(input);
    // A node that is to pass on what comes gets it twice: at its first rank and at its last one.
    for (std::int64_t distance = 1; distance < nodes; distance *= 2)
        time += message(input, (3 * distance < nodes ? 2 : 1) * input.bytes) + input.bytes * input.combined_byte;
    return time;
}

std::uint64_t chain_segment(const CostInput& input) {
    std::uint64_t best = kShortestPiece;
    double least = model::chain(input, {input, static_cast<double>(best), false});
    for (std::uint64_t piece = 2 * kShortestPiece; piece <= kLongestPiece; piece *= 2)
        if (const double time = model::chain(input, {input, static_cast<double>(piece), false}); is_less(time, least)) {
            least = time;
            best = piece;
        }
    return best;
}

std::uint64_t broadcast_segment(const CostInput& input) { return std::max<std::uint64_t>(chain_segment(input), 2 * kShortestPiece); }

}  // namespace cost
}  // namespace rollcall::collectives
