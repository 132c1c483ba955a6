// Broadcast through node memory. It is our own, after the non-blocking model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across
// different process arrival patterns", section 3.1.
//
// Idea: the root writes the message, piece by piece, into memory that the ranks of its node share, and leaves. The other ranks copy it out
// when they arrive, each piece as soon as it is there. No rank waits for any rank but the root, no message has to be handled, and each rank
// is scheduled once. The copies of a planned call are made before its caller arrives. (If the root's caller stays until the data has left,
// with CollectiveOptions::until_delivered, a message in memory from Job::allocate() is copied out from where it stands.)
//
// Example: n = 4, root 0, the message is one piece and a copy of it takes 1, the ranks arrive at 0, 0, 3 and 0. The root writes until 1 and
// leaves. Ranks 1 and 3 copy from 1 to 2. Rank 2 copies from 3 to 4. The ranks leave at 1, 2, 4 and 2.
#include "collectives/broadcast/broadcast.hpp"
#include "collectives/published/published.hpp"

namespace rollcall::collectives {
namespace {

Task publish_message(Operation& op) {
    co_await op.arrival();
    if (op.size() > 1) co_await publish_last(op, kEverybody, op.arguments().data);
}

transport::ConstBytes message_from(const Operation& op, int) { return op.arguments().data; }
transport::Bytes message_to(const Operation& op, int) { return op.arguments().data; }
constexpr ShortMoves kBroadcastMoves{ShortExchange::Flow::from_root, true, false, &message_from, &message_to};

}  // namespace

Task broadcast_shared_memory(Operation& op) {
    const std::uint64_t size = op.arguments().data.size;
    if (ShortExchange::suits(op.size(), size)) return exchange_short(op, kBroadcastMoves, size);
    return op.rank() == op.root() ? publish_message(op) : copy_all(op, op.root(), true, op.arguments().data);
}

ShortMove short_move_of_broadcast(const runtime::Arguments& arguments, const runtime::Call& call, int rank, int) {
    if (rank == call.root) return {.does = ShortMove::Does::publish, .for_everybody = true, .data = arguments.data};
    return {.does = ShortMove::Does::read, .for_everybody = true, .partner = call.root, .place = arguments.data};
}

}  // namespace rollcall::collectives
