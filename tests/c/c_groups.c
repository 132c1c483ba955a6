/* Tests two groups that exchange data: the first half of the ranks, and the others. */
#include "check.h"

#include <string.h>

/* Runs one operation in form 0, 1 or 2: as a call, started, or planned. The arguments are the same in all forms. */
#define IN_FORM(name, ...)                                                                     \
    do {                                                                                       \
        rollcall_request* request_ = NULL;                                                     \
        rollcall_plan* plan_ = NULL;                                                           \
        switch (form) {                                                                        \
            case 0: OK(rollcall_intergroup_##name(__VA_ARGS__, NULL)); break;                  \
            case 1:                                                                            \
                OK(rollcall_start_intergroup_##name(__VA_ARGS__, NULL, &request_));            \
                OK(rollcall_wait(&request_, ROLLCALL_FOREVER, NULL));                          \
                break;                                                                         \
            default:                                                                           \
                OK(rollcall_plan_intergroup_##name(__VA_ARGS__, NULL, ROLLCALL_LAST, &plan_)); \
                OK(rollcall_plan_run(plan_));                                                  \
                rollcall_plan_free(plan_);                                                     \
        }                                                                                      \
    } while (0)

/* Where a message of two numbers goes. */
static void* place_of_two(void* context, uint64_t bytes) { return bytes == 2 * sizeof(int) ? context : NULL; }

/* The root is rank 0 of the first group. */
static void with_root(const rollcall_intercommunicator* between, int is_first, int form) {
    const int me = rollcall_intercommunicator_rank(between), others = rollcall_intercommunicator_remote_size(between);
    const int is_root = is_first && me == 0;
    const rollcall_side side = is_first ? ROLLCALL_MINE : ROLLCALL_THEIRS;
    const rollcall_reduction sum = ROLLCALL_REDUCTION(ROLLCALL_SUM, ROLLCALL_INT32);
    const uint64_t bytes = (uint64_t)(is_root ? others : 1) * sizeof(int);
    int *const data = calloc((size_t)others + 1, sizeof *data), one = is_root ? 41 + form : me;

    IN_FORM(broadcast, between, &one, sizeof one, side, 0);
    CHECK(is_first ? one == (is_root ? 41 + form : me) : one == 41 + form);
    for (int i = 0; i < others; ++i) data[i] = is_root ? 10 * i + form : -1;
    IN_FORM(scatter, between, data, bytes, side, 0);
    if (!is_first) CHECK(data[0] == 10 * me + form);
    data[0] = is_first ? -1 : 100 * me + form;
    IN_FORM(gather, between, data, bytes, side, 0);
    for (int i = 0; is_root && i < others; ++i) CHECK(data[i] == 100 * i + form);
    one = is_first ? -1 : me + 1;

    /* Rank i of the second group has i elements. Backwards. */
    uint64_t *const counts = calloc((size_t)others, sizeof *counts), *const offsets = calloc((size_t)others, sizeof *offsets), end = 0;
    for (int i = others - 1; i >= 0; --i) {
        counts[i] = (uint64_t)i * sizeof(int);
        offsets[i] = end;
        end += counts[i];
    }
    int* const many = calloc((size_t)(others * others + me + 1), sizeof *many);
    const uint64_t own = (uint64_t)me * sizeof(int);
    for (int i = 0; is_root && i < others; ++i)
        for (int k = 0; k < i; ++k) many[offsets[i] / sizeof(int) + (size_t)k] = 1000 * i + k + form;
    IN_FORM(scatter_blocks, between, many, own, is_root ? counts : NULL, is_root ? offsets : NULL, side, 0);
    for (int k = 0; !is_first && k < me; ++k) CHECK(many[k] == 1000 * me + k + form);
    if (is_root) memset(many, 0, (size_t)end);
    IN_FORM(gather_blocks, between, many, own, is_root ? counts : NULL, is_root ? offsets : NULL, side, 0);
    for (int i = 0; is_root && i < others; ++i)
        for (int k = 0; k < i; ++k) CHECK(many[offsets[i] / sizeof(int) + (size_t)k] == 1000 * i + k + form);
    if (is_root) CHECK(rollcall_intergroup_gather_blocks(between, many, 0, NULL, NULL, side, 0, NULL) == ROLLCALL_INVALID_ARGUMENT);
    free(many);
    free(counts);
    free(offsets);

    IN_FORM(reduce, between, &one, 1, &sum, side, 0);
    if (is_root) CHECK(one == others * (others + 1) / 2);
    free(data);
}

static void with_all(const rollcall_intercommunicator* between, int is_first, int form) {
    const int me = rollcall_intercommunicator_rank(between), own = rollcall_intercommunicator_size(between),
              others = rollcall_intercommunicator_remote_size(between), sign = is_first ? 1 : -1;
    const rollcall_reduction sum = ROLLCALL_REDUCTION(ROLLCALL_SUM, ROLLCALL_INT32);
    const size_t count = (size_t)others, size = count * sizeof(int);
    int *const all = calloc(2 * count, sizeof *all), *const from = calloc(count, sizeof *from), mine[2] = {sign * (me + 1), form},
               result = 0;

    IN_FORM(barrier, between);
    IN_FORM(allreduce, between, mine, &result, 1, &sum);
    CHECK(result == -sign * others * (others + 1) / 2);
    IN_FORM(allgather, between, mine, sizeof mine, all, 2 * size);
    for (int i = 0; i < others; ++i) CHECK(all[2 * i] == -sign * (i + 1) && all[2 * i + 1] == form);
    for (int i = 0; i < others; ++i) from[i] = sign * (100 * me + i);
    IN_FORM(alltoall, between, from, size, all, size);
    for (int i = 0; i < others; ++i) CHECK(all[i] == -sign * (100 * i + me));

    /* Each rank of the first group has one element, and each of the other one two. Backwards. */
    const uint64_t block = (is_first ? 1 : 2) * sizeof(int), its_block = (is_first ? 2 : 1) * sizeof(int);
    uint64_t *const counts = calloc(count, sizeof *counts), *const offsets = calloc(count, sizeof *offsets);
    for (size_t i = 0; i < count; ++i) {
        counts[i] = its_block;
        offsets[i] = (count - 1 - i) * its_block;
    }
    IN_FORM(allgather_blocks, between, mine, block, all, counts, offsets);
    for (size_t i = 0; i < count; ++i) CHECK(all[offsets[i] / sizeof *all] == -sign * ((int)i + 1));
    memset(all, 0, 2 * size);
    IN_FORM(allgather_blocks, between, mine, block, all, counts, NULL);
    for (size_t i = 0; i < count; ++i) CHECK(all[i * its_block / sizeof *all] == -sign * ((int)i + 1));
    CHECK(rollcall_intergroup_allgather_blocks(between, mine, block, all, NULL, NULL, NULL) == ROLLCALL_INVALID_ARGUMENT);

    /* Each rank of the first group sends one element to each of the second one, and gets two. */
    uint64_t *const sent = calloc(count, sizeof *sent), *const sent_at = calloc(count, sizeof *sent_at);
    int* const out = calloc(2 * count, sizeof *out);
    for (size_t i = 0; i < count; ++i) {
        sent[i] = block;
        sent_at[i] = i * block;
        out[i * block / sizeof *out] = sign * (100 * me + (int)i);
    }
    IN_FORM(alltoall_blocks, between, out, sent, sent_at, all, counts, offsets);
    for (size_t i = 0; i < count; ++i) CHECK(all[offsets[i] / sizeof *all] == -sign * (100 * (int)i + me));
    CHECK(rollcall_intergroup_alltoall_blocks(between, out, NULL, NULL, all, counts, NULL, NULL) == ROLLCALL_INVALID_ARGUMENT);
    free(sent);
    free(sent_at);
    free(out);

    /* Messages between ranks of one number. */
    const int partner = me < others ? me : -1;
    if (partner >= 0 && me < own) {
        rollcall_request* request = NULL;
        uint64_t received = 0;
        int got[2] = {0, 0};
        OK(rollcall_start_intergroup_send(between, mine, sizeof mine, partner, 7, ROLLCALL_FOREVER, &request));
        OK(rollcall_intergroup_next_size(between, partner, 7, ROLLCALL_FOREVER, &received));
        CHECK(received == sizeof got);
        rollcall_request* next = NULL;
        received = 0;
        OK(rollcall_start_intergroup_next_size(between, partner, 7, ROLLCALL_FOREVER, &next));
        OK(rollcall_wait(&next, ROLLCALL_FOREVER, &received));
        CHECK(received == sizeof got);
        int found = 0;
        OK(rollcall_intergroup_try_next_size(between, partner, 7, &found, &received));
        CHECK(found == 1 && received == sizeof got);
        OK(rollcall_intergroup_try_next_size(between, partner, 9, &found, &received));
        CHECK(found == 0 && received == sizeof got);
        OK(rollcall_intergroup_receive(between, got, sizeof got, partner, 7, ROLLCALL_FOREVER, &received));
        OK(rollcall_wait(&request, ROLLCALL_FOREVER, NULL));
        CHECK(received == sizeof got && got[0] == -sign * (partner + 1) && got[1] == form);
        OK(rollcall_start_intergroup_receive(between, got, sizeof got, partner, 8, ROLLCALL_FOREVER, &request));
        OK(rollcall_intergroup_send(between, from, sizeof *from, partner, 8, ROLLCALL_FOREVER));
        OK(rollcall_wait(&request, ROLLCALL_FOREVER, &received));
        CHECK(received == sizeof *from);
        OK(rollcall_intergroup_send(between, mine, sizeof mine, partner, 9, ROLLCALL_FOREVER));
        OK(rollcall_intergroup_receive_resized(between, place_of_two, got, partner, 9, ROLLCALL_FOREVER, &received));
        CHECK(received == sizeof got && got[0] == -sign * (partner + 1) && got[1] == form);
        CHECK(rollcall_intergroup_receive_resized(between, NULL, NULL, partner, 9, 0, NULL) == ROLLCALL_INVALID_ARGUMENT);
    }
    free(all);
    free(from);
    free(counts);
    free(offsets);
}

/* Two jobs become connected. Here, they are the two groups of one job. */
static void connections(const rollcall_communicator* world, const rollcall_communicator* own, int is_first, int rank, int first) {
    rollcall_intercommunicator* between = NULL;
    const int64_t limit = INT64_C(30000000000);
    if (is_first) {
        rollcall_listener *made = NULL, *listener = NULL;
        OK(rollcall_listener_create(own, "the first half", 0, &made));
        OK(rollcall_listener_copy(made, &listener));
        rollcall_listener_free(made); /* The copy goes on listening. */
        CHECK(rollcall_listener_copy(NULL, &made) == ROLLCALL_INVALID_ARGUMENT && !made);
        CHECK(rollcall_listener_copy(listener, NULL) == ROLLCALL_INVALID_ARGUMENT);
        const char* const invitation = rollcall_listener_invitation(listener);
        CHECK((rank == 0) == (strlen(invitation) > 0));
        if (rank == 0) OK(rollcall_send(world, invitation, strlen(invitation) + 1, first, 9, limit));
        OK(rollcall_listener_accept(listener, limit, &between));
        rollcall_listener_free(listener);
    } else {
        char invitation[401] = "";
        if (rank == first) OK(rollcall_receive(world, invitation, sizeof invitation, 0, 9, limit, NULL));
        OK(rollcall_intercommunicator_connect(own, invitation, NULL, limit, &between));
    }
    rollcall_intercommunicator* const first_handle = between;
    OK(rollcall_intercommunicator_copy(first_handle, &between));
    rollcall_intercommunicator_free(first_handle); /* The copy keeps the connection. */
    CHECK(rollcall_intercommunicator_copy(between, NULL) == ROLLCALL_INVALID_ARGUMENT);
    with_root(between, is_first, 0);
    OK(rollcall_intercommunicator_disconnect(between));
    CHECK(rollcall_intergroup_barrier(between, NULL) == ROLLCALL_STATE);
    rollcall_intercommunicator_free(between);
    CHECK(rollcall_intercommunicator_connect(own, "", NULL, limit, &between) == ROLLCALL_INVALID_ARGUMENT && !between);
    CHECK(rollcall_intercommunicator_copy(NULL, &between) == ROLLCALL_INVALID_ARGUMENT && !between);
    CHECK(rollcall_listener_accept(NULL, 0, &between) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(strcmp(rollcall_listener_invitation(NULL), "") == 0);
}

void groups(const rollcall_communicator* world, int rank, int size) {
    rollcall_intercommunicator* between = NULL;
    rollcall_communicator* made = NULL;
    int* const ranks = calloc((size_t)size, sizeof *ranks);
    for (int i = 0; i < size; ++i) ranks[i] = i;
    const size_t first = (size_t)size / 2;
    if (size == 1) {
        CHECK(rollcall_intercommunicator_create(world, ranks, 1, NULL, 0, &between) == ROLLCALL_INVALID_ARGUMENT && !between);
        CHECK(rollcall_intercommunicator_create(world, NULL, 1, ranks, 1, &between) == ROLLCALL_INVALID_ARGUMENT);
        CHECK(rollcall_intercommunicator_rank(NULL) == -1 && rollcall_intercommunicator_remote_size(NULL) == -1);
        CHECK(!rollcall_intercommunicator_name(NULL));
    } else {
        const int is_first = (size_t)rank < first;
        OK(rollcall_intercommunicator_create(world, ranks, first, ranks + first, (size_t)size - first, &between));
        CHECK(rollcall_intercommunicator_rank(between) == (is_first ? rank : rank - (int)first));
        int world_rank = -1;
        OK(rollcall_intercommunicator_remote_world_rank(between, 0, &world_rank));
        CHECK(world_rank == (is_first ? (int)first : 0));
        CHECK(rollcall_intercommunicator_remote_world_rank(between, size, &world_rank) == ROLLCALL_INVALID_ARGUMENT);
        CHECK(strlen(rollcall_intercommunicator_name(between)) > 0);
        for (int form = 0; form < 3; ++form) {
            with_root(between, is_first, form);
            with_all(between, is_first, form);
        }
        int one = 1;
        CHECK(rollcall_intergroup_broadcast(between, &one, sizeof one, (rollcall_side)2, 0, NULL) == ROLLCALL_INVALID_ARGUMENT);
        CHECK(rollcall_intercommunicator_disconnect(between) == ROLLCALL_STATE);
        OK(rollcall_intercommunicator_local(between, &made));
        CHECK(rollcall_size(made) == rollcall_intercommunicator_size(between));
        connections(world, made, is_first, rank, (int)first);
        rollcall_communicator_free(made);
        OK(rollcall_intercommunicator_merge(between, &made));
        CHECK(rollcall_size(made) == size && rollcall_rank(made) == rank);
        rollcall_communicator_free(made);
    }
    rollcall_intercommunicator_free(between);
    free(ranks);
}
