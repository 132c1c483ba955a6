/* Shared by the source files of the program that calls every function of the C interface. */
#ifndef ROLLCALL_TESTS_C_CHECK_H
#define ROLLCALL_TESTS_C_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include <rollcall/rollcall.h>

extern rollcall_job* job;

#define CHECK(good)                                                                                                                  \
    do {                                                                                                                             \
        if (!(good)) {                                                                                                               \
            fprintf(stderr, "rank %d, line %d: %s is not so; last error: %s\n", rollcall_rank(rollcall_world(job)), __LINE__, #good, \
                    rollcall_last_error());                                                                                          \
            exit(1);                                                                                                                 \
        }                                                                                                                            \
    } while (0)
#define OK(call) CHECK((call) == ROLLCALL_OK)

void blocks_of_own_sizes(const rollcall_communicator* world, int rank, int size);
void messages_of_any_size(const rollcall_communicator* world, int next, int previous);
void taken_memory(const rollcall_communicator* world, int rank, int size);
void reductions(const rollcall_communicator* world, int rank, int size);
void exchanges(const rollcall_communicator* world, int rank, int size);
void groups(const rollcall_communicator* world, int rank, int size);
void communicators(const rollcall_communicator* world, int rank, int size);
void completion_queues(const rollcall_communicator* world, int rank, int size);

#endif
