#include "runtime/engine/questions.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"
#include "runtime/engine/mismatches.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::runtime {
namespace {

// A question goes to at most this many ranks at a time. The next ones are asked after a while.
constexpr std::ptrdiff_t kRanksAskedAtOnce = 16;

/// `after` says when the rank destroyed the communicator.
Error destroyed(const std::string& name, int rank, const std::string& after) {
    return Error(ErrorCode::state,
                 fmt::format("{} has destroyed its communicator (or plan) {}, and cannot take part in the next operation", name, after),
                 rank);
}
std::string after_operations(std::uint64_t number) { return fmt::format("after {} operations", number); }

}  // namespace

void Questions::answer(const CollectiveHeader& question) {
    if (CommunicatorState* const communicator = engine_.communicators_.find(question.base.communicator))
        answer(question, *communicator);
    else
        answer_for_gone(question);
}

void Questions::answer(const CollectiveHeader& question, CommunicatorState& communicator) {
    // The message about the failure may be on its way.
    if (communicator.is_broken_at(question.sequence))
        return engine_.tell_failed(question.base.source, communicator.group->id, communicator.broken_from, *communicator.broken);
    if (!check_call(engine_, communicator, question.sequence, question.call, question.base.source)) return;
    if (engine_.finalizing_ && question.sequence > communicator.begun) {
        Call mine;
        mine.kind = OperationKind::finalize;
        return fail_mismatch(engine_, communicator, question.sequence, mine, question.call, question.base.source);
    }
    // Parts of earlier calls still go on here without their callers.
    if (communicator.retired && question.sequence > communicator.begun)
        return engine_.tell_failed(
            question.base.source, communicator.group->id, question.sequence,
            destroyed(engine_.name_of(engine_.options_.rank), engine_.options_.rank, after_operations(communicator.begun)));
    const Operation* operation = engine_.find_active(communicator.group->id, question.sequence);
    tell_entered(question, operation ? operation->has_arrived() : question.sequence <= communicator.begun, communicator.signalled);
}

// Signals and notices that this rank wrote for a communicator it has destroyed may be lost, too. A rank that waits for this one in an
// operation which this rank will never call is told so.
void Questions::answer_for_gone(const CollectiveHeader& question) {
    const std::uint64_t id = question.base.communicator;
    if (!engine_.communicators_.is_past(id)) return;  // it is still being made here
    const Communicators::Past* past = engine_.communicators_.past(id);
    if (past && past->broken && question.sequence >= past->broken_from)
        return engine_.tell_failed(question.base.source, id, past->broken_from, *past->broken);
    if (past && question.sequence <= past->begun) return tell_entered(question, true, past->signalled);
    engine_.tell_failed(
        question.base.source, id, question.sequence,
        destroyed(engine_.name_of(engine_.options_.rank), engine_.options_.rank, past ? after_operations(past->begun) : "a while ago"));
}

// A notice or a signal on the asking rank's board can be overwritten: by a late one of a communicator that had the slot before, or by an
// older one of this communicator, because puts may overtake each other. A message cannot be overwritten.
void Questions::tell_entered(const CollectiveHeader& question, bool arrived, std::span<const std::uint64_t> signalled) {
    CollectiveHeader header;
    header.base.communicator = question.base.communicator;
    header.sequence = question.sequence;
    if (arrived) header.base.flags |= kHasArrived;
    if (std::find(signalled.begin(), signalled.end(), question.sequence) != signalled.end()) header.base.flags |= kHasSignalled;
    if (header.base.flags) engine_.send_control(question.base.source, MessageKind::entered, header);
}

void Questions::hear(const CollectiveHeader& answer) {
    Operation* operation = engine_.find_active(answer.base.communicator, answer.sequence);
    const int member = operation ? operation->communicator_.group->rank_of(answer.base.source) : -1;
    if (member < 0 || operation->failed()) return;
    if ((answer.base.flags & kHasArrived) && operation->learn_arrived(member)) engine_.touch(*operation);
    if ((answer.base.flags & kHasSignalled) && operation->listens_ > 0) {
        operation->hear(member);
        engine_.board_.listen();
    }
}

// Asks some of the ranks that the operation waits for, and over a round all of them: the message of any one of them may be lost, while the
// others are only late.
void Questions::ask_about(Operation& operation) {
    std::vector<int> peers;
    operation.add_awaited(peers);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());

    CollectiveHeader header;
    header.base.communicator = operation.communicator_.group->id;
    header.sequence = operation.sequence();
    header.call = operation.call_;
    auto next = std::lower_bound(peers.begin(), peers.end(), operation.probe_next_);
    for (const auto end = next + std::min(kRanksAskedAtOnce, peers.end() - next); next != end; ++next)
        engine_.send_control(*next, MessageKind::probe, header);
    operation.probe_next_ = next == peers.end() ? 0 : *next;
    if (operation.node_uses_) ask_for_readers(operation);
}

Nanoseconds Questions::ask(Nanoseconds now) {
    asked_at_ = now;
    Nanoseconds next = kNever;
    engine_.active_.for_each([&](Operation& operation) {
        if (operation.failed() || !operation.has_arrived()) return;  // an operation that waits for its own caller asks no peer
        if (!operation.probed_at_) operation.begun_at_ = operation.probed_at_ = now;
        // It asks again at growing intervals: the other side may not have reached the call when it was first asked.
        const auto interval = [&] {
            if (operation.probe_next_) return engine_.options_.mismatch_probe;
            return std::max(engine_.options_.mismatch_probe, operation.probed_at_ - operation.begun_at_);
        };
        if (now - operation.probed_at_ >= interval()) {
            ask_about(operation);
            operation.probed_at_ = now;
        }
        next = std::min(next, operation.probed_at_ + interval());
    });
    return next;
}

// A rank that has not read what this rank published some operations ago may have made another call at that point, or may have destroyed the
// communicator without that call. This rank may have destroyed it, too, and may need the entry for another communicator.
void Questions::ask_for_readers(const Operation& operation) {
    for (const node::NodeMemory::Claim& claim : engine_.node()->claims()) {
        if (!claim.is_unread() || claim.entry->key.load(std::memory_order_relaxed) == 0) continue;
        if (!NodeUse::waits_for_readers_of(claim, operation)) continue;
        CollectiveHeader header;
        header.base.communicator = claim.group->id;
        header.sequence = claim.sequence;
        header.call = claim.entry->call;
        for (int rank = 0; rank < claim.group->size; ++rank)
            if (const int peer = claim.group->world_rank(rank); peer != engine_.options_.rank && engine_.node()->has(peer))
                engine_.send_control(peer, MessageKind::probe, header);
    }
}

}  // namespace rollcall::runtime
