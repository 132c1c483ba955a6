/// \file
/// Keeps the signal handlers of the program while libfabric, and the libraries that it loads, install handlers of their own.
#pragma once

#include <csignal>

#include <array>
#include <cstddef>
#include <mutex>

namespace rollcall::transport::ofi {

/// Restores the signal handlers of the program when it is destroyed. There is one at a time: another thread waits for it. Otherwise it
/// would take the handlers of the library for those of the program. A thread must not make a second one.
class KeptSignals {
  public:
    enum class Which : bool {
        all,
        set,  ///< Those that are not SIG_DFL. A library that cleans up may do so before the signal ends the process.
    };
    explicit KeptSignals(Which which);
    ~KeptSignals();
    KeptSignals(const KeptSignals&) = delete;
    KeptSignals& operator=(const KeptSignals&) = delete;

  private:
    std::unique_lock<std::mutex> alone_;
    std::array<struct sigaction, NSIG - 1> actions_{};
    std::array<bool, NSIG - 1> kept_{};
};

}  // namespace rollcall::transport::ofi
