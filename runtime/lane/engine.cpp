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
using transport::Outcome;
using transport::Path;
using transport::Started;

// The eager allowance of one peer. 64 KiB hold eight full eager messages of the default length, which is enough to keep
// a stream going while credits travel back; 4 KiB is the least, so that messages without data always get through.
constexpr std::uint32_t kMostAllowance = 64 * 1024;
constexpr std::uint32_t kLeastAllowance = 4 * 1024;
// Half of the landing budget may go to eager allowances, the other half is for large early messages.
constexpr std::uint64_t kEagerShare = 2;

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
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(landing_bytes / kEagerShare / peers, kLeastAllowance, kMostAllowance));
}

std::uint64_t budget_for(std::uint64_t landing_bytes, int size) {
    const std::uint64_t reserved = std::uint64_t{allowance_for(landing_bytes, size)} * static_cast<std::uint64_t>(std::max(0, size - 1));
    return landing_bytes - std::min(reserved, landing_bytes / kEagerShare);
}

bool fits_compact(const MessageHeader& header) {
    return header.kind == MessageKind::point_to_point && header.source <= std::numeric_limits<std::uint16_t>::max() &&
           header.communicator <= std::numeric_limits<std::uint32_t>::max() && header.tag <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

// --- Transfer and EarlyMessage: told by the transport ----------------------------------------------------------------

void Transfer::begin(Engine& its_engine) {
    engine = &its_engine;
    if (direction == Direction::send)
        its_engine.send(*this);
    else
        its_engine.receive(*this);
}

void Transfer::abandon(Engine& its_engine, const Error& error) { its_engine.abandon(*this, error); }

void Transfer::complete(Outcome outcome) noexcept {
    if (outcome == Outcome::ok)
        engine->finish(*this);
    else
        engine->lose(*this);
}

void EarlyMessage::complete(Outcome outcome) noexcept { engine->after_landing(*this, outcome); }

// --- Engine ----------------------------------------------------------------------------------------------------------

Engine::Engine(transport::Transport& transport, FrameArena& arena, Options options)
    : transport_(transport),
      arena_(arena),
      options_(std::move(options)),
      granted_(allowance_for(options_.landing_bytes, options_.size)),
      peers_(options_.size, PeerState{.allowance = granted_, .accepts_data = accepts_eager_data()}),
      landing_(budget_for(options_.landing_bytes, options_.size), options_.landing_longest) {
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

std::optional<Error> Engine::loss() const {
    if (ended_) return *ended_;
    if (!dead_.empty()) return dead(dead_.begin()->first);
    if (!unreachable_.empty()) return dead(unreachable_.front().peer);
    if (!lost_.empty()) return dead(lost_.front().first->peer());
    return std::nullopt;
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

std::uint64_t Engine::expect_communicator() {
    expected_.push_back(next_turn_++ * static_cast<std::uint64_t>(options_.size) + static_cast<std::uint64_t>(options_.rank));
    return expected_.back();
}

void Engine::stop_expecting(std::uint64_t number) {
    std::erase(expected_, number);
    std::erase_if(removed_, [&](std::uint64_t id) { return turn_of(id) < lowest_turn_expected(); });
    let_go_of_past();
}

void Engine::add(CommunicatorState& communicator) {
    communicators_.emplace(communicator.group->id, &communicator);
    next_turn_ = std::max(next_turn_, turn_of(communicator.group->id) + 1);
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
    gone_.push_back(
        {communicator.group->id, communicator.begun, communicator.signalled, communicator.broken_from, std::move(communicator.broken)});
    if (gone_.size() > kGoneRemembered) gone_.pop_front();
    const std::uint64_t id = communicator.group->id;
    communicators_.erase(id);
    if (turn_of(id) >= lowest_turn_expected()) removed_.insert(id);
    let_go_of_past();
}

// --- sending ---------------------------------------------------------------------------------------------------------

Transfer& Engine::new_transfer(Operation& operation, Transfer::Direction direction, int peer, transport::Bytes buffer, std::uint64_t step) {
    auto* transfer = new (arena_.allocate(sizeof(Transfer))) Transfer(direction, peer, operation.communicator_.group->id, step, buffer);
    transfer->key.sequence = operation.sequence_;
    transfer->engine = this;
    transfer->operation = &operation;
    transfer->next = operation.transfers_;
    if (operation.transfers_) operation.transfers_->previous = transfer;
    operation.transfers_ = transfer;
    return *transfer;
}

bool Engine::take_allowance(PeerState& peer, std::uint64_t bytes) {
    if (peer.allowance < kEntryCharge + bytes || (bytes != 0 && !peer.accepts_data)) return false;
    peer.allowance -= kEntryCharge + static_cast<std::uint32_t>(bytes);
    return true;
}

std::uint32_t Engine::take_owed(int peer, std::uint32_t unit, std::uint32_t most) {
    if (owed_ == 0) return 0;  // to nobody: what is kept of this peer is not looked at
    PeerState& state = peers_[peer];
    const std::uint32_t taken = std::min(state.owed / unit, most) * unit;
    state.owed -= taken;
    owed_ -= taken;
    return taken;
}

void Engine::send(Transfer& transfer) {
    if (losses_ && (ended_ || dead_.contains(transfer.peer()))) return finish_failed(transfer, dead(transfer.peer()));
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
        header.base.ordinal = transfer.ordinal = peers_[transfer.peer()].sent++;
    }
    ConstBytes payload = transfer.buffer;
    const bool eager = size <= options_.eager_bytes && take_allowance(peers_[transfer.peer()], size);
    if (!eager) {
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
        compact.credit = static_cast<std::uint8_t>(take_owed(transfer.peer(), kCreditUnit, 255) / kCreditUnit);
        compact.source = static_cast<std::uint16_t>(header.base.source);
        compact.communicator = static_cast<std::uint32_t>(header.base.communicator);
        compact.tag = static_cast<std::uint32_t>(header.base.tag);
        compact.ordinal = header.base.ordinal;
        bytes = std::as_bytes(std::span(&compact, 1));
    } else {
        header.base.credit = take_owed(transfer.peer());
    }
    switch (transport_.send(transfer.peer(), bytes, payload, eager ? Path::eager : Path::large, transfer)) {
        case Started::done: return finish(transfer);
        case Started::failed: return lose(transfer);
        case Started::pending: return;
    }
}

void Engine::send_control(int peer, MessageKind kind, const CollectiveHeader& its_header, std::string_view text) {
    if (ended_ || closing_ || dead_.contains(peer)) return;  // closing: nobody waits for a word, and connections are being closed
    CollectiveHeader header = its_header;
    header.base.kind = kind;
    header.base.source = options_.rank;
    header.base.credit = take_owed(peer);
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
    owed_ += charge;
    if (state.owed >= granted_ / 2) send_control(peer, MessageKind::credit, {});
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
        if (transfer->tell_deferred && transfer->peer() == header.base.source && transfer->key.tag == header.base.tag)
            transfer->deferred = true;
    touch(*operation);
}

void Engine::finish(Transfer& transfer) {
    transfer.stage = Transfer::Stage::done;
    if (EarlyMessage* early = std::exchange(transfer.early, nullptr)) free_early(*early);
    if (transfer.withdrawn) std::erase_if(withdrawn_, [&](const auto& withdrawn) { return withdrawn.first == &transfer; });
    Operation* operation = transfer.operation;
    if (!operation) {
        ++finished_;
        transfer.set_done();  // the caller may be gone with it now
        return;
    }
    (transfer.previous ? transfer.previous->next : operation->transfers_) = transfer.next;
    if (transfer.next) transfer.next->previous = transfer.previous;
    if (transfer.key.tag == Operation::kArrivedStep && transfer.direction == Transfer::Direction::receive && operation->arrivals_ &&
        !operation->failed())
        operation->arrivals_->see(rank_in(*operation->communicator_.group, transfer.peer()));
    if (transfer.released) free_transfer(transfer);
    touch(*operation);
}

// The transport could not do it. Who is to blame is not known for sure: a peer may have left because of another's death,
// of which this rank has not heard yet. So it waits a moment for better word; see tick().
void Engine::lose(Transfer& transfer) {
    const bool known =
        ended_ || dead_.contains(transfer.peer()) || transfer.withdrawn || (transfer.operation && transfer.operation->failed());
    if (known) return finish_failed(transfer, dead(transfer.peer()));
    transfer.stage = Transfer::Stage::lost;
    lost_.emplace_back(&transfer, transport_.now());
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
                break_communicator(operation->communicator_, operation->sequence_, named, true);
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
        case Transfer::Stage::lost:
            std::erase_if(lost_, [&](const auto& lost) { return lost.first == &transfer; });
            return finish(transfer);
        case Transfer::Stage::moving: break;
    }
    if (transfer.withdrawn) return;
    transfer.withdrawn = true;
    withdrawn_.emplace_back(&transfer, transport_.now());
    if (transfer.direction == Transfer::Direction::send && transfer.large) {
        CollectiveHeader header;
        header.base.communicator = transfer.key.communicator;
        header.base.tag = transfer.key.tag;
        if (!transfer.operation) header.base.ordinal = transfer.ordinal;
        header.sequence = transfer.key.sequence;
        send_control(transfer.peer(), MessageKind::retract, header);
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
    if (communicator.is_broken_at(operation.sequence_)) {
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
    if (!operation.failed()) {
        std::coroutine_handle<> next;
        if (operation.wait_point_) {
            if (!operation.wait_point_->ready()) return;
            operation.wait_point_ = nullptr;
            next = operation.handle_;
        } else if (operation.task_ && !operation.task_.done()) {
            next = operation.task_.handle();  // not started yet
        }
        if (next) next.resume();
        // It waits again. (Its outermost frame would say so too, but that is in no cache.)
        if (operation.wait_point_ && !operation.failed()) return;
        if (next && operation.task_.done() && operation.task_.exception()) {
            try {
                std::rethrow_exception(operation.task_.exception());
            } catch (const Error& error) {
                break_communicator(operation.communicator_, operation.sequence_, error, true);
            } catch (const std::exception& error) {
                break_communicator(operation.communicator_, operation.sequence_,
                                   Error(ErrorCode::state, fmt::format("{}: {}", operation.describe(), error.what())), true);
            }
        }
    }
    if (operation.failed()) {
        // Its frames stay until the last transfer has ended: buffers of transfers may live in them.
        operation.wait_point_ = nullptr;
        if (operation.arrivals_) std::erase(watching_, &operation);
        operation.arrivals_.reset();
        std::erase(listening_, &operation);
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
            if (transfer->stage == Transfer::Stage::posted && transfer->key.tag == Operation::kArrivedStep) withdraw(*transfer);
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
    if (operation.turn_) end_turn(operation);
    Operation** link_to = &communicator.active;
    while (*link_to != &operation) link_to = &(*link_to)->next_active_;
    *link_to = operation.next_active_;
    --active_operations_;
    let_go_of(communicator, operation.sequence_, operation.sequence_);
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
    break_communicator(operation.communicator_, operation.sequence_, error, true);
    run_ready();
}

// --- the board -------------------------------------------------------------------------------------------------------

void Engine::see(Operation& operation, int rank, const BoardSlot& slot) {
    Arrivals& arrivals = *operation.arrivals_;
    if (slot.tells_of_arrival(operation.sequence_) ? arrivals.see(rank) : arrivals.predicts(rank, slot.predicted)) touch(operation);
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
            see(*operation, unseen[i], slot);
            if (!slot.tells_of_arrival(operation->sequence_)) {
                ++i;
                continue;
            }
            unseen[i] = unseen.back();
            unseen.pop_back();
            ++seen;
        }
    }
    return seen;
}

void Engine::on_board_changed(std::uint64_t offset, std::uint64_t) noexcept {
    listen();
    if (watching_.empty()) return;
    const std::uint64_t slot_number = slot_at(offset);
    const BoardSlot slot = read_slot(transport_.board(), slot_number);
    for (Operation* operation : watching_) {
        const Group& group = *operation->communicator_.group;
        const std::uint64_t first = group.slot_of(operation->rank(), 0);
        if (slot_number < first || slot_number >= first + static_cast<std::uint64_t>(group.size)) continue;
        if (slot.sequence >= operation->sequence_ && slot.whole(group.id)) see(*operation, static_cast<int>(slot_number - first), slot);
    }
}

}  // namespace rollcall::runtime
