#include "api/collective.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "foundation/reductions.hpp"
#include "runtime/engine/short_exchange.hpp"

namespace rollcall {
namespace {

/// Whether both are the same operator on the same elements. (Functions are not compared, because their states may differ.)
bool are_alike(const Reduction& one, const Reduction& other) {
    return one.operation == other.operation && one.operation != Operator::function && one.type == other.type &&
           one.by_rank == other.by_rank && one.element_bytes == other.element_bytes && one.is_commutative == other.is_commutative;
}

}  // namespace

using collectives::Condition;
using collectives::Operand;
using runtime::Operation;

Communicator::Implementation::Method Communicator::Implementation::method(const collectives::OperationRow& row,
                                                                          const collectives::SelectionInput& input,
                                                                          const CollectiveOptions& options) const {
    Method method{collectives::choose(row, input, options.algorithm, algorithms.of(row.kind), &chosen), 0};
    // If the algorithm does not use the segment size, that size is not part of the call, and ranks need not agree on it.
    const collectives::AlgorithmEntry& entry = *method.selection.entry;
    if (!entry.segmented) return method;
    const std::uint64_t usual = collectives::segment_of(method.selection, input, process->settings().segment_bytes);
    method.segment_bytes = options.segment_bytes.value_or(usual);
    return method;
}

std::string Communicator::Implementation::choose(const collectives::OperationRow& row, const collectives::SelectionInput& input,
                                                 const CollectiveOptions& options, Prepared& prepared) const {
    const Method found = method(row, input, options);
    prepared.algorithm = found.selection.entry;
    prepared.arguments.segment_bytes = found.segment_bytes;
    prepared.call.algorithm = prepared.algorithm->number;
    prepared.call.segment_bytes = std::min(found.segment_bytes, runtime::kLongestSegment);
    return collectives::explain(row, input, found.selection);
}

// If the ranks count different sizes, they may choose different algorithms. The error then names the sizes (Call::counts_others()).
collectives::SelectionInput Communicator::Implementation::selection_input_of_blocks(const runtime::Block* counted) const {
    if (!counted) {
        collectives::SelectionInput unknown = selection_input(collectives::kAnyBytes);
        unknown.has = conditions.without(Condition::equal_blocks);
        return unknown;
    }
    const auto ranks = static_cast<std::uint64_t>(state.group->size);
    std::uint64_t total = 0;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) total += counted[rank].size;
    collectives::SelectionInput input = selection_input(total / ranks);
    input.is_average = true;
    return input;
}

void Communicator::Implementation::call(const Prepared& prepared, const std::optional<Timeout>& timeout, CallRecord* record) const {
    if (record) {
        *record = {};
        record->arrival = monotonic_now();
    }
    const Timeout limit = deadline(timeout);  // first, so that a wrong timeout takes no sequence number
    const std::uint64_t sequence = next_sequence();
    if (prepared.may_end_at_once && !record && ends_at_once(prepared, sequence)) return;
    Operation operation(state, sequence, prepared.call, prepared.algorithm->algorithm, prepared.arguments);
    if (prepared.until_delivered) operation.stay();
    if (record) operation.record();
    run(operation, limit);
    if (!record) return;
    record->exit = monotonic_now();
    record->first_data = operation.first_data();
    make_common(*record);
}

inline bool Communicator::Implementation::ends_at_once(const Prepared& prepared, std::uint64_t sequence) const {
    const runtime::ShortMove move = short_move(prepared);
    return process->lane().run_at_once(
        [&](runtime::Engine& engine, unsigned looks) { return end_at_once(engine, state, sequence, prepared.call, move, looks); });
}

Request Communicator::Implementation::start(const Prepared& prepared, const std::optional<Timeout>& timeout) const {
    auto request = std::make_unique<Request::Implementation>(shared_from_this());
    request->operation.emplace(state, next_sequence(), prepared.call, prepared.algorithm->algorithm, prepared.arguments);
    if (prepared.until_delivered) request->operation->stay();
    request->limit(timeout);
    request->lane().start(*request->operation);
    return Request(std::move(request));
}

// --- any of them ------------------------------------------------------------------------------------------------------

Collective::Collective(const Communicator& communicator, runtime::OperationKind kind, const collectives::Buffers& buffers,
                       std::uint64_t count, const Reduction& reduction, int root)
    : Collective(communicator, kind, buffers, count, root) {
    reduction_ = reduction;
    bytes_ = bytes_of(count, reduction);
}

