#include <rollcall/plan.hpp>

#include <algorithm>

#include <fmt/format.h>
#include <rollcall/error.hpp>
#include <rollcall/job.hpp>

#include "api/communicator_implementation.hpp"
#include "runtime/arrivals/prediction.hpp"
#include "runtime/engine/caller_notice.hpp"

namespace rollcall {

namespace {

constexpr const char* kNothingStarted = "nothing was started: call start() first";

}  // namespace

using runtime::ArrivalPredictor;
using runtime::CallerNotice;
using runtime::Operation;
using runtime::OperationKind;

/// A plan has a communicator of its own. So its messages are never mixed up with others, and the communicator's sequence number counts the
/// iterations.
struct ROLLCALL_HIDDEN Plan::Implementation {
    Implementation(std::shared_ptr<Communicator::Implementation> its_own, const Communicator::Implementation::Prepared& its_prepared,
                   const PlanOptions& options, std::string why)
        : own(std::move(its_own)),
          prepared(its_prepared),
          algorithm(collectives::planned(*its_prepared.algorithm, its_prepared.call.root == own->state.rank)),
          timeout(own->deadline(options.timeout)),
          predictor(options.predictor),
          explanation(std::move(why)) {}

    runtime::Lane& lane() const { return own->process->lane(); }
    // Names the call, for errors: a program may have many plans.
    [[noreturn]] void refuse(ErrorCode code, const char* caller, const std::string& why) const {
        throw Error(code, fmt::format("{} of {} on {}: {}", caller, to_string(prepared.call), own->state.group->name, why));
    }
    void make_operation() {
        own->check_alive();
        operation.emplace(own->state, own->next_sequence(), prepared.call, algorithm.algorithm, prepared.arguments);
        operation->record();
    }
    // Fails an iteration that is under way although the job has ended. Nothing moves its data any more.
    void end_with_job() {
        if (operation->done() || !own->process->finalized()) return;
        lane().abandon(*operation, [&] { return ended_error(*own->process, operation->describe()); });
    }
    // The lane may hold notices, which point to the operation.
    void take_back_notices() {
        for (std::optional<CallerNotice>* const notice : {&prediction, &arrival}) {
            if (*notice && !(*notice)->done()) lane().as_owner([](runtime::Engine&) {});
            notice->reset();
        }
    }
    void tell_prediction() {
        if (predictor.predicted() == runtime::kUnknownTime || predictor.predicted() == told) return;
        if (algorithm.begins_with_caller) return;  // nothing reads it
        told = predictor.predicted();
        if (prediction && !prediction->done()) lane().as_owner([](runtime::Engine&) {});  // the lane is busy for a whole part of a phase
        prediction.emplace(*operation, &Operation::predict_arrival, told);
        lane().start(*prediction);
    }
    void arrive(Nanoseconds time) {
        record = {};
        record.arrival = time;
        if (predictor.in_phase()) {
            predictor.end(time);
            if (predictor.predicted() != runtime::kUnknownTime) record.predicted = predictor.predicted();
        }
        own->make_common(record);
        started = true;
    }
    // Takes the result of the iteration, and makes the plan ready for the next one.
    void finish() {
        CallRecord end;
        end.exit = monotonic_now();
        end.first_data = operation->first_data();
        own->make_common(end);
        record.exit = end.exit;
        record.first_data = end.first_data;
        std::optional<Error> error;
        if (operation->error()) error.emplace(*operation->error());
        started = false;
        take_back_notices();
        operation.reset();
        if (error) throw Error(*error);
    }

