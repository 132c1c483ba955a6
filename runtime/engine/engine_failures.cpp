// What the engine does when it loses a peer, and when a communicator can no longer be used.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/deputy.hpp"
#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

// How long a suspicion waits for a better explanation from the bootstrap.
constexpr Nanoseconds kSuspicionGrace = 500 * kMillisecond;
// What has come already is taken at once when a peer has died: until this many looks in a row have found nothing, but not for longer. The
// others may go on sending. This thread may lose its core, so there are at least as many looks as empty the queues of a transport.
constexpr unsigned kLooksForNothing = 8;
constexpr unsigned kLeastLooks = 512;
constexpr Nanoseconds kTakesFor = 5 * kMillisecond;
constexpr unsigned kMostLooks = 100'000;  // virtual time may stand still
// The notice of a death may overtake, on another way, what the peer sent over TCP before. So it is heard out: until its kernel closes the
// connection, which the transport tells, or for this time. If the transport still works for this peer then, it goes on, but not longer than
// kHearsLongest.
constexpr Nanoseconds kHearsFor = 20 * kMillisecond;
constexpr Nanoseconds kHearsLongest = 200 * kMillisecond;
// How often the engine checks which peers are waited for, when the last check found none on another host.
constexpr Nanoseconds kBetweenLooks = 1'000'000'000;
// A program that polls for messages (try_next_size()) counts as waiting for their senders if it polls again within this time.
constexpr Nanoseconds kWaitsByLooking = 2 * kBetweenLooks;

}  // namespace

Engine::UnderWay Engine::under_way() const noexcept {
    std::uint64_t callers = active_.size() + deputies_.attached_callers();
    communicators_.for_each([&](const CommunicatorState& each) { callers += each.announced != nullptr; });
    return {callers - deputies_.under_way(), begun_ - finished_ - callers - kept_sends_.size()};
}

std::string Engine::examples_under_way() const {
    std::string operation, message;
    active_.for_each([&](const Operation& each) {
        const bool has_caller = !each.own_deputy() || each.own_deputy()->has_caller();
        if (operation.empty() && has_caller) operation = each.describe();
    });
    communicators_.for_each([&](const CommunicatorState& each) {
        if (operation.empty() && each.announced) operation = each.announced->describe();
    });
    const auto name = [&](const std::string& what, const MatchKey& key) {
        const CommunicatorState* const on = communicators_.find(key.communicator);
        if (!message.empty() || !on) return;
        message = fmt::format("{} with tag {} from rank {} of {}", what, key.tag, on->group->rank_of(key.source), on->group->name);
    };
    posted_.for_each([&](const Transfer& each) {
        if (!each.operation) name(fmt::format("a receive of {} bytes", each.buffer.size), each.key);
    });
    peeks_.for_each([&](const Peek& each) { name("a wait for a message", each.key); });
    return operation + (operation.empty() || message.empty() ? "" : " and ") + message;
}

const Error* Engine::untold() const {
    return communicators_.untold([&](const Error& error) { return peers_.is_excused(error.failed_rank()); });
}

// No operation from this sequence number on can succeed. Earlier operations can: a rank that had come to a later one has gone through with
// them.
void Engine::break_communicator(CommunicatorState& communicator, std::uint64_t from, const Error& error, bool tell) {
    if (communicator.is_broken_at(from)) return;
    communicator.broken = std::make_unique<Error>(error);
    communicator.broken_from = from;
    // (A caller that was told of a failure from a later call on has been told.)
    active_.for_each([&](Operation& operation) {
        if (&operation.communicator_ != &communicator || operation.sequence() < from || operation.failed()) return;
        communicator.broken_told |= !operation.own_deputy() || operation.own_deputy()->has_caller();
        fail(operation, error);
    });
    if (Operation* const announced = communicator.announced; announced && announced->sequence() >= from) {
        communicator.announced = nullptr;
        communicator.broken_told = true;
        announced->set_error(error);
        deputies_.let_caller_go(*announced);
    }
    // No receive will ever want the early messages of this communicator, and their senders wait. No caller will take what deputies have.
    early_.let_go_of_broken(communicator);
    deputies_.let_go_of_ended(communicator);
    if (node())
        node()->withdraw(
            [&](const Group& group, std::uint64_t sequence) { return group.id == communicator.group->id && sequence >= from; });
    if (tell) announcements_.begin(communicator);
}

