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
inline double rounds(const Scene& scene) { return std::bit_width(static_cast<unsigned>(std::max(scene.ranks, 1)) - 1); }
inline double others(const Scene& scene) { return std::max(scene.ranks - 1, 0); }
inline int nodes_of(const Scene& scene) { return static_cast<int>(std::lround(scene.ranks / scene.ranks_of_node)); }
/// The same call with one rank in the place of each node.
inline Scene a_rank_of_each_node(Scene scene) {
    scene.ranks = nodes_of(scene);
    return scene;
}
inline double message(const Scene& scene, double bytes) { return scene.latency + bytes * scene.byte; }

inline double exchange_gap(const Scene& scene) { return std::max(scene.gap, kBusyPart * scene.latency); }

/// What the next call waits for. Short messages hardly take the port.
inline double port(const Scene& scene, double messages) {
    return scene.bytes <= static_cast<double>(kShortBroadcast) ? 0 : kCallsThatWait * messages * scene.bytes * scene.byte;
}

/// A rank sends or receives n - 1 messages, which have `bytes` bytes together.
inline double in_a_row(const Scene& scene, double bytes) {
    return scene.ranks < 2 ? 0 : scene.latency + (others(scene) - 1) * scene.gap + bytes * scene.byte;
}

/// What the link of a node carries if each of its ranks gets a block of every rank elsewhere; on a node of one rank, all other blocks.
inline double over_link(const Scene& scene) { return scene.ranks_of_node * std::max(scene.ranks - scene.ranks_of_node, 0.0) * scene.bytes; }

/// A message between two ranks of a node takes about as long as through its memory.
inline double within_node(const Scene& scene, double bytes) { return scene.signal + 2 * bytes * scene.copied_byte; }
/// A step in which ranks exchange messages with ranks `distance` away. Both are on one node if that has twice as many ranks. Otherwise
/// `senders` ranks of a node share its link. The ranks of a node follow one another.
inline double step(const Scene& scene, std::int64_t distance, double bytes, double senders) {
    return 2 * static_cast<double>(distance) <= scene.ranks_of_node ? within_node(scene, bytes) : message(scene, senders * bytes);
}

/// The pieces of a chain, and how long it takes to combine one; 0: nothing is combined.
struct ChainPieces {
    ChainPieces(const Scene& scene, double piece, bool combines = true)
        : size(std::min(piece, scene.bytes)),
          count(std::max(std::ceil(scene.bytes / piece), 1.0)),
          combined(combines ? size * scene.combined_byte : 0) {}
    double size, count, combined;
};
/// How long after a piece the next one comes from another node.
inline double next(const Scene& scene, const ChainPieces& pieces) { return message(scene, pieces.size) + pieces.combined; }
/// A piece goes through all ranks, which follow one another on their nodes.
inline double through_all(const Scene& scene, const ChainPieces& pieces) {
    const double nodes = std::max(nodes_of(scene), 1);
    return (nodes - 1) * next(scene, pieces) + (scene.ranks - nodes) * (within_node(scene, pieces.size) + pieces.combined);
}
inline double chain(const Scene& scene, const ChainPieces& pieces) {
    return scene.ranks < 2 ? 0 : through_all(scene, pieces) + (pieces.count - 1) * next(scene, pieces);
}

/// floor(log2 n): the steps among as many ranks as the largest power of two that is not above n.
inline double whole_rounds(const Scene& scene) { return std::bit_width(static_cast<unsigned>(std::max(scene.ranks, 1))) - 1; }

/// The same pieces down a binary tree, or up. A rank has two children, and is busy with the message of one before that of the other.
inline double binary(const Scene& scene, const ChainPieces& pieces) {
    const double busy = scene.gap + pieces.size * scene.byte + pieces.combined;
    return scene.ranks < 2 ? 0 : (whole_rounds(scene) + pieces.count - 1) * (busy + next(scene, pieces));
}
/// How many messages of a binary tree enter a node from others, or leave it, at most. The ranks of a node follow one another, so those that
/// have children elsewhere are on one path, and only the last of them can have two.
inline double edges_of_binary(const Scene& scene) { return std::min(std::min(scene.ranks_of_node, rounds(scene)) + 1, others(scene)); }

/// Elements are sent twice more, between neighbours, where n is not a power of two.
inline double folding(const Scene& scene) {
    const bool is_power_of_two = std::has_single_bit(static_cast<unsigned>(std::max(scene.ranks, 1)));
    return is_power_of_two ? 0 : 2 * step(scene, 1, scene.bytes, 1) + scene.bytes * scene.combined_byte;
}

/// All steps of a binomial tree, in which one rank of a node takes part in those between nodes.
inline double tree_steps(const Scene& scene, double bytes) {
    double time = 0;
    for (std::int64_t distance = 1; distance < scene.ranks; distance *= 2) time += step(scene, distance, bytes, 1);
    return time;
}
/// Those between nodes.
inline double steps_between_nodes(const Scene& scene) {
    return rounds(scene) - std::min(std::floor(std::log2(scene.ranks_of_node)), rounds(scene));
}

}  // namespace rollcall::collectives::cost::model
