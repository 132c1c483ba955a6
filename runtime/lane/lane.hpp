/// \file
/// A lane: an engine, and the rule by which threads drive it.
///
/// The engine has one owner at a time. The thread that holds the *baton* is the owner: it may touch the engine and the transport, and no
/// other thread may. Comments call a class or function "owner-only" when only the owner may use it.
///   - A caller that waits takes the baton and polls in its own thread, without a hand-over or a wake-up. It spins. Then it arms the
///     transport's event descriptor and sleeps on it.
///   - The background thread looks at intervals. It takes the baton only when no thread has polled for a whole interval. When nothing
///     has happened for a quiet time, it arms the descriptor and parks. So callers that wait never meet it, and early data moves while
///     the application computes, or makes calls that end at once.
///   - A caller that finds the baton taken submits what it wants to start through a queue. Then it waits until that is done or the
///     baton is free.
///   - All work that depends on time has one next time (Engine::due()). A thread that sleeps must wake at that time.
/// No wake-up is lost (store_then_look.hpp).
#pragma once

#include <atomic>
#include <concepts>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <time.h>
#include <rollcall/time.hpp>

#include "bootstrap/bootstrap.hpp"
#include "foundation/clock.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/lane/ended.hpp"
#include "runtime/lane/event_descriptor.hpp"
#include "runtime/lane/event_loop.hpp"
#include "runtime/lane/idle.hpp"
#include "runtime/lane/thread_until_exit.hpp"

namespace rollcall::runtime {

/// How a lane waits. Times are in nanoseconds. All values are data, set from Settings and the topology.
struct IdlePolicy {
    bool background = true;          ///< A background thread drives when no caller does. Otherwise the host program must drive.
    bool follow_application = true;  ///< The background thread runs on the core from which the application last called.
    bool yield = false;              ///< Yield after every empty poll: more ranks than cores share this node (see Idle).
    Nanoseconds spin = 100'000;      ///< How long a waiting caller polls before it sleeps.
    Nanoseconds tick = 500'000;      ///< Interval between looks of the background thread.
    Nanoseconds quiet = 2'000'000;   ///< Silence after which the background thread arms the descriptor and parks.
    /// Whether the messages of some ranks come over a network, so that it pays to wait for the parts that they begin here.
    bool waits_for_parts = true;
};

/// Counters of a lane. Any thread may read them at any time.
struct LaneCounters {
    std::atomic<std::uint64_t> background_takeovers{0};  ///< How often the background thread took the baton and found work.
    std::atomic<std::uint64_t> background_looks{0};      ///< How often it woke without being called.
    std::atomic<std::uint64_t> background_parks{0};
    std::atomic<std::uint64_t> caller_sleeps{0};
};

class Lane {
  public:
    /// The background thread watches the notices of `bootstrap`. Where there is none, the thread that drives the lane does. Throws
    /// Error{state} when the background thread cannot be started.
    Lane(Engine& engine, bootstrap::Bootstrap& bootstrap, const IdlePolicy& policy);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// Starts an operation or a transfer. Any thread may call it. It starts at once when the baton is free.
    void start(Waitable& waitable);
    /// Waits until it is done. Any thread may call it. Returns false when the timeout ends first; what was waited for goes on. Does not
    /// throw.
    bool wait(Waitable& waitable, Timeout timeout);
    /// Waits until one of them is done and returns its index, or -1 when the timeout ends first. No element may be null.
    int wait_any(std::span<Waitable* const> waitables, Timeout timeout);
    void wait(const Ended::Wait& wait);
    /// start() and wait() in one, without releasing the baton in between.
    bool run(Waitable& waitable, Timeout timeout);
    /// Runs `work(engine, looks)` as the owner, if that is possible at once, and returns what it returns: whether it has done all of a
    /// call. If not, the caller must use run(). Before it gives up, it may look so many times more at what another rank writes.
    template <class Work>
    bool run_at_once(Work&& work) {
        if (!try_take_as_it_is()) return false;
        const Baton baton(*this);
        if (submitted_.load(std::memory_order_relaxed) || !work(engine_, looks_)) return false;
        note_call();
        if (parked_.load(std::memory_order_relaxed)) [[unlikely]]
            return leave_parked();
        poll_if_due();
        return true;
    }
    /// As run(), for a blocking send. It also returns true when the message has been copied and will be sent from the copy
    /// (Engine::keep()).
    bool send(Transfer& transfer, Timeout timeout);
    /// Ends it with this error. Its buffers are free when this returns. It waits only where a network itself (RDMA) still reads or writes
    /// the buffers.
    void abandon(Waitable& waitable, const Error& error);
    /// The same, with the error that `make_error` returns. If there is no memory for it, or for giving up, the process ends: the caller
    /// would leave, and destroy what the lane still uses.
    template <std::invocable MakeError>
    void abandon(Waitable& waitable, const MakeError& make_error) {
        try {
            abandon(waitable, make_error());
        } catch (const std::bad_alloc&) {
            end_without_memory();
        }
    }
    /// After a failure: waits a short time until the messages about it have left, because the program may end now.
    void flush_failure_notices();
    /// Moves everything that can move, once; for programs that drive progress themselves. Returns whether anything happened.
    bool progress();
    /// A descriptor for one event loop. After prepare_to_sleep() has returned true, it becomes readable when progress() has something to
    /// do, or when something has ended. With host-driven progress it also becomes readable when a process has died. Throws Error{state}
    /// when there are no descriptors left.
    int descriptor();
    /// Returns false when there is work, or when something has ended since the last call which the caller may not have seen. With
    /// host-driven progress everything else counts, too, that may change the answer of a look for a message (Engine::look_changes()).
    bool prepare_to_sleep();
    /// Owner-only: an event loop may not have seen something that ended before, for example because it could not yet be found. Wakes the
    /// loop when the owner lets go, and makes prepare_to_sleep() return false once.
    void note_unseen_end() noexcept { finished_seen_.store(kNotSeen); }

