/** \file
 * Allgather and alltoall for C: the collective operations in which every rank sends data to every rank. A part of rollcall.h.
 *
 * All functions are collective, and the rules in rollcall.h hold for them. A call returns when this rank has its blocks and what it sends
 * has left. A start_ call returns at once with a request, and a plan_ call makes a plan; their buffers must stay in place until the request
 * is done, or as long as the plan. `options` may be NULL. exchanges.hpp says more, errors among it.
 */
#ifndef ROLLCALL_EXCHANGES_H
#define ROLLCALL_EXCHANGES_H

#include <stdint.h>

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

/** \{
 * Collects the blocks of all ranks on all ranks, in rank order (MPI_Allgather). Each block has `bytes` bytes. `block` is this rank's block,
 * and may be its place in `data`. `data` has room for a block of each rank. */
rollcall_status rollcall_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                   const rollcall_collective_options* options);
rollcall_status rollcall_start_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                         const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                        const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
/** \} */
/** \{
 * Allgather with blocks of different sizes (MPI_Allgatherv). `counts` has the size of the block of each rank, and `offsets` the place in
 * `data` where it goes, both in bytes. NULL offsets place the blocks one behind the other. The lists are read only during the call. `bytes`
 * is the size of this rank's block, which may be at its place in `data`. All ranks give the same counts, else ROLLCALL_MISMATCH on all;
 * offsets may differ. Blocks must not overlap in `data`. */
rollcall_status rollcall_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                          const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options);
rollcall_status rollcall_start_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                                const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options,
                                                rollcall_request** request);
rollcall_status rollcall_plan_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                               const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options,
                                               rollcall_predictor predictor, rollcall_plan** plan);
/** \} */

/** \{
 * Sends a block from each rank to each rank (MPI_Alltoall): block r of `data` on rank s becomes block s of `result` on rank r. Each block
 * has `bytes` bytes. `data` and `result` must not overlap. */
rollcall_status rollcall_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                  const rollcall_collective_options* options);
rollcall_status rollcall_start_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                        const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                       const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
/** \} */
/** \{
 * Alltoall with blocks of different sizes (MPI_Alltoallv). `send_counts` and `send_offsets` describe the block for each rank in `data`;
 * `receive_counts` and `receive_offsets` describe the place in `result` of the block from each rank. All numbers are in bytes and are read
 * only during the call. NULL offsets place the blocks one behind the other. Blocks must not overlap in `result`. If ranks count a block
 * differently, all get ROLLCALL_MISMATCH, in this call or the next one (blocks.hpp). */
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
/** \} */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
