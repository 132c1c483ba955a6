/* The time of an MPI barrier: a line with seconds for each batch. barrier BATCHES BARRIERS-IN-A-BATCH */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank, batches = argc > 1 ? atoi(argv[1]) : 10, batch = argc > 2 ? atoi(argv[2]) : 500;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < batch / 10 + 1; ++i) MPI_Barrier(MPI_COMM_WORLD);
    for (int b = 0; b < batches; ++b) {
        const double begin = MPI_Wtime();
        for (int i = 0; i < batch; ++i) MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) printf("%.9e\n", (MPI_Wtime() - begin) / batch);
    }
    MPI_Finalize();
    return 0;
}
