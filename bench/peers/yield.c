/* Loaded before MPICH 4.0, which polls without yielding: gives the core away after a poll that found nothing, as Open MPI
   does with mpi_yield_when_idle. All of MPICH's progress ends in this call of UCX. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker);

unsigned ucp_worker_progress(void* worker) {
    static unsigned (*progress)(void*);
    if (!progress) *(void**)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
    const unsigned events = progress(worker);
    if (events == 0) sched_yield();
    return events;
}
