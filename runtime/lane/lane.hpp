/// \file
/// A lane: an engine, and the rule by which threads drive it.
///
/// One owner at a time. Whoever holds the *baton* may touch the engine and the transport; nobody else does.
///   - A waiting caller takes the baton and polls inline: no hand-over, no wake-up. It spins, then arms the transport's
///     event descriptor and sleeps on it in its own thread.
///   - The background thread looks at intervals. Only when nobody has polled for a whole interval does it take the baton;
///     when nothing has happened for a quiet time, it arms and parks. So callers that wait never meet it, and early data moves
///     while the application computes, or makes calls that end at once.
///   - A caller that finds the baton taken submits what it wants to start through a queue, and waits until it is done
///     or the baton is free.
///   - What is driven by time has one next time (Engine::due()), which whoever sleeps obeys.
/// No wake-up is lost (store_then_look.hpp).
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <rollcall/time.hpp>

#include "bootstrap/bootstrap.hpp"
#include "foundation/clock.hpp"
#include "runtime/lane/ended.hpp"
#include "runtime/lane/engine.hpp"
#include "runtime/lane/event_descriptor.hpp"
#include "runtime/lane/event_loop.hpp"
#include "runtime/lane/idle.hpp"

namespace rollcall::runtime {

/// How a lane waits. Times in nanoseconds; all of it is data, set from Settings and topology.
struct IdlePolicy {
    bool background = true;          ///< A background thread drives when no caller does; else the host program must.
    bool follow_application = true;  ///< The background thread runs on the core the application last called from.
    bool yield = false;              ///< Yield in every empty poll: more ranks than cores share this node (see Idle).
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
    void wait(const Ended::Wait& wait);
    /// start() and wait() in one, without giving the baton back in between.
    bool run(Waitable& waitable, Timeout timeout);
    /// Ends it with this error. Its buffers are free when this returns; it waits only where a network itself (RDMA) still reads or
    /// writes them.
    void abandon(Waitable& waitable, const Error& error);
    /// After a failure: lets what is to be told of it leave, for a moment, as the program may end now.
    void let_words_leave();
    /// Moves what can move, once; for programs that drive progress themselves. Returns whether anything happened.
    bool progress();
    /// For one event loop: becomes readable when progress() has something to do, or something has ended, once prepare_to_sleep() was
    /// true. With host-driven progress it also tells of deaths. Throws Error{state} when there are no descriptors left.
    int descriptor();
    /// False: something is there, or something has ended since it was last asked, which the caller may not have seen.
    bool prepare_to_sleep();

    /// Runs `work(engine)` as the owner; waits for the baton. What this thread has started before has begun then. For set-up
    /// and rare things.
    template <class Work>
    void as_owner(Work&& work) {
        take();
        const Baton baton(*this);
        drain();
        work(engine_);
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

    /// Gives the baton back that this thread has taken, also when something throws.
    class Baton {
      public:
        explicit Baton(Lane& lane) noexcept : lane_(lane) {}
        ~Baton() { lane_.release(); }
        Baton(const Baton&) = delete;
        Baton& operator=(const Baton&) = delete;

      private:
        Lane& lane_;
    };

    /// A thread that sleeps until its goal is reached, or the baton is free. In the list while it sleeps.
    struct Follower {
        bool (*reached)(const void* goal);
        const void* goal;
        std::condition_variable wake;
        bool reached_goal() const { return reached(goal); }
    };

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
    [[gnu::always_inline]] unsigned poll() noexcept {
        polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        calls_since_poll_ = 0;
        return engine_.progress();
    }
    void tick_if_due(Nanoseconds now);
    void look_at_notices_if_due(Nanoseconds now);
    // `Goal` is a Waitable, or anything else with done().
    template <class Goal>
    Drove drive(const Goal& goal, Nanoseconds deadline);
    template <class Goal>
    bool follow(const Goal& goal, Nanoseconds deadline);
    template <class Goal>
    bool wait_until(const Goal& goal, Nanoseconds deadline);
    unsigned drain();
    void begin(Waitable& waitable);
    void look_at_notices();
    void handle_notices();
    void wake_owner() noexcept;
    /// Wakes those whose goal is reached, and one more where the baton is free for it.
    void wake_followers(bool baton_is_free) noexcept;
    void tell_of_ends() noexcept;
    void wake_loop() noexcept {
        if (loop_sleeps_.load(std::memory_order_seq_cst) && loop_sleeps_.exchange(false)) event_loop_.signal();
    }
    void sleep_as_owner(Nanoseconds until);
    void background();
    void move_to_application_core();

    Engine& engine_;
    bootstrap::Bootstrap& bootstrap_;
    const IdlePolicy policy_;
    LaneCounters counters_;

    alignas(64) std::atomic<bool> baton_{false};
    std::atomic<std::uint32_t> polls_{0};        ///< Grows with each poll; written by the owner.
    std::atomic<bool> poll_wanted_{false};       ///< The background thread found the baton taken and nobody polling.
    alignas(64) std::atomic<int> followers_{0};  ///< Callers that wait for the baton or for their own end.
    std::atomic<bool> submitted_{false};
    std::atomic<bool> noticed_{false};
    std::atomic<bool> owner_sleeps_{false};        ///< The owner sleeps with the baton in its hand.
    std::atomic<bool> parked_{false};              ///< Nobody has the baton, the descriptor is armed, the board says so. Owner-only.
    std::atomic<bool> dormant_{false};             ///< The background thread sleeps until the caller that sleeps leaves.
    std::atomic<bool> loop_sleeps_{false};         ///< The host's event loop sleeps until the thread that drives leaves.
    std::atomic<std::uint64_t> told_finished_{0};  ///< Engine::finished() when others were last told.
    std::atomic<std::uint64_t> finished_seen_{0};  ///< Engine::finished() when prepare_to_sleep() was last called.
    std::atomic<Nanoseconds> due_{kNever};         ///< Engine::due() when the baton was last given back.
    std::atomic<int> wanted_{0};                   ///< Threads that need the baton itself.
    std::atomic<int> paused_{0};
    std::atomic<bool> stopping_{false};
    std::atomic<int> application_cpu_{-1};

    std::mutex mutex_;  ///< Guards the lists.
    std::list<Follower*> sleeping_followers_;
    std::vector<Waitable*> submissions_;
    std::vector<bootstrap::Notice> notices_;
    // Owner-only:
    Idle idle_;
    std::uint32_t calls_ = 0;
    unsigned calls_since_poll_ = 0;
    Nanoseconds next_notice_look_ = 0;  ///< Of who drives without pause.

    EventLoop event_loop_;  ///< Open where progress is host-driven, or the program has asked for it.
    EventDescriptor owner_wake_;
    EventDescriptor background_wake_;
    std::thread thread_;
    std::atomic<int> thread_id_{0};
};

}  // namespace rollcall::runtime
