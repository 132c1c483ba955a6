/** \file
 * Two groups of ranks that exchange data, for C (MPI: intercommunicators). A part of rollcall.h.
 *
 * The rules in rollcall.h hold here. Collective operations are called by all ranks of both groups. A call returns when this rank's part is
 * done. A start_ call returns at once with a request, and a plan_ call makes a plan; their buffers must stay in place until the request is
 * done, or as long as the plan. `options` may be NULL. intercommunicator.hpp says more, errors among it.
 */
#ifndef ROLLCALL_GROUPS_H
#define ROLLCALL_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

struct rollcall_reduction; /* reductions.h, which may be read after this file */

/** Two groups that have no rank in common. */
typedef struct rollcall_intercommunicator rollcall_intercommunicator;

/** Makes one of two groups of the communicator's ranks, given in the same order on all its ranks. Collective. `result` becomes NULL on
 * ranks in neither group. */
rollcall_status rollcall_intercommunicator_create(const rollcall_communicator* communicator, const int* first, size_t first_count,
                                                  const int* second, size_t second_count, rollcall_intercommunicator** result);
/** Gives one more handle to the same intercommunicator. Not collective. Free each handle. */
rollcall_status rollcall_intercommunicator_copy(const rollcall_intercommunicator* between, rollcall_intercommunicator** result);
/** Frees the handle. NULL is allowed. Between two jobs, freeing the last handle waits for all ranks of both jobs, as
 * rollcall_intercommunicator_disconnect() does, but a failure is only logged. What merge made counts as such a handle, and so do requests,
 * plans and completion queues. */
void rollcall_intercommunicator_free(rollcall_intercommunicator* between);
/** \{
 * The rank of this process in its own group, the size of that group, and the size of the other one; -1 for NULL. */
int rollcall_intercommunicator_rank(const rollcall_intercommunicator* between);
int rollcall_intercommunicator_size(const rollcall_intercommunicator* between);
int rollcall_intercommunicator_remote_size(const rollcall_intercommunicator* between);
/** \} */
/** The name of this intercommunicator in error messages. The text belongs to it. Returns NULL if that is NULL. */
const char* rollcall_intercommunicator_name(const rollcall_intercommunicator* between);
/** The rank that `rank` of the other group has in the world communicator; between two jobs, in the world of the connection (listener.hpp).
 */
rollcall_status rollcall_intercommunicator_remote_world_rank(const rollcall_intercommunicator* between, int rank, int* world_rank);
/** Gives one more handle to the communicator of this rank's own group. Free it. */
rollcall_status rollcall_intercommunicator_local(const rollcall_intercommunicator* between, rollcall_communicator** result);
/** Makes a communicator of both groups, the ranks of the first group first. Collective. */
rollcall_status rollcall_intercommunicator_merge(const rollcall_intercommunicator* between, rollcall_communicator** result);
/** Ends the connection of two jobs. Collective over both. Later calls that communicate over it fail with ROLLCALL_STATE. Errors:
 * ROLLCALL_STATE if operations are under way (then nothing has changed) or if both groups are of one job, ROLLCALL_TIMEOUT,
 * ROLLCALL_PEER_FAILED, and a failure over it that no earlier call has reported, such as ROLLCALL_MISMATCH. */
rollcall_status rollcall_intercommunicator_disconnect(const rollcall_intercommunicator* between);

/** A place where other jobs can connect; listener.hpp describes it. */
typedef struct rollcall_listener rollcall_listener;

/** Begins to listen on rank 0 of the communicator, at this port (0: any). Each connection then uses one more port of rank 0, which the
 * system chooses. Collective. `job_name` is what errors call this job, on rank 0; NULL: an identifier of its starter. The text need only
 * live until the call returns. */
rollcall_status rollcall_listener_create(const rollcall_communicator* communicator, const char* job_name, uint16_t port,
                                         rollcall_listener** result);