void Collective::check_reduction(const char* form) const {
    std::string wrong = what_is_wrong(reduction_);
    if (wrong.empty() && bytes_ % reduction_.element_bytes != 0)
        wrong = fmt::format("{} bytes are not a whole number of elements of {} bytes", bytes_, reduction_.element_bytes);
    if (!wrong.empty())
        throw Error(ErrorCode::invalid_argument, fmt::format("{} on {}: {}", caller(form), here().state.group->name, wrong));
}

[[gnu::always_inline]] inline collectives::SelectionInput Collective::selection_input(const Communicator::Implementation& on,
                                                                                      bool is_planned, const Combiner& combiner) const {
    collectives::SelectionInput input =
        row_.has_own_sizes && bytes_ == kOwnSizes ? on.selection_input_of_blocks() : on.selection_input(bytes_);
    if (is_planned) input.has = input.has.without(Condition::called);
    if (row_.combines) input.has = collectives::conditions_of(combiner, input.has);
    return input;
}

std::string Collective::caller(const char* form) const { return fmt::format("{}{}", form, runtime::name(row_.kind)); }

void Collective::refuse_size(const char* form) const {
    const Communicator::Implementation& here = communicator_.checked();
    const bool blocks = row_.in_blocks;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} on {}: {}{} bytes are more than a buffer can have: {} at most", caller(form), here.state.group->name,
                            blocks ? fmt::format("{} blocks of ", here.state.group->size) : "", bytes_, collectives::kMostBytes));
}

// All ranks check the same total, whichever buffers they have. If only some ranks refused the call, the others would wait for them.
std::uint64_t Collective::checked_total(const char* form) const {
    std::uint64_t all = 0;
    if (__builtin_mul_overflow(bytes_, row_.in_blocks ? static_cast<std::uint64_t>(here().state.group->size) : 1, &all) ||
        all > collectives::kMostBytes)
        refuse_size(form);
    return all;
}

void Collective::refuse_null(const runtime::Arguments& given, const char* form) const {
    const auto check = [&](const auto& argument, const char* parameter) {
        if (argument.data || argument.size == 0) return;
        throw Error(ErrorCode::invalid_argument, fmt::format("{} on {}: `{}`, of {} bytes, is a null pointer", caller(form),
                                                             here().state.group->name, parameter, argument.size));
    };
    check(given.contribution, row_.combines ? "contribution" : row_.personalized ? "data" : "block");
    check(given.data, row_.combines || row_.personalized ? "result" : "data");
    check(given.result, "block");
}

[[gnu::always_inline]] inline int Collective::check(const CollectiveOptions& options, const char* form) const {
    const Communicator::Implementation& here = communicator_.checked();
    const int root = row_.has_root ? root_ : -1;
    here.check_alive();
    if (options.timeout) checked_timeout(*options.timeout);
    if (row_.has_root && (root < 0 || root >= here.state.group->size)) [[unlikely]]
        here.refuse_rank(root, caller(form).c_str(), "root");
    return root;
}

[[gnu::always_inline]] inline void Collective::check_buffers(const runtime::Arguments& given, const char* form) const {
    const auto is_missing = [](const auto& argument) { return !argument.data && argument.size > 0; };
    if (is_missing(given.contribution) || is_missing(given.data) || is_missing(given.result)) [[unlikely]]
        refuse_null(given, form);
    if (row_.personalized && given.contribution.data && given.contribution.data == given.data.data && given.contribution.size > 0 &&
        given.data.size > 0)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} on {}: the data received would overwrite the data to send: give the result a buffer of its own",
                                caller(form), here().state.group->name));
    if (row_.combines && row_.in_blocks && overwrites_others(given)) [[unlikely]]
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} on {}: the result would overwrite elements that are still to be combined: give it this rank's place in "
                                "the contribution, or a buffer of its own",
                                caller(form), here().state.group->name));
}

// Whether the place of this rank's result is in the contribution, but not where its own block is.
bool Collective::overwrites_others(const runtime::Arguments& given) const {
    const auto address = [](const void* data) { return reinterpret_cast<std::uintptr_t>(data); };
    const std::uintptr_t begin = address(given.contribution.data), result = address(given.data.data);
    return given.data.size > 0 && result < begin + given.contribution.size && begin < result + given.data.size &&
           result != begin + static_cast<std::uint64_t>(here().state.rank) * given.data.size;
}

