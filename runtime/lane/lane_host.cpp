// The part of the lane that serves a program which drives progress itself, or which has an event loop.
#include <utility>

#include "runtime/lane/lane.hpp"
#include "runtime/lane/store_then_look.hpp"

namespace rollcall::runtime {

bool Lane::progress() {
    const bool moved_also = also_ && also_->progress();
    if (!try_take()) return moved_also;
    const Baton baton(*this);
    note_call();
    const Nanoseconds now = monotonic_now();
    look_at_notices_if_due(now);
    const unsigned happened = poll() + drain();
    tick_if_due(now);
    return happened != 0 || moved_also;
}

int Lane::descriptor() {
    // With a background thread, which takes the transport's events, an event loop is told only of what has ended.
    if (policy_.background && !event_loop_.is_open()) event_loop_.open(-1, -1);
    return event_loop_.get();
}

bool Lane::prepare_to_sleep() {
    if (policy_.background || !try_take()) {
        // Another thread drives and takes the events. This loop sleeps until that thread leaves, or until something has ended.
        event_loop_.clear_signal();
        event_loop_.watch_transport(false);
        event_loop_.wake_at(kNever);
        const std::uint64_t told = store_then_look(loop_sleeps_, true, told_finished_);
        const bool somebody_drives = policy_.background || baton_.load(std::memory_order_seq_cst);
        if (finished_seen_.exchange(told) == told && somebody_drives) {
            // Nobody polls now, so the background thread need not wait for silence before it arms the descriptor.
            if (policy_.background && !parked_.load(std::memory_order_relaxed)) background_wake_.signal();
            return true;
        }
        loop_sleeps_.store(false);
        return false;
    }
    const Baton baton(*this);
    // The test() of one request may have ended another request that was tested before it.
    if (finished_seen_.exchange(engine_.finished()) != engine_.finished()) return false;
    // The look for one message may have taken in what changes the answer of an earlier look for another one.
    if (std::exchange(looks_seen_, engine_.look_changes()) != engine_.look_changes()) return false;
    look_at_notices();
    event_loop_.clear_signal();
    event_loop_.watch_transport(true);
    event_loop_.wake_at(engine_.due());
    return park();
}

}  // namespace rollcall::runtime