void Engine::tick(Nanoseconds now) noexcept {
    due_ = kNever;
    if (node_.owes_nudges()) node_.nudge_again();
    early_.land_waiting();
    if (active_.size() > 0) want_tick(questions_.ask(now));
    if (announces_) want_tick(announcements_.tick(now));
    if (agrees_) want_tick(agreements_.tick(now));
    if (awaits_peers_) look_for_signs_of_life(now);
    if (!peers_.any_suspected() && !ending_) return;
    bool hears_earlier = false;
    for (const int peer : peers_.suspected_for(kSuspicionGrace, now)) {
        if (peers_.is_heard_out(peer) && (hears_earlier || may_still_send(peer, now)))
            hears_earlier = true;
        else
            declare_gone(peer, std::string(peers_.find(peer)->what));
    }
    if (ending_ && !peers_.any_heard_out()) end_job();
    want_tick(peers_.next_suspicion_over(kSuspicionGrace));
}

// Checks whether the hosts of the peers that this rank waits for still answer over the network. Nothing else would show it, because nothing
// fails while nothing is sent.
void Engine::look_for_signs_of_life(Nanoseconds now) {
    if (closing_) return;
    if (now < next_look_) return want_tick(next_look_);
    std::vector<int> awaited;
    posted_.for_each([&](const Transfer& transfer) { awaited.push_back(transfer.peer()); });
    peeks_.for_each([&](const Peek& peek) { awaited.push_back(peek.key.source); });
    active_.for_each([&](const Operation& operation) { operation.add_awaited(awaited); });
    std::erase_if(looked_for_, [&](int peer) {
        const bool is_past = now - peers_[peer].looked_for > kWaitsByLooking;
        if (is_past)
            peers_[peer].looked_for = -1;
        else
            awaited.push_back(peer);
        return is_past;
    });
    agreements_.add_awaited(awaited);
    transport_.add_pending(awaited);
    const SignsOfLife::Look look = signs_of_life_->look(now, awaited);
    for (const SignsOfLife::Silence& silence : look.silent)
        for (const int rank : silence.ranks) suspect(rank, silence.what);
    awaits_peers_ = look.next != kNever;
    next_look_ = awaits_peers_ ? look.next : now + kBetweenLooks;
    if (awaits_peers_) want_tick(next_look_);
}

void Engine::set_signs_of_life(SignsOfLife* signs) {
    signs_of_life_ = signs;
    has_signs_ = signs != nullptr;
}

void Engine::suspect(int peer, std::string what) {
    const Nanoseconds now = machine_.now();
    if (!closing_ && peers_.suspect(peer, std::move(what), now)) want_tick(now + kSuspicionGrace);
}

void Engine::on_peer_unreachable(int peer, std::string_view why) noexcept {
    if (peers_.is_heard_out(peer)) {
        // All that it has sent has come. This is a callback of progress(), so it is declared gone in the next tick.
        peers_.hear_until(peer, 0);
        return want_tick(0);
    }
    suspect(peer, {});
    if (!closing_) peers_.explain(peer, fmt::format("became unreachable: {}", why));
}

void Engine::on_deaf(int peer) noexcept {
    if (closing_ || ended_ || ending_) return;
    ending_ = std::make_unique<Error>(
        ErrorCode::peer_failed,
        fmt::format("rank {} receives no more messages, because rank {} died while it wrote one into its memory", options_.rank, peer),
        peer);
    want_tick(0);  // this is a callback of progress()
}

void Engine::on_death(int rank, const std::string& how) {
    if (closing_ || peers_.is_dead_or_gone(rank)) return;
    // What memory brings is there when a process has died. If the transport has lost the peer, nothing comes any more. But the rank may
    // have died because of one that is heard out, and errors name the first.
    // Where the whole job ends, later deaths do not put that off.
    const bool may_come = peers_[rank].over_tcp && !peers_.find(rank) && !ending_;
    if (!may_come && !peers_.any_heard_out()) return declare_gone(rank, how);
    const Nanoseconds now = machine_.now();
    peers_.hear_out(rank, how, now, may_come ? now + kHearsFor : 0);
    want_tick(peers_.next_suspicion_over(kSuspicionGrace));
}

