/* \file
 * Rollcall for C, and for languages that call C.
 *
 *     #include <rollcall/rollcall.h>
 *     int main(void) {
 *         rollcall_job* job;
 *         if (rollcall_init(&job) != ROLLCALL_OK) return 1;
 *         const rollcall_communicator* world = rollcall_world(job);
 *         double value = rollcall_rank(world) == 0 ? 42.0 : 0.0;
 *         rollcall_broadcast(world, &value, sizeof value, 0, NULL);
 *         return rollcall_finalize(job) == ROLLCALL_OK ? 0 : 1;
 *     }
 *
 * What each call does, its thread rules and its errors are those of the C++ call of the same name (communicator.hpp,
 * request.hpp, job.hpp). Here a failure is a status, and rollcall_last_error() is the sentence. No exception leaves a
 * function. Sizes are bytes; times are nanoseconds.
 */
#ifndef ROLLCALL_ROLLCALL_H
#define ROLLCALL_ROLLCALL_H

#include <stddef.h>
#include <stdint.h>

#include <rollcall/version.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

/* How a call ended. From ROLLCALL_INVALID_ARGUMENT to ROLLCALL_STATE: rollcall::ErrorCode, plus one. */
typedef enum rollcall_status {
    ROLLCALL_OK = 0,
    ROLLCALL_INVALID_ARGUMENT, /* a wrong argument; nothing was sent */
    ROLLCALL_INVALID_SETTING,  /* an environment variable with a wrong name or value */
    ROLLCALL_MISMATCH,         /* ranks called different operations, roots or sizes at the same sequence number */
    ROLLCALL_TRUNCATED,        /* a message was longer than the buffer it was received into */
    ROLLCALL_PEER_FAILED,      /* a rank died or became unreachable: rollcall_failed_rank() */
    ROLLCALL_TIMEOUT,          /* a deadline passed */
    ROLLCALL_BOOTSTRAP,        /* the processes of the job could not find each other */
    ROLLCALL_TRANSPORT,        /* the network layer failed */
    ROLLCALL_STATE,            /* the call is not allowed in this state */
    ROLLCALL_INTERNAL          /* anything else, such as memory that ran out */
} rollcall_status;

/* The membership of this process in its job. */
typedef struct rollcall_job rollcall_job;
/* A group of ranks. */
typedef struct rollcall_communicator rollcall_communicator;
/* An operation under way. Its buffers must stay until it is done. */
typedef struct rollcall_request rollcall_request;
typedef struct rollcall_plan rollcall_plan;

/* The deadline that ROLLCALL_TIMEOUT sets for all calls: none by default. */
#define ROLLCALL_DEFAULT_TIMEOUT INT64_C(-1)
/* Wait for as long as it takes. */
#define ROLLCALL_FOREVER INT64_MAX
/* The colour of ranks that get no communicator from rollcall_split(). */
#define ROLLCALL_NO_COLOR (-1)

/* Why the last call of this thread that failed has failed: a sentence. It stays until this thread's next failure. */
const char* rollcall_last_error(void);
/* The world rank that caused that failure, or -1 when no single rank did. */
int rollcall_failed_rank(void);
/* "peer_failed" */
const char* rollcall_status_name(rollcall_status status);

/* --- the job -------------------------------------------------------------------------------------------------------
 */

/* Joins the job this process was started for; collective. A process that no launcher started is a job of one. */
rollcall_status rollcall_init(rollcall_job** job);

/* A program that starts its processes itself says to each its rank and their number, and either hands a unique id to all,
 * which one process made, or lends its own allgather. See start.hpp, also for who may see what is handed over. */
#define ROLLCALL_UNIQUE_ID_BYTES 256
typedef struct rollcall_unique_id {
    unsigned char bytes[ROLLCALL_UNIQUE_ID_BYTES];
} rollcall_unique_id;
/* Makes a unique id for one job. This process must live until that job has ended. */
rollcall_status rollcall_make_unique_id(rollcall_unique_id* id);
/* Joins the job of this unique id; collective. */
rollcall_status rollcall_init_by_unique_id(rollcall_job** job, int rank, int size, const rollcall_unique_id* id);
/* Gives `bytes` bytes of each process to all, in rank order; `all` has size times as many. Returns 0 when that has worked. */
typedef int (*rollcall_allgather_function)(void* context, const void* mine, size_t bytes, void* all);
/* Joins a job whose ranks are told of each other by one call of `allgather`; collective. */
rollcall_status rollcall_init_by_allgather(rollcall_job** job, int rank, int size, rollcall_allgather_function allgather, void* context);

