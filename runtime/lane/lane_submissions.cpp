// The part of the lane that takes over what other threads have left to the owner: what they want to start, and notices of deaths.
#include <utility>

#include "runtime/lane/lane.hpp"

namespace rollcall::runtime {

unsigned Lane::drain() {
    unsigned happened = 0;
    if (submitted_.load(std::memory_order_relaxed)) {
        std::vector<Waitable*> taken;
        {
            const std::lock_guard lock(mutex_);
            taken.swap(submissions_);
            submitted_.store(false, std::memory_order_relaxed);
        }
        happened += static_cast<unsigned>(taken.size());
        for (Waitable* const waitable : taken) engine_.begin_or_end(*waitable);
    }
    if (noticed_.load(std::memory_order_relaxed)) {
        handle_notices();
        ++happened;
    }
    return happened;
}

}  // namespace rollcall::runtime
