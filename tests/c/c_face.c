/* Calls every function of the C interface, with any number of ranks. */
#include "check.h"

#include <poll.h>
#include <stddef.h>
#include <string.h>

rollcall_job* job;

enum { kLong = 300000 };

static void point_to_point(const rollcall_communicator* world, int rank, int size) {
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    double value = rank, got = -1;
    rollcall_request* request = NULL;
    uint64_t bytes = 0;

    OK(rollcall_start_send(world, &value, sizeof value, next, 7, ROLLCALL_DEFAULT_TIMEOUT, &request));
    OK(rollcall_receive(world, &got, sizeof got, previous, 7, ROLLCALL_DEFAULT_TIMEOUT, &bytes));
    CHECK(got == previous && bytes == sizeof got);
    CHECK(request != NULL);
    OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
    CHECK(request == NULL);
    OK(rollcall_wait(&request, 0, &bytes)); /* An empty request counts as done. */
    CHECK(bytes == 0);

    if (rank == 0 && size > 1) OK(rollcall_send(world, &value, sizeof value, 1, 8, ROLLCALL_FOREVER));
    if (rank == 1) OK(rollcall_receive(world, &got, sizeof got, 0, 8, ROLLCALL_FOREVER, NULL));

    /* Long messages in both directions, waited for one by one and together. */
    unsigned char* out = malloc(kLong);
    unsigned char* in = calloc(kLong, 1);
    CHECK(out && in);
    memset(out, rank + 1, kLong);
    rollcall_request* both[3] = {NULL, NULL, NULL};
    OK(rollcall_start_receive(world, in, kLong, previous, 9, ROLLCALL_DEFAULT_TIMEOUT, &both[0]));
    OK(rollcall_start_send(world, out, kLong, next, 9, ROLLCALL_DEFAULT_TIMEOUT, &both[2]));
    size_t first = 1;
    OK(rollcall_wait_any(both, 3, ROLLCALL_FOREVER, &first));
    CHECK(first == 0 || first == 2);
    CHECK(both[first] != NULL); /* The request keeps its result. */
    OK(rollcall_wait(&both[first], 0, &bytes));
    CHECK(first == 2 || bytes == kLong);
    OK(rollcall_wait_all(both, 3, ROLLCALL_FOREVER));
    CHECK(!both[0] && !both[1] && !both[2]);
    CHECK(in[0] == previous + 1 && in[kLong - 1] == previous + 1);

    /* test() */
    OK(rollcall_start_receive(world, in, kLong, previous, 10, ROLLCALL_FOREVER, &both[0]));
    int done = 1;
    OK(rollcall_test(&both[0], &done, NULL));
    CHECK(!done && both[0]); /* Also with one rank: nothing has been sent yet. */
    OK(rollcall_barrier(world, ROLLCALL_FOREVER));
    OK(rollcall_start_send(world, out, kLong, next, 10, ROLLCALL_FOREVER, &both[1]));
    while (both[0] || both[1]) {
        OK(rollcall_test(&both[0], &done, NULL));
        OK(rollcall_test(&both[1], &done, NULL));
    }

    /* A receive reaches its deadline, and another is abandoned. */
    CHECK(rollcall_receive(world, in, 8, previous, 11, 1000000, NULL) == ROLLCALL_TIMEOUT);
    CHECK(strstr(rollcall_last_error(), "deadline"));
    CHECK(rollcall_start_receive(world, in, 8, previous, 11, -2, &both[0]) == ROLLCALL_INVALID_ARGUMENT && !both[0]);
    OK(rollcall_start_receive(world, in, 8, previous, 11, 1000000, &both[0]));
    CHECK(rollcall_wait(&both[0], ROLLCALL_FOREVER, NULL) == ROLLCALL_TIMEOUT && !both[0]);
    OK(rollcall_start_receive(world, in, 8, previous, 11, ROLLCALL_DEFAULT_TIMEOUT, &both[0]));
    OK(rollcall_wait_for(&both[0], 1000000, &done, NULL));
    CHECK(!done && both[0]);
    done = 7;
    CHECK(rollcall_wait_for(&both[0], -5, &done, NULL) == ROLLCALL_INVALID_ARGUMENT && both[0] && done == 0);
    rollcall_request* none = NULL;
    CHECK(rollcall_wait_for(&none, -5, &done, NULL) == ROLLCALL_INVALID_ARGUMENT && done == 1);
    done = 0;
    int cancelled = 0;
    OK(rollcall_cancel(&both[0], &cancelled));
    CHECK(cancelled == 1 && !both[0]);
    OK(rollcall_cancel(&both[0], &cancelled));
    CHECK(cancelled == 0);
    OK(rollcall_start_receive(world, in, 8, previous, 11, ROLLCALL_DEFAULT_TIMEOUT, &both[0]));
    CHECK(rollcall_wait_any(both, 1, 1000000, &first) == ROLLCALL_TIMEOUT);
    CHECK(both[0]);
    rollcall_request* twice[3] = {both[0], NULL, both[0]};
    CHECK(rollcall_wait_any(twice, 3, 1000000, &first) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "the same request stands twice in the list"));
    CHECK(rollcall_wait_all(twice, 3, 1000000) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "the same request stands twice in the list"));
    CHECK(twice[0] == both[0] && twice[2] == both[0]); /* Nothing has changed: the request goes on. */
    CHECK(rollcall_wait_any(twice, 2, 1000000, &first) == ROLLCALL_TIMEOUT);
    rollcall_request_free(both[0]);
    rollcall_request_free(NULL);

    /* A message that is longer than the receiver's buffer. */
    OK(rollcall_start_send(world, out, 16, next, 12, ROLLCALL_DEFAULT_TIMEOUT, &both[1]));
    OK(rollcall_next_size(world, previous, 12, ROLLCALL_FOREVER, &bytes));
    CHECK(bytes == 16);
    CHECK(rollcall_next_size(world, previous, 13, 1000000, &bytes) == ROLLCALL_TIMEOUT);
    CHECK(rollcall_next_size(world, previous, 12, ROLLCALL_FOREVER, NULL) == ROLLCALL_INVALID_ARGUMENT);
    int found = 7;
    bytes = 7;
    OK(rollcall_try_next_size(world, previous, 13, &found, &bytes));
    CHECK(found == 0 && bytes == 7);
    OK(rollcall_try_next_size(world, previous, 12, &found, &bytes));
    CHECK(found == 1 && bytes == 16);
    CHECK(rollcall_try_next_size(world, size, 12, &found, &bytes) == ROLLCALL_INVALID_ARGUMENT && found == 0);
    CHECK(rollcall_try_next_size(world, previous, 12, NULL, &bytes) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_try_next_size(world, previous, 12, &found, NULL) == ROLLCALL_INVALID_ARGUMENT);
    bytes = 7;
    OK(rollcall_start_next_size(world, previous, 12, ROLLCALL_FOREVER, &both[0]));
    OK(rollcall_test(&both[0], &done, &bytes));
    CHECK(done && !both[0] && bytes == 16);
    OK(rollcall_start_next_size(world, previous, 12, ROLLCALL_DEFAULT_TIMEOUT, &both[0]));
    OK(rollcall_wait(&both[0], ROLLCALL_FOREVER, &bytes));
    CHECK(bytes == 16);
    OK(rollcall_start_next_size(world, previous, 13, 1000000, &both[0]));
    CHECK(rollcall_wait(&both[0], ROLLCALL_FOREVER, &bytes) == ROLLCALL_TIMEOUT && !both[0] && bytes == 16);
    OK(rollcall_start_next_size(world, previous, 13, ROLLCALL_FOREVER, &both[0]));
    OK(rollcall_cancel(&both[0], &cancelled));
    CHECK(cancelled && !both[0]);
    CHECK(rollcall_start_next_size(world, size, 12, ROLLCALL_FOREVER, &both[0]) == ROLLCALL_INVALID_ARGUMENT && !both[0]);
    CHECK(rollcall_start_next_size(world, previous, 12, -2, &both[0]) == ROLLCALL_INVALID_ARGUMENT && !both[0]);
    CHECK(rollcall_start_next_size(world, previous, 12, ROLLCALL_FOREVER, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_receive(world, in, 8, previous, 12, ROLLCALL_FOREVER, NULL) == ROLLCALL_TRUNCATED);
    messages_of_any_size(world, next, previous);
    (void)rollcall_wait(&both[1], ROLLCALL_FOREVER, NULL);
    free(in);
    free(out);
}

