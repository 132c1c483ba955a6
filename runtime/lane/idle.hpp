/// \file
/// Decides how a waiting caller spends its time: whether it polls, yields or parks. It knows no clock, no transport and no threads.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "foundation/clock.hpp"

namespace rollcall::runtime {

/// A waiting caller polls. After many empty polls, or after many polls that all found something, it looks at the clock and yields. That
/// costs less than half a microsecond while no other thread wants the core. A caller that shares its core with other ranks of the job
/// yields at each poll. When the caller has seen nothing for the spin time, it parks: it sleeps until something comes.
///
/// As long as all yields of a wait return soon, no other thread needs the core, and the spin is long: ranks that sleep must be woken one by
/// one, which costs the last one to arrive 5 to 10 us for each of them.
///
/// The system may put two ranks on one core although there are cores for both. Then what a caller waits for comes while it does not have
/// the core. What came so lately tells what to do:
///   - It came in the yields: a rank that waits for this one shares the core, and the caller yields more often.
///   - Yields took long: a thread of another program computes on the core. It would get a slice of time at each yield, whereas a caller
///     that sleeps is woken at once. For a while, callers sleep at once, and do not yield.
///   - It came right after the caller had slept in, several times in a row: yields do not give the core to the rank that needs it. The
///     same holds.
/// Where ranks share cores for want of cores, a yield that takes long gave the core to a rank that computes, and only the first is done.
class Idle {
  public:
    enum class Step : std::uint8_t {
        poll,   ///< Poll again at once.
        relax,  ///< Poll after a pause of the processor.
        yield,  ///< Poll after a yield.
        look    ///< Look at the clock, and call parks_at_once().
    };

    /// `yields`: more ranks than cores share the node. `spin`: in nanoseconds.
    Idle(bool yields, Nanoseconds spin) : yields_(yields), spin_(spin) { adapt(0); }

    /// A new wait begins.
    void begin() noexcept {
        look_mask_ = usual_look_mask_ & (++waits_ % kWaitsPerEarlyLook == 0 ? kEarlyPollsPerLook - 1 : ~0u);
        empty_ = 0;
        empty_since_ = kNone;
    }

    /// To be called after each poll.
    Step polled(bool something_happened) noexcept {
        if (something_happened) {
            empty_ = 0;
            empty_since_ = kNone;
            // Other ranks' traffic may go on forever: deadlines and threads that need the baton must be looked at all the same.
            return ++busy_ % kBusyPollsPerLook == 0 ? Step::look : Step::poll;
        }
        if ((++empty_ & look_mask_) == 0) return Step::look;
        if (yields_) return Step::yield;
        return empty_ > kPollsBeforeRelax ? Step::relax : Step::poll;
    }

    /// To be called after Step::look, with the time. Returns whether the caller should park now. Else it should yield and poll.
    bool parks_at_once(Nanoseconds now) noexcept {
        adapt(now);
        return contended_ && empty_ > 0;
    }
    /// To be called then, with the time before and after the yield, and whether the poll found something. Returns whether the caller should
    /// park.
    bool looked(Nanoseconds before, Nanoseconds after, bool something_happened) noexcept {
        const Nanoseconds took = after - before;
        late_yields_ = took > kLateYield ? std::min(late_yields_ + 1, kLateInARow) : 0;
        if (late_yields_ == kLateInARow && !yields_) contended_until_ = after + kContention;
        if (empty_ > 0) came_in_yields_ = something_happened ? std::min(came_in_yields_ + 1, kInARow) : 0;
        adapt(after);
        if (something_happened) {
            empty_ = 0;
            empty_since_ = kNone;
            came_in_sleep_ = 0;
            return false;
        }
        if (empty_since_ == kNone) {
            empty_since_ = after;
            core_is_free_ = took <= kQuickYield;
            return false;
        }
        if (took > kQuickYield) core_is_free_ = false;
        return contended_ || after - empty_since_ >= (core_is_free_ ? kSpinsOnFreeCore * spin_ : spin_);
    }
    /// The caller has slept, from one time to another.
    void slept(Nanoseconds from, Nanoseconds to) noexcept {
        empty_since_ = kNone;
        if (contended_ || yields_) return;  // it did not spin before, or has other ranks to consider
        came_in_sleep_ = to - from < kSoon ? std::min(came_in_sleep_ + 1, kInARow) : 0;
        if (came_in_sleep_ == kInARow) contended_until_ = to + kContention;
        adapt(to);
    }

