/// \file
/// The parts of which the estimates of costs.hpp are made.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "collectives/costs/costs.hpp"
#include "collectives/relay.hpp"

namespace rollcall::collectives::cost::model {

/// How often the time counts for which the busiest port of a broadcast or reduce is taken.
inline constexpr double kCallsThatWait = 1.5;
/// The part of the latency for which a message keeps a rank busy that sends and receives at the same time.
inline constexpr double kBusyPart = 0.4;
inline constexpr std::uint64_t kShortestPiece = 16 << 10, kLongestPiece = 128 << 10;

/// ceil(log2 n)
inline double rounds(const CostInput& input) { return std::bit_width(static_cast<unsigned>(std::max(input.ranks, 1)) - 1); }
inline double others(const CostInput& input) { return std::max(input.ranks - 1, 0); }
inline int nodes_of(const CostInput& input) { return static_cast<int>(std::lround(input.ranks / input.ranks_of_node)); }
/// The same call with one rank in the place of each node.
inline CostInput a_rank_of_each_node(CostInput input) {
    input.ranks = nodes_of(input);
    return input;
}
inline double message(const CostInput& input, double bytes) { return input.latency + bytes * input.byte; }

inline double exchange_gap(const CostInput& input) { return std::max(input.gap, kBusyPart * input.latency); }

/// What the next call waits for. Short messages hardly take the port.
inline double port(const CostInput& input, double messages) {
    return input.bytes <= static_cast<double>(kShortBroadcast) ? 0 : kCallsThatWait * messages * input.bytes * input.byte;
}

/// A rank sends or receives n - 1 messages, which have `bytes` bytes together.
inline double in_a_row(const CostInput& input, double bytes) {
    return input.ranks < 2 ? 0 : input.latency + (others(input) - 1) * input.gap + bytes * input.byte;
}

/// What the link of a node carries if each of its ranks gets a block of every rank elsewhere; on a node of one rank, all other blocks.
inline double over_link(const CostInput& input) {
    return input.ranks_of_node * std::max(input.ranks - input.ranks_of_node, 0.0) * input.bytes;
}

/// A message between two ranks of a node takes about as long as through its memory.
inline double within_node(const CostInput& input, double bytes) { return input.signal + 2 * bytes * input.copied_byte; }
/// A step in which ranks exchange messages with ranks `distance` away. Both are on one node if that has twice as many ranks. Otherwise
/// `senders` ranks of a node share its link. The ranks of a node follow one another.
inline double step(const CostInput& input, std::int64_t distance, double bytes, double senders) {
    return 2 * static_cast<double>(distance) <= input.ranks_of_node ? within_node(input, bytes) : message(input, senders * bytes);
}

/// The pieces of a chain, and how long it takes to combine one; 0: nothing is combined.
struct ChainPieces {
    ChainPieces(const CostInput& input, double piece, bool combines = true)
        : size(std::min(piece, input.bytes)),
          count(std::max(std::ceil(input.bytes / piece), 1.0)),
          combined(combines ? size * input.combined_byte : 0) {}
    double size, count, combined;
};
/// How long after a piece the next one comes from another node.
inline double next(const CostInput& input, const ChainPieces& pieces) { return message(input, pieces.size) + pieces.combined; }
/// A piece goes through all ranks, which follow one another on their nodes.
inline double through_all(const CostInput& input, const ChainPieces& pieces) {
    const double nodes = std::max(nodes_of(input), 1);
    return (nodes - 1) * next(input, pieces) + (input.ranks - nodes) * (within_node(input, pieces.size) + pieces.combined);
}
inline double chain(const CostInput& input, const ChainPieces& pieces) {
    return input.ranks < 2 ? 0 : through_all(input, pieces) + (pieces.count - 1) * next(input, pieces);
}

/// floor(log2 n): the steps among as many ranks as the largest power of two that is not above n.
inline double whole_rounds(const CostInput& input) { return std::bit_width(static_cast<unsigned>(std::max(input.ranks, 1))) - 1; }

/// The same pieces down a binary tree, or up. A rank has two children, and is busy with the message of one before that of the other.
inline double binary(const CostInput& input, const ChainPieces& pieces) {
    const double busy = input.gap + pieces.size * input.byte + pieces.combined;
    return input.ranks < 2 ? 0 : (whole_rounds(input) + pieces.count - 1) * (busy + next(input, pieces));
}
/// How many messages of a binary tree enter a node from others, or leave it, at most. The ranks of a node follow one another, so those that
/// have children elsewhere are on one path, and only the last of them can have two.
inline double edges_of_binary(const CostInput& input) { return std::min(std::min(input.ranks_of_node, rounds(input)) + 1, others(input)); }

/// Elements are sent twice more, between neighbours, where n is not a power of two.
inline double folding(const CostInput& input) {
    const bool is_power_of_two = std::has_single_bit(static_cast<unsigned>(std::max(input.ranks, 1)));
    return is_power_of_two ? 0 : 2 * step(input, 1, input.bytes, 1) + input.bytes * input.combined_byte;
}

/// All steps of a binomial tree, in which one rank of a node takes part in those between nodes.
inline double tree_steps(const CostInput& input, double bytes) {
    double time = 0;
    for (std::int64_t distance = 1; distance < input.ranks; distance *= 2) time += step(input, distance, bytes, 1);
    return time;
}
/// Those between nodes.
inline double steps_between_nodes(const CostInput& input) {
    return rounds(input) - std::min(std::floor(std::log2(input.ranks_of_node)), rounds(input));
}

}  // namespace rollcall::collectives::cost::model