/* Waits for all ranks, closes connections, and frees the job, also when it fails; collective. Only when something is still under way
 * here is nothing done: then the status is ROLLCALL_STATE, and the job is as it was. (In a forked child, too.) */
rollcall_status rollcall_finalize(rollcall_job* job);
/* Ends the whole job with this exit code, from 1 to 255; any other becomes 255. Does not return. */
void rollcall_abort(rollcall_job* job, int code, const char* why);
/* What started this process, and what data moves over, for people. The text belongs to the job. NULL when that is NULL. */
const char* rollcall_started_by(const rollcall_job* job);
const char* rollcall_transport_description(const rollcall_job* job);
/* All ranks. Belongs to the job: do not free it. */
const rollcall_communicator* rollcall_world(const rollcall_job* job);

/* Common time of several hosts, in nanoseconds, see job.hpp. Collective; `window`: how long clocks are watched, 0: the default; how far
 * job time may be off at most goes to `error`, which may be NULL. */
rollcall_status rollcall_synchronize_clocks(rollcall_job* job, int64_t window, int64_t* error);
/* Job time now; job time when CLOCK_MONOTONIC of this host shows `local`; and the way back. */
rollcall_status rollcall_time(const rollcall_job* job, int64_t* time);
rollcall_status rollcall_time_at(const rollcall_job* job, int64_t local, int64_t* time);
rollcall_status rollcall_local_time_at(const rollcall_job* job, int64_t time, int64_t* local);

/* For programs that drive progress themselves (ROLLCALL_PROGRESS=host), see job.hpp. */
rollcall_status rollcall_progress(rollcall_job* job, int* happened);
int rollcall_progress_descriptor(const rollcall_job* job);
rollcall_status rollcall_prepare_to_sleep(rollcall_job* job, int* may_sleep);
/* The background thread keeps away until resumed. Calls nest. */
rollcall_status rollcall_pause_background(rollcall_job* job);
rollcall_status rollcall_resume_background(rollcall_job* job);

/* What the background thread has done and cost; see job.hpp. */
typedef struct rollcall_progress_statistics {
    size_t size; /* sizeof(rollcall_progress_statistics), set by the caller */
    int64_t background_cpu_time;
    uint64_t background_looks, background_takeovers, background_parks;
    uint64_t caller_sleeps;
    uint64_t landing_peak_bytes;
} rollcall_progress_statistics;
rollcall_status rollcall_statistics(const rollcall_job* job, rollcall_progress_statistics* statistics);

/* --- communicators -------------------------------------------------------------------------------------------------
 */

/* -1 for a null communicator. */
int rollcall_rank(const rollcall_communicator* communicator);
int rollcall_size(const rollcall_communicator* communicator);
/* Of the ranks on this rank's host; -1 for a null communicator. */
int rollcall_local_rank(const rollcall_communicator* communicator);
int rollcall_local_size(const rollcall_communicator* communicator);
/* The text belongs to the communicator. NULL for a null communicator. */
const char* rollcall_name(const rollcall_communicator* communicator);
/* The rank that `rank` has in the world communicator. */
rollcall_status rollcall_world_rank(const rollcall_communicator* communicator, int rank, int* world_rank);

/* Ranks of the same colour, ordered by key, then by rank; collective. ROLLCALL_NO_COLOR gives NULL. */
rollcall_status rollcall_split(const rollcall_communicator* communicator, int color, int key, rollcall_communicator** result);
/* A communicator for each host; collective. */
rollcall_status rollcall_split_by_host(const rollcall_communicator* communicator, rollcall_communicator** result);
/* These ranks, in this order; all ranks of the communicator give the same list; collective. Others get NULL. */
rollcall_status rollcall_create(const rollcall_communicator* communicator, const int* ranks, size_t count, rollcall_communicator** result);
/* The same ranks with their own messages and sequence; collective. */
rollcall_status rollcall_duplicate(const rollcall_communicator* communicator, rollcall_communicator** result);
/* Frees what split, create or duplicate gave. NULL is allowed. */
void rollcall_communicator_free(rollcall_communicator* communicator);

/* --- point to point ------------------------------------------------------------------------------------------------
 */

rollcall_status rollcall_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                              int64_t timeout);
/* `received` may be NULL; else it gets the number of bytes that came. */
rollcall_status rollcall_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                 int64_t timeout, uint64_t* received);
/* The deadline is that of the request, from here on. */
rollcall_status rollcall_start_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                                    int64_t timeout, rollcall_request** request);
rollcall_status rollcall_start_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                       int64_t timeout, rollcall_request** request);
/* Waits until the next message has been announced, and gives its size; the message stays for a receive. */
rollcall_status rollcall_next_size(const rollcall_communicator* communicator, int from, uint64_t tag, int64_t timeout, uint64_t* bytes);

