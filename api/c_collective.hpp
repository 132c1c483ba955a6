/// \file
/// The three forms of each collective operation in the C interface: call, start and plan. `make_call` is a function that takes the
/// communicator or intercommunicator and makes the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "api/c.hpp"
#include "api/collective.hpp"

namespace rollcall::c {

template <class Handle, class Make>
rollcall_status call(const Handle* handle, const rollcall_collective_options* options, Make&& make_call) noexcept {
    return guarded([&] {
        const rollcall_collective_options given = options_taken(options);
        CollectiveOptions how = options_of(given);
        rollcall_call_record* const record = given.record;
        CallRecord times;
        if (record) {
            give(record, record_of(times), "the record");  // refuses a wrong record before anything is sent
            how.record = &times;
        }
        make_call(checked(handle)).call(how);
        if (record) give(record, record_of(times), "the record");
    });
}
template <class Handle, class Make>
rollcall_status start_call(const Handle* handle, const rollcall_collective_options* options, rollcall_request** request,
                           Make&& make_call) noexcept {
    return start(request, [&] { return make_call(checked(handle)).start(options_of(options)); });
}
template <class Handle, class Make>
rollcall_status plan_call(const Handle* handle, const rollcall_collective_options* options, rollcall_predictor predictor,
                          rollcall_plan** plan, Make&& make_call) noexcept {
    return make_plan(plan, [&] { return make_call(checked(handle)).plan(plan_options_of(options, predictor)); });
}

/// The blocks of `ranks` ranks.
inline Blocks blocks_of(int ranks, const std::uint64_t* counts, const std::uint64_t* offsets) {
    const auto n = static_cast<std::size_t>(ranks);
    if (!counts) return Blocks();
    return offsets ? Blocks(std::span(counts, n), std::span(offsets, n)) : Blocks(std::span(counts, n));
}
inline Blocks blocks_of(const Communicator& communicator, const std::uint64_t* counts, const std::uint64_t* offsets) {
    return blocks_of(communicator.size(), counts, offsets);
}

}  // namespace rollcall::c