/** Gives one more handle to the same listener. Not collective. Free each handle. */
rollcall_status rollcall_listener_copy(const rollcall_listener* listener, rollcall_listener** result);
/** Frees the handle. With the last one the listening ends. NULL is allowed. */
void rollcall_listener_free(rollcall_listener* listener);
/** What the other job needs to connect: secret, because it holds a key. It is valid as long as there is a handle. Empty on ranks other than
 * 0, and for NULL. */
const char* rollcall_listener_invitation(const rollcall_listener* listener);
/** Waits until another job connects. Collective over the communicator. */
rollcall_status rollcall_listener_accept(const rollcall_listener* listener, int64_t timeout, rollcall_intercommunicator** result);
/** Connects the communicator's ranks with the job that gave the invitation, which calls rollcall_listener_accept(). Collective.
 * `invitation` and `job_name`, which may be NULL, are looked at on rank 0 only, and need only live until the call returns. */
rollcall_status rollcall_intercommunicator_connect(const rollcall_communicator* communicator, const char* invitation, const char* job_name,
                                                   int64_t timeout, rollcall_intercommunicator** result);

/** \{
 * Messages, as the functions of rollcall.h without intergroup_ in their names. `to` and `from` are ranks of the other group. */
rollcall_status rollcall_intergroup_send(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, int to, uint64_t tag,
                                         int64_t timeout);
rollcall_status rollcall_intergroup_receive(const rollcall_intercommunicator* between, void* data, uint64_t bytes, int from, uint64_t tag,
                                            int64_t timeout, uint64_t* received);
rollcall_status rollcall_intergroup_receive_resized(const rollcall_intercommunicator* between, rollcall_resize_function resize,
                                                    void* context, int from, uint64_t tag, int64_t timeout, uint64_t* received);
rollcall_status rollcall_intergroup_next_size(const rollcall_intercommunicator* between, int from, uint64_t tag, int64_t timeout,
                                              uint64_t* bytes);
rollcall_status rollcall_intergroup_try_next_size(const rollcall_intercommunicator* between, int from, uint64_t tag, int* found,
                                                  uint64_t* bytes);
rollcall_status rollcall_start_intergroup_send(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, int to,
                                               uint64_t tag, int64_t timeout, rollcall_request** request);
rollcall_status rollcall_start_intergroup_receive(const rollcall_intercommunicator* between, void* data, uint64_t bytes, int from,
                                                  uint64_t tag, int64_t timeout, rollcall_request** request);
rollcall_status rollcall_start_intergroup_next_size(const rollcall_intercommunicator* between, int from, uint64_t tag, int64_t timeout,
                                                    rollcall_request** request);
/** \} */

/** Which group the root of an operation is in, as the calling rank sees it. `root` is its rank in that group. In these operations the other
 * ranks of the root's group take no part: their `data` may be NULL and their sizes are not looked at. */
typedef enum rollcall_side { ROLLCALL_MINE, ROLLCALL_THEIRS } rollcall_side;

/** \{
 * Returns on a rank only after all ranks of both groups have called it. */
