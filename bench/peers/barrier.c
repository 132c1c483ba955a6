/* The time of an MPI barrier: a line with seconds for each batch. barrier BATCHES BARRIERS-IN-A-BATCH [FIRST]
   FIRST: the barrier is between two groups, the first of which has so many ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank, batches = argc > 1 ? atoi(argv[1]) : 10, batch = argc > 2 ? atoi(argv[2]) : 500, first = argc > 3 ? atoi(argv[3]) : 0;
    MPI_Comm among = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (first > 0) {
        MPI_Comm own;
        MPI_Comm_split(MPI_COMM_WORLD, rank < first, rank, &own);
        MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, rank < first ? first : 0, 0, &among);
        MPI_Comm_free(&own);
    }
    for (int i = 0; i < batch / 10 + 1; ++i) MPI_Barrier(among);
    for (int b = 0; b < batches; ++b) {
        const double begin = MPI_Wtime();
        for (int i = 0; i < batch; ++i) MPI_Barrier(among);
        if (rank == 0) printf("%.9e\n", (MPI_Wtime() - begin) / batch);
    }
    if (first > 0) MPI_Comm_free(&among);
    MPI_Finalize();
    return 0;
}
