#include "runtime/lane/lane.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

#include <sched.h>

#include "foundation/relax.hpp"
#include "runtime/lane/store_then_look.hpp"
#include "runtime/lane/waiting.hpp"

namespace rollcall::runtime {
namespace {

// The application's core is recorded once in this many calls.
constexpr std::uint32_t kCallsPerCoreLook = 64;
// Calls that end at once do not poll. After this many of them one call does, because peers wait for messages of their own.
constexpr unsigned kCallsWithoutPoll = 32;
// A call that may end at once looks so often for what it waits for, about a microsecond, if another core can bring it.
constexpr unsigned kLooks = 32;
// A thread that waits for the baton yields a few times before it sleeps: the background thread releases it within one poll.
constexpr int kYieldsForBaton = 8;

}  // namespace

Lane::Lane(Engine& engine, bootstrap::Bootstrap& bootstrap, const IdlePolicy& policy)
    : engine_(engine),
      bootstrap_(bootstrap),
      policy_(policy),
      looks_(policy.yield || policy.spin == 0 ? 0 : kLooks),
      idle_(policy.yield, policy.spin) {
    application_cpu_ = sched_getcpu();
    if (policy_.background)
        start_background();
    else
        event_loop_.open(engine_.transport().descriptor(), bootstrap_.notice_descriptor());
}

Lane::~Lane() { stop_background(); }

// --- the baton ---------------------------------------------------------------------------------------------------------

// Returns whether there is work that another thread has left to the owner.
inline bool Lane::let_go() noexcept {
    const std::uint64_t finished = engine_.finished();
    told_finished_.store(finished, std::memory_order_relaxed);
    due_.store(engine_.due(), std::memory_order_relaxed);
    if (store_then_look(baton_, false, followers_)) [[unlikely]]
        wake_followers(true);
    // An event loop beside a background thread is woken only when something ends. Otherwise the two would wake each other forever.
    if (!policy_.background || finished != finished_seen_.load(std::memory_order_relaxed)) wake_loop();
    return submitted_.load(std::memory_order_seq_cst) || noticed_.load(std::memory_order_seq_cst);
}

void Lane::release() noexcept {
    if (let_go()) [[unlikely]]
        release_after_work();
}

// Anything submitted while this owner was leaving would otherwise wait for the next owner.
[[gnu::noinline]] void Lane::release_after_work() noexcept {
    do {
        if (!try_take()) return;
        drain();
    } while (let_go());
}

void Lane::note_call() noexcept {
    if (++calls_ % kCallsPerCoreLook == 0) application_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
}

// After a call that may have ended at once.
void Lane::poll_if_due() noexcept {
    if (++calls_since_poll_ < kCallsWithoutPoll && !poll_wanted_.load(std::memory_order_relaxed)) [[likely]]
        return;
    poll_wanted_.store(false, std::memory_order_relaxed);
    poll();
}

bool Lane::tick_if_due(Nanoseconds now) {
    if (now < engine_.due()) return false;
    engine_.tick(now);
    if (!engine_.fails_later()) fails_at_.store(kNever, std::memory_order_relaxed);
    return true;
}

// Arms the descriptor and says on the board that no thread looks. Returns false when there is work.
bool Lane::park() {
    transport::Transport& transport = engine_.transport();
    engine_.set_sleeping(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (poll() + drain() == 0 && transport.arm()) {
        parked_.store(true, std::memory_order_relaxed);
        return true;
    }
    engine_.set_sleeping(false);
    return false;
}

// A new owner found the lane parked. It will take the events for which the descriptor was armed, and with them the wake-up of the thread
// that sleeps on the descriptor. So it must tell that thread to look again. (The background thread must not tell itself: it would wake
// itself forever. It may tell an event loop, which clears this signal before it parks.)
void Lane::unpark(bool in_background) noexcept {
    parked_.store(false, std::memory_order_relaxed);
    engine_.set_sleeping(false);
    if (!policy_.background)
        event_loop_.signal();
    else if (!in_background)
        background_wake_.signal();
}

void Lane::wake_followers(bool baton_is_free) noexcept {
    const std::lock_guard lock(mutex_);
    for (Follower* follower = first_follower_; follower; follower = follower->next)
        if (follower->reached_goal()) {
            follower->wake.notify_one();
        } else if (std::exchange(baton_is_free, false)) {
            follower->wake.notify_one();
        }
}

// Tells other threads what has ended, while this thread drives.
void Lane::tell_of_ends() noexcept {
    if (engine_.finished() == told_finished_.load(std::memory_order_relaxed)) return;
    if (store_then_look(told_finished_, engine_.finished(), followers_)) wake_followers(false);
    wake_loop();
}

void Lane::wake_owner() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (owner_sleeps_.load(std::memory_order_relaxed)) owner_wake_.signal();
}

void Lane::take() {
    if (try_take()) return;
    struct Never {
        static bool done() noexcept { return false; }
    };
    wanted_.fetch_add(1, std::memory_order_seq_cst);
    bool taken = false;
    for (int i = 0; i < kYieldsForBaton && !(taken = try_take()); ++i) sched_yield();
    while (!taken) {
        wake_owner();
        follow(Never(), kNever);
        taken = try_take();
    }
    wanted_.fetch_sub(1, std::memory_order_relaxed);
}

// Work that this thread has submitted before begins first: operations of a communicator begin in the order of their calls.
[[gnu::always_inline]] inline void Lane::begin(Waitable& waitable) {
    note_call();
    try {
        if (submitted_.load(std::memory_order_relaxed)) [[unlikely]]
            drain();
        engine_.begin(waitable);
    } catch (...) {
        end_unbegun(waitable);
        throw;
    }
    poll_if_due();
}

[[gnu::noinline]] void Lane::end_unbegun(Waitable& waitable) {
    engine_.end_unbegun(waitable);
    while (!waitable.done()) drive(waitable, kNever);  // its buffers are still in use
}

// --- callers -------------------------------------------------------------------------------------------------------------

void Lane::start(Waitable& waitable) {
    if (try_take()) {
        const Baton baton(*this);
        return begin(waitable);
    }
    try {
        const std::lock_guard lock(mutex_);
        submissions_.push_back(&waitable);
        submitted_.store(true, std::memory_order_seq_cst);
    } catch (const std::bad_alloc&) {
        as_owner([&](Engine&) { end_unbegun(waitable); });
        throw;
    }
    wake_owner();
    // The owner may have left between this thread's look at the baton and its entry in the queue.
    if (try_take()) {
        const Baton baton(*this);
        drain();
    }
}

// Waits while another thread drives. Returns true when the goal is reached or the baton may be free, and false when the time is over.
template <class Goal>
bool Lane::follow(const Goal& goal, Nanoseconds deadline) {
    const auto over = [&] { return goal.done() || !baton_.load(std::memory_order_seq_cst); };
    followers_.fetch_add(1, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // Threads that call in turns get the baton from each other within microseconds, whereas a wake-up takes tens of microseconds.
    const Nanoseconds patience = monotonic_now() + policy_.spin;
    while (!over() && monotonic_now() < std::min(patience, deadline)) sched_yield();
    bool in_time = true;
    if (!over()) {
        Follower self{[](const void* its) { return static_cast<const Goal*>(its)->done(); }, &goal};
        std::unique_lock lock(mutex_);
        self.previous = std::exchange(last_follower_, &self);
        (self.previous ? self.previous->next : first_follower_) = &self;
        while (in_time && !over()) {
            if (deadline == kNever) {
                self.wake.wait(lock);
            } else {
                const Nanoseconds left = deadline - monotonic_now();
                in_time = left > 0;
                if (in_time) self.wake.wait_for(lock, std::chrono::nanoseconds(left));
            }
        }
        (self.previous ? self.previous->next : first_follower_) = self.next;
        (self.next ? self.next->previous : last_follower_) = self.previous;
    }
    followers_.fetch_sub(1, std::memory_order_relaxed);
    // This thread was woken for the baton and does not need it: wake the next one.
    if ((goal.done() || !in_time) && followers_.load(std::memory_order_seq_cst) && !baton_.load(std::memory_order_seq_cst))
        wake_followers(true);
    return in_time;
}

// Polls until the goal is reached, the time is over, or another thread needs the baton for work that cannot be queued.
template <class Goal>
Lane::Drove Lane::drive(const Goal& goal, Nanoseconds deadline) {
    bool slept = false;
    Drove result = Drove::done;
    idle_.begin();
    for (;;) {
        unsigned happened = poll();
        if (goal.done()) break;
        if (submitted_.load(std::memory_order_relaxed) || noticed_.load(std::memory_order_relaxed)) {
            happened += drain();
            if (goal.done()) break;
        }
        tell_of_ends();
        if (engine_.gives_way() && policy_.yield) [[unlikely]]
            sched_yield();
        const Idle::Step step = idle_.polled(happened != 0);
        if (step == Idle::Step::yield) {
            sched_yield();  // on a busy machine this takes a turn of all other processes
            if (!wanted_.load(std::memory_order_relaxed) && (deadline == kNever || monotonic_now() < deadline)) continue;
            poll();  // what came in that turn is in time
            if (goal.done()) break;
        } else if (step != Idle::Step::look) {
            if (step == Idle::Step::relax) relax();
            continue;
        }
        const Nanoseconds before = monotonic_now();
        if (const bool is_over = before >= deadline; is_over || wanted_.load(std::memory_order_relaxed)) {
            // All waits of a program may be over at their first look, for example if their timeout is 0. So this look is like any other.
            look_at_notices_if_due(before);
            tick_if_due(before);
            if (is_over && also_) also_->progress();
            result = goal.done() ? Drove::done : is_over ? Drove::timed_out : Drove::wanted;
            break;
        }
        if (tick_if_due(before)) continue;  // the end of what it moved is looked at before anything else
        look_at_notices_if_due(before);
        if (also_ && also_->progress()) continue;
        if (!idle_.parks_at_once(before)) {
            sched_yield();
            const Nanoseconds after = monotonic_now();
            // Where ranks share cores anyway, what comes in a yield tells nothing.
            const bool came = !policy_.yield && poll() != 0;
            if (!idle_.looked(before, after, came)) continue;
        }
        sleep_as_owner(std::min(deadline, engine_.due()));
        idle_.slept(before, monotonic_now());
        slept = true;
    }
    if (slept) {
        application_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
        if (dormant_.exchange(false)) background_wake_.signal();
    }
    return result;
}

template <class Goal>
bool Lane::wait_until(const Goal& goal, Nanoseconds deadline, bool is_given_up) {
    struct OrEnd {
        const Goal& goal;
        const std::atomic<bool>* ended;
        bool has_ended() const noexcept { return ended && ended->load(std::memory_order_acquire); }
        bool done() const { return goal.done() || has_ended(); }
    };
    const OrEnd either{goal, is_given_up ? nullptr : &ended_};
    while (!goal.done()) {
        if (either.has_ended()) return goal.done();
        if (!try_take()) {
            if (!follow(either, deadline)) return goal.done();
            continue;
        }
        Drove drove = Drove::done;
        {
            const Baton baton(*this);
            note_call();
            // end() takes the baton, so only the goal need be looked at while this thread has it.
            if (either.has_ended()) return goal.done();
            if (!goal.done()) drove = drive(goal, deadline);
        }
        if (drove != Drove::wanted) return drove == Drove::done;
        for (int i = 0; i < kYieldsForBaton && wanted_.load(std::memory_order_relaxed); ++i) sched_yield();
    }
    return true;
}

// Runs it until limit(), which is only asked if it is not done at once.
template <class Limit>
[[gnu::always_inline]] inline bool Lane::run_within(Waitable& waitable, Limit limit) {
    if (!try_take()) {
        start(waitable);
        return wait_until(waitable, limit());
    }
    Drove drove = Drove::done;
    Nanoseconds until = kNever;
    {
        const Baton baton(*this);
        begin(waitable);
        if (!waitable.done()) drove = ended_.load(std::memory_order_relaxed) ? Drove::timed_out : drive(waitable, until = limit());
    }
    return drove == Drove::wanted ? wait_until(waitable, until) : drove == Drove::done;
}

bool Lane::run(Waitable& waitable, Timeout timeout) {
    const Nanoseconds deadline = deadline_after(timeout);
    return run_within(waitable, [&] { return deadline; });
}

bool Lane::send(Transfer& transfer, Timeout timeout) {
    const Nanoseconds deadline = deadline_after(timeout);
    Nanoseconds until = kNever;
    const bool done = run_within(transfer, [&] {
        const Nanoseconds patience = engine_.patience(transfer);
        return until = patience == kNever ? deadline : std::min(deadline, monotonic_now() + patience);
    });
    if (done || until == deadline) return done;
    as_owner([&](Engine& engine) {
        if (!transfer.done()) engine.keep(transfer);
    });
    return wait_until(transfer, deadline);
}

bool Lane::wait(Waitable& waitable, Timeout timeout) { return waitable.done() || wait_until(waitable, deadline_after(timeout)); }
void Lane::wait(const Ended::Wait& wait) { wait_until(wait, wait.until); }

int Lane::wait_any(std::span<Waitable* const> waitables, Timeout timeout) {
    struct AnyOf {
        std::span<Waitable* const> waitables;
        int first() const {
            for (std::size_t i = 0; i < waitables.size(); ++i)
                if (waitables[i]->done()) return static_cast<int>(i);
            return -1;
        }
        bool done() const { return first() >= 0; }
    };
    const AnyOf any{waitables};
    if (!any.done()) wait_until(any, deadline_after(timeout));
    return any.first();
}

// The owner sleeps on the transport's descriptor and keeps the baton.
void Lane::sleep_as_owner(Nanoseconds until) {
    transport::Transport& transport = engine_.transport();
    const int descriptor = transport.descriptor();
    if (descriptor < 0) {
        sched_yield();
        return;
    }
    counters_.caller_sleeps.fetch_add(1, std::memory_order_relaxed);
    owner_sleeps_.store(true, std::memory_order_seq_cst);
    engine_.set_sleeping(true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (poll() == 0 && !submitted_.load() && !noticed_.load() && !wanted_.load() && transport.arm()) {
        pollfd descriptors[3] = {{descriptor, POLLIN, 0}, {owner_wake_.get(), POLLIN, 0}, {bootstrap_.notice_descriptor(), POLLIN, 0}};
        const nfds_t count = has_background() ? 2 : 3;
        const auto next_look = [&](bool again) { return !also_ ? until : again ? 0 : std::min(until, monotonic_now() + policy_.tick); };
        for (bool moved = false; poll_until(descriptors, count, next_look(moved)) == 0 && also_ && monotonic_now() < until;)
            moved = also_->progress();
        if (descriptors[1].revents) owner_wake_.clear();
        if (count == 3 && descriptors[2].revents) look_at_notices();
    }
    engine_.set_sleeping(false);
    owner_sleeps_.store(false, std::memory_order_seq_cst);  // must come before the look at dormant_
}

void Lane::abandon(Waitable& waitable, const Error& error) {
    as_owner([&](Engine& engine) {
        if (!waitable.done()) waitable.abandon(engine, error);
    });
    if (!waitable.done()) wait_until(waitable, kNever, true);
}

}  // namespace rollcall::runtime
