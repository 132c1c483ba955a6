// What a deputy does with its memory and its caller's buffers (deputy.hpp).
#include "runtime/engine/deputy.hpp"

#include <algorithm>
#include <utility>

#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

using transport::Bytes;
using transport::Outcome;
using transport::Started;

constexpr int kBuffers = 3, kContribution = 0, kData = 1, kResult = 2;

Bytes buffer(const Arguments& arguments, int number) {
    switch (number) {
        case kContribution: return {const_cast<void*>(arguments.contribution.data), arguments.contribution.size};
        case kData: return arguments.data;
        default: return arguments.result;
    }
}

Arguments with_blocks(Arguments arguments, const std::vector<Block>& blocks) {
    arguments.blocks = blocks.empty() ? nullptr : blocks.data();
    return arguments;
}

}  // namespace

Deputy::Deputy(Engine& engine, CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const PartAlone& part,
               const Arguments& memory, int source)
    : engine_(engine),
      blocks_(memory.blocks, memory.blocks + (memory.blocks ? communicator.group->size : 0)),
      memory_(with_blocks(memory, blocks_)),
      operation_(communicator, sequence, call, part.algorithm, memory_),
      own_block_(part.own_block),
      source_(source) {
    operation_.alone_ = true;
    operation_.record();  // its caller may ask for the time
    operation_.lacks_buffers_ = forwards_ = part.forwards;
    operation_.on_done = &Deputy::ended;
    operation_.on_done_context = this;
    next_ = std::exchange(engine.deputies_.first_, this);
    if (next_) next_->previous_ = this;
}

Deputy::~Deputy() {
    (previous_ ? previous_->next_ : engine_.deputies_.first_) = next_;
    if (next_) next_->previous_ = previous_;
    for (int number = 0; number < kBuffers; ++number) {
        if (number == kResult && own_block_) continue;  // it lies within the data
        if (const Bytes bytes = buffer(memory_, number); bytes.size) engine_.landing_.give_back(bytes);
    }
}

void Deputy::meet_caller() {
    if (!awaits_data()) return operation_.arrive();
    copying_ = Copying::in;
    copied_ = 0;
    copy_next();
}

void Deputy::take_callers_buffers() {
    operation_.arguments_ = caller_->arguments_;
    operation_.lacks_buffers_ = false;
    engine_.touch(operation_);
}

void Deputy::note_here(std::uint64_t bytes) {
    here_ = bytes;
    if (caller_) want_copy_ahead();
}

// A copy that takes virtual time keeps nothing else from being done.
void Deputy::want_copy_ahead() {
    if (engine_.has_model_time_)
        copy_ahead(here_);
    else
        engine_.callers_lack_data_ = true;
}

bool Deputy::copy_ahead(std::uint64_t most) {
    if (!caller_ || copying_ != Copying::nothing || taken_ == here_) return false;
    const std::uint64_t size = std::min(most, here_ - taken_);
    const Bytes into = slice(caller_->arguments_.data, taken_, size), from = slice(memory_.data, taken_, size);
    taken_ += size;
    copying_ = Copying::ahead;
    if (engine_.machine_.copy(into, from, *this) == Started::done) copying_ = Copying::nothing;
    return true;
}

void Deputy::copy_next() {
    while (copied_ < kBuffers) {
        const bool in = copying_ == Copying::in, own_block = copied_ == kResult && own_block_;
        const auto rest = [taken = !in && copied_ == kData ? taken_ : 0](Bytes all) { return slice(all, taken, all.size - taken); };
        const Bytes own = rest(buffer(memory_, copied_)), callers = rest(buffer(caller_->arguments_, copied_));
        const bool callers_has_none = (collects_ && (!in || copied_ != kContribution)) || (passes_on_ && copied_ == kData);
        ++copied_;
        if (own.size == 0 || callers_has_none) continue;
        Bytes into = in ? own : callers, from = in ? callers : own;
        if (own_block) {
            into = callers;
            from = slice(caller_->arguments_.data, *own_block_, callers.size);
            if (into.data && into.data == from.data) continue;
        }
        if (engine_.machine_.copy(into, from, *this) == Started::pending) return;
    }
    if (std::exchange(copying_, Copying::nothing) == Copying::in) return go_on_from_copy();
    Deputies& deputies = engine_.deputies_;
    Operation& caller = *std::exchange(caller_, nullptr);
    deputies.let_go(*this);
    deputies.let_caller_go(caller);
}

// The caller's data is here, so the caller may leave, unless it wants to stay, or nothing would move the data without it.
void Deputy::go_on_from_copy() {
    Deputies& deputies = engine_.deputies_;          // this object may be gone soon
    if (has_ended()) return deputies.on_end(*this);  // it failed meanwhile
    const bool stays = caller_->stays_ || !engine_.options_.driven_in_background;
    Operation* const leaves = stays ? nullptr : std::exchange(caller_, nullptr);
    expected_ = false;
    source_ = -1;
    if (operation_.engine_) {
        operation_.arrive();
    } else {
        deputies.expected_.remove(*this);
        deputies.begin(*this);
    }
    if (leaves) deputies.let_caller_go(*leaves);
}

void Deputy::complete(Outcome) noexcept {
    if (copying_ != Copying::ahead) return copy_next();
    copying_ = Copying::nothing;
    if (has_ended()) return engine_.deputies_.on_end(*this);
    copy_ahead(here_);
}

void Deputy::ended(Operation&, void* self) {
    auto& deputy = *static_cast<Deputy*>(self);
    Deputies& deputies = deputy.engine_.deputies_;
    --deputies.active_;
    deputies.on_end(deputy);
}

}  // namespace rollcall::runtime