    /// This lane, which has a background thread, serves a connection of the job with the other lane. What ends here wakes the event loop of
    /// the job. Where the job has no background thread, a caller that waits or tests here also drives the job's lane. Call it before this
    /// lane is used. The job's lane must live longer.
    void belong_to(Lane& job) noexcept {
        told_ = &job.event_loop_;
        if (!job.policy_.background) also_ = &job;
    }

    /// Waits for the baton and runs `work(engine)` as the owner. Everything this thread has started before has begun by then. For set-up
    /// and rare calls.
    template <class Work>
    void as_owner(Work&& work) {
        take();
        const Baton baton(*this);
        drain();
        work(engine_);
    }

    /// The background thread stays away until it is resumed (nested calls count): it moves nothing any more when this returns. It still
    /// takes the baton when a process has died, to take what has come, to handle the death and to begin what has been submitted, and a
    /// short time later if something fails only then. Does nothing where there is no background thread.
    void pause_background();
    bool resume_background();  ///< False: it is not paused.
    /// Ends the background thread, which exit() does, too. From now on the caller must drive progress.
    void stop_background() { thread_.end(); }
    /// The job has ended, so nothing that is still under way will end by itself. All threads that wait return as if their time were over,
    /// now and later. abandon() still works.
    void end() noexcept;

    const LaneCounters& counters() const noexcept { return counters_; }
    /// CPU time that the background thread has used, in nanoseconds, also after its end; 0 without one. Any thread may call it.
    Nanoseconds background_cpu_time() const;

  private:
    static constexpr std::uint64_t kNotSeen = ~std::uint64_t{0};
    [[noreturn]] static void end_without_memory() noexcept;
    enum class Drove : std::uint8_t { done, timed_out, wanted };

    /// Releases the baton that this thread has taken, also when an exception is thrown.
    class Baton {
      public:
        explicit Baton(Lane& lane) noexcept : lane_(lane) {}
        ~Baton() { lane_.release(); }
        Baton(const Baton&) = delete;
        Baton& operator=(const Baton&) = delete;

      private:
        Lane& lane_;
    };

    /// A thread that sleeps until its goal is reached or the baton is free. It is in the list while it sleeps.
    struct Follower {
        bool (*reached)(const void* goal);
        const void* goal;
        Follower *previous = nullptr, *next = nullptr;
        std::condition_variable wake = {};
        bool reached_goal() const { return reached(goal); }
    };

