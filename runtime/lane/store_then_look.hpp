/// \file
/// Two threads that must not miss each other.
#pragma once

#include <atomic>

namespace rollcall::runtime {

/// Writes `mine`, then reads `theirs`, in this order for everybody (Dekker). Where one thread writes A and then reads B, and another
/// writes B and then reads A, both by this function, at least one of them sees what the other wrote: who goes to sleep says so and
/// looks for work once more; who adds work looks for sleepers. All of this is sequentially consistent; nothing weaker does it.
template <class Mine, class Theirs>
Theirs store_then_look(std::atomic<Mine>& mine, Mine value, const std::atomic<Theirs>& theirs) noexcept {
    mine.store(value, std::memory_order_seq_cst);
    return theirs.load(std::memory_order_seq_cst);
}

}  // namespace rollcall::runtime
