// Linear barrier: every rank tells rank 0 that it has arrived, and then rank 0 tells every rank. It is the simplest one, from no paper.
//
// Idea: the longest path has two messages, whatever n is, and there are 2(n-1) messages in all. Where ranks share cores, a message costs
// less than being scheduled once more. So two rounds are faster than the log2 n rounds of the dissemination barrier.
//
// Example: n = 4. 1, 2, 3 -> 0; then 0 -> 1, 2, 3.
#include <vector>

#include "collectives/barrier/barrier.hpp"

namespace rollcall::collectives {

runtime::Task barrier_linear(runtime::Operation& op) {
    constexpr std::uint64_t kIn = 0, kOut = 1;
    if (op.rank() != 0) {
        const auto released = op.receive(0, {}, kOut);
        const auto told = op.send(0, {}, kIn);
        co_await released;
        co_return;
    }
    std::vector<runtime::Pending> all;
    all.reserve(static_cast<std::size_t>(op.size()));
    for (int rank = 1; rank < op.size(); ++rank) all.push_back(op.receive(rank, {}, kIn));
    co_await op.all_of(all);
    for (int rank = 1; rank < op.size(); ++rank) op.send(rank, {}, kOut);
}

}  // namespace rollcall::collectives
