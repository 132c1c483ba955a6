// The C interface of intercommunicators.
#include <rollcall/groups.h>

#include <span>
#include <string_view>
#include <utility>

#include "api/c_collective.hpp"
#include "api/intergroup_forms.hpp"
#include "foundation/reductions.hpp"

struct rollcall_listener {
    rollcall::Listener handle;
};

namespace rollcall {

using detail::IntergroupCall;
using detail::IntergroupOperation;

namespace {

using detail::IntergroupForms;

struct BarrierForms {
    void call(const CollectiveOptions& options) const { between.barrier(options); }
    Request start(const CollectiveOptions& options) const { return between.start_barrier(options); }
    Plan plan(const PlanOptions& options) const { return between.plan_barrier(options); }
    const Intercommunicator& between;
};
auto barrier_between() {
    return [](const Intercommunicator& between) { return BarrierForms{between}; };
}

auto rooted(IntergroupOperation operation, void* data, std::uint64_t bytes, rollcall_side side, int root) {
    return [=](const Intercommunicator& between) {
        if (side != ROLLCALL_MINE && side != ROLLCALL_THEIRS)
            throw Error(ErrorCode::invalid_argument, "the side of the root is neither ROLLCALL_MINE nor ROLLCALL_THEIRS");
        const IntergroupRoot where = side == ROLLCALL_MINE ? IntergroupRoot(Mine{root}) : IntergroupRoot(Theirs{root});
        return IntergroupForms{between, {operation, data, data, bytes, bytes, where}};
    };
}
auto exchanged(IntergroupOperation operation, const void* own, std::uint64_t own_bytes, void* other, std::uint64_t other_bytes) {
    return [=](const Intercommunicator& between) { return IntergroupForms{between, {operation, own, other, own_bytes, other_bytes}}; };
}
/// The same for `count` elements that are combined.
auto reduced(auto make, std::uint64_t count, const rollcall_reduction* reduction) {
    return [=](const Intercommunicator& between) {
        IntergroupForms forms = make(between);
        IntergroupCall& what = forms.what;
        what.reduction = c::reduction_of(reduction);
        what.own_bytes = what.other_bytes = bytes_of(count, what.reduction);
        what.element_bytes = what.reduction.element_bytes;
        return forms;
    };
}
/// The same with blocks of different sizes: where those of the other group are in this rank's data, or go in it.
auto in_blocks(auto make, const std::uint64_t* counts, const std::uint64_t* offsets) {
    return [=](const Intercommunicator& between) {
        IntergroupForms forms = make(between);
        forms.what.blocks = c::blocks_of(between.remote_size(), counts, offsets);
        return forms;
    };
}
auto exchanged_blocks(const void* data, const std::uint64_t* send_counts, const std::uint64_t* send_offsets, void* all,
                      const std::uint64_t* receive_counts, const std::uint64_t* receive_offsets) {
    const auto received = in_blocks(exchanged(IntergroupOperation::alltoall, data, 0, all, 0), receive_counts, receive_offsets);
    return [=](const Intercommunicator& between) {
        IntergroupForms forms = received(between);
        forms.what.to_send = c::blocks_of(between.remote_size(), send_counts, send_offsets);
        return forms;
    };
}

std::span<const int> list_of(const int* ranks, std::size_t count) {
    if (count) c::checked(ranks, "a list of ranks");
    return {ranks, count};
}

std::string_view text_of(const char* text) { return text ? text : std::string_view(); }

}  // namespace
}  // namespace rollcall

using namespace rollcall;
using namespace rollcall::c;

