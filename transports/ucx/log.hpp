/// \file
/// The messages that UCX itself prints.
#pragma once

#include <string>

namespace rollcall::transport::ucx {

/// From now on UCX's own messages go to the library's log, which is on standard error, and not to standard output. If the user has set
/// UCX_LOG_LEVEL, all messages of that level are printed to standard error. With UCX_LOG_FILE nothing changes. Thread-safe.
void take_over_log();

/// While it exists, it keeps the first error that UCX reports in this thread, so that it can become part of the message of a failure.
class KeptErrors {
  public:
    /// `interfaces_named`: the user has named the interfaces. If not, UCX's warning that it does not have one of them is no news: the job
    /// takes all RDMA ports of the host, also those that UCX does not know or that this process may not open.
    explicit KeptErrors(bool interfaces_named);
    ~KeptErrors();
    KeptErrors(const KeptErrors&) = delete;
    KeptErrors& operator=(const KeptErrors&) = delete;

    /// Empty: there was no error.
    static std::string first();
};

}  // namespace rollcall::transport::ucx
