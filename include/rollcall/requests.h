/** \file
 * Requests for C: how a program waits for operations under way, and gives them up. A part of rollcall.h.
 *
 * The rules in rollcall.h hold here. request.hpp says more, errors among it. A call that takes the result of a request, or its failure,
 * frees it and sets its pointer to NULL. A NULL request counts as done. `received` gets the number of bytes that a receive got, or that the
 * message of rollcall_start_next_size() has, and may be NULL. One thread at a time may use a request.
 */
#ifndef ROLLCALL_REQUESTS_H
#define ROLLCALL_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

/** Waits until the request is done. If the time runs out it is abandoned, and the status is ROLLCALL_TIMEOUT. */
rollcall_status rollcall_wait(rollcall_request** request, int64_t timeout, uint64_t* received);
/** Waits for at most this time. `done` becomes 1 if the request is done or has failed, else 0, and the request goes on. With
 * ROLLCALL_DEFAULT_TIMEOUT it waits as rollcall_wait() does. */
rollcall_status rollcall_wait_for(rollcall_request** request, int64_t timeout, int* done, uint64_t* received);
/** Gives the operation up and returns when its buffers are free (over RDMA: when the peer lets them go). `cancelled`, which may be NULL,
 * becomes 1, but a message may arrive all the same. It becomes 0 if the operation had already ended; the request keeps its result then. */
rollcall_status rollcall_cancel(rollcall_request** request, int* cancelled);
/** Does not wait. `done` becomes 1 if the request is done or has failed (the status says why), else 0. While it is 0, calls move data, as
 * rollcall_progress() does. */
rollcall_status rollcall_test(rollcall_request** request, int* done, uint64_t* received);
/** Waits until one of the requests is done, and sets its index. The request keeps its result for rollcall_wait(), which then returns at
 * once. NULL requests do not count; ROLLCALL_INVALID_ARGUMENT if all are NULL, or of different jobs. ROLLCALL_TIMEOUT abandons nothing. */
rollcall_status rollcall_wait_any(rollcall_request** requests, size_t count, int64_t timeout, size_t* index);
/** Waits for all requests, within one timeout for all. Requests that are not done by then are abandoned. All pointers become NULL. The
 * status is that of the first request in the list that failed. */
rollcall_status rollcall_wait_all(rollcall_request** requests, size_t count, int64_t timeout);
/** Abandons the request and returns when its buffers are free, as rollcall_cancel() does. NULL is allowed. */
void rollcall_request_free(rollcall_request* request);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
