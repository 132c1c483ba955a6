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
#include "runtime/engine/deputies.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/mismatches.hpp"

namespace rollcall::runtime {
namespace {

using transport::Bytes;

// So much is copied ahead between two looks for messages. It takes some microseconds.
constexpr std::uint64_t kCopiedAtOnce = 64 << 10;

}  // namespace

// --- before the caller -------------------------------------------------------------------------------------------------------

Deputy* Deputies::make(CommunicatorState& communicator, std::uint64_t sequence, const Call& call, const PartAlone& part,
                       const Block* blocks, bool phantom, int source) {
    const std::uint64_t collected = source < 0 ? part.kept : part.collected;
    const std::uint64_t data = collected ? collected : part.passed_on ? part.passed_on : part.data;
    const std::array sizes = {part.contribution, data, part.own_block ? 0 : part.result};
    if (std::ranges::any_of(sizes, [](std::uint64_t size) { return size > 0; })) {
        engine_.early_.land_waiting();
        // No part that needs room overtakes a message that waits for it (EarlyMessages::land()).
        if (engine_.early_.any_waits_for_room()) return nullptr;
    }
    std::array<Bytes, sizes.size()> taken{};
    const auto give_back = [&] {
        for (const Bytes& bytes : taken)
            if (bytes.size) engine_.landing_.give_back(bytes);
    };
    for (std::size_t number = 0; number < taken.size(); ++number) {
        if (sizes[number] == 0) continue;
        if (const auto bytes = engine_.landing_.could_hold(sizes[number]) ? engine_.landing_.take(sizes[number], phantom) : std::nullopt) {
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
        auto* const deputy = new Deputy(engine_, communicator, sequence, call, part, memory, source);
        deputy->collects_ = collected > 0;
        deputy->passes_on_ = part.passed_on > 0;
        return deputy;
    } catch (const std::bad_alloc&) {
        give_back();
        return nullptr;
    }
}

bool Deputies::begins_with(const CommunicatorState& communicator, const EarlyMessage& early) {
    if (!engine_.options_.find_part_alone || engine_.finalizing_ || communicator.retired || early.call.bytes == 0) return false;
    const PartAlone part = engine_.options_.find_part_alone(early.call, communicator.rank, *communicator.group);
    // Short blocks are not collected in advance: collecting them takes hardly any time once the caller has come.
    if (!part.begins_before || (part.collected > 0 && early.stage != EarlyMessage::Stage::offered)) return false;
    early_calls_.push_back({{early.key.communicator, early.key.sequence}, early.call, early.offer.phantom, early.caller});
    engine_.has_early_calls_ = true;
    return true;
}

void Deputies::begin_early_calls() {
    engine_.has_early_calls_ = false;
    for (const EarlyCall& early : std::exchange(early_calls_, {})) {
        CommunicatorState* const communicator = engine_.communicators_.find(early.key.communicator);
        const bool wanted = communicator && !communicator->is_broken_at(early.key.sequence) && early.key.sequence > communicator->begun &&
                            !engine_.find_active(early.key.communicator, early.key.sequence) && !expected_.find(early.key);
        Deputy* const deputy = wanted ? make(*communicator, early.key.sequence, early.call,
                                             engine_.options_.find_part_alone(early.call, communicator->rank, *communicator->group),
                                             nullptr, early.phantom, early.caller)
                                      : nullptr;
        if (deputy) {
            ++begun_early_;
            deputy->expected_ = true;
            deputy->operation_.await_caller();
            expected_.insert(*deputy);
            begin(*deputy);
        }
        // Messages that no receive waits for are treated as any other early message.
        std::vector<EarlyMessage*> waiting;
        engine_.early_.for_each_of(early.key, [&](EarlyMessage& message) {
            if (message.stage == EarlyMessage::Stage::offered && !message.waits_for_landing) waiting.push_back(&message);
        });
        for (EarlyMessage* message : waiting) engine_.early_.land(*message);
    }
}

void Deputies::begin(Deputy& deputy) {
    Operation& operation = deputy.operation_;
    CommunicatorState& communicator = operation.communicator_;
    engine_.active_.insert(operation);
    operation.engine_ = &engine_;
    ++engine_.begun_;
    ++active_;
    engine_.watch_over_operations();
    if (communicator.is_broken_at(operation.sequence())) engine_.fail(operation, *communicator.broken);
    engine_.call_algorithm(operation);
    engine_.touch(operation);
    engine_.run_ready();
}

// --- the caller --------------------------------------------------------------------------------------------------------------

void Deputies::attach(Operation& caller, Deputy& deputy) {
    CommunicatorState& communicator = caller.communicator_;
    communicator.begun = std::max(communicator.begun, caller.sequence());
    communicator.remember(caller.sequence(), caller.call_);
    caller.engine_ = &engine_;
    caller.deputy_ = &deputy;
    deputy.caller_ = &caller;
    ++attached_callers_;
}

bool Deputies::meet(Operation& caller) {
    CommunicatorState& communicator = caller.communicator_;
    if (!expected_.find(caller.key_)) return false;
    communicator.remember(caller.sequence(), caller.call_);  // attach() then needs no memory
    Deputy* const deputy = expected_.take(caller.key_);
    const bool agrees = deputy->operation_.call_.agrees_with(caller.call_);
    if (!agrees && !communicator.is_broken_at(caller.sequence())) {
        // With the sizes that the caller counts, the error can name the block that the two ranks count differently.
        const Block* const before = std::exchange(deputy->operation_.arguments_.blocks, caller.arguments_.blocks);
        fail_mismatch(engine_, communicator, caller.sequence(), caller.call_, Call(deputy->operation_.call_), deputy->source_);
        deputy->operation_.arguments_.blocks = before;
    }
    if (communicator.is_broken_at(caller.sequence())) {
        give_up(*deputy);
        return false;  // it fails as any call does
    }
    attach(caller, *deputy);
    if (deputy->has_ended()) {
        on_end(*deputy);
        return true;
    }
    if (deputy->forwards_) deputy->take_callers_buffers();
    if (deputy->here_ > 0) deputy->want_copy_ahead();
    if (caller.has_arrived())
        deputy->meet_caller();
    else
        engine_.run_ready();
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

void Deputies::on_end(Deputy& deputy) {
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
        expected_.remove(deputy);  // its caller fails without it
    }
    if (error && deputy.source_ < 0) tell_of_undelivered(operation.communicator_, *error, job_in_log(engine_.options_.job));
    let_go(deputy);
}

unsigned Deputies::copy_for_callers() {
    for (Deputy* deputy = first_; deputy; deputy = deputy->next_)
        if (deputy->copy_ahead(kCopiedAtOnce)) return 1;
    engine_.callers_lack_data_ = false;
    return 0;
}

void Deputies::give_up(Deputy& deputy) {
    deputy.expected_ = false;
    if (deputy.has_ended()) return let_go(deputy);
    engine_.fail(deputy.operation_, Error(ErrorCode::state, fmt::format("{}: nobody called it here", deputy.operation_.describe())));
    engine_.run_ready();
}

void Deputies::let_go(Deputy& deputy) {
    CommunicatorState& communicator = deputy.operation_.communicator_;
    delete &deputy;
    if (communicator.retired) engine_.remove_if_idle(communicator);
    engine_.early_.land_waiting();  // there is room now
}

void Deputies::give_up_all_of(const CommunicatorState& communicator) {
    for (;;) {
        Deputy* uncalled = nullptr;  // One at a time: the end of one may be the end of others.
        expected_.for_each([&](Deputy& deputy) {
            if (&deputy.operation_.communicator_ == &communicator) uncalled = &deputy;
        });
        if (!uncalled) return;
        expected_.remove(*uncalled);
        give_up(*uncalled);
    }
}

void Deputies::let_go_of_ended(const CommunicatorState& communicator) {
    if (expected_.size() == 0) return;
    std::vector<Deputy*> ended;
    expected_.for_each([&](Deputy& deputy) {
        const Operation& operation = deputy.operation_;
        if (&operation.communicator_ != &communicator || !communicator.is_broken_at(operation.sequence())) return;
        if (deputy.has_ended()) ended.push_back(&deputy);
    });
    for (Deputy* deputy : ended) expected_.remove(*deputy);
    for (Deputy* deputy : ended) let_go(*deputy);
}

// Other ranks made calls that this rank will never make.
void Deputies::deny_uncalled() {
    struct Uncalled {
        CommunicatorState& communicator;
        std::uint64_t sequence;
        Call call;
        int source;
    };
    std::vector<Uncalled> uncalled;  // The deputies themselves may go with the first mismatch.
    expected_.for_each([&](Deputy& deputy) {
        Operation& operation = deputy.operation_;
        uncalled.push_back({operation.communicator_, operation.sequence(), operation.call_, deputy.source_});
    });
    Call mine;
    mine.kind = OperationKind::finalize;
    for (const Uncalled& its : uncalled) fail_mismatch(engine_, its.communicator, its.sequence, mine, its.call, its.source);
    engine_.run_ready();
}

void Deputies::free_all() noexcept {
    while (first_) delete first_;
}

}  // namespace rollcall::runtime
