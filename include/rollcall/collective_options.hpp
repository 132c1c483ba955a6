/// \file
/// What a program may say of a collective call, beside what is moved.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall {

struct CallRecord;

/// How a collective operation is done. All ranks must say the same, but for the deadline and the record.
struct CollectiveOptions {
    /// A name or alias of `rollcall info --algorithms`; empty: the setting of the operation (ROLLCALL_BROADCAST, ...), by
    /// default `auto`. One that cannot do this call throws Error{invalid_argument}; where a setting names it, `auto` takes its place.
    std::string_view algorithm;
    /// Piece of algorithms that pass pieces on, in bytes; 0: whole; nothing: the setting ROLLCALL_SEGMENT_BYTES (binomial: whole).
    std::optional<std::uint64_t> segment_bytes;
    /// Deadline, counted from the call; nothing: the setting ROLLCALL_TIMEOUT, which counts from where somebody waits.
    std::optional<Timeout> timeout;
    /// Filled when a blocking call returns, if given.
    CallRecord* record = nullptr;
    /// A rank that only brings data (the root of a broadcast or scatter, all but the root of a gather or reduce) may end its call when the
    /// data has been copied, and before it has left; what fails later is told by the next call on the communicator, or by Job::finalize().
    /// True: the call ends when the data has left this rank.
    bool until_delivered = false;
};

}  // namespace rollcall
