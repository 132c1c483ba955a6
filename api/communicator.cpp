#include <rollcall/communicator.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"

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
                                             int rank, std::uint64_t its_first_slot, const ChosenAlgorithms& its_algorithms,
                                             std::shared_ptr<runtime::CommonClock> its_clock)
    : process(std::move(its_process)),
      first_slot(its_first_slot),
      algorithms(its_algorithms),
      clock(std::move(its_clock)),
      state(std::move(group), rank),
      shares_boards(process->share_boards(*state.group)) {
    state.clock = clock.get();
    process->lane().as_owner([&](runtime::Engine& engine) { engine.add(state); });
}

Communicator::Implementation::~Implementation() {
    process->lane().as_owner([&](runtime::Engine& engine) { engine.remove(state); });
    // Others may still write there: what they overwrite is asked for.
    if (first_slot != runtime::kNoSlots) process->slots().give_back(first_slot);
}

collectives::Situation Communicator::Implementation::situation(std::uint64_t bytes) const {
    return {.bytes = bytes, .ranks = state.group->size, .landing = process->settings().landing_bytes > 0, .shared_boards = shares_boards};
}

Communicator::Implementation::Method Communicator::Implementation::method(OperationKind operation, std::uint64_t bytes,
                                                                          const CollectiveOptions& options) const {
    Method method{algorithms.of(operation), "it was asked for by a setting", 0};
    if (!options.algorithm.empty() && options.algorithm != "auto") {
        method.entry = &collectives::find_algorithm(operation, options.algorithm);
        method.why = "it was asked for";
    } else if (!method.entry || options.algorithm == "auto") {
        const auto selection = collectives::select(operation, situation(bytes));
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

std::string Communicator::Implementation::explain(OperationKind operation, std::uint64_t bytes, const CollectiveOptions& options) const {
    const Method chosen = method(operation, bytes, options);
    return collectives::explain(operation, situation(bytes), {chosen.entry, chosen.why});
}

Communicator::Implementation::Prepared Communicator::Implementation::prepare(OperationKind operation, std::uint64_t bytes, int root,
                                                                             const CollectiveOptions& options, const char* caller) const {
    check_alive();
    check_rank(root, caller, "root");
    const Method chosen = method(operation, bytes, options);
    runtime::Arguments arguments;
    arguments.segment_bytes = chosen.segment_bytes;
    return {collectives::make_call(*chosen.entry, root, bytes, chosen.segment_bytes), chosen.entry->algorithm, arguments};
}

Communicator::Implementation::Prepared Communicator::Implementation::prepare_broadcast(void* data, std::uint64_t bytes, int root,
                                                                                       const CollectiveOptions& options,
                                                                                       const char* caller) const {
    Prepared prepared = prepare(OperationKind::broadcast, bytes, root, options, caller);
    check_buffer(data, bytes, caller);
    prepared.arguments.data = {data, bytes};
    return prepared;
}

Communicator::Implementation::Prepared Communicator::Implementation::prepare_scatter(const void* data, void* block, std::uint64_t bytes,
                                                                                     int root, const CollectiveOptions& options,
                                                                                     const char* caller) const {
    Prepared prepared = prepare(OperationKind::scatter, bytes, root, options, caller);
    check_buffer(block, bytes, caller);
    prepared.arguments.result = {block, bytes};
    if (state.rank == root) {
        check_buffer(data, bytes, caller);
        prepared.arguments.data = {const_cast<void*>(data), bytes * static_cast<std::uint64_t>(state.group->size)};
    }
    return prepared;
}

Communicator::Implementation::Prepared Communicator::Implementation::prepare_gather(const void* block, void* data, std::uint64_t bytes,
                                                                                    int root, const CollectiveOptions& options,
                                                                                    const char* caller) const {
    Prepared prepared = prepare(OperationKind::gather, bytes, root, options, caller);
    check_buffer(block, bytes, caller);
    prepared.arguments.contribution = {block, bytes};
    if (state.rank == root) {
        check_buffer(data, bytes, caller);
        prepared.arguments.data = {data, bytes * static_cast<std::uint64_t>(state.group->size)};
    }
    return prepared;
}

Communicator::Implementation::Prepared Communicator::Implementation::prepare_barrier() const {
    check_alive();
    const Method chosen = method(OperationKind::barrier, 0, {});
    return {collectives::make_call(*chosen.entry, -1, 0, 0), chosen.entry->algorithm, {}};
}

void Communicator::Implementation::call(const Prepared& prepared, const std::optional<Timeout>& timeout, CallRecord* record) const {
    if (record) record->arrival = runtime::monotonic_now();
    Operation operation(state, next_sequence(), prepared.call, prepared.algorithm, prepared.arguments);
    run(operation, deadline(timeout));
    if (!record) return;
    record->exit = runtime::monotonic_now();
    record->first_data = operation.first_data();
    make_common(*record);
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

void Communicator::receive_whole(void* value, std::uint64_t bytes, int from, Tag tag) const {
    const std::uint64_t got = receive(value, bytes, from, tag).bytes;
    if (got == bytes) return;
    throw Error(ErrorCode::mismatch,
                fmt::format("receive on {}: rank {} sent {} bytes with tag {} where a value of {} was asked for: receive into a span "
                            "where messages may be shorter",
                            name(), from, got, tag, bytes),
                world_rank(from));
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
    here.call(here.prepare_barrier(), timeout, nullptr);
}

Request Communicator::start_barrier() const {
    const Implementation& here = checked();
    return here.start(here.prepare_barrier());
}

void Communicator::broadcast(void* data, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    here.call(here.prepare_broadcast(data, bytes, root, options, "broadcast"), options.timeout, options.record);
}

Request Communicator::start_broadcast(void* data, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    return here.start(here.prepare_broadcast(data, bytes, root, options, "start_broadcast"));
}

void Communicator::scatter(const void* data, void* block, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    here.call(here.prepare_scatter(data, block, bytes, root, options, "scatter"), options.timeout, options.record);
}

Request Communicator::start_scatter(const void* data, void* block, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    return here.start(here.prepare_scatter(data, block, bytes, root, options, "start_scatter"));
}

void Communicator::gather(const void* block, void* data, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    here.call(here.prepare_gather(block, data, bytes, root, options, "gather"), options.timeout, options.record);
}

Request Communicator::start_gather(const void* block, void* data, std::uint64_t bytes, int root, const CollectiveOptions& options) const {
    const Implementation& here = checked();
    return here.start(here.prepare_gather(block, data, bytes, root, options, "start_gather"));
}

void Communicator::check_blocks(std::size_t all, std::size_t one, int root, const char* operation) const {
    if (rank() != root || all == one * static_cast<std::size_t>(size())) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} on {}: the root's data has {} elements, and {} blocks of {} are {}: give it exactly as many", operation,
                            name(), all, size(), one, one * static_cast<std::size_t>(size())));
}