    /// The owner must not poll while the lane is parked.
    bool try_take_as_it_is() noexcept {
        return !baton_.load(std::memory_order_relaxed) && !baton_.exchange(true, std::memory_order_acquire);
    }
    bool try_take(bool in_background = false) noexcept {
        if (!try_take_as_it_is()) return false;
        if (parked_.load(std::memory_order_relaxed)) [[unlikely]]
            unpark(in_background);
        return true;
    }
    void note_call() noexcept;
    void poll_if_due() noexcept;
    bool leave_parked() noexcept;
    void take();
    bool let_go() noexcept;
    void release() noexcept;
    void release_after_work() noexcept;
    void unpark(bool in_background) noexcept;
    bool park();
    [[gnu::always_inline]] unsigned poll() noexcept {
        polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        calls_since_poll_ = 0;
        return engine_.progress();
    }
    bool tick_if_due(Nanoseconds now);  ///< Returns whether it was due.
    void look_at_notices_if_due(Nanoseconds now);
    // `Goal` is a Waitable, or any other type that has done().
    template <class Goal>
    Drove drive(const Goal& goal, Nanoseconds deadline);
    template <class Goal>
    bool follow(const Goal& goal, Nanoseconds deadline);
    /// `is_given_up`: what is waited for was abandoned. It ends also after end().
    template <class Goal>
    bool wait_until(const Goal& goal, Nanoseconds deadline, bool is_given_up = false);
    template <class Limit>
    bool run_within(Waitable& waitable, Limit limit);
    unsigned drain();
    void begin(Waitable& waitable);
    void end_unbegun(Waitable& waitable);  ///< As Engine::end_unbegun().
    void look_at_notices() noexcept;
    void handle_notices() noexcept;
    void fail_in_time() noexcept;
    void wake_owner() noexcept;
    /// Wakes the threads whose goal is reached, and one more where the baton is free for it.
    void wake_followers(bool baton_is_free) noexcept;
    void tell_of_ends() noexcept;
    void wake_loop() noexcept {
        if (loop_sleeps_.load(std::memory_order_seq_cst) && loop_sleeps_.exchange(false)) [[unlikely]]
            told_->signal();
    }
    void sleep_as_owner(Nanoseconds until);
    void start_background();
    /// False also after the thread has ended: then callers look at notices.
    bool has_background() const noexcept { return policy_.background && !stopping_.load(std::memory_order_relaxed); }
    // The background thread, and the parts of its loop (lane_background.cpp).
    struct BackgroundState;
    void background();
    void sleep_in_background(BackgroundState& state);
    void take_notices_in_background();
    bool leaves_to_callers(BackgroundState& state);
    void ask_owner_to_poll(BackgroundState& state);
    Nanoseconds drive_in_background(BackgroundState& state);
    void park_if_quiet(BackgroundState& state, Nanoseconds now);
    bool is_kept_away() const noexcept { return stopping_.load(std::memory_order_relaxed) || paused_.load(std::memory_order_relaxed) > 0; }
    void move_to_application_core();

    Engine& engine_;
    bootstrap::Bootstrap& bootstrap_;
    const IdlePolicy policy_;
    const unsigned looks_;  ///< See run_at_once().
    Lane* also_ = nullptr;  ///< The lane that callers of this one also drive (belong_to()), or null.
    LaneCounters counters_;

    alignas(64) std::atomic<bool> baton_{false};
    std::atomic<std::uint32_t> polls_{0};        ///< Grows with each poll. The owner writes it.
    std::atomic<bool> poll_wanted_{false};       ///< The background thread found the baton taken and no thread polling.
    alignas(64) std::atomic<int> followers_{0};  ///< Callers that wait for the baton, or for the end of what they started.
    std::atomic<bool> submitted_{false};
    std::atomic<bool> noticed_{false};
    std::atomic<bool> owner_sleeps_{false};        ///< The owner sleeps and holds the baton.
    std::atomic<bool> parked_{false};              ///< The baton is free, the descriptor is armed, and the board says so. Owner-only.
    std::atomic<bool> dormant_{false};             ///< The background thread sleeps until the caller that sleeps leaves.
    std::atomic<bool> loop_sleeps_{false};         ///< The host's event loop sleeps until the thread that drives leaves.
    std::atomic<std::uint64_t> told_finished_{0};  ///< Engine::finished() when other threads were last told.
    /// Engine::finished() when prepare_to_sleep() was last called, or kNotSeen.
    std::atomic<std::uint64_t> finished_seen_{0};
    std::atomic<Nanoseconds> due_{kNever};       ///< Engine::due() when the baton was last released.
    std::atomic<Nanoseconds> fails_at_{kNever};  ///< When the background thread calls tick() although it is paused.
    std::atomic<int> wanted_{0};                 ///< Threads that need the baton and cannot use the queue.
    std::atomic<int> paused_{0};
    std::atomic<bool> stopping_{false};
    std::atomic<bool> ended_{false};  ///< Only the owner sets it. So no thread drives without having seen it.
    std::atomic<int> application_cpu_{-1};

    mutable std::mutex mutex_;                                       ///< Guards the members that follow.
    Follower *first_follower_ = nullptr, *last_follower_ = nullptr;  ///< Those that sleep, in the order in which they came.
    std::vector<Waitable*> submissions_;
    std::vector<bootstrap::Notice> notices_;
    std::optional<clockid_t> background_clock_;  ///< While the background thread runs.
    Nanoseconds background_cpu_time_ = 0;        ///< After its end.
    // Owner-only:
    Idle idle_;
    std::uint32_t calls_ = 0;
    unsigned calls_since_poll_ = 0;
    std::uint64_t looks_seen_ = 0;      ///< Engine::look_changes() when prepare_to_sleep() was last called.
    Nanoseconds next_notice_look_ = 0;  ///< For a thread that drives without pause.

    EventLoop event_loop_;            ///< Open where progress is host-driven, or where the program has asked for a descriptor.
    EventLoop* told_ = &event_loop_;  ///< Sleeps while `loop_sleeps_`: this one, or that of the job (belong_to()).
    EventDescriptor owner_wake_;
    EventDescriptor background_wake_;
    ThreadUntilExit thread_;
};

}  // namespace rollcall::runtime
