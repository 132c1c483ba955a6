/// \file
/// The time that several processes have agreed on: the time of a job, or of a communicator.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "runtime/clock/model.hpp"

namespace rollcall::runtime {

/// The result of synchronising a clock.
struct SynchronizedClock {
    ClockModel model;       ///< Converts from this host's clock to the clock of the reference rank.
    Nanoseconds error = 0;  ///< Upper bound of the error at the time of the measurement, wherever the messages were delayed.
};

/// Converts the times of this process (Machine::now(), monotonic_now()) to common times. Until it is synchronised, the common time is the
/// time of this host. Any thread may use it. Reading never blocks, and costs one load if nothing has to be converted.
class CommonClock {
  public:
    /// `host` converts the times of this process to those of its host's clock. It differs from the identity only in tests.
    explicit CommonClock(const ClockModel& host = {}) : host_(host) { publish(host); }

    Nanoseconds at(Nanoseconds own) const noexcept { return converts_.load(std::memory_order_relaxed) ? read().at(own) : own; }
    /// Returns the time of this process at which the common time is `common`.
    Nanoseconds own_at(Nanoseconds common) const noexcept {
        return converts_.load(std::memory_order_relaxed) ? inverse(read()).at(common) : common;
    }
    /// The present conversion from the times of this process to common times.
    ClockModel model() const noexcept { return converts_.load(std::memory_order_relaxed) ? read() : ClockModel{}; }
    const ClockModel& host() const noexcept { return host_; }
    bool synchronized() const noexcept { return synchronized_.load(std::memory_order_acquire); }

    void set(const SynchronizedClock& clock);
    /// The clock that was set last. Until one is set: the identity, with no error.
    SynchronizedClock clock() const;

  private:
    /// A sequence lock. The reader reads again if a writer was at work: the version is odd, or it has changed. It uses ordered loads and
    /// stores instead of fences, because the thread sanitizer does not understand fences.
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
    mutable std::mutex mutex_;  ///< Taken by writers.
    SynchronizedClock clock_;
};

}  // namespace rollcall::runtime
