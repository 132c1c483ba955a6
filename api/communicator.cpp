#include <rollcall/communicator.hpp>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"
#include "foundation/units.hpp"

namespace rollcall {

using runtime::Operation;
using runtime::Transfer;

Communicator::Implementation::Implementation(std::shared_ptr<runtime::Process> its_process, std::shared_ptr<const runtime::Group> group,
                                             int rank, runtime::Slots slots, const ChosenAlgorithms& its_algorithms,
                                             std::shared_ptr<runtime::CommonClock> its_clock)
    : process(std::move(its_process)),
      algorithms(its_algorithms),
      clock(std::move(its_clock)),
      owned_state(std::make_unique<runtime::CommunicatorState>(std::move(group), rank, std::move(slots))),
      state(*owned_state),
      shares_boards(process->share_boards(*state.group)),
      shares_node(process->share_node(*state.group)),
      conditions(collectives::conditions_of(process->settings(), {.boards = shares_boards,
                                                                  .node_memory = shares_node,
                                                                  .several_nodes = state.group->nodes != nullptr,
                                                                  .even_nodes = runtime::are_even(state.group->nodes.get())})),
      nodes(state.group->nodes ? static_cast<int>(state.group->nodes->members.size()) : 0),
      largest_group(extent_of_groups()) {
    state.clock = clock.get();
    process->lane().as_owner([&](runtime::Engine& engine) { engine.add(state); });
}

Communicator::Implementation::Extent Communicator::Implementation::extent_of_groups() const {
    const runtime::Group& group = *state.group;
    if (group.first_group == 0) return {};
    Extent largest{std::max(group.first_group, group.size - group.first_group), 0};
    if (!group.nodes) return {largest.ranks, largest.ranks};
    for (const bool of_first : {true, false}) {
        const auto is_its = [&](int rank) { return (rank < group.first_group) == of_first; };
        const auto count = std::count_if(group.nodes->members.begin(), group.nodes->members.end(),
                                         [&](const std::vector<int>& ranks) { return std::any_of(ranks.begin(), ranks.end(), is_its); });
        largest.nodes = std::max(largest.nodes, static_cast<int>(count));
    }
    return largest;
}

Communicator::Implementation::~Implementation() {
    if (process->forked()) {
        static_cast<void>(owned_state.release());  // it belongs to the engine, which is the parent's
        return;
    }
    process->lane().as_owner([&](runtime::Engine& engine) { engine.retire(std::move(owned_state)); });
}

void Communicator::Implementation::refuse_rank(int rank, const char* operation, const char* role) const {
    throw Error(ErrorCode::invalid_argument, fmt::format("{} on {}: {} {} is out of range: the communicator has ranks 0 to {}", operation,
                                                         state.group->name, role, rank, state.group->size - 1));
}

void Communicator::Implementation::refuse_buffer(std::uint64_t bytes, const char* operation) {
    throw Error(ErrorCode::invalid_argument,
                bytes > collectives::kMostBytes
                    ? fmt::format("{}: {} bytes are more than a buffer can have: {} at most", operation, bytes, collectives::kMostBytes)
                    : fmt::format("{}: the buffer of {} bytes is a null pointer", operation, bytes));
}

std::string Communicator::Implementation::describe(const Transfer& transfer) const {
    const bool sends = transfer.direction == Transfer::Direction::send;
    const runtime::Group& group = *state.group;
    return fmt::format("{} {} bytes with tag {} {} rank {} of {}", sends ? "send of" : "receive of", transfer.buffer.size, transfer.key.tag,
                       sends ? "to" : "from", group.rank_of(transfer.peer()), group.name);
}

Error timeout_error(const runtime::Process& process, const std::string& what, Timeout timeout) {
    return Error(ErrorCode::timeout, fmt::format("{}: {} did not end within its deadline of {}", process.name_of(process.place().rank),
                                                 what, format_duration(static_cast<double>(timeout.count()) * 1e-9)));
}

Error ended_error(const runtime::Process& process, const std::string& what) {
    return Error(ErrorCode::state, fmt::format("{}: {} cannot end any more, because {} has ended: wait for requests and plans before that",
                                               process.name_of(process.place().rank), what,
                                               process.connects_jobs() ? "the connection of two jobs" : "the job"));
}

Error unfinished_error(const runtime::Process& process, const std::string& what, Timeout timeout) {
    return process.finalized() ? ended_error(process, what) : timeout_error(process, what, timeout);
}

void throw_named(const Error& error, const std::string& call) {
    if (std::string_view(error.what()).find(call) != std::string_view::npos) throw Error(error);
    throw Error(error.code(), fmt::format("{}: {}", call, error.what()), error.failed_rank());
}

void Communicator::Implementation::end(Operation& operation, bool in_time, Timeout timeout) const {
    runtime::Lane& lane = process->lane();
    if (!in_time) lane.abandon(operation, [&] { return unfinished_error(*process, operation.describe(), timeout); });
    if (!operation.error()) return;
    lane.flush_failure_notices();
    throw Error(*operation.error());
}

void Communicator::Implementation::run(Transfer& transfer, Timeout timeout) const {
    end(transfer, process->lane().run(transfer, timeout), timeout);
}

void Communicator::Implementation::send(Transfer& transfer, Timeout timeout) const {
    end(transfer, process->lane().send(transfer, timeout), timeout);
}

inline void Communicator::Implementation::end(Transfer& transfer, bool in_time, Timeout timeout) const {
    if (!in_time) process->lane().abandon(transfer, [&] { return unfinished_error(*process, describe(transfer), timeout); });
    if (transfer.error()) throw_named(*transfer.error(), describe(transfer));
}

Request Communicator::Implementation::start(const Message& message, Tag tag, const std::optional<Timeout>& timeout) const {
    if (timeout) checked_timeout(*timeout);
    auto request = std::make_unique<Request::Implementation>(shared_from_this());
    request->transfer.emplace(message.direction, message.peer, state.group->id, tag, message.buffer);
    request->limit(timeout);
    request->lane().start(*request->transfer);
    return Request(std::move(request));
}

void Communicator::Implementation::look(runtime::Peek& peek, const char* caller, Timeout timeout) const {
    runtime::Lane& lane = process->lane();
    lane.progress();  // the sender of a message that is here may have taken it back
    if (!lane.run(peek, timeout)) lane.abandon(peek, [&] { return unfinished_error(*process, describe_look(caller, peek.key), timeout); });
    if (peek.error()) throw_named(*peek.error(), describe_look(caller, peek.key));
}

// It is one operation, which ends once: an event loop is woken by its end, and can then sleep again.
Request Communicator::Implementation::start_look(const char* caller, int from, Tag tag, const std::optional<Timeout>& timeout) const {
    if (timeout) checked_timeout(*timeout);
    auto request = std::make_unique<Request::Implementation>(shared_from_this());
    request->peek.emplace(key_for(caller, from, tag));
    request->limit(timeout);
    request->lane().progress();  // as in look()
    // As the owner, and not left to another thread that drives: a message that is here is seen at once.
    request->lane().as_owner([&](runtime::Engine& engine) { engine.begin(*request->peek); });
    return Request(std::move(request));
}

runtime::MatchKey Communicator::Implementation::key_for(const char* caller, int from, Tag tag) const {
    check_alive();
    check_rank(from, caller, "source");
    return {state.group->id, 0, tag, state.group->world_rank(from)};
}

// A program calls it again and again. Each Peek would count as an operation that has ended, and keep event loops from sleeping.
std::optional<std::uint64_t> Communicator::Implementation::try_next_size(int from, Tag tag) const {
    const runtime::MatchKey key = key_for("try_next_size", from, tag);
    std::optional<std::uint64_t> size;
    const auto look = [&](runtime::Engine& engine) { size = engine.size_of_next(key); };
    runtime::Lane& lane = process->lane();
    try {
        lane.as_owner(look);
        if (lane.progress()) lane.as_owner(look);  // also where a message was found: its sender may have taken it back
    } catch (const Error& error) {
        throw_named(error, describe_look("try_next_size", key));
    }
    return size;
}

std::string Communicator::Implementation::describe_look(const char* caller, const runtime::MatchKey& key) const {
    const runtime::Group& group = *state.group;
    return fmt::format("{} of a message with tag {} from rank {} of {}", caller, key.tag, group.rank_of(key.source), group.name);
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
    if (!implementation_) throw Error(ErrorCode::state, "this communicator is null: this rank is not in it");
    return *implementation_;
}

int Communicator::rank() const { return checked().state.rank; }
int Communicator::size() const { return checked().state.group->size; }
const std::string& Communicator::name() const { return checked().state.group->name; }
int Communicator::world_rank(int rank) const {
    checked().check_rank(rank, "world_rank", "rank");
    return implementation_->state.group->world_rank(rank);
}

int Communicator::local_size() const { return static_cast<int>(checked().local_ranks(size())); }
int Communicator::local_rank() const { return static_cast<int>(checked().local_ranks(rank())); }

void Communicator::send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag, std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    const auto message = here.message(Transfer::Direction::send, "send", const_cast<void*>(data.get()), bytes, to);
    Transfer transfer(message.direction, message.peer, here.state.group->id, tag, message.buffer);
    here.send(transfer, here.deadline(timeout));
}

