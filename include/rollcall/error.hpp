/// \file
/// The one exception type of Rollcall.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <rollcall/export.h>

namespace rollcall {

/// What kind of failure an Error reports.
enum class ErrorCode {
    invalid_argument,  ///< A wrong argument; thrown before anything was sent.
    invalid_setting,   ///< An environment variable with a wrong name or value.
    mismatch,          ///< Ranks called different operations, roots or sizes at the same sequence number, or a value came too short.
    truncated,         ///< A message was longer than the buffer it was received into.
    peer_failed,       ///< A rank that the operation depends on died or became unreachable.
    timeout,           ///< A deadline passed.
    bootstrap,         ///< The processes of the job could not find each other.
    transport,         ///< The network layer failed.
    state,             ///< The call is not allowed in this state (for example after finalize).
};

/// The lower-case name of a code, for messages and tests. Thread-safe.
ROLLCALL_EXPORT const char* name(ErrorCode code) noexcept;

/// Every failure Rollcall reports. `what()` is a sentence that says what failed, where, and what to do.
class ROLLCALL_EXPORT Error : public std::runtime_error {
  public:
    Error(ErrorCode code, const std::string& sentence, int failed_rank = -1)
        : std::runtime_error(sentence), code_(code), failed_rank_(failed_rank) {}

    ErrorCode code() const noexcept { return code_; }
    /// The rank (of the world communicator) that caused the failure, or -1 when no single rank did.
    int failed_rank() const noexcept { return failed_rank_; }

  private:
    ErrorCode code_;
    int failed_rank_;
};

}  // namespace rollcall