// `is_planned`: its callers may announce themselves before they arrive.
Collective::Prepared Collective::prepare(const CollectiveOptions& options, const char* form, int root, bool is_planned) const {
    const Communicator::Implementation& here = *communicator_.implementation_;
    const std::uint64_t all = checked_total(form);
    Prepared prepared;
    prepared.arguments = collectives::arguments_of(row_, buffers_, bytes_, all, here.state.rank == root);
    check_buffers(prepared.arguments, form);
    if (row_.combines) {
        check_reduction(form);
        prepared.arguments.combiner = collectives::combiner_of(reduction_);
    }
    const auto method = here.method(row_, selection_input(here, is_planned, prepared.arguments.combiner), options);
    prepared.algorithm = method.selection.entry;
    prepared.arguments.segment_bytes = method.segment_bytes;
    prepared.call = collectives::make_call(*prepared.algorithm, root, bytes_, method.segment_bytes, reduction_);
    prepared.until_delivered = options.until_delivered;
    prepared.may_end_at_once = prepared.algorithm->short_move && runtime::ShortExchange::suits(here.state.group->size, bytes_) &&
                               here.short_move(prepared).does != runtime::ShortMove::Does::more;
    return prepared;
}

[[gnu::always_inline]] inline const Collective::Prepared* Collective::recall(const CollectiveOptions& options, const char* form,
                                                                             int root) const {
    const Communicator::Implementation& here = *communicator_.implementation_;
    const bool is_root = here.state.rank == root;
    auto& [last, reduction] = here.last_calls[index_of(row_.kind)][is_root];
    if (last.call.bytes != bytes_ || !last.algorithm || !options.algorithm.empty() || options.segment_bytes) return nullptr;
    if (row_.combines && !are_alike(reduction, reduction_)) return nullptr;
    last.call.root = root;
    collectives::give_addresses(last.arguments, row_, buffers_, is_root);
    check_buffers(last.arguments, form);
    last.until_delivered = options.until_delivered;
    return &last;
}

Collective::Prepared Collective::prepare_and_remember(const CollectiveOptions& options, const char* form, int root) const {
    const Prepared prepared = prepare(options, form, root);
    const Communicator::Implementation& here = *communicator_.implementation_;
    if (options.algorithm.empty() && !options.segment_bytes)
        here.last_calls[index_of(row_.kind)][here.state.rank == root] = {prepared, reduction_};
    return prepared;
}

void Collective::call(const CollectiveOptions& options) const {
    const int root = check(options, "");
    const Communicator::Implementation& here = *communicator_.implementation_;
    if (const Prepared* const last = recall(options, "", root)) [[likely]]
        return here.call(*last, options.timeout, options.record);
    here.call(prepare_and_remember(options, "", root), options.timeout, options.record);
}

Request Collective::start(const CollectiveOptions& options) const {
    const int root = check(options, "start_");
    const Communicator::Implementation& here = *communicator_.implementation_;
    if (const Prepared* const last = recall(options, "start_", root)) return here.start(*last, options.timeout);
    return here.start(prepare_and_remember(options, "start_", root), options.timeout);
}

Plan Collective::plan(const PlanOptions& options) const {
    const CollectiveOptions how{options.algorithm, options.segment_bytes, {}, nullptr};
    const Prepared prepared = prepare(how, "plan_", check(how, "plan_"), true);
    return here().plan(prepared, options, [&](const Communicator::Implementation& on, Prepared& planned) {
        return on.choose(row_, selection_input(on, true, planned.arguments.combiner), how, planned);
    });
}

std::string Collective::explain(const CollectiveOptions& options, bool is_planned) const {
    const Communicator::Implementation& here = communicator_.checked();
    static_assert(kOwnSizes == runtime::kManySizes);
    if (!row_.has_own_sizes || bytes_ != kOwnSizes) checked_total("explain() of ");
    const collectives::SelectionInput input =
        selection_input(here, is_planned, row_.combines ? collectives::combiner_of(reduction_) : Combiner());
    std::string text = collectives::explain(row_, input, here.method(row_, input, options).selection);
    if (!input.has.contains(Condition::equal_blocks) && row_.kind == runtime::OperationKind::allgather)
        text += "; a call chooses by the average size of its blocks: ask for that size";
    return text;
}

// --- of blocks of different sizes ------------------------------------------------------------------------------------------

