// The lane's background thread, and the notices of deaths that it watches.
#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "foundation/process_limit.hpp"
#include "foundation/signals_blocked.hpp"
#include "runtime/lane/lane.hpp"
#include "runtime/lane/store_then_look.hpp"
#include "runtime/lane/waiting.hpp"
#include "runtime/topology/binding.hpp"

namespace rollcall::runtime {
namespace {

// How long the background thread polls after something has moved, because a large message comes in pieces.
constexpr Nanoseconds kLinger = 50'000;
// A look takes the core from a caller for up to 40 us. So where this many looks in a row found that callers poll, every second interval is
// this many ticks long. The other intervals stay short: they show whether callers still poll. A job begins in that state, because most
// programs begin with calls.
constexpr unsigned kIdleLooks = 8;
constexpr Nanoseconds kTicksOfLongInterval = 8;
// Where the transport refuses to arm, there is work, mostly. So many looks follow at once. If they find nothing, the next ones wait: the
// other process may have no core now to take what was sent.
constexpr unsigned kLooksAgain = 256;
constexpr Nanoseconds kBetweenLooksAgain = kMillisecond;
// A part that a message has begun before its caller is mostly followed by others. So for this long the thread does not wait for silence
// before it sleeps: it would let the first message of the next part wait for a tick. Where all ranks share node memory, it waits for
// silence: there calls take some microseconds, and to wake the thread takes longer.
constexpr Nanoseconds kPartsFollow = 1000 * kMillisecond;
// Where no background thread watches the notices, the driving thread looks at them at this interval.
constexpr Nanoseconds kNoticeInterval = kMillisecond;

Nanoseconds cpu_time_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

// The thread may run functions of the program, such as operators, but no handlers of its signals.
void Lane::start_background() {
    const SignalsBlocked blocked;
    try {
        thread_.start([this] { background(); },
                      [this] {
                          stopping_ = true;
                          background_wake_.signal();
                      });
    } catch (const std::system_error& error) {
        throw Error(ErrorCode::state,
                    fmt::format("the background thread cannot be started: {}{}; with ROLLCALL_PROGRESS=host there is none",
                                error.code().message(), process_limit_advice(error.code().value())));
    }
}

void Lane::pause_background() {
    paused_.fetch_add(1, std::memory_order_relaxed);
    if (!policy_.background) return;
    // If the thread has the baton, this waits until it has given it back. When the thread takes it next, it sees that it is paused.
    take();
    release();
}

bool Lane::resume_background() {
    int paused = paused_.load(std::memory_order_relaxed);
    do {
        if (paused <= 0) return false;
    } while (!paused_.compare_exchange_weak(paused, paused - 1, std::memory_order_relaxed));
    background_wake_.signal();
    return true;
}

Nanoseconds Lane::background_cpu_time() const {
    // The thread does not end before it has got the lock, so its clock exists as long as this thread has it.
    const std::lock_guard lock(mutex_);
    return background_clock_ ? cpu_time_of(*background_clock_) : background_cpu_time_;
}

// A call that ended at once has not polled, so a parked lane is still armed, and the background thread can go on sleeping: to wake it takes
// ten times as long as the call. But if the call has sent a message, or that thread could not get the baton, somebody must look. Without
// that thread only calls look, because the program's event loop does not run meanwhile.
[[gnu::noinline]] bool Lane::leave_parked() noexcept {
    if (policy_.background && engine_.sleeps() && !poll_wanted_.load(std::memory_order_relaxed)) return true;
    unpark(false);
    poll_wanted_.store(false, std::memory_order_relaxed);
    poll();
    return true;
}

void Lane::look_at_notices() noexcept {
    bool any = false;
    while (auto notice = bootstrap_.take_notice()) {
        const std::lock_guard lock(mutex_);
        notices_.push_back(std::move(*notice));
        any = true;
    }
    if (!any) return;
    noticed_.store(true, std::memory_order_relaxed);
    // An owner that leaves now sees it, or this thread sees that the baton is free (let_go()).
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Lane::look_at_notices_if_due(Nanoseconds now) {
    if (has_background() || now < next_notice_look_) return;
    next_notice_look_ = now + kNoticeInterval;
    look_at_notices();
}

void Lane::handle_notices() noexcept {
    std::vector<bootstrap::Notice> taken;
    {
        const std::lock_guard lock(mutex_);
        taken.swap(notices_);
        noticed_.store(false, std::memory_order_relaxed);
    }
    if (!taken.empty()) engine_.take_what_has_come();
    for (const bootstrap::Notice& notice : taken) {
        if (notice.rank >= 0)
            engine_.on_death(notice.rank, notice.how);
        else
            engine_.on_job_ended(notice.how, notice.ended_by);
    }
    if (!policy_.background || !engine_.fails_later()) return;
    fails_at_.store(engine_.due(), std::memory_order_seq_cst);
    if (paused_.load(std::memory_order_seq_cst) > 0) background_wake_.signal();
}

// The background thread, while it is paused. What depends on a dead rank must fail also if no thread of the program makes progress: an
// event loop waits for that.
void Lane::fail_in_time() noexcept {
    const Nanoseconds now = monotonic_now();
    if (now < fails_at_.load(std::memory_order_relaxed)) return;
    if (!try_take(true)) return fails_at_.store(now + policy_.tick, std::memory_order_relaxed);
    const Baton baton(*this);
    engine_.take_what_has_come();
    tick_if_due(now);
    fails_at_.store(engine_.fails_later() ? engine_.due() : kNever, std::memory_order_relaxed);
}

void Lane::move_to_application_core() {
    static thread_local int bound_to = -1;
    const int cpu = application_cpu_.load(std::memory_order_relaxed);
    if (!policy_.follow_application || cpu < 0 || cpu == bound_to) return;
    if (!bind_this_thread(std::span(&cpu, 1))) bound_to = cpu;
}

/// What the background thread remembers from one look to the next.
struct Lane::BackgroundState {
    enum class Stage { looking, looking_again, parked, dormant };

    const int descriptor;  ///< The transport's.
    std::uint32_t last_polls;
    Nanoseconds last_event;  ///< When something was last seen to happen.
    Nanoseconds last_part = last_event - kPartsFollow;
    std::uint64_t parts = 0;
    unsigned idle_looks = kIdleLooks + 1;
    Stage stage = Stage::looking;
    /// So many times in a row, without finding anything: the transport may also refuse to arm while it waits for something itself.
    unsigned looked_again = 0;
    bool was_signalled = false, has_transport_event = false;  ///< What ended the last sleep.
};

void Lane::background() {
    pthread_setname_np(pthread_self(), "rollcall-lane");
    {
        const std::lock_guard lock(mutex_);
        clockid_t clock;
        if (pthread_getcpuclockid(pthread_self(), &clock) == 0) background_clock_ = clock;
    }
    // A look need not be punctual: it may share the timer interrupt of another thread.
    prctl(PR_SET_TIMERSLACK, std::min(policy_.tick, kBetweenLooksAgain));
    BackgroundState state{.descriptor = engine_.transport().descriptor(),
                          .last_polls = polls_.load(std::memory_order_relaxed),
                          .last_event = monotonic_now()};
    while (!stopping_.load()) {
        sleep_in_background(state);
        if (stopping_.load()) break;
        if (noticed_.load(std::memory_order_relaxed)) take_notices_in_background();
        if (paused_.load(std::memory_order_relaxed) > 0) {
            fail_in_time();
            continue;
        }
        if (leaves_to_callers(state)) continue;
        move_to_application_core();
        if (!try_take(true)) {
            ask_owner_to_poll(state);
            continue;
        }
        const Baton baton(*this);
        if (is_kept_away()) continue;  // since it was last looked at
        const Nanoseconds now = drive_in_background(state);
        park_if_quiet(state, now);
    }
    const std::lock_guard lock(mutex_);
    background_clock_.reset();
    background_cpu_time_ = cpu_time_of(CLOCK_THREAD_CPUTIME_ID);
}

// Sleeps until the next look, or until somebody signals. Takes in the notices that have come.
void Lane::sleep_in_background(BackgroundState& state) {
    using Stage = BackgroundState::Stage;
    pollfd descriptors[3] = {
        {background_wake_.get(), POLLIN, 0}, {bootstrap_.notice_descriptor(), POLLIN, 0}, {state.descriptor, POLLIN, 0}};
    Nanoseconds until = kNever;
    if (paused_.load(std::memory_order_relaxed) > 0) {
        state.stage = Stage::dormant;
        until = fails_at_.load(std::memory_order_relaxed);
    } else if (state.stage == Stage::looking) {
        until = monotonic_now() + policy_.tick * (state.idle_looks > kIdleLooks && state.idle_looks % 2 ? kTicksOfLongInterval : 1);
    } else if (state.stage == Stage::looking_again) {
        until = state.looked_again < kLooksAgain ? 0 : monotonic_now() + std::min(policy_.tick, kBetweenLooksAgain);
    } else if (state.stage == Stage::parked) {
        until = due_.load(std::memory_order_relaxed);
    }
    poll_until(descriptors, state.stage == Stage::parked ? 3 : 2, until);
    counters_.background_looks.fetch_add(1, std::memory_order_relaxed);
    state.was_signalled = descriptors[0].revents;
    state.has_transport_event = descriptors[2].revents;
    if (state.was_signalled) background_wake_.clear();
    if (descriptors[1].revents) look_at_notices();
}

void Lane::take_notices_in_background() {
    if (!try_take(true)) return wake_owner();
    const Baton baton(*this);
    drain();
}

// Whether callers poll and nothing else is to be done, so that this look ends here.
bool Lane::leaves_to_callers(BackgroundState& state) {
    const bool was_parked = std::exchange(state.stage, BackgroundState::Stage::looking) == BackgroundState::Stage::parked;
    const std::uint32_t polls = polls_.load(std::memory_order_relaxed);
    const bool is_called = (was_parked && state.has_transport_event) || (state.was_signalled && loop_sleeps_.load());
    if (std::exchange(state.last_polls, polls) == polls || is_called) {
        state.idle_looks = 0;
        return false;
    }
    state.last_event = monotonic_now();  // the application polls: do not disturb it
    ++state.idle_looks;
    // Calls that end at once do no work that depends on time.
    return state.last_event < due_.load(std::memory_order_relaxed) || baton_.load(std::memory_order_relaxed);
}

// The thread that has the baton may not poll either, when its calls end at once.
void Lane::ask_owner_to_poll(BackgroundState& state) {
    state.last_event = monotonic_now();
    poll_wanted_.store(true, std::memory_order_relaxed);
    // A caller that sleeps while it has the baton wakes this thread when it leaves.
    if (owner_sleeps_.load(std::memory_order_relaxed) && store_then_look(dormant_, true, owner_sleeps_))
        state.stage = BackgroundState::Stage::dormant;
}

// As the owner: moves what can move, until nothing has moved for kLinger or the baton is wanted. Returns the time of its end.
Nanoseconds Lane::drive_in_background(BackgroundState& state) {
    unsigned happened = 0;
    Nanoseconds now = monotonic_now();
    Nanoseconds last_moved = now - kLinger;
    while (!followers_.load(std::memory_order_relaxed) && !is_kept_away()) {
        const unsigned moved = poll() + drain();
        now = monotonic_now();
        // Messages may go on coming in for long, so time-driven work is done here, too.
        tick_if_due(now);
        if (now >= next_notice_look_) {
            next_notice_look_ = now + kNoticeInterval;
            look_at_notices();
        }
        if (moved) {
            happened += moved;
            last_moved = now;
            tell_of_ends();
        } else if (now - last_moved >= kLinger) {
            break;
        } else if (policy_.yield) {
            // A rank that computes would keep the core for a slice of time. A thread that sleeps gets the core when a message comes.
            if (policy_.waits_for_parts && engine_.deputies_under_way() > 0) break;
            sched_yield();
        }
    }
    tick_if_due(now);
    if (happened) {
        state.looked_again = 0;
        counters_.background_takeovers.fetch_add(1, std::memory_order_relaxed);
        state.last_event = now;
    }
    state.last_polls = polls_.load(std::memory_order_relaxed);
    return now;
}

// As the owner, after drive_in_background(), which returned `now`.
void Lane::park_if_quiet(BackgroundState& state, Nanoseconds now) {
    // A part that runs without its caller passes messages on, which other ranks wait for: it does not wait for a tick.
    if (const std::uint64_t begun = engine_.begun_before_callers(); std::exchange(state.parts, begun) != begun) state.last_part = now;
    const bool is_waited_for = engine_.deputies_under_way() > 0 || (policy_.waits_for_parts && now - state.last_part < kPartsFollow);
    const bool is_free = !followers_.load(std::memory_order_relaxed) && !is_kept_away();  // nobody waits for the baton
    if (state.descriptor < 0 || !is_free) return;
    if (!is_waited_for && !loop_sleeps_.load() && now - state.last_event < policy_.quiet) return;
    if (park()) {
        state.stage = BackgroundState::Stage::parked;
        state.looked_again = 0;
        counters_.background_parks.fetch_add(1, std::memory_order_relaxed);
    } else if (!followers_.load(std::memory_order_relaxed)) {
        state.stage = BackgroundState::Stage::looking_again;  // there is work
        state.looked_again = std::min(state.looked_again + 1, kLooksAgain);
    }
    state.last_polls = polls_.load(std::memory_order_relaxed);  // park() polls, too
}

}  // namespace rollcall::runtime