    std::shared_ptr<Communicator::Implementation> own;
    Communicator::Implementation::Prepared prepared;
    runtime::PlannedAlgorithm algorithm;
    Timeout timeout;
    ArrivalPredictor predictor;
    std::string explanation;
    std::optional<Operation> operation;               ///< The iteration that has begun.
    std::optional<CallerNotice> prediction, arrival;  ///< What its caller has told the lane.
    bool started = false;                             ///< The caller of that iteration has arrived.
    Nanoseconds told = runtime::kUnknownTime;
    CallRecord record;
    Layout layout;  ///< If `prepared` points into one.
};

Plan::Plan() = default;
Plan::Plan(std::unique_ptr<Implementation> implementation) noexcept : implementation_(std::move(implementation)) {}
Plan::Plan(Plan&& other) noexcept = default;

Plan& Plan::operator=(Plan&& other) noexcept {
    Plan taken(std::move(other));
    std::swap(implementation_, taken.implementation_);  // the old plan of this object ends with `taken`
    return *this;
}

Plan::~Plan() {
    if (!implementation_ || !implementation_->operation) return;
    if (implementation_->own->process->forked()) {
        (void)implementation_.release();  // it belongs to the parent process
        return;
    }
    Operation& operation = *implementation_->operation;
    if (!operation.done())
        implementation_->lane().abandon(operation, [&] {
            return Error(ErrorCode::state, fmt::format("{}: rank {} destroyed its plan while this was under way", operation.describe(),
                                                       operation.communicator().rank));
        });
    implementation_->take_back_notices();
}

Plan::Implementation& Plan::checked() const {
    if (!implementation_) throw Error(ErrorCode::state, "this plan is null: make one with a plan_ function of Communicator");
    implementation_->own->process->check_not_forked();
    return *implementation_;
}

void Plan::begin() {
    Implementation& here = checked();
    if (here.operation)
        here.refuse(ErrorCode::state, "Plan::begin()", "an iteration is under way: end it with run(), or start() and wait(), first");
    here.make_operation();
    here.predictor.begin(monotonic_now());
    here.told = here.predictor.predicted();
    here.operation->await_caller(here.told, here.algorithm.begins_with_caller);
    here.lane().start(*here.operation);
}

void Plan::edge(double fraction) {
    Implementation& here = checked();
    if (!here.predictor.in_phase()) here.refuse(ErrorCode::state, "Plan::edge()", "no compute phase has begun: call begin() first");
    if (!(fraction > 0 && fraction <= 1))
        here.refuse(ErrorCode::invalid_argument, "Plan::edge()",
                    fmt::format("{} is not a fraction of the phase: give a number above 0 and at most 1", fraction));
    here.predictor.edge(fraction, monotonic_now());
    here.tell_prediction();
}

void Plan::start() {
    Implementation& here = checked();
    if (here.started) here.refuse(ErrorCode::state, "Plan::start()", "this iteration was started already: wait for it first");
    here.own->check_alive();
    const Nanoseconds time = monotonic_now();
    const bool begun = here.operation.has_value();
    if (!begun) here.make_operation();  // before the arrival: if this throws, nothing was started
    here.arrive(time);
    if (!begun) {
        here.operation->note_arrival(time);
        return here.lane().start(*here.operation);
    }
    here.arrival.emplace(*here.operation, &Operation::arrive_at, time);
    here.lane().start(*here.arrival);
}

void Plan::wait() {
    Implementation& here = checked();
    if (!here.started) here.refuse(ErrorCode::state, "Plan::wait()", kNothingStarted);
    here.end_with_job();
    if (!here.lane().wait(*here.operation, here.timeout))
        here.lane().abandon(*here.operation,
                            [&] { return unfinished_error(*here.own->process, here.operation->describe(), here.timeout); });
    here.finish();
}

void Plan::run() {
    start();
    wait();
}

bool Plan::test() {
    Implementation& here = checked();
    if (!here.started) here.refuse(ErrorCode::state, "Plan::test()", kNothingStarted);
    here.end_with_job();
    if (!here.operation->done()) here.lane().progress();
    return here.operation->done();
}

const CallRecord& Plan::record() const { return checked().record; }
const std::string& Plan::explanation() const { return checked().explanation; }

void Communicator::Implementation::keep(Plan& plan, Layout layout) { plan.implementation_->layout = std::move(layout); }

// --- making them -----------------------------------------------------------------------------------------------------

Plan Communicator::Implementation::plan(Prepared prepared, const PlanOptions& options, const Choose& choose) const {
    if (options.timeout) checked_timeout(*options.timeout);
    auto own = divide(0, state.rank, OperationKind::plan, state.group->first_group);
    // There may have been slots on the board for this communicator, and none for the plan. Otherwise this one knows what it chose last
    // time.
    std::string explanation = choose(own->conditions == conditions ? *this : *own, prepared);
    struct Planned {
        runtime::Call call;
        KnownClocks clocks;
    };
    const auto all = own->exchange(Planned{prepared.call, own->known_clocks()}, OperationKind::plan);
    KnownClocks known_by_all{.job = true, .communicator = true};
    for (const Planned& planned : all) {
        known_by_all.job &= planned.clocks.job;
        known_by_all.communicator &= planned.clocks.communicator;
    }
    // A rank that has no part does not know the size, so its plan would agree with plans of different sizes.
    const auto has_no_part = [](const Planned& planned) { return planned.call.has_no_part(); };
    const auto found = std::find_if_not(all.begin(), all.end(), has_no_part);
    const auto first = static_cast<std::size_t>(found == all.end() ? 0 : found - all.begin());
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        if (!all[rank].call.agrees_with(all[first].call))
            throw Error(ErrorCode::mismatch,
                        fmt::format("the plans of {} do not match: rank {} plans {}, rank {} plans {}{}. All ranks must plan the same "
                                    "operation with the same root, size and algorithm",
                                    state.group->name, first, to_string(all[first].call, &collectives::algorithm_name), rank,
                                    to_string(all[rank].call, &collectives::algorithm_name),
                                    all[rank].call.counts_others(all[first].call) ? ", with other sizes of the blocks" : ""));
    // Predictions of different hosts are compared, so the hosts need a common clock. The next plan of this communicator finds the clock
    // there.
    own->agree_on_clock(known_by_all, Job::kClockWindow.count());
    use_clock(own->clock);
    if (!own->state.group->has_slots)
        explanation += "; predictions are not sent, because the arrivals board has no slots left for this plan (ROLLCALL_BOARD_SLOTS)";
    own->state.kept.emplace();
    return Plan(std::make_unique<Plan::Implementation>(std::move(own), prepared, options, std::move(explanation)));
}

}  // namespace rollcall
