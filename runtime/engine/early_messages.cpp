#include "runtime/engine/early_messages.hpp"

#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {

using transport::Outcome;
using transport::Started;

namespace {

// Readers of node memory make room without telling this rank, so a message that waits looks again at this interval.
constexpr Nanoseconds kBetweenLooksForRoom = 10 * kMillisecond;

// A message without data is not landed: the number of such messages is bounded because their senders wait.
bool may_land(const EarlyMessage& early, const Landing& landing) {
    return early.size > 0 && !early.awaited && landing.could_hold(early.size);
}

}  // namespace

void EarlyMessages::insert(EarlyMessage& early) {
    by_key_.insert(early);
    if (early.key.sequence != 0) by_call_.insert(early);
}

void EarlyMessages::wait_for_room(EarlyMessage& early) noexcept {
    early.waits_for_landing = true;
    early.next = nullptr;
    early.previous = waiting_tail_;
    (waiting_tail_ ? waiting_tail_->next : waiting_head_) = &early;
    waiting_tail_ = &early;
    if (engine_.node()) engine_.want_tick(engine_.machine_.now() + kBetweenLooksForRoom);
}

void EarlyMessages::stop_waiting_for_room(EarlyMessage& early) noexcept {
    if (!std::exchange(early.waits_for_landing, false)) return;
    (early.previous ? early.previous->next : waiting_head_) = early.next;
    (early.next ? early.next->previous : waiting_tail_) = early.previous;
    early.next = early.previous = nullptr;
}

void EarlyMessages::forget(EarlyMessage& early) {
    by_key_.remove(early);
    if (early.key.sequence != 0) by_call_.remove(early);
    stop_waiting_for_room(early);
}

// All of them are forgotten before the first one is freed: room that becomes free must not go to another of them.
template <class Unwanted>
void EarlyMessages::let_go_if(Unwanted unwanted) {
    EarlyMessage* forgotten = nullptr;
    by_key_.for_each([&](EarlyMessage& early) {
        if (!unwanted(early)) return;
        forget(early);
        early.next = std::exchange(forgotten, &early);
    });
    let_go_all(forgotten);
}

void EarlyMessages::let_go_of(const CallKey& call) {
    if (call.sequence == 0)
        return let_go_if([&](const EarlyMessage& early) { return early.key.communicator == call.communicator && early.key.sequence == 0; });
    EarlyMessage* forgotten = nullptr;
    by_call_.for_each_of(call, [&](EarlyMessage& early) {
        forget(early);
        early.next = std::exchange(forgotten, &early);
    });
    let_go_all(forgotten);
}

void EarlyMessages::let_go_of_broken(const CommunicatorState& communicator) {
    let_go_if([&](const EarlyMessage& early) {
        return early.key.communicator == communicator.group->id && early.key.sequence != 0 && communicator.is_broken_at(early.key.sequence);
    });
}

void EarlyMessages::let_go_of_past() {
    let_go_if([&](const EarlyMessage& early) { return engine_.communicators_.is_past(early.key.communicator); });
}

void EarlyMessages::let_go_of_all() {
    let_go_if([](const EarlyMessage&) { return true; });
    // Also those that came before their turn. One that was retracted has been declined.
    engine_.peers_.for_each([&](int, PeerState& peer) {
        while (EarlyMessage* const early = peer.overtaking) {
            peer.overtaking = std::exchange(early->next, nullptr);
            early->dropped ? free(*early) : let_go(*early);
        }
    });
}

void EarlyMessages::let_go_all(EarlyMessage* forgotten) {
    while (forgotten) {
        EarlyMessage* early = std::exchange(forgotten, forgotten->next);
        early->next = nullptr;
        let_go(*early);
    }
}

void EarlyMessages::let_go(EarlyMessage& early) {
    switch (early.stage) {
        case EarlyMessage::Stage::held: engine_.give_credit(early.key.source, early.charge); break;
        case EarlyMessage::Stage::offered: engine_.transport_.decline(early.offer); break;
        case EarlyMessage::Stage::landing: early.dropped = true; return;
        case EarlyMessage::Stage::landed:
        case EarlyMessage::Stage::unreadable: break;
    }
    free(early);
}

// The tables need no more memory than before.
void EarlyMessages::wait_again(EarlyMessage& early) {
    by_key_.insert_before(early, [](const EarlyMessage&) { return true; });
    if (early.key.sequence != 0) by_call_.insert(early);
    if (early.stage == EarlyMessage::Stage::offered && may_land(early, engine_.landing_)) wait_for_room(early);
}

