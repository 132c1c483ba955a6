#include "runtime/lane/lane.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/topology/binding.hpp"

namespace rollcall::runtime {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
// A look at the clock costs 22 ns, an empty poll 30 to 100: look every so many empty polls.
constexpr unsigned kPollsPerClockLook = 32;
// A pause instruction leaves a hyper-thread's sibling more of the core, but costs 40 ns: not while a quick answer may come.
constexpr unsigned kPollsBeforeRelax = 512;
// With yields a round is a scheduling round: the clock is cheap against it.
constexpr unsigned kYieldsPerClockLook = 8;
// The application's core is noted every so many calls.
constexpr std::uint32_t kCallsPerCoreLook = 64;
// A follower yields this often before it sleeps: the background thread gives the baton back within one poll.
constexpr int kFollowerYields = 8;
// Where no background thread watches the notices, the driver does, at this interval.
constexpr Nanoseconds kNoticeInterval = 1'000'000;
// A thread that needs the baton looks again after this time, should a waiting caller have been quicker.
constexpr std::chrono::microseconds kTakeRetry{200};
// How long the background thread polls after something has moved.
constexpr Nanoseconds kLinger = 50'000;
// How often a lane that has calls under way looks after time-driven work, at the latest.
constexpr Nanoseconds kTickInterval = 10'000'000;
// And a sleeping one.
constexpr Nanoseconds kSleepingTick = 50'000'000;

void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

Nanoseconds add(Nanoseconds time, Nanoseconds span) noexcept { return span > kNever - time ? kNever : time + span; }

Nanoseconds deadline_of(Timeout timeout) noexcept { return timeout == kForever ? kNever : add(monotonic_now(), timeout.count()); }

void poll_until(pollfd* descriptors, nfds_t count, Nanoseconds until) noexcept {
    if (until == kNever) {
        ::poll(descriptors, count, -1);
        return;
    }
    const Nanoseconds left = std::max<Nanoseconds>(0, until - monotonic_now());
    const timespec time{left / 1'000'000'000, left % 1'000'000'000};
    ::ppoll(descriptors, count, &time, nullptr);
}

}  // namespace

