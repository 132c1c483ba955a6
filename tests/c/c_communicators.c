/* Communicators of some of the ranks, and handles to them. */
#include "check.h"

#include <string.h>

void communicators(const rollcall_communicator* world, int rank, int size) {
    rollcall_communicator* half = NULL;
    OK(rollcall_split(world, rank % 2, -rank, &half));
    CHECK(half && rollcall_size(half) == (size + (rank % 2 ? 0 : 1)) / 2);
    CHECK(rollcall_rank(half) == (size - 1 - rank) / 2);
    int leader = rollcall_rank(half) == 0 ? rank : -1;
    OK(rollcall_broadcast(half, &leader, sizeof leader, 0, NULL));
    CHECK(leader % 2 == rank % 2 && leader >= size - 2);

    rollcall_communicator* twin = NULL;
    OK(rollcall_duplicate(half, &twin));
    CHECK(twin && rollcall_size(twin) == rollcall_size(half) && rollcall_rank(twin) == rollcall_rank(half));
    OK(rollcall_barrier(twin, ROLLCALL_FOREVER));
    rollcall_communicator_free(half);
    OK(rollcall_barrier(twin, ROLLCALL_FOREVER));

    /* Nobody is lost, so all of them are left. */
    rollcall_communicator* left = NULL;
    OK(rollcall_shrink(twin, ROLLCALL_FOREVER, &left));
    CHECK(left && rollcall_size(left) == rollcall_size(twin) && rollcall_rank(left) == rollcall_rank(twin));
    OK(rollcall_barrier(left, ROLLCALL_FOREVER));
    rollcall_communicator_free(left);
    CHECK(rollcall_shrink(NULL, ROLLCALL_FOREVER, &left) == ROLLCALL_INVALID_ARGUMENT && !left);
    CHECK(rollcall_shrink(twin, -2, &left) == ROLLCALL_INVALID_ARGUMENT && !left);

    /* One more handle to the same communicator, which stays when the first one has gone. */
    rollcall_communicator* same = NULL;
    OK(rollcall_communicator_copy(twin, &same));
    CHECK(same && same != twin && !strcmp(rollcall_name(same), rollcall_name(twin)) && rollcall_rank(same) == rollcall_rank(twin));
    rollcall_communicator_free(twin);
    OK(rollcall_barrier(same, ROLLCALL_FOREVER));
    rollcall_communicator_free(same);
    CHECK(rollcall_communicator_copy(NULL, &same) == ROLLCALL_INVALID_ARGUMENT && !same);
    CHECK(rollcall_communicator_copy(world, NULL) == ROLLCALL_INVALID_ARGUMENT);
    rollcall_communicator_free(NULL);
    /* It belongs to the job, and stays. */
    rollcall_communicator_free((rollcall_communicator*)(uintptr_t)world);
    OK(rollcall_barrier(world, ROLLCALL_FOREVER));

    int whole = -1, *const list = calloc((size_t)size, sizeof *list);
    for (int i = 0; i < size; ++i) list[i] = size - 1 - i;
    rollcall_communicator *reversed = NULL, *host = NULL;
    OK(rollcall_create(world, list, (size_t)size, &reversed));
    CHECK(rollcall_rank(reversed) == size - 1 - rank && rollcall_size(reversed) == size);
    OK(rollcall_world_rank(reversed, 0, &whole));
    CHECK(whole == size - 1);
    CHECK(rollcall_world_rank(reversed, size, &whole) == ROLLCALL_INVALID_ARGUMENT);
    CHECK(rollcall_local_size(reversed) == size && rollcall_local_rank(reversed) == size - 1 - rank);
    CHECK(!strcmp(rollcall_name(world), "world") && strcmp(rollcall_name(reversed), "world") && !rollcall_name(NULL));
    OK(rollcall_split_by_host(reversed, &host));
    CHECK(rollcall_size(host) == size && rollcall_rank(host) == rollcall_rank(reversed));
    rollcall_communicator_free(host);
    rollcall_communicator_free(reversed);
    CHECK(rollcall_create(world, NULL, 1, &reversed) == ROLLCALL_INVALID_ARGUMENT && !reversed);
    free(list);

    rollcall_communicator* none = same;
    OK(rollcall_split(world, rank == 0 ? 0 : ROLLCALL_NO_COLOR, 0, &none));
    CHECK((none != NULL) == (rank == 0));
    CHECK(rank == 0 || (rollcall_rank(none) == -1 && rollcall_size(none) == -1));
    rollcall_communicator_free(none);
}
