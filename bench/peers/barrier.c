/* The time of an MPI barrier, as bench/commands/barrier.cpp measures that of Rollcall.
   barrier BATCHES FEWEST BARRIERS-IN-A-BATCH LONGEST-NANOSECONDS [FIRST]: a line with the seconds of each batch. After the longest time
   there are no more batches, but at least FEWEST. FIRST: the barrier is between two groups, the first of which has so many ranks. */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

#include "payload.h"

int main(int argc, char** argv) {
    int rank;
    MPI_Comm among = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 5) MPI_Abort(MPI_COMM_WORLD, 2);
    const int batches = atoi(argv[1]), fewest = atoi(argv[2]), batch = atoi(argv[3]), first = argc > 5 ? atoi(argv[5]) : 0;
    const int64_t longest = atoll(argv[4]);
    if (first > 0) {
        MPI_Comm own;
        MPI_Comm_split(MPI_COMM_WORLD, rank < first, rank, &own);
        MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, rank < first ? first : 0, 0, &among);
        MPI_Comm_free(&own);
    }
    for (int i = 0; i < batch / 10 + 1; ++i) MPI_Barrier(among);
    const int64_t until = now() + longest;
    for (int b = 0; b < batches; ++b) {
        int go_on = b < fewest || now() < until;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (!go_on) break;
        MPI_Barrier(MPI_COMM_WORLD);
        const int64_t begin = now();
        for (int i = 0; i < batch; ++i) MPI_Barrier(among);
        if (rank == 0) printf("%.9e ", (double)(now() - begin) * 1e-9 / batch);
    }
    if (rank == 0) printf("\n");
    if (first > 0) MPI_Comm_free(&among);
    MPI_Finalize();
    return 0;
}
