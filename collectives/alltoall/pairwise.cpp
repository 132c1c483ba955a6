// Pairwise exchange. R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations in MPICH", International
// Journal of High Performance Computing Applications 2005, section 4.4: the algorithm for long messages.
//
// Idea: there are P - 1 rounds, one after the other. If P is a power of two, a rank exchanges blocks with rank xor i in round i. Otherwise
// it sends to rank + i and receives from rank - i. Two messages never share a port. A late rank stops the ranks whose turn it is to
// exchange with it, and soon all ranks.
//
// Example: P = 4, a block takes 1, full duplex. 0-1 and 2-3 until 1, 0-2 and 1-3 until 2, 0-3 and 1-2 until 3. All ranks leave at 3.
#include <bit>

#include "collectives/alltoall/alltoall.hpp"
#include "collectives/blocks/blocks.hpp"

namespace rollcall::collectives {

Task alltoall_pairwise(Operation& op) {
    const int n = op.size(), rank = op.rank();
    const bool in_pairs = std::has_single_bit(static_cast<unsigned>(n));
    for (int i = 1; i < n; ++i) {
        const int to = in_pairs ? rank ^ i : (rank + i) % n, from = in_pairs ? to : (rank + n - i) % n;
        const auto receiving = op.receive(from, block_of(op, from), 0);
        const auto sent = op.send(to, block_for(op, to), 0);
        co_await receiving;
        co_await sent;
    }
    co_await copy_own(op, block_of(op, rank), block_for(op, rank));
}

}  // namespace rollcall::collectives
