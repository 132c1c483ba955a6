/// \file
/// A collective operation of the C face in its three forms.
#pragma once

#include "api/c.hpp"

namespace rollcall::c {

/// The three forms of `make_call`, which makes the Collective.
template <class Make>
rollcall_status call(const rollcall_communicator* communicator, const rollcall_collective_options* options, Make&& make_call) noexcept {
    return guarded([&] {
        rollcall::CollectiveOptions how = options_of(options);
        rollcall_call_record* const record = options ? options->record : nullptr;
        rollcall::CallRecord times;
        if (record) {
            give(record, record_of(times), "the record");  // a wrong one before anything is sent
            how.record = &times;
        }
        make_call(checked(communicator)).call(how);
        if (record) give(record, record_of(times), "the record");
    });
}
template <class Make>
rollcall_status start_call(const rollcall_communicator* communicator, const rollcall_collective_options* options,
                           rollcall_request** request, Make&& make_call) noexcept {
    return start(request, [&] { return make_call(checked(communicator)).start(options_of(options)); });
}
template <class Make>
rollcall_status plan_call(const rollcall_communicator* communicator, const rollcall_collective_options* options,
                          rollcall_predictor predictor, rollcall_plan** plan, Make&& make_call) noexcept {
    return make_plan(plan, [&] { return make_call(checked(communicator)).plan(plan_options_of(options, predictor)); });
}

}  // namespace rollcall::c
