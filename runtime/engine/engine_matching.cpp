// The receiving half of the engine: it brings a message to the receive that it is for, or to a place where it can wait.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "foundation/copy.hpp"
#include "foundation/log.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/mismatches.hpp"

namespace rollcall::runtime {
namespace {

using transport::ConstBytes;
using transport::Offer;
using transport::Outcome;
using transport::Started;

// A message that travels with its header cannot be refused, and the network library that hands it over cannot be left by an exception.
[[noreturn]] void end_without_memory(std::uint64_t bytes) {
    log_message(LogLevel::critical,
                "this process has no memory for a message of {} bytes that came early; raise its limit (ulimit -v), or start fewer ranks "
                "on this host",
                bytes);
    std::abort();
}

void move_bytes(transport::Bytes into, ConstBytes from) {
    if (from.size && into.data && from.data) copy_bytes(into.data, from.data, from.size);
}

}  // namespace

struct Engine::Incoming {
    CollectiveHeader header;
    ConstBytes payload;
    Offer offer;
    std::uint64_t size = 0;
    std::uint32_t charge = 0;
    bool offered = false;

    MatchKey key() const { return {header.base.communicator, header.sequence, header.base.tag, header.base.source}; }
};

void Engine::receive(Transfer& transfer) {
    watch_over_peers();
    if (EarlyMessage* early = early_.by_key().find(transfer.key)) {
        early_.forget(*early);
        return match(transfer, *early);
    }
    if (peers_.any_dead() && peers_.is_gone(transfer.peer())) return finish_failed(transfer, dead(transfer.peer()));
    if (refuses(transfer)) [[unlikely]]
        return finish_failed(transfer, *agreements_.refusal(transfer.key.communicator));
    posted_.insert(transfer);
    transfer.stage = Transfer::Stage::posted;
    if (transfer.operation || !peers_[transfer.peer()].has_backlog) [[likely]]
        return;
    try {
        ask_for(transfer.key);
    } catch (...) {  // There is no memory, and the caller destroys the transfer.
        posted_.remove(transfer);
        transfer.stage = Transfer::Stage::idle;
        throw;
    }
}

void Engine::on_message(std::span<const std::byte> header, ConstBytes payload) noexcept {
    Incoming message;
    message.payload = payload;
    message.size = payload.size;
    message.charge = kEntryCharge + static_cast<std::uint32_t>(payload.size);
    receive_message(message, header);
}

void Engine::on_offer(std::span<const std::byte> header, const Offer& offer) noexcept {
    Incoming message;
    message.offered = true;
    message.offer = offer;
    message.size = offer.size;
    receive_message(message, header);
}

void Engine::receive_message(Incoming& message, std::span<const std::byte> header) noexcept {
    MessageHeader& base = message.header.base;
    if (header.size() == sizeof(CompactHeader)) {
        CompactHeader compact;
        std::memcpy(&compact, header.data(), sizeof compact);
        base.source = compact.source;
        base.communicator = compact.communicator;
        base.tag = compact.tag;
        base.ordinal = compact.ordinal;
        base.credit = compact.credit * kCreditUnit;
        header = std::as_bytes(std::span(&base, 1));
    } else {
        std::memcpy(&message.header, header.data(), std::min(header.size(), sizeof message.header));
    }
    const bool direct = base.kind == MessageKind::point_to_point;
    // The message does not come from a Rollcall process, so there is no rank to tell.
    const bool foreign =
        header.size() < (direct ? sizeof(MessageHeader) : sizeof(CollectiveHeader)) || base.source < 0 || base.source >= options_.size;
    if (foreign || closing_) {
        if (message.offered) transport_.decline(message.offer);
        // All ranks have come to the end: the message was given up and comes late, or it belongs to a call that no caller here made.
        CommunicatorState* communicator =
            !foreign && base.kind == MessageKind::collective ? communicators_.find(base.communicator) : nullptr;
        if (communicator) check_call(*this, *communicator, message.header.sequence, message.header.call, base.source);
        return;
    }
    if (base.credit) {
        PeerState& peer = peers_[base.source];
        peer.allowance += base.credit;
        if (peer.backlogged) [[unlikely]]
            work_off_backlog(base.source);
    }
    message.offer.peer = base.source;
    if (base.flags & kEmptyPayload) message.size = 0;
    if (direct) {
        PeerState& peer = peers_[base.source];
        if (base.ordinal != peer.expected) {
            set_aside(peer, keep(message));
            return;
        }
        ++peer.expected;
        deliver(message);
        if (peer.overtaking) deliver_overtaking(peer);
        return;
    }
    if (base.kind == MessageKind::collective) return deliver(message);
    if (goes_first(base.kind)) ++peers_[base.source].heard;
    on_control(message.header, message.payload);
}

// Inserts the message into the list of those that came before their turn. The list has the order of the stream. What is missing mostly
// comes another way, so the messages come in this order, too: the place of each is looked for from the end on. `previous` of the first one
// is the last one.
void Engine::set_aside(PeerState& peer, EarlyMessage& early) {
    EarlyMessage* const first = peer.overtaking;
    if (!first) {
        peer.overtaking = early.previous = &early;
        return;
    }
    const auto distance = [&](const EarlyMessage& one) { return one.ordinal - peer.expected; };  // modulo 2^32
    const bool leads = distance(early) < distance(*first);
    EarlyMessage* before = first->previous;
    for (; !leads && distance(early) < distance(*before); before = before->previous) ++other_steps_;
    early.previous = before;
    early.next = leads ? first : std::exchange(before->next, &early);
    (early.next ? early.next : first)->previous = &early;
    if (leads) peer.overtaking = &early;
}

void Engine::deliver_overtaking(PeerState& peer) {
    while (peer.overtaking) {
        EarlyMessage& early = *peer.overtaking;
        ++other_steps_;
        if (early.ordinal != peer.expected) return;
        if (early.next) early.next->previous = early.previous;
        peer.overtaking = std::exchange(early.next, nullptr);
        early.previous = nullptr;
        ++peer.expected;
        if (early.dropped) {
            early_.free(early);
        } else if (Transfer* transfer = posted_.take(early.key)) {
            match(*transfer, early);
        } else if (communicators_.is_past(early.key.communicator) || (agrees_ && agreements_.drops(early.key.communicator))) {
            early_.let_go(early);
        } else {
            early_.insert(early);
            ++look_changes_;
            if (peeks_.size() > 0) show(early);
            if (early.stage == EarlyMessage::Stage::offered) early_.land(early);
        }
    }
}

void Engine::deliver(const Incoming& message) {
    const MatchKey key = message.key();
    if (Transfer* transfer = posted_.take(key)) return accept(*transfer, message);
    CommunicatorState* communicator = communicators_.find(key.communicator);
    if (!communicator && communicators_.is_past(key.communicator)) return discard(message);
    if (key.sequence == 0) {
        if (agrees_ && agreements_.drops(key.communicator)) [[unlikely]]
            return discard(message);
        EarlyMessage& early = keep(message);
        early_.insert(early);
        ++look_changes_;
        if (peeks_.size() > 0) [[unlikely]]
            show(early);
        if (message.offered) early_.land(early);
        return;
    }
    Operation* const operation = find_active(key.communicator, key.sequence);
    const Deputy* const deputy = communicator ? deputies_.expected({key.communicator, key.sequence}) : nullptr;
    if (deputy) [[unlikely]] {
        const Call its_call = deputy->operation_.call_;
        if (deputy->has_ended() || !its_call.agrees_with(message.header.call)) {
            if (!its_call.agrees_with(message.header.call))  // The deputy may go with the mismatch.
                fail_mismatch(*this, *communicator, key.sequence, its_call, message.header.call, caller_of(message.header),
                              deputy->source_);
            return discard(message);
        }
    }
    if (communicator) {
        if (communicator->is_broken_at(key.sequence)) return discard(message);
        if (!check_call(*this, *communicator, key.sequence, message.header.call, caller_of(message.header))) return discard(message);
        // It is late: a notice or a copy that its operation no longer needed.
        if (key.sequence <= communicator->begun && !operation && !deputy) return discard(message);
    }
    EarlyMessage& early = keep(message);
    early_.insert(early);
    if (communicator && !operation && deputies_.begins_with(*communicator, early)) return;
    if (message.offered && !early_.land(early) && (message.header.base.flags & kTellDeferred)) {
        CollectiveHeader header = message.header;
        header.base.flags = 0;
        send_control(key.source, MessageKind::deferred, header);
    }
    // It may wait for is_here(). If it lacks its buffers, it only takes what has landed (after_landing()).
    if (operation && !(message.offered && operation->lacks_buffers_)) touch(*operation);
}

void Engine::give_credit(int peer, std::uint32_t charge) {
    if (!peers_.owe(peer, charge)) return;
    try {
        send_control(peer, MessageKind::credit, {});
    } catch (const std::bad_alloc&) {  // a later message gives it back
    }
}

void Engine::discard(const Incoming& message) {
    if (message.offered)
        transport_.decline(message.offer);
    else
        give_credit(message.header.base.source, message.charge);
}

// A rank whose caller has not come passes on the call of another rank.
int Engine::caller_of(const CollectiveHeader& header) const {
    const bool passed_on = (header.base.flags & kUncalled) && header.base.ordinal < static_cast<std::uint32_t>(options_.size);
    return passed_on ? static_cast<int>(header.base.ordinal) : header.base.source;
}

EarlyMessage& Engine::keep(const Incoming& message) {
    auto& early = *new (arena_.allocate(sizeof(EarlyMessage))) EarlyMessage();
    early.engine = this;
    early.key = message.key();
    early.call = message.header.call;
    early.caller = caller_of(message.header);
    early.ordinal = early.key.sequence == 0 ? message.header.base.ordinal : 0;
    early.size = message.size;
    early.awaited = message.header.base.flags & kAwaited;
    early.charge = message.charge;
    if (message.offered) {
        early.offer = message.offer;
        early.stage = EarlyMessage::Stage::offered;
    } else {
        early.buffer.size = message.size;
        if (message.payload.data && message.size) {
            early.buffer.data = std::malloc(message.size);
            if (!early.buffer.data) end_without_memory(message.size);
            move_bytes(early.buffer, message.payload);
        }
    }
    return early;
}

bool Engine::fits(Transfer& transfer, const Call& call, int caller, std::uint64_t size) {
    if (transfer.operation && !transfer.operation->call_.is_same_as(call) && !fits_own_size(transfer, call, caller, size)) return false;
    if (size == transfer.buffer.size) return true;
    if (transfer.operation && transfer.operation->call_.own_sizes && transfer.operation->call_.root < 0) [[unlikely]] {
        Operation& operation = *transfer.operation;
        const std::uint64_t counted = transfer.buffer.size;
        const int member = operation.communicator_.group->rank_of(transfer.peer());
        finish(transfer);
        operation.tell_sizes_differ(member, counted, size);
        return false;
    }
    if (size < transfer.buffer.size) return true;
    finish_failed(transfer, Error(ErrorCode::truncated,
                                  fmt::format("a message of {} bytes with tag {} from {} was received into a buffer of {} bytes: "
                                              "receive into one that is at least as long",
                                              size, transfer.key.tag, name_of(transfer.peer()), transfer.buffer.size)));
    return false;
}

// Where blocks have sizes of their own, the root knows what each rank must have given, and the other ranks know what the root must send
// them.
bool Engine::fits_own_size(Transfer& transfer, const Call& call, int caller, std::uint64_t size) {
    Operation& operation = *transfer.operation;
    const Group& group = *operation.communicator_.group;
    const int peer = transfer.peer();
    if (!operation.call_.agrees_with(call)) {
        finish(transfer);
        operation.tell_call_differs(call, caller);
        return false;
    }
    // The sizes have been compared already: by both groups, or in node memory, where some of the ranks exchange data.
    if ((group.first_group > 0 && call.root < 0) || operation.ranks_.of) return true;
    const Block* const blocks = operation.arguments_.blocks;
    const int member = group.rank_of(peer);
    // Between two groups these are the blocks of the root's other group.
    const int number = member - (call.root < group.first_group ? group.first_group : 0);
    const std::uint64_t at_root = blocks ? blocks[number].size : size;
    const std::uint64_t elsewhere = blocks ? call.bytes : transfer.buffer.size;
    if (at_root == elsewhere) return true;
    finish(transfer);
    operation.tell_sizes_differ(member, at_root, elsewhere);
    return false;
}

void Engine::fetch(Transfer& transfer, const Offer& offer, std::uint64_t size, EarlyMessage* early) {
    static std::byte stand_in;
    transfer.stage = Transfer::Stage::moving;
    transfer.received = size;
    transport::Bytes into{transfer.buffer.data, size};
    if (size == 0) into = {&stand_in, offer.size};
    Started started;
    try {
        started = transport_.fetch(offer, into, transfer);
    } catch (...) {
        transfer.stage = Transfer::Stage::idle;
        transfer.received = 0;
        if (early) early_.wait_again(*early);
        throw;
    }
    if (early) early_.free(*early);
    switch (started) {
        case Started::done: return finish(transfer);
        case Started::failed: return lose(transfer);
        case Started::pending: return;
    }
}

void Engine::accept(Transfer& transfer, const Incoming& message) {
    if (!fits(transfer, message.header.call, caller_of(message.header), message.size)) return discard(message);
    if (transfer.operation && message.size && !transfer.operation->first_data_) transfer.operation->first_data_ = machine_.now();
    if (message.offered) return fetch(transfer, message.offer, message.size);
    move_bytes(transfer.buffer, message.payload);
    transfer.received = message.size;
    give_credit(transfer.peer(), message.charge);
    finish(transfer);
}

void Engine::match(Transfer& transfer, EarlyMessage& early) {
    bool is_wanted;
    try {
        is_wanted = fits(transfer, early.call, early.caller, early.size);
    } catch (...) {  // There is no memory to say what is wrong with it.
        early_.wait_again(early);
        throw;
    }
    if (!is_wanted) return early_.let_go(early);
    if (transfer.operation && early.size && !transfer.operation->first_data_) transfer.operation->first_data_ = machine_.now();
    switch (early.stage) {
        case EarlyMessage::Stage::held: {
            move_bytes(transfer.buffer, {early.buffer.data, early.size});
            transfer.received = early.size;
            early_.let_go(early);
            return finish(transfer);
        }
        case EarlyMessage::Stage::offered: return fetch(transfer, early.offer, early.size, &early);
        case EarlyMessage::Stage::landing:
            transfer.stage = Transfer::Stage::claimed;
            transfer.early = &early;
            early.claimed = &transfer;
            return;
        case EarlyMessage::Stage::landed: return copy_out(transfer, early);
        case EarlyMessage::Stage::unreadable: early_.let_go(early); return finish_failed(transfer, unreadable(transfer.peer()));
    }
}

void Engine::copy_out(Transfer& transfer, EarlyMessage& early) {
    transfer.stage = Transfer::Stage::moving;
    transfer.received = early.size;
    transfer.early = &early;
    const transport::Bytes into{transfer.buffer.data, early.size};
    if (machine_.copy(into, early.buffer, transfer) == Started::done) finish(transfer);
}

}  // namespace rollcall::runtime