rollcall_status rollcall_intergroup_barrier(const rollcall_intercommunicator* between, const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_barrier(const rollcall_intercommunicator* between, const rollcall_collective_options* options,
                                                  rollcall_request** request);
rollcall_status rollcall_plan_intergroup_barrier(const rollcall_intercommunicator* between, const rollcall_collective_options* options,
                                                 rollcall_predictor predictor, rollcall_plan** plan);
/** \} */
/** \{
 * Sends `data`, of `bytes` bytes, from the root to all ranks of the other group. */
rollcall_status rollcall_intergroup_broadcast(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                              int root, const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_broadcast(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                    rollcall_side side, int root, const rollcall_collective_options* options,
                                                    rollcall_request** request);
rollcall_status rollcall_plan_intergroup_broadcast(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                   rollcall_side side, int root, const rollcall_collective_options* options,
                                                   rollcall_predictor predictor, rollcall_plan** plan);
/** \} */
/** \{
 * Sends each rank of the other group its block of the root's data. At the root `data` has a block for each of them, and `bytes` is the size
 * of all blocks. In the other group `data` is where the block goes, of `bytes` bytes. */
rollcall_status rollcall_intergroup_scatter(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                            int root, const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_scatter(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                  int root, const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_scatter(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                 int root, const rollcall_collective_options* options, rollcall_predictor predictor,
                                                 rollcall_plan** plan);
/** \} */
/** \{
 * Scatter with blocks of different sizes. At the root `counts` has the sizes of the blocks of the other group, and `offsets` where they are
 * in `data`, both in bytes; `bytes` is not looked at. NULL offsets mean that the blocks lie one behind the other. The other ranks of both
 * groups give NULL for both lists. In the other group `data` is where the block goes, and `bytes` must be what the root counts for this
 * rank, else ROLLCALL_MISMATCH on all ranks, in this call or the next one (blocks.hpp). The lists are read only during the call. */
rollcall_status rollcall_intergroup_scatter_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                   const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                   const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_scatter_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                         const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                         const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_scatter_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                        const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                        const rollcall_collective_options* options, rollcall_predictor predictor,
                                                        rollcall_plan** plan);
/** \} */
/** \{
 * Collects the blocks of the other group at the root. In the other group `data` is the block, of `bytes` bytes. At the root `data` is where
 * the blocks go, in rank order, and `bytes` is the size of all of them. */
rollcall_status rollcall_intergroup_gather(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                           int root, const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_gather(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                 int root, const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_gather(const rollcall_intercommunicator* between, void* data, uint64_t bytes, rollcall_side side,
                                                int root, const rollcall_collective_options* options, rollcall_predictor predictor,
                                                rollcall_plan** plan);
/** \} */
/** \{
 * Gather with blocks of different sizes, with the arguments of rollcall_intergroup_scatter_blocks(). The blocks must not overlap in `data`
 * of the root. */
rollcall_status rollcall_intergroup_gather_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                  const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                  const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_gather_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                        const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                        const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_gather_blocks(const rollcall_intercommunicator* between, void* data, uint64_t bytes,
                                                       const uint64_t* counts, const uint64_t* offsets, rollcall_side side, int root,
                                                       const rollcall_collective_options* options, rollcall_predictor predictor,
                                                       rollcall_plan** plan);
/** \} */
/** \{
 * Combines the elements of the other group at the root, in any order that the reduction allows. In the other group `data` has the `count`
 * elements that the rank brings. At the root `data` is where the result goes. */
rollcall_status rollcall_intergroup_reduce(const rollcall_intercommunicator* between, void* data, uint64_t count,
                                           const struct rollcall_reduction* reduction, rollcall_side side, int root,
                                           const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_reduce(const rollcall_intercommunicator* between, void* data, uint64_t count,
                                                 const struct rollcall_reduction* reduction, rollcall_side side, int root,
                                                 const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_reduce(const rollcall_intercommunicator* between, void* data, uint64_t count,
                                                const struct rollcall_reduction* reduction, rollcall_side side, int root,
                                                const rollcall_collective_options* options, rollcall_predictor predictor,
                                                rollcall_plan** plan);
/** \} */
/** \{
 * Combines the `count` elements of each rank of a group, in any order that the reduction allows, and gives the result to all ranks of the
 * other group. */
rollcall_status rollcall_intergroup_allreduce(const rollcall_intercommunicator* between, const void* contribution, void* result,
                                              uint64_t count, const struct rollcall_reduction* reduction,
                                              const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_allreduce(const rollcall_intercommunicator* between, const void* contribution, void* result,
                                                    uint64_t count, const struct rollcall_reduction* reduction,
                                                    const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_allreduce(const rollcall_intercommunicator* between, const void* contribution, void* result,
                                                   uint64_t count, const struct rollcall_reduction* reduction,
                                                   const rollcall_collective_options* options, rollcall_predictor predictor,
                                                   rollcall_plan** plan);
/** \} */
/** \{
 * Gives each rank the blocks of all ranks of the other group, in rank order, in `all`. `block` is the rank's own block. The blocks of a
 * group have one size. `all_bytes` is the size of all blocks of the other group. `block` and `all` must not overlap. */
rollcall_status rollcall_intergroup_allgather(const rollcall_intercommunicator* between, const void* block, uint64_t bytes, void* all,
                                              uint64_t all_bytes, const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_allgather(const rollcall_intercommunicator* between, const void* block, uint64_t bytes, void* all,
                                                    uint64_t all_bytes, const rollcall_collective_options* options,
                                                    rollcall_request** request);
rollcall_status rollcall_plan_intergroup_allgather(const rollcall_intercommunicator* between, const void* block, uint64_t bytes, void* all,
                                                   uint64_t all_bytes, const rollcall_collective_options* options,
                                                   rollcall_predictor predictor, rollcall_plan** plan);
/** \} */
/** \{
 * Allgather with blocks of different sizes. `counts` has the sizes of the blocks of the other group, and `offsets` where they go in `all`,
 * both in bytes. NULL offsets place the blocks one behind the other. The lists are read only during the call. Wrong sizes are a
 * ROLLCALL_MISMATCH, as in rollcall_intergroup_scatter_blocks(). */
rollcall_status rollcall_intergroup_allgather_blocks(const rollcall_intercommunicator* between, const void* block, uint64_t bytes,
                                                     void* all, const uint64_t* counts, const uint64_t* offsets,
                                                     const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_allgather_blocks(const rollcall_intercommunicator* between, const void* block, uint64_t bytes,
                                                           void* all, const uint64_t* counts, const uint64_t* offsets,
                                                           const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_allgather_blocks(const rollcall_intercommunicator* between, const void* block, uint64_t bytes,
                                                          void* all, const uint64_t* counts, const uint64_t* offsets,
                                                          const rollcall_collective_options* options, rollcall_predictor predictor,
                                                          rollcall_plan** plan);
/** \} */
/** \{
 * Sends a block from each rank to each rank of the other group. `data` has a block for each of them, `bytes` bytes together. `all`, of
 * `all_bytes` bytes, gets a block from each. `data` and `all` must not overlap. */
rollcall_status rollcall_intergroup_alltoall(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, void* all,
                                             uint64_t all_bytes, const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_alltoall(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, void* all,
                                                   uint64_t all_bytes, const rollcall_collective_options* options,
                                                   rollcall_request** request);
rollcall_status rollcall_plan_intergroup_alltoall(const rollcall_intercommunicator* between, const void* data, uint64_t bytes, void* all,
                                                  uint64_t all_bytes, const rollcall_collective_options* options,
                                                  rollcall_predictor predictor, rollcall_plan** plan);
/** \} */
/** \{
 * Alltoall with blocks of different sizes. `send_counts` has the sizes of the blocks for the ranks of the other group, and `send_offsets`
 * where they are in `data`. `receive_counts` has the sizes of the blocks from them, and `receive_offsets` where they go in `all`. All are
 * in bytes. NULL offsets place the blocks one behind the other. The lists are read only during the call. Sizes that differ are a
 * ROLLCALL_MISMATCH, as in rollcall_intergroup_scatter_blocks(). */
rollcall_status rollcall_intergroup_alltoall_blocks(const rollcall_intercommunicator* between, const void* data,
                                                    const uint64_t* send_counts, const uint64_t* send_offsets, void* all,
                                                    const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                                    const rollcall_collective_options* options);
rollcall_status rollcall_start_intergroup_alltoall_blocks(const rollcall_intercommunicator* between, const void* data,
                                                          const uint64_t* send_counts, const uint64_t* send_offsets, void* all,
                                                          const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                                          const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_intergroup_alltoall_blocks(const rollcall_intercommunicator* between, const void* data,
                                                         const uint64_t* send_counts, const uint64_t* send_offsets, void* all,
                                                         const uint64_t* receive_counts, const uint64_t* receive_offsets,
                                                         const rollcall_collective_options* options, rollcall_predictor predictor,
                                                         rollcall_plan** plan);
/** \} */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
