// The engine's messages to other ranks about calls: control messages, calls that do not match, and calls that are stuck.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"
#include "runtime/engine/mismatches.hpp"

namespace rollcall::runtime {
namespace {

using transport::ConstBytes;

// A probe goes to at most this many ranks at a time. The next ones are asked after a while.
constexpr std::ptrdiff_t kProbedAtOnce = 16;

/// `after` says when the rank destroyed the communicator.
Error destroyed(const std::string& name, int rank, const std::string& after) {
    return Error(ErrorCode::state,
                 fmt::format("{} has destroyed its communicator (or plan) {}, and cannot take part in the next operation", name, after),
                 rank);
}
std::string after_operations(std::uint64_t number) { return fmt::format("after {} operations", number); }

}  // namespace

std::uint64_t Engine::steps() const noexcept {
    return std::uint64_t{posted_.steps()} + early_.steps() + active_.steps() + early_by_call_.steps() + peeks_.steps() + other_steps_;
}

void Engine::tell_failed(int peer, std::uint64_t communicator, std::uint64_t from, const Error& error, std::uint8_t flags) {
    CollectiveHeader header;
    header.base.flags = flags;
    header.base.communicator = communicator;
    header.base.code = static_cast<std::uint8_t>(error.code());
    header.sequence = from;
    header.call.root = error.failed_rank();
    send_control(peer, MessageKind::failed, header, error.what());
}

void Engine::answer(const CollectiveHeader& probe, CommunicatorState& communicator) {
    // The message about the failure may be on its way.
    if (communicator.is_broken_at(probe.sequence))
        return tell_failed(probe.base.source, communicator.group->id, communicator.broken_from, *communicator.broken);
    if (!check_call(*this, communicator, probe.sequence, probe.call, probe.base.source)) return;
    if (finalizing_ && probe.sequence > communicator.begun) {
        Call mine;
        mine.kind = OperationKind::finalize;
        return fail_mismatch(*this, communicator, probe.sequence, mine, probe.call, probe.base.source);
    }
    // Parts of earlier calls still go on here without their callers.
    if (communicator.retired && probe.sequence > communicator.begun)
        return tell_failed(probe.base.source, communicator.group->id, probe.sequence,
                           destroyed(name_of(options_.rank), options_.rank, after_operations(communicator.begun)));
    const Operation* operation = find_active(communicator.group->id, probe.sequence);
    tell_entered(probe, operation ? operation->has_arrived() : probe.sequence <= communicator.begun, communicator.signalled);
}

// Signals and notices that this rank wrote for a communicator it has destroyed may be lost, too. A rank that waits for this one in an
// operation which this rank will never call is told so.
void Engine::answer_for_gone(const CollectiveHeader& probe) {
    const std::uint64_t id = probe.base.communicator;
    if (!communicators_.is_past(id)) return;  // it is still being made here
    const Communicators::Past* past = communicators_.past(id);
    if (past && past->broken && probe.sequence >= past->broken_from)
        return tell_failed(probe.base.source, id, past->broken_from, *past->broken);
    if (past && probe.sequence <= past->begun) return tell_entered(probe, true, past->signalled);
    tell_failed(probe.base.source, id, probe.sequence,
                destroyed(name_of(options_.rank), options_.rank, past ? after_operations(past->begun) : "a while ago"));
}

// A notice or a signal on the asking rank's board can be overwritten: by a late one of a communicator that had the slot before, or by an
// older one of this communicator, because puts may overtake each other. A message cannot be overwritten.
void Engine::tell_entered(const CollectiveHeader& probe, bool arrived, std::span<const std::uint64_t> signalled) {
    CollectiveHeader header;
    header.base.communicator = probe.base.communicator;
    header.sequence = probe.sequence;
    if (arrived) header.base.flags |= kHasArrived;
    if (std::find(signalled.begin(), signalled.end(), probe.sequence) != signalled.end()) header.base.flags |= kHasSignalled;
    if (header.base.flags) send_control(probe.base.source, MessageKind::entered, header);
}

void Engine::on_entered(const CollectiveHeader& header) {
    Operation* operation = find_active(header.base.communicator, header.sequence);
    const int member = operation ? operation->communicator_.group->rank_of(header.base.source) : -1;
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

void Engine::on_deferred(const CollectiveHeader& header) {
    Operation* operation = find_active(header.base.communicator, header.sequence);
    if (!operation) return;
    for (Transfer* transfer = operation->transfers_; transfer; transfer = transfer->next)
        if ((transfer->flags & kTellDeferred) && transfer->peer() == header.base.source && transfer->key.tag == header.base.tag)
            transfer->deferred = true;
    touch(*operation);
}

void Engine::on_control(const CollectiveHeader& header, ConstBytes payload) {
    CommunicatorState* communicator = communicators_.find(header.base.communicator);
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
            // The message came before its turn: only its place in the stream is kept.
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
        case MessageKind::backlog: return on_backlog(header);
        case MessageKind::agreement: return agreements_.hear(header, payload);
        case MessageKind::wanted:
        case MessageKind::unwanted: return on_wanted(header);
        case MessageKind::failed:
            if (!communicator && node_)  // destroyed here; what was published for it is no longer read
                node_->withdraw([&](const Group& group, std::uint64_t sequence) {
                    return group.id == header.base.communicator && sequence >= header.sequence;
                });
            if (payload.data) {
                const Error error(static_cast<ErrorCode>(header.base.code),
                                  std::string(static_cast<const char*>(payload.data), payload.size), header.call.root);
                if (communicator) {
                    break_communicator(*communicator, header.sequence, error, false);
                    if (header.base.flags & kTellsAll)
                        announcements_.hear(*communicator, header.sequence, communicator->group->rank_of(header.base.source));
                } else if (communicators_.is_past(header.base.communicator)) {
                    communicators_.fail_past(header.base.communicator, header.sequence, error);
                } else {
                    communicators_.foretell(header.base.communicator, header.sequence, error);
                }
            }
            return;
        case MessageKind::nudge:   // the board is looked at anyway
        case MessageKind::credit:  // reading the header has done it
        case MessageKind::point_to_point:
        case MessageKind::point_to_point_compact:
        case MessageKind::collective: return;
    }
}

void Engine::add_awaited(const Operation& operation, std::vector<int>& peers) {
    const Group& group = *operation.communicator_.group;
    for (Transfer* transfer = operation.transfers_; transfer; transfer = transfer->next)
        if (transfer->stage == Transfer::Stage::posted || (transfer->stage == Transfer::Stage::moving && transfer->large))
            peers.push_back(transfer->peer());  // a send that is large waits until its receiver fetches it
    if (operation.arrivals_)
        for (const int member : operation.arrivals_->unseen_)
            if (!operation.arrivals_->seen_[static_cast<std::size_t>(member)]) peers.push_back(group.world_rank(member));
    for (int i = 0, member = operation.listens_from_; i < operation.listens_; ++i, member = operation.wrapped(member + 1))
        if (!operation.has_signalled(member)) peers.push_back(group.world_rank(member));
    if (operation.node_uses_) add_awaited_in_node(operation, peers);
}

// Asks some of the ranks that the operation waits for, and over a round all of them: the message of any one of them may be lost, while the
// others are only late.
void Engine::probe(Operation& operation) {
    std::vector<int> peers;
    add_awaited(operation, peers);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());

