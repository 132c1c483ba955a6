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
// A probe goes to at most this many ranks at a time.
constexpr int kProbedAtOnce = 16;

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
    CollectiveHeader header;
    header.base.communicator = communicator.group->id;
    header.sequence = communicator.broken_from;
    header.base.code = static_cast<std::uint8_t>(communicator.broken->code());
    header.call.root = communicator.broken->failed_rank();
    send_control(peer, MessageKind::failed, header, communicator.broken->what());
}

// Who waits for this rank in an operation that it will never call is told so.
void Engine::tell_gone(const CollectiveHeader& probe) {
    const auto gone = std::find_if(gone_.begin(), gone_.end(), [&](const Gone& it) { return it.id == probe.base.communicator; });
    if (gone == gone_.end() || probe.sequence <= gone->begun) return;
    CollectiveHeader header;
    header.base.communicator = gone->id;
    header.sequence = probe.sequence;
    header.base.code = static_cast<std::uint8_t>(ErrorCode::state);
    header.call.root = options_.rank;
    send_control(probe.base.source, MessageKind::failed, header,
                 fmt::format("{} has destroyed its communicator (or plan) after {} operations, and cannot take part in the next",
                             name_of(options_.rank), gone->begun));
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
            if (!communicator) return tell_gone(header);
            // The news may have come before the asking rank knew this communicator.
            if (communicator->is_broken_at(header.sequence)) return tell_broken(*communicator, header.base.source);
            if (check_call(*communicator, header.sequence, header.call, header.base.source)) signal_again(*communicator, header);
            return;
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

void Engine::probe(Operation& operation) {
    CollectiveHeader header;
    header.base.communicator = operation.communicator_.group->id;
    header.sequence = operation.sequence_;
    header.call = operation.call_;
    int asked = 0;
    for (Transfer* transfer = operation.transfers_; transfer && asked < kProbedAtOnce; transfer = transfer->next)
        if (transfer->stage == Transfer::Stage::posted) {
            send_control(transfer->peer(), MessageKind::probe, header);
            ++asked;
        }
    if (operation.arrivals_)
        for (const int member : operation.arrivals_->unseen_) {
            if (asked++ >= kProbedAtOnce) break;
            send_control(operation.communicator_.group->world_rank(member), MessageKind::probe, header);
        }
    for (int i = 0, member = operation.listens_from_; i < operation.listens_; ++i, member = operation.wrapped(member + 1)) {
        if (operation.has_signalled(member)) continue;
        if (asked++ >= kProbedAtOnce) break;
        send_control(operation.communicator_.group->world_rank(member), MessageKind::probe, header);
    }
}

Nanoseconds Engine::tick(Nanoseconds now) {
    Nanoseconds next = std::numeric_limits<Nanoseconds>::max();
    for (const auto& [id, communicator] : communicators_)
        for (Operation* operation = communicator->active; operation; operation = operation->next_active_) {
            if (!operation->has_arrived()) continue;  // who waits for its own caller asks nobody
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
