/// \file
/// The collective operations of the C++ and the C interface, except those that combine elements (reductions.cpp). Each is a call of its row
/// in the table of operations. A function returns when this rank's part is done, unless its name says that it starts or plans the
/// operation.
#include <cstdio>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "api/c_collective.hpp"
#include "api/collective.hpp"

namespace rollcall {
namespace {

using runtime::OperationKind;

Collective barrier_on(const Communicator& communicator) { return {communicator, OperationKind::barrier, {}, 0, kNoRoot}; }
Collective broadcast_on(const Communicator& communicator, void* data, std::uint64_t bytes, int root) {
    return {communicator, OperationKind::broadcast, {.data = data}, bytes, root};
}
Collective scatter_on(const Communicator& communicator, const void* data, void* block, std::uint64_t bytes, int root) {
    return {communicator, OperationKind::scatter, {.data = const_cast<void*>(data), .result = block}, bytes, root};
}
Collective gather_on(const Communicator& communicator, const void* block, void* data, std::uint64_t bytes, int root) {
    return {communicator, OperationKind::gather, {.contribution = block, .data = data}, bytes, root};
}
CollectiveOfBlocks scatter_on(const Communicator& communicator, const void* data, const Blocks& blocks, void* block, std::uint64_t bytes,
                              int root) {
    return {communicator, OperationKind::scatter, {.data = const_cast<void*>(data), .result = block}, blocks, bytes, root};
}
CollectiveOfBlocks gather_on(const Communicator& communicator, const void* block, std::uint64_t bytes, void* data, const Blocks& blocks,
                             int root) {
    return {communicator, OperationKind::gather, {.contribution = block, .data = data}, blocks, bytes, root};
}

}  // namespace

void Communicator::barrier(const CollectiveOptions& options) const { barrier_on(*this).call(options); }
void Communicator::barrier(Timeout timeout) const { barrier({.algorithm = {}, .segment_bytes = {}, .timeout = timeout}); }
Request Communicator::start_barrier(const CollectiveOptions& options) const { return barrier_on(*this).start(options); }
Plan Communicator::plan_barrier(const PlanOptions& options) const { return barrier_on(*this).plan(options); }

void Communicator::broadcast(BytePointer data, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    broadcast_on(*this, data.get(), bytes, root).call(options);
}
Request Communicator::start_broadcast(BytePointer data, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    return broadcast_on(*this, data.get(), bytes, root).start(options);
}
Plan Communicator::plan_broadcast(BytePointer data, std::uint64_t bytes, int root, const PlanOptions& options) const {
    return broadcast_on(*this, data.get(), bytes, root).plan(options);
}

const Communicator& DistributingOperations::communicator() const noexcept { return static_cast<const Communicator&>(*this); }

void DistributingOperations::scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root,
                                     const CollectiveOptions& options) const {
    scatter_on(communicator(), data.get(), block.get(), bytes, root).call(options);
}
Request DistributingOperations::start_scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root,
                                              const CollectiveOptions& options) const {
    return scatter_on(communicator(), data.get(), block.get(), bytes, root).start(options);
}
Plan DistributingOperations::plan_scatter(ConstBytePointer data, BytePointer block, std::uint64_t bytes, int root,
                                          const PlanOptions& options) const {
    return scatter_on(communicator(), data.get(), block.get(), bytes, root).plan(options);
}

void DistributingOperations::scatter(ConstBytePointer data, const Blocks& blocks, BytePointer block, std::uint64_t bytes, int root,
                                     const CollectiveOptions& options) const {
    scatter_on(communicator(), data.get(), blocks, block.get(), bytes, root).call(options);
}
Request DistributingOperations::start_scatter(ConstBytePointer data, const Blocks& blocks, BytePointer block, std::uint64_t bytes, int root,
                                              const CollectiveOptions& options) const {
    return scatter_on(communicator(), data.get(), blocks, block.get(), bytes, root).start(options);
}
Plan DistributingOperations::plan_scatter(ConstBytePointer data, const Blocks& blocks, BytePointer block, std::uint64_t bytes, int root,
                                          const PlanOptions& options) const {
    return scatter_on(communicator(), data.get(), blocks, block.get(), bytes, root).plan(options);
}

void DistributingOperations::gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root,
                                    const CollectiveOptions& options) const {
    gather_on(communicator(), block.get(), data.get(), bytes, root).call(options);
}
Request DistributingOperations::start_gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root,
                                             const CollectiveOptions& options) const {
    return gather_on(communicator(), block.get(), data.get(), bytes, root).start(options);
}
Plan DistributingOperations::plan_gather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, int root,
                                         const PlanOptions& options) const {
    return gather_on(communicator(), block.get(), data.get(), bytes, root).plan(options);
}

void DistributingOperations::gather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks, int root,
                                    const CollectiveOptions& options) const {
    gather_on(communicator(), block.get(), bytes, data.get(), blocks, root).call(options);
}
Request DistributingOperations::start_gather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks, int root,
                                             const CollectiveOptions& options) const {
    return gather_on(communicator(), block.get(), bytes, data.get(), blocks, root).start(options);
}
Plan DistributingOperations::plan_gather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks, int root,
                                         const PlanOptions& options) const {
    return gather_on(communicator(), block.get(), bytes, data.get(), blocks, root).plan(options);
}

