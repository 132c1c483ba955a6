// The engine's deputies: parts of this rank in operations that run without their callers (deputy.hpp).
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "foundation/job_in_log.hpp"
#include "foundation/log.hpp"
#include "runtime/engine/deputy.hpp"
#include "runtime/engine/engine.hpp"

namespace rollcall::runtime {
namespace {

using transport::Bytes;

// So much is copied ahead between two looks for messages. It takes some microseconds.
constexpr std::uint64_t kCopiedAtOnce = 64 << 10;

}  // namespace

// --- before the caller -------------------------------------------------------------------------------------------------------

Deputy* Engine::make_deputy(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const PartAlone& part,
                            const Block* blocks, bool phantom, int source) {
    const std::uint64_t collected = source < 0 ? part.kept : part.collected;
    const std::uint64_t data = collected ? collected : part.passed_on ? part.passed_on : part.data;
    const std::array sizes = {part.contribution, data, part.own_block ? 0 : part.result};
    if (std::ranges::any_of(sizes, [](std::uint64_t size) { return size > 0; })) {
        if (waiting_head_) land_waiting();
        if (waiting_head_) return nullptr;  // no part that needs room overtakes a message that waits for it (land())
    }
    std::array<Bytes, sizes.size()> taken{};
    const auto give_back = [&] {
        for (const Bytes& bytes : taken)
            if (bytes.size) landing_.give_back(bytes);
    };
    for (std::size_t number = 0; number < taken.size(); ++number) {
        if (sizes[number] == 0) continue;
        if (const auto bytes = landing_.could_hold(sizes[number]) ? landing_.take(sizes[number], phantom) : std::nullopt) {
            taken[number] = *bytes;
            continue;
        }
        give_back();
        return nullptr;
    }
    Arguments memory;
    memory.contribution = {taken[0].data, taken[0].size};
    memory.data = taken[1];
    memory.result = part.own_block ? slice(memory.data, *part.own_block, part.result) : taken[2];
    memory.blocks = blocks;
    memory.segment_bytes = call.segment_bytes;
    memory.combiner = part.combiner;
    try {
        auto* const deputy = new Deputy(*this, communicator, sequence, call, part, memory, source);
        deputy->collects_ = collected > 0;
        deputy->passes_on_ = part.passed_on > 0;
        return deputy;
    } catch (const std::bad_alloc&) {
        give_back();
        return nullptr;
    }
}

bool Engine::begin_before_caller_if_possible(const CommunicatorState& communicator, const EarlyMessage& early) {
    if (!options_.find_part_alone || finalizing_ || communicator.retired || early.call.bytes == 0) return false;
    const PartAlone part = options_.find_part_alone(early.call, communicator.rank, *communicator.group);
    // Short blocks are not collected in advance: collecting them takes hardly any time once the caller has come.
    if (!part.begins_before || (part.collected > 0 && early.stage != EarlyMessage::Stage::offered)) return false;
    early_calls_.push_back({{early.key.communicator, early.key.sequence}, early.call, early.offer.phantom, early.caller});
    has_early_calls_ = true;
    return true;
}

// This is not done where the message comes in, because the transport is busy at that point.
void Engine::begin_before_callers() {
    has_early_calls_ = false;
    for (const EarlyCall& early : std::exchange(early_calls_, {})) {
        CommunicatorState* const communicator = communicators_.find(early.key.communicator);
        const bool wanted = communicator && !communicator->is_broken_at(early.key.sequence) && early.key.sequence > communicator->begun &&
                            !find_active(early.key.communicator, early.key.sequence) && !deputies_.find(early.key);
        Deputy* const deputy = wanted ? make_deputy(*communicator, early.key.sequence, early.call,
                                                    options_.find_part_alone(early.call, communicator->rank, *communicator->group), nullptr,
                                                    early.phantom, early.caller)
                                      : nullptr;
        if (deputy) {
            ++deputies_early_;
            deputy->expected_ = true;
            deputy->operation_.await_caller();
            deputies_.insert(*deputy);
            begin_alone(*deputy);
        }
        // Messages that no receive waits for are treated as any other early message.
        std::vector<EarlyMessage*> waiting;
        early_by_call_.for_each_of(early.key, [&](EarlyMessage& message) {
            if (message.stage == EarlyMessage::Stage::offered && !message.waits_for_landing) waiting.push_back(&message);
        });
        for (EarlyMessage* message : waiting) land(*message);
    }
}

void Engine::begin_alone(Deputy& deputy) {
    Operation& operation = deputy.operation_;
    CommunicatorState& communicator = operation.communicator_;
    active_.insert(operation);
    operation.engine_ = this;
    ++begun_;
    ++deputies_active_;
    watch_over_operations();
    if (communicator.is_broken_at(operation.sequence())) fail(operation, *communicator.broken);
    call_algorithm(operation);
    touch(operation);
    run_ready();
}

// --- the caller --------------------------------------------------------------------------------------------------------------

void Engine::attach(Operation& caller, Deputy& deputy) {
    CommunicatorState& communicator = caller.communicator_;
    communicator.begun = std::max(communicator.begun, caller.sequence());
    communicator.remember(caller.sequence(), caller.call_);
    caller.engine_ = this;
    caller.deputy_ = &deputy;
    deputy.caller_ = &caller;
    ++attached_callers_;
}

bool Engine::meet_deputy(Operation& caller) {
    CommunicatorState& communicator = caller.communicator_;
    if (!deputies_.find(caller.key_)) return false;
    communicator.remember(caller.sequence(), caller.call_);  // attach() then needs no memory
    Deputy* const deputy = deputies_.take(caller.key_);
    const bool agrees = deputy->operation_.call_.agrees_with(caller.call_);
    if (!agrees && !communicator.is_broken_at(caller.sequence())) {
        // With the sizes that the caller counts, the error can name the block that the two ranks count differently.
        const Block* const before = std::exchange(deputy->operation_.arguments_.blocks, caller.arguments_.blocks);
        mismatch(communicator, caller.sequence(), caller.call_, Call(deputy->operation_.call_), deputy->source_);
        deputy->operation_.arguments_.blocks = before;
    }
    if (communicator.is_broken_at(caller.sequence())) {
        give_up(*deputy);
        return false;  // it fails as any call does
    }
    attach(caller, *deputy);
    if (deputy->has_ended()) {
        deputy_ended(*deputy);
        return true;
    }
    if (deputy->forwards_) deputy->take_callers_buffers();
    if (deputy->here_ > 0) deputy->want_copy_ahead();
    if (caller.has_arrived())
        deputy->meet_caller();
    else
        run_ready();
    return true;
}

namespace {

// No caller waits for the data. A later call on the communicator tells of it, or the end of the job, and the log does so at once.
void tell_of_undelivered(CommunicatorState& communicator, const Error& error, const std::string& job) {
    const std::string sentence = fmt::format("data that a call had handed over was not delivered: {}", error.what());
    log_message(LogLevel::warn, "{}{}", job, sentence);
    if (!communicator.undelivered && !(communicator.broken && communicator.broken_told))
        communicator.undelivered = std::make_unique<Error>(error.code(), sentence, error.failed_rank());
}

}  // namespace

// --- its end -----------------------------------------------------------------------------------------------------------------

void Engine::deputy_ended(Deputy& deputy) {
    if (deputy.copying_ != Deputy::Copying::nothing) return;  // the end of the copy will see it
    Operation& operation = deputy.operation_;
    if (Operation* const caller = deputy.caller_) {
        if (const Error* error = operation.error()) {
            deputy.caller_ = nullptr;
            caller->set_error(*error);
            let_caller_go(*caller);
            return let_go(deputy);
        }
        caller->first_data_ = operation.first_data_;
        deputy.copying_ = Deputy::Copying::out;
        deputy.copied_ = 0;
        return deputy.copy_next();
    }
    const Error* const error = operation.error();
    if (deputy.expected_) {
        if (!error) return;        // it stays until its caller comes
        deputies_.remove(deputy);  // its caller fails without it
    }
    if (error && deputy.source_ < 0) tell_of_undelivered(operation.communicator_, *error, job_in_log(options_.job));
    let_go(deputy);
}

unsigned Engine::copy_for_callers() {
    for (Deputy* deputy = all_deputies_; deputy; deputy = deputy->next_)
        if (deputy->copy_ahead(kCopiedAtOnce)) return 1;
    callers_lack_data_ = false;
    return 0;
}

void Engine::give_up(Deputy& deputy) {
    deputy.expected_ = false;
    if (deputy.has_ended()) return let_go(deputy);
    fail(deputy.operation_, Error(ErrorCode::state, fmt::format("{}: nobody called it here", deputy.operation_.describe())));
    run_ready();
}

void Engine::let_go(Deputy& deputy) {
    CommunicatorState& communicator = deputy.operation_.communicator_;
    delete &deputy;
    if (communicator.retired) remove_if_idle(communicator);
    if (waiting_head_) land_waiting();  // there is room now
}

bool Engine::has_active(const CommunicatorState& communicator) const {
    bool found = false;
    active_.for_each([&](const Operation& operation) { found = found || &operation.communicator_ == &communicator; });
    return found;
}

void Engine::give_up_deputies(const CommunicatorState& communicator) {
    for (;;) {
        Deputy* uncalled = nullptr;  // One at a time: the end of one may be the end of others.
        deputies_.for_each([&](Deputy& deputy) {
            if (&deputy.operation_.communicator_ == &communicator) uncalled = &deputy;
        });
        if (!uncalled) return;
        deputies_.remove(*uncalled);
        give_up(*uncalled);
    }
}

void Engine::let_go_of_ended_deputies(const CommunicatorState& communicator) {
    if (deputies_.size() == 0) return;
    std::vector<Deputy*> ended;
    deputies_.for_each([&](Deputy& deputy) {
        const Operation& operation = deputy.operation_;
        if (&operation.communicator_ != &communicator || !communicator.is_broken_at(operation.sequence())) return;
        if (deputy.has_ended()) ended.push_back(&deputy);
    });
    for (Deputy* deputy : ended) deputies_.remove(*deputy);
    for (Deputy* deputy : ended) let_go(*deputy);
}

void Engine::retire(std::unique_ptr<CommunicatorState> communicator) {
    CommunicatorState& state = *communicator;
    give_up_deputies(state);
    try {
        retired_.push_back(std::move(communicator));
    } catch (const std::bad_alloc&) {
        static_cast<void>(communicator.release());  // It is never freed. The destructor of a communicator must not fail.
    }
    state.retired = true;
    state.clock = nullptr;
    remove_if_idle(state);
}

void Engine::remove_if_idle(CommunicatorState& communicator) {
    if (has_active(communicator)) return;
    remove(communicator);
    std::erase_if(retired_, [&](const auto& retired) { return retired.get() == &communicator; });
}

void Engine::expect_no_call() {
    finalizing_ = true;
    deny_uncalled();
}

// Other ranks made calls that this rank will never make.
void Engine::deny_uncalled() {
    struct Uncalled {
        CommunicatorState& communicator;
        std::uint64_t sequence;
        Call call;
        int source;
    };
    std::vector<Uncalled> uncalled;  // The deputies themselves may go with the first mismatch.
    deputies_.for_each([&](Deputy& deputy) {
        Operation& operation = deputy.operation_;
        uncalled.push_back({operation.communicator_, operation.sequence(), operation.call_, deputy.source_});
    });
    Call mine;
    mine.kind = OperationKind::finalize;
    for (const Uncalled& its : uncalled) mismatch(its.communicator, its.sequence, mine, its.call, its.source);
    run_ready();
}

}  // namespace rollcall::runtime
