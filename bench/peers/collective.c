/* Calls of a collective operation of MPI, as bench/collective.cpp makes those of Rollcall: with the same delays, the same data, and checks
   of every byte.

   collective PLAN: rank 0 reads the file, whose words are separated by blanks:
       OPERATION ROOT SLEEP CALLS     SLEEP: 1: ranks sleep until they arrive; 0: they poll
       BYTES KEY DELAY...             for each call: the size of the message or of a block, the key of its data, the delay of each rank in
   ns Rank 0 prints a line for each call: the arrival and the exit of each rank, in ns after the common start. */
#define _GNU_SOURCE
#include <mpi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "payload.h"

enum who { NOBODY, ROOT, OTHERS, EVERYBODY };
enum kind { BROADCAST, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXCLUSIVE_SCAN, KINDS };

/* Who has the buffer that is read and the one that is written, and whether it holds a block for each rank. */
struct operation {
    const char* name;
    enum who reads, writes;
    int reads_blocks, writes_blocks, combines;
};
static const struct operation kOperations[KINDS] = {
    {"broadcast", ROOT, OTHERS, 0, 0, 0},         {"scatter", ROOT, EVERYBODY, 1, 0, 0},
    {"gather", EVERYBODY, ROOT, 0, 1, 0},         {"allgather", EVERYBODY, EVERYBODY, 0, 1, 0},
    {"alltoall", EVERYBODY, EVERYBODY, 1, 1, 0},  {"reduce", EVERYBODY, ROOT, 0, 0, 1},
    {"allreduce", EVERYBODY, EVERYBODY, 0, 0, 1}, {"reduce_scatter", EVERYBODY, EVERYBODY, 1, 0, 1},
    {"scan", EVERYBODY, EVERYBODY, 0, 0, 1},      {"exclusive_scan", EVERYBODY, EVERYBODY, 0, 0, 1},
};

static enum kind kind;
static const struct operation* row;
static int rank, ranks, root, may_sleep;
static int64_t calls;

static int is_of(enum who who) { return who == EVERYBODY || who == (rank == root ? ROOT : OTHERS); }

