/** \file
 * The interface of Rollcall for C, and for languages that call C.
 *
 *     #include <rollcall/rollcall.h>
 *     int main(void) {
 *         rollcall_job* job;
 *         if (rollcall_init(&job) != ROLLCALL_OK) return 1;
 *         const rollcall_communicator* world = rollcall_world(job);
 *         double value = rollcall_rank(world) == 0 ? 42.0 : 0.0;
 *         if (rollcall_broadcast(world, &value, sizeof value, 0, NULL) != ROLLCALL_OK) rollcall_abort(job, 1, rollcall_last_error());
 *         return rollcall_finalize(job) == ROLLCALL_OK ? 0 : 1;
 *     }
 *
 * Rules for all functions:
 *   - Sizes are in bytes, times in nanoseconds. A structure begins with its size, which tells the version of the header (docs/c.md).
 *   - A function that returns rollcall_status reports a failure by it; rollcall_last_error() has the sentence. No exception leaves a
 *     function. A null pointer that is not said to be allowed is ROLLCALL_INVALID_ARGUMENT.
 *   - `timeout`, also in options, is the time that a call may take: nanoseconds, ROLLCALL_DEFAULT_TIMEOUT or ROLLCALL_FOREVER. With 0 a
 *     call does only what can be done at once. Another negative value is ROLLCALL_INVALID_ARGUMENT. Where a collective call takes no
 *     timeout, such as split, merge, the plan_ functions and finalize, the environment variable ROLLCALL_TIMEOUT limits it.
 *   - A text that is passed to a call need only live until the call returns. Two buffers of a call must not overlap, unless the function
 *     allows it.
 *   - A function marked "Collective" must be called by all ranks of its communicator or job. The collective calls on one communicator come
 *     from one thread at a time, in the same order on all ranks. Any thread may call the other functions, but only one at a time may use
 *     the same request or plan.
 *   - What a function returns through a pointer to a pointer belongs to the caller, which frees it with the function named for it. If it
 *     fails, that pointer becomes NULL; `received` and `bytes` then stay as they were.
 *   - Lifetimes: rollcall_finalize() frees the job, its world communicator, its texts and the memory from rollcall_allocate(). All other
 *     handles may outlive the job: once it has ended, calls that communicate fail with ROLLCALL_STATE, and all other functions still work.
 *     A communicator may be freed before its requests, plans and queues. The last handle to a connection between two jobs waits for both
 *     jobs when it is freed (groups.h).
 *   - Each function behaves as the C++ function that corresponds to it, where more is said: communicator.hpp, request.hpp, plan.hpp,
 *     job.hpp, completion_queue.hpp. Most have the same name; docs/c.md lists those that have not.
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

/** How a call ended. The values never change; later versions may add some before ROLLCALL_INTERNAL. */
typedef enum rollcall_status {
    ROLLCALL_OK = 0,
    ROLLCALL_INVALID_ARGUMENT = 1, /**< a wrong argument; nothing was sent */
    ROLLCALL_INVALID_SETTING = 2,  /**< an environment variable with a wrong name or value */
    ROLLCALL_MISMATCH = 3,         /**< ranks gave different operations, roots or sizes at one place in the sequence of calls */
    ROLLCALL_TRUNCATED = 4,        /**< a message was longer than the buffer it was received into */
    ROLLCALL_PEER_FAILED = 5,      /**< a rank died or became unreachable: rollcall_failed_rank() */
    ROLLCALL_TIMEOUT = 6,          /**< a deadline passed (as a timeout, give ROLLCALL_DEFAULT_TIMEOUT and not this status) */
    ROLLCALL_BOOTSTRAP = 7,        /**< the processes of the job could not find each other */
    ROLLCALL_TRANSPORT = 8,        /**< the network layer failed */
    ROLLCALL_STATE = 9,            /**< the call is not possible now: the job has ended, this is a forked child, another rank destroyed its
                                        part, or the system gave no memory, descriptor or thread */
    ROLLCALL_INTERNAL = 100        /**< anything else; in C++ another exception, such as std::bad_alloc if memory runs out */
} rollcall_status;

/** The membership of this process in its job. */
typedef struct rollcall_job rollcall_job;
/** A group of ranks that send each other messages and call collective operations together. */
typedef struct rollcall_communicator rollcall_communicator;
/** An operation under way. Its buffers must stay in place until it is done. */
typedef struct rollcall_request rollcall_request;
/** A collective operation that the program repeats; see plan.hpp. */
typedef struct rollcall_plan rollcall_plan;

