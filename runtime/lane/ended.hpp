/// \file
/// What has ended of many things that nobody waits for one by one.
#pragma once

#include <atomic>
#include <utility>

#include "foundation/clock.hpp"
#include "runtime/lane/waitable.hpp"

namespace rollcall::runtime {

/// Things that have ended, in that order, until they are taken: added by whoever owns a lane, taken by one thread at a time. Finding one
/// takes the same time however many others are still under way.
class Ended {
  public:
    /// One of them: told by the lane that it has ended (watch() of an operation or transfer).
    class Entry : public Watcher {
      public:
        explicit Entry(Ended& list) : list_(list) {}
        /// Adds it. It may have been taken, and be gone, when this returns.
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

    /// The one that ended first, or null.
    Entry* take() noexcept {
        if (!first_)
            for (Entry* last = added_.exchange(nullptr, std::memory_order_acquire); last;) {
                Entry* const before = std::exchange(last->next_, first_);
                first_ = std::exchange(last, before);
            }
        return first_ ? std::exchange(first_, first_->next_) : nullptr;
    }

    /// When who waits is to look at deadlines of its own; kNever: there are none. Any thread.
    void look_at(Nanoseconds when) noexcept { look_at_.store(when, std::memory_order_relaxed); }
    Nanoseconds look_at() const noexcept { return look_at_.load(std::memory_order_relaxed); }

    /// What somebody waits for (Lane::wait) to whom take() has given nothing: that something ends, before this time; or that there is an
    /// earlier time at which to look.
    struct Wait {
        const Ended& list;
        Nanoseconds until;
        bool done() const noexcept { return list.added_.load(std::memory_order_acquire) || list.look_at() < until; }
    };

  private:
    std::atomic<Entry*> added_{nullptr};  ///< The latest first.
    std::atomic<Nanoseconds> look_at_{kNever};
    Entry* first_ = nullptr;  ///< Of whoever takes.
};

}  // namespace rollcall::runtime
