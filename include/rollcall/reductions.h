/* \file
 * The collective operations that combine elements, for C; see reducing_operations.hpp. Part of rollcall.h.
 */
#ifndef ROLLCALL_REDUCTIONS_H
#define ROLLCALL_REDUCTIONS_H

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

/* How the elements of ranks become one; see reduction.hpp. */
typedef enum rollcall_operator {
    ROLLCALL_SUM,
    ROLLCALL_PRODUCT,
    ROLLCALL_MINIMUM,
    ROLLCALL_MAXIMUM,
    ROLLCALL_LOGICAL_AND,
    ROLLCALL_LOGICAL_OR,
    ROLLCALL_LOGICAL_XOR,
    ROLLCALL_BITWISE_AND,
    ROLLCALL_BITWISE_OR,
    ROLLCALL_BITWISE_XOR,
    ROLLCALL_MINIMUM_LOCATION, /* of structures of a value and an int64_t; the type is that of the value */
    ROLLCALL_MAXIMUM_LOCATION,
    ROLLCALL_FUNCTION
} rollcall_operator;
typedef enum rollcall_element_type {
    ROLLCALL_INT8,
    ROLLCALL_INT16,
    ROLLCALL_INT32,
    ROLLCALL_INT64,
    ROLLCALL_UINT8,
    ROLLCALL_UINT16,
    ROLLCALL_UINT32,
    ROLLCALL_UINT64,
    ROLLCALL_FLOAT32,
    ROLLCALL_FLOAT64,
    ROLLCALL_FLOAT16,
    ROLLCALL_BFLOAT16,
    ROLLCALL_COMPLEX64, /* two float */
    ROLLCALL_COMPLEX128
} rollcall_element_type;
/* into[i] = left[i] combined with right[i], for `count` elements; `into` may be `left` or `right`. Must be associative. Called by whichever
 * thread moves things on. */
typedef void (*rollcall_combine)(void* context, void* into, const void* left, const void* right, uint64_t count);
typedef struct rollcall_reduction {
    size_t size; /* sizeof(rollcall_reduction) */
    rollcall_operator operation;
    rollcall_element_type type;
    int by_rank; /* other than 0: the result is the same to the last bit whoever comes first */
    /* For ROLLCALL_FUNCTION only. `context` must stay until the operation is done, and is handed over as it is. */
    int is_commutative; /* 0: combined in rank order */
    uint32_t element_bytes;
    rollcall_combine function;
    void* context;
} rollcall_reduction;
#define ROLLCALL_REDUCTION(operation, type) \
    { sizeof(rollcall_reduction), operation, type, 0, 0, 0, NULL, NULL }

/* The reduction is read during the call only. The options of plan_ functions are as those of rollcall_plan_broadcast(). Collective. */

/* Combines `count` elements of each rank. `result` is written at the root (elsewhere it is not looked at), and may be the contribution. */
rollcall_status rollcall_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                const rollcall_reduction* reduction, int root, const rollcall_collective_options* options);
rollcall_status rollcall_start_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                      const rollcall_reduction* reduction, int root, const rollcall_collective_options* options,
                                      rollcall_request** request);
rollcall_status rollcall_plan_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                     const rollcall_reduction* reduction, int root, const rollcall_collective_options* options,
                                     rollcall_predictor predictor, rollcall_plan** plan);

/* The same where all ranks get the result. */
rollcall_status rollcall_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                   const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                         const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                         rollcall_request** request);
rollcall_status rollcall_plan_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                        rollcall_predictor predictor, rollcall_plan** plan);

/* Combines a block of `count` elements for each rank, which each rank brings for all of them one behind the other, and gives each rank its
 * own. `result` may be its place in the contribution. */
rollcall_status rollcall_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result,
                                              uint64_t count, const rollcall_reduction* reduction,
                                              const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result,
                                             uint64_t count, const rollcall_reduction* reduction,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan);

/* Combines `count` elements of each rank up to this one, in rank order. `result` may be the contribution. */
rollcall_status rollcall_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                              const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                    const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                    rollcall_request** request);
rollcall_status rollcall_plan_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                   const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                   rollcall_predictor predictor, rollcall_plan** plan);

/* The same of the ranks before this one. At rank 0 there is none: `result` stays as it is. */
rollcall_status rollcall_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result,
                                              uint64_t count, const rollcall_reduction* reduction,
                                              const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result,
                                             uint64_t count, const rollcall_reduction* reduction,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
