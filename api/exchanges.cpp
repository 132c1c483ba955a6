/// \file
/// Allgather and alltoall in the C++ and the C interface. Each function is a call of the operation's row in the table of operations.
#include <rollcall/exchanges.hpp>

#include <fmt/format.h>
#include <rollcall/exchanges.h>
#include <rollcall/error.hpp>

#include "api/c_collective.hpp"
#include "api/collective.hpp"

namespace rollcall {
namespace {

using runtime::OperationKind;

Collective allgather_on(const Communicator& communicator, const void* block, void* data, std::uint64_t bytes) {
    return {communicator, OperationKind::allgather, {.contribution = block, .data = data}, bytes, kNoRoot};
}
CollectiveOfBlocks allgather_on(const Communicator& communicator, const void* block, std::uint64_t bytes, void* data,
                                const Blocks& blocks) {
    return {communicator, OperationKind::allgather, {.contribution = block, .data = data}, blocks, bytes, kNoRoot};
}
CollectiveOfBlocks allgather_in_place_on(const Communicator& communicator, void* data, const Blocks& blocks) {
    return {communicator, OperationKind::allgather, data, blocks};
}
Collective alltoall_on(const Communicator& communicator, const void* data, void* result, std::uint64_t bytes) {
    return {communicator, OperationKind::alltoall, {.contribution = data, .data = result}, bytes, kNoRoot};
}
CollectiveOfBlocks alltoall_on(const Communicator& communicator, const void* data, const Blocks& to_send, void* result,
                               const Blocks& to_receive) {
    return {communicator, OperationKind::alltoall, {.contribution = data, .data = result}, to_send, to_receive};
}

}  // namespace

const Communicator& Exchanges::communicator() const noexcept { return static_cast<const Communicator&>(*this); }

void Exchanges::allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const CollectiveOptions& options) const {
    allgather_on(communicator(), block.get(), data.get(), bytes).call(options);
}
Request Exchanges::start_allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const CollectiveOptions& options) const {
    return allgather_on(communicator(), block.get(), data.get(), bytes).start(options);
}
Plan Exchanges::plan_allgather(ConstBytePointer block, BytePointer data, std::uint64_t bytes, const PlanOptions& options) const {
    return allgather_on(communicator(), block.get(), data.get(), bytes).plan(options);
}

void Exchanges::allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks,
                          const CollectiveOptions& options) const {
    allgather_on(communicator(), block.get(), bytes, data.get(), blocks).call(options);
}
Request Exchanges::start_allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks,
                                   const CollectiveOptions& options) const {
    return allgather_on(communicator(), block.get(), bytes, data.get(), blocks).start(options);
}
Plan Exchanges::plan_allgather(ConstBytePointer block, std::uint64_t bytes, BytePointer data, const Blocks& blocks,
                               const PlanOptions& options) const {
    return allgather_on(communicator(), block.get(), bytes, data.get(), blocks).plan(options);
}
void Exchanges::allgather_in_place(void* data, const Blocks& blocks, const CollectiveOptions& options) const {
    allgather_in_place_on(communicator(), data, blocks).call(options);
}
Request Exchanges::start_allgather_in_place(void* data, const Blocks& blocks, const CollectiveOptions& options) const {
    return allgather_in_place_on(communicator(), data, blocks).start(options);
}
Plan Exchanges::plan_allgather_in_place(void* data, const Blocks& blocks, const PlanOptions& options) const {
    return allgather_in_place_on(communicator(), data, blocks).plan(options);
}

void Exchanges::alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const CollectiveOptions& options) const {
    alltoall_on(communicator(), data.get(), result.get(), bytes).call(options);
}
Request Exchanges::start_alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const CollectiveOptions& options) const {
    return alltoall_on(communicator(), data.get(), result.get(), bytes).start(options);
}
Plan Exchanges::plan_alltoall(ConstBytePointer data, BytePointer result, std::uint64_t bytes, const PlanOptions& options) const {
    return alltoall_on(communicator(), data.get(), result.get(), bytes).plan(options);
}

void Exchanges::alltoall(ConstBytePointer data, const Blocks& to_send, BytePointer result, const Blocks& to_receive,
                         const CollectiveOptions& options) const {
    alltoall_on(communicator(), data.get(), to_send, result.get(), to_receive).call(options);
}
Request Exchanges::start_alltoall(ConstBytePointer data, const Blocks& to_send, BytePointer result, const Blocks& to_receive,
                                  const CollectiveOptions& options) const {
    return alltoall_on(communicator(), data.get(), to_send, result.get(), to_receive).start(options);
}
Plan Exchanges::plan_alltoall(ConstBytePointer data, const Blocks& to_send, BytePointer result, const Blocks& to_receive,
                              const PlanOptions& options) const {
    return alltoall_on(communicator(), data.get(), to_send, result.get(), to_receive).plan(options);
}

void Exchanges::check_blocks(std::size_t all, std::size_t one, const char* operation) const {
    rollcall::check_blocks(communicator(), "the data", all, one, operation);
}

