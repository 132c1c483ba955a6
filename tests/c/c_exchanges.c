/* Tests allgather and alltoall. */
#include "check.h"

#include <string.h>

/* In the allgather, rank i contributes i + 1 elements. In the alltoall, rank s sends 2 s + r elements to rank r. */
void exchanges(const rollcall_communicator* world, int rank, int size) {
    const size_t ranks = (size_t)size, me = (size_t)rank, elements = ranks * (ranks + 1) / 2;
    rollcall_request* request = NULL;
    rollcall_plan* plan = NULL;
    int *const all = calloc(2 * ranks, sizeof *all), *const from = calloc(2 * ranks, sizeof *from),
               *const into = calloc(2 * ranks, sizeof *into);
    for (int form = 0; form < 3; ++form) {
        int own[2] = {rank, form};
        memset(all, -1, 2 * ranks * sizeof *all);
        switch (form) {
            case 0: OK(rollcall_allgather(world, own, all, sizeof own, NULL)); break;
            case 1:
                OK(rollcall_start_allgather(world, own, all, sizeof own, NULL, &request));
                OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                break;
            case 2:
                all[2 * me] = rank; /* in place */
                all[2 * me + 1] = form;
                OK(rollcall_plan_allgather(world, all + 2 * me, all, sizeof own, NULL, ROLLCALL_LAST, &plan));
                OK(rollcall_plan_run(plan));
                rollcall_plan_free(plan);
                break;
        }
        for (size_t i = 0; i < ranks; ++i) CHECK(all[2 * i] == (int)i && all[2 * i + 1] == form);
        for (size_t i = 0; i < 2 * ranks; ++i) from[i] = rank * 1000 + (int)i + form;
        memset(into, -1, 2 * ranks * sizeof *into);
        switch (form) {
            case 0: OK(rollcall_alltoall(world, from, into, 2 * sizeof *from, NULL)); break;
            case 1:
                OK(rollcall_start_alltoall(world, from, into, 2 * sizeof *from, NULL, &request));
                OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                break;
            case 2:
                OK(rollcall_plan_alltoall(world, from, into, 2 * sizeof *from, NULL, ROLLCALL_LAST, &plan));
                OK(rollcall_plan_run(plan));
                rollcall_plan_free(plan);
                break;
        }
        for (size_t i = 0; i < 2 * ranks; ++i) CHECK(into[i] == (int)(i / 2) * 1000 + 2 * rank + (int)(i % 2) + form);
    }
    CHECK(rollcall_alltoall(world, from, from, sizeof *from, NULL) == ROLLCALL_INVALID_ARGUMENT);

    uint64_t *const counts = calloc(ranks, sizeof *counts), *const offsets = calloc(ranks, sizeof *offsets),
                    *const taken = calloc(ranks, sizeof *taken);
    int *const data = calloc(elements, sizeof *data), *const own = calloc(ranks, sizeof *own);
    const size_t most = ranks * (3 * ranks);
    int *const out = calloc(most, sizeof *out), *const in = calloc(most, sizeof *in);
    for (int form = 0; form < 3; ++form) {
        uint64_t end = elements * sizeof *data;
        for (size_t i = 0; i < ranks; ++i) { /* In reverse order of ranks. */
            counts[i] = (i + 1) * sizeof *data;
            offsets[i] = end -= counts[i];
            own[i] = 100 * rank + form;
        }
        memset(data, -1, elements * sizeof *data);
        switch (form) {
            case 0: OK(rollcall_allgather_blocks(world, own, counts[me], data, counts, offsets, NULL)); break;
            case 1:
                OK(rollcall_start_allgather_blocks(world, own, counts[me], data, counts, offsets, NULL, &request));
                OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                break;
            case 2:
                OK(rollcall_plan_allgather_blocks(world, own, counts[me], data, counts, offsets, NULL, ROLLCALL_LAST, &plan));
                OK(rollcall_plan_run(plan));
                rollcall_plan_free(plan);
                break;
        }
        for (size_t i = 0; i < ranks; ++i)
            for (size_t k = 0; k <= i; ++k) CHECK(data[offsets[i] / sizeof *data + k] == 100 * (int)i + form);

        for (size_t i = 0; i < ranks; ++i) {
            counts[i] = (2 * me + i) * sizeof *out;
            taken[i] = (2 * i + me) * sizeof *out;
        }
        for (size_t i = 0; i < most; ++i) out[i] = 100 * rank + form;
        memset(in, -1, most * sizeof *in);
        switch (form) {
            case 0: OK(rollcall_alltoall_blocks(world, out, counts, NULL, in, taken, NULL, NULL)); break;
            case 1:
                OK(rollcall_start_alltoall_blocks(world, out, counts, NULL, in, taken, NULL, NULL, &request));
                OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                break;
            case 2:
                OK(rollcall_plan_alltoall_blocks(world, out, counts, NULL, in, taken, NULL, NULL, ROLLCALL_LAST, &plan));
                OK(rollcall_plan_run(plan));
                rollcall_plan_free(plan);
                break;
        }
        size_t at = 0;
        for (size_t i = 0; i < ranks; ++i)
            for (size_t k = 0; k < 2 * i + me; ++k) CHECK(in[at++] == 100 * (int)i + form);
    }
    CHECK(rollcall_allgather_blocks(world, own, sizeof *own, data, NULL, NULL, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "there are 0 counts"));
    char text[200];
    OK(rollcall_explain(world, "alltoall", ROLLCALL_OWN_SIZES, NULL, text, sizeof text));
    CHECK(strstr(text, "alltoall of blocks of different sizes"));
    free(all);
    free(from);
    free(into);
    free(counts);
    free(offsets);
    free(taken);
    free(data);
    free(own);
    free(out);
    free(in);
}
