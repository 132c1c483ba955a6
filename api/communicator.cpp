#include <rollcall/communicator.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"
#include "collectives/exchange.hpp"

namespace rollcall {
namespace {

using runtime::Call;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Transfer;

/// A communicator that is being made: what its other ranks send before it is known here is kept for it.
class Expected {
  public:
    explicit Expected(runtime::Lane& lane) : lane_(lane) {
        lane_.as_owner([&](runtime::Engine& engine) { number_ = engine.expect_communicator(); });
    }
    ~Expected() {
        lane_.as_owner([&](runtime::Engine& engine) { engine.stop_expecting(number_); });
    }
    Expected(const Expected&) = delete;
    Expected& operator=(const Expected&) = delete;
    /// What this rank brings for the communicator's id.
    std::uint64_t number() const { return number_; }

  private:
    runtime::Lane& lane_;
    std::uint64_t number_ = 0;
};

}  // namespace

Communicator::Implementation::Implementation(std::shared_ptr<runtime::Process> its_process, std::shared_ptr<const runtime::Group> group,
                                             int rank, std::uint64_t its_first_slot, const ChosenAlgorithms& its_algorithms)
    : process(std::move(its_process)), first_slot(its_first_slot), algorithms(its_algorithms), state(std::move(group), rank) {
    process->lane().as_owner([&](runtime::Engine& engine) { engine.add(state); });
}

Communicator::Implementation::~Implementation() {
    process->lane().as_owner([&](runtime::Engine& engine) { engine.remove(state); });
    if (first_slot != runtime::kNoSlots) process->slots().give_back(first_slot);
}

collectives::Situation Communicator::Implementation::situation(std::uint64_t bytes) const {
    return {.bytes = bytes, .ranks = state.group->size, .landing = process->settings().landing_bytes > 0};
}

Communicator::Implementation::Method Communicator::Implementation::broadcast_method(std::uint64_t bytes,
                                                                                    const BroadcastOptions& options) const {
    Method method{algorithms.broadcast, "it was asked for by ROLLCALL_BROADCAST", 0};
    if (!options.algorithm.empty() && options.algorithm != "auto") {
        method.entry = &collectives::find_algorithm(OperationKind::broadcast, options.algorithm);
        method.why = "it was asked for";
    } else if (!method.entry || options.algorithm == "auto") {
        const auto selection = collectives::select(OperationKind::broadcast, situation(bytes));
        method.entry = selection.entry;
        method.why = selection.why;
    }
    // A size that the algorithm does not use is no part of the call: ranks need not agree on it.
    if (!method.entry->segmented) return method;
    if (options.segment_bytes)
        method.segment_bytes = *options.segment_bytes;
    else if (!method.entry->whole_by_default)
        method.segment_bytes = process->settings().segment_bytes;
    return method;
}

Communicator::Implementation::Method Communicator::Implementation::barrier_method() const {
    if (algorithms.barrier) return {algorithms.barrier, "it was asked for by ROLLCALL_BARRIER", 0};
    const auto selection = collectives::select(OperationKind::barrier, situation(0));
    return {selection.entry, selection.why, 0};
}

Communicator::Implementation::Prepared Communicator::Implementation::prepare_broadcast(void* data, std::uint64_t bytes, int root,
                                                                                       const BroadcastOptions& options,
                                                                                       const char* operation) const {
    check_alive();
    check_rank(root, operation, "root");
    check_buffer(data, bytes, operation);
    const Method method = broadcast_method(bytes, options);
    runtime::Arguments arguments;
    arguments.data = {data, bytes};
    arguments.segment_bytes = method.segment_bytes;
    return {collectives::make_call(*method.entry, root, bytes, method.segment_bytes), method.entry->algorithm, arguments};
}

Communicator::Implementation::Prepared Communicator::Implementation::prepare_barrier() const {
    check_alive();
    const Method method = barrier_method();
    return {collectives::make_call(*method.entry, -1, 0, 0), method.entry->algorithm, {}};
}

Request Communicator::Implementation::start(const Prepared& prepared) const {
    auto request = std::make_unique<Request::Implementation>(shared_from_this());
    request->operation.emplace(state, next_sequence(), prepared.call, prepared.algorithm, prepared.arguments);
    request->lane().start(*request->operation);
    return Request(std::move(request));
}

void Communicator::Implementation::check_alive() const {
    if (process->finalized()) throw Error(ErrorCode::state, "the job was finalized: communicate before Job::finalize()");
}

void Communicator::Implementation::check_rank(int rank, const char* operation, const char* role) const {
    if (rank >= 0 && rank < state.group->size) return;
    throw Error(ErrorCode::invalid_argument, fmt::format("{} on {}: {} {} is out of range: the communicator has ranks 0 to {}", operation,
                                                         state.group->name, role, rank, state.group->size - 1));
}

void Communicator::Implementation::check_buffer(const void* data, std::uint64_t bytes, const char* operation) {
    if (data || bytes == 0) return;
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: the buffer of {} bytes is a null pointer", operation, bytes));
}

Timeout Communicator::Implementation::deadline(const std::optional<Timeout>& timeout) const {
    if (timeout) return *timeout;
    return process->settings().timeout ? Timeout(process->settings().timeout) : kForever;
}

std::string Communicator::Implementation::describe(const Transfer& transfer) const {
    const bool sends = transfer.direction == Transfer::Direction::send;
    const runtime::Group& group = *state.group;
    int peer = transfer.peer();
    if (!group.world.empty()) peer = static_cast<int>(std::find(group.world.begin(), group.world.end(), peer) - group.world.begin());
    return fmt::format("{} {} bytes with tag {} {} rank {} of {}", sends ? "send of" : "receive of", transfer.buffer.size, transfer.key.tag,
                       sends ? "to" : "from", peer, group.name);
}

Error timeout_error(const runtime::Process& process, const std::string& what, Timeout timeout) {
    return Error(ErrorCode::timeout, fmt::format("{}: {} did not end within its deadline of {}", process.name_of(process.place().rank),
                                                 what, runtime::format_duration(static_cast<double>(timeout.count()) * 1e-9)));
}

void Communicator::Implementation::run(Operation& operation, Timeout timeout) const {
    runtime::Lane& lane = process->lane();
    if (!lane.run(operation, timeout)) lane.abandon(operation, timeout_error(*process, operation.describe(), timeout));
    if (operation.error()) throw Error(*operation.error());
}

void Communicator::Implementation::run(Transfer& transfer, Timeout timeout) const {
    runtime::Lane& lane = process->lane();
    if (!lane.run(transfer, timeout)) lane.abandon(transfer, timeout_error(*process, describe(transfer), timeout));
    if (!transfer.error()) return;
    const Error& error = *transfer.error();
    if (error.code() == ErrorCode::timeout) throw Error(error);
    throw Error(error.code(), fmt::format("{}: {}", describe(transfer), error.what()), error.failed_rank());
}

template <class Record>
std::vector<Record> Communicator::Implementation::exchange(const Record& mine, OperationKind kind) const {
    std::vector<Record> all(static_cast<std::size_t>(state.group->size));
    runtime::Arguments arguments;
    arguments.data = {all.data(), all.size() * sizeof(Record)};
    arguments.contribution = {&mine, sizeof mine};
    Call call;
    call.kind = kind;
    call.bytes = sizeof mine;
    Operation operation(state, next_sequence(), call, &collectives::exchange, arguments);
    run(operation, deadline({}));
    return all;
}

// --- the handle ------------------------------------------------------------------------------------------------------

Communicator::Communicator() = default;
Communicator::~Communicator() = default;
Communicator::Communicator(const Communicator&) = default;
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(const Communicator&) = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::Communicator(std::shared_ptr<Implementation> implementation) noexcept : implementation_(std::move(implementation)) {}

const Communicator::Implementation& Communicator::checked() const {
    if (!implementation_) throw Error(ErrorCode::state, "this communicator is null: the rank has no part in it");
    return *implementation_;
}

int Communicator::rank() const { return checked().state.rank; }
int Communicator::size() const { return checked().state.group->size; }
const std::string& Communicator::name() const { return checked().state.group->name; }
int Communicator::world_rank(int rank) const {
    checked().check_rank(rank, "world_rank", "rank");
    return implementation_->state.group->world_rank(rank);
}

void Communicator::send(const void* data, std::uint64_t bytes, int to, Tag tag, std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    here.check_alive();
    here.check_rank(to, "send", "target");
    Implementation::check_buffer(data, bytes, "send");
    Transfer transfer(Transfer::Direction::send, here.state.group->world_rank(to), here.state.group->id, tag,
                      {const_cast<void*>(data), bytes});
    here.run(transfer, here.deadline(timeout));
}

Received Communicator::receive(void* data, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    here.check_alive();
    here.check_rank(from, "receive", "source");
    Implementation::check_buffer(data, bytes, "receive");
    Transfer transfer(Transfer::Direction::receive, here.state.group->world_rank(from), here.state.group->id, tag, {data, bytes});
    here.run(transfer, here.deadline(timeout));
    return {transfer.received};
}

Request Communicator::start_send(const void* data, std::uint64_t bytes, int to, Tag tag) const {
    checked().check_alive();
    implementation_->check_rank(to, "start_send", "target");
    Implementation::check_buffer(data, bytes, "start_send");
    auto request = std::make_unique<Request::Implementation>(implementation_);
    const runtime::Group& group = *implementation_->state.group;
    request->transfer.emplace(Transfer::Direction::send, group.world_rank(to), group.id, tag,
                              transport::Bytes{const_cast<void*>(data), bytes});
    request->lane().start(*request->transfer);
    return Request(std::move(request));
}

Request Communicator::start_receive(void* data, std::uint64_t bytes, int from, Tag tag) const {
    checked().check_alive();
    implementation_->check_rank(from, "start_receive", "source");
    Implementation::check_buffer(data, bytes, "start_receive");
    auto request = std::make_unique<Request::Implementation>(implementation_);
    const runtime::Group& group = *implementation_->state.group;
    request->transfer.emplace(Transfer::Direction::receive, group.world_rank(from), group.id, tag, transport::Bytes{data, bytes});
    request->lane().start(*request->transfer);
    return Request(std::move(request));
}

void Communicator::barrier(std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    const auto [call, algorithm, arguments] = here.prepare_barrier();
    Operation operation(here.state, here.next_sequence(), call, algorithm, arguments);
    here.run(operation, here.deadline(timeout));
}

Request Communicator::start_barrier() const {
    const Implementation& here = checked();
    return here.start(here.prepare_barrier());
}

void Communicator::broadcast(void* data, std::uint64_t bytes, int root, const BroadcastOptions& options) const {
    const Implementation& here = checked();
    const auto [call, algorithm, arguments] = here.prepare_broadcast(data, bytes, root, options, "broadcast");
    if (options.record) options.record->arrival = runtime::monotonic_now();
    Operation operation(here.state, here.next_sequence(), call, algorithm, arguments);
    here.run(operation, here.deadline(options.timeout));
    if (options.record) {
        options.record->exit = runtime::monotonic_now();
        options.record->first_data = operation.first_data();
    }
}

Request Communicator::start_broadcast(void* data, std::uint64_t bytes, int root, const BroadcastOptions& options) const {
    const Implementation& here = checked();
    return here.start(here.prepare_broadcast(data, bytes, root, options, "start_broadcast"));
}

std::string Communicator::explain_broadcast(std::uint64_t bytes, const BroadcastOptions& options) const {
    const auto method = checked().broadcast_method(bytes, options);
    return collectives::explain(OperationKind::broadcast, implementation_->situation(bytes), {method.entry, method.why});
}

// --- making communicators ----------------------------------------------------------------------------------------------

Communicator Communicator::Implementation::divide(int color, int key, OperationKind kind) const {
    check_alive();
    struct Choice {
        std::int32_t color, key;
        std::uint64_t number;
    };
    const std::uint64_t sequence = state.next_sequence.load(std::memory_order_relaxed);
    const Expected expected(process->lane());
    const auto choices = exchange(Choice{color, key, expected.number()}, kind);

    std::vector<int> members;  // ranks of this communicator
    std::uint64_t id = 0;      // as Engine::expect_communicator() says
    for (int rank = 0; rank < state.group->size; ++rank) {
        const Choice& choice = choices[static_cast<std::size_t>(rank)];
        if (choice.color != color) continue;
        members.push_back(rank);
        id = std::max(id, choice.number);
    }
    std::stable_sort(members.begin(), members.end(), [&](int left, int right) {
        return choices[static_cast<std::size_t>(left)].key < choices[static_cast<std::size_t>(right)].key;
    });

    runtime::SlotAllocator& slots = process->slots();
    const std::uint64_t own_first_slot = color == kNoColor ? runtime::kNoSlots : slots.take(members.size());
    std::vector<std::uint64_t> first_slots;
    try {
        first_slots = exchange(own_first_slot, kind);
    } catch (...) {
        if (own_first_slot != runtime::kNoSlots) slots.give_back(own_first_slot);
        throw;
    }
    if (color == kNoColor) return {};

    auto group = std::make_shared<runtime::Group>();
    group->id = id;
    group->name = fmt::format("{}/{}.{}", state.group->name, sequence, color);
    group->size = static_cast<int>(members.size());
    int rank = -1;
    for (const int member : members) {
        if (member == state.rank) rank = static_cast<int>(group->world.size());
        group->world.push_back(state.group->world_rank(member));
        group->first_slot.push_back(first_slots[static_cast<std::size_t>(member)]);
        if (group->first_slot.back() == runtime::kNoSlots) group->has_slots = false;
    }
    return Communicator(std::make_shared<Implementation>(process, std::move(group), rank, own_first_slot, algorithms));
}

Communicator Communicator::split(int color, int key) const {
    if (color < 0 && color != kNoColor)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("split on {}: the colour {} is negative: use 0 or more, or kNoColor to have no part", name(), color));
    return checked().divide(color, key, OperationKind::split);
}

Communicator Communicator::duplicate() const { return checked().divide(0, rank(), OperationKind::duplicate); }

}  // namespace rollcall
