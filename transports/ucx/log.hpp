/// \file
/// What UCX itself says.
#pragma once

#include <string>

namespace rollcall::transport::ucx {

/// From now on what UCX says of its own goes to the library's log, which is on standard error, and not to standard output. Where the user
/// has set UCX_LOG_LEVEL or UCX_LOG_FILE it stays as it is. Thread-safe.
void take_over_log();

/// While it lives, the first error that UCX tells in this thread is kept, to be part of the sentence of a failure.
class KeptErrors {
  public:
    KeptErrors();
    ~KeptErrors();
    KeptErrors(const KeptErrors&) = delete;
    KeptErrors& operator=(const KeptErrors&) = delete;

    /// Empty: there was none.
    static std::string first();
};

}  // namespace rollcall::transport::ucx
