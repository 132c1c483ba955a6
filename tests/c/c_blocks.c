/* Tests operations on blocks whose sizes differ. */
#include "check.h"

#include <string.h>

/* Rank i has i elements. In the root's data, the blocks stand either in reverse order of ranks or one behind the other in rank order. */
void blocks_of_own_sizes(const rollcall_communicator* world, int rank, int size) {
    const size_t ranks = (size_t)size, elements = ranks * (ranks - 1) / 2;
    uint64_t *const counts = calloc(ranks, sizeof *counts), *const offsets = calloc(ranks, sizeof *offsets);
    int *const all = calloc(elements + 1, sizeof *all), *const own = calloc(ranks, sizeof *own);
    uint64_t end = elements * sizeof *all;
    for (size_t i = 0; i < ranks; ++i) {
        counts[i] = i * sizeof *own;
        offsets[i] = end -= counts[i];
    }
    const uint64_t bytes = (uint64_t)rank * sizeof *own;
    rollcall_plan* plan = NULL;
    rollcall_request* request = NULL;
    for (int root = 0; root < size; ++root) {
        const int is_root = rank == root;
        for (int form = 0; form < 3; ++form) {
            for (size_t i = 0; i < elements; ++i) all[i] = is_root ? (int)i + form : -1;
            const uint64_t* const places = is_root && form ? offsets : NULL;
            switch (form) {
                case 0: OK(rollcall_scatter_blocks(world, all, is_root ? counts : NULL, places, own, bytes, root, NULL)); break;
                case 1:
                    OK(rollcall_start_scatter_blocks(world, all, is_root ? counts : NULL, places, own, bytes, root, NULL, &request));
                    OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                    break;
                case 2:
                    OK(rollcall_plan_scatter_blocks(world, all, is_root ? counts : NULL, places, own, bytes, root, NULL, ROLLCALL_LAST,
                                                    &plan));
                    OK(rollcall_plan_run(plan));
                    rollcall_plan_free(plan);
                    break;
            }
            const int first = form ? (int)(offsets[rank] / sizeof *own) : rank * (rank - 1) / 2;
            for (int i = 0; i < rank; ++i) CHECK(own[i] == first + i + form);
            for (int i = 0; i < rank; ++i) own[i] += 1000;
            switch (form) {
                case 0: OK(rollcall_gather_blocks(world, own, bytes, all, is_root ? counts : NULL, places, root, NULL)); break;
                case 1:
                    OK(rollcall_start_gather_blocks(world, own, bytes, all, is_root ? counts : NULL, places, root, NULL, &request));
                    OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                    break;
                case 2:
                    OK(rollcall_plan_gather_blocks(world, own, bytes, all, is_root ? counts : NULL, places, root, NULL, ROLLCALL_LAST,
                                                   &plan));
                    OK(rollcall_plan_run(plan));
                    rollcall_plan_free(plan);
                    break;
            }
            for (size_t i = 0; i < elements; ++i) CHECK(all[i] == (is_root ? 1000 + (int)i + form : -1));
        }
    }
    CHECK(rollcall_scatter_blocks(world, all, NULL, NULL, own, bytes, rank, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "there are 0 counts"));
    char text[200];
    OK(rollcall_explain(world, "gather", ROLLCALL_OWN_SIZES, NULL, text, sizeof text));
    CHECK(strstr(text, "gather of blocks of different sizes"));
    free(counts);
    free(offsets);
    free(all);
    free(own);
}
