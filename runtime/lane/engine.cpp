#include "runtime/lane/engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace rollcall::runtime {
namespace {

using transport::ConstBytes;
using transport::Offer;
using transport::Outcome;
using transport::Path;
using transport::Started;

// What an eager message counts besides its payload: about what an early one costs in book-keeping.
constexpr std::uint32_t kEntryCharge = 64;
// The eager allowance of one peer. 64 KiB hold eight full eager messages of the default length, which is enough to keep
// a stream going while credits travel back; 4 KiB is the least, so that messages without data always get through.
constexpr std::uint32_t kMostAllowance = 64 * 1024;
constexpr std::uint32_t kLeastAllowance = 4 * 1024;
// Half of the landing budget may go to eager allowances, the other half is for large early messages.
constexpr std::uint64_t kEagerShare = 2;
// How long a peer has to give a buffer back that was asked back, before the connection to it is cut.
constexpr Nanoseconds kWithdrawGrace = 1'000'000'000;
// How long the transport's word that a peer is unreachable waits for the better word of whoever started the job.
constexpr Nanoseconds kUnreachableGrace = 100'000'000;
// A probe goes to at most this many ranks at a time.
constexpr int kProbedAtOnce = 16;
// The step of the message that stands for a notice where a communicator has no slots on the board.
constexpr std::uint64_t kArrivedStep = ~std::uint64_t{0};

// For sends whose end interests nobody and that carry no payload.
struct Ignored final : transport::Completion {
    void complete(Outcome) noexcept override {}
};
Ignored ignored;

// A control message with a text: keeps the text until it has left.
struct TextSend final : transport::Completion {
    explicit TextSend(std::string_view its_text) : text(its_text) {}
    void complete(Outcome) noexcept override { delete this; }
    std::string text;
};

std::uint32_t allowance_for(std::uint64_t landing_bytes, int size) {
    const std::uint64_t peers = static_cast<std::uint64_t>(std::max(1, size - 1));
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(landing_bytes / kEagerShare / peers, kLeastAllowance, kMostAllowance));
}

std::uint64_t budget_for(std::uint64_t landing_bytes, int size) {
    const std::uint64_t reserved = std::uint64_t{allowance_for(landing_bytes, size)} * static_cast<std::uint64_t>(std::max(0, size - 1));
    return landing_bytes - std::min(reserved, landing_bytes / kEagerShare);
}

bool fits_compact(const MessageHeader& header) {
    return header.kind == MessageKind::point_to_point && header.source <= std::numeric_limits<std::uint16_t>::max() &&
           header.communicator <= std::numeric_limits<std::uint32_t>::max() && header.tag <= std::numeric_limits<std::uint32_t>::max();
}

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

    MatchKey key() const {
        return {header.base.communicator, header.sequence, header.base.tag, header.base.source};
    }
};

// --- Operation: the vocabulary ---------------------------------------------------------------------------------------

Operation::Operation(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, Algorithm algorithm,
                     const Arguments& arguments)
    : communicator_(communicator), sequence_(sequence), call_(call), algorithm_(algorithm), arguments_(arguments) {}

Operation::~Operation() = default;

FrameArena& arena_of(Operation& operation) noexcept { return operation.engine_->arena(); }

void Operation::begin(Engine& engine) { engine.start(*this); }
void Operation::abandon(Engine& engine, const Error& error) { engine.abandon(*this, error); }

Pending Operation::send(int to, ConstBytes bytes, std::uint64_t step) {
    const int peer = communicator_.group->world_rank(to);
    transport::Bytes buffer{const_cast<void*>(bytes.data), bytes.size};
    Transfer& transfer = engine_->new_transfer(*this, Transfer::Direction::send, peer, buffer, step);
    Pending pending(transfer);
    engine_->send(transfer);
    return pending;
}

Pending Operation::send_ahead(int to, ConstBytes bytes, std::uint64_t step) {
    const int peer = communicator_.group->world_rank(to);
    transport::Bytes buffer{const_cast<void*>(bytes.data), bytes.size};
    Transfer& transfer = engine_->new_transfer(*this, Transfer::Direction::send, peer, buffer, step);
    transfer.tell_deferred = true;
    Pending pending(transfer);
    engine_->send(transfer);
    return pending;
}

Pending Operation::receive(int from, transport::Bytes bytes, std::uint64_t step) {
    const int peer = communicator_.group->world_rank(from);
    Transfer& transfer = engine_->new_transfer(*this, Transfer::Direction::receive, peer, bytes, step);
    Pending pending(transfer);
    engine_->receive(transfer);
    return pending;
}

