/// \file
/// Keeps signals away from the library's own threads.
#pragma once

#include <signal.h>

namespace rollcall::inline foundation {

/// Blocks signals in the calling thread while it exists. Threads made in this time inherit the mask, so that signals go to the threads of
/// the program. Signals that tell a thread of a fault of its own are not blocked: the program's handler may report the fault.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) ::sigdelset(&all, fault);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

}  // namespace rollcall::inline foundation
