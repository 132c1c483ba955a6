/// \file
/// Makes sure that of two threads which tell each other something at least one sees what the other wrote.
#pragma once

#include <atomic>

namespace rollcall::runtime {

/// Writes `mine`, then reads `theirs`, in this order for all threads (Dekker). Suppose that one thread writes A and then reads B, while
/// another writes B and then reads A, both with this function. Then at least one of them sees what the other wrote. A thread that goes to
/// sleep writes that it sleeps and then looks for work once more; a thread that adds work then looks for sleepers. Both steps are
/// sequentially consistent; no weaker order is enough.
template <class Mine, class Theirs>
Theirs store_then_look(std::atomic<Mine>& mine, Mine value, const std::atomic<Theirs>& theirs) noexcept {
    mine.store(value, std::memory_order_seq_cst);
    return theirs.load(std::memory_order_seq_cst);
}

}  // namespace rollcall::runtime
