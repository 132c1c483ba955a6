/* \file
 * The operations for C in which all ranks have something for all: allgather and alltoall; see exchanges.hpp. A part of rollcall.h.
 */
#ifndef ROLLCALL_EXCHANGES_H
#define ROLLCALL_EXCHANGES_H

#include <stdint.h>

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

/* `block`, of `bytes` bytes, may be this rank's place in `data`. `options` may be NULL, here and below. */
rollcall_status rollcall_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                   const rollcall_collective_options* options);
rollcall_status rollcall_start_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                         const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                        const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
/* Blocks of own sizes. `counts` and `offsets` have a number for each rank, in bytes, and are looked at during the call only; `offsets` may
 * be NULL: one behind the other. All ranks give the same counts. */
rollcall_status rollcall_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                          const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options);
rollcall_status rollcall_start_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                                const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options,
                                                rollcall_request** request);
rollcall_status rollcall_plan_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                               const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options,
                                               rollcall_predictor predictor, rollcall_plan** plan);

/* `bytes`: of the block for each rank. `data` and `result` must not overlap. */
rollcall_status rollcall_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                  const rollcall_collective_options* options);
rollcall_status rollcall_start_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                        const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                       const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
/* Blocks of own sizes, as above: of what goes to each rank, and of what comes from it. */
rollcall_status rollcall_alltoall_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* send_counts,
                                         const uint64_t* send_offsets, void* result, const uint64_t* receive_counts,
                                         const uint64_t* receive_offsets, const rollcall_collective_options* options);
rollcall_status rollcall_start_alltoall_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* send_counts,
                                               const uint64_t* send_offsets, void* result, const uint64_t* receive_counts,
                                               const uint64_t* receive_offsets, const rollcall_collective_options* options,
                                               rollcall_request** request);
rollcall_status rollcall_plan_alltoall_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* send_counts,
                                              const uint64_t* send_offsets, void* result, const uint64_t* receive_counts,
                                              const uint64_t* receive_offsets, const rollcall_collective_options* options,
                                              rollcall_predictor predictor, rollcall_plan** plan);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
