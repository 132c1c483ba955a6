// Callers that leave their parts to deputies (deputy.hpp): when they hand their data over, and when they give up.
//
// A caller hands over where a copy of its data takes less time than its wait would. The wait is what the costs say for its place in the
// queue (PartAlone::wait), multiplied by the ratio of the measured to the expected wait of recent callers that stayed: the receiver may be
// late and have no room for early messages, or the network may be busy. So one long wait makes the next callers leave. How long a part
// takes whose caller has left does not count, because nobody polls for it. Instead each caller that leaves brings the ratio nearer to 1,
// until one stays again.
//
// The board is not asked whether a receiver has arrived. It knows only the ranks that announce themselves to this one. A receiver that has
// not arrived may take the data early, and one that has arrived may be busy with other ranks. The measured waits contain all of this.
//
// Example: the root of a chain sends 1 MiB once. At 100 Gbit/s it would wait for 84 us and the latency, and a copy takes 84 us: it leaves.
// At 200 Gbit/s it would wait for 42 us and the latency: it stays.
#include <algorithm>
#include <utility>

#include "runtime/engine/deputies.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/publication.hpp"

namespace rollcall::runtime {
namespace {

/// Whether the blocks fill the data without gaps. (The contents of gaps may change, so they must not be copied.)
bool fill_data(const Arguments& arguments, int ranks) {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < ranks; ++rank) sum += arguments.blocks[rank].size;
    return sum == arguments.data.size;
}

// The factor never says that a wait is shorter than expected. A single call changes it by a limited amount: a receiver that was late by a
// second should not make callers copy forever. After a wait of 64 times the expected one it is 32, and 55 callers leave that would have
// stayed with up to 1.9.
constexpr float kOfThisCall = 0.5F, kForgotten = 1 / 16.0F, kLongest = 64;

}  // namespace

bool Deputies::pays_to_leave(Operation& caller, const PartAlone& part) {
    const double bytes = static_cast<double>(part.contribution + part.data), wait = part.wait + bytes * part.wait_byte;
    if (wait <= 0) return true;  // it is not known
    float& factor = caller.communicator_.waits[index_of(caller.call_.kind)];
    if (bytes * part.copy_byte <= wait * factor) {
        factor += kForgotten * (1 - factor);
        return true;
    }
    caller.expected_wait_ = static_cast<float>(wait);
    caller.waits_since_ = engine_.machine_.now();
    return false;
}

void Deputies::learn_wait(const Operation& caller) {
    float& factor = caller.communicator_.waits[index_of(caller.call_.kind)];
    const float measured = static_cast<float>(engine_.machine_.now() - caller.waits_since_) / caller.expected_wait_;
    factor += kOfThisCall * (std::clamp(measured, 1.0F, kLongest) - factor);
}

// Whether no earlier call has the entries of this one: none waits for them, and all readers have come.
bool Deputies::publishes_at_once(const Operation& caller) const {
    if (!engine_.node()) return true;
    const Group& group = *caller.communicator_.group;
    const std::uint64_t sequence = caller.sequence();
    for (const std::uint64_t period : {period_of(group, kEverybody), period_of(group, 0)}) {
        if (sequence < period) continue;
        if (engine_.find_active(group.id, sequence - period) || expected_.find({group.id, sequence - period})) return false;
    }
    node::Entry* const places = engine_.node()->own().entries_of(group.slot_of(caller.rank(), 0));
    const auto is_unread = [&](int reader) { return engine_.node()->is_unread(entry_at(places, group, reader, sequence)); };
    if (is_unread(kEverybody)) return false;
    for (int reader = 0; reader < group.size; ++reader)
        if (engine_.node()->has(group.world_rank(reader)) && is_unread(reader)) return false;
    return true;
}

bool Deputies::hand_over(Operation& caller) {
    CommunicatorState& communicator = caller.communicator_;
    const Block* const blocks = caller.arguments_.blocks;
    const std::uint64_t longest = blocks ? caller.arguments_.data.size : caller.call_.bytes;
    if (!engine_.options_.driven_in_background || longest <= engine_.options_.eager_bytes || caller.stays_ || caller.awaits_caller_ ||
        caller.size() == 1 || engine_.finalizing_)
        return false;
    if (communicator.is_broken_at(caller.sequence())) return false;
    PartAlone part = engine_.options_.find_part_alone(caller.call_, caller.rank(), *communicator.group);
    if (!part.ends_after || (part.only_publishes && publishes_at_once(caller))) return false;
    if (blocks) {
        if (!fill_data(caller.arguments_, caller.size())) return false;
        part.data = caller.arguments_.data.size;
        part.result = blocks[caller.rank()].size;
        part.own_block = blocks[caller.rank()].offset;
    }
    if (!engine_.may_keep(part.contribution + part.data + part.kept + part.passed_on)) return false;
    // Calls that do not match must be reported as they are without a deputy.
    if (engine_.early_.by_call().find_if(caller.key_, [&](const EarlyMessage& early) { return !early.call.agrees_with(caller.call_); }))
        return false;
    if (!pays_to_leave(caller, part)) return false;
    const bool phantom = !caller.arguments_.contribution.data && !caller.arguments_.data.data;
    communicator.remember(caller.sequence(), caller.call_);  // attach() then needs no memory
    Deputy* const deputy = make(communicator, caller.sequence(), caller.call_, part, blocks, phantom, -1);
    if (!deputy) return false;
    try {
        engine_.active_.make_room();  // begin() then needs no memory
        expected_.insert(*deputy);    // while the deputy copies, messages for it count as early
    } catch (...) {
        delete deputy;
        throw;
    }
    attach(caller, *deputy);
    deputy->copying_ = Deputy::Copying::in;
    deputy->copy_next();
    return true;
}

void Deputies::let_caller_go(Operation& caller) {
    if (std::exchange(caller.deputy_, nullptr)) --attached_callers_;
    ++engine_.finished_;
    const auto on_done = caller.on_done;
    void* const context = caller.on_done_context;
    caller.set_done();  // the caller may be gone now
    if (on_done) on_done(caller, context);
}

// The caller gives up. Its deputy goes on, because other ranks depend on its part.
bool Deputies::leave(Operation& caller, const Error& error) {
    Deputy* const deputy = caller.deputy_;
    if (!deputy) return false;
    if (deputy->copying_ == Deputy::Copying::in || deputy->copying_ == Deputy::Copying::out) return true;  // it ends with the copy
    // A plan ends before its caller has arrived, or the part needs the caller's buffers.
    if (deputy->awaits_data() || deputy->forwards_) return false;
    deputy->caller_ = nullptr;
    deputy->expected_ = false;
    caller.set_error(error);
    let_caller_go(caller);
    return true;
}

}  // namespace rollcall::runtime