    /// A look costs about 0.5 us, an empty poll 30 to 100 ns. In a ping-pong of short messages a wait takes 10 to 100 polls: a look between
    /// them would make the ping-pong up to 40 % slower.
    static constexpr unsigned kPollsPerLook = 256;
    /// The first look of one of every kWaitsPerEarlyLook waits comes this early, so that the caller soon notices when another process
    /// wants the core. All looks do while one does.
    static constexpr unsigned kEarlyPollsPerLook = 32;
    static constexpr unsigned kWaitsPerEarlyLook = 16;
    /// For polls that found something: each of them costs more than a look.
    static constexpr unsigned kBusyPollsPerLook = 256;
    /// Where every poll yields, a poll is a scheduling round, and a look costs little compared with it. And where yields bring what the
    /// caller waits for: polls before them only delay it. If that is an accident, one of so many yields brings nothing, and it ends.
    static constexpr unsigned kYieldsPerLook = 8;
    /// A pause instruction leaves more of the core to the sibling hyper-thread, but costs 40 ns: it must wait while a quick answer may
    /// come.
    static constexpr unsigned kPollsBeforeRelax = 512;
    /// A yield that no other thread uses takes less than a microsecond. A yield to another program's thread takes at least the scheduler's
    /// smallest slice, which is hundreds of microseconds.
    static constexpr Nanoseconds kLateYield = 50'000;
    static constexpr Nanoseconds kContention = 20 * kMillisecond;
    /// So many late yields in a row are needed: others that have something short to do come and go.
    static constexpr unsigned kLateInARow = 2;
    /// So many yields or sleeps in a row must bring something before they count as the rule.
    static constexpr unsigned kInARow = 4;
    /// A message that comes so soon came because the caller left the core. To be woken takes 5 us on the same core, and 25 us on another
    /// one.
    static constexpr Nanoseconds kSoon = 50'000;
    /// A yield that returns this soon gave the core to at most a few ranks, all of which wait.
    static constexpr Nanoseconds kQuickYield = 20'000;
    /// 2 ms by default: longer than it takes to wake any number of sleeping ranks.
    static constexpr Nanoseconds kSpinsOnFreeCore = 20;

  private:
    static constexpr Nanoseconds kNone = -1;
    static_assert(std::has_single_bit(kPollsPerLook) && std::has_single_bit(kEarlyPollsPerLook) && std::has_single_bit(kYieldsPerLook));

    void adapt(Nanoseconds now) noexcept {
        contended_ = now < contended_until_;
        const bool yields_often = yields_ || came_in_yields_ == kInARow;
        usual_look_mask_ = (contended_ ? kEarlyPollsPerLook : yields_often ? kYieldsPerLook : kPollsPerLook) - 1;
        look_mask_ = usual_look_mask_;
    }

    bool yields_;
    bool contended_ = false;     ///< As found at the last look: callers sleep at once.
    bool core_is_free_ = false;  ///< All yields since empty_since_ returned at once.
    std::uint8_t waits_ = 0;
    unsigned late_yields_ = 0;     ///< In a row; at most kLateInARow.
    unsigned came_in_yields_ = 0;  ///< So many looks in a row found something after their yield; at most kInARow.
    unsigned came_in_sleep_ = 0;   ///< So many sleeps in a row that followed a spin were short; at most kInARow.
    unsigned usual_look_mask_;     ///< The number of polls between two looks, less one.
    unsigned look_mask_;           ///< The same in the present wait.
    Nanoseconds spin_;
    unsigned empty_ = 0;
    unsigned busy_ = 0;
    Nanoseconds empty_since_ = kNone;
    Nanoseconds contended_until_ = 0;
};

}  // namespace rollcall::runtime
