/* A C program starts its ranks itself, by a unique id and by an allgather of its own. Tests that they form a job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rollcall/rollcall.h>

enum { RANKS = 3 };

static int fail(const char* what) {
    fprintf(stderr, "%s: %s\n", what, rollcall_last_error());
    return 1;
}

/* Sends this rank's bytes to the parent, which answers with the bytes of all ranks. */
static int allgather(void* context, const void* mine, size_t bytes, void* all) {
    const int socket = *(const int*)context;
    if (write(socket, mine, bytes) != (ssize_t)bytes) return 1;
    return recv(socket, all, bytes * RANKS, MSG_WAITALL) == (ssize_t)(bytes * RANKS) ? 0 : 2;
}

static int failing(void* context, const void* mine, size_t bytes, void* all) {
    (void)context, (void)mine, (void)bytes, (void)all;
    return 7;
}

static int work(int rank, int by_id, int socket) {
    rollcall_job* job = NULL;
    if (by_id) {
        rollcall_unique_id id;
        if (recv(socket, id.bytes, sizeof id.bytes, MSG_WAITALL) != sizeof id.bytes) return fail("no id came");
        if (rollcall_init_by_unique_id(&job, rank, RANKS, &id) != ROLLCALL_OK) return fail("by unique id");
    } else {
        if (rollcall_init_by_allgather(&job, rank, RANKS, allgather, &socket) != ROLLCALL_OK) return fail("by allgather");
    }
    const rollcall_communicator* world = rollcall_world(job);
    if (rollcall_size(world) != RANKS || rollcall_rank(world) != rank) return fail("another place");
    double value = rank == 1 ? 42.0 : 0.0;
    if (rollcall_broadcast(world, &value, sizeof value, 1, NULL) != ROLLCALL_OK || value != 42.0) return fail("broadcast");
    if (by_id) {
        if (rollcall_finalize(job) != ROLLCALL_OK) return fail("finalize");
    } else {
        /* Rank 2 leaves when the others have ended the call above. They hear of that in their next call, and leave, too. */
        char done = 1;
        for (int other = 0; rank == 2 && other < 2; ++other)
            if (rollcall_receive(world, &done, 1, other, 0, ROLLCALL_FOREVER, NULL) != ROLLCALL_OK) return fail("receive");
        if (rank != 2 && rollcall_send(world, &done, 1, 2, 0, ROLLCALL_FOREVER) != ROLLCALL_OK) return fail("send");
        if (rank != 2 && (rollcall_barrier(world, ROLLCALL_FOREVER) != ROLLCALL_PEER_FAILED || !strstr(rollcall_last_error(), "rank 2") ||
                          !strstr(rollcall_last_error(), "left the job by leave()")))
            return fail("barrier without rank 2");
        if (rollcall_leave(job) != ROLLCALL_OK) return fail("leave");
        if (rollcall_leave(job) != ROLLCALL_STATE) return fail("leave a second time");
    }
    printf("rank %d of %d by %s\n", rank, RANKS, by_id ? "unique id" : "allgather");
    return 0;
}

static int serve(int by_id, const int* sockets) {
    if (by_id) {
        rollcall_unique_id id;
        if (rollcall_make_unique_id(&id) != ROLLCALL_OK) return fail("unique id");
        for (int rank = 0; rank < RANKS; ++rank)
            if (write(sockets[rank], id.bytes, sizeof id.bytes) != sizeof id.bytes) return fail("write");
        return 0;
    }
    /* The library says how many bytes each rank contributes. The parent expects the same number from each. */
    char all[RANKS * 512];
    ssize_t bytes = recv(sockets[0], all, 512, 0);
    for (int rank = 1; rank < RANKS; ++rank)
        if (bytes <= 0 || recv(sockets[rank], all + rank * bytes, (size_t)bytes, MSG_WAITALL) != bytes) return fail("read");
    for (int rank = 0; rank < RANKS; ++rank)
        if (write(sockets[rank], all, (size_t)bytes * RANKS) != bytes * RANKS) return fail("write");
    return 0;
}

static int run(int by_id) {
    int sockets[RANKS];
    pid_t processes[RANKS];
    for (int rank = 0; rank < RANKS; ++rank) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
        fflush(stdout);
        processes[rank] = fork();
        if (processes[rank] == 0) {
            close(ends[0]);
            exit(work(rank, by_id, ends[1]));
        }
        close(ends[1]);
        sockets[rank] = ends[0];
    }
    int bad = serve(by_id, sockets);
    for (int rank = 0; rank < RANKS; ++rank) {
        int status = 0;
        bad |= waitpid(processes[rank], &status, 0) != processes[rank] || status != 0;
        close(sockets[rank]);
    }
    return bad;
}

int main(void) {
    rollcall_job* job = NULL;
    rollcall_unique_id none;
    memset(&none, 0, sizeof none);
    rollcall_unique_id unused;
    if (rollcall_make_unique_id(&unused) != ROLLCALL_OK || rollcall_forget_unique_id(&unused) != ROLLCALL_OK ||
        rollcall_forget_unique_id(NULL) != ROLLCALL_INVALID_ARGUMENT)
        return fail("an unused unique id");
    if (rollcall_make_unique_id(NULL) != ROLLCALL_INVALID_ARGUMENT ||
        rollcall_init_by_unique_id(NULL, 0, 1, &none) != ROLLCALL_INVALID_ARGUMENT ||
        rollcall_init_by_unique_id(&job, 0, 1, NULL) != ROLLCALL_INVALID_ARGUMENT ||
        rollcall_init_by_unique_id(&job, 0, 1, &none) != ROLLCALL_INVALID_ARGUMENT || !strstr(rollcall_last_error(), "empty") ||
        rollcall_init_by_allgather(&job, 0, 1, NULL, NULL) != ROLLCALL_INVALID_ARGUMENT ||
        rollcall_init_by_allgather(&job, 1, 1, failing, NULL) != ROLLCALL_INVALID_ARGUMENT ||
        rollcall_init_by_allgather(&job, 0, 1, failing, NULL) != ROLLCALL_BOOTSTRAP || !strstr(rollcall_last_error(), "failed with 7") ||
        job)
        return fail("wrong arguments");
    /* The variant that starts no thread in this process goes first. */
    return run(0) || run(1);
}