bool Operation::is_here(int from, std::uint64_t step) const {
    const MatchKey key{communicator_.group->id, sequence_, step, communicator_.group->world_rank(from)};
    return engine_->early_.find(key) != nullptr;
}

Pending Operation::copy(transport::Bytes into, ConstBytes from) {
    Transfer& transfer = engine_->new_transfer(*this, Transfer::Direction::receive, engine_->rank(), into, 0);
    Pending pending(transfer);
    transfer.stage = Transfer::Stage::moving;
    transfer.received = from.size;
    if (engine_->transport_.copy(into, from, transfer) == Started::done) engine_->finish(transfer);
    return pending;
}

Nanoseconds Operation::now() const { return engine_->transport_.now(); }

void Operation::announce_arrival(int at) {
    const Group& group = *communicator_.group;
    if (!group.has_slots) {
        send(at, {}, kArrivedStep);
        return;
    }
    transport::Transport& transport = engine_->transport_;
    const int peer = group.world_rank(at);
    BoardSlot slot{sequence_, now(), 0, 0};
    slot.seal(group.id);
    transport.put(peer, slot_offset(group.slot_of(at, rank())), std::as_bytes(std::span(&slot, 1)));
    switch (transport.put_wake(peer)) {
        case transport::PutWake::wakes: return;
        case transport::PutWake::silent: {
            const std::byte* board = transport.peer_board(peer);
            if (board && !is_sleeping(board)) return;
            break;
        }
        case transport::PutWake::unknown: break;
    }
    engine_->send_control(peer, MessageKind::nudge, {});
}

Arrivals& Operation::arrivals() {
    if (arrivals_) return *arrivals_;
    arrivals_ = std::make_unique<Arrivals>();
    arrivals_->seen_.assign(static_cast<std::size_t>(size()), false);
    const Group& group = *communicator_.group;
    if (!group.has_slots) {
        for (int member = 0; member < size(); ++member)
            if (member != rank()) arrivals_->notices_.push_back(receive(member, {}, kArrivedStep));
        return *arrivals_;
    }
    for (int member = 0; member < size(); ++member)
        if (member != rank()) arrivals_->unseen_.push_back(member);
    arrivals_->watched_ = true;
    engine_->watching_.push_back(this);
    engine_->look_at_board();
    return *arrivals_;
}

std::string Operation::describe() const {
    return fmt::format("{} #{} on {}", to_string(call_), sequence_, communicator_.group->name);
}

void Pending::drop() {
    if (!transfer_) return;
    Transfer* transfer = std::exchange(transfer_, nullptr);
    if (transfer->stage == Transfer::Stage::done)
        transfer->engine->free_transfer(*transfer);
    else
        transfer->released = true;
}

// --- Transfer and EarlyMessage: told by the transport ----------------------------------------------------------------

void Transfer::begin(Engine& its_engine) {
    engine = &its_engine;
    if (direction == Direction::send) {
        key.source = its_engine.rank();
        its_engine.send(*this);
    } else {
        key.source = peer;
        its_engine.receive(*this);
    }
}

void Transfer::abandon(Engine& its_engine, const Error& error) { its_engine.abandon(*this, error); }

void Transfer::complete(Outcome outcome) noexcept {
    if (outcome == Outcome::ok)
        engine->finish(*this);
    else
        engine->finish_failed(*this, engine->dead(peer));
}

void EarlyMessage::complete(Outcome outcome) noexcept { engine->after_landing(*this, outcome); }

// --- Engine ----------------------------------------------------------------------------------------------------------

Engine::Engine(transport::Transport& transport, FrameArena& arena, Options options)
    : transport_(transport),
      arena_(arena),
      options_(std::move(options)),
      landing_(budget_for(options_.landing_bytes, options_.size)),
      granted_(allowance_for(options_.landing_bytes, options_.size)),
      peers_(options_.size, PeerState{.allowance = granted_, .accepts_data = accepts_eager_data()}) {
    transport_.attach(*this);
}

Engine::~Engine() {
    std::vector<EarlyMessage*> left;
    early_.for_each([&](EarlyMessage& early) { left.push_back(&early); });
    peers_.for_each([&](int, PeerState& peer) {
        for (EarlyMessage* early = peer.overtaking; early; early = early->next) left.push_back(early);
    });
    for (EarlyMessage* early : left) {
        if (early->from_landing)
            landing_.give_back(early->buffer);
        else
            std::free(early->buffer.data);
        early->~EarlyMessage();
        arena_.release(early, sizeof *early);
    }
}

