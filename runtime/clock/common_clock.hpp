/// \file
/// The time that several processes have agreed on: of a job, or of a communicator.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "runtime/clock/model.hpp"

namespace rollcall::runtime {

/// A clock as it was synchronised.
struct SynchronizedClock {
    ClockModel model;       ///< From this host's clock to that of the reference rank.
    Nanoseconds error = 0;  ///< At most so far off when it was measured, wherever the messages spent their time.
};

/// From the times of this process (Machine::now(), monotonic_now()) to common ones. Until it is synchronised, the common
/// time is this host's. Any thread; reading never waits, and costs a load where nothing has to be converted.
class CommonClock {
  public:
    /// `host`: from the times of this process to those of its host's clock; not the identity in tests only.
    explicit CommonClock(const ClockModel& host = {}) : host_(host) { publish(host); }

    Nanoseconds at(Nanoseconds own) const noexcept { return converts_.load(std::memory_order_relaxed) ? read().at(own) : own; }
    /// The time of this process at which the common time is `common`.
    Nanoseconds own_at(Nanoseconds common) const noexcept {
        return converts_.load(std::memory_order_relaxed) ? inverse(read()).at(common) : common;
    }
    /// From the times of this process to common ones, as of now.
    ClockModel model() const noexcept { return converts_.load(std::memory_order_relaxed) ? read() : ClockModel{}; }
    const ClockModel& host() const noexcept { return host_; }
    bool synchronized() const noexcept { return synchronized_.load(std::memory_order_acquire); }

    void set(const SynchronizedClock& clock);
    /// What was set last; the identity, with no error, until then.
    SynchronizedClock clock() const;

  private:
    /// One that is being written is read again: its version is odd, or has changed. (Loads and stores in order instead of
    /// fences, which the thread sanitizer does not know.)
    ClockModel read() const noexcept {
        for (;;) {
            const std::uint32_t before = version_.load(std::memory_order_acquire);
            const ClockModel copy{reference_.load(std::memory_order_acquire), offset_.load(std::memory_order_acquire),
                                  drift_.load(std::memory_order_acquire)};
            if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) return copy;
        }
    }
    void publish(const ClockModel& model) noexcept;

    const ClockModel host_;
    std::atomic<bool> converts_{false};
    std::atomic<bool> synchronized_{false};
    std::atomic<std::uint32_t> version_{0};
    std::atomic<Nanoseconds> reference_{0}, offset_{0};
    std::atomic<double> drift_{0};
    mutable std::mutex mutex_;  ///< Writers.
    SynchronizedClock clock_;
};

}  // namespace rollcall::runtime