std::size_t Exchanges::share(std::size_t all) const { return all / static_cast<std::size_t>(communicator().size()); }

std::size_t Exchanges::own_part(std::size_t all, const char* operation) const {
    const auto ranks = static_cast<std::size_t>(communicator().size());
    if (all % ranks != 0)
        throw Error(ErrorCode::invalid_argument, fmt::format("{} on {}: {} elements cannot be cut into equal blocks for {} ranks: give a "
                                                             "multiple of the number of ranks, or blocks of different sizes",
                                                             operation, communicator().name(), all, ranks));
    return share(all) * static_cast<std::size_t>(communicator().rank());
}

std::size_t Exchanges::block_of_both(std::size_t data, std::size_t result, const char* operation) const {
    own_part(data, operation);
    if (result != data)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} on {}: the result has {} elements, but the data has {}: give the result exactly as many", operation,
                                communicator().name(), result, data));
    return share(data);
}

// --- in C ------------------------------------------------------------------------------------------------------------

namespace c {
namespace {

auto allgather_of(const void* block, void* data, std::uint64_t bytes) {
    return [=](const Communicator& communicator) { return allgather_on(communicator, block, data, bytes); };
}
auto allgather_of(const void* block, std::uint64_t bytes, void* data, const std::uint64_t* counts, const std::uint64_t* offsets) {
    return [=](const Communicator& communicator) {
        return allgather_on(communicator, block, bytes, data, blocks_of(communicator, counts, offsets));
    };
}
auto alltoall_of(const void* data, void* result, std::uint64_t bytes) {
    return [=](const Communicator& communicator) { return alltoall_on(communicator, data, result, bytes); };
}
auto alltoall_of(const void* data, const std::uint64_t* send_counts, const std::uint64_t* send_offsets, void* result,
                 const std::uint64_t* receive_counts, const std::uint64_t* receive_offsets) {
    return [=](const Communicator& communicator) {
        return alltoall_on(communicator, data, blocks_of(communicator, send_counts, send_offsets), result,
                           blocks_of(communicator, receive_counts, receive_offsets));
    };
}

}  // namespace
}  // namespace c
}  // namespace rollcall

using namespace rollcall::c;

extern "C" {

rollcall_status rollcall_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                   const rollcall_collective_options* options) {
    return call(communicator, options, allgather_of(block, data, bytes));
}
rollcall_status rollcall_start_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                         const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, allgather_of(block, data, bytes));
}
rollcall_status rollcall_plan_allgather(const rollcall_communicator* communicator, const void* block, void* data, uint64_t bytes,
                                        const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, allgather_of(block, data, bytes));
}
rollcall_status rollcall_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                          const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options) {
    return call(communicator, options, allgather_of(block, bytes, data, counts, offsets));
}
rollcall_status rollcall_start_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                                const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options,
                                                rollcall_request** request) {
    return start_call(communicator, options, request, allgather_of(block, bytes, data, counts, offsets));
}
rollcall_status rollcall_plan_allgather_blocks(const rollcall_communicator* communicator, const void* block, uint64_t bytes, void* data,
                                               const uint64_t* counts, const uint64_t* offsets, const rollcall_collective_options* options,
                                               rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, allgather_of(block, bytes, data, counts, offsets));
}

rollcall_status rollcall_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                  const rollcall_collective_options* options) {
    return call(communicator, options, alltoall_of(data, result, bytes));
}
rollcall_status rollcall_start_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                        const rollcall_collective_options* options, rollcall_request** request) {
    return start_call(communicator, options, request, alltoall_of(data, result, bytes));
}
rollcall_status rollcall_plan_alltoall(const rollcall_communicator* communicator, const void* data, void* result, uint64_t bytes,
                                       const rollcall_collective_options* options, rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan, alltoall_of(data, result, bytes));
}
rollcall_status rollcall_alltoall_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* send_counts,
                                         const uint64_t* send_offsets, void* result, const uint64_t* receive_counts,
                                         const uint64_t* receive_offsets, const rollcall_collective_options* options) {
    return call(communicator, options, alltoall_of(data, send_counts, send_offsets, result, receive_counts, receive_offsets));
}
rollcall_status rollcall_start_alltoall_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* send_counts,
                                               const uint64_t* send_offsets, void* result, const uint64_t* receive_counts,
                                               const uint64_t* receive_offsets, const rollcall_collective_options* options,
                                               rollcall_request** request) {
    return start_call(communicator, options, request,
                      alltoall_of(data, send_counts, send_offsets, result, receive_counts, receive_offsets));
}
rollcall_status rollcall_plan_alltoall_blocks(const rollcall_communicator* communicator, const void* data, const uint64_t* send_counts,
                                              const uint64_t* send_offsets, void* result, const uint64_t* receive_counts,
                                              const uint64_t* receive_offsets, const rollcall_collective_options* options,
                                              rollcall_predictor predictor, rollcall_plan** plan) {
    return plan_call(communicator, options, predictor, plan,
                     alltoall_of(data, send_counts, send_offsets, result, receive_counts, receive_offsets));
}

}  // extern "C"
