/// \file
/// A lane: an engine, and the rule by which threads drive it.
///
/// One owner at a time. Whoever holds the *baton* may touch the engine and the transport; nobody else does.
///   - A waiting caller takes the baton and polls inline: no hand-over, no wake-up. It spins, then arms the transport's
///     event descriptor and sleeps on it in its own thread.
///   - The background thread looks at intervals. Only when no caller has been inside for a whole interval does it take
///     the baton; when nothing has happened for a quiet time, it arms and parks. So calls that follow each other never
///     meet it, and early data moves while the application computes.
///   - A caller that finds the baton taken submits what it wants to start through a queue, and sleeps until it is done
///     or the baton is free.
/// No wake-up is lost: who goes to sleep says so (sequentially consistent), then looks once more, then sleeps; who adds
/// work adds it first, then looks whether the owner sleeps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <rollcall/time.hpp>

#include "runtime/bootstrap/bootstrap.hpp"
#include "runtime/lane/engine.hpp"
#include "runtime/lane/event_descriptor.hpp"

namespace rollcall::runtime {

/// How a lane waits. Times in nanoseconds; all of it is data, set from Settings and topology.
struct IdlePolicy {
    bool background = true;          ///< A background thread drives when no caller does; else the host program must.
    bool follow_application = true;  ///< The background thread runs on the core the application last called from.
    bool yield = false;              ///< Yield in every empty poll: more ranks than cores share this node.
    Nanoseconds spin = 100'000;      ///< A waiting caller polls this long before it sleeps.
    Nanoseconds tick = 500'000;      ///< Between looks of the background thread.
    Nanoseconds quiet = 2'000'000;   ///< Silence after which the background thread arms and parks.
};

/// Counters of a lane, read at any time by any thread.
struct LaneCounters {
    std::atomic<std::uint64_t> background_takeovers{0};  ///< Times the background thread took the baton and found work.
    std::atomic<std::uint64_t> background_looks{0};      ///< Times it woke without being called.
    std::atomic<std::uint64_t> background_parks{0};
    std::atomic<std::uint64_t> caller_sleeps{0};
    std::atomic<std::uint64_t> submissions{0};  ///< Things started through the queue.
};

class Lane {
  public:
    /// Notices of `bootstrap` are watched by the background thread, or by whoever drives where there is none.
    Lane(Engine& engine, bootstrap::Bootstrap& bootstrap, const IdlePolicy& policy);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// Starts an operation or a transfer; from any thread. Inline when the baton is free.
    void start(Waitable& waitable);
    /// Waits until it is done; any thread. False when the time is over first (it goes on). Throws nothing.
    bool wait(Waitable& waitable, Timeout timeout);
    /// Waits until one of them is done and gives its index, or -1 when the time is over first. None may be null.
    int wait_any(std::span<Waitable* const> waitables, Timeout timeout);
    /// start() and wait() in one, without giving the baton back in between.
    bool run(Waitable& waitable, Timeout timeout);
    /// Ends it with this error and waits until its buffers are free. Bounded by the engine's grace.
    void abandon(Waitable& waitable, const Error& error);
    /// Moves what can move, once; for programs that drive progress themselves. Returns whether anything happened.
    bool progress();
    /// For an event loop: becomes readable when progress() has something to do, once prepare_to_sleep() was true. With
    /// host-driven progress it also tells of deaths.
    int descriptor() const noexcept { return event_loop_ >= 0 ? event_loop_ : engine_.transport().descriptor(); }
    /// False: something is there, or something has ended since it was last asked, which the caller may not have seen.
    bool prepare_to_sleep();

    /// Runs `work(engine)` as the owner; waits for the baton. What this thread has started before has begun then. For set-up
    /// and rare things.
    template <class Work>
    void as_owner(Work&& work) {
        take();
        drain();
        work(engine_);
        release();
    }

    /// The background thread keeps away until resumed (nested calls count). Does nothing without one.
    void pause_background() { paused_.fetch_add(1, std::memory_order_relaxed); }
    void resume_background();
    /// Ends the background thread; progress is the caller's from now on.
    void stop_background();

    const LaneCounters& counters() const noexcept { return counters_; }
    /// CPU time the background thread has used, or 0.
    Nanoseconds background_cpu_time() const;

  private:
    enum class Drove : std::uint8_t { done, timed_out, wanted };

    bool try_take(bool in_background = false) noexcept {
        if (baton_.load(std::memory_order_relaxed) || baton_.exchange(true, std::memory_order_acquire)) return false;
        if (parked_.load(std::memory_order_relaxed)) [[unlikely]]
            unpark(in_background);
        return true;
    }
    void note_call() noexcept;
    void take();
    void release() noexcept;
    void unpark(bool in_background) noexcept;
    bool park();
    // `Goal` is a Waitable, or anything else with done().
    template <class Goal>
    Drove drive(const Goal& goal, Nanoseconds deadline);
    template <class Goal>
    bool follow(const Goal& goal, Nanoseconds deadline);
    template <class Goal>
    bool wait_for(const Goal& goal, Timeout timeout);
    unsigned drain();
    void begin(Waitable& waitable);
    void open_event_loop();
    void look_at_notices();
    void handle_notices();
    void wake_owner() noexcept;
    void wake_followers() noexcept;
    void sleep_as_owner(Nanoseconds until);
    void background();
    void move_to_application_core();

    Engine& engine_;
    bootstrap::Bootstrap& bootstrap_;
    const IdlePolicy policy_;
    LaneCounters counters_;

    alignas(64) std::atomic<bool> baton_{false};
    std::atomic<std::uint32_t> activity_{0};     ///< Grows with each call from the application.
    alignas(64) std::atomic<int> followers_{0};  ///< Callers that wait for the baton or for their own end.
    std::atomic<bool> submitted_{false};
    std::atomic<bool> noticed_{false};
    std::atomic<bool> owner_sleeps_{false};  ///< The owner sleeps with the baton in its hand.
    std::atomic<bool> parked_{false};        ///< Nobody has the baton, the descriptor is armed, the board says so. Owner-only.
    std::atomic<bool> dormant_{false};       ///< The background thread sleeps until the caller that sleeps leaves.
    std::atomic<bool> busy_{false};          ///< The engine has time-driven work.
    std::atomic<int> wanted_{0};             ///< Threads that need the baton itself.
    std::atomic<int> paused_{0};
    std::atomic<bool> stopping_{false};
    std::atomic<int> application_cpu_{-1};

    std::mutex mutex_;  ///< Guards the lists and the sleep of followers.
    std::condition_variable followers_wake_;
    std::vector<Waitable*> submissions_;
    std::vector<bootstrap::Notice> notices_;
    std::uint64_t told_finished_ = 0;   ///< Owner-only: Engine::finished() when followers were last told.
    std::uint64_t finished_seen_ = 0;   ///< Owner-only: the same when prepare_to_sleep() was last called.
    Nanoseconds next_tick_ = 0;         ///< Owner-only.
    Nanoseconds next_notice_look_ = 0;  ///< Owner-only; where no background thread looks.

    int event_loop_ = -1;  ///< Host-driven: an epoll descriptor of the transport's and the notices'.
    EventDescriptor owner_wake_;
    EventDescriptor background_wake_;
    std::thread thread_;
    std::atomic<int> thread_id_{0};
};

/// CLOCK_MONOTONIC.
Nanoseconds monotonic_now() noexcept;

}  // namespace rollcall::runtime
