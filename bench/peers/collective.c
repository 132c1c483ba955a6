/* Calls of a collective operation of MPI, as bench/commands/collective.cpp, intergroup_allgather.cpp and loop.cpp make those of Rollcall:
   with the same delays, the same data, and checks of every byte.

   collective FILE: rank 0 reads the file, which has a plan or several, one after the other. Words are separated by blanks:
       OPERATION ROOT SLEEP WARMUP CALLS     SLEEP: 1: ranks sleep until they arrive; 0: they poll
                                      WARMUP: 0: each call begins at a common start; otherwise the calls are those of a loop without
                                      barriers, in which each rank computes for its delay and calls, and so many calls are not measured
       FIRST                          where the operation's name begins with "intergroup_": the number of ranks in the first group, which
                                      are the first ranks; the others are the second group
       BYTES KEY DELAY... SIZE...     for each call: the size of the message or of a block, the key of its data, the delay of each rank
                                      in ns; where the operation is gatherv, scatterv, allgatherv or alltoallv, also between two groups,
                                      or intergroup_allgather: the sizes of the blocks of all ranks
   Rank 0 prints a line for each call: the arrival and the exit of each rank, in ns after the common start. Of a loop it prints one number:
   the time of its measured calls, in ns, on the rank that takes longest. All calls of a loop have the size and the data
   of the first one. A last call, which is not measured, has other data. */
#define _GNU_SOURCE
#include <mpi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "payload.h"

enum rank_set { NOBODY, ROOT, OTHERS, EVERYBODY };
enum kind { BROADCAST, SCATTER, GATHER, ALLGATHER, ALLTOALL, REDUCE, ALLREDUCE, REDUCE_SCATTER, SCAN, EXCLUSIVE_SCAN, KINDS };

/* Who has the buffer that is read and the one that is written, and whether it holds a block for each rank. */
struct operation {
    const char* name;
    enum rank_set reads, writes;
    int reads_blocks, writes_blocks, combines;
};
static const char kBetweenGroups[] = "intergroup_";
static const struct operation kOperations[KINDS] = {
    {"broadcast", ROOT, OTHERS, 0, 0, 0},         {"scatter", ROOT, EVERYBODY, 1, 0, 0},
    {"gather", EVERYBODY, ROOT, 0, 1, 0},         {"allgather", EVERYBODY, EVERYBODY, 0, 1, 0},
    {"alltoall", EVERYBODY, EVERYBODY, 1, 1, 0},  {"reduce", EVERYBODY, ROOT, 0, 0, 1},
    {"allreduce", EVERYBODY, EVERYBODY, 0, 0, 1}, {"reduce_scatter", EVERYBODY, EVERYBODY, 1, 0, 1},
    {"scan", EVERYBODY, EVERYBODY, 0, 0, 1},      {"exclusive_scan", EVERYBODY, EVERYBODY, 0, 0, 1},
};

static enum kind kind;
static struct operation row;
static int rank, ranks, root, may_sleep;
static int64_t warmup, calls;
/* With ROLLCALL_TEST_CORRUPT=all every rank changes its results, says what it finds, and goes on. Then one job shows all checks. */
static int may_go_on, wrong_results;

/* The number of ranks in the first group. 0: the operation is not between two groups. */
static int in_first;
/* The ranks with which a rank exchanges data: all ranks, or those of the other group. */
static int partners, first_partner;
static MPI_Comm communicator;
/* What MPI is told of the root, and whether a rank that is not the root has a part. */
static int mpi_root, others_part;

/* Where blocks have sizes of their own: these, for the current call, and what MPI is told of the blocks that are read and written. The
   blocks of two groups may differ even if all blocks of a group have the same size. */
static int own_sizes;
static int has_sizes(void) { return own_sizes || (in_first > 0 && kind == ALLGATHER); }
static const uint64_t* sizes;
static int *counts, *offsets;

static int is_of(enum rank_set set) {
    return rank == root ? set == ROOT || set == EVERYBODY : others_part && (set == OTHERS || set == EVERYBODY);
}

