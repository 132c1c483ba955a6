/* Tests memory that a program takes from the runtime. */
#include <string.h>

#include "check.h"

enum { kElements = 100000 };

void taken_memory(const rollcall_communicator* world, int rank, int size) {
    const rollcall_reduction sum = ROLLCALL_REDUCTION(ROLLCALL_SUM, ROLLCALL_FLOAT64);
    void *from = NULL, *into = &from, *other = NULL;
    OK(rollcall_allocate(job, kElements * sizeof(double), &from));
    OK(rollcall_allocate(job, kElements * sizeof(double), &into));
    CHECK(from && into && from != into);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kElements; ++i) ((double*)from)[i] = rank + i + round;
        OK(rollcall_allreduce(world, from, into, kElements, &sum, NULL));
        memset(from, 0, kElements * sizeof(double));
        for (int i = 0; i < kElements; ++i) CHECK(((double*)into)[i] == size * (size - 1) / 2.0 + (double)size * (i + round));
    }
    OK(rollcall_allocate(job, 0, &other));
    CHECK(other == NULL);
    OK(rollcall_free(job, NULL));
    OK(rollcall_free(job, from));
    CHECK(rollcall_free(job, from) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_free(job, &other) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_allocate(job, UINT64_C(1) << 62, &other) == ROLLCALL_STATE && other == NULL);
    CHECK(strstr(rollcall_last_error(), "4611686018427387904 bytes"));
    CHECK(rollcall_allocate(NULL, 8, &other) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_allocate(job, 8, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_free(NULL, into) == ROLLCALL_INVALID_ARGUMENT);
    /* `into` is freed with the job. */
}
