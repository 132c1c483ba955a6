/* Tests the operations that combine elements. */
#include "check.h"

/* Composes maps x -> a x + b, which does not commute, modulo the number in the context. */
struct affine {
    uint64_t a, b;
};
static void compose(void* context, void* into, const void* left, const void* right, uint64_t count) {
    const uint64_t modulus = *(const uint64_t*)context;
    const struct affine *const l = left, *const r = right;
    for (uint64_t i = 0; i < count; ++i) {
        const struct affine both = {l[i].a * r[i].a % modulus, (l[i].a * r[i].b + l[i].b) % modulus};
        ((struct affine*)into)[i] = both;
    }
}

enum { kMostRanks = 16 };

static void scans(const rollcall_communicator* world, int rank, int size, const rollcall_reduction* sum) {
    const double before = rank * (rank + 1) / 2.0;
    rollcall_request* request = NULL;
    rollcall_plan* plan = NULL;
    if (size > kMostRanks) return;
    for (int form = 0; form < 3; ++form) {
        double blocks[2 * kMostRanks], block[2] = {-1, -1}, own[2] = {rank + 1, 1}, up_to[2] = {-1, -1}, below[2] = {-1, -1};
        for (int i = 0; i < 2 * size; ++i) blocks[i] = i;
        switch (form) {
            case 0:
                OK(rollcall_reduce_scatter(world, blocks, block, 2, sum, NULL));
                OK(rollcall_scan(world, own, up_to, 2, sum, NULL));
                OK(rollcall_exclusive_scan(world, own, below, 2, sum, NULL));
                break;
            case 1:
                OK(rollcall_start_reduce_scatter(world, blocks, block, 2, sum, NULL, &request));
                OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                OK(rollcall_start_scan(world, own, up_to, 2, sum, NULL, &request));
                OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                OK(rollcall_start_exclusive_scan(world, own, below, 2, sum, NULL, &request));
                OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                break;
            case 2:
                OK(rollcall_plan_reduce_scatter(world, blocks, block, 2, sum, NULL, ROLLCALL_LAST, &plan));
                OK(rollcall_plan_run(plan));
                rollcall_plan_free(plan);
                OK(rollcall_plan_scan(world, own, up_to, 2, sum, NULL, ROLLCALL_LAST, &plan));
                OK(rollcall_plan_run(plan));
                rollcall_plan_free(plan);
                OK(rollcall_plan_exclusive_scan(world, own, below, 2, sum, NULL, ROLLCALL_LAST, &plan));
                OK(rollcall_plan_run(plan));
                rollcall_plan_free(plan);
                break;
        }
        CHECK(block[0] == size * 2 * rank && block[1] == size * (2 * rank + 1));
        CHECK(up_to[0] == before + rank + 1 && up_to[1] == rank + 1);
        if (rank == 0) CHECK(below[0] == -1 && below[1] == -1);
        if (rank > 0) CHECK(below[0] == before && below[1] == rank);
    }
}

void reductions(const rollcall_communicator* world, int rank, int size) {
    const rollcall_reduction sum = ROLLCALL_REDUCTION(ROLLCALL_SUM, ROLLCALL_FLOAT64);
    const double total = size * (size + 1) / 2.0;
    rollcall_request* request = NULL;
    rollcall_plan* plan = NULL;
    for (int form = 0; form < 3; ++form)
        for (int root = 0; root < size; ++root) {
            double own[3] = {rank + 1, 1, 0}, all[3] = {-1, -1, -1};
            switch (form) {
                case 0: OK(rollcall_reduce(world, own, all, 3, &sum, root, NULL)); break;
                case 1:
                    OK(rollcall_start_reduce(world, own, all, 3, &sum, root, NULL, &request));
                    OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                    break;
                case 2:
                    OK(rollcall_plan_reduce(world, own, all, 3, &sum, root, NULL, ROLLCALL_LAST, &plan));
                    OK(rollcall_plan_run(plan));
                    rollcall_plan_free(plan);
                    break;
            }
            if (rank == root) CHECK(all[0] == total && all[1] == size && all[2] == 0);
            if (rank != root) CHECK(all[0] == -1);
            switch (form) {
                case 0: OK(rollcall_allreduce(world, own, own, 3, &sum, NULL)); break;
                case 1:
                    OK(rollcall_start_allreduce(world, own, own, 3, &sum, NULL, &request));
                    OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
                    break;
                case 2:
                    OK(rollcall_plan_allreduce(world, own, own, 3, &sum, NULL, ROLLCALL_LAST, &plan));
                    OK(rollcall_plan_run(plan));
                    rollcall_plan_free(plan);
                    break;
            }
            CHECK(own[0] == total && own[1] == size && own[2] == 0);
        }

    scans(world, rank, size, &sum);

    uint64_t modulus = 1009;
    rollcall_reduction composed = ROLLCALL_REDUCTION(ROLLCALL_FUNCTION, ROLLCALL_UINT8);
    struct affine own = {(uint64_t)rank + 2, (uint64_t)rank}, expected = {2, 0};
    composed.element_bytes = sizeof own;
    CHECK(rollcall_allreduce(world, &own, &own, 1, &composed, NULL) == ROLLCALL_INVALID_ARGUMENT); /* No function is given. */
    composed.function = &compose;
    composed.context = &modulus;
    for (uint64_t i = 1; i < (uint64_t)size; ++i) {
        const struct affine next = {i + 2, i};
        compose(&modulus, &expected, &expected, &next, 1);
    }
    OK(rollcall_allreduce(world, &own, &own, 1, &composed, NULL));
    CHECK(own.a == expected.a && own.b == expected.b);

    rollcall_reduction wrong = ROLLCALL_REDUCTION((rollcall_operator)99, ROLLCALL_INT8);
    CHECK(rollcall_allreduce(world, &own, &own, 1, &wrong, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_allreduce(world, &own, &own, 1, NULL, NULL) == ROLLCALL_INVALID_ARGUMENT);
    wrong.size = 3;
    CHECK(rollcall_allreduce(world, &own, &own, 1, &wrong, NULL) == ROLLCALL_INVALID_ARGUMENT);
}