/** As a timeout: the deadline that the environment variable ROLLCALL_TIMEOUT gives to all calls. By default there is none. */
#define ROLLCALL_DEFAULT_TIMEOUT INT64_C(-1)
/** As a timeout: wait as long as it takes. */
#define ROLLCALL_FOREVER INT64_MAX
/** The color of ranks that get no communicator from rollcall_split(). */
#define ROLLCALL_NO_COLOR (-1)

/** A sentence that says why the most recent failed call of this thread failed. The text, of at most 2047 bytes of UTF-8, is valid until the
 * next failure in this thread. It is empty if no call of this thread has failed. */
const char* rollcall_last_error(void);
/** The rank in the world communicator that caused that failure, or -1 if no single rank did. After a call over a connection of two jobs, it
 * is a rank in the world of that connection (listener.hpp). */
int rollcall_failed_rank(void);
/** The name of a status in lower case, such as "peer_failed". */
const char* rollcall_status_name(rollcall_status status);

/* --- the job --------------------------------------------------------------------------------------------------- */

/** Joins the job for which this process was started. A process that no launcher started is a job of one rank. On failure `*job` is NULL.
 * Collective. Several parts of a program may each call it: the second and later ones share the job of the process, each with a world
 * communicator of its own. All ranks call it for their parts in the same order, and the last rollcall_finalize() ends the job. No rank may
 * call it while the last rollcall_finalize() of another rank is under way, because these two calls do not match. */
rollcall_status rollcall_init(rollcall_job** job);

/** The size of a unique id. */
#define ROLLCALL_UNIQUE_ID_BYTES 256
/** The path to one job, for a program that starts its processes itself. One process makes the id and the program hands it to all ranks.
 * Instead, the program may provide an allgather: see rollcall_init_by_allgather(). start.hpp says which processes may see it. */
typedef struct rollcall_unique_id {
    unsigned char bytes[ROLLCALL_UNIQUE_ID_BYTES]; /**< handed to all ranks as they are */
} rollcall_unique_id;
/** Makes a unique id for one job. This process must live until that job has ended. Not collective. */
rollcall_status rollcall_make_unique_id(rollcall_unique_id* id);
/** Gives back an id that this process has made and that is not needed any more: its thread and its file descriptors end. Otherwise they end
 * with the job. Ranks that come by this id later time out, and a job that is running by it cannot go on. Does nothing if the job has
 * ended, or if another process has made the id. Not collective. */
rollcall_status rollcall_forget_unique_id(const rollcall_unique_id* id);
/** Joins the job of this unique id as rank `rank` of `size`. On failure `*job` is NULL. Collective. */
rollcall_status rollcall_init_by_unique_id(rollcall_job** job, int rank, int size, const rollcall_unique_id* id);
/** A function of the program that gives the `bytes` bytes at `mine` of each process to all processes. `all` has room for size times as many
 * bytes, in rank order. Returns 0 if that has worked. */
typedef int (*rollcall_allgather_function)(void* context, const void* mine, size_t bytes, void* all);
/** Joins a job as rank `rank` of `size`. The ranks find each other by one call of `allgather`, which is given `context` as it is. On
 * failure `*job` is NULL. Collective. */
rollcall_status rollcall_init_by_allgather(rollcall_job** job, int rank, int size, rollcall_allgather_function allgather, void* context);

/** Waits for all ranks, closes the connections and frees the job, even if it fails. There is one exception: if an operation is still under
 * way on this rank, and in a forked child, the status is ROLLCALL_STATE and the job stays as it was. Collective. While other parts of the
 * program share the job, it only ends this part: it does not wait, and checks nothing. A second call for a job that was freed is
 * ROLLCALL_STATE and does nothing, but a later job may have the same address, and would be ended. No other function takes a freed job. */
rollcall_status rollcall_finalize(rollcall_job* job);
/** Leaves the job at once, without the other ranks, and frees it. Ranks that depend on this one get ROLLCALL_PEER_FAILED, and operations
 * that are under way here never end. While other parts of the program share the job, it only ends this part. A job that was freed is
 * ROLLCALL_STATE. */
rollcall_status rollcall_leave(rollcall_job* job);
/** Ends the whole job, all ranks, and does not return. `code` is the exit code, from 1 to 255; any other code becomes 255. `why` is printed
 * by whatever started the job, and may be NULL. If `job` is NULL, or in a forked child, only this process ends, and prints `why` to
 * standard error. Ends the process as _Exit() does, without writing what stdio has buffered: flush your own output first. */
