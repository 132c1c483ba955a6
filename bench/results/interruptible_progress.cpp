#include "bench/results/interruptible_progress.hpp"

#include <time.h>

#include <atomic>

#include <fmt/format.h>

#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

/// timeout(1) sends a signal to its child and to the group of its child, and a terminal sends it to both. That is one request.
constexpr Nanoseconds kSameRequest = 200'000'000;

volatile std::sig_atomic_t signal_that_came = 0;
std::atomic<Nanoseconds> came_at = 0;
static_assert(std::atomic<Nanoseconds>::is_always_lock_free, "a signal handler uses it");

extern "C" void note_signal(int number) {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    const Nanoseconds now = Nanoseconds{1'000'000'000} * time.tv_sec + time.tv_nsec;
    if (signal_that_came == 0) {
        signal_that_came = number;
        came_at = now;
    }
    if (now - came_at < kSameRequest) return;
    ::signal(number, SIG_DFL);
    ::raise(number);
}

}  // namespace

InterruptibleProgress::InterruptibleProgress(std::size_t total) : line_(total) {
    signal_that_came = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        ::sigaction(kSignals[i], nullptr, &before_[i]);
        if (before_[i].sa_handler == SIG_IGN) continue;
        struct sigaction action {};
        action.sa_handler = note_signal;
        action.sa_flags = SA_RESTART;  // a write of rows goes on
        ::sigaction(kSignals[i], &action, nullptr);
    }
}

InterruptibleProgress::~InterruptibleProgress() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

void InterruptibleProgress::update(std::size_t done, std::string_view what, double part) {
    if (const int number = signal_that_came; number != 0)
        throw usage::EarlyEnd(ErrorCode::state, fmt::format("signal {} came; only the rows that were complete are printed", number),
                              usage::kSignal + number);
    line_.update(done, what, part);
}

}  // namespace rollcall::bench