extern "C" {

rollcall_status rollcall_intercommunicator_create(const rollcall_communicator* communicator, const int* first, size_t first_count,
                                                  const int* second, size_t second_count, rollcall_intercommunicator** result) {
    return make_intercommunicator(result, [&] {
        return c::checked(communicator).create_intercommunicator(list_of(first, first_count), list_of(second, second_count));
    });
}
rollcall_status rollcall_intercommunicator_copy(const rollcall_intercommunicator* between, rollcall_intercommunicator** result) {
    return make_intercommunicator(result, [&] { return checked(between); });
}
void rollcall_intercommunicator_free(rollcall_intercommunicator* between) {
    guarded([&] { delete between; });
}
int rollcall_intercommunicator_rank(const rollcall_intercommunicator* between) { return between ? between->handle.rank() : -1; }
int rollcall_intercommunicator_size(const rollcall_intercommunicator* between) { return between ? between->handle.size() : -1; }
int rollcall_intercommunicator_remote_size(const rollcall_intercommunicator* between) {
    return between ? between->handle.remote_size() : -1;
}
const char* rollcall_intercommunicator_name(const rollcall_intercommunicator* between) {
    return between ? between->handle.name().c_str() : nullptr;
}
rollcall_status rollcall_intercommunicator_remote_world_rank(const rollcall_intercommunicator* between, int rank, int* world_rank) {
    return guarded([&] { c::checked(world_rank, "the place for the rank") = checked(between).remote_world_rank(rank); });
}
rollcall_status rollcall_intercommunicator_local(const rollcall_intercommunicator* between, rollcall_communicator** result) {
    return make_communicator(result, [&] { return checked(between).local(); });
}
rollcall_status rollcall_intercommunicator_merge(const rollcall_intercommunicator* between, rollcall_communicator** result) {
    return make_communicator(result, [&] { return checked(between).merge(); });
}

rollcall_status rollcall_intercommunicator_disconnect(const rollcall_intercommunicator* between) {
    return guarded([&] { checked(between).disconnect(); });
}

rollcall_status rollcall_listener_create(const rollcall_communicator* communicator, const char* job_name, uint16_t port,
                                         rollcall_listener** result) {
    return give_handle(result, "the place for the listener",
                       [&] { return Listener(c::checked(communicator), {.job_name = text_of(job_name), .port = port}); });
}
rollcall_status rollcall_listener_copy(const rollcall_listener* listener, rollcall_listener** result) {
    return give_handle(result, "the place for the listener", [&] { return c::checked(listener, "the listener").handle; });
}
void rollcall_listener_free(rollcall_listener* listener) {
    guarded([&] { delete listener; });
}
const char* rollcall_listener_invitation(const rollcall_listener* listener) {
    return listener ? listener->handle.invitation().c_str() : "";
}
rollcall_status rollcall_listener_accept(const rollcall_listener* listener, int64_t timeout, rollcall_intercommunicator** result) {
    return make_intercommunicator(result, [&] { return c::checked(listener, "the listener").handle.accept(deadline(timeout)); });
}
rollcall_status rollcall_intercommunicator_connect(const rollcall_communicator* communicator, const char* invitation, const char* job_name,
                                                   int64_t timeout, rollcall_intercommunicator** result) {
    return make_intercommunicator(result, [&] {
        return Intercommunicator::connect(c::checked(communicator), text_of(invitation),
                                          {.job_name = text_of(job_name), .timeout = deadline(timeout)});
    });
}

rollcall_status rollcall_intergroup_barrier(const rollcall_intercommunicator* between, const rollcall_collective_options* options) {
    return call(between, options, barrier_between());
}
rollcall_status rollcall_start_intergroup_barrier(const rollcall_intercommunicator* between, const rollcall_collective_options* options,
                                                  rollcall_request** request) {
    return start_call(between, options, request, barrier_between());
}
rollcall_status rollcall_plan_intergroup_barrier(const rollcall_intercommunicator* between, const rollcall_collective_options* options,
                                                 rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan, barrier_between());
}

rollcall_status rollcall_intergroup_broadcast(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                              int root, const rollcall_collective_options* options) {
    return call(between, options, rooted(IntergroupOperation::broadcast, data, bytes, side, root));
}
rollcall_status rollcall_start_intergroup_broadcast(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                    rollcall_side side, int root, const rollcall_collective_options* options,
                                                    rollcall_request** request) {
    return start_call(between, options, request, rooted(IntergroupOperation::broadcast, data, bytes, side, root));
}
rollcall_status rollcall_plan_intergroup_broadcast(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                   rollcall_side side, int root, const rollcall_collective_options* options,
                                                   rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan, rooted(IntergroupOperation::broadcast, data, bytes, side, root));
}

rollcall_status rollcall_intergroup_scatter(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                            int root, const rollcall_collective_options* options) {
    return call(between, options, rooted(IntergroupOperation::scatter, data, bytes, side, root));
}
rollcall_status rollcall_start_intergroup_scatter(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                  int root, const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request, rooted(IntergroupOperation::scatter, data, bytes, side, root));
}
rollcall_status rollcall_plan_intergroup_scatter(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                 int root, const rollcall_collective_options* options, rollcall_predictor predictor,
                                                 rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan, rooted(IntergroupOperation::scatter, data, bytes, side, root));
}