void rollcall_abort(rollcall_job* job, int code, const char* why) __attribute__((noreturn));
/** What started this process, as a text for people. The text belongs to the job. Returns NULL if `job` is NULL. */
const char* rollcall_started_by(const rollcall_job* job);
/** What carries the data, as a text for people. The text belongs to the job. Returns NULL if `job` is NULL. */
const char* rollcall_transport_description(const rollcall_job* job);
/** The communicator of all ranks. It belongs to the job: do not free it. Returns NULL if `job` is NULL. */
const rollcall_communicator* rollcall_world(const rollcall_job* job);

/** Measures how the clocks of the hosts differ, so that all ranks know job time, the clock of rank 0. `window` is how long clocks are
 * watched in each round; 0 takes the default, 30 ms. The largest possible error of this rank's job time goes to `error`, which may be NULL.
 * See job.hpp for its cost. Collective. */
rollcall_status rollcall_synchronize_clocks(rollcall_job* job, int64_t window, int64_t* error);
/** The job time now. */
rollcall_status rollcall_time(const rollcall_job* job, int64_t* time);
/** The job time at the moment when CLOCK_MONOTONIC of this host shows `local`. */
rollcall_status rollcall_time_at(const rollcall_job* job, int64_t local, int64_t* time);
/** What CLOCK_MONOTONIC of this host shows at the job time `time`. */
rollcall_status rollcall_local_time_at(const rollcall_job* job, int64_t time, int64_t* local);

/** Moves whatever data can be moved now, without waiting. `happened` becomes 1 if anything moved, else 0; it may be NULL. Programs with
 * ROLLCALL_PROGRESS=host call it from their own loop. This and the two functions below are also for the connections to other jobs. */
rollcall_status rollcall_progress(rollcall_job* job, int* happened);
/** A file descriptor for an event loop: poll it for reading after rollcall_prepare_to_sleep() has set 1. Returns -1 on failure. */
int rollcall_progress_descriptor(const rollcall_job* job);
/** `may_sleep` becomes 0 if something has arrived or ended since the last call (test the requests again before sleeping), else 1. If there
 * is a background thread, also that of a connection to another job, a message that arrives does not count. Only an operation that ends
 * does. The deadline of a request does not make the descriptor readable: give poll() the time that is left, and test the request then. */
rollcall_status rollcall_prepare_to_sleep(rollcall_job* job, int* may_sleep);
/** Stops the background thread from moving data until rollcall_resume_background(). Calls nest: each needs its own resume. The pauses of
 * all parts of a program that share the job are counted together, so each part must resume exactly as often as it has paused. If a rank
 * dies, the thread still takes what has come, and fails what depends on that rank. The threads of connections to other jobs go on. */
rollcall_status rollcall_pause_background(rollcall_job* job);
/** Ends one rollcall_pause_background(). ROLLCALL_STATE: there is none. */
rollcall_status rollcall_resume_background(rollcall_job* job);

/** Counters of this process since the job began, without connections to other jobs. Times are in nanoseconds. */
typedef struct rollcall_progress_statistics {
    size_t size;                   /**< sizeof(rollcall_progress_statistics), set by the caller */
    int64_t background_cpu_time;   /**< CPU time of the background thread */
    uint64_t background_looks;     /**< how often it woke */
    uint64_t background_takeovers; /**< how often it found work while the application was not calling the library */
    uint64_t background_parks;     /**< how often it went to sleep until something arrives */
    uint64_t caller_sleeps;        /**< how often a thread that waited in a call went to sleep */
    uint64_t landing_peak_bytes;   /**< the most early data held at one time; see job.hpp for what counts */
} rollcall_progress_statistics;
/** Reads the counters of this process. Set `statistics->size` before the call. */
rollcall_status rollcall_statistics(const rollcall_job* job, rollcall_progress_statistics* statistics);

/* --- communicators --------------------------------------------------------------------------------------------- */

