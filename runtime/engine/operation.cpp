#include "runtime/engine/operation.hpp"

#include <fmt/format.h>

#include "foundation/copy.hpp"
#include "runtime/engine/deputy.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/listed_receives.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::runtime {

using transport::ConstBytes;
using transport::Started;

Operation::Operation(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, Algorithm algorithm,
                     const Arguments& arguments)
    : communicator_(communicator),
      key_{communicator.group->id, sequence},
      call_(call),
      ranks_{nullptr, communicator.group->size, communicator.rank, call.root, 0},
      algorithm_(algorithm),
      arguments_(arguments) {}

FrameArena& arena_of(Operation& operation) noexcept { return operation.engine_->arena(); }

void Operation::begin(Engine& engine) {
    if (!begins_with_caller_ || communicator_.is_broken_at(sequence())) return engine.start(*this);
    engine_ = &engine;
    communicator_.announced = this;
}
void Operation::abandon(Engine& engine, const Error& error) { engine.abandon(*this, error); }

Pending Operation::send_flagged(int to, ConstBytes bytes, std::uint64_t step, std::uint8_t flags) {
    const int peer = communicator_.group->world_rank(member(to));
    transport::Bytes buffer{const_cast<void*>(bytes.data), bytes.size};
    Transfer& transfer = engine_->new_transfer(*this, Transfer::Direction::send, peer, buffer, ranks_.first_step + step);
    transfer.flags = flags;
    Pending pending(transfer);
    engine_->send(transfer);
    return pending;
}

bool Operation::is_decoupled() const noexcept { return engine_->options_.find_part_alone != nullptr; }

Pending Operation::send(int to, ConstBytes bytes, std::uint64_t step) { return send_flagged(to, bytes, step, 0); }
Pending Operation::send_ahead(int to, ConstBytes bytes, std::uint64_t step) { return send_flagged(to, bytes, step, kTellDeferred); }
Pending Operation::send_in_turn(int to, ConstBytes bytes, std::uint64_t step) { return send_flagged(to, bytes, step, kInTurn); }
Pending Operation::send_awaited(int to, ConstBytes bytes, std::uint64_t step) { return send_flagged(to, bytes, step, kAwaited); }

Pending Operation::receive(int from, transport::Bytes bytes, std::uint64_t step) { return receive(from, bytes, step, false); }

Pending Operation::receive(int from, transport::Bytes bytes, std::uint64_t step, bool listed) {
    const int peer = communicator_.group->world_rank(member(from));
    Transfer& transfer = engine_->new_transfer(*this, Transfer::Direction::receive, peer, bytes, ranks_.first_step + step);
    transfer.listed = listed;
    Pending pending(transfer);
    engine_->receive(transfer);
    return pending;
}

// In a function of its own, so that the usual paths through Engine::finish() need few registers.
[[gnu::noinline]] void Operation::note_end(const Transfer& transfer) {
    if (transfer.direction == Transfer::Direction::send || failed()) return;
    if (transfer.listed) {
        if (listed_) listed_->ended_.push_back(transfer.key.tag);
    } else if (arrivals_) {
        arrivals_->see(communicator_.group->rank_of(transfer.peer()));
    }
}

const EarlyMessage* Operation::find_early(int from, std::uint64_t step) const {
    return engine_->early_.by_key().find(
        {communicator_.group->id, key_.sequence, ranks_.first_step + step, communicator_.group->world_rank(member(from))});
}

bool Operation::is_here(int from, std::uint64_t step) const { return find_early(from, step) != nullptr; }

bool Operation::has_landed(int from, std::uint64_t step) const {
    const EarlyMessage* const early = find_early(from, step);
    // The receive of a message of another call tells all ranks of the mismatch, so it must not be put off.
    return early && early->has_landed() && call_.agrees_with(early->call);
}

void Operation::note_here(std::uint64_t bytes) {
    if (alone_) static_cast<Deputy*>(on_done_context)->note_here(bytes);
}

int Operation::called_by() const noexcept { return alone_ && !has_arrived() ? own_deputy()->source_ : -1; }

Landed Operation::take_landed(int from) {
    const int peer = communicator_.group->world_rank(member(from));
    EarlyMessage* const early =
        engine_->early_.by_call().find_if(key_, [&](const EarlyMessage& one) { return one.key.source == peer && one.has_landed(); });
    if (!early) return {};
    if (!call_.agrees_with(early->call)) {
        tell_call_differs(Call(early->call), early->caller);
        return {};
    }
    engine_->early_.forget(*early);
    if (early->size && !first_data_) first_data_ = now();
    return {*early, early->key.tag - ranks_.first_step};
}

template <class Start>
Pending Operation::inside(transport::Bytes into, std::uint64_t bytes, Start start) {
    Transfer& transfer = engine_->new_transfer(*this, Transfer::Direction::receive, engine_->rank(), into, 0);
    Pending pending(transfer);
    transfer.stage = Transfer::Stage::moving;
    transfer.received = bytes;
    if (start(transfer) == Started::done) engine_->finish(transfer);
    return pending;
}

Pending Operation::copy(transport::Bytes into, ConstBytes from) {
    if (!engine_->has_model_time_) {
        copy_bytes(into.data, from.data, from.size);
        return {};
    }
    return inside(into, from.size, [&](Transfer& transfer) { return engine_->machine_.copy(into, from, transfer); });
}

