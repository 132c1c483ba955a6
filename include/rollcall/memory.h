/** \file
 * Memory that the runtime gives to a program, for C. Include rollcall/rollcall.h, which has the rules for all functions. memory.hpp says
 * which calls need no copy of data that is in such memory.
 */
#ifndef ROLLCALL_MEMORY_H
#define ROLLCALL_MEMORY_H

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/** Allocates `bytes` bytes of memory, aligned for every type, which the other ranks of the node can read. `*memory` is NULL on failure, and
 * if `bytes` is 0. Not collective: ranks may allocate different sizes, at different times. Free it with rollcall_free(). */
rollcall_status rollcall_allocate(rollcall_job* job, uint64_t bytes, void** memory);
/** Frees memory from rollcall_allocate() of this job, which no call may be using. NULL is allowed. ROLLCALL_INVALID_ARGUMENT: it is no such
 * memory, or it is free already. rollcall_finalize() frees what is left. */
rollcall_status rollcall_free(rollcall_job* job, void* memory);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
