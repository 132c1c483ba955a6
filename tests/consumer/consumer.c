#include <stdio.h>

#include <rollcall/rollcall.h>

int main(void) {
    rollcall_job* job;
    if (rollcall_init(&job) != ROLLCALL_OK) {
        fprintf(stderr, "%s\n", rollcall_last_error());
        return 1;
    }
    const rollcall_communicator* world = rollcall_world(job);
    int value = rollcall_rank(world) == 0 ? 42 : 0;
    if (rollcall_broadcast(world, &value, sizeof value, 0, NULL) != ROLLCALL_OK) {
        fprintf(stderr, "%s\n", rollcall_last_error());
        return 1;
    }
    printf("rank %d of %d has %d from c\n", rollcall_rank(world), rollcall_size(world), value);
    return rollcall_finalize(job) == ROLLCALL_OK ? 0 : 1;
}
