/// \file
/// Decides how a waiting caller spends its time: whether it polls, yields or parks. It knows no clock, no transport and no threads.
#pragma once

#include <cstdint>

#include "foundation/clock.hpp"

namespace rollcall::runtime {

/// A waiting caller polls. After many empty polls, or after many polls that all found something, it looks at the clock and yields. That
/// costs less than half a microsecond while no other thread wants the core. A caller that shares its core with other ranks of the job
/// yields at each poll. When the caller has seen nothing for the spin time, it parks: it sleeps until something comes.
///
/// A yield that takes long gave the core to a thread that computes. A caller that keeps spinning there is scheduled away just when its
/// message comes, whereas a caller that sleeps is woken at once. Where ranks do not share cores, that thread belongs to another program,
/// and the spin stays short for a while. As long as all yields of a wait return soon, no other thread needs the core, and the spin is long:
/// ranks that sleep must be woken one by one, which costs the last one to arrive 5 to 10 us for each of them.
class Idle {
  public:
    enum class Step : std::uint8_t {
        poll,   ///< Poll again at once.
        relax,  ///< Poll after a pause of the processor.
        yield,  ///< Poll after a yield.
        look    ///< Yield, look at the clock, and call looked().
    };

    /// `yields`: more ranks than cores share the node. `spin`: in nanoseconds.
    Idle(bool yields, Nanoseconds spin) : yields_(yields), spin_(spin) {}

    /// A new wait begins.
    void begin() noexcept {
        looks_early_ = contended_ || ++waits_ % kWaitsPerEarlyLook == 0;
        empty_ = 0;
        empty_since_ = kNone;
    }

    /// To be called after each poll.
    Step polled(bool something_happened) noexcept {
        if (something_happened) {
            empty_ = 0;
            empty_since_ = kNone;
            // Other ranks' traffic may go on for ever: deadlines and threads that need the baton must be looked at all the same.
            return ++busy_ % kBusyPollsPerLook == 0 ? Step::look : Step::poll;
        }
        if (++empty_ % (yields_ ? kYieldsPerLook : looks_early_ ? kEarlyPollsPerLook : kPollsPerLook) == 0) return Step::look;
        if (yields_) return Step::yield;
        return empty_ > kPollsBeforeRelax ? Step::relax : Step::poll;
    }

    /// To be called after Step::look, with the time before and after the yield. Returns whether the caller should park.
    bool looked(Nanoseconds before, Nanoseconds after) noexcept {
        const bool is_late = after - before > kLateYield;
        if (is_late && !yields_) contended_until_ = after + kContention;
        contended_ = after < contended_until_;
        if (empty_since_ == kNone) {
            empty_since_ = after;
            core_is_free_ = after - before <= kQuickYield;
            return false;
        }
        if (after - before > kQuickYield) core_is_free_ = false;
        return after - empty_since_ >= (contended_ ? kContendedSpin : core_is_free_ ? kSpinsOnFreeCore * spin_ : spin_);
    }
    /// The caller has slept.
    void slept() noexcept { empty_since_ = kNone; }

    /// A look costs about 0.5 us, an empty poll 30 to 100 ns. In a ping-pong of short messages a wait takes 10 to 100 polls: a look between
    /// them would make the ping-pong up to 40 % slower.
    static constexpr unsigned kPollsPerLook = 256;
    /// For one of every kWaitsPerEarlyLook waits, so that the caller soon notices when another process wants the core. For all waits while
    /// one does.
    static constexpr unsigned kEarlyPollsPerLook = 32;
    static constexpr unsigned kWaitsPerEarlyLook = 16;
    /// For polls that found something: each of them costs more than a look.
    static constexpr unsigned kBusyPollsPerLook = 256;
    /// Where every poll yields, a poll is a scheduling round, and a look costs little compared with it.
    static constexpr unsigned kYieldsPerLook = 8;
    /// A pause instruction leaves more of the core to the sibling hyper-thread, but costs 40 ns: it must wait while a quick answer may
    /// come.
    static constexpr unsigned kPollsBeforeRelax = 512;
    /// A yield that no other thread uses takes less than a microsecond. A yield to another program's thread takes at least the scheduler's
    /// smallest slice, which is hundreds of microseconds.
    static constexpr Nanoseconds kLateYield = 50'000;
    static constexpr Nanoseconds kContention = 20 * kMillisecond;
    static constexpr Nanoseconds kContendedSpin = 2'000;
    /// A yield that returns this soon gave the core to at most a few ranks, all of which wait.
    static constexpr Nanoseconds kQuickYield = 20'000;
    /// 2 ms by default: longer than it takes to wake any number of sleeping ranks.
    static constexpr Nanoseconds kSpinsOnFreeCore = 20;

  private:
    static constexpr Nanoseconds kNone = -1;

    bool yields_;
    bool contended_ = false;  ///< As found at the last look.
    bool looks_early_ = false;
    bool core_is_free_ = false;  ///< All yields since empty_since_ returned at once.
    std::uint8_t waits_ = 0;
    Nanoseconds spin_;
    unsigned empty_ = 0;
    unsigned busy_ = 0;
    Nanoseconds empty_since_ = kNone;
    Nanoseconds contended_until_ = 0;
};

}  // namespace rollcall::runtime
