// The engine's receiving half: from a message to the receive it is for, or to a place where it can wait.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "runtime/lane/engine.hpp"

namespace rollcall::runtime {
namespace {

using transport::ConstBytes;
using transport::Offer;
using transport::Outcome;
using transport::Started;

void move_bytes(transport::Bytes into, ConstBytes from) {
    if (from.size && into.data && from.data) std::memcpy(into.data, from.data, from.size);
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
    if (EarlyMessage* early = early_.find(transfer.key)) {
        forget(*early);
        match(transfer, *early);
        return;
    }
    if (losses_ && (ended_ || dead_.contains(transfer.peer()))) return finish_failed(transfer, dead(transfer.peer()));
    transfer.stage = Transfer::Stage::posted;
    posted_.insert(transfer);
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
    // Not one of ours: never from a Rollcall process, so there is nobody to tell.
    if (header.size() < (direct ? sizeof(MessageHeader) : sizeof(CollectiveHeader)) || base.source < 0 || base.source >= options_.size) {
        if (message.offered) transport_.decline(message.offer);
        return;
    }
    if (base.credit) peers_[base.source].allowance += base.credit;
    message.offer.peer = base.source;
    if (base.flags & kEmptyPayload) message.size = 0;
    if (direct) {
        PeerState& peer = peers_[base.source];
        if (base.ordinal != peer.expected) {
            EarlyMessage& early = keep(message);
            early.next = peer.overtaking;
            peer.overtaking = &early;
            return;
        }
        ++peer.expected;
        deliver(message);
        if (peer.overtaking) deliver_overtaking(peer);
        return;
    }
    if (base.kind == MessageKind::collective) return deliver(message);
    on_control(message.header, message.payload);
}

void Engine::deliver_overtaking(PeerState& peer) {
    for (EarlyMessage** link_to = &peer.overtaking; *link_to;) {
        EarlyMessage& early = **link_to;
        if (early.ordinal != peer.expected) {
            link_to = &early.next;
            continue;
        }
        *link_to = early.next;
        early.next = nullptr;
        ++peer.expected;
        if (early.dropped) {
            free_early(early);
        } else if (Transfer* transfer = posted_.take(early.key)) {
            match(*transfer, early);
        } else if (is_past(early.key.communicator)) {
            let_go(early);
        } else {
            early_.insert(early);
            if (early.stage == EarlyMessage::Stage::offered) land(early);
        }
        link_to = &peer.overtaking;  // the next one may stand anywhere
    }
}

void Engine::deliver(const Incoming& message) {
    const MatchKey key = message.key();
    if (Transfer* transfer = posted_.take(key)) return accept(*transfer, message);
    CommunicatorState* communicator = find(key.communicator);
    if (!communicator && is_past(key.communicator)) return discard(message);
    if (key.sequence == 0) {
        EarlyMessage& early = keep(message);
        early_.insert(early);
        if (message.offered) land(early);
        return;
    }
    if (communicator) {
        if (communicator->is_broken_at(key.sequence)) return discard(message);
        if (!check_call(*communicator, key.sequence, message.header.call, key.source)) return discard(message);
        // Late: a notice or a copy that its operation no longer needed.
        if (key.sequence <= communicator->begun && !find_active(*communicator, key.sequence)) return discard(message);
    }
    EarlyMessage& early = keep(message);
    early_.insert(early);
    early.communicator = communicator;
    link(communicator ? communicator->early : unknown_early_, early);
    Operation* operation = communicator ? find_active(*communicator, key.sequence) : nullptr;
    if (message.offered && !land(early) && (message.header.base.flags & kTellDeferred)) {
        CollectiveHeader header = message.header;
        header.base.flags = 0;
        send_control(key.source, MessageKind::deferred, header);
    }
    if (operation) touch(*operation);  // it may be waiting for is_here()
}

void Engine::discard(const Incoming& message) {
    if (message.offered)
        transport_.decline(message.offer);
    else
        give_credit(message.header.base.source, message.charge);
}

EarlyMessage& Engine::keep(const Incoming& message) {
    auto& early = *new (arena_.allocate(sizeof(EarlyMessage))) EarlyMessage();
    early.engine = this;
    early.key = message.key();
    early.call = message.header.call;
    early.ordinal = message.header.base.ordinal;
    early.size = message.size;
    early.charge = message.charge;
    if (message.offered) {
        early.offer = message.offer;
        early.stage = EarlyMessage::Stage::offered;
    } else {
        early.buffer.size = message.size;
        if (message.payload.data && message.size) {
            early.buffer.data = std::malloc(message.size);
            move_bytes(early.buffer, message.payload);
        }
    }
    return early;
}

void Engine::link(EarlyMessage*& list, EarlyMessage& early) noexcept {
    early.previous = nullptr;
    early.next = list;
    if (list) list->previous = &early;
    list = &early;
}

void Engine::unlink(EarlyMessage*& list, EarlyMessage& early) noexcept {
    (early.previous ? early.previous->next : list) = early.next;
    if (early.next) early.next->previous = early.previous;
    early.next = early.previous = nullptr;
}

// Takes it out of the table and the lists: somebody wants it now, or nobody ever will.
void Engine::forget(EarlyMessage& early) {
    early_.remove(early);
    if (early.key.sequence != 0) unlink(early.communicator ? early.communicator->early : unknown_early_, early);
    if (early.waits_for_landing) {
        waiting_for_landing_.erase(std::find(waiting_for_landing_.begin(), waiting_for_landing_.end(), &early));
        early.waits_for_landing = false;
    }
}

void Engine::let_go_of(CommunicatorState& communicator, std::uint64_t first, std::uint64_t last) {
    // All are forgotten before the first is let go: room that comes free must not go to one of them.
    EarlyMessage* unwanted = nullptr;
    for (EarlyMessage* early = communicator.early; early;) {
        EarlyMessage* next = early->next;
        if (early->key.sequence >= first && early->key.sequence <= last) {
            forget(*early);
            early->next = unwanted;
            unwanted = early;
        }
        early = next;
    }
    let_go_all(unwanted);
}

void Engine::let_go_of_past() {
    EarlyMessage* unwanted = nullptr;
    early_.for_each([&](EarlyMessage& early) {
        if (!is_past(early.key.communicator)) return;
        forget(early);
        early.next = unwanted;
        unwanted = &early;
    });
    let_go_all(unwanted);
}

void Engine::let_go_all(EarlyMessage* forgotten) {
    while (forgotten) {
        EarlyMessage* early = std::exchange(forgotten, forgotten->next);
        early->next = nullptr;
        let_go(*early);
    }
}

void Engine::let_go(EarlyMessage& early) {
    switch (early.stage) {
        case EarlyMessage::Stage::held: give_credit(early.key.source, early.charge); break;
        case EarlyMessage::Stage::offered: transport_.decline(early.offer); break;
        case EarlyMessage::Stage::landing: early.dropped = true; return;
        case EarlyMessage::Stage::landed: break;
    }
    free_early(early);
}

void Engine::free_early(EarlyMessage& early) {
    const bool landed = early.from_landing;
    if (landed)
        landing_.give_back(early.buffer);
    else
        std::free(early.buffer.data);
    early.~EarlyMessage();
    arena_.release(&early, sizeof early);
    if (landed && !waiting_for_landing_.empty()) land_waiting();
}

// Returns whether it has begun to land.
bool Engine::land(EarlyMessage& early) {
    // A message without data is not landed: its sender's waiting is what bounds the number of such messages.
    if (early.size == 0 || !landing_.could_hold(early.size)) return false;
    // None overtakes one that waits: a large message is not starved by small ones.
    if (waiting_for_landing_.empty() && land_now(early)) return true;
    waiting_for_landing_.push_back(&early);
    early.waits_for_landing = true;
    return false;
}

bool Engine::land_now(EarlyMessage& early) {
    const auto buffer = landing_.take(early.size, early.offer.phantom);
    if (!buffer) return false;
    early.buffer = *buffer;
    early.from_landing = true;
    early.stage = EarlyMessage::Stage::landing;
    switch (transport_.fetch(early.offer, early.buffer, early)) {
        case Started::done: after_landing(early, Outcome::ok); break;
        case Started::failed: after_landing(early, Outcome::failed); break;
        case Started::pending: break;
    }
    return true;
}

void Engine::land_waiting() {
    while (!waiting_for_landing_.empty()) {
        EarlyMessage& early = *waiting_for_landing_.front();
        if (!landing_.fits_now(early.size)) return;
        // Out of the queue first: what ends at once may come back here.
        waiting_for_landing_.pop_front();
        early.waits_for_landing = false;
        if (land_now(early)) continue;
        waiting_for_landing_.push_front(&early);  // no memory: when something is given back
        early.waits_for_landing = true;
        return;
    }
}

void Engine::after_landing(EarlyMessage& early, Outcome outcome) {
    if (early.dropped) return free_early(early);
    if (outcome == Outcome::failed) {
        Transfer* claimed = early.claimed;
        if (claimed)
            claimed->early = nullptr;
        else
            forget(early);
        free_early(early);
        if (claimed) lose(*claimed);
        return;
    }
    early.stage = EarlyMessage::Stage::landed;
    if (early.claimed) copy_out(*early.claimed, early);
}

void Engine::copy_out(Transfer& transfer, EarlyMessage& early) {
    transfer.stage = Transfer::Stage::moving;
    transfer.received = early.size;
    transfer.early = &early;
    const transport::Bytes into{transfer.buffer.data, early.size};
    if (transport_.copy(into, early.buffer, transfer) == Started::done) finish(transfer);
}

bool Engine::fits(Transfer& transfer, const Call& call, std::uint64_t size) {
    if (transfer.operation && !transfer.operation->call_.agrees_with(call)) {
        Operation& operation = *transfer.operation;
        finish(transfer);
        mismatch(operation.communicator_, operation.sequence_, operation.call_, call, transfer.peer());
        return false;
    }
    if (size <= transfer.buffer.size) return true;
    finish_failed(transfer, Error(ErrorCode::truncated,
                                  fmt::format("a message of {} bytes with tag {} from {} was received into a buffer of {} bytes: "
                                              "receive into one that is at least as long",
                                              size, transfer.key.tag, name_of(transfer.peer()), transfer.buffer.size)));
    return false;
}

void Engine::fetch(Transfer& transfer, const Offer& offer, std::uint64_t size) {
    static std::byte stand_in;
    transfer.stage = Transfer::Stage::moving;
    transfer.received = size;
    transport::Bytes into{transfer.buffer.data, size};
    if (size == 0) into = {&stand_in, offer.size};
    switch (transport_.fetch(offer, into, transfer)) {
        case Started::done: return finish(transfer);
        case Started::failed: return lose(transfer);
        case Started::pending: return;
    }
}

void Engine::accept(Transfer& transfer, const Incoming& message) {
    if (!fits(transfer, message.header.call, message.size)) return discard(message);
    if (options_.trace && transfer.operation && message.size && !transfer.operation->first_data_)
        transfer.operation->first_data_ = transport_.now();
    if (message.offered) return fetch(transfer, message.offer, message.size);
    move_bytes(transfer.buffer, message.payload);
    transfer.received = message.size;
    give_credit(transfer.peer(), message.charge);
    finish(transfer);
}

void Engine::match(Transfer& transfer, EarlyMessage& early) {
    if (!fits(transfer, early.call, early.size)) return let_go(early);
    if (options_.trace && transfer.operation && early.size && !transfer.operation->first_data_)
        transfer.operation->first_data_ = transport_.now();
    switch (early.stage) {
        case EarlyMessage::Stage::held: {
            move_bytes(transfer.buffer, {early.buffer.data, early.size});
            transfer.received = early.size;
            let_go(early);
            return finish(transfer);
        }
        case EarlyMessage::Stage::offered: {
            const Offer offer = early.offer;
            const std::uint64_t size = early.size;
            free_early(early);
            return fetch(transfer, offer, size);
        }
        case EarlyMessage::Stage::landing:
            transfer.stage = Transfer::Stage::claimed;
            transfer.early = &early;
            early.claimed = &transfer;
            return;
        case EarlyMessage::Stage::landed: return copy_out(transfer, early);
    }
}

}  // namespace rollcall::runtime
