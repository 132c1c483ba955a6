/* Half a round trip of MPI between two ranks, as bench/commands/pingpong.cpp measures that of Rollcall. The data is checked before the timed trips.
   pingpong BATCHES FEWEST BATCH-NANOSECONDS LONGEST-NANOSECONDS BYTES...: for each size a line with the seconds of each batch. After the
   longest time of a size there are no more batches, but at least FEWEST. */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

#include "payload.h"

enum { kTag = 3, kCalibrationTrips = 20, kLargestBatch = 100000 };

static int rank;

/* The seconds of one direction. */
static double round_trips(char* data, int bytes, int trips) {
    const int64_t begin = now();
    for (int trip = 0; trip < trips; ++trip) {
        if (rank == 0) MPI_Send(data, bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
        MPI_Recv(data, bytes, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(data, bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
    }
    return (double)(now() - begin) * 1e-9 / (2.0 * trips);
}

static void check(char* data, uint64_t bytes) {
    const uint64_t key = mix(bytes);
    if (rank == 0) {
        fill(data, bytes, key, 0);
        MPI_Send(data, (int)bytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    }
    fill(data, bytes, key, ~UINT64_C(0));
    MPI_Recv(data, (int)bytes, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(data, (int)bytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
    if (find_wrong(data, bytes, key) < 0) return;
    fprintf(stderr, "pingpong gave a wrong result on rank %d\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Both ranks do what rank 0 decides. */
static int go_on(int decision) {
    MPI_Bcast(&decision, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return decision;
}

static void measure(uint64_t bytes, int batches, int fewest, double batch_seconds, int64_t longest) {
    char* const data = malloc(bytes > 0 ? bytes : 1);
    if (!data) MPI_Abort(MPI_COMM_WORLD, 1);
    check(data, bytes);
    const double trip = 2 * round_trips(data, (int)bytes, kCalibrationTrips), wanted = batch_seconds / trip;
    int trips = wanted < 1 ? 1 : wanted > kLargestBatch ? kLargestBatch : (int)wanted;
    MPI_Bcast(&trips, 1, MPI_INT, 0, MPI_COMM_WORLD);
    round_trips(data, (int)bytes, trips);
    const int64_t until = now() + longest;
    for (int batch = 0; go_on(batch < batches && (batch < fewest || now() < until)); ++batch) {
        const double seconds = round_trips(data, (int)bytes, trips);
        if (rank == 0) printf("%.9e ", seconds);
    }
    if (rank == 0) printf("\n");
    free(data);
}

int main(int argc, char** argv) {
    int ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2 || argc < 5) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 5; i < argc; ++i) measure(strtoull(argv[i], NULL, 10), atoi(argv[1]), atoi(argv[2]), atof(argv[3]) * 1e-9, atoll(argv[4]));
    MPI_Finalize();
    return 0;
}