rollcall_status rollcall_intergroup_scatter_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                   const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                   const rollcall_collective_options* options) {
    return call(between, options, in_blocks(rooted(IntergroupOperation::scatter, data, bytes, side, root), counts, offsets));
}
rollcall_status rollcall_start_intergroup_scatter_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                         const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                         const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request, in_blocks(rooted(IntergroupOperation::scatter, data, bytes, side, root), counts, offsets));
}
rollcall_status rollcall_plan_intergroup_scatter_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                        const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                        const rollcall_collective_options* options, rollcall_predictor predictor,
                                                        rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan,
                     in_blocks(rooted(IntergroupOperation::scatter, data, bytes, side, root), counts, offsets));
}

rollcall_status rollcall_intergroup_gather(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                           int root, const rollcall_collective_options* options) {
    return call(between, options, rooted(IntergroupOperation::gather, data, bytes, side, root));
}
rollcall_status rollcall_start_intergroup_gather(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                 int root, const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request, rooted(IntergroupOperation::gather, data, bytes, side, root));
}
rollcall_status rollcall_plan_intergroup_gather(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                int root, const rollcall_collective_options* options, rollcall_predictor predictor,
                                                rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan, rooted(IntergroupOperation::gather, data, bytes, side, root));
}

rollcall_status rollcall_intergroup_gather_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                  const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                  const rollcall_collective_options* options) {
    return call(between, options, in_blocks(rooted(IntergroupOperation::gather, data, bytes, side, root), counts, offsets));
}
rollcall_status rollcall_start_intergroup_gather_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                        const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                        const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request, in_blocks(rooted(IntergroupOperation::gather, data, bytes, side, root), counts, offsets));
}
rollcall_status rollcall_plan_intergroup_gather_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                       const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                       const rollcall_collective_options* options, rollcall_predictor predictor,
                                                       rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan,
                     in_blocks(rooted(IntergroupOperation::gather, data, bytes, side, root), counts, offsets));
}

rollcall_status rollcall_intergroup_reduce(const rollcall_intercommunicator* between, void* data, uint64_t count,
                                           const rollcall_reduction* reduction, rollcall_side side, int root,
                                           const rollcall_collective_options* options) {
    return call(between, options, reduced(rooted(IntergroupOperation::reduce, data, 0, side, root), count, reduction));
}
rollcall_status rollcall_start_intergroup_reduce(const rollcall_intercommunicator* between, void* data, uint64_t count,
                                                 const rollcall_reduction* reduction, rollcall_side side, int root,
                                                 const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request, reduced(rooted(IntergroupOperation::reduce, data, 0, side, root), count, reduction));
}
rollcall_status rollcall_plan_intergroup_reduce(const rollcall_intercommunicator* between, void* data, uint64_t count,
                                                const rollcall_reduction* reduction, rollcall_side side, int root,
                                                const rollcall_collective_options* options, rollcall_predictor predictor,
                                                rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan,
                     reduced(rooted(IntergroupOperation::reduce, data, 0, side, root), count, reduction));
}

rollcall_status rollcall_intergroup_allreduce(const rollcall_intercommunicator* between, const void* contribution, void* result,
                                              uint64_t count, const rollcall_reduction* reduction,
                                              const rollcall_collective_options* options) {
    return call(between, options, reduced(exchanged(IntergroupOperation::allreduce, contribution, 0, result, 0), count, reduction));
}
rollcall_status rollcall_start_intergroup_allreduce(const rollcall_intercommunicator* between, const void* contribution, void* result,
                                                    uint64_t count, const rollcall_reduction* reduction,
                                                    const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request,
                      reduced(exchanged(IntergroupOperation::allreduce, contribution, 0, result, 0), count, reduction));
}
rollcall_status rollcall_plan_intergroup_allreduce(const rollcall_intercommunicator* between, const void* contribution, void* result,
                                                   uint64_t count, const rollcall_reduction* reduction,
                                                   const rollcall_collective_options* options, rollcall_predictor predictor,
                                                   rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan,
                     reduced(exchanged(IntergroupOperation::allreduce, contribution, 0, result, 0), count, reduction));
}