static void fail(const char* what) {
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* allocate(uint64_t bytes) {
    void* const memory = malloc(bytes > 0 ? bytes : 1);
    if (!memory) fail("no memory is left");
    return memory;
}

/* ---- data ---- */

static uint64_t key_of(uint64_t key, uint64_t number) { return mix(mix(key) ^ number); }
static float summand(uint64_t key, uint64_t i, int of_rank) { return (float)(key_of(key, i) % 1024 + (uint64_t)of_rank); }

/* The number that identifies the content of a message or block, which another rank has, too. */
static uint64_t number_of(int block, int has_blocks, int is_written) {
    if (kind == ALLTOALL) return (uint64_t)(is_written ? block * ranks + rank : rank * ranks + block);
    return (uint64_t)(has_blocks ? block : kind == BROADCAST ? root : rank);
}

struct buffer {
    char* data;
    uint64_t capacity;
};
static struct buffer reading, writing;

static void make_room(struct buffer* buffer, enum who who, int has_blocks, uint64_t bytes) {
    const uint64_t size = is_of(who) ? bytes * (uint64_t)(has_blocks ? ranks : 1) : 0;
    if (buffer->data && buffer->capacity == size) return;
    free(buffer->data);
    *buffer = (struct buffer){allocate(size), size};
}

static void prepare(uint64_t bytes, uint64_t key) {
    make_room(&reading, row->reads, row->reads_blocks, bytes);
    make_room(&writing, row->writes, row->writes_blocks, bytes);
    for (int block = 0; block < (row->writes_blocks ? ranks : 1) && is_of(row->writes); ++block)
        fill(writing.data + (uint64_t)block * bytes, bytes, key_of(key, number_of(block, row->writes_blocks, 1)), ~UINT64_C(0));
    for (int block = 0; block < (row->reads_blocks ? ranks : 1) && is_of(row->reads) && !row->combines; ++block)
        fill(reading.data + (uint64_t)block * bytes, bytes, key_of(key, number_of(block, row->reads_blocks, 0)), 0);
    float* const elements = (float*)reading.data;
    for (uint64_t i = 0; row->combines && i < reading.capacity / sizeof *elements; ++i) elements[i] = summand(key, i, rank);
}

static void check_sum(uint64_t bytes, uint64_t key) {
    const int n = kind == SCAN ? rank + 1 : kind == EXCLUSIVE_SCAN ? rank : ranks;
    const uint64_t first = kind == REDUCE_SCATTER ? (uint64_t)rank * bytes / sizeof(float) : 0;
    const float* const elements = (const float*)writing.data;
    for (uint64_t i = 0; n > 0 && i < bytes / sizeof *elements; ++i) {
        if (elements[i] == (float)n * summand(key, first + i, 0) + (float)n * (float)(n - 1) / 2) continue;
        fprintf(stderr, "%s gave a wrong result: element %" PRIu64 " on rank %d is not the sum of what %d ranks brought\n", row->name, i,
                rank, n);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void check(uint64_t bytes, uint64_t key) {
    if (!is_of(row->writes)) return;
    const char* const spoiled = getenv("ROLLCALL_TEST_CORRUPT"); /* as in bench/collective.cpp */
    if (spoiled && atoi(spoiled) == rank && writing.capacity > 0) writing.data[writing.capacity / 2] ^= 1;
    if (row->combines) {
        check_sum(bytes, key);
        return;
    }
    for (int block = 0; block < (row->writes_blocks ? ranks : 1); ++block) {
        const int64_t wrong =
            find_wrong(writing.data + (uint64_t)block * bytes, bytes, key_of(key, number_of(block, row->writes_blocks, 1)));
        if (wrong < 0) continue;
        fprintf(stderr, "%s gave a wrong result: byte %" PRId64 " of block %d on rank %d is not what was sent\n", row->name, wrong, block,
                rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* ---- calls ---- */

static void call(uint64_t bytes) {
    const MPI_Comm world = MPI_COMM_WORLD;
    const int size = (int)bytes, count = (int)(bytes / sizeof(float));
    switch (kind) {
        case BROADCAST: MPI_Bcast(rank == root ? reading.data : writing.data, size, MPI_BYTE, root, world); break;
        case SCATTER: MPI_Scatter(reading.data, size, MPI_BYTE, writing.data, size, MPI_BYTE, root, world); break;
        case GATHER: MPI_Gather(reading.data, size, MPI_BYTE, writing.data, size, MPI_BYTE, root, world); break;
        case ALLGATHER: MPI_Allgather(reading.data, size, MPI_BYTE, writing.data, size, MPI_BYTE, world); break;
        case ALLTOALL: MPI_Alltoall(reading.data, size, MPI_BYTE, writing.data, size, MPI_BYTE, world); break;
        case REDUCE: MPI_Reduce(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, root, world); break;
        case ALLREDUCE: MPI_Allreduce(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, world); break;
        case REDUCE_SCATTER: MPI_Reduce_scatter_block(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, world); break;
        case SCAN: MPI_Scan(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, world); break;
        case EXCLUSIVE_SCAN: MPI_Exscan(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, world); break;
        case KINDS: break;
    }
}

struct times {
    int64_t arrival, exit;
};

static struct times measure(uint64_t bytes, uint64_t key, int64_t delay) {
    /* The common start must be later than the moment when the last rank learns of it. */
    const int64_t margin = 1000000 + INT64_C(50000) * ranks;
    prepare(bytes, key);
    MPI_Barrier(MPI_COMM_WORLD);
    int64_t start = now() + margin;
    MPI_Bcast(&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    wait_until(start + delay, may_sleep);
    const int64_t arrival = now();
    call(bytes);
    const int64_t end = now();
    /* A rank checks its data only after all ranks have left the call, because checking would take their cores. */
    MPI_Barrier(MPI_COMM_WORLD);
    check(bytes, key);
    return (struct times){arrival - start, end - start};
}

/* Reads `count` numbers. Signed and unsigned numbers have the same bits. */
static void read_numbers(FILE* file, uint64_t* numbers, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (fscanf(file, "%" SCNu64, &numbers[i]) != 1) fail("the plan ends too early");
}

/* Reads the plan at rank 0, and tells all ranks. Returns the lines of the calls. */
static uint64_t* read_plan(const char* path) {
    FILE* const file = rank == 0 ? fopen(path, "r") : NULL;
    char name[32] = "";
    uint64_t head[4] = {KINDS};
    if (rank == 0) {
        if (!file || fscanf(file, "%31s", name) != 1) fail("the plan cannot be read");
        while (head[0] > 0 && strcmp(kOperations[head[0] - 1].name, name) != 0) --head[0];
        if (head[0] == 0) fail("the plan names an unknown operation");
        read_numbers(file, head + 1, 3);
    }
    MPI_Bcast(head, 4, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    kind = (enum kind)(head[0] - 1);
    row = &kOperations[kind];
    root = (int)head[1];
    may_sleep = (int)head[2];
    calls = (int64_t)head[3];
    const int64_t words = calls * (2 + ranks);
    uint64_t* const lines = allocate((uint64_t)words * sizeof *lines);
    if (file) {
        read_numbers(file, lines, words);
        fclose(file);
    }
    MPI_Bcast(lines, (int)words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return lines;
}

static void print(const struct times* mine) {
    const int numbers = (int)(2 * calls);
    struct times* const all = rank == 0 ? allocate(sizeof *all * (uint64_t)(calls * ranks)) : NULL;
    MPI_Gather(mine, numbers, MPI_INT64_T, all, numbers, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int64_t i = 0; all && i < calls; ++i)
        for (int of = 0; of < ranks; ++of)
            printf("%" PRId64 " %" PRId64 "%s", all[of * calls + i].arrival, all[of * calls + i].exit, of + 1 < ranks ? " " : "\n");
    free(all);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2) fail("usage: collective PLAN");
    make_sleep_exact();
    uint64_t* const lines = read_plan(argv[1]);
    struct times* const mine = allocate(sizeof *mine * (uint64_t)calls);
    for (int64_t i = 0; i < calls; ++i) {
        const uint64_t* const line = lines + i * (2 + ranks);
        mine[i] = measure(line[0], line[1], (int64_t)line[2 + rank]);
    }
    print(mine);
    free(mine);
    free(lines);
    free(reading.data);
    free(writing.data);
    MPI_Finalize();
    return 0;
}
