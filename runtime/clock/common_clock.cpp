#include "runtime/clock/common_clock.hpp"

namespace rollcall::runtime {

void CommonClock::set(const SynchronizedClock& clock) {
    const std::lock_guard lock(mutex_);
    clock_ = clock;
    publish(compose(host_, clock.model));
    synchronized_.store(true, std::memory_order_release);
}

SynchronizedClock CommonClock::clock() const {
    const std::lock_guard lock(mutex_);
    return clock_;
}

void CommonClock::publish(const ClockModel& model) noexcept {
    const std::uint32_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    // Each of these release stores comes after the store of the odd version.
    reference_.store(model.reference, std::memory_order_release);
    offset_.store(model.offset, std::memory_order_release);
    drift_.store(model.drift, std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
    converts_.store(converts_.load(std::memory_order_relaxed) || !model.is_identity(), std::memory_order_release);
}

}  // namespace rollcall::runtime