Pending Operation::combine(transport::Bytes into, ConstBytes left, ConstBytes right) {
    arguments_.combiner(into.data, left.data, right.data, into.size);
    if (!engine_->has_model_time_) return {};
    // The machine only counts the time, as for a phantom.
    return inside(into, into.size, [&](Transfer& transfer) { return engine_->machine_.spend_copy(into.size, transfer); });
}

Pending Operation::moment() {
    if (!engine_->has_model_time_) return {};
    return inside({}, 0, [&](Transfer& transfer) { return engine_->machine_.pass_moment(transfer); });
}

Nanoseconds Operation::now() const { return engine_->machine_.now(); }
Nanoseconds Operation::host_time() const { return engine_->host_clock_.at(now()); }
unsigned Operation::pieces_under_way() const { return engine_->transport_.pieces_under_way(); }

bool Operation::asks_for_way() noexcept {
    if (engine_->tells_of_puts_) return false;
    engine_->gives_way_ = true;
    return true;
}

void Operation::predict_arrival(Nanoseconds when) {
    if (done() || has_arrived()) return;
    predicted_arrival_ = when;
    if (begins_with_caller_) return;
    if (deputy_) return deputy_->operation_.predict_arrival(when);
    engine_->touch(*this);
    engine_->run_ready();
}

void Operation::arrive_at(Nanoseconds when) {
    note_arrival(when);
    arrive();
}

void Operation::arrive() {
    if (done() || has_arrived()) return;
    awaits_caller_ = false;
    if (std::exchange(begins_with_caller_, false)) {
        Engine& engine = *std::exchange(engine_, nullptr);
        communicator_.announced = nullptr;
        --engine.begun_;  // it is counted again
        return engine.begin_or_end(*this);
    }
    if (deputy_) return deputy_->meet_caller();
    engine_->watch_over_operations();
    engine_->touch(*this);
    engine_->run_ready();
}

void Operation::announce_arrival(int at) {
    if (communicator_.group->has_slots)
        put_notice(at, now());
    else
        send(at, {}, kArrivedStep);
}

void Operation::announce_prediction(int at) {
    if (communicator_.group->has_slots) put_notice(at, kUnknownTime);
}

void Operation::put_notice(int at, Nanoseconds arrival) {
    const Group& group = *communicator_.group;
    transport::Transport& transport = engine_->transport_;
    const int peer = group.world_rank(at);
    if (engine_->peers_.any_dead() && engine_->peers_.is_dead_or_gone(peer)) return;
    const auto common = [clock = communicator_.clock](Nanoseconds time) { return clock && time != kUnknownTime ? clock->at(time) : time; };
    BoardSlot slot{key_.sequence, common(arrival), common(predicted_arrival_), 0};
    slot.seal(group.id);
    transport.put(peer, slot_offset(group.slot_of(at, rank())), std::as_bytes(std::span(&slot, 1)));
    engine_->board_.wake(peer);
}

void Operation::signal(int first, int count) { engine_->board_.put_signals(*this, first, count); }

void Operation::listen_to(int first, int count) {
    listens_from_ = wrapped(first);
    listens_ = count;
    engine_->board_.listen_for(*this);
}

// A rank whose slot shows a later sequence has not signalled in this turn. It made another call, and messages tell of that.
bool Operation::has_signalled(int from) const {
    const Group& group = *communicator_.group;
    const Signal signal = read_signal(engine_->board_.board(), group.slot_of(rank(), from), turn_);
    return signal.sequence == key_.sequence && signal.whole(group.id);
}

void Operation::hear(int from) {
    const Group& group = *communicator_.group;
    Signal signal{key_.sequence, 0};
    signal.seal(group.id);
    write_signal(engine_->transport_.board().data(), group.slot_of(rank(), from), turn_, signal);
}

bool Operation::heard_all() {
    while (listens_ > 0) {
        if (!has_signalled(listens_from_)) return false;
        listens_from_ = wrapped(listens_from_ + 1);
        --listens_;
    }
    // Pairs with the release fence of the rank that signalled: what it wrote before the signal is visible after this.
    std::atomic_thread_fence(std::memory_order_acquire);
    return true;
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
    engine_->board_.watch(*this);
    return *arrivals_;
}

void Operation::add_awaited(std::vector<int>& peers) const {
    const Group& group = *communicator_.group;
    for (Transfer* transfer = transfers_; transfer; transfer = transfer->next)
        if (transfer->stage == Transfer::Stage::posted || (transfer->stage == Transfer::Stage::moving && transfer->large))
            peers.push_back(transfer->peer());  // a send that is large waits until its receiver fetches it
    if (arrivals_)
        for (const int rank : arrivals_->unseen_)
            if (!arrivals_->seen_[static_cast<std::size_t>(rank)]) peers.push_back(group.world_rank(rank));
    for (int i = 0, rank = listens_from_; i < listens_; ++i, rank = wrapped(rank + 1))
        if (!has_signalled(rank)) peers.push_back(group.world_rank(rank));
    NodeUse::add_awaited(*this, peers);
}

bool Operation::learn_arrived(int from) {
    if (!arrivals_) return false;
    std::erase(arrivals_->unseen_, from);
    return arrivals_->see(from);
}

std::string Operation::describe() const { return fmt::format("{} #{} on {}", to_string(call_), key_.sequence, communicator_.group->name); }

void Pending::drop() {
    if (!transfer_) return;
    Transfer* transfer = std::exchange(transfer_, nullptr);
    if (transfer->stage == Transfer::Stage::done)
        transfer->engine->free_transfer(*transfer);
    else
        transfer->released = true;
}

}  // namespace rollcall::runtime