void EarlyMessages::free(EarlyMessage& early) {
    if (early.key.sequence == 0) engine_.backlog_.has_come(early.key);
    const bool landed = early.from_landing;
    if (landed)
        engine_.landing_.give_back(early.buffer);
    else
        std::free(early.buffer.data);
    early.~EarlyMessage();
    engine_.arena_.release(&early, sizeof early);
    if (landed) land_waiting();
}

void EarlyMessages::free_all() {
    std::vector<EarlyMessage*> left;
    by_key_.for_each([&](EarlyMessage& early) { left.push_back(&early); });
    engine_.peers_.for_each([&](int, PeerState& peer) {
        for (EarlyMessage* early = peer.overtaking; early; early = early->next) left.push_back(early);
    });
    for (EarlyMessage* early : left) free(*early);
}

bool EarlyMessages::land(EarlyMessage& early) {
    if (!may_land(early, engine_.landing_)) return false;
    land_waiting();  // node memory may have become free meanwhile
    // No message overtakes one that waits, so that small messages do not starve a large one.
    if (!waiting_head_ && land_now(early)) return true;
    wait_for_room(early);
    return false;
}

bool EarlyMessages::land_now(EarlyMessage& early) {
    const auto buffer = engine_.landing_.take(early.size, early.offer.phantom);
    if (!buffer) return false;
    early.buffer = *buffer;
    early.from_landing = true;
    early.stage = EarlyMessage::Stage::landing;
    Started started;
    try {
        started = engine_.transport_.fetch(early.offer, early.buffer, early);
    } catch (const std::bad_alloc&) {  // The message is still offered.
        early.stage = EarlyMessage::Stage::offered;
        early.from_landing = false;
        engine_.landing_.give_back(std::exchange(early.buffer, {}));
        engine_.want_tick(engine_.machine_.now() + kBetweenLooksForRoom);
        return false;
    }
    switch (started) {
        case Started::done: after_landing(early, Outcome::ok); break;
        case Started::failed: after_landing(early, Outcome::failed); break;
        case Started::pending: break;
    }
    return true;
}

void EarlyMessages::land_those_that_fit() {
    if (lands_waiting_) return;  // a message that could not be fetched gave its room back: the loop below goes on
    lands_waiting_ = true;
    const struct End {
        bool& lands_waiting;
        ~End() { lands_waiting = false; }
    } end{lands_waiting_};
    while (waiting_head_) {
        EarlyMessage& early = *waiting_head_;
        // Remove it from the queue first: a landing that ends at once may call this function again.
        if (!engine_.landing_.fits_now(early.size)) engine_.landing_.reclaim();
        if (!engine_.landing_.fits_now(early.size)) break;
        stop_waiting_for_room(early);
        if (land_now(early)) continue;
        // There is no memory. Try again later, or when a buffer is given back.
        early.waits_for_landing = true;
        early.next = std::exchange(waiting_head_, &early);
        (early.next ? early.next->previous : waiting_tail_) = &early;
        break;
    }
    if (waiting_head_ && engine_.node()) engine_.want_tick(engine_.machine_.now() + kBetweenLooksForRoom);
}

void EarlyMessages::after_landing(EarlyMessage& early, Outcome outcome) {
    if (early.dropped) return free(early);
    if (outcome == Outcome::unreadable && !early.claimed) {
        early.stage = EarlyMessage::Stage::unreadable;  // The receive for it fails.
        CommunicatorState* const communicator = early.key.sequence == 0 ? nullptr : engine_.communicators_.find(early.key.communicator);
        if (!communicator) return;
        // An operation may wait until it has landed, without a receive.
        const Error error = engine_.unreadable(early.key.source);
        return engine_.break_communicator(*communicator, early.key.sequence,
                                          Error(error.code(), fmt::format("communicator {}: {}", communicator->group->name, error.what())),
                                          true);
    }
    if (outcome != Outcome::ok) {
        Transfer* claimed = early.claimed;
        if (claimed) {
            claimed->early = nullptr;
        } else {
            // Its sender may take it for delivered, and no receive would ever say that it is lost.
            if (outcome == Outcome::failed) engine_.suspect(early.key.source, "could no longer be reached");
            forget(early);
        }
        free(early);
        if (!claimed) return;
        if (outcome == Outcome::withdrawn) return engine_.receive_again(*claimed);
        if (outcome == Outcome::unreadable) return engine_.finish_failed(*claimed, engine_.unreadable(claimed->peer()));
        return engine_.lose(*claimed);
    }
    early.stage = EarlyMessage::Stage::landed;
    if (early.claimed) return engine_.copy_out(*early.claimed, early);
    if (early.key.sequence == 0) return;
    if (Operation* const operation = engine_.find_active(early.key.communicator, early.key.sequence))
        engine_.touch(*operation);  // it may pass the data on
}

}  // namespace rollcall::runtime
