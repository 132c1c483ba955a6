/// \file
/// Estimates of how long collective algorithms take, from the last arrival to the last exit. `auto` compares them. Pure functions.
///
/// The model is that of Hockney, with the gap of LogP: a message of b bytes takes latency + b byte. A rank that sends several messages one
/// after the other is busy with each for gap + b byte. n is the number of ranks, m the size of the message or of a block.
#pragma once

#include <cstdint>

#include "foundation/costs.hpp"

namespace rollcall::collectives {

/// A call as the estimates see it. Times in nanoseconds.
struct CostInput {
    double bytes = 0;  ///< m
    int ranks = 1;     ///< n
    /// How many ranks, on the average, share a node and its link.
    double ranks_of_node = 1;
    /// Of a call between two groups: the ranks of the larger one, and the number of nodes of the group that is on most of them. If there is
    /// a root: those of the group that it is not in. 0: not known. Then each group has half of the ranks, and nodes of its own.
    int ranks_of_group = 0, nodes_of_group = 0;
    double latency = 0, gap = 0, byte = 0;  ///< Of messages.
    double signal = 0, copied_byte = 0, combined_byte = 0;
};

/// The input of a call between ranks of one host (`on_one_host`), or on `nodes` nodes.
CostInput cost_input_of(const Costs& costs, std::uint64_t bytes, int ranks, bool on_one_host, int nodes);

/// For how many messages, one after the other, the caller of a part waits that only contributes data, if it stays until the data has left.
enum class SendsAwaited : std::uint8_t {
    unknown,  ///< The part waits for other ranks, too.
    one,      ///< The data leaves once.
    two,      ///< The root sends it twice.
    rounds,   ///< The root sends it ceil(log2 n) times.
    all,      ///< The root sends n - 1 messages. Those of the other ranks to the root are in one queue: half of them, on the average.
};

/// What such a caller waits for, in nanoseconds, if its buffers have b bytes together: fixed + b byte. Both are 0 for
/// SendsAwaited::unknown.
struct Wait {
    double fixed = 0, byte = 0;
};
/// `leaving`: how much of the buffers leaves, where they have a block for each rank and each block leaves once. Otherwise 0.
Wait wait_for(SendsAwaited sends_awaited, const CostInput& input, bool is_root, double leaving);

namespace cost {

using Estimate = double (*)(const CostInput& input);

/// Whether `time` is less than `other`, and not only by what processors round differently: all ranks must decide alike.
constexpr bool is_less(double time, double other) { return time < other * (1 - 1e-9); }

/// One rank sends to n - 1 others, or receives from them: latency + (n - 2) gap + (n - 1) m byte.
double linear(const CostInput& input);
/// ceil(log2 n) (latency + m byte). Where the ranks of a node follow one another, the first messages stay within a node and take less.
double binomial(const CostInput& input);
/// The same, where each rank combines what comes with what it has.
double binomial_combining(const CostInput& input);
/// Broadcasts and reductions. A call that goes on without its callers still takes the ports of the network, for which the next call waits.
/// So what is compared is the time of the call, and, of long messages, one and a half times the time for which its busiest port is taken:
/// (n - 1) m byte, m byte for each step of a binomial tree between nodes, two of them in a binary tree, or one in a chain. (The factor is a
/// compromise: the best algorithm in a loop of calls is not always the best one for a single call. docs/performance/hosts-beside-mpi.md has
/// both.)
double broadcast_linear(const CostInput& input);
double broadcast_binomial(const CostInput& input);
double broadcast_chain(const CostInput& input);
double broadcast_binary(const CostInput& input);
double reduce_linear(const CostInput& input);
double reduce_binomial(const CostInput& input);
double reduce_chain(const CostInput& input);
double reduce_binary(const CostInput& input);
/// Each rank writes its elements, and so many ranks of each node as there are lanes combine a share each of what its ranks have written.
/// Between nodes a reduce in one of the other ways. At the root's node the shares are gathered.
double reduce_two_level(const CostInput& input);
/// A tree in which a subtree's blocks travel together: ceil(log2 n) latency + (n - 1) m byte.
double binomial_of_blocks(const CostInput& input);
/// X pieces down a chain: (X + n - 2) (latency + s byte) with s = chain_segment(input). On N nodes, (X + N - 2) of these steps are between
/// nodes, and n - N within.
double chain(const CostInput& input);
double chain_combining(const CostInput& input);
/// The same X pieces of s bytes down a binary tree. A rank is busy with a piece for one child for gap + s byte before it sends it to the
/// other one: (X + floor(log2 n) - 1) (gap + latency + 2 s byte). Each rank is taken to have a node.
double binary(const CostInput& input);
/// One message between each node and that of the root. The ranks of a node share their blocks through its memory.
double two_level_of_blocks(const CostInput& input);
/// All ranks tell one, and it tells all: 2 (latency + (n - 2) gap).
double barrier_linear(const CostInput& input);
/// ceil(log2 n) latency.
double barrier_dissemination(const CostInput& input);
/// The ranks of a node tell one of them, and it tells them; between nodes, dissemination.
double barrier_two_level(const CostInput& input);
/// Each rank sends n - 1 blocks, and receives as many. The ranks of a node share its link. A rank that sends and receives at the same time
/// is busy with each message for at least two fifths of the latency (measured on 16 emulated hosts). So it is in all exchanges.
double exchange(const CostInput& input);
/// ceil(log2 n) rounds; at the end the blocks are copied to their places.
double allgather_bruck(const CostInput& input);
/// The nodes' blocks go round a ring of nodes; each node shares all blocks through its memory.
double allgather_two_level(const CostInput& input);
/// ceil(log2 n) rounds of half of all blocks, which are copied before and after.
double alltoall_bruck(const CostInput& input);
/// One message from each node, or from each of its lanes, to each other node. The blocks are copied before and after.
double alltoall_two_level(const CostInput& input);
/// log2 n steps, or twice as many, in which the ranks of a node share its link. If n is not a power of two, elements are sent twice more.
double allreduce_recursive_doubling(const CostInput& input);
double allreduce_rabenseifner(const CostInput& input);
/// 2 (n - 1) steps of one n-th of the elements, for any n. Only one rank of a node sends to another node.
double allreduce_ring(const CostInput& input);
/// A tree up, and down again: 2 ceil(log2 n) messages, of which those within a node take no link.
double allreduce_reduce_then_broadcast(const CostInput& input);
/// Each rank sends each other one its share of the elements, and n - 1 steps of a ring with shares.
double allreduce_pairwise(const CostInput& input);
/// Between two groups, of which the larger one has g ranks, all with blocks of the longer size: a tree up, one message, and a tree or a
/// chain down.
double intergroup_root_gathering(const CostInput& input);
/// A block between the groups, and g - 1 steps of a ring. The ranks of a node share its link for the first of these, and the ring enters a
/// node once: latency + r m byte + (g - 1) (latency + m byte), where r ranks of a group share a node.
double intergroup_full_duplex(const CostInput& input);
/// The same between nodes, with the blocks of a node, or one message for each pair of nodes if all data of a group is short. Blocks are
/// copied before, and all of the data is copied twice afterwards.
double intergroup_two_level(const CostInput& input);
/// Between a root in one group and the ranks of the other group, of which g share N nodes. The estimates take the root to be on a node of
/// its own. A broadcast goes down a tree or a chain of N + 1 nodes, and is copied twice on each. Of blocks there is one message for each
/// node.
double intergroup_broadcast_two_level(const CostInput& input);
double intergroup_two_level_of_blocks(const CostInput& input);
/// A reduce of the g ranks, and a message to the root: up a tree, down a chain that ends at the root, or on two levels.
double intergroup_reduce_binomial(const CostInput& input);
double intergroup_reduce_chain(const CostInput& input);
double intergroup_reduce_two_level(const CostInput& input);
/// The same in both groups at once, where the message goes both ways and the result goes down a tree or a chain, or to all nodes. In the
/// chain of all ranks, a piece goes through all of them, and then a rank receives and sends two more pieces at a time: one that it
/// combines, and one of the result.
double intergroup_allreduce_binomial(const CostInput& input);
double intergroup_allreduce_chain(const CostInput& input);
double intergroup_allreduce_two_level(const CostInput& input);
/// Each rank sends a block to each of g ranks. The ranks of a node share its link. On two levels, one rank of each node collects what
/// leaves it, and hands out what comes.
double intergroup_alltoall_linear(const CostInput& input);
double intergroup_alltoall_two_level(const CostInput& input);

/// A reduce_scatter of blocks of m bytes, round a ring: n - 1 steps.
double reduce_scatter_ring(const CostInput& input);
/// By recursive halving: log2 n steps. The ranks of a node share its link. If n is not a power of two, all elements are sent
/// once more, and a block comes back.
double reduce_scatter_halving(const CostInput& input);
/// Each rank sends each other one its block.
double reduce_scatter_pairwise(const CostInput& input);
/// All elements go up a tree, and the blocks down.
double reduce_scatter_reduce_then_scatter(const CostInput& input);
/// The ranks of a node combine all blocks through its memory. Between nodes, each lane takes one of these two.
double reduce_scatter_two_level(const CostInput& input);
/// If a rank's share of the elements has up to this size, in bytes, estimates decide between a ring and log2 n steps. Longer ones go round
/// a ring: measured it is faster, although by the estimates it takes up to 2.9 times as long (shares that are little longer, of many
/// ranks).
inline constexpr std::uint64_t kComparedShare = 8 << 10;
/// Which of the two a reduce_scatter takes whose ranks are on nodes of their own. (The rules say the same.)
bool takes_halving(const CostInput& input);

/// A scan in ceil(log2 n) steps. In a step over 2^k ranks, at most 2^k ranks of a node share its link, if its ranks follow one another.
double scan_recursive_doubling(const CostInput& input);
/// A scan within the nodes through their memory, and among the nodes by recursive doubling.
double scan_two_level(const CostInput& input);

/// The piece of a chain, in bytes: the power of two from 16 to 128 KiB that takes the least time. The least time of all is at
/// s = sqrt(m latency / ((n - 2) byte)), if each rank has a node. With smaller pieces, the engine's work for each message counts; with
/// larger ones, a piece leaves the caches before it is passed on. A binary tree has the same pieces.
std::uint64_t chain_segment(const CostInput& input);
/// The piece of a broadcast down a chain or a binary tree: the same, but at least 32 KiB. The formula does not know the processor time of a
/// message. Where hosts share processors, or ranks compute, it is scarce. On emulated hosts, broadcasts in pieces of 16 KiB took as long as
/// in pieces of 32 KiB or longer (docs/performance/hosts-beside-mpi.md). Reductions showed no clear difference.
std::uint64_t broadcast_segment(const CostInput& input);

}  // namespace cost
}  // namespace rollcall::collectives