Nanoseconds monotonic_now() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return Nanoseconds{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Lane::Lane(Engine& engine, bootstrap::Bootstrap& bootstrap, const IdlePolicy& policy)
    : engine_(engine), bootstrap_(bootstrap), policy_(policy) {
    application_cpu_ = sched_getcpu();
    if (policy_.background)
        thread_ = std::thread([this] { background(); });
    else
        open_event_loop();
}

Lane::~Lane() {
    stop_background();
    if (event_loop_ >= 0) close(event_loop_);
}

void Lane::open_event_loop() {
    event_loop_ = epoll_create1(EPOLL_CLOEXEC);
    bool added = event_loop_ >= 0;
    for (const int descriptor : {engine_.transport().descriptor(), bootstrap_.notice_descriptor()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (descriptor >= 0) added = added && epoll_ctl(event_loop_, EPOLL_CTL_ADD, descriptor, &event) == 0;
    }
    if (!added)
        throw Error(ErrorCode::state,
                    fmt::format("cannot make a descriptor for host-driven progress: {}; raise the limit of open files (ulimit -n)",
                                std::strerror(errno)));
}

void Lane::stop_background() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    background_wake_.signal();
    thread_.join();
    thread_id_ = 0;
}

void Lane::resume_background() {
    paused_.fetch_sub(1, std::memory_order_relaxed);
    background_wake_.signal();
}

Nanoseconds Lane::background_cpu_time() const {
    if (!thread_id_.load()) return 0;
    clockid_t clock;
    timespec time{};
    if (pthread_getcpuclockid(const_cast<std::thread&>(thread_).native_handle(), &clock) != 0) return 0;
    clock_gettime(clock, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// --- the baton ---------------------------------------------------------------------------------------------------------

void Lane::release() noexcept {
    // What was submitted while this owner was leaving would otherwise wait for the next one.
    for (;;) {
        if (engine_.finished() != told_finished_) {
            told_finished_ = engine_.finished();
            if (followers_.load(std::memory_order_relaxed)) wake_followers();
        }
        busy_.store(engine_.busy(), std::memory_order_relaxed);
        // Sequentially consistent: a follower counts itself, then tries the baton; the owner frees it, then counts.
        baton_.exchange(false, std::memory_order_seq_cst);
        if (followers_.load(std::memory_order_seq_cst)) wake_followers();
        if (!submitted_.load(std::memory_order_relaxed) && !noticed_.load(std::memory_order_relaxed)) return;
        if (!try_take()) return;
        drain();
    }
}

void Lane::note_call() noexcept {
    const std::uint32_t activity = activity_.load(std::memory_order_relaxed) + 1;
    activity_.store(activity, std::memory_order_relaxed);
    if (activity % kCallsPerCoreLook == 0) application_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
}

// Arms the descriptor and says on the board that nobody looks. False: something is there.
bool Lane::park() {
    transport::Transport& transport = engine_.transport();
    set_sleeping(transport.board(), true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (engine_.progress() + drain() == 0 && transport.arm()) {
        parked_.store(true, std::memory_order_relaxed);
        return true;
    }
    set_sleeping(transport.board(), false);
    return false;
}

// A new owner found the lane parked. It will take the events for which the descriptor was armed, and with them the
// wake-up of the background thread: so that thread must be told to begin its looks again. (Not by itself: it would wake
// itself for ever.)
void Lane::unpark(bool in_background) noexcept {
    parked_.store(false, std::memory_order_relaxed);
    set_sleeping(engine_.transport().board(), false);
    if (policy_.background && !in_background) background_wake_.signal();
}

void Lane::wake_followers() noexcept {
    // The lock makes sure that a follower that has looked and not yet slept is not missed.
    { const std::lock_guard lock(mutex_); }
    followers_wake_.notify_all();
}

void Lane::wake_owner() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (owner_sleeps_.load(std::memory_order_relaxed)) owner_wake_.signal();
}

void Lane::take() {
    if (try_take()) return;
    wanted_.fetch_add(1, std::memory_order_seq_cst);
    followers_.fetch_add(1, std::memory_order_seq_cst);
    bool taken = false;
    for (int i = 0; i < kFollowerYields && !(taken = try_take()); ++i) sched_yield();
    if (!taken) {
        wake_owner();
        std::unique_lock lock(mutex_);
        while (!try_take()) followers_wake_.wait_for(lock, kTakeRetry);
    }
    followers_.fetch_sub(1, std::memory_order_relaxed);
    wanted_.fetch_sub(1, std::memory_order_relaxed);
}

unsigned Lane::drain() {
    unsigned happened = 0;
    if (submitted_.load(std::memory_order_relaxed)) {
        std::vector<Waitable*> taken;
        {
            const std::lock_guard lock(mutex_);
            taken.swap(submissions_);
            submitted_.store(false, std::memory_order_relaxed);
        }
        for (Waitable* waitable : taken) waitable->begin(engine_);
        happened += static_cast<unsigned>(taken.size());
    }
    if (noticed_.load(std::memory_order_relaxed)) {
        handle_notices();
        ++happened;
    }
    return happened;
}

// What this thread has submitted before comes first: operations of a communicator begin in the order of their calls.
void Lane::begin(Waitable& waitable) {
    if (submitted_.load(std::memory_order_relaxed)) [[unlikely]]
        drain();
    waitable.begin(engine_);
    if (engine_.take_unserved()) engine_.progress();
}

// --- callers -------------------------------------------------------------------------------------------------------------

void Lane::start(Waitable& waitable) {
    if (try_take()) {
        note_call();
        begin(waitable);
        release();
        return;
    }
    counters_.submissions.fetch_add(1, std::memory_order_relaxed);
    {
        const std::lock_guard lock(mutex_);
        submissions_.push_back(&waitable);
        submitted_.store(true, std::memory_order_seq_cst);
    }
    wake_owner();
    // The owner may have left between the look at the baton and the entry in the queue.
    if (try_take()) {
        drain();
        release();
    }
}

// Waits while somebody else drives. True: done, or the baton may be free; false: the time is over.
template <class Goal>
bool Lane::follow(const Goal& waitable, Nanoseconds deadline) {
    followers_.fetch_add(1, std::memory_order_seq_cst);
    bool in_time = true;
    for (int i = 0; i < kFollowerYields && !waitable.done() && baton_.load(std::memory_order_seq_cst); ++i) sched_yield();
    {
        std::unique_lock lock(mutex_);
        while (!waitable.done() && baton_.load(std::memory_order_seq_cst)) {
            if (deadline == kNever) {
                followers_wake_.wait(lock);
            } else {
                const Nanoseconds left = deadline - monotonic_now();
                if (left <= 0) {
                    in_time = false;
                    break;
                }
                followers_wake_.wait_for(lock, std::chrono::nanoseconds(left));
            }
        }
    }
    followers_.fetch_sub(1, std::memory_order_relaxed);
    return in_time;
}

// Polls until it is done, the time is over, or another thread needs the baton for something that cannot be queued.
template <class Goal>
Lane::Drove Lane::drive(const Goal& waitable, Nanoseconds deadline) {
    unsigned empty = 0;
    bool slept = false;
    Nanoseconds empty_since = 0;
    Drove result = Drove::done;
    const unsigned looks_every = policy_.yield ? kYieldsPerClockLook : kPollsPerClockLook;
    for (;;) {
        unsigned happened = engine_.progress();
        if (waitable.done()) break;
        if (submitted_.load(std::memory_order_relaxed) || noticed_.load(std::memory_order_relaxed)) {
            happened += drain();
            if (waitable.done()) break;
        }
        if (engine_.finished() != told_finished_) {
            told_finished_ = engine_.finished();
            if (followers_.load(std::memory_order_relaxed)) wake_followers();
        }
        if (happened) {
            empty = 0;
            empty_since = 0;
        } else {
            if (policy_.yield)
                sched_yield();
            else if (empty > kPollsBeforeRelax)
                relax();
        }
        if (++empty % looks_every != 0) continue;

        const Nanoseconds now = monotonic_now();
        if (now >= deadline) {
            result = Drove::timed_out;
            break;
        }
        if (wanted_.load(std::memory_order_relaxed)) {
            result = Drove::wanted;
            break;
        }
        if (now >= next_tick_) {
            next_tick_ = std::min(add(now, kTickInterval), engine_.tick(now));
            if (waitable.done()) break;
        }
        if (!policy_.background && now >= next_notice_look_) {
            next_notice_look_ = now + kNoticeInterval;
            look_at_notices();
        }
        if (!empty_since) empty_since = now;
        if (now - empty_since < policy_.spin) continue;
        sleep_as_owner(std::min(deadline, add(now, kSleepingTick)));
        slept = true;
        empty_since = 0;
    }
    if (slept) {
        application_cpu_.store(sched_getcpu(), std::memory_order_relaxed);
        if (dormant_.exchange(false)) background_wake_.signal();
    }
    return result;
}

template <class Goal>
bool Lane::wait_for(const Goal& waitable, Timeout timeout) {
    const Nanoseconds deadline = waitable.done() ? 0 : deadline_of(timeout);
    while (!waitable.done()) {
        if (!try_take()) {
            if (!follow(waitable, deadline)) return waitable.done();
            continue;
        }
        note_call();
        const Drove drove = waitable.done() ? Drove::done : drive(waitable, deadline);
        release();
        if (drove != Drove::wanted) return drove == Drove::done;
        for (int i = 0; i < kFollowerYields && wanted_.load(std::memory_order_relaxed); ++i) sched_yield();
    }
    return true;
}

bool Lane::run(Waitable& waitable, Timeout timeout) {
    if (!try_take()) {
        start(waitable);
        return wait(waitable, timeout);
    }
    note_call();
    begin(waitable);
    if (waitable.done()) {
        release();
        return true;
    }
    const Nanoseconds deadline = deadline_of(timeout);
    const Drove drove = drive(waitable, deadline);
    release();
    if (drove != Drove::wanted) return drove == Drove::done;
    return wait(waitable, deadline == kNever ? kForever : Timeout(std::max<Nanoseconds>(0, deadline - monotonic_now())));
}

bool Lane::wait(Waitable& waitable, Timeout timeout) { return wait_for(waitable, timeout); }

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
    wait_for(any, timeout);
    return any.first();
}

// The owner sleeps on the transport's descriptor, with the baton in its hand.
void Lane::sleep_as_owner(Nanoseconds until) {
    transport::Transport& transport = engine_.transport();
    const int descriptor = transport.descriptor();
    if (descriptor < 0) {
        sched_yield();
        return;
    }
    counters_.caller_sleeps.fetch_add(1, std::memory_order_relaxed);
    owner_sleeps_.store(true, std::memory_order_seq_cst);
    set_sleeping(transport.board(), true);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (engine_.progress() == 0 && !submitted_.load() && !noticed_.load() && !wanted_.load() && transport.arm()) {
        pollfd descriptors[3] = {{descriptor, POLLIN, 0}, {owner_wake_.get(), POLLIN, 0}, {bootstrap_.notice_descriptor(), POLLIN, 0}};
        poll_until(descriptors, policy_.background ? 2 : 3, until);
        if (descriptors[1].revents) owner_wake_.clear();
    }
    set_sleeping(transport.board(), false);
    owner_sleeps_.store(false, std::memory_order_relaxed);
}

void Lane::abandon(Waitable& waitable, const Error& error) {
    as_owner([&](Engine& engine) {
        drain();
        if (!waitable.done()) waitable.abandon(engine, error);
    });
    wait(waitable, kForever);  // bounded: the engine cuts the connection of a peer that does not let go
}

bool Lane::progress() {
    if (!try_take()) return false;
    note_call();
    const Nanoseconds now = monotonic_now();
    if (!policy_.background && now >= next_notice_look_) {
        next_notice_look_ = now + kNoticeInterval;
        look_at_notices();
    }
    const unsigned happened = engine_.progress() + drain();
    if (now >= next_tick_) next_tick_ = std::min(add(now, kTickInterval), engine_.tick(now));
    release();
    return happened != 0;
}

bool Lane::prepare_to_sleep() {
    if (!try_take()) return false;
    // What one request's test() moved on may have ended another that was tested before it.
    if (std::exchange(finished_seen_, engine_.finished()) != engine_.finished()) {
        release();
        return false;
    }
    if (!policy_.background) look_at_notices();
    const bool quiet = park();
    release();
    return quiet;
}

// --- notices of deaths -----------------------------------------------------------------------------------------------------

void Lane::look_at_notices() {
    bool any = false;
    while (auto notice = bootstrap_.take_notice()) {
        const std::lock_guard lock(mutex_);
        notices_.push_back(std::move(*notice));
        any = true;
    }
    if (any) noticed_.store(true, std::memory_order_seq_cst);
}

void Lane::handle_notices() {
    std::vector<bootstrap::Notice> taken;
    {
        const std::lock_guard lock(mutex_);
        taken.swap(notices_);
        noticed_.store(false, std::memory_order_relaxed);
    }
    for (const bootstrap::Notice& notice : taken) {
        if (notice.rank >= 0)
            engine_.on_death(notice.rank, notice.how);
        else
            engine_.on_job_ended(notice.how);
    }
}

// --- the background thread ---------------------------------------------------------------------------------------------------

void Lane::move_to_application_core() {
    static thread_local int bound_to = -1;
    const int cpu = application_cpu_.load(std::memory_order_relaxed);
    if (!policy_.follow_application || cpu < 0 || cpu == bound_to) return;
    if (!bind_this_thread(std::span(&cpu, 1))) bound_to = cpu;
}

void Lane::background() {
    pthread_setname_np(pthread_self(), "rollcall-lane");
    thread_id_ = static_cast<int>(syscall(SYS_gettid));
    const int descriptor = engine_.transport().descriptor();
    std::uint32_t last_activity = activity_.load(std::memory_order_relaxed);
    Nanoseconds last_event = monotonic_now();
    enum { looking, parked, dormant } state = looking;

    while (!stopping_.load()) {
        pollfd descriptors[3] = {{background_wake_.get(), POLLIN, 0}, {bootstrap_.notice_descriptor(), POLLIN, 0}, {descriptor, POLLIN, 0}};
        Nanoseconds until = kNever;
        if (paused_.load(std::memory_order_relaxed) > 0)
            state = dormant;
        else if (state == looking)
            until = monotonic_now() + policy_.tick;
        else if (state == parked && busy_.load(std::memory_order_relaxed))
            until = monotonic_now() + kSleepingTick;
        poll_until(descriptors, state == parked ? 3 : 2, until);
        counters_.background_looks.fetch_add(1, std::memory_order_relaxed);
        if (descriptors[0].revents) background_wake_.clear();
        if (descriptors[1].revents) look_at_notices();
        if (stopping_.load()) break;
        if (noticed_.load(std::memory_order_relaxed)) {
            if (try_take(true)) {
                drain();
                release();
            } else {
                wake_owner();
            }
        }
        if (paused_.load(std::memory_order_relaxed) > 0) continue;

        const bool was_parked = std::exchange(state, looking) == parked;
        const std::uint32_t activity = std::exchange(last_activity, activity_.load(std::memory_order_relaxed));
        if (activity != last_activity && !(was_parked && descriptors[2].revents)) {
            last_event = monotonic_now();  // the application calls: leave it alone
            continue;
        }
        move_to_application_core();
        if (!try_take(true)) {
            last_event = monotonic_now();
            // A caller that sleeps inside wakes this thread when it leaves.
            if (owner_sleeps_.load(std::memory_order_relaxed)) {
                dormant_.store(true, std::memory_order_seq_cst);
                if (owner_sleeps_.load(std::memory_order_seq_cst)) state = dormant;
            }
            continue;
        }
        // Where something moves, more of it follows: a large message comes in pieces.
        unsigned happened = 0;
        Nanoseconds now = monotonic_now();
        Nanoseconds last_moved = now - kLinger;
        while (!followers_.load(std::memory_order_relaxed)) {
            const unsigned moved = engine_.progress() + drain();
            now = monotonic_now();
            if (moved) {
                happened += moved;
                last_moved = now;
            } else if (now - last_moved >= kLinger) {
                break;
            } else if (policy_.yield) {
                sched_yield();
            }
        }
        if (now >= next_tick_) next_tick_ = std::min(add(now, kTickInterval), engine_.tick(now));
        if (happened) {
            counters_.background_takeovers.fetch_add(1, std::memory_order_relaxed);
            last_event = now;
        }
        if (descriptor >= 0 && now - last_event >= policy_.quiet && park()) {
            state = parked;
            counters_.background_parks.fetch_add(1, std::memory_order_relaxed);
        }
        release();
    }
}

}  // namespace rollcall::runtime