/** The rank of this process in the communicator. Returns -1 if that is NULL. */
int rollcall_rank(const rollcall_communicator* communicator);
/** The number of ranks in the communicator. Returns -1 if that is NULL. */
int rollcall_size(const rollcall_communicator* communicator);
/** The number of ranks of the communicator on this rank's host that come before this rank. Returns -1 if the communicator is NULL. */
int rollcall_local_rank(const rollcall_communicator* communicator);
/** The number of ranks of the communicator on this rank's host. Returns -1 if the communicator is NULL. */
int rollcall_local_size(const rollcall_communicator* communicator);
/** The name of the communicator in error messages. The text belongs to the communicator. Returns NULL if that is NULL. */
const char* rollcall_name(const rollcall_communicator* communicator);
/** The rank that `rank` of this communicator has in the world communicator. */
rollcall_status rollcall_world_rank(const rollcall_communicator* communicator, int rank, int* world_rank);

/** Makes one communicator for each color (0 or more), of the ranks that give this color, ordered by key, and by rank where keys are
 * equal. A rank that gives ROLLCALL_NO_COLOR gets NULL. Collective. */
rollcall_status rollcall_split(const rollcall_communicator* communicator, int color, int key, rollcall_communicator** result);
/** Makes one communicator for each host, of the ranks on that host. Collective. */
rollcall_status rollcall_split_by_host(const rollcall_communicator* communicator, rollcall_communicator** result);
/** Makes a communicator of the `count` listed ranks, in the order of the list. All ranks of `communicator` give the same list; those that
 * are not in it get NULL. Collective. */
rollcall_status rollcall_create(const rollcall_communicator* communicator, const int* ranks, size_t count, rollcall_communicator** result);
/** Makes a communicator of the same ranks, with messages and operations separate from those of `communicator`. Collective. */
rollcall_status rollcall_duplicate(const rollcall_communicator* communicator, rollcall_communicator** result);
/** Makes a communicator of the ranks that are left after failures. Collective over these ranks. Communicator::shrink() in communicator.hpp
 * says what becomes of messages of `communicator`, and when rollcall_finalize() succeeds. */
rollcall_status rollcall_shrink(const rollcall_communicator* communicator, int64_t timeout, rollcall_communicator** result);
/** Gives one more handle to the same communicator, also to that of the world. Not collective. Free each handle. */
rollcall_status rollcall_communicator_copy(const rollcall_communicator* communicator, rollcall_communicator** result);
/** Frees a handle that split, split_by_host, create, duplicate, shrink or copy gave. NULL is allowed. */
void rollcall_communicator_free(rollcall_communicator* communicator);

/* --- point to point -------------------------------------------------------------------------------------------- */

/** Sends `bytes` bytes to rank `to`. Returns when the buffer may be used again, usually before the receiver asks for the message.
 * If the receiver does not begin to take a long message in time, the message is copied and sent from the copy; Communicator::send() in
 * communicator.hpp says when. To wait until the data has left this rank, use rollcall_start_send() and wait for the request. `tag` is
 * any number; a receive gets only messages with its tag. */
rollcall_status rollcall_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                              int64_t timeout);
/** Receives the next message with this tag from rank `from`. It may be shorter than `bytes`; a longer one is ROLLCALL_TRUNCATED. The number
 * of bytes that came goes to `received`, which may be NULL. */
rollcall_status rollcall_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                 int64_t timeout, uint64_t* received);
/** A function of the program that gives the address of `bytes` bytes, or NULL if there is no memory. */
typedef void* (*rollcall_resize_function)(void* context, uint64_t bytes);
/** Receives the next message with this tag from rank `from` into memory of its size, which `resize` gives. Any number of threads may do so
 * with one source and tag. If another thread gets the message first, `resize` is called again for the next one. Its last call is that for
 * the message. If it returns NULL for a message that is not empty, the status is ROLLCALL_INTERNAL, and the message stays. */
rollcall_status rollcall_receive_resized(const rollcall_communicator* communicator, rollcall_resize_function resize, void* context,
                                         int from, uint64_t tag, int64_t timeout, uint64_t* received);
/** \{
 * Start a send or a receive. `timeout` becomes the deadline of the request and counts from this call; ROLLCALL_DEFAULT_TIMEOUT counts from
 * the moment when the program waits. The buffer must stay in place until the request is done. */
rollcall_status rollcall_start_send(const rollcall_communicator* communicator, const void* data, uint64_t bytes, int to, uint64_t tag,
                                    int64_t timeout, rollcall_request** request);
rollcall_status rollcall_start_receive(const rollcall_communicator* communicator, void* data, uint64_t bytes, int from, uint64_t tag,
                                       int64_t timeout, rollcall_request** request);