std::uint64_t CollectiveOfBlocks::prepare_one_list(Prepared& prepared, bool is_root, const std::string& caller) const {
    const Communicator::Implementation& here = call_.here();
    const auto& row = call_.row_;
    const int ranks = here.state.group->size, rank = here.state.rank;
    LaidOut all;
    for (const collectives::Slot slot : collectives::kSlots) {
        const Operand& operand = row.operand(slot);
        if (operand.extent == collectives::Extent::blocks && operand.is_had(is_root))
            all = lay_out(blocks_, ranks, rank, is_in_place_ ? std::nullopt : std::optional(call_.bytes_), operand.is_written(is_root),
                          caller);
    }
    collectives::Buffers buffers = call_.buffers_;
    std::uint64_t bytes = call_.bytes_;
    if (is_in_place_) {
        const runtime::Block& own = all.blocks[static_cast<std::size_t>(rank)];
        bytes = own.size;
        buffers.contribution = static_cast<std::byte*>(buffers.data) + (buffers.data ? own.offset : 0);
    }
    prepared.arguments = collectives::arguments_of(row, buffers, bytes, all.end, is_root);
    prepared.layout = std::move(all.blocks);
    prepared.arguments.blocks = prepared.layout.get();
    if (row.has_root) return prepared.layout ? runtime::kManySizes : bytes;
    runtime::SumOfSizes counted;
    for (int each = 0; each < ranks; ++each) counted.add(each, prepared.layout[static_cast<std::size_t>(each)].size);
    return counted.sum();
}

std::uint64_t CollectiveOfBlocks::prepare_two_lists(Prepared& prepared, const std::string& caller) const {
    const Communicator::Implementation& here = call_.here();
    prepared.arguments = collectives::arguments_of(call_.row_, call_.buffers_, 0, 0, false);
    prepared.layout = lay_out_both(to_send_, blocks_, here.state.group->size, here.state.rank, caller, prepared.arguments);
    return runtime::kManySizes;
}

collectives::SelectionInput CollectiveOfBlocks::selection_input(const Communicator::Implementation& on,
                                                                const Collective::Prepared& prepared, bool is_planned) const {
    const bool is_counted_by_all = !call_.row_.has_root && !call_.row_.personalized;
    collectives::SelectionInput input = on.selection_input_of_blocks(is_counted_by_all ? prepared.arguments.blocks : nullptr);
    if (is_planned) input.has = input.has.without(Condition::called);
    return input;
}

CollectiveOfBlocks::Prepared CollectiveOfBlocks::prepare(const CollectiveOptions& options, const char* form, bool is_planned) const {
    const int root = call_.check(options, form);
    const Communicator::Implementation& here = call_.here();
    if (call_.bytes_ > collectives::kMostBytes) here.refuse_buffer(call_.bytes_, call_.caller(form).c_str());
    Prepared prepared;
    const std::string caller = fmt::format("{} on {}", call_.caller(form), here.state.group->name);
    const std::uint64_t sizes =
        call_.row_.personalized ? prepare_two_lists(prepared, caller) : prepare_one_list(prepared, here.state.rank == root, caller);
    call_.check_buffers(prepared.arguments, form);

    const auto method = here.method(call_.row_, selection_input(here, prepared, is_planned), options);
    prepared.algorithm = method.selection.entry;
    prepared.arguments.segment_bytes = method.segment_bytes;
    prepared.call = collectives::make_call(*prepared.algorithm, root, sizes, method.segment_bytes);
    prepared.call.own_sizes = true;
    prepared.until_delivered = options.until_delivered;
    return prepared;
}

void CollectiveOfBlocks::call(const CollectiveOptions& options) const {
    const Prepared prepared = prepare(options, "");
    call_.here().call(prepared, options.timeout, options.record);
}

Request CollectiveOfBlocks::start(const CollectiveOptions& options) const {
    Prepared prepared = prepare(options, "start_");
    Request request = call_.here().start(prepared, options.timeout);
    Communicator::Implementation::keep(request, std::move(prepared.layout));
    return request;
}

Plan CollectiveOfBlocks::plan(const PlanOptions& options) const {
    const CollectiveOptions how{options.algorithm, options.segment_bytes, {}, nullptr};
    Prepared prepared = prepare(how, "plan_", true);
    Plan plan = call_.here().plan(prepared, options, [&](const Communicator::Implementation& on, Collective::Prepared& planned) {
        return on.choose(call_.row_, selection_input(on, planned, true), how, planned);
    });
    Communicator::Implementation::keep(plan, std::move(prepared.layout));
    return plan;
}

void Communicator::Implementation::keep(Request& request, Layout layout) { request.implementation_->layout = std::move(layout); }

void check_blocks(const Communicator& on, const char* what, std::size_t all, std::size_t one, const char* operation) {
    const std::size_t expected = one * static_cast<std::size_t>(on.size());
    if (all == expected) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} on {}: {} has {} elements, but {} blocks of {} are {}: give it exactly as many", operation, on.name(), what,
                            all, on.size(), one, expected));
}

}  // namespace rollcall
