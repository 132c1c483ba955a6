/// \file
/// The collective operations that combine elements, in the C++ and the C interface. Each is a call of its row in the table of operations.
#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "api/c.hpp"
#include "api/c_collective.hpp"
#include "api/collective.hpp"

namespace rollcall {
namespace {

using runtime::OperationKind;

Collective reduce_on(const Communicator& communicator, const void* contribution, void* result, std::uint64_t count,
                     const Reduction& reduction, int root) {
    return {communicator, OperationKind::reduce, {.contribution = contribution, .data = result}, count, reduction, root};
}
Collective allreduce_on(const Communicator& communicator, const void* contribution, void* result, std::uint64_t count,
                        const Reduction& reduction) {
    return {communicator, OperationKind::allreduce, {.contribution = contribution, .data = result}, count, reduction, kNoRoot};
}
Collective reduce_scatter_on(const Communicator& communicator, const void* contribution, void* result, std::uint64_t count,
                             const Reduction& reduction) {
    return {communicator, OperationKind::reduce_scatter, {.contribution = contribution, .data = result}, count, reduction, kNoRoot};
}
Collective scan_on(const Communicator& communicator, const void* contribution, void* result, std::uint64_t count,
                   const Reduction& reduction) {
    return {communicator, OperationKind::scan, {.contribution = contribution, .data = result}, count, reduction, kNoRoot};
}
Collective exclusive_scan_on(const Communicator& communicator, const void* contribution, void* result, std::uint64_t count,
                             const Reduction& reduction) {
    return {communicator, OperationKind::exclusive_scan, {.contribution = contribution, .data = result}, count, reduction, kNoRoot};
}

}  // namespace

const Communicator& ReducingOperations::communicator() const noexcept { return static_cast<const Communicator&>(*this); }

void ReducingOperations::reduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                int root, const CollectiveOptions& options) const {
    reduce_on(communicator(), contribution.get(), result.get(), count, reduction, root).call(options);
}
Request ReducingOperations::start_reduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                         int root, const CollectiveOptions& options) const {
    return reduce_on(communicator(), contribution.get(), result.get(), count, reduction, root).start(options);
}
Plan ReducingOperations::plan_reduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                     int root, const PlanOptions& options) const {
    return reduce_on(communicator(), contribution.get(), result.get(), count, reduction, root).plan(options);
}

void ReducingOperations::allreduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                   const CollectiveOptions& options) const {
    allreduce_on(communicator(), contribution.get(), result.get(), count, reduction).call(options);
}
Request ReducingOperations::start_allreduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count,
                                            const Reduction& reduction, const CollectiveOptions& options) const {
    return allreduce_on(communicator(), contribution.get(), result.get(), count, reduction).start(options);
}
Plan ReducingOperations::plan_allreduce(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                        const PlanOptions& options) const {
    return allreduce_on(communicator(), contribution.get(), result.get(), count, reduction).plan(options);
}

void ReducingOperations::reduce_scatter(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                        const CollectiveOptions& options) const {
    reduce_scatter_on(communicator(), contribution.get(), result.get(), count, reduction).call(options);
}
Request ReducingOperations::start_reduce_scatter(ConstBytePointer contribution, BytePointer result, std::uint64_t count,
                                                 const Reduction& reduction, const CollectiveOptions& options) const {
    return reduce_scatter_on(communicator(), contribution.get(), result.get(), count, reduction).start(options);
}
Plan ReducingOperations::plan_reduce_scatter(ConstBytePointer contribution, BytePointer result, std::uint64_t count,
                                             const Reduction& reduction, const PlanOptions& options) const {
    return reduce_scatter_on(communicator(), contribution.get(), result.get(), count, reduction).plan(options);
}

void ReducingOperations::scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                              const CollectiveOptions& options) const {
    scan_on(communicator(), contribution.get(), result.get(), count, reduction).call(options);
}
Request ReducingOperations::start_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                       const CollectiveOptions& options) const {
    return scan_on(communicator(), contribution.get(), result.get(), count, reduction).start(options);
}
Plan ReducingOperations::plan_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                   const PlanOptions& options) const {
    return scan_on(communicator(), contribution.get(), result.get(), count, reduction).plan(options);
}

void ReducingOperations::exclusive_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count, const Reduction& reduction,
                                        const CollectiveOptions& options) const {
    exclusive_scan_on(communicator(), contribution.get(), result.get(), count, reduction).call(options);
}
Request ReducingOperations::start_exclusive_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count,
                                                 const Reduction& reduction, const CollectiveOptions& options) const {
    return exclusive_scan_on(communicator(), contribution.get(), result.get(), count, reduction).start(options);
}
Plan ReducingOperations::plan_exclusive_scan(ConstBytePointer contribution, BytePointer result, std::uint64_t count,
                                             const Reduction& reduction, const PlanOptions& options) const {
    return exclusive_scan_on(communicator(), contribution.get(), result.get(), count, reduction).plan(options);
}

