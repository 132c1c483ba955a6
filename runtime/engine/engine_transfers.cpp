// The engine's transfers: how messages are sent, and how sends and receives end.
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

using transport::ConstBytes;
using transport::Outcome;
using transport::Path;
using transport::Started;

// For sends that carry no payload and whose end does not matter.
transport::Ignored ignored;

// A control message with a text. It keeps the text until the message has left.
struct TextSend final : transport::Completion {
    TextSend(std::string_view its_text, std::uint64_t& under_way) : text(its_text), count(under_way) { ++count; }
    ~TextSend() { --count; }
    void complete(Outcome) noexcept override { delete this; }
    std::string text;
    std::uint64_t& count;
};

bool fits_compact(const MessageHeader& header) {
    return header.kind == MessageKind::point_to_point && header.source <= std::numeric_limits<std::uint16_t>::max() &&
           header.communicator <= std::numeric_limits<std::uint32_t>::max() && header.tag <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

// --- told by the transport --------------------------------------------------------------------------------------------

void Transfer::begin(Engine& its_engine) {
    engine = &its_engine;
    if (direction == Direction::send) return its_engine.send(*this);
    number = its_engine.peers_[peer()].receives++;
    its_engine.receive(*this);
}

void Transfer::abandon(Engine& its_engine, const Error& error) { its_engine.abandon(*this, error); }

void Transfer::complete(Outcome outcome) noexcept {
    if (outcome == Outcome::ok || withdrawn)
        engine->finish(*this);
    else if (outcome == Outcome::withdrawn)
        engine->receive_again(*this);
    else if (outcome == Outcome::unreadable)
        engine->finish_failed(*this, engine->unreadable(peer()));
    else
        engine->lose(*this);
}

void EarlyMessage::complete(Outcome outcome) noexcept { engine->early_.after_landing(*this, outcome); }
void EarlyMessage::let_go() noexcept { engine->early_.let_go(*this); }

// --- sending ---------------------------------------------------------------------------------------------------------

Transfer& Engine::new_transfer(Operation& operation, Transfer::Direction direction, int peer, transport::Bytes buffer, std::uint64_t step) {
    auto* transfer = new (arena_.allocate(sizeof(Transfer))) Transfer(direction, peer, operation.communicator_.group->id, step, buffer);
    transfer->key.sequence = operation.sequence();
    transfer->engine = this;
    transfer->operation = &operation;
    transfer->next = operation.transfers_;
    if (operation.transfers_) operation.transfers_->previous = transfer;
    operation.transfers_ = transfer;
    return *transfer;
}

void Engine::send(Transfer& transfer) {
    if (peers_.any_dead() && peers_.is_dead_or_gone(transfer.peer()))  // That of a call waits: it names the rank that died first.
        return transfer.operation ? lose(transfer) : finish_failed(transfer, dead(transfer.peer()));
    if (announces_) [[unlikely]]
        announcements_.tell_before_send(transfer.peer());
    PeerState& peer = peers_[transfer.peer()];
    if (!transfer.operation && (peer.backlogged || peer.offers > 0) && !may_go(transfer, peer)) [[unlikely]]
        return put_back(transfer);
    transmit(transfer, peer);
}

void Engine::transmit(Transfer& transfer, PeerState& peer) {
    const std::uint64_t size = transfer.buffer.size;
    CollectiveHeader header;
    header.base.communicator = transfer.key.communicator;
    header.base.tag = transfer.key.tag;
    header.base.source = options_.rank;
    std::size_t header_size = sizeof(MessageHeader);
    if (transfer.operation) {
        header.base.kind = MessageKind::collective;
        header.sequence = transfer.key.sequence;
        header.call = transfer.operation->call_;
        header_size = sizeof(CollectiveHeader);
        if (transfer.operation->alone_ && !transfer.operation->has_arrived()) [[unlikely]] {
            header.base.flags |= kUncalled;
            header.base.ordinal = static_cast<std::uint32_t>(transfer.operation->called_by());
        }
    } else {
        if ((peer.sent + 1) % node::kMessagesBeforeMail == 0) node_.open_outbox(transfer.peer(), peer);
        header.base.ordinal = transfer.ordinal = peer.sent++;
    }
    ConstBytes payload = transfer.buffer;
    const bool eager = is_short(transfer, peer) && Peers::take_allowance(peer, size);
    if (!eager) {
        transfer.large = true;
        if (!transfer.operation) ++peer.offers;
        if (size == 0) {
            // No allowance is left. A byte that stands for an empty payload waits at the sender until the receiver wants it.
            static std::byte stand_in{};
            payload = {&stand_in, 1};
            header.base.flags |= kEmptyPayload;
        }
        header.base.flags |= transfer.flags & ~kInTurn;
    }
    transfer.stage = Transfer::Stage::moving;
    auto bytes = std::span(reinterpret_cast<const std::byte*>(&header), header_size);
    CompactHeader compact;
    std::uint32_t credit = 0;
    if (eager && fits_compact(header.base)) {
        credit = peers_.take_owed(transfer.peer(), kCreditUnit, 255);
        compact.credit = static_cast<std::uint8_t>(credit / kCreditUnit);
        compact.source = static_cast<std::uint16_t>(header.base.source);
        compact.communicator = static_cast<std::uint32_t>(header.base.communicator);
        compact.tag = static_cast<std::uint32_t>(header.base.tag);
        compact.ordinal = header.base.ordinal;
        if (peer.outbox && node_.send(transfer.peer(), peer, compact, payload)) return finish(transfer);
        bytes = std::as_bytes(std::span(&compact, 1));
    } else {
        header.base.credit = credit = peers_.take_owed(transfer.peer());
    }
    Started started;
    try {
        started = transport_.send(transfer.peer(), bytes, payload, eager ? Path::eager : Path::large, transfer);
    } catch (...) {
        // There is no memory. The peer would wait for a message that has no place in the stream any more.
        if (!transfer.operation) --peer.sent;
        if (!transfer.operation && !eager) --peer.offers;
        if (eager) peer.allowance += kEntryCharge + static_cast<std::uint32_t>(size);
        peers_.owe(transfer.peer(), credit);
        transfer.large = false;
        transfer.stage = Transfer::Stage::idle;
        throw;
    }
    switch (started) {
        case Started::done: return finish(transfer);
        case Started::failed: return lose(transfer);
        case Started::pending: return watch_over_peers();
    }
}

void Engine::send_control(int peer, MessageKind kind, const CollectiveHeader& its_header, std::string_view text) {
    // Closing: no rank waits for a message, and connections are being closed. To a dead peer: its kernel would answer with a reset.
    if (closing_ || peers_.is_dead_or_gone(peer)) return;
    CollectiveHeader header = its_header;
    header.base.kind = kind;
    header.base.source = options_.rank;
    auto kept = text.empty() ? nullptr : std::make_unique<TextSend>(text, notices_under_way_);
    const ConstBytes payload = kept ? ConstBytes{kept->text.data(), kept->text.size()} : ConstBytes{};
    transport::Completion& completion = kept ? static_cast<transport::Completion&>(*kept) : ignored;
    header.base.credit = peers_.take_owed(peer);
    Started started;
    try {
        started = transport_.send(peer, std::as_bytes(std::span(&header, 1)), payload, Path::eager, completion);
    } catch (...) {
        peers_.owe(peer, header.base.credit);  // There is no memory. The next message carries it.
        throw;
    }
    if (started == Started::pending) kept.release();
    if (started == Started::failed) suspect(peer, "could not be sent a message");
    if (goes_first(kind)) ++peers_[peer].told;
}

// --- ends of transfers -----------------------------------------------------------------------------------------------

void Engine::free_transfer(Transfer& transfer) {
    transfer.Transfer::~Transfer();  // all transfers in the arena have exactly this type
    arena_.release(&transfer, sizeof transfer);
}

// Finishes a point-to-point transfer that was offered, or that has a watcher.
[[gnu::noinline]] void Engine::finish_special(Transfer& transfer) {
    const int peer = transfer.large ? transfer.peer() : -1;
    Watcher* const watcher = transfer.watched ? &static_cast<WatchedTransfer&>(transfer).watcher() : nullptr;
    transfer.set_done();
    if (watcher) watcher->ended();
    if (peer < 0) return;
    --peers_[peer].offers;
    work_off_backlog(peer);
}

void Engine::finish(Transfer& transfer) {
    transfer.stage = Transfer::Stage::done;
    if (EarlyMessage* early = std::exchange(transfer.early, nullptr)) early_.free(*early);
    Operation* operation = transfer.operation;
    if (!operation) {
        ++finished_;
        // As soon as it is done, its caller may destroy it.
        if (!(transfer.large | transfer.watched)) [[likely]]
            return transfer.set_done();
        return finish_special(transfer);
    }
    (transfer.previous ? transfer.previous->next : operation->transfers_) = transfer.next;
    if (transfer.next) transfer.next->previous = transfer.previous;
    if ((transfer.key.tag == Operation::kArrivedStep) | transfer.listed) [[unlikely]]
        operation->note_end(transfer);
    if (transfer.released) free_transfer(transfer);
    touch(*operation);
}

// The transport could not do the transfer. The cause is not certain: the peer may have left because another rank died, of which this rank
// has not heard yet. So the transfer waits a short time for a better explanation; see tick().
void Engine::lose(Transfer& transfer) {
    const int peer = transfer.peer();
    // At the end of the job no peer is suspected: peers may leave.
    if (closing_ || peers_.is_gone(peer) || (transfer.operation && transfer.operation->failed()))
        return finish_failed(transfer, dead(peer));
    suspect(peer, "could no longer be reached");
    transfer.stage = Transfer::Stage::lost;
    peers_.wait_for_reason(peer, transfer);
}

// The receive goes before the receives that were posted after it. Those that have been given a message meanwhile keep it.
void Engine::receive_again(Transfer& transfer) {
    transfer.received = 0;
    transfer.stage = Transfer::Stage::idle;
    if (transfer.flags & Transfer::kOnlySeen) return transfer.miss();
    if (early_.by_key().find(transfer.key) || (peers_.any_dead() && peers_.is_gone(transfer.peer())) || refuses(transfer))
        return receive(transfer);
    transfer.stage = Transfer::Stage::posted;
    posted_.insert_before(transfer, [&](const Transfer& other) {
        return transfer.operation || static_cast<std::int32_t>(other.number - transfer.number) > 0;  // modulo 2^32
    });
    if (!transfer.operation && peers_[transfer.peer()].has_backlog) ask_for(transfer.key);
}

void Engine::finish_failed(Transfer& transfer, const Error& error) {
    Operation* operation = transfer.operation;
    if (operation) {
        if (!operation->failed()) {
            const Error named(error.code(), fmt::format("{}: {}", operation->describe(), error.what()), error.failed_rank());
            // Other ranks learn of a lost peer by themselves, and from the process that knows best how it was lost.
            if (error.code() == ErrorCode::peer_failed)
                fail(*operation, named);
            else
                break_communicator(operation->communicator_, operation->sequence(), named, true);
        }
    } else {
        transfer.set_error(error);
    }
    finish(transfer);
}

// Takes a transfer back without asking the other side. A transfer under way goes on without its buffer.
void Engine::withdraw(Transfer& transfer) {
    switch (transfer.stage) {
        case Transfer::Stage::done: return;
        case Transfer::Stage::idle: return finish(transfer);
        case Transfer::Stage::posted:
            posted_.remove(transfer);
            if (!transfer.operation && peers_[transfer.peer()].has_backlog) ask_for(transfer.key, MessageKind::unwanted);
            return finish(transfer);
        case Transfer::Stage::queued: {
            const int peer = transfer.peer();
            backlog_.remove(transfer);
            finish(transfer);
            return work_off_backlog(peer);
        }
        case Transfer::Stage::claimed: {
            EarlyMessage& early = *std::exchange(transfer.early, nullptr);
            early.claimed = nullptr;
            early.dropped = true;
            return finish(transfer);
        }
        case Transfer::Stage::lost: peers_.stop_waiting(transfer.peer(), transfer); return finish(transfer);
        case Transfer::Stage::moving: break;
    }
    if (transfer.withdrawn) return;
    if (transfer.direction == Transfer::Direction::send && transfer.large) {
        // Tells the receiver that it need not keep the offer.
        CollectiveHeader header;
        header.base.communicator = transfer.key.communicator;
        header.base.tag = transfer.key.tag;
        if (!transfer.operation) header.base.ordinal = transfer.ordinal;
        header.sequence = transfer.key.sequence;
        send_control(transfer.peer(), MessageKind::retract, header);
    }
    if (transport_.release(transfer.peer(), transfer)) return finish(transfer);
    transfer.withdrawn = true;
}

void Engine::abandon(Transfer& transfer, const Error& error) {
    if (transfer.stage == Transfer::Stage::done) return;
    transfer.set_error(error);
    withdraw(transfer);
}

}  // namespace rollcall::runtime