/* --- collective ----------------------------------------------------------------------------------------------------
 */

/* The times of one call on this rank, see plan.hpp. */
typedef struct rollcall_call_record {
    size_t size; /* sizeof(rollcall_call_record), set by the caller */
    int64_t arrival, first_data, exit, predicted;
} rollcall_call_record;

/* Begin with ROLLCALL_COLLECTIVE_DEFAULTS: what the structure gets later has its default then. */
typedef struct rollcall_collective_options {
    size_t size;           /* sizeof(rollcall_collective_options) */
    const char* algorithm; /* a name of `rollcall info --algorithms`; NULL: the setting of the operation, ROLLCALL_BROADCAST and so on */
    int64_t segment_bytes; /* piece of algorithms that pass pieces on; 0: whole; -1: the setting ROLLCALL_SEGMENT_BYTES */
    int64_t timeout;       /* from the call */
    rollcall_call_record* record; /* filled when a blocking call returns; may be NULL */
    int until_delivered;          /* 1: a call that only brings data ends when that has left this rank, not when it has been copied */
} rollcall_collective_options;
#define ROLLCALL_COLLECTIVE_DEFAULTS \
    { sizeof(rollcall_collective_options), NULL, -1, ROLLCALL_DEFAULT_TIMEOUT, NULL, 0 }

rollcall_status rollcall_barrier(const rollcall_communicator* communicator, int64_t timeout);
/* `options` may be NULL, here and below. */
rollcall_status rollcall_start_barrier(const rollcall_communicator* communicator, const rollcall_collective_options* options,
                                       rollcall_request** request);
rollcall_status rollcall_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                   const rollcall_collective_options* options);
rollcall_status rollcall_start_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                         const rollcall_collective_options* options, rollcall_request** request);

/* Blocks of `bytes` bytes, one for each rank, in rank order in the root's `data` (elsewhere it is not looked at). At the root
 * `block` may be its place in `data`. */
rollcall_status rollcall_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                 const rollcall_collective_options* options);
rollcall_status rollcall_start_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                       const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                const rollcall_collective_options* options);
rollcall_status rollcall_start_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_request** request);

/* Blocks of own sizes (MPI_Scatterv, MPI_Gatherv). At the root `counts` has the bytes of each rank's block and `offsets` where it begins in
 * `data` (NULL: one behind the other); elsewhere they are not looked at. `bytes`: of this rank's block, as the root counts it. All ranks
 * must call this form. See blocks.hpp. */
rollcall_status rollcall_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                        const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                        const rollcall_collective_options* options);
rollcall_status rollcall_start_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                              const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                              const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                       const uint64_t* counts, const uint64_t* offsets, int root,
                                       const rollcall_collective_options* options);
rollcall_status rollcall_start_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                             const uint64_t* counts, const uint64_t* offsets, int root,
                                             const rollcall_collective_options* options, rollcall_request** request);
/* In the place of `bytes`, below: blocks have sizes of their own. */
#define ROLLCALL_OWN_SIZES UINT64_MAX

/* Which algorithm a call of this operation ("broadcast", ...) would run, and why. The sentence goes to `text`, cut where it is longer
 * than `capacity`, with its end. */
rollcall_status rollcall_explain(const rollcall_communicator* communicator, const char* operation, uint64_t bytes,
                                 const rollcall_collective_options* options, char* text, size_t capacity);

/* --- plans ---------------------------------------------------------------------------------------------------------
 */
/* A collective operation bound to a place in the program; see plan.hpp, which says what belongs to whom and when. */

typedef enum rollcall_predictor { ROLLCALL_EDGE_LINEAR, ROLLCALL_LAST, ROLLCALL_MOVING_AVERAGE, ROLLCALL_EXPONENTIAL } rollcall_predictor;

/* Collective. `options` may be NULL; its timeout is that of each rollcall_plan_run() and rollcall_plan_wait(). */
rollcall_status rollcall_plan_barrier(const rollcall_communicator* communicator, const rollcall_collective_options* options,
                                      rollcall_predictor predictor, rollcall_plan** plan);
rollcall_status rollcall_plan_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                        const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
rollcall_status rollcall_plan_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
rollcall_status rollcall_plan_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                     const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
rollcall_status rollcall_plan_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                             const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan);
rollcall_status rollcall_plan_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                            const uint64_t* counts, const uint64_t* offsets, int root,
                                            const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
