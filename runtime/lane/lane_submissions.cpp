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
        begin_or_end(std::move(taken));
    }
    if (noticed_.load(std::memory_order_relaxed)) {
        handle_notices();
        ++happened;
    }
    return happened;
}

// There may be no memory even for the error of one that cannot begin. The others are then still to begin.
void Lane::begin_or_end(std::vector<Waitable*> taken) {
    auto next = taken.begin();
    try {
        while (next != taken.end()) engine_.begin_or_end(**next++);
    } catch (...) {
        const std::lock_guard lock(mutex_);
        taken.erase(taken.begin(), next);
        taken.insert(taken.end(), submissions_.begin(), submissions_.end());
        submissions_.swap(taken);
        submitted_.store(!submissions_.empty(), std::memory_order_relaxed);
        throw;
    }
}

}  // namespace rollcall::runtime
