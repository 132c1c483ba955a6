/// \file
/// The exception type of Rollcall. A failed call throws an Error, or std::bad_alloc if memory runs out.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <rollcall/export.h>

namespace rollcall {

/// What kind of failure an Error reports.
enum class ErrorCode {
    invalid_argument,  ///< An argument is wrong. Thrown before anything was sent.
    invalid_setting,   ///< An environment variable has a wrong name or value.
    mismatch,          ///< Ranks called different things at one place in the sequence of calls, or a message ends within an object.
    truncated,         ///< A message was longer than the buffer it was received into.
    peer_failed,       ///< A rank that the operation depends on died or became unreachable.
    timeout,           ///< A deadline passed.
    bootstrap,         ///< The processes of the job could not find each other.
    transport,         ///< The network layer failed.
    state,             ///< The call is not possible now: the job has ended, this is a forked child, another rank destroyed its part, or the
                       ///< system gave no memory, descriptor or thread.
};

/// The name of a code in lower case, such as "peer_failed", for messages and tests. Any thread may call it.
ROLLCALL_EXPORT const char* name(ErrorCode code) noexcept;

/// A failure that Rollcall reports. what() is a sentence that says what failed, where, and what to do about it.
class ROLLCALL_EXPORT Error : public std::runtime_error {
  public:
    /// A failure of this kind, with the sentence for what().
    Error(ErrorCode code, const std::string& sentence, int failed_rank = -1)
        : std::runtime_error(sentence), code_(code), failed_rank_(failed_rank) {}

    /// What kind of failure it is.
    ErrorCode code() const noexcept { return code_; }
    /// The rank in the world communicator that caused the failure, or -1 if no single rank did. If the call was over a connection of two
    /// jobs, it is a rank in the world of that connection (listener.hpp).
    int failed_rank() const noexcept { return failed_rank_; }

  private:
    ErrorCode code_;
    int failed_rank_;
};

}  // namespace rollcall