std::string Communicator::explain_broadcast(std::uint64_t bytes, const CollectiveOptions& options) const {
    return checked().explain(OperationKind::broadcast, bytes, options);
}
std::string Communicator::explain_scatter(std::uint64_t bytes, const CollectiveOptions& options) const {
    return checked().explain(OperationKind::scatter, bytes, options);
}
std::string Communicator::explain_gather(std::uint64_t bytes, const CollectiveOptions& options) const {
    return checked().explain(OperationKind::gather, bytes, options);
}
std::string Communicator::explain_barrier() const { return checked().explain(OperationKind::barrier, 0, {}); }

// --- making communicators ----------------------------------------------------------------------------------------------

std::shared_ptr<Communicator::Implementation> Communicator::Implementation::divide(int color, int key, OperationKind kind) const {
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
    return std::make_shared<Implementation>(process, std::move(group), rank, own_first_slot, algorithms, clock);
}

Communicator Communicator::split(int color, int key) const {
    if (color < 0 && color != kNoColor)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("split on {}: the colour {} is negative: use 0 or more, or kNoColor to have no part", name(), color));
    return Communicator(checked().divide(color, key, OperationKind::split));
}

Communicator Communicator::duplicate() const { return Communicator(checked().divide(0, rank(), OperationKind::duplicate)); }

}  // namespace rollcall