static void collectives(const rollcall_communicator* world, int rank, int size) {
    for (int root = 0; root < size; ++root) {
        const char* const algorithms[] = {NULL, "auto", "binomial", "arrival_nb", "pipelined"};
        for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; ++i) {
            rollcall_collective_options options = ROLLCALL_COLLECTIVE_DEFAULTS;
            options.algorithm = algorithms[i];
            if (i > 1) options.segment_bytes = 64;
            long values[100];
            for (long k = 0; k < 100; ++k) values[k] = rank == root ? k * root : -1;
            OK(rollcall_broadcast(world, values, sizeof values, root, i ? &options : NULL));
            for (long k = 0; k < 100; ++k) CHECK(values[k] == k * root);
        }
    }
    rollcall_request* requests[2] = {NULL, NULL};
    int word = rank == 0 ? 4711 : 0;
    OK(rollcall_start_broadcast(world, &word, sizeof word, 0, NULL, &requests[0]));
    OK(rollcall_start_barrier(world, NULL, &requests[1]));
    OK(rollcall_wait_all(requests, 2, ROLLCALL_FOREVER));
    CHECK(word == 4711);

    rollcall_call_record record = {sizeof record, 0, 0, 0, 0};
    rollcall_collective_options options = ROLLCALL_COLLECTIVE_DEFAULTS;
    options.record = &record;
    OK(rollcall_broadcast(world, &word, sizeof word, 0, &options));
    CHECK(record.arrival > 0 && record.exit >= record.arrival && record.size == sizeof record);
    record.size = 1;
    CHECK(rollcall_broadcast(world, &word, sizeof word, 0, &options) == ROLLCALL_INVALID_ARGUMENT);
    options.size = 0;
    CHECK(rollcall_broadcast(world, &word, sizeof word, 0, &options) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "ROLLCALL_COLLECTIVE_DEFAULTS"));
    struct {
        rollcall_collective_options known;
        int64_t of_a_newer_version;
    } newer = {ROLLCALL_COLLECTIVE_DEFAULTS, 0};
    newer.known.size = sizeof newer;
    OK(rollcall_broadcast(world, &word, sizeof word, 0, &newer.known));
    newer.of_a_newer_version = 1;
    CHECK(rollcall_broadcast(world, &word, sizeof word, 0, &newer.known) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "newer"));

    /* A program that was compiled with an older header has shorter structures. What lies behind them is not looked at. */
    rollcall_collective_options older = ROLLCALL_COLLECTIVE_DEFAULTS;
    older.size = offsetof(rollcall_collective_options, timeout);
    older.timeout = -77; /* no field of the older structure */
    older.record = (rollcall_call_record*)1;
    OK(rollcall_broadcast(world, &word, sizeof word, 0, &older));
    /* Characters of two bytes, of which one would be cut in one of the two sentences. */
    for (size_t shift = 0; shift < 2; ++shift) {
        char name[3001] = "x";
        for (size_t at = shift; at + 2 < sizeof name; at += 2) memcpy(name + at, "\xc3\xbc", 2);
        older.algorithm = name;
        CHECK(rollcall_broadcast(world, &word, sizeof word, 0, &older) == ROLLCALL_INVALID_ARGUMENT);
        const size_t length = strlen(rollcall_last_error());
        CHECK(length > 2000 && (unsigned char)rollcall_last_error()[length - 1] == 0xbc);
    }
    older.algorithm = "nothing";
    CHECK(rollcall_broadcast(world, &word, sizeof word, 0, &older) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "nothing"));
    older.size = offsetof(rollcall_collective_options, timeout) - 1; /* no size of any version */
    CHECK(rollcall_broadcast(world, &word, sizeof word, 0, &older) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "its size"));
    rollcall_call_record shorter = {offsetof(rollcall_call_record, exit), -1, -1, -1, -1};
    options = (rollcall_collective_options)ROLLCALL_COLLECTIVE_DEFAULTS;
    options.record = &shorter;
    OK(rollcall_broadcast(world, &word, sizeof word, 0, &options));
    CHECK(shorter.size == offsetof(rollcall_call_record, exit) && shorter.arrival > 0);
    CHECK((shorter.first_data > 0) == (rank > 0)); /* the root takes no data of others */
    CHECK(shorter.exit == -1 && shorter.predicted == -1);

    char text[1000] = "", little[8] = "";
    OK(rollcall_explain(world, "broadcast", 8, NULL, text, sizeof text));
    CHECK(!strncmp(text, "broadcast of 8 bytes to ", 24));
    OK(rollcall_explain(world, "barrier", 0, NULL, little, sizeof little));
    CHECK(!strcmp(little, "barrier"));
    CHECK(rollcall_explain(world, "nothing", 0, NULL, text, sizeof text) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "gather"));
}

