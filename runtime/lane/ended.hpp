/// \file
/// Collects which of many things have ended, so that a thread need not wait for them one by one.
#pragma once

#include <atomic>
#include <utility>

#include "foundation/clock.hpp"
#include "runtime/messages/waitable.hpp"

namespace rollcall::runtime {

/// Things that have ended and have not been taken yet, in the order of their ends. The owner of a lane adds them, and one thread at a time
/// takes them. Taking one costs the same time however many others are still under way.
class Ended {
  public:
    /// One element. The lane tells it when the thing has ended (watch() of an operation or transfer).
    class Entry : public Watcher {
      public:
        explicit Entry(Ended& list) : list_(list) {}
        /// Adds the entry. It may have been taken, and destroyed, when this returns.
        void ended() noexcept override {
            next_ = list_.added_.load(std::memory_order_relaxed);
            while (!list_.added_.compare_exchange_weak(next_, this, std::memory_order_release, std::memory_order_relaxed)) {
            }
        }

        virtual ~Entry() = default;

      private:
        friend class Ended;
        Ended& list_;
        Entry* next_ = nullptr;
    };

    /// Removes and returns the one that ended first, or returns null.
    Entry* take() noexcept {
        if (!first_)
            for (Entry* last = added_.exchange(nullptr, std::memory_order_acquire); last;) {
                Entry* const before = std::exchange(last->next_, first_);
                first_ = std::exchange(last, before);
            }
        return first_ ? std::exchange(first_, first_->next_) : nullptr;
    }

    /// Sets when a waiting thread must look at deadlines of its own; kNever: there are none. Any thread may call it.
    void look_at(Nanoseconds when) noexcept { look_at_.store(when, std::memory_order_relaxed); }
    Nanoseconds look_at() const noexcept { return look_at_.load(std::memory_order_relaxed); }

    /// The goal of a thread that waits (Lane::wait) after take() has returned null. It is reached when something ends, or when look_at() is
    /// set to a time before `until`.
    struct Wait {
        const Ended& list;
        Nanoseconds until;
        bool done() const noexcept { return list.added_.load(std::memory_order_acquire) || list.look_at() < until; }
    };

  private:
    std::atomic<Entry*> added_{nullptr};  ///< A list with the latest one first.
    std::atomic<Nanoseconds> look_at_{kNever};
    Entry* first_ = nullptr;  ///< Belongs to the thread that takes.
};

}  // namespace rollcall::runtime
