/** \file
 * Completion queues for C: they hold many requests and return each one when it has ended. A part of rollcall.h.
 *
 * The rules in rollcall.h hold here. completion_queue.hpp says more, errors among it. Any thread may add requests; one thread at a time may
 * take completions.
 */
#ifndef ROLLCALL_QUEUES_H
#define ROLLCALL_QUEUES_H

#include <stddef.h>
#include <stdint.h>

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

/** Many requests of one job. */
typedef struct rollcall_queue rollcall_queue;

/** How a request from a queue ended. A failed request is no failure of the call that returns it. */
typedef struct rollcall_completion {
    size_t size;            /**< sizeof(rollcall_completion), set by the caller */
    uint64_t context;       /**< what was given to rollcall_queue_add(); a pointer as (uint64_t)(uintptr_t)pointer */
    uint64_t received;      /**< the number of bytes that a receive got, or that rollcall_start_next_size() has found */
    rollcall_status status; /**< ROLLCALL_OK, or why it failed; then rollcall_last_error() has the sentence */
    int failed_rank;        /**< the rank that caused the failure, as rollcall_failed_rank() */
} rollcall_completion;

/** Makes a queue for requests of the job of this communicator. Not collective. */
rollcall_status rollcall_queue_create(const rollcall_communicator* communicator, rollcall_queue** queue);
/** Moves the request into the queue, and its pointer becomes NULL. On failure the request stays as it was. */
rollcall_status rollcall_queue_add(rollcall_queue* queue, rollcall_request** request, uint64_t context);
/** The number of requests in the queue, done or not. Returns 0 if the queue is NULL. */
size_t rollcall_queue_size(const rollcall_queue* queue);
/** Waits for the next request that ends. The environment variable ROLLCALL_TIMEOUT limits the time, unless all requests have deadlines of
 * their own. If none ends in time, nothing is abandoned, and the status is ROLLCALL_TIMEOUT. It is ROLLCALL_STATE if the queue is empty. */
rollcall_status rollcall_queue_next(rollcall_queue* queue, rollcall_completion* completion);
/** Waits for the next request that ends, at most this time. `got` becomes 1 if one has ended, else 0. With ROLLCALL_DEFAULT_TIMEOUT it does
 * what rollcall_queue_next() does. */
rollcall_status rollcall_queue_next_for(rollcall_queue* queue, int64_t timeout, int* got, rollcall_completion* completion);
/** Takes a request that has ended, without waiting. `got` becomes 1 if there is one. Else it becomes 0, and the call also moves data. */
rollcall_status rollcall_queue_try_next(rollcall_queue* queue, int* got, rollcall_completion* completion);
/** Frees the queue and abandons the requests that are in it. NULL is allowed. */
void rollcall_queue_free(rollcall_queue* queue);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
