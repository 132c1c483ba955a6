/* Loaded before MPICH 4.0, for what it does badly.
   It polls without yielding: with ROLLCALL_PEER_YIELD=yes, gives the core away after a poll that found nothing, as Open MPI does with
   mpi_yield_when_idle. All of MPICH's progress ends in this call of UCX.
   And MPI_Finalize waits for the process manager without progress, while over TCP others cannot close their connections without
   this rank's: about one job of ten hangs there. So there is progress while it waits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned ucp_worker_progress(void* worker);
void ucp_worker_destroy(void* worker);

static void* living_worker;

unsigned ucp_worker_progress(void* worker) {
    static unsigned (*progress)(void*);
    static int yields;
    if (!progress) {
        *(void**)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
        const char* const text = getenv("ROLLCALL_PEER_YIELD");
        yields = text && strcmp(text, "yes") == 0;
    }
    living_worker = worker;
    const unsigned events = progress(worker);
    if (events == 0 && yields) sched_yield();
    return events;
}

void ucp_worker_destroy(void* worker) {
    static void (*destroy)(void*);
    if (!destroy) *(void**)&destroy = dlsym(RTLD_NEXT, "ucp_worker_destroy");
    living_worker = NULL;
    destroy(worker);
}

ssize_t read(int descriptor, void* buffer, size_t bytes) {
    static ssize_t (*real)(int, void*, size_t);
    static int manager = -1;
    if (!real) {
        *(void**)&real = dlsym(RTLD_NEXT, "read");
        const char* const text = getenv("PMI_FD");
        if (text) manager = atoi(text);
    }
    if (descriptor == manager && manager >= 0) {
        struct pollfd entry = {manager, POLLIN, 0};
        while (living_worker && poll(&entry, 1, 0) == 0) ucp_worker_progress(living_worker);
    }
    return real(descriptor, buffer, bytes);
}
