/// \file
/// The options of a collective call: algorithm, segment size, deadline, record.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall {

struct CallRecord;

/// How one collective call is carried out. All ranks must give the same algorithm and segment size; the other options may differ.
struct CollectiveOptions {
    /// A name or alias that `rollcall info --algorithms` lists. Empty: the setting of the operation (ROLLCALL_BROADCAST, ...), which is
    /// `auto` by default. An algorithm that cannot do this call throws Error{invalid_argument} if it is named here; if a setting names it,
    /// `auto` is used instead. The text need only live until the function returns.
    std::string_view algorithm = {};
    /// The size of a piece in bytes, for algorithms that forward data in pieces; others ignore it. 0: the data is forwarded whole. No
    /// value: the setting ROLLCALL_SEGMENT_BYTES. While that setting has its default value, `auto` may choose the size itself. Some
    /// algorithms, such as the binomial broadcast, ignore the setting and forward data whole unless a size is given here.
    std::optional<std::uint64_t> segment_bytes = {};
    /// The deadline, counted from the call. No value: the setting ROLLCALL_TIMEOUT, which counts from the moment when the program waits.
    std::optional<Timeout> timeout = {};
    /// If not null, a blocking call writes its times here (see CallRecord, plan.hpp). They are complete only if the call does not throw.
    CallRecord* record = nullptr;
    /// When the call ends on a rank that only sends (the root of a broadcast or scatter, all ranks but the root in a gather or reduce).
    /// False: it may end when its data has been copied, before the data has left. If the operation fails later, the next call on the
    /// communicator or Job::finalize() reports it. True, and always with ROLLCALL_PROGRESS=host (but not between two jobs): the call ends
    /// when the data has left this rank. Data has left, too, when it has been copied into the memory that the ranks of a node share. Data
    /// in a Memory is not copied in some calls, which memory.hpp names: the other ranks read it where it is, and the call ends when they
    /// have read it. Do not rely on that: data of up to 4 KiB is always copied, and the end of a call does not say whether another rank has
    /// the data.
    bool until_delivered = false;
};

}  // namespace rollcall