    CollectiveHeader header;
    header.base.communicator = operation.communicator_.group->id;
    header.sequence = operation.sequence();
    header.call = operation.call_;
    auto next = std::lower_bound(peers.begin(), peers.end(), operation.probe_next_);
    for (const auto end = next + std::min(kProbedAtOnce, peers.end() - next); next != end; ++next)
        send_control(*next, MessageKind::probe, header);
    operation.probe_next_ = next == peers.end() ? 0 : *next;
    if (operation.node_uses_) ask_for_readers(operation);
}

// Asks the peers of all operations that are stuck. Returns when the next operation wants to ask.
Nanoseconds Engine::ask_around(Nanoseconds now) {
    asked_around_ = now;
    Nanoseconds next = kNever;
    active_.for_each([&](Operation& operation) {
        if (operation.failed() || !operation.has_arrived()) return;  // an operation that waits for its own caller asks no peer
        if (!operation.probed_at_) operation.begun_at_ = operation.probed_at_ = now;
        // It asks again at growing intervals: the other side may not have reached the call when it was first asked.
        const auto interval = [&] {
            if (operation.probe_next_) return options_.mismatch_probe;
            return std::max(options_.mismatch_probe, operation.probed_at_ - operation.begun_at_);
        };
        if (now - operation.probed_at_ >= interval()) {
            probe(operation);
            operation.probed_at_ = now;
        }
        next = std::min(next, operation.probed_at_ + interval());
    });
    return next;
}

}  // namespace rollcall::runtime