void ReducingOperations::check_result(std::size_t all, std::size_t own, int root, const char* operation) const {
    if ((root != kOnAllRanks && communicator().rank() != root) || all == own) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} on {}: the result has room for {} elements, but each rank brings {}: give it room for exactly as many",
                            operation, communicator().name(), all, own));
}

void ReducingOperations::check_blocks(std::size_t all, std::size_t one, const char* operation) const {
    rollcall::check_blocks(communicator(), "the contribution", all, one, operation);
}

// --- in C ------------------------------------------------------------------------------------------------------------

namespace c {
namespace {

auto reduce_of(const void* contribution, void* result, std::uint64_t count, const rollcall_reduction* reduction, int root) {
    return [=](const Communicator& communicator) {
        return reduce_on(communicator, contribution, result, count, reduction_of(reduction), root);
    };
}
auto allreduce_of(const void* contribution, void* result, std::uint64_t count, const rollcall_reduction* reduction) {
    return
        [=](const Communicator& communicator) { return allreduce_on(communicator, contribution, result, count, reduction_of(reduction)); };
}
auto reduce_scatter_of(const void* contribution, void* result, std::uint64_t count, const rollcall_reduction* reduction) {
    return [=](const Communicator& communicator) {
        return reduce_scatter_on(communicator, contribution, result, count, reduction_of(reduction));
    };
}
auto scan_of(const void* contribution, void* result, std::uint64_t count, const rollcall_reduction* reduction) {
    return [=](const Communicator& communicator) { return scan_on(communicator, contribution, result, count, reduction_of(reduction)); };
}
auto exclusive_scan_of(const void* contribution, void* result, std::uint64_t count, const rollcall_reduction* reduction) {
    return [=](const Communicator& communicator) {
        return exclusive_scan_on(communicator, contribution, result, count, reduction_of(reduction));
    };
}

}  // namespace
}  // namespace c
}  // namespace rollcall

using namespace rollcall::c;

extern "C" {

rollcall_status rollcall_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                const rollcall_reduction* reduction, int root, const rollcall_collective_options* options) {
    return call(communicator, options, reduce_of(contribution, result, count, reduction, root));
}
rollcall_status rollcall_start_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                      const rollcall_reduction* reduction, int root, const rollcall_collective_options* options,
                                      rollcall_request** request) {
    return start_call(communicator, options, request, reduce_of(contribution, result, count, reduction, root));
}
rollcall_status rollcall_plan_reduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                     const rollcall_reduction* reduction, int root, const rollcall_collective_options* options,
                                     rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, reduce_of(contribution, result, count, reduction, root));
}

rollcall_status rollcall_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                   const rollcall_reduction* reduction, const rollcall_collective_options* options) {
    return call(communicator, options, allreduce_of(contribution, result, count, reduction));
}
rollcall_status rollcall_start_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                         const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                         rollcall_request** request) {
    return start_call(communicator, options, request, allreduce_of(contribution, result, count, reduction));
}
rollcall_status rollcall_plan_allreduce(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                        rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, allreduce_of(contribution, result, count, reduction));
}

rollcall_status rollcall_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options) {
    return call(communicator, options, reduce_scatter_of(contribution, result, count, reduction));
}
rollcall_status rollcall_start_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result,
                                              uint64_t count, const rollcall_reduction* reduction,
                                              const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, reduce_scatter_of(contribution, result, count, reduction));
}
rollcall_status rollcall_plan_reduce_scatter(const rollcall_communicator* communicator, const void* contribution, void* result,
                                             uint64_t count, const rollcall_reduction* reduction,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, reduce_scatter_of(contribution, result, count, reduction));
}

rollcall_status rollcall_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                              const rollcall_reduction* reduction, const rollcall_collective_options* options) {
    return call(communicator, options, scan_of(contribution, result, count, reduction));
}
rollcall_status rollcall_start_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                    const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                    rollcall_request** request) {
    return start_call(communicator, options, request, scan_of(contribution, result, count, reduction));
}
rollcall_status rollcall_plan_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                   const rollcall_reduction* reduction, const rollcall_collective_options* options,
                                   rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, scan_of(contribution, result, count, reduction));
}

rollcall_status rollcall_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result, uint64_t count,
                                        const rollcall_reduction* reduction, const rollcall_collective_options* options) {
    return call(communicator, options, exclusive_scan_of(contribution, result, count, reduction));
}
rollcall_status rollcall_start_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result,
                                              uint64_t count, const rollcall_reduction* reduction,
                                              const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, exclusive_scan_of(contribution, result, count, reduction));
}
rollcall_status rollcall_plan_exclusive_scan(const rollcall_communicator* communicator, const void* contribution, void* result,
                                             uint64_t count, const rollcall_reduction* reduction,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, exclusive_scan_of(contribution, result, count, reduction));
}

}  // extern "C"