/* The compute phase before the next iteration begins; a fraction of it, above 0 and at most 1, is done. */
rollcall_status rollcall_plan_begin(rollcall_plan* plan);
rollcall_status rollcall_plan_edge(rollcall_plan* plan, double fraction);
/* This rank arrives: run is start and wait in one. */
rollcall_status rollcall_plan_run(rollcall_plan* plan);
rollcall_status rollcall_plan_start(rollcall_plan* plan);
rollcall_status rollcall_plan_wait(rollcall_plan* plan);
/* Whether rollcall_plan_wait() would return at once: `done` becomes 1 or 0. Moves things on. */
rollcall_status rollcall_plan_test(rollcall_plan* plan, int* done);
/* The times of the last iteration that was waited for. */
rollcall_status rollcall_plan_record(const rollcall_plan* plan, rollcall_call_record* record);
/* Why this algorithm. The text belongs to the plan. NULL when that is NULL. */
const char* rollcall_plan_explanation(const rollcall_plan* plan);
/* NULL is allowed. */
void rollcall_plan_free(rollcall_plan* plan);

/* --- requests ------------------------------------------------------------------------------------------------------
 */
/* A request that is done, or has failed, is freed and its pointer becomes NULL. NULL is a request that is done. */

/* Waits. When the time is over the request is abandoned, and the status is ROLLCALL_TIMEOUT. `received` may be NULL. */
rollcall_status rollcall_wait(rollcall_request** request, int64_t timeout, uint64_t* received);
/* Waits for at most this time, and leaves the request as it is when that is over: `done` becomes 1 or 0. `received` may be NULL. */
rollcall_status rollcall_wait_for(rollcall_request** request, int64_t timeout, int* done, uint64_t* received);
/* Gives it up, and returns when its buffers are free. `cancelled` (may be NULL) becomes 1; or 0 when it was done before, and the request
 * stays with its result. */
rollcall_status rollcall_cancel(rollcall_request** request, int* cancelled);
/* Moves things on. `done` becomes 1 or 0; `received` may be NULL. */
rollcall_status rollcall_test(rollcall_request** request, int* done, uint64_t* received);
/* Waits until one is done and gives its index; its result is
 * kept for rollcall_wait(), which then returns at once. */
rollcall_status rollcall_wait_any(rollcall_request** requests, size_t count, int64_t timeout, size_t* index);
/* Waits for all. The status is that of the first failure. */
rollcall_status rollcall_wait_all(rollcall_request** requests, size_t count, int64_t timeout);
/* Abandons it and returns when its buffers are free. NULL is allowed. */
void rollcall_request_free(rollcall_request* request);

/* --- completion queues ---------------------------------------------------------------------------------------------
 */
/* Many requests, and one place to look for those that are done; see completion_queue.hpp. Any thread may add; one at a time takes. */
typedef struct rollcall_queue rollcall_queue;

/* How a request ended that was in a queue. */
typedef struct rollcall_completion {
    size_t size;            /* sizeof(rollcall_completion), set by the caller */
    uint64_t context;       /* what was given with it; a pointer as (uint64_t)(uintptr_t)pointer */
    uint64_t received;      /* the bytes that came */
    rollcall_status status; /* why it failed, or ROLLCALL_OK. rollcall_last_error() is the sentence */
    int failed_rank;        /* as rollcall_failed_rank() */
} rollcall_completion;

/* Of the job of this communicator. */
rollcall_status rollcall_queue_create(const rollcall_communicator* communicator, rollcall_queue** queue);
/* Takes the request, whose pointer becomes NULL. When that fails the request stays as it was. */
rollcall_status rollcall_queue_add(rollcall_queue* queue, rollcall_request** request, uint64_t context);
/* Done or not. 0 for NULL. */
size_t rollcall_queue_size(const rollcall_queue* queue);
/* Waits for the next one that ends; at most for ROLLCALL_TIMEOUT, after which the status is ROLLCALL_TIMEOUT and nothing is abandoned. The
 * status is ROLLCALL_STATE when none is in the queue. A request that failed is no failure of this call: see `completion`. */
rollcall_status rollcall_queue_next(rollcall_queue* queue, rollcall_completion* completion);
/* The next one if it ends within this time: `got` becomes 1, else 0. */
rollcall_status rollcall_queue_next_for(rollcall_queue* queue, int64_t timeout, int* got, rollcall_completion* completion);
/* One that has ended: `got` becomes 1, else 0. Moves things on. */
rollcall_status rollcall_queue_try_next(rollcall_queue* queue, int* got, rollcall_completion* completion);
/* Abandons the requests that are in it. NULL is allowed. */
void rollcall_queue_free(rollcall_queue* queue);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#include <rollcall/exchanges.h>  /* allgather and alltoall */
#include <rollcall/reductions.h> /* reduce and what else combines */

#endif
