/* Tests completion queues. */
#include "check.h"

#include <string.h>

void completion_queues(const rollcall_communicator* world, int rank, int size) {
    enum { kCount = 20 };
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    int in[kCount], out[kCount], got = -1, value = rank == 0 ? 9 : -1;
    rollcall_queue* queue = NULL;
    rollcall_request* request = NULL;
    rollcall_completion completion = {.size = sizeof completion};
    OK(rollcall_queue_create(world, &queue));
    CHECK(rollcall_queue_size(queue) == 0 && rollcall_queue_size(NULL) == 0);
    CHECK(rollcall_queue_next(queue, &completion) == ROLLCALL_STATE && strstr(rollcall_last_error(), "no request in the queue"));
    OK(rollcall_queue_try_next(queue, &got, &completion));
    CHECK(got == 0);
    for (int i = 0; i < kCount; ++i) {
        in[i] = -1;
        out[i] = 100 * rank + i;
        OK(rollcall_start_receive(world, &in[i], sizeof in[i], previous, (uint64_t)i, ROLLCALL_DEFAULT_TIMEOUT, &request));
        OK(rollcall_queue_add(queue, &request, (uint64_t)(uintptr_t)&in[i]));
        CHECK(request == NULL);
        OK(rollcall_start_send(world, &out[i], sizeof out[i], next, (uint64_t)i, ROLLCALL_DEFAULT_TIMEOUT, &request));
        OK(rollcall_queue_add(queue, &request, 0));
    }
    OK(rollcall_start_broadcast(world, &value, sizeof value, 0, NULL, &request));
    OK(rollcall_queue_add(queue, &request, (uint64_t)(uintptr_t)&value));
    int received = 0;
    for (int left = 2 * kCount + 1; left > 0; --left) {
        CHECK(rollcall_queue_size(queue) == (size_t)left);
        if (left % 3 == 0) {
            OK(rollcall_queue_next(queue, &completion));
        } else if (left % 3 == 1) {
            OK(rollcall_queue_next_for(queue, INT64_C(60000000000), &got, &completion));
            CHECK(got == 1);
        } else {
            do OK(rollcall_queue_try_next(queue, &got, &completion));
            while (!got);
        }
        CHECK(completion.status == ROLLCALL_OK && completion.failed_rank == -1 && completion.size == sizeof completion);
        const int* const place = (const int*)(uintptr_t)completion.context;
        if (place == &value) {
            CHECK(value == 9);
        } else if (place != NULL) {
            CHECK(*place == 100 * previous + (int)(place - in) && completion.received == sizeof *place);
            ++received;
        }
    }
    CHECK(received == kCount);

    /* Messages of any size from whichever rank, also from this rank. */
    char text[64], all[64];
    memset(text, 'a' + rank % 26, sizeof text);
    for (int from = 0; from < size; ++from) {
        OK(rollcall_start_next_size(world, from, 55, ROLLCALL_DEFAULT_TIMEOUT, &request));
        OK(rollcall_queue_add(queue, &request, (uint64_t)from));
    }
    for (int to = 0; to < size; ++to) OK(rollcall_send(world, text, (uint64_t)(rank + to) % 64, to, 55, ROLLCALL_FOREVER));
    for (int left = size; left > 0; --left) {
        uint64_t bytes = 0;
        OK(rollcall_queue_next(queue, &completion));
        const int from = (int)completion.context;
        CHECK(completion.status == ROLLCALL_OK && completion.received == (uint64_t)(rank + from) % 64);
        OK(rollcall_receive(world, all, completion.received, from, 55, ROLLCALL_FOREVER, &bytes));
        CHECK(bytes == completion.received && (bytes == 0 || all[bytes - 1] == 'a' + from % 26));
    }

    OK(rollcall_start_receive(world, &got, sizeof got, rank, 77, 1000000, &request));
    OK(rollcall_queue_add(queue, &request, 5));
    OK(rollcall_queue_next_for(queue, ROLLCALL_DEFAULT_TIMEOUT, &got, &completion));
    CHECK(got == 1 && completion.context == 5 && completion.status == ROLLCALL_TIMEOUT && strstr(rollcall_last_error(), "1.00 ms"));

    CHECK(rollcall_queue_add(queue, &request, 0) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_queue_add(NULL, &request, 0) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_queue_next(queue, NULL) == ROLLCALL_INVALID_ARGUMENT);
    completion.size = 1;
    CHECK(rollcall_queue_try_next(queue, &got, &completion) == ROLLCALL_INVALID_ARGUMENT);
    rollcall_queue_free(queue);
    CHECK(rollcall_queue_create(NULL, &queue) == ROLLCALL_INVALID_ARGUMENT && queue == NULL);

    /* Freeing a queue gives up the requests that are under way in it. */
    OK(rollcall_queue_create(world, &queue));
    OK(rollcall_start_receive(world, &got, sizeof got, rank, 78, ROLLCALL_DEFAULT_TIMEOUT, &request));
    OK(rollcall_queue_add(queue, &request, 0));
    rollcall_queue_free(queue);
    rollcall_queue_free(NULL);
}