// A message whose send has succeeded may be here already, and a thread that waits for it must get it although its sender is dead now.
void Engine::take_what_has_come() {
    const Nanoseconds until = machine_.now() + kTakesFor;
    for (unsigned nothing = 0, looks = 0; nothing < kLooksForNothing && looks < kMostLooks; ++looks) {
        if (looks >= kLeastLooks && machine_.now() >= until) return;
        nothing = progress() ? 0 : nothing + 1;
    }
}

bool Engine::may_still_send(int peer, Nanoseconds now) {
    const Peers::Trouble& trouble = *peers_.find(peer);
    if (trouble.standing != Peers::Standing::dead || trouble.heard_until == 0 || now - trouble.since >= kHearsLongest) return false;
    std::vector<int> busy;
    transport_.add_pending(busy);
    if (std::find(busy.begin(), busy.end(), peer) == busy.end()) return false;
    peers_.hear_until(peer, now + kHearsFor);
    return true;
}

void Engine::declare_gone(int peer, const std::string& what) {
    if (node_.mail()) node_.take_mail();  // what the peer wrote before it was lost
    const auto undecided = peers_.declare_gone(peer, what);
    if (!undecided) return;
    ++look_changes_;
    const Error error = dead(peer);
    fail_posted(peer, error);
    communicators_.for_each([&](CommunicatorState& communicator) {
        if (communicator.group->rank_of(peer) < 0) return;
        active_.for_each([&](Operation& operation) {
            if (&operation.communicator_ == &communicator && !operation.failed())
                fail(operation, Error(error.code(), fmt::format("{}: {}", operation.describe(), error.what()), peer));
        });
        break_communicator(communicator, 0,
                           Error(error.code(), fmt::format("communicator {}: {}", communicator.group->name, error.what()), peer), false);
    });
    // Includes communicators that this rank has destroyed.
    if (node()) {
        node()->withdraw([&](const Group& group, std::uint64_t) { return group.rank_of(peer) >= 0; });
        node()->mappings().forget();  // those of the peer would keep its memory
    }
    for (Transfer* transfer : *undecided) finish_failed(*transfer, error);
    fail_backlog(peer, error);
    transport_.disconnect(peer);
    agreements_.lose(peer);
    run_ready();
}

void Engine::fail_backlog(int peer, const Error& error) {
    while (Transfer* transfer = backlog_.first(peer)) {
        backlog_.remove(*transfer);
        finish_failed(*transfer, error);
    }
    backlog_.forget(peer);
}

void Engine::fail_posted(int peer, const Error& error, std::uint64_t communicator) {
    const auto is_one = [&](const MatchKey& key) {
        return (peer < 0 || key.source == peer) && (communicator == 0 || key.communicator == communicator);
    };
    std::vector<Transfer*> waiting;
    posted_.for_each([&](Transfer& transfer) {
        if (is_one(transfer.key) && !transfer.operation) waiting.push_back(&transfer);
    });
    for (Transfer* transfer : waiting) {
        posted_.remove(*transfer);
        if (peers_[transfer->peer()].has_backlog) ask_for(transfer->key, MessageKind::unwanted);
        finish_failed(*transfer, error);
    }
    peeks_.for_each([&](Peek& peek) {
        if (is_one(peek.key)) end_peek(peek, &error);
    });
}

void Engine::on_job_ended(const std::string& why, int by) {
    if (ended_ || ending_ || closing_) return;
    ending_ = std::make_unique<Error>(ErrorCode::peer_failed, why, by);
    if (!peers_.any_heard_out()) end_job();
}

void Engine::end_job() {
    ended_ = std::move(ending_);
    ++look_changes_;
    fail_posted(-1, *ended_);
    agreements_.end(*ended_);
    communicators_.for_each([&](CommunicatorState& communicator) { break_communicator(communicator, 0, *ended_, false); });
    // Also this rank: what it has sent to itself may be stuck in its own queue (on_deaf()).
    for (int peer = 0; peer < options_.size; ++peer) {
        if (const auto undecided = peers_.declare_gone(peer, {}))
            for (Transfer* transfer : *undecided) finish_failed(*transfer, *ended_);
        fail_backlog(peer, *ended_);
        transport_.disconnect(peer);
    }
    run_ready();
}

}  // namespace rollcall::runtime
