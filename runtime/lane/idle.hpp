/// \file
/// How a caller that waits spends its time: the decisions, without the clock, the transport or the threads.
#pragma once

#include <cstdint>

#include "foundation/clock.hpp"

namespace rollcall::runtime {

/// Between two events a caller polls. After many empty polls, or many that all bring something, it looks at the clock, and yields there,
/// which costs less than half a microsecond where nobody else wants its core. Where it shares its core with other ranks of the job
/// it yields at each poll. When it has seen nothing for the time of a spin, it parks: it sleeps until something comes.
///
/// A yield that takes long was one to somebody who computes. Whoever spins there is scheduled away just when its message comes; whoever
/// sleeps is woken at once. Where ranks do not share cores that was a stranger, and for a while the spin is short. As long as all yields
/// of a wait return soon, nobody else has a use for the core, and the spin is long: ranks that sleep must be woken one by one, which
/// takes the last to arrive 5 to 10 us for each.
class Idle {
  public:
    enum class Step : std::uint8_t {
        poll,   ///< At once.
        relax,  ///< After a pause of the processor.
        yield,  ///< After a yield.
        look    ///< After a yield and a look at the clock: ask looked().
    };

    /// `yields`: more ranks than cores share the node. `spin` in nanoseconds.
    Idle(bool yields, Nanoseconds spin) : yields_(yields), spin_(spin) {}

    /// Something is waited for from now on.
    void begin() noexcept {
        looks_early_ = contended_ || ++waits_ % kWaitsPerEarlyLook == 0;
        empty_ = 0;
        empty_since_ = kNone;
    }

    /// After each poll.
    Step polled(bool something_happened) noexcept {
        if (something_happened) {
            empty_ = 0;
            empty_since_ = kNone;
            // Others' traffic may go on for ever: deadlines, and who needs the baton, are looked at all the same.
            return ++busy_ % kBusyPollsPerLook == 0 ? Step::look : Step::poll;
        }
        if (++empty_ % (yields_ ? kYieldsPerLook : looks_early_ ? kEarlyPollsPerLook : kPollsPerLook) == 0) return Step::look;
        if (yields_) return Step::yield;
        return empty_ > kPollsBeforeRelax ? Step::relax : Step::poll;
    }

    /// After Step::look: the time before and after the yield. True: park.
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
    /// It has slept.
    void slept() noexcept { empty_since_ = kNone; }

    /// A look costs about 0.5 us, an empty poll 30 to 100 ns. In a ping-pong of short messages a wait has 10 to 100 polls: a look between
    /// them would make it up to 40 % slower.
    static constexpr unsigned kPollsPerLook = 256;
    /// In one of some waits, so that it is seen soon when another process wants the core; and in all while one does.
    static constexpr unsigned kEarlyPollsPerLook = 32;
    static constexpr unsigned kWaitsPerEarlyLook = 16;
    /// Of polls in which something happened: each costs more than a look.
    static constexpr unsigned kBusyPollsPerLook = 256;
    /// With yields a poll is a scheduling round: a look is cheap against it.
    static constexpr unsigned kYieldsPerLook = 8;
    /// A pause instruction leaves a hyper-thread's sibling more of the core, but costs 40 ns: not while a quick answer may come.
    static constexpr unsigned kPollsBeforeRelax = 512;
    /// A yield to nobody takes less than a microsecond; one to a stranger at least the scheduler's smallest slice, hundreds of them.
    static constexpr Nanoseconds kLateYield = 50'000;
    static constexpr Nanoseconds kContention = 20 * kMillisecond;
    static constexpr Nanoseconds kContendedSpin = 2'000;
    /// One that returns so soon found at most a few ranks at the core, all of which wait.
    static constexpr Nanoseconds kQuickYield = 20'000;
    /// 2 ms by default: longer than it takes to be woken, however many sleep.
    static constexpr Nanoseconds kSpinsOnFreeCore = 20;

  private:
    static constexpr Nanoseconds kNone = -1;

    bool yields_;
    bool contended_ = false;  ///< At the last look.
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
