// The engine's messages to other ranks about calls: control messages, calls that do not match, and calls that are stuck.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"

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

/// `how` names the calls and says what to do. The error blames no rank: two calls differ, and nobody knows which one is right.
Error do_not_match(const Group& group, std::uint64_t sequence, const std::string& how) {
    return Error(ErrorCode::mismatch,
                 fmt::format("the calls at sequence {} of communicator {} do not match: {}", sequence, group.name, how));
}

/// The calls differ in the sizes which each of them counts for all blocks. If this rank is still in the call, it knows what it counts (its
/// `blocks`). Then the error names the block that the two ranks count differently.
Error counts_do_not_match(const Group& group, std::uint64_t sequence, const Call& mine, int own, const Block* blocks, const Call& other,
                          int source) {
    std::string what = fmt::format("other sizes than rank {}", own);
    for (int rank = 0; blocks && rank < group.size; ++rank)
        if (const auto other_size = SumOfSizes(mine.bytes).in_other(SumOfSizes(other.bytes), rank, blocks[rank].size)) {
            what = fmt::format("{} bytes for the block of rank {}, but rank {} counts {}", *other_size, rank, own, blocks[rank].size);
            break;
        }
    return do_not_match(
        group, sequence,
        fmt::format("in {} rank {} counts {}. All ranks must give the same size for each rank's block", to_string(mine), source, what));
}

/// The root counts other sizes than the blocks have.
Error sizes_do_not_match(const Group& group, std::uint64_t sequence, const Call& call, const std::string& what) {
    return do_not_match(
        group, sequence,
        fmt::format("in {} the root counts {}. The root must give for each rank the size of that rank's block", to_string(call), what));
}

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
    if (!check_call(communicator, probe.sequence, probe.call, probe.base.source)) return;
    if (finalizing_ && probe.sequence > communicator.begun) {
        Call mine;
        mine.kind = OperationKind::finalize;
        return mismatch(communicator, probe.sequence, mine, probe.call, probe.base.source);
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

void Engine::mismatch(CommunicatorState& communicator, std::uint64_t sequence, const Call& mine, const Call& other, int source, int whose) {
    const Group& group = *communicator.group;
    int first = whose < 0 ? communicator.rank : group.rank_of(whose), second = group.rank_of(source);
    if (mine.counts_others(other)) {
        const Operation* const operation = find_active(group.id, sequence);
        const Block* const blocks = operation ? operation->arguments_.blocks : nullptr;
        return break_communicator(communicator, sequence, counts_do_not_match(group, sequence, mine, first, blocks, other, second), true);
    }
    const Call *first_call = &mine, *second_call = &other;
    if (second < first) {
        std::swap(first, second);
        std::swap(first_call, second_call);
    }
    const bool same_request = mine.same_request(other);
    const auto in_words = [&](const Call& call) {
        if (call.kind == OperationKind::finalize) return std::string(options_.end);
        return same_request ? to_string(call, options_.algorithm_name) : to_string(call);
    };
    const char* const advice =
        same_request ? "All ranks must do it in the same way: give them the same options and ROLLCALL_ settings"
                     : "All ranks of a communicator must call the same operations in the same order, with the same root and size";
    break_communicator(communicator, sequence,
                       do_not_match(group, sequence,
                                    fmt::format("rank {} called {}, rank {} called {}. {}", first, in_words(*first_call), second,
                                                in_words(*second_call), advice)),
                       true);
}

void Engine::mismatch_of_sizes(Operation& operation, int with, std::uint64_t at_root, std::uint64_t elsewhere) {
    const Group& group = *operation.communicator_.group;
    const int own = operation.communicator_.rank;
    if (operation.call_.root >= 0) {
        const int other = own == operation.call_.root ? with : own;
        const std::string what = fmt::format("{} bytes for {}, but its block has {}", at_root, member_name(group, other), elsewhere);
        return break_communicator(operation.communicator_, operation.sequence(),
                                  sizes_do_not_match(group, operation.sequence(), operation.call_, what), true);
    }
    // In an allgather between two groups, each rank knows the sizes of the other group only.
    if (group.first_group > 0 && !operation.arguments_.contribution_blocks) return mismatch_of_groups(operation, with);
    mismatch_of_exchange(operation, with, own, at_root, elsewhere);
}

void Engine::mismatch_of_exchange(Operation& operation, int from, int to, std::uint64_t counted, std::uint64_t sent) {
    const Group& group = *operation.communicator_.group;
    break_communicator(
        operation.communicator_, operation.sequence(),
        do_not_match(group, operation.sequence(),
                     fmt::format("in {} {} sends {} bytes to {}, which counts {} from it. A receiver must count for each "
                                 "rank what that rank sends to it",
                                 to_string(operation.call_), member_name(group, from), sent, member_name(group, to), counted)),
        true);
}

void Engine::mismatch_of_sizes(Operation& operation, int first, int last, std::uint64_t at_root, std::uint64_t elsewhere) {
    const std::string what = fmt::format(
        "{} bytes for ranks {} to {} together, but their blocks have {}, and several of them have other sizes than the root counts",
        at_root, first, last, elsewhere);
    break_communicator(operation.communicator_, operation.sequence(),
                       sizes_do_not_match(*operation.communicator_.group, operation.sequence(), operation.call_, what), true);
}

void Engine::mismatch_of_groups(Operation& operation, int with) {
    const Group& group = *operation.communicator_.group;
    const int other = group.world_rank(with);
    break_communicator(
        operation.communicator_, operation.sequence(),
        do_not_match(group, operation.sequence(),
                     fmt::format("in {} the groups of {} and {} count other sizes for each other's blocks than they have. Every rank must "
                                 "give for each rank of the other group the size of that rank's block",
                                 to_string(operation.call_), name_of(group.world_rank(operation.communicator_.rank)), name_of(other))),
        true);
}

bool Engine::check_call(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, int source) {
    const Call* mine = communicator.recall(sequence);
    if (!mine || mine->agrees_with(call)) return true;
    mismatch(communicator, sequence, *mine, call, source);
    return false;
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
