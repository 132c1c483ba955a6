#include "collectives/gather/synchronized.hpp"

#include <algorithm>

#include "collectives/arrivals/roster.hpp"

namespace rollcall::collectives {
namespace {

constexpr std::uint64_t kFirst = 0, kSecond = 1, kCall = 2;
static_assert(kCall < kAfterSynchronized);

/// The length of the first piece of a block, in bytes. A segment size of 0 stands for half of the block.
std::uint64_t first_piece(const Operation& op, std::uint64_t bytes) {
    const std::uint64_t segment = op.arguments().segment_bytes;
    return segment ? std::min(segment, bytes) : bytes - bytes / 2;
}

}  // namespace

Pending SynchronizedReceives::call(int rank) {
    const auto block = block_of(op_, rank);
    const std::uint64_t first = first_piece(op_, block.size);
    Pending receiving = op_.receive(rank, runtime::slice(block, 0, first), kFirst);
    op_.send(rank, {}, kCall);
    if (first < block.size) second_pieces_.push_back(op_.receive(rank, runtime::slice(block, first, block.size - first), kSecond));
    return receiving;
}

Task synchronized_send(Operation& op, int root) {
    const auto block = op.arguments().contribution;
    const std::uint64_t first = first_piece(op, block.size);
    co_await op.receive(root, {}, kCall);
    const Pending sending = op.send(root, runtime::slice(block, 0, first), kFirst);
    if (first < block.size) co_await op.send(root, runtime::slice(block, first, block.size - first), kSecond);
    co_await sending;
}

Task gather_by_arrival_root(Operation& op, bool ahead) {
    const auto contribution = op.arguments().contribution;
    Roster roster(op.size(), op.rank());
    runtime::Arrivals& arrivals = op.arrivals();
    SynchronizedReceives receives(op);
    // `first_piece`: of the rank that was called last and had arrived. `expected_piece`: of the rank that was called before it arrives.
    // The expected rank may arrive much later, and it keeps the others waiting only once it is here.
    Pending first_piece, expected_piece;
    int expected = op.rank();
    while (!roster.empty()) {
        co_await op.until([&] {
            roster.update(arrivals);
            if (!first_piece.done()) return false;
            if (!expected_piece.done()) return !roster.has_arrived(expected) && roster.someone_waits();
            return roster.someone_waits() || (ahead && (roster.all_known() || op.has_arrived()));
        });
        if (roster.someone_waits()) {
            first_piece = receives.call(roster.take());
        } else {
            expected = roster.take();
            expected_piece = receives.call(expected);
        }
    }
    co_await first_piece;
    co_await expected_piece;
    co_await op.all_of(receives.second_pieces());
    co_await op.arrival();
    co_await copy_own(op, block_of(op, op.rank()), contribution);
}

}  // namespace rollcall::collectives
