/** \file
 * The collective operations for C that combine elements of several ranks (sums, minima, ...). A part of rollcall.h.
 *
 * All operations are collective, and the rules in rollcall.h hold for them. Each rank brings elements at `contribution`, and element i of
 * the result is made of the elements i of the ranks. All ranks give the same `count` and the same reduction. The reduction is read only
 * during the call. A call returns when this rank's part is done. A start_ call returns at once with a request, and a plan_ call makes a
 * plan; their buffers must stay in place until the request is done, or as long as the plan. `options` may be NULL. reducing_operations.hpp
 * and reduction.hpp say more.
 */
#ifndef ROLLCALL_REDUCTIONS_H
#define ROLLCALL_REDUCTIONS_H

#include <rollcall/rollcall.h>

#pragma GCC visibility push(default) /* as ROLLCALL_EXPORT */
#ifdef __cplusplus
extern "C" {
#endif

/** How the elements of ranks are combined; Operator in reduction.hpp explains each. */
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
    ROLLCALL_MINIMUM_LOCATION, /**< for 16-byte structures of a value and an int64_t location; the type is that of the value */
    ROLLCALL_MAXIMUM_LOCATION, /**< the same */
    ROLLCALL_FUNCTION          /**< the function of the program in rollcall_reduction */
} rollcall_operator;
/** The types of elements; ElementType in reduction.hpp explains them. */
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
    ROLLCALL_COMPLEX64, /**< two float */
    ROLLCALL_COMPLEX128 /**< two double */
} rollcall_element_type;
/** A function of the program that sets into[i] to left[i] combined with right[i], for `count` elements. `into` may be `left` or `right`. It
 * must be associative. Any thread that moves data may call it. It must not call Rollcall: that thread holds a lock, for which the call
 * would wait forever. The operands are aligned as elements in memory of malloc() are, if the buffers of the calls are. */
typedef void (*rollcall_combine)(void* context, void* into, const void* left, const void* right, uint64_t count);
/** What is combined and how. Initialise it with ROLLCALL_REDUCTION. */
typedef struct rollcall_reduction {
    size_t size;                 /**< sizeof(rollcall_reduction) */
    rollcall_operator operation; /**< how elements are combined */
    rollcall_element_type type;  /**< their type; with ROLLCALL_FUNCTION any */
    int by_rank;                 /**< other than 0: the result is the same to the last bit in whichever order the ranks arrive */
    /* The fields below are for ROLLCALL_FUNCTION only. */
    int is_commutative;        /**< 0: elements are combined in rank order */
    uint32_t element_bytes;    /**< the size of an element, above 0 */
    rollcall_combine function; /**< what combines elements */
    void* context; /**< passed to the function; what it points to must stay until the operation is done, or as long as the plan */
} rollcall_reduction;
/** A reduction by an operator: ROLLCALL_REDUCTION(ROLLCALL_SUM, ROLLCALL_FLOAT64). */
#define ROLLCALL_REDUCTION(operation, type) \
    { sizeof(rollcall_reduction), operation, type, 0, 0, 0, NULL, NULL }

/** \{
 * Combines the elements of all ranks at the root. Each rank brings `count` elements. `result` is written at the root, where it may be the
 * same address as `contribution`; on other ranks it is not looked at. */
rollcall_status rollcall_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                const rollcall_reduction* reduction, int root, const rollcall_collective_options* options);
rollcall_status rollcall_start_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                      const rollcall_reduction* reduction, int root, const rollcall_collective_options* options,
                                      rollcall_request** request);
rollcall_status rollcall_plan_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                     const rollcall_reduction* reduction, int root, const rollcall_collective_options* options,
                                     rollcall_predictor predictor, rollcall_plan** plan);
/** \} */

/** \{
 * Combines the elements of all ranks and gives the result to all ranks, with the same bits on each; only if a sum or a product is NaN,
 * the sign and the payload of that NaN may differ. Each rank brings `count` elements. `result` may be the same address as `contribution`.
 */
rollcall_status rollcall_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                   const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                         const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                         rollcall_request** request);
rollcall_status rollcall_plan_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                        rollcall_predictor predictor, rollcall_plan** plan);
/** \} */

/** \{
 * Combines the elements of all ranks and gives each rank one block of the result: block r goes to rank r (MPI_Reduce_scatter_block). Each
 * block has `count` elements. `contribution` has a block for each rank, in rank order. `result` may be this rank's place in it,
 * and must not overlap it otherwise (ROLLCALL_INVALID_ARGUMENT). */
rollcall_status rollcall_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result,
                                              uint64_t count, const rollcall_reduction* reduction,
                                              const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result,
                                             uint64_t count, const rollcall_reduction* reduction,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan);
/** \} */

/** \{
 * Combines the elements of all ranks up to this one, in rank order (MPI_Scan). Each rank brings `count` elements. `result` may be the same
 * address as `contribution`. */
rollcall_status rollcall_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                              const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                    const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                    rollcall_request** request);
rollcall_status rollcall_plan_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                   const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                   rollcall_predictor predictor, rollcall_plan** plan);
/** \} */

/** \{
 * Combines the elements of all ranks before this one, in rank order (MPI_Exscan). Each rank brings `count` elements. On rank 0, which has
 * none before it, `result` stays as it was, but must not be NULL. `result` may be the same address as `contribution`. */
rollcall_status rollcall_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options);
rollcall_status rollcall_start_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result,
                                              uint64_t count, const rollcall_reduction* reduction,
                                              const rollcall_collective_options* options, rollcall_request** request);
rollcall_status rollcall_plan_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result,
                                             uint64_t count, const rollcall_reduction* reduction,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan);
/** \} */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
