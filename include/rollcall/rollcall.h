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
typedef int (*rollcall_allgather)(void* context, const void* mine, size_t bytes, void* all);
/* Joins a job whose ranks are told of each other by one call of `allgather`; collective. */
rollcall_status rollcall_init_by_allgather(rollcall_job** job, int rank, int size, rollcall_allgather allgather, void* context);

/* Waits for all ranks, closes connections, and frees the job, also when it fails; collective. */
rollcall_status rollcall_finalize(rollcall_job* job);
/* Ends the whole job with this exit code. Does not return. */
void rollcall_abort(rollcall_job* job, int code, const char* why);
/* All ranks. Belongs to the job: do not free it. */
const rollcall_communicator* rollcall_world(const rollcall_job* job);

/* Common time of several hosts, in nanoseconds, see job.hpp. Collective; `window`: how long clocks are watched, 0: the default; how far
 * job time may be off at most goes to `error`, which may be NULL. */
rollcall_status rollcall_synchronize_clocks(rollcall_job* job, int64_t window, int64_t* error);
/* Job time now. */
rollcall_status rollcall_time(const rollcall_job* job, int64_t* time);

/* For programs that drive progress themselves (ROLLCALL_PROGRESS=host), see job.hpp. */
rollcall_status rollcall_progress(rollcall_job* job, int* happened);
int rollcall_progress_descriptor(const rollcall_job* job);
rollcall_status rollcall_prepare_to_sleep(rollcall_job* job, int* may_sleep);

/* --- communicators -------------------------------------------------------------------------------------------------
 */

/* -1 for a null communicator. */
int rollcall_rank(const rollcall_communicator* communicator);
int rollcall_size(const rollcall_communicator* communicator);

/* Ranks of the same colour, ordered by key, then by rank; collective. ROLLCALL_NO_COLOR gives NULL. */
rollcall_status rollcall_split(const rollcall_communicator* communicator, int color, int key, rollcall_communicator** result);
/* The same ranks with their own messages and sequence; collective. */
rollcall_status rollcall_duplicate(const rollcall_communicator* communicator, rollcall_communicator** result);
/* Frees what split or duplicate gave. NULL is allowed. */
void rollcall_communicator_free(rollcall_communicator* communicator);

/* --- point to point ------------------------------------------------------------------------------------------------
 */

rollcall_status rollcall_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                              int64_t timeout);
/* `received` may be NULL; else it gets the number of bytes that came. */
rollcall_status rollcall_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                 int64_t timeout, uint64_t* received);
rollcall_status rollcall_start_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                                    rollcall_request** request);
rollcall_status rollcall_start_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                       rollcall_request** request);

/* --- collective ----------------------------------------------------------------------------------------------------
 */

typedef struct rollcall_collective_options {
    const char* algorithm; /* a name of `rollcall info --algorithms`; NULL: the setting of the operation, ROLLCALL_BROADCAST and so on */
    int64_t segment_bytes; /* piece of algorithms that pass pieces on; 0: whole; -1: the setting ROLLCALL_SEGMENT_BYTES */
    int64_t timeout;
} rollcall_collective_options;
#define ROLLCALL_COLLECTIVE_DEFAULTS \
    { NULL, -1, ROLLCALL_DEFAULT_TIMEOUT }

rollcall_status rollcall_barrier(const rollcall_communicator* communicator, int64_t timeout);
rollcall_status rollcall_start_barrier(const rollcall_communicator* communicator, rollcall_request** request);
/* `options` may be NULL. A started broadcast does not use options->timeout: its deadline is that of rollcall_wait(). */
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

/* --- plans ---------------------------------------------------------------------------------------------------------
 */
/* A collective operation bound to a place in the program; see plan.hpp, which says what belongs to whom and when. */

typedef enum rollcall_predictor { ROLLCALL_EDGE_LINEAR, ROLLCALL_LAST, ROLLCALL_MOVING_AVERAGE, ROLLCALL_EXPONENTIAL } rollcall_predictor;

/* Collective. `options` may be NULL; its timeout is that of each rollcall_plan_run() and rollcall_plan_wait(). */
rollcall_status rollcall_plan_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
rollcall_status rollcall_plan_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                     const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan);
/* The compute phase before the next iteration begins; a fraction of it, above 0 and at most 1, is done. */
rollcall_status rollcall_plan_begin(rollcall_plan* plan);
rollcall_status rollcall_plan_edge(rollcall_plan* plan, double fraction);
/* This rank arrives: run is start and wait in one. */
rollcall_status rollcall_plan_run(rollcall_plan* plan);
rollcall_status rollcall_plan_start(rollcall_plan* plan);
rollcall_status rollcall_plan_wait(rollcall_plan* plan);
/* NULL is allowed. */
void rollcall_plan_free(rollcall_plan* plan);

/* --- requests ------------------------------------------------------------------------------------------------------
 */
/* A request that is done, or has failed, is freed and its pointer becomes NULL. NULL is a request that is done. */

/* Waits. When the time is over the request is abandoned, and the status is ROLLCALL_TIMEOUT. `received` may be NULL. */
rollcall_status rollcall_wait(rollcall_request** request, int64_t timeout, uint64_t* received);
/* Moves things on. `done` becomes 1 or 0; `received` may be NULL. */
rollcall_status rollcall_test(rollcall_request** request, int* done, uint64_t* received);
/* Waits until one is done and gives its index (ROLLCALL_DEFAULT_TIMEOUT: for ever, here and in wait_all); its result is
 * kept for rollcall_wait(), which then returns at once. */
rollcall_status rollcall_wait_any(rollcall_request** requests, size_t count, int64_t timeout, size_t* index);
/* Waits for all. The status is that of the first failure. */
rollcall_status rollcall_wait_all(rollcall_request** requests, size_t count, int64_t timeout);
/* Abandons it and returns when its buffers are free. NULL is allowed. */
void rollcall_request_free(rollcall_request* request);

#ifdef __cplusplus
}
#endif

#endif