void Engine::set_allowance(int peer, std::uint32_t allowance, bool accepts_data) {
    peers_[peer].allowance = allowance;
    peers_[peer].accepts_data = accepts_data;
}

std::string Engine::name_of(int rank) const {
    if (static_cast<std::size_t>(rank) >= options_.hosts.size()) return fmt::format("rank {}", rank);
    return fmt::format("rank {} on host {}", rank, options_.hosts[static_cast<std::size_t>(rank)]);
}

int Engine::rank_in(const Group& group, int world_rank) noexcept {
    if (group.world.empty()) return world_rank < group.size ? world_rank : -1;
    const auto found = std::find(group.world.begin(), group.world.end(), world_rank);
    return found == group.world.end() ? -1 : static_cast<int>(found - group.world.begin());
}

Error Engine::dead(int rank) const {
    const auto found = dead_.find(rank);
    if (found != dead_.end()) return Error(ErrorCode::peer_failed, fmt::format("{} {}", name_of(rank), found->second), rank);
    if (ended_) return *ended_;
    for (const Unreachable& unreachable : unreachable_)
        if (unreachable.peer == rank)
            return Error(ErrorCode::peer_failed, fmt::format("{} became unreachable: {}", name_of(rank), unreachable.why), rank);
    return Error(ErrorCode::peer_failed, fmt::format("the connection to {} was lost", name_of(rank)), rank);
}

CommunicatorState* Engine::find(std::uint64_t id) const {
    const auto found = communicators_.find(id);
    return found == communicators_.end() ? nullptr : found->second;
}

Operation* Engine::find_active(CommunicatorState& communicator, std::uint64_t sequence) const {
    for (Operation* operation = communicator.active; operation; operation = operation->next_active_)
        if (operation->sequence() == sequence) return operation;
    return nullptr;
}

void Engine::add(CommunicatorState& communicator) {
    communicators_.emplace(communicator.group->id, &communicator);
    if (ended_) communicator.broken = std::make_unique<Error>(*ended_);
    for (const auto& [rank, how] : dead_)
        if (rank_in(*communicator.group, rank) >= 0) communicator.broken = std::make_unique<Error>(dead(rank));
    for (EarlyMessage* early = unknown_early_; early;) {
        EarlyMessage* next = early->next;
        if (early->key.communicator == communicator.group->id) {
            unlink(unknown_early_, *early);
            early->communicator = &communicator;
            link(communicator.early, *early);
        }
        early = next;
    }
}

void Engine::remove(CommunicatorState& communicator) {
    let_go_if(communicator, [](const EarlyMessage&) { return true; });
    communicators_.erase(communicator.group->id);
    removed_.insert(communicator.group->id);
}

// --- sending ---------------------------------------------------------------------------------------------------------

Transfer& Engine::new_transfer(Operation& operation, Transfer::Direction direction, int peer, transport::Bytes buffer,
                               std::uint64_t step) {
    auto* transfer = new (arena_.allocate(sizeof(Transfer))) Transfer(direction, peer, operation.communicator_.group->id, step, buffer);
    transfer->key.sequence = operation.sequence_;
    transfer->key.source = direction == Transfer::Direction::send ? options_.rank : peer;
    transfer->engine = this;
    transfer->operation = &operation;
    transfer->next = operation.transfers_;
    if (operation.transfers_) operation.transfers_->previous = transfer;
    operation.transfers_ = transfer;
    return *transfer;
}