std::string Communicator::explain(std::string_view operation, std::uint64_t bytes, const CollectiveOptions& options) const {
    const collectives::OperationRow* row = collectives::find_operation(operation);
    if (row) return Collective(*this, row->kind, {}, bytes, 0).explain(options);
    std::string known;
    for (const collectives::OperationRow& one : collectives::operations())
        known += fmt::format("{}{}", known.empty() ? "" : ", ", runtime::name(one.kind));
    throw Error(ErrorCode::invalid_argument, fmt::format("explain: there is no operation '{}': there are {}", operation, known));
}

void DistributingOperations::check_blocks(std::size_t all, std::size_t one, int root, const char* operation) const {
    if (communicator().rank() == root) rollcall::check_blocks(communicator(), "the root's data", all, one, operation);
}

// --- in C ------------------------------------------------------------------------------------------------------------

namespace c {
namespace {

auto broadcast_of(void* data, std::uint64_t bytes, int root) {
    return [=](const Communicator& communicator) { return broadcast_on(communicator, data, bytes, root); };
}
auto scatter_of(const void* data, void* block, std::uint64_t bytes, int root) {
    return [=](const Communicator& communicator) { return scatter_on(communicator, data, block, bytes, root); };
}
auto scatter_of(const void* data, const std::uint64_t* counts, const std::uint64_t* offsets, void* block, std::uint64_t bytes, int root) {
    return [=](const Communicator& communicator) {
        return scatter_on(communicator, data, blocks_of(communicator, counts, offsets), block, bytes, root);
    };
}
auto gather_of(const void* block, std::uint64_t bytes, void* data, const std::uint64_t* counts, const std::uint64_t* offsets, int root) {
    return [=](const Communicator& communicator) {
        return gather_on(communicator, block, bytes, data, blocks_of(communicator, counts, offsets), root);
    };
}
auto gather_of(const void* block, void* data, std::uint64_t bytes, int root) {
    return [=](const Communicator& communicator) { return gather_on(communicator, block, data, bytes, root); };
}

}  // namespace
}  // namespace c
}  // namespace rollcall

using namespace rollcall::c;

extern "C" {

rollcall_status rollcall_barrier(const rollcall_communicator* communicator, int64_t timeout) {
    rollcall_collective_options options = ROLLCALL_COLLECTIVE_DEFAULTS;
    options.timeout = timeout;
    return call(communicator, &options, &rollcall::barrier_on);
}
rollcall_status rollcall_start_barrier(const rollcall_communicator* communicator, const rollcall_collective_options* options,
                                       rollcall_request** request) {
    return start_call(communicator, options, request, &rollcall::barrier_on);
}
rollcall_status rollcall_plan_barrier(const rollcall_communicator* communicator, const rollcall_collective_options* options,
                                      rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, &rollcall::barrier_on);
}

rollcall_status rollcall_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                   const rollcall_collective_options* options) {
    return call(communicator, options, broadcast_of(data, bytes, root));
}
rollcall_status rollcall_start_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                         const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, broadcast_of(data, bytes, root));
}
rollcall_status rollcall_plan_broadcast(const rollcall_communicator* communicator, void* data, uint64_t bytes, int root,
                                        const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, broadcast_of(data, bytes, root));
}

rollcall_status rollcall_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                 const rollcall_collective_options* options) {
    return call(communicator, options, scatter_of(data, block, bytes, root));
}
rollcall_status rollcall_start_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                       const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, scatter_of(data, block, bytes, root));
}
rollcall_status rollcall_plan_scatter(const rollcall_communicator* communicator, const void* data, void* block, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, scatter_of(data, block, bytes, root));
}

rollcall_status rollcall_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                const rollcall_collective_options* options) {
    return call(communicator, options, gather_of(block, data, bytes, root));
}
rollcall_status rollcall_start_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                      const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, gather_of(block, data, bytes, root));
}
rollcall_status rollcall_plan_gather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes, int root,
                                     const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, gather_of(block, data, bytes, root));
}

rollcall_status rollcall_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                        const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                        const rollcall_collective_options* options) {
    return call(communicator, options, scatter_of(data, counts, offsets, block, bytes, root));
}
rollcall_status rollcall_start_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                              const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                              const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, scatter_of(data, counts, offsets, block, bytes, root));
}
rollcall_status rollcall_plan_scatter_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* counts,
                                             const uint64_t* offsets, void* block, uint64_t bytes, int root,
                                             const rollcall_collective_options* options, rollcall_predictor predictor,
                                             rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, scatter_of(data, counts, offsets, block, bytes, root));
}
rollcall_status rollcall_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                       const uint64_t* counts, const uint64_t* offsets, int root,
                                       const rollcall_collective_options* options) {
    return call(communicator, options, gather_of(block, bytes, data, counts, offsets, root));
}
rollcall_status rollcall_start_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                             const uint64_t* counts, const uint64_t* offsets, int root,
                                             const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, gather_of(block, bytes, data, counts, offsets, root));
}
rollcall_status rollcall_plan_gather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                            const uint64_t* counts, const uint64_t* offsets, int root,
                                            const rollcall_collective_options* options, rollcall_predictor predictor,
                                            rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, gather_of(block, bytes, data, counts, offsets, root));
}

rollcall_status rollcall_explain(const rollcall_communicator* communicator, const char* operation, uint64_t bytes,
                                 const rollcall_collective_options* options, char* text, size_t capacity) {
    return guarded([&] {
        if (capacity) checked(text, "the place for the text");
        std::snprintf(text, capacity, "%s",
                      checked(communicator).explain(&checked(operation, "the operation's name"), bytes, options_of(options)).c_str());
    });
}

}  // extern "C"