Received Communicator::receive(BytePointer data, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    const auto message = here.message(Transfer::Direction::receive, "receive", data.get(), bytes, from);
    Transfer transfer(message.direction, message.peer, here.state.group->id, tag, message.buffer);
    here.run(transfer, here.deadline(timeout));
    return {transfer.received};
}

Received Communicator::receive_whole(void* value, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const {
    const Received got = receive(value, bytes, from, tag, timeout);
    if (got.bytes == bytes) return got;
    throw Error(ErrorCode::mismatch,
                fmt::format("receive on {}: rank {} sent {} bytes with tag {}, but the value to receive has {} bytes: if messages may be "
                            "shorter, receive into a span",
                            name(), from, got.bytes, tag, bytes));
}

std::uint64_t Communicator::next_size(int from, Tag tag, std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    runtime::Peek peek(here.key_for("next_size", from, tag));
    here.look(peek, "next_size", here.deadline(timeout));
    return peek.size;
}

Request Communicator::start_next_size(int from, Tag tag, std::optional<Timeout> timeout) const {
    return checked().start_look("start_next_size", from, tag, timeout);
}

std::optional<std::uint64_t> Communicator::try_next_size(int from, Tag tag) const { return checked().try_next_size(from, tag); }

Received Communicator::receive_sized(void* data, void* (*resize)(void* data, std::uint64_t count), std::uint64_t element, int from, Tag tag,
                                     std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    const Timeout limit = here.deadline(timeout);
    const Nanoseconds begun = limit == kForever ? 0 : monotonic_now();
    const auto left = [&] { return limit == kForever ? kForever : std::max(Timeout::zero(), limit - Timeout(monotonic_now() - begun)); };
    for (;;) {
        runtime::Peek next(here.key_for("receive_resized", from, tag));
        here.look(next, "receive_resized", left());
        if (next.size % element != 0)
            throw Error(
                ErrorCode::mismatch,
                fmt::format("receive_resized on {}: the message of rank {} with tag {} has {} bytes, which is not a whole number of "
                            "elements of {} bytes. The message was not taken: receive it with elements of another type",
                            name(), from, tag, next.size, element));
        void* const room = resize(data, next.size / element);
        runtime::SeenReceive transfer(next, here.message(Transfer::Direction::receive, "receive_resized", room, next.size, from).buffer);
        here.run(transfer, left());
        if (!transfer.missed()) return {transfer.received};  // else another thread has it, or its sender has taken it back
    }
}

Request Communicator::start_send(ConstBytePointer data, std::uint64_t bytes, int to, Tag tag, std::optional<Timeout> timeout) const {
    return checked().start(implementation_->message(Transfer::Direction::send, "start_send", const_cast<void*>(data.get()), bytes, to), tag,
                           timeout);
}

Request Communicator::start_receive(BytePointer data, std::uint64_t bytes, int from, Tag tag, std::optional<Timeout> timeout) const {
    return checked().start(implementation_->message(Transfer::Direction::receive, "start_receive", data.get(), bytes, from), tag, timeout);
}

}  // namespace rollcall