rollcall_status rollcall_intergroup_allgather(const rollcall_intercommunicator* between, const void* block, uint64_t bytes, void* all,
                                              uint64_t all_bytes, const rollcall_collective_options* options) {
    return call(between, options, exchanged(IntergroupOperation::allgather, block, bytes, all, all_bytes));
}
rollcall_status rollcall_start_intergroup_allgather(const rollcall_intercommunicator* between, const void* block, uint64_t bytes, void* all,
                                                    uint64_t all_bytes, const rollcall_collective_options* options,
                                                    rollcall_request** request) {
    return start_call(between, options, request, exchanged(IntergroupOperation::allgather, block, bytes, all, all_bytes));
}
rollcall_status rollcall_plan_intergroup_allgather(const rollcall_intercommunicator* between, const void* block, uint64_t bytes, void* all,
                                                   uint64_t all_bytes, const rollcall_collective_options* options,
                                                   rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan, exchanged(IntergroupOperation::allgather, block, bytes, all, all_bytes));
}

rollcall_status rollcall_intergroup_allgather_blocks(const rollcall_intercommunicator* between, const void* block, uint64_t bytes,
                                                     void* all, const uint64_t* counts, const uint64_t* offsets,
                                                     const rollcall_collective_options* options) {
    return call(between, options, in_blocks(exchanged(IntergroupOperation::allgather, block, bytes, all, 0), counts, offsets));
}
rollcall_status rollcall_start_intergroup_allgather_blocks(const rollcall_intercommunicator* between, const void* block, uint64_t bytes,
                                                           void* all, const uint64_t* counts, const uint64_t* offsets,
                                                           const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request,
                      in_blocks(exchanged(IntergroupOperation::allgather, block, bytes, all, 0), counts, offsets));
}
rollcall_status rollcall_plan_intergroup_allgather_blocks(const rollcall_intercommunicator* between, const void* block, uint64_t bytes,
                                                          void* all, const uint64_t* counts, const uint64_t* offsets,
                                                          const rollcall_collective_options* options, rollcall_predictor predictor,
                                                          rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan,
                     in_blocks(exchanged(IntergroupOperation::allgather, block, bytes, all, 0), counts, offsets));
}

rollcall_status rollcall_intergroup_alltoall(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, void* all,
                                             uint64_t all_bytes, const rollcall_collective_options* options) {
    return call(between, options, exchanged(IntergroupOperation::alltoall, data, bytes, all, all_bytes));
}
rollcall_status rollcall_start_intergroup_alltoall(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, void* all,
                                                   uint64_t all_bytes, const rollcall_collective_options* options,
                                                   rollcall_request** request) {
    return start_call(between, options, request, exchanged(IntergroupOperation::alltoall, data, bytes, all, all_bytes));
}
rollcall_status rollcall_plan_intergroup_alltoall(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, void* all,
                                                  uint64_t all_bytes, const rollcall_collective_options* options,
                                                  rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan, exchanged(IntergroupOperation::alltoall, data, bytes, all, all_bytes));
}

rollcall_status rollcall_intergroup_alltoall_blocks(const rollcall_intercommunicator* between, const void* data,
                                                    const uint64_t* send_counts, const uint64_t* send_offsets, void* all,
                                                    const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                                    const rollcall_collective_options* options) {
    return call(between, options, exchanged_blocks(data, send_counts, send_offsets, all, receive_counts, receive_offsets));
}
rollcall_status rollcall_start_intergroup_alltoall_blocks(const rollcall_intercommunicator* between, const void* data,
                                                          const uint64_t* send_counts, const uint64_t* send_offsets, void* all,
                                                          const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                                          const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(between, options, request, exchanged_blocks(data, send_counts, send_offsets, all, receive_counts, receive_offsets));
}
rollcall_status rollcall_plan_intergroup_alltoall_blocks(const rollcall_intercommunicator* between, const void* data,
                                                         const uint64_t* send_counts, const uint64_t* send_offsets, void* all,
                                                         const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                                         const rollcall_collective_options* options, rollcall_predictor predictor,
                                                         rollcall_plan** plan) {
    return plan_call(between, options, predictor, plan,
                     exchanged_blocks(data, send_counts, send_offsets, all, receive_counts, receive_offsets));
}

}  // extern "C"