void Engine::send(Transfer& transfer) {
    if (!dead_.empty() || ended_) {
        if (ended_ || dead_.contains(transfer.peer)) return finish_failed(transfer, dead(transfer.peer));
    }
    PeerState& peer = peers_[transfer.peer];
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
    } else {
        header.base.ordinal = transfer.ordinal = peer.sent++;
    }
    ConstBytes payload = transfer.buffer;
    const bool eager = size <= options_.eager_bytes && peer.allowance >= kEntryCharge + size && (size == 0 || peer.accepts_data);
    if (eager) {
        peer.allowance -= kEntryCharge + static_cast<std::uint32_t>(size);
    } else {
        transfer.large = true;
        if (size == 0) {
            // Out of allowance: a byte that stands for no bytes waits at the sender until it is wanted.
            static const std::byte stand_in{};
            payload = {&stand_in, 1};
            header.base.flags |= kEmptyPayload;
        }
        if (transfer.tell_deferred) header.base.flags |= kTellDeferred;
    }
    transfer.stage = Transfer::Stage::moving;
    auto bytes = std::span(reinterpret_cast<const std::byte*>(&header), header_size);
    CompactHeader compact;
    if (eager && fits_compact(header.base)) {
        const std::uint32_t units = std::min<std::uint32_t>(peer.owed / kCreditUnit, 255);
        peer.owed -= units * kCreditUnit;
        compact.credit = static_cast<std::uint8_t>(units);
        compact.source = static_cast<std::uint16_t>(header.base.source);
        compact.communicator = static_cast<std::uint32_t>(header.base.communicator);
        compact.tag = static_cast<std::uint32_t>(header.base.tag);
        compact.ordinal = header.base.ordinal;
        bytes = std::as_bytes(std::span(&compact, 1));
    } else {
        header.base.credit = std::exchange(peer.owed, 0);
    }
    switch (transport_.send(transfer.peer, bytes, payload, eager ? Path::eager : Path::large, transfer)) {
        case Started::done: return finish(transfer);
        case Started::failed: return finish_failed(transfer, dead(transfer.peer));
        case Started::pending: return;
    }
}

void Engine::send_control(int peer, MessageKind kind, const CollectiveHeader& its_header, std::string_view text) {
    if (ended_ || dead_.contains(peer)) return;
    CollectiveHeader header = its_header;
    header.base.kind = kind;
    header.base.source = options_.rank;
    header.base.credit = std::exchange(peers_[peer].owed, 0);
    const auto bytes = std::as_bytes(std::span(&header, 1));
    if (text.empty()) {
        transport_.send(peer, bytes, {}, Path::eager, ignored);
        return;
    }
    auto kept = std::make_unique<TextSend>(text);
    const ConstBytes payload{kept->text.data(), kept->text.size()};
    if (transport_.send(peer, bytes, payload, Path::eager, *kept) == Started::pending) kept.release();
}

void Engine::give_credit(int peer, std::uint32_t charge) {
    PeerState& state = peers_[peer];
    state.owed += charge;
    if (state.owed >= granted_ / 2) send_control(peer, MessageKind::credit, {});
}

// --- receiving -------------------------------------------------------------------------------------------------------

