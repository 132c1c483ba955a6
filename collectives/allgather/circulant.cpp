// Circulant allgather. J. L. Träff, "Optimal broadcast schedules in logarithmic time with applications to broadcast, all-broadcast,
// reduction and all-reduction", arXiv 2407.18004, section 4 (all-broadcast).
//
// Idea: each rank is the root of a circulant broadcast of its own block, all at once. Every block is cut into X pieces. In a round, all
// broadcasts use the same distance between ranks, so the pieces from one rank to another one are one message. There are X - 1 + ceil(log2
// P) rounds, and each rank receives each byte once. Blocks of one size need no pieces: the messages of a round are as long on all ranks,
// and ceil(log2 P) rounds are the fewest. If one block is much longer than others, its pieces follow one another, where in other algorithms
// with log2 P rounds the whole block is in the longest message of each of them. The pieces of a message that do not stand side by side in
// the data are copied before and after.
//
// Example: P = 5, a block takes 1, full duplex, X = 1, blocks A to E. Round 0: 0->1 A, 1->2 B, 2->3 C, ... until 1. Round 1: 0->2 A, 1->3
// B, 2->4 C, ... until 2. Round 2: 0->3 E A, 1->4 A B, 2->0 B C, ... until 4. If only A has data and takes 3, and X = 3, the rounds are
// those of collectives/schedules/circulant.hpp and end at 5. With X = 1 they would end at 9.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "collectives/allgather/allgather.hpp"
#include "collectives/blocks/blocks.hpp"
#include "collectives/blocks/parts.hpp"
#include "collectives/pieces.hpp"
#include "collectives/schedules/circulant.hpp"

namespace rollcall::collectives {
namespace {

// The number of pieces of each block. More pieces than one gain only where blocks differ: what the longest block has more than the average
// one goes through all ranks like a broadcast of its own. X - 1 + q rounds then take the least time at X = sqrt((q - 1) excess byte /
// latency). All ranks must find the same number. They do: IEEE 754 says how products, quotients and square roots are rounded, and there is
// no sum that a compiler could join with a product.
std::uint64_t count_pieces(const Operation& op) {
    static_assert(std::numeric_limits<double>::is_iec559);
    const auto n = static_cast<std::uint64_t>(op.size());
    std::uint64_t longest = 0, all = 0;
    for (int rank = 0; rank < op.size(); ++rank) {
        const std::uint64_t size = place_of_block(op, rank).size;
        longest = std::max(longest, size);
        all += size;
    }
    if (const std::uint64_t segment = op.arguments().segment_bytes) return segment_count(longest, segment);
    const auto of = [](Nanoseconds time) { return static_cast<std::uint64_t>(std::max<Nanoseconds>(time, 1)); };
    const std::uint64_t steps = static_cast<std::uint64_t>(std::bit_width(n - 1)) - 1, excess = (longest - all / n) >> 10;
    const double square = static_cast<double>(steps) * static_cast<double>(excess) * static_cast<double>(of(op.costs().network_mebibyte)) /
                          (static_cast<double>(of(op.costs().network_latency)) * 1024);
    return static_cast<std::uint64_t>(std::clamp(std::sqrt(square), 1.0, static_cast<double>(std::max<std::uint64_t>(longest, 1))));
}

// Where the pieces of a message are in the data of this rank. Pieces that stand side by side are one range.
std::vector<Range> ranges_of(const Operation& op, const CirculantOfAll::Round& round, int receiver, std::uint64_t pieces) {
    std::vector<Range> ranges;
    for (const CirculantOfAll::Part& part : round.parts) {
        const runtime::Block block = place_of_block(op, (receiver - part.distance + op.size()) % op.size());
        const auto bound = [&](std::uint64_t piece) {
            return block.offset + block.size / pieces * piece + std::min(piece, block.size % pieces);
        };
        const Range range{bound(part.piece), bound(part.piece + 1)};
        if (range.empty()) continue;
        if (!ranges.empty() && ranges.back().end == range.begin)
            ranges.back().end = range.end;
        else
            ranges.push_back(range);
    }
    return ranges;
}

// The bytes of a message: those in the data if they are one range there, otherwise the first ones of `memory`.
transport::Bytes bytes_of(const Operation& op, const std::vector<Range>& ranges, const Scratch& memory) {
    if (ranges.size() == 1) return runtime::slice(op.arguments().data, ranges[0].begin, ranges[0].size());
    std::uint64_t size = 0;
    for (const Range& range : ranges) size += range.size();
    return runtime::slice(memory.bytes(), 0, size);
}

Task copy_ranges(Operation& op, const std::vector<Range>& ranges, transport::Bytes message, Copy way) {
    if (ranges.size() <= 1) co_return;
    std::uint64_t at = 0;
    for (const Range& range : ranges) {
        const auto in_data = runtime::slice(op.arguments().data, range.begin, range.size());
        const auto in_message = runtime::slice(message, at, range.size());
        const bool out = way == Copy::out_of_list;
        co_await op.copy(out ? in_data : in_message, out ? in_message : in_data);
        at += range.size();
    }
}

}  // namespace

Task allgather_circulant(Operation& op) {
    const int n = op.size(), rank = op.rank();
    co_await copy_own(op, block_of(op, rank), op.arguments().contribution);
    if (n == 1) co_return;
    const std::uint64_t pieces = count_pieces(op);
    const CirculantOfAll all(n);
    std::uint64_t longest = 0;  // No message has more: a piece of each block, or a whole one.
    for (int other = 0; other < n; ++other) longest += (place_of_block(op, other).size + pieces - 1) / pieces;
    const Scratch leaving(longest, op.arguments().data), coming(longest, op.arguments().data);
    for (std::uint64_t number = 0; number < all.rounds(pieces); ++number) {
        const CirculantOfAll::Round round = all.round(pieces, number);
        const int to = (rank + round.skip) % n, from = (rank - round.skip + n) % n;
        const auto sends = ranges_of(op, round, to, pieces), receives = ranges_of(op, round, rank, pieces);
        const auto sent = bytes_of(op, sends, leaving), received = bytes_of(op, receives, coming);
        const Pending receiving = op.receive(from, received, number);
        co_await copy_ranges(op, sends, sent, Copy::into_list);
        const Pending sending = op.send_awaited(to, sent, number);
        co_await receiving;
        co_await copy_ranges(op, receives, received, Copy::out_of_list);
        co_await sending;
    }
}

}  // namespace rollcall::collectives