/** \} */
/** Waits until a message with this tag from rank `from` has been announced, and sets its size. The message stays for a later receive. */
rollcall_status rollcall_next_size(const rollcall_communicator* communicator, int from, uint64_t tag, int64_t timeout, uint64_t* bytes);
/** Starts to wait for such a message. When the request is done, the size of the message is what a receive gives as `received` (requests.h,
 * queues.h). With a queue of one such request for each source, a program takes messages of any size from whichever rank. `timeout` is as
 * for rollcall_start_receive(). */
rollcall_status rollcall_start_next_size(const rollcall_communicator* communicator, int from, uint64_t tag, int64_t timeout,
                                         rollcall_request** request);
/** Looks for such a message without waiting. `found` becomes 1 and `bytes` its size if there is one; else `found` becomes 0, and `bytes`
 * stays, and the call also moves data, as rollcall_progress() does. Communicator::try_next_size() says how to use it in an event loop. */
rollcall_status rollcall_try_next_size(const rollcall_communicator* communicator, int from, uint64_t tag, int* found, uint64_t* bytes);

/* --- collective ------------------------------------------------------------------------------------------------ */

/** The times of one call on this rank, in nanoseconds; plan.hpp (CallRecord) says of which clock. */
typedef struct rollcall_call_record {
    size_t size;        /**< sizeof(rollcall_call_record), set by the caller */
    int64_t arrival;    /**< when this rank called the operation */
    int64_t first_data; /**< when this rank first took data of another rank; 0 if it took none */
    int64_t exit;       /**< when this rank's part was done */
    int64_t predicted;  /**< for plans: the last prediction of this rank's arrival; 0 if there was none */
} rollcall_call_record;

/** The options of a collective call. Initialise them with ROLLCALL_COLLECTIVE_DEFAULTS, so that fields which later versions add have their
 * defaults. All ranks give the same algorithm and segment size. */
typedef struct rollcall_collective_options {
    size_t size;           /**< sizeof(rollcall_collective_options) */
    const char* algorithm; /**< a name of `rollcall info --algorithms`; NULL: the setting of the operation, ROLLCALL_BROADCAST and so on */
    int64_t segment_bytes; /**< size of a piece where data is forwarded in pieces; 0: whole; -1: the setting ROLLCALL_SEGMENT_BYTES */
    int64_t timeout;       /**< ROLLCALL_DEFAULT_TIMEOUT, ROLLCALL_FOREVER, or nanoseconds from the call */
    rollcall_call_record* record; /**< filled when a blocking call succeeds; may be NULL */
    int until_delivered;          /**< 1: a call that only sends ends when its data has left this rank; see collective_options.hpp */
} rollcall_collective_options;
/** What the fields of rollcall_collective_options are if nothing is said. */
#define ROLLCALL_COLLECTIVE_DEFAULTS \
    { sizeof(rollcall_collective_options), NULL, -1, ROLLCALL_DEFAULT_TIMEOUT, NULL, 0 }

/* The calls below are collective. `options` may be NULL, which gives the defaults. A call returns on a rank when its part is done. A start_
 * call returns at once with a request; its buffers must stay in place until the request is done. */

/** \{
 * Returns on a rank only after all ranks have called it. */
rollcall_status rollcall_barrier(const rollcall_communicator* communicator, int64_t timeout);
rollcall_status rollcall_start_barrier(const rollcall_communicator* communicator, const rollcall_collective_options* options,
                                       rollcall_request** request);
/** \} */
/** \{
 * Sends `bytes` bytes from the root to all ranks. `data` is read at the root and written on all other ranks. */
rollcall_status rollcall_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                   const rollcall_collective_options* options);
rollcall_status rollcall_start_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                         const rollcall_collective_options* options, rollcall_request** request);
/** \} */

/** \{
 * Sends block r of the root's `data` to the `block` of rank r. Each block has `bytes` bytes. At the root `data` has one block for each
 * rank, in rank order; on other ranks it is not looked at. At the root `block` may be its place in `data`. */
rollcall_status rollcall_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                 const rollcall_collective_options* options);
rollcall_status rollcall_start_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                       const rollcall_collective_options* options, rollcall_request** request);
/** \} */
/** \{
 * Collects the `block` of each rank r as block r of the root's `data`. Each block has `bytes` bytes. At the root `data` has room for one
 * block of each rank; on other ranks it is not looked at. At the root `block` may be its place in `data`. */
rollcall_status rollcall_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                const rollcall_collective_options* options);
rollcall_status rollcall_start_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_request** request);
/** \} */

