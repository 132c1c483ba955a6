#include "bench/results/interruptible_progress.hpp"

#include <fmt/format.h>

#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

volatile std::sig_atomic_t signal_that_came = 0;

extern "C" void note_signal(int number) {
    if (signal_that_came == 0) {
        signal_that_came = number;
        return;
    }
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
