// The engine's word with other ranks: control messages, calls that do not match, ranks that died, calls that are stuck.
#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "runtime/lane/engine.hpp"

namespace rollcall::runtime {
namespace {

using transport::ConstBytes;

// How long a peer has to give a buffer back that was asked back, before the connection to it is cut.
constexpr Nanoseconds kWithdrawGrace = 1'000'000'000;
// How long the transport's word that a peer is unreachable waits for the better word of whoever started the job.
constexpr Nanoseconds kUnreachableGrace = 100'000'000;
// A probe goes to at most this many ranks at a time; to the next so many after a while.
constexpr std::ptrdiff_t kProbedAtOnce = 16;

}  // namespace

// No operation from this sequence number on can succeed. Earlier ones can: whoever was in a later one has gone through
// with them.
void Engine::break_communicator(CommunicatorState& communicator, std::uint64_t from, const Error& error, bool tell) {
    if (communicator.is_broken_at(from)) return;
    communicator.broken = std::make_unique<Error>(error);
    communicator.broken_from = from;
    for (Operation* operation = communicator.active; operation; operation = operation->next_active_)
        if (operation->sequence_ >= from && !operation->failed()) fail(*operation, error);
    // Nobody will ever want what came early for it, and its senders wait.
    let_go_of(communicator, from, kLastSequence);
    if (!tell) return;
    for (int member = 0; member < communicator.group->size; ++member)
        if (member != communicator.rank) tell_broken(communicator, communicator.group->world_rank(member));
}

void Engine::tell_broken(const CommunicatorState& communicator, int peer) {
    tell_failed(peer, communicator.group->id, communicator.broken_from, *communicator.broken);
}

void Engine::tell_failed(int peer, std::uint64_t communicator, std::uint64_t from, const Error& error) {
    CollectiveHeader header;
    header.base.communicator = communicator;
    header.base.code = static_cast<std::uint8_t>(error.code());
    header.sequence = from;
    header.call.root = error.failed_rank();
    send_control(peer, MessageKind::failed, header, error.what());
}

void Engine::answer(const CollectiveHeader& probe, CommunicatorState& communicator) {
    // The news may have come before the asking rank knew this communicator.
    if (communicator.is_broken_at(probe.sequence)) return tell_broken(communicator, probe.base.source);
    if (!check_call(communicator, probe.sequence, probe.call, probe.base.source)) return;
    const Operation* operation = find_active(communicator, probe.sequence);
    tell_entered(probe, operation ? operation->has_arrived() : probe.sequence <= communicator.begun, communicator.signalled);
}

// What this rank wrote for a communicator that it has destroyed may be lost, too. And who waits for it in an operation that it
// will never call is told so.
void Engine::answer_for_gone(const CollectiveHeader& probe) {
    const auto gone = std::find_if(gone_.begin(), gone_.end(), [&](const Gone& it) { return it.id == probe.base.communicator; });
    if (gone == gone_.end()) return;
    if (gone->broken && probe.sequence >= gone->broken_from)
        return tell_failed(probe.base.source, gone->id, gone->broken_from, *gone->broken);
    if (probe.sequence <= gone->begun) return tell_entered(probe, true, gone->signalled);
    tell_failed(probe.base.source, gone->id, probe.sequence,
                Error(ErrorCode::state,
                      fmt::format("{} has destroyed its communicator (or plan) after {} operations, and cannot take part in the next",
                                  name_of(options_.rank), gone->begun),
                      options_.rank));
}

// A notice or signal on the board of the asking rank can be overwritten: by a late one of a communicator that had the slot before,
// or an older one of this communicator, for puts may overtake each other. A message cannot.
void Engine::tell_entered(const CollectiveHeader& probe, bool arrived, std::span<const std::uint64_t> signalled) {
    CollectiveHeader header;
    header.base.communicator = probe.base.communicator;
    header.sequence = probe.sequence;
    if (arrived) header.base.flags |= kHasArrived;
    if (std::find(signalled.begin(), signalled.end(), probe.sequence) != signalled.end()) header.base.flags |= kHasSignalled;
    if (header.base.flags) send_control(probe.base.source, MessageKind::entered, header);
}

void Engine::on_entered(const CollectiveHeader& header) {
    CommunicatorState* communicator = find(header.base.communicator);
    Operation* operation = communicator ? find_active(*communicator, header.sequence) : nullptr;
    const int member = operation ? rank_in(*communicator->group, header.base.source) : -1;
    if (member < 0 || operation->failed()) return;
    if ((header.base.flags & kHasArrived) && operation->arrivals_) {
        std::erase(operation->arrivals_->unseen_, member);
        if (operation->arrivals_->see(member)) touch(*operation);
    }
    if ((header.base.flags & kHasSignalled) && operation->listens_ > 0) {
        operation->hear(member);
        listen();
    }
}

void Engine::mismatch(CommunicatorState& communicator, std::uint64_t sequence, const Call& mine, const Call& other, int source) {
    const Group& group = *communicator.group;
    int first = communicator.rank, second = rank_in(group, source);
    const Call *first_call = &mine, *second_call = &other;
    if (second < first) {
        std::swap(first, second);
        std::swap(first_call, second_call);
    }
    const bool same_request = mine.same_request(other);
    const auto in_words = [&](const Call& call) { return same_request ? to_string(call, options_.algorithm_name) : to_string(call); };
    const char* const advice =
        same_request ? "All ranks must do it in the same way: give them the same options and ROLLCALL_ settings"
                     : "All ranks of a communicator must call the same operations in the same order, with the same root and size";
    break_communicator(
        communicator, sequence,
        Error(ErrorCode::mismatch,
              fmt::format("the calls at sequence {} of communicator {} do not match: rank {} called {}, rank {} called {}. {}", sequence,
                          group.name, first, in_words(*first_call), second, in_words(*second_call), advice),
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
            if (communicator)
                answer(header, *communicator);
            else
                answer_for_gone(header);
            return;
        case MessageKind::entered: return on_entered(header);
        case MessageKind::failed:
            if (communicator && payload.data)
                break_communicator(*communicator, header.sequence,
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

// Asks some of those whom the operation waits for, in a round all of them: any one's word may be what got lost, while the others
// are only late.
void Engine::probe(Operation& operation) {
    const Group& group = *operation.communicator_.group;
    std::vector<int> peers;
    for (Transfer* transfer = operation.transfers_; transfer; transfer = transfer->next)
        if (transfer->stage == Transfer::Stage::posted) peers.push_back(transfer->peer());
    if (operation.arrivals_)
        for (const int member : operation.arrivals_->unseen_)
            if (!operation.arrivals_->seen_[static_cast<std::size_t>(member)]) peers.push_back(group.world_rank(member));
    for (int i = 0, member = operation.listens_from_; i < operation.listens_; ++i, member = operation.wrapped(member + 1))
        if (!operation.has_signalled(member)) peers.push_back(group.world_rank(member));
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());

    CollectiveHeader header;
    header.base.communicator = group.id;
    header.sequence = operation.sequence_;
    header.call = operation.call_;
    auto next = std::lower_bound(peers.begin(), peers.end(), operation.probe_next_);
    for (const auto end = next + std::min(kProbedAtOnce, peers.end() - next); next != end; ++next)
        send_control(*next, MessageKind::probe, header);
    operation.probe_next_ = next == peers.end() ? 0 : *next;
}

Nanoseconds Engine::tick(Nanoseconds now) {
    Nanoseconds next = std::numeric_limits<Nanoseconds>::max();
    for (const auto& [id, communicator] : communicators_)
        for (Operation* operation = communicator->active; operation; operation = operation->next_active_) {
            if (!operation->has_arrived()) continue;  // who waits for its own caller asks nobody
            if (!operation->probed_at_) operation->begun_at_ = operation->probed_at_ = now;
            // Asked again at growing intervals: the other side may not have got there when it was first asked.
            const auto interval = [&] {
                if (operation->probe_next_) return options_.mismatch_probe;
                return std::max(options_.mismatch_probe, operation->probed_at_ - operation->begun_at_);
            };
            if (now - operation->probed_at_ >= interval()) {
                probe(*operation);
                operation->probed_at_ = now;
            }
            next = std::min(next, operation->probed_at_ + interval());
        }
    for (std::size_t i = 0; i < unreachable_.size();) {
        if (now - unreachable_[i].since < kUnreachableGrace) {
            next = std::min(next, unreachable_[i++].since + kUnreachableGrace);
            continue;
        }
        const Unreachable gone = unreachable_[i];
        on_death(gone.peer, fmt::format("became unreachable: {}", gone.why));
    }
    while (!lost_.empty() && now - lost_.front().second >= kUnreachableGrace) {
        Transfer* transfer = lost_.front().first;
        lost_.erase(lost_.begin());
        finish_failed(*transfer, dead(transfer->peer()));
    }
    if (!lost_.empty()) next = std::min(next, lost_.front().second + kUnreachableGrace);
    std::vector<int> cut;
    for (const auto& [transfer, since] : withdrawn_) {
        if (now - since >= kWithdrawGrace)
            cut.push_back(transfer->peer());
        else
            next = std::min(next, since + kWithdrawGrace);
    }
    for (const int peer : cut) transport_.disconnect(peer);
    return next;
}

// Those with this peer, or with all (-1).
void Engine::fail_lost(int peer) {
    const auto first =
        std::stable_partition(lost_.begin(), lost_.end(), [&](const auto& lost) { return peer >= 0 && lost.first->peer() != peer; });
    const std::vector<std::pair<Transfer*, Nanoseconds>> known(first, lost_.end());
    lost_.erase(first, lost_.end());
    for (const auto& [transfer, since] : known) finish_failed(*transfer, dead(transfer->peer()));
}

void Engine::on_peer_unreachable(int peer, std::string_view why) noexcept {
    if (closing_ || dead_.contains(peer)) return;
    unreachable_.push_back({peer, transport_.now(), std::string(why)});
}

void Engine::on_death(int rank, const std::string& how) {
    std::erase_if(unreachable_, [&](const Unreachable& unreachable) { return unreachable.peer == rank; });
    if (closing_ || !dead_.emplace(rank, how).second) return;
    losses_ = true;
    const Error error = dead(rank);
    std::vector<Transfer*> waiting;
    posted_.for_each([&](Transfer& transfer) {
        if (transfer.peer() == rank && !transfer.operation) waiting.push_back(&transfer);
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
        break_communicator(*communicator, 0,
                           Error(error.code(), fmt::format("communicator {}: {}", communicator->group->name, error.what()), rank), false);
    }
    fail_lost(rank);
    transport_.disconnect(rank);
    run_ready();
}

void Engine::on_job_ended(const std::string& why) {
    if (ended_ || closing_) return;
    ended_ = std::make_unique<Error>(ErrorCode::peer_failed, why);
    losses_ = true;
    std::vector<Transfer*> waiting;
    posted_.for_each([&](Transfer& transfer) {
        if (!transfer.operation) waiting.push_back(&transfer);
    });
    for (Transfer* transfer : waiting) {
        posted_.remove(*transfer);
        finish_failed(*transfer, *ended_);
    }
    for (const auto& [id, communicator] : communicators_) break_communicator(*communicator, 0, *ended_, false);
    fail_lost(-1);
    for (int peer = 0; peer < options_.size; ++peer)
        if (peer != options_.rank) transport_.disconnect(peer);
    run_ready();
}

}  // namespace rollcall::runtime