static void blocks(const rollcall_communicator* world, int rank, int size) {
    int* const all = calloc((size_t)size, sizeof *all);
    rollcall_plan* plan = NULL;
    for (int root = 0; root < size; ++root) {
        int own = -1;
        for (int i = 0; i < size; ++i) all[i] = rank == root ? 100 * root + i : -1;
        OK(rollcall_scatter(world, all, &own, sizeof own, root, NULL));
        CHECK(own == 100 * root + rank);
        own += 1;
        OK(rollcall_gather(world, &own, all, sizeof own, root, NULL));
        for (int i = 0; i < size; ++i) CHECK(all[i] == (rank == root ? 100 * root + i + 1 : -1));
        rollcall_request* requests[2] = {NULL, NULL};
        int down = -1;
        OK(rollcall_start_scatter(world, all, &down, sizeof down, root, NULL, &requests[0]));
        OK(rollcall_wait_all(requests, 1, ROLLCALL_FOREVER));
        CHECK(down == own);
        OK(rollcall_start_gather(world, &rank, all, sizeof rank, root, NULL, &requests[1]));
        OK(rollcall_wait(&requests[1], ROLLCALL_FOREVER, NULL));
        for (int i = 0; rank == root && i < size; ++i) CHECK(all[i] == i);
    }
    int value = 0, got = -1;
    rollcall_collective_options options = ROLLCALL_COLLECTIVE_DEFAULTS;
    options.algorithm = "bsls";
    OK(rollcall_plan_gather(world, &value, all, sizeof value, 0, &options, ROLLCALL_LAST, &plan));
    rollcall_plan* back = NULL;
    OK(rollcall_plan_scatter(world, all, &got, sizeof got, 0, NULL, ROLLCALL_EDGE_LINEAR, &back));
    for (int i = 0; i < 5; ++i) {
        OK(rollcall_plan_begin(plan));
        OK(rollcall_plan_edge(plan, 0.5));
        value = i * size + rank;
        if (i % 2) {
            OK(rollcall_plan_run(plan));
        } else {
            OK(rollcall_plan_start(plan));
            for (int done = 0; !done;) OK(rollcall_plan_test(plan, &done));
            OK(rollcall_plan_wait(plan));
        }
        for (int k = 0; rank == 0 && k < size; ++k) CHECK(all[k] == i * size + k);
        OK(rollcall_plan_run(back));
        CHECK(got == value);
    }
    rollcall_call_record record = {sizeof record, 0, 0, 0, 0};
    OK(rollcall_plan_record(plan, &record));
    CHECK(record.arrival > 0 && record.exit >= record.arrival);
    CHECK(strstr(rollcall_plan_explanation(plan), "gather of "));
    rollcall_plan *told = NULL, *together = NULL;
    OK(rollcall_plan_broadcast(world, &value, sizeof value, size - 1, NULL, ROLLCALL_MOVING_AVERAGE, &told));
    OK(rollcall_plan_barrier(world, NULL, ROLLCALL_EXPONENTIAL, &together));
    for (int i = 0; i < 3; ++i) {
        value = rank == size - 1 ? 1000 + i : -1;
        OK(rollcall_plan_begin(told));
        OK(rollcall_plan_run(told));
        CHECK(value == 1000 + i);
        OK(rollcall_plan_run(together));
    }
    rollcall_plan_free(told);
    rollcall_plan_free(together);
    CHECK(rollcall_plan_edge(plan, 0.5) == ROLLCALL_STATE);
    CHECK(rollcall_plan_begin(NULL) == ROLLCALL_INVALID_ARGUMENT);
    rollcall_plan_free(plan);
    rollcall_plan_free(back);
    rollcall_plan_free(NULL);
    free(all);
}