/* Launchers may drop what a rank has written just before it aborts. */
static void give_up(void) {
    const struct timespec time = {0, 300000000};
    fflush(stderr);
    nanosleep(&time, NULL);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fail(const char* what) {
    fprintf(stderr, "%s\n", what);
    give_up();
}

static void* allocate(uint64_t bytes) {
    void* const memory = malloc(bytes > 0 ? bytes : 1);
    if (!memory) fail("no memory is left");
    return memory;
}

/* ---- data ---- */

static uint64_t key_of(uint64_t key, uint64_t number) { return mix(mix(key) ^ number); }

/* What ranks bring to a sum, as in bench/cases/summands.cpp: whole numbers of two parts, so small that no sum is above 2^24, where floats
   would round it. */
static uint64_t end_of_parts(void) {
    const uint64_t end = (UINT64_C(1) << 23) / (uint64_t)ranks;
    return end > 2 ? end : 2;
}
static uint64_t common(uint64_t key, uint64_t i) {
    const uint64_t end = end_of_parts();
    return key_of(key, i) % (end < 1024 ? end : 1024);
}
static uint64_t parts_before(uint64_t of_rank) {
    const uint64_t end = end_of_parts(), times = of_rank / end, rest = of_rank % end;
    return times * (end * (end - 1) / 2) + rest * (rest - 1) / 2;
}
static float summand(uint64_t key, uint64_t i, int of_rank) { return (float)(common(key, i) + (uint64_t)of_rank % end_of_parts()); }
static float sum_of(uint64_t key, uint64_t i, int first, int n) {
    return (float)((uint64_t)n * common(key, i) + parts_before((uint64_t)(first + n)) - parts_before((uint64_t)first));
}

/* The number that identifies the content of a message or block, which another rank has, too. */
static uint64_t number_of(int block, int has_blocks, int is_written) {
    const uint64_t partner = (uint64_t)(first_partner + block), own = (uint64_t)rank, all = (uint64_t)ranks;
    if (kind == ALLTOALL) return is_written ? partner * all + own : own * all + partner;
    return has_blocks ? partner : kind == BROADCAST ? (uint64_t)root : own;
}

/* The size of a block. If each rank has a block for each partner, ranks have the sizes in another order (bench/ranks/operands.cpp). */
static uint64_t size_of(uint64_t bytes, int block, int has_blocks) {
    if (!has_sizes()) return bytes;
    return sizes[kind == ALLTOALL ? (rank + first_partner + block) % ranks : has_blocks ? first_partner + block : rank];
}
static uint64_t offset_of(uint64_t bytes, int block, int has_blocks) {
    uint64_t sum = 0;
    for (int before = 0; before < block; ++before) sum += size_of(bytes, before, has_blocks);
    return sum;
}

struct buffer {
    char* data;
    uint64_t capacity;
};
static struct buffer reading, writing;

static void make_room(struct buffer* buffer, enum rank_set set, int has_blocks, uint64_t bytes) {
    const uint64_t size = is_of(set) ? offset_of(bytes, has_blocks ? partners : 1, has_blocks) : 0;
    if (buffer->data && buffer->capacity == size) return;
    free(buffer->data);
    *buffer = (struct buffer){allocate(size), size};
}

static void prepare(uint64_t bytes, uint64_t key) {
    make_room(&reading, row.reads, row.reads_blocks, bytes);
    make_room(&writing, row.writes, row.writes_blocks, bytes);
    uint64_t at = 0, size = 0;
    for (int block = 0; block < (row.writes_blocks ? partners : 1) && is_of(row.writes); ++block, at += size) {
        size = size_of(bytes, block, row.writes_blocks);
        fill(writing.data + at, size, key_of(key, number_of(block, row.writes_blocks, 1)), ~UINT64_C(0));
    }
    at = 0;
    for (int block = 0; block < (row.reads_blocks ? partners : 1) && is_of(row.reads) && !row.combines; ++block, at += size) {
        size = size_of(bytes, block, row.reads_blocks);
        fill(reading.data + at, size, key_of(key, number_of(block, row.reads_blocks, 0)), 0);
    }
    at = 0;
    for (int block = 0; own_sizes && block < partners; ++block, at += size) {
        size = size_of(bytes, block, 1);
        counts[block] = (int)size;
        offsets[block] = (int)at;
    }
    float* const elements = (float*)reading.data;
    for (uint64_t i = 0; row.combines && i < reading.capacity / sizeof *elements; ++i) elements[i] = summand(key, i, rank);
}

static void check_sum(uint64_t bytes, uint64_t key) {
    const int n = kind == SCAN ? rank + 1 : kind == EXCLUSIVE_SCAN ? rank : partners;
    const uint64_t first = kind == REDUCE_SCATTER ? (uint64_t)rank * bytes / sizeof(float) : 0;
    const float* const elements = (const float*)writing.data;
    for (uint64_t i = 0; n > 0 && i < bytes / sizeof *elements; ++i) {
        if (elements[i] == sum_of(key, first + i, first_partner, n)) continue;
        fprintf(stderr, "%s%s gave a wrong result: element %" PRIu64 " on rank %d is not the sum of what %d ranks brought\n",
                in_first > 0 ? kBetweenGroups : "", row.name, i, rank, n);
        if (++wrong_results && !may_go_on) give_up();
    }
}

static void check(uint64_t bytes, uint64_t key) {
    if (!is_of(row.writes)) return;
    const char* const spoiled = getenv("ROLLCALL_TEST_CORRUPT"); /* as in bench/commands/collective.cpp */
    may_go_on = spoiled && strcmp(spoiled, "all") == 0;
    if (spoiled && (may_go_on || atoi(spoiled) == rank) && writing.capacity > 0) writing.data[writing.capacity / 2] ^= 1;
    if (row.combines) check_sum(bytes, key);
    uint64_t at = 0, size = 0;
    for (int block = 0; block < (row.writes_blocks ? partners : 1) && !row.combines; ++block, at += size) {
        size = size_of(bytes, block, row.writes_blocks);
        const int64_t wrong = find_wrong(writing.data + at, size, key_of(key, number_of(block, row.writes_blocks, 1)));
        if (wrong < 0) continue;
        fprintf(stderr, "%s%s gave a wrong result: byte %" PRId64 " of block %d on rank %d is not what was sent\n",
                in_first > 0 ? kBetweenGroups : "", row.name, wrong, block, rank);
        if (++wrong_results && !may_go_on) give_up();
    }
}

/* ---- calls ---- */

static void call_of_own_sizes(void) {
    const MPI_Comm among = communicator;
    const int own = (int)sizes[rank];
    switch (kind) {
        case SCATTER: MPI_Scatterv(reading.data, counts, offsets, MPI_BYTE, writing.data, own, MPI_BYTE, mpi_root, among); break;
        case GATHER: MPI_Gatherv(reading.data, own, MPI_BYTE, writing.data, counts, offsets, MPI_BYTE, mpi_root, among); break;
        case ALLGATHER: MPI_Allgatherv(reading.data, own, MPI_BYTE, writing.data, counts, offsets, MPI_BYTE, among); break;
        case ALLTOALL: MPI_Alltoallv(reading.data, counts, offsets, MPI_BYTE, writing.data, counts, offsets, MPI_BYTE, among); break;
        default: break;
    }
}

static void call(uint64_t bytes) {
    if (own_sizes) {
        call_of_own_sizes();
        return;
    }
    const MPI_Comm among = communicator;
    const int size = (int)bytes, count = (int)(bytes / sizeof(float));
    const int own = has_sizes() ? (int)sizes[rank] : size, theirs = has_sizes() ? (int)sizes[first_partner] : size;
    switch (kind) {
        case BROADCAST: MPI_Bcast(rank == root ? reading.data : writing.data, size, MPI_BYTE, mpi_root, among); break;
        case SCATTER: MPI_Scatter(reading.data, size, MPI_BYTE, writing.data, size, MPI_BYTE, mpi_root, among); break;
        case GATHER: MPI_Gather(reading.data, size, MPI_BYTE, writing.data, size, MPI_BYTE, mpi_root, among); break;
        case ALLGATHER: MPI_Allgather(reading.data, own, MPI_BYTE, writing.data, theirs, MPI_BYTE, among); break;
        case ALLTOALL: MPI_Alltoall(reading.data, size, MPI_BYTE, writing.data, size, MPI_BYTE, among); break;
        case REDUCE: MPI_Reduce(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, mpi_root, among); break;
        case ALLREDUCE: MPI_Allreduce(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, among); break;
        case REDUCE_SCATTER: MPI_Reduce_scatter_block(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, among); break;
        case SCAN: MPI_Scan(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, among); break;
        case EXCLUSIVE_SCAN: MPI_Exscan(reading.data, writing.data, count, MPI_FLOAT, MPI_SUM, among); break;
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

static void measure_loop(const uint64_t* lines) {
    const uint64_t bytes = lines[0], key = lines[1];
    int64_t begin = 0, longest = 0;
    prepare(bytes, key);
    for (int64_t i = 0; i < calls; ++i, lines += 2 + ranks) {
        if (i == warmup) {
            MPI_Barrier(MPI_COMM_WORLD);
            begin = now();
        }
        wait_until(now() + (int64_t)lines[2 + rank], may_sleep);
        call(bytes);
    }
    const int64_t took = now() - begin;
    MPI_Barrier(MPI_COMM_WORLD);
    check(bytes, key);
    /* All calls of the loop have the same data. One more call shows that data moves. */
    prepare(bytes, mix(key));
    call(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    check(bytes, mix(key));
    MPI_Reduce(&took, &longest, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%" PRId64 "\n", longest);
}

/* Reads `count` numbers. Signed and unsigned numbers have the same bits. */
static void read_numbers(FILE* file, uint64_t* numbers, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        if (fscanf(file, "%" SCNu64, &numbers[i]) != 1) fail("the plan ends too early");
}

/* The number of the operation with this name, from 1 on, or 0. Sets own_sizes if its name has a "v" behind it. */
static uint64_t find_operation(const char* name) {
    uint64_t number = KINDS;
    for (; number > 0; --number) {
        const char* const known = kOperations[number - 1].name;
        if (strncmp(known, name, strlen(known)) != 0) continue;
        own_sizes = strcmp(name + strlen(known), "v") == 0;
        if (own_sizes || strcmp(known, name) == 0) return number;
    }
    return 0;
}

static int64_t words_of_line(void) { return 2 + (has_sizes() ? 2 : 1) * (int64_t)ranks; }

/* Reads the next plan at rank 0, and tells all ranks. Returns the lines of the calls, or NULL after the last plan. */
static uint64_t* read_plan(FILE* file) {
    char name[32] = "";
    uint64_t head[7] = {0};
    own_sizes = 0;
    if (rank == 0 && fscanf(file, "%31s", name) == 1) {
        const int is_between = strncmp(name, kBetweenGroups, strlen(kBetweenGroups)) == 0;
        head[0] = find_operation(is_between ? name + strlen(kBetweenGroups) : name);
        if (head[0] == 0) fail("the plan names an unknown operation");
        read_numbers(file, head + 1, 4);
        head[5] = (uint64_t)own_sizes;
        if (is_between) {
            read_numbers(file, head + 6, 1);
            if (head[0] - 1 >= REDUCE_SCATTER) fail("the plan names an operation that is not compared between two groups");
            if (head[6] < 1 || head[6] >= (uint64_t)ranks) fail("the plan leaves a group without ranks");
        }
    }
    MPI_Bcast(head, 7, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (head[0] == 0) return NULL;
    in_first = (int)head[6];
    own_sizes = (int)head[5];
    kind = (enum kind)(head[0] - 1);
    row = kOperations[kind];
    root = (int)head[1];
    may_sleep = (int)head[2];
    warmup = (int64_t)head[3];
    calls = (int64_t)head[4];
    const int64_t words = calls * words_of_line();
    uint64_t* const lines = allocate((uint64_t)words * sizeof *lines);
    if (rank == 0) read_numbers(file, lines, words);
    MPI_Bcast(lines, (int)words, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return lines;
}

/* Without groups, a rank exchanges data with all ranks. Between two groups, this makes the communicator of the first ranks and the others.
   The ranks of the root's group but the root have no part then. */
static void take_partners(void) {
    first_partner = 0;
    partners = ranks;
    mpi_root = root;
    others_part = 1;
    communicator = MPI_COMM_WORLD;
    if (in_first == 0) return;
    const int is_first = rank < in_first, has_root = row.reads == ROOT || row.writes == ROOT;
    MPI_Comm own;
    MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, is_first ? in_first : 0, 0, &communicator);
    MPI_Comm_free(&own);
    first_partner = is_first ? in_first : 0;
    partners = is_first ? ranks - in_first : in_first;
    if (!has_root) return;
    others_part = is_first != (root < in_first);
    mpi_root = rank == root ? MPI_ROOT : others_part ? root - first_partner : MPI_PROC_NULL;
    if (row.reads == EVERYBODY) row.reads = OTHERS;
    if (row.writes == EVERYBODY) row.writes = OTHERS;
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

static void measure_calls(const uint64_t* lines) {
    struct times* const mine = allocate(sizeof *mine * (uint64_t)calls);
    for (int64_t i = 0; i < calls; ++i) {
        const uint64_t* const line = lines + i * words_of_line();
        sizes = line + 2 + ranks;
        mine[i] = measure(line[0], line[1], (int64_t)line[2 + rank]);
    }
    print(mine);
    free(mine);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 2) fail("usage: collective FILE");
    make_sleep_exact();
    FILE* const file = rank == 0 ? fopen(argv[1], "r") : NULL;
    if (rank == 0 && !file) fail("the plan cannot be read");
    counts = allocate(sizeof *counts * (uint64_t)ranks);
    offsets = allocate(sizeof *offsets * (uint64_t)ranks);
    for (uint64_t* lines; (lines = read_plan(file)) != NULL; free(lines)) {
        if (has_sizes() && warmup > 0) fail("the blocks of a loop have no sizes of their own");
        take_partners();
        if (warmup > 0)
            measure_loop(lines);
        else
            measure_calls(lines);
        if (in_first > 0) MPI_Comm_free(&communicator);
    }
    if (file) fclose(file);
    free(counts);
    free(offsets);
    free(reading.data);
    free(writing.data);
    MPI_Finalize();
    return wrong_results > 0;
}