/** \{
 * Scatter and gather with blocks of different sizes (MPI_Scatterv, MPI_Gatherv). At the root `counts` has the size in bytes of the block of
 * each rank, and `offsets` has the byte of `data` at which it begins; NULL offsets place the blocks one behind the other. On other ranks
 * both are not looked at. They are read only during the call. `bytes` is the size of this rank's block, and must be what the root counts
 * for it, else ROLLCALL_MISMATCH on all ranks, in this call or the next one (blocks.hpp). All ranks must call this form. */
rollcall_status rollcall_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                        const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                        const rollcall_collective_options* options);
rollcall_status rollcall_start_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                              const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                              const rollcall_collective_options* options, rollcall_request** request);
/** \} */
/** \{
 * Gather with blocks of different sizes, with the arguments of rollcall_scatter_blocks(). The blocks must not overlap in `data`. */
rollcall_status rollcall_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                       const uint64_t* counts, const uint64_t* offsets, int root,
                                       const rollcall_collective_options* options);
rollcall_status rollcall_start_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                             const uint64_t* counts, const uint64_t* offsets, int root,
                                             const rollcall_collective_options* options, rollcall_request** request);
/** \} */
/** As `bytes` of rollcall_explain(): the blocks have different sizes. (Of an allgather, give their average size.) */
#define ROLLCALL_OWN_SIZES UINT64_MAX

/** Writes a sentence to `text` that says which algorithm a call of this operation ("broadcast", ...) would run, and why. `bytes` is the
 * size of the message or of one block. The text is cut so that it fits `capacity` bytes with its final zero. Not collective. */
rollcall_status rollcall_explain(const rollcall_communicator* communicator, const char* operation, uint64_t bytes,
                                 const rollcall_collective_options* options, char* text, size_t capacity);

/* --- plans ----------------------------------------------------------------------------------------------------- */
/* A plan is a collective operation that the program repeats at one place. plan.hpp says when its buffers are read and written. They must
 * stay in place as long as the plan. One thread at a time may use a plan. */

/** How a rank's arrival is predicted; see Predictor in plan.hpp. */
typedef enum rollcall_predictor { ROLLCALL_EDGE_LINEAR, ROLLCALL_LAST, ROLLCALL_MOVING_AVERAGE, ROLLCALL_EXPONENTIAL } rollcall_predictor;

/** \{
 * The plan_ functions make a plan for the operation of the same name, with the same arguments. `options` may be NULL; its timeout is that
 * of each rollcall_plan_run() and rollcall_plan_wait(), and its record and until_delivered are ignored. Collective. */
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
/** \} */
/** A hint: the compute phase before the next iteration begins now. */
rollcall_status rollcall_plan_begin(rollcall_plan* plan);
/** A hint: this fraction of the compute phase, above 0 and at most 1, is done. */
rollcall_status rollcall_plan_edge(rollcall_plan* plan, double fraction);
/** Carries out one iteration: rollcall_plan_start() followed by rollcall_plan_wait(). */
rollcall_status rollcall_plan_run(rollcall_plan* plan);
/** Says that this rank has arrived, starts its part of the iteration, and returns at once. */
rollcall_status rollcall_plan_start(rollcall_plan* plan);
/** Waits until this rank's part of the started iteration is done. */
rollcall_status rollcall_plan_wait(rollcall_plan* plan);
/** `done` becomes 1 if rollcall_plan_wait() would return at once, else 0. While it is 0, calls move data, as rollcall_progress() does. */
rollcall_status rollcall_plan_test(rollcall_plan* plan, int* done);
/** The times of the last iteration that was waited for. Set `record->size` before the call. */
rollcall_status rollcall_plan_record(const rollcall_plan* plan, rollcall_call_record* record);
/** Says in a sentence why this algorithm was chosen. The text belongs to the plan. Returns NULL if that is NULL. */
const char* rollcall_plan_explanation(const rollcall_plan* plan);
/** Frees a plan. NULL is allowed. An iteration that is under way fails on the other ranks. */
void rollcall_plan_free(rollcall_plan* plan);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#include <rollcall/exchanges.h>  /* allgather and alltoall */
#include <rollcall/groups.h>     /* two groups that exchange data */
#include <rollcall/memory.h>     /* memory from which other ranks can read */
#include <rollcall/queues.h>     /* completion queues */
#include <rollcall/reductions.h> /* reduce and what else combines */
#include <rollcall/requests.h>   /* how to wait for requests */

#endif