static void wrong(const rollcall_communicator* world, int size) {
    int value = 0;
    rollcall_request* request = NULL;
    rollcall_collective_options options = ROLLCALL_COLLECTIVE_DEFAULTS;
    CHECK(rollcall_send(world, &value, sizeof value, size, 0, ROLLCALL_FOREVER) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "out of range") && rollcall_failed_rank() == -1);
    CHECK(rollcall_send(NULL, &value, sizeof value, 0, 0, ROLLCALL_FOREVER) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_send(world, NULL, 1, 0, 0, ROLLCALL_FOREVER) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_send(world, &value, sizeof value, 0, 0, -2) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_start_send(world, &value, sizeof value, -1, 0, ROLLCALL_FOREVER, &request) == ROLLCALL_INVALID_ARGUMENT && !request);
    CHECK(rollcall_start_send(world, &value, sizeof value, 0, 0, ROLLCALL_FOREVER, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_wait(NULL, 0, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_test(&request, NULL, NULL) == ROLLCALL_INVALID_ARGUMENT);
    size_t index = 0;
    CHECK(rollcall_wait_any(&request, 1, 0, &index) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_wait_any(NULL, 1, 0, &index) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_broadcast(world, &value, sizeof value, -1, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_scatter(world, &value, &value, UINT64_MAX, 0, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "more than a buffer can have"));
    CHECK(rollcall_start_gather(world, &value, &value, INT64_MAX / (uint64_t)size + 1, 0, NULL, &request) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(!request);
    options.algorithm = "quick";
    CHECK(rollcall_broadcast(world, &value, sizeof value, 0, &options) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strstr(rollcall_last_error(), "quick") && strstr(rollcall_last_error(), "binomial"));
    CHECK(rollcall_split(world, -5, 0, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_duplicate(NULL, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_init(NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_finalize(NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(!strcmp(rollcall_status_name(ROLLCALL_PEER_FAILED), "peer_failed") && !strcmp(rollcall_status_name(ROLLCALL_OK), "ok"));
    CHECK(!strcmp(rollcall_status_name(ROLLCALL_STATE), "state") && !strcmp(rollcall_status_name(ROLLCALL_INTERNAL), "internal"));
    CHECK(ROLLCALL_INTERNAL == 100 && !strcmp(rollcall_status_name((rollcall_status)(ROLLCALL_STATE + 1)), "internal"));
}

int main(void) {
    OK(rollcall_init(&job));
    const rollcall_communicator* const world = rollcall_world(job);
    const int rank = rollcall_rank(world), size = rollcall_size(world);
    CHECK(rank >= 0 && rank < size);
    /* Another part of the program shares the job, in a world of its own. */
    rollcall_job* again = NULL;
    OK(rollcall_init(&again));
    CHECK(again != job && rollcall_rank(rollcall_world(again)) == rank && rollcall_size(rollcall_world(again)) == size);
    int shared = rank == 0 ? 7 : 0;
    OK(rollcall_broadcast(rollcall_world(again), &shared, sizeof shared, 0, NULL));
    CHECK(shared == 7);
    OK(rollcall_finalize(again));
    CHECK(rollcall_finalize(again) == ROLLCALL_STATE && strstr(rollcall_last_error(), "finalized before"));

    wrong(world, size);
    point_to_point(world, rank, size);
    collectives(world, rank, size);
    blocks(world, rank, size);
    reductions(world, rank, size);
    exchanges(world, rank, size);
    groups(world, rank, size);
    blocks_of_own_sizes(world, rank, size);
    completion_queues(world, rank, size);
    taken_memory(world, rank, size);
    communicators(world, rank, size);

    int64_t before = -1, after = -1, off = -1;
    OK(rollcall_time(job, &before));
    OK(rollcall_synchronize_clocks(job, 0, &off));
    OK(rollcall_synchronize_clocks(job, 1000000, NULL));
    OK(rollcall_time(job, &after));
    int64_t there = -1, back = -1;
    OK(rollcall_time_at(job, before, &there));
    OK(rollcall_local_time_at(job, there, &back));
    CHECK(there == before && back == before);
    CHECK(off == 0 && before > 0 && after >= before); /* All ranks are on one host. */
    CHECK(rollcall_synchronize_clocks(job, -1, NULL) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_time(job, NULL) == ROLLCALL_INVALID_ARGUMENT);

    CHECK(rollcall_version() == ROLLCALL_VERSION && ROLLCALL_VERSION >= 100);
    CHECK(strlen(rollcall_started_by(job)) > 0 && strlen(rollcall_transport_description(job)) > 0);
    rollcall_progress_statistics statistics = {.size = sizeof statistics};
    OK(rollcall_pause_background(job));
    OK(rollcall_resume_background(job));
    OK(rollcall_statistics(job, &statistics));
    CHECK(statistics.background_cpu_time > 0);
    statistics.size = 0;
    CHECK(rollcall_statistics(job, &statistics) == ROLLCALL_INVALID_ARGUMENT);

    int happened = -1, may_sleep = -1;
    OK(rollcall_progress(job, &happened));
    OK(rollcall_progress(job, NULL));
    OK(rollcall_prepare_to_sleep(job, &may_sleep));
    CHECK((happened == 0 || happened == 1) && (may_sleep == 0 || may_sleep == 1));
    struct pollfd events = {rollcall_progress_descriptor(job), POLLIN, 0};
    CHECK(poll(&events, 1, 0) >= 0);

    /* While a receive is under way, finalize is refused, and the job stays usable. */
    char never[8];
    rollcall_request* request = NULL;
    OK(rollcall_start_receive(world, never, sizeof never, rank, 999, ROLLCALL_DEFAULT_TIMEOUT, &request));
    CHECK(rollcall_finalize(job) == ROLLCALL_STATE && strstr(rollcall_last_error(), "under way"));
    rollcall_request_free(request);
    OK(rollcall_barrier(world, ROLLCALL_DEFAULT_TIMEOUT));

    /* A handle outlives the job. */
    rollcall_communicator* kept = NULL;
    rollcall_queue* queue = NULL;
    rollcall_plan* plan = NULL;
    OK(rollcall_communicator_copy(world, &kept));
    OK(rollcall_queue_create(world, &queue));
    OK(rollcall_plan_barrier(world, NULL, ROLLCALL_EDGE_LINEAR, &plan));
    OK(rollcall_finalize(job));
    if (rollcall_finalize(job) != ROLLCALL_STATE || !strstr(rollcall_last_error(), "finalized before")) return 1;
    if (rollcall_barrier(kept, ROLLCALL_FOREVER) != ROLLCALL_STATE || rollcall_plan_run(plan) != ROLLCALL_STATE) return 1;
    if (rollcall_rank(kept) != rank || rollcall_size(kept) != size || strcmp(rollcall_name(kept), "world")) return 1;
    rollcall_plan_free(plan);
    rollcall_queue_free(queue);
    rollcall_communicator_free(kept);
    printf("rank %d: all is well\n", rank);
    return 0;
}