void Engine::receive(Transfer& transfer) {
    if (EarlyMessage* early = early_.find(transfer.key)) {
        forget(*early);
        match(transfer, *early);
        return;
    }
    if (ended_ || (!dead_.empty() && dead_.contains(transfer.peer))) return finish_failed(transfer, dead(transfer.peer));
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
    PeerState& peer = peers_[base.source];
    peer.allowance += base.credit;
    if (base.flags & kEmptyPayload) message.size = 0;
    if (direct) {
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
    if (key.sequence == 0) {
        EarlyMessage& early = keep(message);
        early_.insert(early);
        if (message.offered) land(early);
        return;
    }
    CommunicatorState* communicator = find(key.communicator);
    if (!communicator && removed_.contains(key.communicator)) return discard(message);
    if (communicator) {
        if (communicator->broken) return discard(message);
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

template <class Predicate>
void Engine::let_go_if(CommunicatorState& communicator, Predicate predicate) {
    // All are forgotten before the first is let go: room that comes free must not go to one of them.
    EarlyMessage* unwanted = nullptr;
    for (EarlyMessage* early = communicator.early; early;) {
        EarlyMessage* next = early->next;
        if (predicate(*early)) {
            forget(*early);
            early->next = unwanted;
            unwanted = early;
        }
        early = next;
    }
    while (unwanted) {
        EarlyMessage* early = std::exchange(unwanted, unwanted->next);
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
        const int source = early.key.source;
        if (claimed)
            claimed->early = nullptr;
        else
            forget(early);
        free_early(early);
        if (claimed) finish_failed(*claimed, dead(source));
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
        mismatch(operation.communicator_, operation.sequence_, operation.call_, call, transfer.peer);
        return false;
    }
    if (size <= transfer.buffer.size) return true;
    finish_failed(transfer, Error(ErrorCode::truncated,
                                  fmt::format("a message of {} bytes with tag {} from {} was received into a buffer of {} bytes: "
                                              "receive into one that is at least as long",
                                              size, transfer.key.tag, name_of(transfer.peer), transfer.buffer.size)));
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
        case Started::failed: return finish_failed(transfer, dead(transfer.peer));
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
    give_credit(transfer.peer, message.charge);
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

// --- ends of transfers -----------------------------------------------------------------------------------------------

void Engine::free_transfer(Transfer& transfer) {
    transfer.~Transfer();
    arena_.release(&transfer, sizeof transfer);
}

void Engine::on_deferred(const CollectiveHeader& header) {
    CommunicatorState* communicator = find(header.base.communicator);
    Operation* operation = communicator ? find_active(*communicator, header.sequence) : nullptr;
    if (!operation) return;
    for (Transfer* transfer = operation->transfers_; transfer; transfer = transfer->next)
        if (transfer->tell_deferred && transfer->peer == header.base.source && transfer->key.tag == header.base.tag) transfer->deferred = true;
    touch(*operation);
}

void Engine::finish(Transfer& transfer) {
    transfer.stage = Transfer::Stage::done;
    if (EarlyMessage* early = std::exchange(transfer.early, nullptr)) free_early(*early);
    if (transfer.abandoned_at) std::erase(withdrawn_, &transfer);
    Operation* operation = transfer.operation;
    if (!operation) {
        ++finished_;
        transfer.set_done();  // the caller may be gone with it now
        return;
    }
    (transfer.previous ? transfer.previous->next : operation->transfers_) = transfer.next;
    if (transfer.next) transfer.next->previous = transfer.previous;
    if (transfer.key.tag == kArrivedStep && transfer.direction == Transfer::Direction::receive && operation->arrivals_ && !operation->failed())
        see(*operation, rank_in(*operation->communicator_.group, transfer.peer));
    if (transfer.released) free_transfer(transfer);
    touch(*operation);
}

void Engine::finish_failed(Transfer& transfer, const Error& error) {
    Operation* operation = transfer.operation;
    if (operation) {
        if (!operation->failed()) {
            const Error named(error.code(), fmt::format("{}: {}", operation->describe(), error.what()), error.failed_rank());
            // Of a lost peer the others learn in their own ways, and from whoever knows best how it was lost.
            if (error.code() == ErrorCode::peer_failed)
                fail(*operation, named);
            else
                break_communicator(operation->communicator_, named, true);
        }
    } else {
        transfer.set_error(error);
    }
    finish(transfer);
}

// Takes a transfer back: at once where the transport has nothing to do with it, else as soon as the buffer is free.
void Engine::withdraw(Transfer& transfer) {
    switch (transfer.stage) {
        case Transfer::Stage::done: return;
        case Transfer::Stage::idle: return finish(transfer);
        case Transfer::Stage::posted: posted_.remove(transfer); return finish(transfer);
        case Transfer::Stage::claimed: {
            EarlyMessage& early = *std::exchange(transfer.early, nullptr);
            early.claimed = nullptr;
            early.dropped = true;
            return finish(transfer);
        }
        case Transfer::Stage::moving: break;
    }
    if (transfer.abandoned_at) return;
    transfer.abandoned_at = std::max<Nanoseconds>(1, transport_.now());
    withdrawn_.push_back(&transfer);
    if (transfer.direction == Transfer::Direction::send && transfer.large) {
        CollectiveHeader header;
        header.base.communicator = transfer.key.communicator;
        header.base.tag = transfer.key.tag;
        header.base.ordinal = transfer.ordinal;
        header.sequence = transfer.key.sequence;
        send_control(transfer.peer, MessageKind::retract, header);
    }
}

void Engine::abandon(Transfer& transfer, const Error& error) {
    if (transfer.stage == Transfer::Stage::done) return;
    transfer.set_error(error);
    withdraw(transfer);
}

// --- operations ------------------------------------------------------------------------------------------------------

void Engine::touch(Operation& operation) {
    if (operation.ready_) return;
    operation.ready_ = true;
    operation.next_ready_ = nullptr;
    (ready_tail_ ? ready_tail_->next_ready_ : ready_head_) = &operation;
    ready_tail_ = &operation;
}

unsigned Engine::run_ready() {
    unsigned ran = 0;
    while (Operation* operation = ready_head_) {
        ready_head_ = operation->next_ready_;
        if (!ready_head_) ready_tail_ = nullptr;
        operation->ready_ = false;
        run(*operation);
        ++ran;
    }
    return ran;
}

void Engine::start(Operation& operation) {
    CommunicatorState& communicator = operation.communicator_;
    operation.engine_ = this;
    operation.next_active_ = communicator.active;
    communicator.active = &operation;
    ++active_operations_;
    communicator.begun = std::max(communicator.begun, operation.sequence_);
    communicator.remember(operation.sequence_, operation.call_);
    if (communicator.broken) {
        fail(operation, *communicator.broken);
    } else {
        for (EarlyMessage* early = communicator.early; early; early = early->next)
            if (early->key.sequence == operation.sequence_ && !early->call.agrees_with(operation.call_)) {
                mismatch(communicator, operation.sequence_, operation.call_, early->call, early->key.source);
                break;
            }
    }
    if (!operation.failed()) operation.task_ = operation.algorithm_(operation);
    touch(operation);
    run_ready();
}

void Engine::run(Operation& operation) {
    if (!operation.failed() && operation.task_ && !operation.task_.done()) {
        std::coroutine_handle<> handle = operation.task_.handle();  // not started yet
        if (operation.wait_point_) {
            if (!operation.wait_point_->ready()) return;
            operation.wait_point_ = nullptr;
            handle = operation.handle_;
        }
        handle.resume();
        if (operation.task_.done() && operation.task_.exception()) {
            try {
                std::rethrow_exception(operation.task_.exception());
            } catch (const Error& error) {
                break_communicator(operation.communicator_, error, true);
            } catch (const std::exception& error) {
                break_communicator(operation.communicator_,
                                   Error(ErrorCode::state, fmt::format("{}: {}", operation.describe(), error.what())), true);
            }
        }
    }
    if (operation.failed()) {
        // Its frames stay until the last transfer has ended: buffers of transfers may live in them.
        operation.wait_point_ = nullptr;
        if (operation.arrivals_) std::erase(watching_, &operation);
        operation.arrivals_.reset();
        for (Transfer* transfer = operation.transfers_; transfer;) {
            Transfer* next = transfer->next;
            withdraw(*transfer);
            transfer = next;
        }
    } else if (!operation.task_.done()) {
        return;
    } else if (operation.arrivals_ && !operation.arrivals_->notices_.empty()) {
        // Receives that stood for the board: no longer wanted.
        operation.arrivals_->notices_.clear();
        for (Transfer* transfer = operation.transfers_; transfer;) {
            Transfer* next = transfer->next;
            if (transfer->stage == Transfer::Stage::posted && transfer->key.tag == kArrivedStep) withdraw(*transfer);
            transfer = next;
        }
    }
    if (!operation.transfers_) finish(operation);
}

void Engine::finish(Operation& operation) {
    if (operation.ready_) {  // finishing its transfers has touched it
        Operation** link_to = &ready_head_;
        Operation* previous = nullptr;
        while (*link_to != &operation) {
            previous = *link_to;
            link_to = &previous->next_ready_;
        }
        *link_to = operation.next_ready_;
        if (ready_tail_ == &operation) ready_tail_ = previous;
        operation.ready_ = false;
    }
    operation.task_.reset();
    if (operation.arrivals_ || !watching_.empty()) std::erase(watching_, &operation);
    operation.arrivals_.reset();
    CommunicatorState& communicator = operation.communicator_;
    Operation** link_to = &communicator.active;
    while (*link_to != &operation) link_to = &(*link_to)->next_active_;
    *link_to = operation.next_active_;
    --active_operations_;
    let_go_if(communicator, [&](const EarlyMessage& early) { return early.key.sequence == operation.sequence_; });
    ++finished_;
    const auto on_done = operation.on_done;
    void* const context = operation.on_done_context;
    operation.set_done();  // a waiting caller may be gone with it now
    if (on_done) on_done(operation, context);
}

void Engine::fail(Operation& operation, const Error& error) {
    operation.set_error(error);
    touch(operation);
}

void Engine::abandon(Operation& operation, const Error& error) {
    if (operation.done()) return;
    // The communicator is out of step for good, and the others must not wait for this rank.
    break_communicator(operation.communicator_, error, true);
    run_ready();
}

// --- failures and questions --------------------------------------------------------------------------------------------

void Engine::break_communicator(CommunicatorState& communicator, const Error& error, bool tell) {
    if (communicator.broken) return;
    communicator.broken = std::make_unique<Error>(error);
    for (Operation* operation = communicator.active; operation; operation = operation->next_active_)
        if (!operation->failed()) fail(*operation, error);
    // Nobody will ever want what came early for it, and its senders wait.
    let_go_if(communicator, [](const EarlyMessage&) { return true; });
    if (!tell) return;
    for (int member = 0; member < communicator.group->size; ++member)
        if (member != communicator.rank) tell_broken(communicator, communicator.group->world_rank(member));
}

void Engine::tell_broken(const CommunicatorState& communicator, int peer) {
    CollectiveHeader header;
    header.base.communicator = communicator.group->id;
    header.base.code = static_cast<std::uint8_t>(communicator.broken->code());
    header.call.root = communicator.broken->failed_rank();
    send_control(peer, MessageKind::failed, header, communicator.broken->what());
}

void Engine::mismatch(CommunicatorState& communicator, std::uint64_t sequence, const Call& mine, const Call& other, int source) {
    const Group& group = *communicator.group;
    int first = communicator.rank, second = rank_in(group, source);
    const Call *first_call = &mine, *second_call = &other;
    if (second < first) {
        std::swap(first, second);
        std::swap(first_call, second_call);
    }
    const char* const advice =
        mine.same_request(other)
            ? "with different algorithms or segment sizes. Give all ranks the same ROLLCALL_ settings"
            : "All ranks of a communicator must call the same operations in the same order, with the same root and size";
    break_communicator(communicator,
                       Error(ErrorCode::mismatch,
                             fmt::format("the calls at sequence {} of communicator {} do not match: rank {} called {}, rank {} called {}{}{}",
                                         sequence, group.name, first, to_string(*first_call), second, to_string(*second_call),
                                         mine.same_request(other) ? ", " : ". ", advice),
                             source),
                       true);
}

bool Engine::check_call(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, int source) {
    const Call* mine = communicator.recall(sequence);
    if (!mine || mine->agrees_with(call)) return true;
    mismatch(communicator, sequence, *mine, call, source);
    return false;
}

void Engine::on_control(const CollectiveHeader& header, ConstBytes payload) {
    CommunicatorState* communicator = find(header.base.communicator);
    switch (header.base.kind) {
        case MessageKind::retract: {
            const MatchKey key{header.base.communicator, header.sequence, header.base.tag, header.base.source};
            const auto is_it = [&](const EarlyMessage& early) {
                return early.key == key && early.ordinal == header.base.ordinal && early.stage == EarlyMessage::Stage::offered;
            };
            if (EarlyMessage* early = early_.find_if(key, is_it)) {
                forget(*early);
                let_go(*early);
                return;
            }
            // Before its turn: only its place in the stream is kept.
            for (EarlyMessage* early = peers_[key.source].overtaking; early; early = early->next)
                if (is_it(*early)) {
                    transport_.decline(early->offer);
                    early->dropped = true;
                    return;
                }
            return;
        }
        case MessageKind::deferred: return on_deferred(header);
        case MessageKind::probe:
            if (!communicator) return;
            // The news may have come before the asking rank knew this communicator.
            if (communicator->broken) return tell_broken(*communicator, header.base.source);
            check_call(*communicator, header.sequence, header.call, header.base.source);
            return;
        case MessageKind::failed:
            if (communicator && payload.data)
                break_communicator(*communicator,
                                   Error(static_cast<ErrorCode>(header.base.code),
                                         std::string(static_cast<const char*>(payload.data), payload.size), header.call.root),
                                   false);
            return;
        case MessageKind::nudge:   // the board is looked at anyway
        case MessageKind::credit:  // the header has done it
        case MessageKind::point_to_point:
        case MessageKind::point_to_point_compact:
        case MessageKind::collective: return;
    }
}

void Engine::probe(Operation& operation) {
    CollectiveHeader header;
    header.base.communicator = operation.communicator_.group->id;
    header.sequence = operation.sequence_;
    header.call = operation.call_;
    int asked = 0;
    for (Transfer* transfer = operation.transfers_; transfer && asked < kProbedAtOnce; transfer = transfer->next)
        if (transfer->stage == Transfer::Stage::posted) {
            send_control(transfer->peer, MessageKind::probe, header);
            ++asked;
        }
    if (operation.arrivals_)
        for (const int member : operation.arrivals_->unseen_) {
            if (asked++ >= kProbedAtOnce) break;
            send_control(operation.communicator_.group->world_rank(member), MessageKind::probe, header);
        }
}

Nanoseconds Engine::tick(Nanoseconds now) {
    Nanoseconds next = std::numeric_limits<Nanoseconds>::max();
    for (const auto& [id, communicator] : communicators_)
        for (Operation* operation = communicator->active; operation; operation = operation->next_active_) {
            if (!operation->probed_at_) operation->begun_at_ = operation->probed_at_ = now;
            // Asked again at growing intervals: the other side may not have got there when it was first asked.
            const Nanoseconds interval = std::max(options_.mismatch_probe, operation->probed_at_ - operation->begun_at_);
            if (now - operation->probed_at_ >= interval) {
                probe(*operation);
                operation->probed_at_ = now;
            }
            next = std::min(next, operation->probed_at_ + std::max(options_.mismatch_probe, operation->probed_at_ - operation->begun_at_));
        }
    for (std::size_t i = 0; i < unreachable_.size();) {
        if (now - unreachable_[i].since < kUnreachableGrace) {
            next = std::min(next, unreachable_[i++].since + kUnreachableGrace);
            continue;
        }
        const Unreachable gone = unreachable_[i];
        on_death(gone.peer, fmt::format("became unreachable: {}", gone.why));
    }
    std::vector<int> cut;
    for (Transfer* transfer : withdrawn_) {
        if (now - transfer->abandoned_at >= kWithdrawGrace)
            cut.push_back(transfer->peer);
        else
            next = std::min(next, transfer->abandoned_at + kWithdrawGrace);
    }
    for (const int peer : cut) transport_.disconnect(peer);
    return next;
}

void Engine::on_peer_unreachable(int peer, std::string_view why) noexcept {
    if (closing_ || dead_.contains(peer)) return;
    unreachable_.push_back({peer, transport_.now(), std::string(why)});
}

void Engine::on_death(int rank, const std::string& how) {
    std::erase_if(unreachable_, [&](const Unreachable& unreachable) { return unreachable.peer == rank; });
    if (closing_ || !dead_.emplace(rank, how).second) return;
    const Error error = dead(rank);
    std::vector<Transfer*> waiting;
    posted_.for_each([&](Transfer& transfer) {
        if (transfer.peer == rank && !transfer.operation) waiting.push_back(&transfer);
    });
    for (Transfer* transfer : waiting) {
        posted_.remove(*transfer);
        finish_failed(*transfer, error);
    }
    for (const auto& [id, communicator] : communicators_) {
        if (rank_in(*communicator->group, rank) < 0) continue;
        for (Operation* operation = communicator->active; operation; operation = operation->next_active_)
            if (!operation->failed())
                fail(*operation, Error(error.code(), fmt::format("{}: {}", operation->describe(), error.what()), rank));
        break_communicator(*communicator, Error(error.code(), fmt::format("communicator {}: {}", communicator->group->name, error.what()), rank), false);
    }
    transport_.disconnect(rank);
    run_ready();
}

void Engine::on_job_ended(const std::string& why) {
    if (ended_ || closing_) return;
    ended_ = std::make_unique<Error>(ErrorCode::peer_failed, why);
    std::vector<Transfer*> waiting;
    posted_.for_each([&](Transfer& transfer) {
        if (!transfer.operation) waiting.push_back(&transfer);
    });
    for (Transfer* transfer : waiting) {
        posted_.remove(*transfer);
        finish_failed(*transfer, *ended_);
    }
    for (const auto& [id, communicator] : communicators_) break_communicator(*communicator, *ended_, false);
    for (int peer = 0; peer < options_.size; ++peer)
        if (peer != options_.rank) transport_.disconnect(peer);
    run_ready();
}

// --- the board -------------------------------------------------------------------------------------------------------

void Engine::see(Operation& operation, int rank) {
    bool anew = false;
    operation.arrivals_->see(rank, anew);
    if (anew) touch(operation);
}

unsigned Engine::look_at_board() {
    unsigned seen = 0;
    const std::span<std::byte> board = transport_.board();
    for (Operation* operation : watching_) {
        std::vector<int>& unseen = operation->arrivals_->unseen_;
        const Group& group = *operation->communicator_.group;
        for (std::size_t i = 0; i < unseen.size();) {
            const BoardSlot slot = read_slot(board, group.slot_of(operation->rank(), unseen[i]));
            if (slot.sequence < operation->sequence_ || !slot.whole(group.id)) {
                ++i;
                continue;
            }
            see(*operation, unseen[i]);
            unseen[i] = unseen.back();
            unseen.pop_back();
            ++seen;
        }
    }
    return seen;
}

void Engine::on_board_changed(std::uint64_t offset, std::uint64_t) noexcept {
    if (watching_.empty()) return;
    const std::uint64_t slot_number = (offset - kBoardHead) / sizeof(BoardSlot);
    const BoardSlot slot = read_slot(transport_.board(), slot_number);
    for (Operation* operation : watching_) {
        const Group& group = *operation->communicator_.group;
        const std::uint64_t first = group.slot_of(operation->rank(), 0);
        if (slot_number < first || slot_number >= first + static_cast<std::uint64_t>(group.size)) continue;
        if (slot.sequence >= operation->sequence_ && slot.whole(group.id)) see(*operation, static_cast<int>(slot_number - first));
    }
}

}  // namespace rollcall::runtime
