// Recursive doubling. W. D. Hillis and G. L. Steele, "Data parallel algorithms", Communications of the ACM 1986; among the algorithms of P.
// Sanders and J. L. Traeff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006.
//
// Idea: in step k, each rank sends what it has combined to the rank 2^k after it. What it has combined comes from the 2^k ranks up to
// itself, so the receiver then has those of 2^(k + 1) ranks. After ceil(log2 P) steps every rank has its result. In an exclusive scan, a
// rank also combines what it received without its own elements. The elements are combined in rank order, for any P.
//
// Example: P = 6, a message takes 1, full duplex. 0->1, 1->2, 2->3, 3->4, 4->5 until 1; 0->2, 1->3 (ab), 2->4 (bc), 3->5 (cd) until 2;
// 0->4, 1->5 (ab) until 3. Rank 5 has ab + cd + ef.
#include "collectives/combining/combining.hpp"
#include "collectives/scan/scan.hpp"

namespace rollcall::collectives {

using transport::Bytes;
using transport::ConstBytes;

Task scan_recursive_doubling(Operation& op) {
    const int n = op.size(), rank = op.rank();
    const auto contribution = op.arguments().contribution;
    const auto data = op.arguments().data;
    const bool exclusive = is_exclusive(op);
    const Scratch received(rank > 0 ? contribution.size : 0, contribution);
    const Scratch memory(exclusive && rank > 0 && rank + 2 < n ? contribution.size : 0, contribution);
    const Bytes sum = exclusive ? memory.bytes() : data;
    ConstBytes prefix = contribution;
    std::uint64_t step = 0;
    for (int distance = 1; distance < n; distance *= 2, ++step) {
        const bool receives = rank >= distance, sends = rank + distance < n, sends_again = rank + 2 * distance < n;
        const Pending incoming = receives ? op.receive(rank - distance, received.bytes(), step) : Pending();
        const Pending outgoing = sends ? op.send(rank + distance, prefix, step) : Pending();
        co_await incoming;
        co_await outgoing;
        if (!receives) continue;
        if (!exclusive || sends_again) {
            co_await op.combine(sum, received.bytes(), prefix);
            prefix = sum;
        }
        if (exclusive && distance == 1) co_await op.copy(data, received.bytes());
        if (exclusive && distance > 1) co_await op.combine(data, received.bytes(), data);
    }
    if (!exclusive && rank == 0) co_await copy_own(op, data, contribution);
}

}  // namespace rollcall::collectives
