#include "bench/commands/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <memory>

#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "bench/commands/report.hpp"
#include "bench/commands/simulate_intergroup.hpp"
#include "bench/commands/simulate_tree.hpp"
#include "bench/options/landing.hpp"
#include "bench/options/simulated_model.hpp"
#include "bench/options/sweep.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/operands.hpp"
#include "bench/results/interruptible_progress.hpp"
#include "collectives/selection.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "runtime/arrivals/prediction.hpp"
#include "runtime/simulation/model_costs.hpp"
#include "runtime/simulation/simulation.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace simulate_command {
namespace {

using runtime::OperationKind;

constexpr std::uint64_t kMostRanks = 10'000'000;
constexpr std::uint64_t kMostSegments = 1'000'000'000;
constexpr std::uint64_t kDefaultIterations = 20;
/// If the user gives no number of iterations, a cell ends after this many events, which take some seconds. Events are counted, and not
/// seconds, because the result must not depend on the machine.
constexpr std::uint64_t kEventsOfCell = 20'000'000;

constexpr const char *kBothWays = "no,auto", *kDecoupled = "+decoupled";
constexpr int kDefaultRanks = 4096;

struct Words {
    SweepWords sweep;
    std::optional<std::string> ranks, landing, decouple;
    std::string model;
    std::string segments;
    bool verbose = false;
};

struct Plan {
    Sweep sweep;
    transport::Model model;
    Costs costs;  ///< The costs of the model.
    std::vector<SimulatedLanding> landing;
    std::vector<bool> decouple;  ///< Whether a rank's part in a call may begin before its caller and go on after it.
    std::uint64_t segments = 0;  ///< 0: not given.
    bool verbose = false;
};

std::uint64_t calls_of(const Sweep& sweep) { return sweep.iterations.value_or(sweep.as_in_paper ? kPaperIterations : kDefaultIterations); }

Plan plan_of(const Words& words, OperationKind operation, int ranks) {
    Plan plan;
    const bool paper = words.sweep.paper.has_value();
    plan.sweep = checked(words.sweep, operation, ranks, Ranks::simulated);
    change_model(plan.model, kDefaultModel);
    if (paper) change_model(plan.model, kPaperModel);
    change_model(plan.model, words.model);
    for (const std::uint64_t bytes : plan.sweep.sizes)
        require_countable(plan.model, bytes, static_cast<std::uint64_t>(ranks), calls_of(plan.sweep));
    plan.costs = runtime::costs_of(plan.model);
    plan.landing = parse_simulated_landing(words.landing.value_or(paper ? kLandingOfPapers : kLandingOn));
    plan.decouple = parse_decouple(words.decouple.value_or(paper ? "no" : kBothWays));
    // The paper's numbers are of two algorithms, and a decoupled variant of one of them would be another.
    if (plan.sweep.paper != nullptr && plan.decouple != std::vector{false})
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--decouple {} with the table {}; allowed: --decouple no", *words.decouple, *words.sweep.paper));
    if (!words.segments.empty()) {
        plan.segments = parse_count(words.segments, "--segments", 1, kMostSegments);
        if (plan.sweep.segment_bytes) throw Error(ErrorCode::invalid_argument, "--segments and --segment together; allowed: one of them");
    }
    plan.verbose = words.verbose;
    return plan;
}

/// Returns a plan for each number of ranks.
std::vector<Plan> plans_of(const Words& words, OperationKind operation) {
    const std::string default_ranks = std::to_string(words.sweep.paper ? kPaperRanks : kDefaultRanks);
    std::vector<Plan> plans;
    for (const std::uint64_t ranks : parse_counts(words.ranks.value_or(default_ranks), "--ranks", 1, kMostRanks))
        plans.push_back(plan_of(words, operation, static_cast<int>(ranks)));
    return plans;
}

/// One algorithm with one size, landing and pattern.
class CellRun {
  public:
    CellRun(const Plan& plan, std::uint64_t size, const SimulatedLanding& landing, bool decouple, const Pattern& pattern,
            const std::string& name)
        : plan_(plan), pattern_(pattern) {
        const Sweep& sweep = plan.sweep;
        const std::uint64_t bytes = bytes_ = call_bytes(sweep.operation, size, sweep.ranks);
        const collectives::SelectionInput call = selection_input(plan, size, landing, decouple);
        const auto chosen = name == "auto" ? collectives::select(sweep.operation, call) : collectives::Selection();
        entry_ = chosen.entry ? chosen.entry : &collectives::find_algorithm(sweep.operation, name, kSimulated);
        decoupled_ = decouple && landing.budget > 0 && (entry_->runs_alone || entry_->forwards);
        std::uint64_t segment = entry_->segmented && !entry_->whole_by_default ? Settings().segment_bytes : 0;
        if (chosen.segment) segment = chosen.segment(collectives::cost_input_of(call));
        if (sweep.segment_bytes) segment = *sweep.segment_bytes;
        if (plan.segments > 0) segment = std::max<std::uint64_t>((bytes + plan.segments - 1) / plan.segments, 1);
        segment_bytes_ = entry_->segmented ? segment : 0;

        options_ = {.ranks = sweep.ranks,
                    .model = plan.model,
                    .landing_bytes = landing.budget,
                    .landing_longest = landing.longest,
                    .node_memory = false,
                    .find_part_alone = decoupled_ ? &collectives::part_alone : nullptr};
        transport::Model& model = options_.model;
        // The near-optimal broadcast forwards a message while it comes in. (That of a reduce combines pieces that have come.)
        if (sweep.operation == OperationKind::broadcast && entry_->needs.contains(collectives::Condition::oracle)) model.cut_through = true;
        if (sweep.phases) predictors_.assign(static_cast<std::size_t>(sweep.ranks), runtime::ArrivalPredictor(sweep.phases->predictor));
        measured_.identity = {.operation = std::string(runtime::name(sweep.operation)),
                              .algorithm = decoupled_ ? name + kDecoupled : name,
                              .transport = "simulated",
                              .ranks = sweep.ranks,
                              .bytes = size,
                              .pattern = pattern.describe()};
        measured_.setup = {sweep.root, model.message_time(bytes), landing.model(), plan.landing.size() > 1 ? landing.word : ""};
        measured_.notes = {{"forwarding", model.cut_through ? "first_bit" : "message"}};
    }

    /// Whether parts of its calls begin before their callers and go on after them.
    bool is_decoupled() const { return decoupled_; }

    static collectives::SelectionInput selection_input(const Plan& plan, std::uint64_t size, const SimulatedLanding& landing,
                                                       bool decouple) {
        collectives::SelectionInput found = {
            .bytes = call_bytes(plan.sweep.operation, size, plan.sweep.ranks),
            .ranks = plan.sweep.ranks,
            .has = landing.budget > 0 ? collectives::kUsual : collectives::kUsual.without(collectives::Condition::landing),
            .nodes = 0,
            .costs = &plan.costs};
        if (landing.budget > 0 && decouple) found.has = found.has.with(collectives::Condition::background);
        if (plan.sweep.phases) found.has = found.has.without(collectives::Condition::called);
        return found;
    }

    /// `show` is called from time to time with the finished part of the cell (0 to 1) and a description of what goes on.
    Measured run(const std::function<void(double part, const std::string& what)>& show) {
        const Nanoseconds begin = monotonic_now();
        show_ = &show;
        simulation_.emplace(options_);
        for (int rank = 0; plan_.sweep.phases && rank < plan_.sweep.ranks; ++rank) simulation_->world(rank).kept.emplace();
        simulation_->network().set_watch([](void* self) { static_cast<CellRun*>(self)->show_progress(); }, this);
        std::uint64_t iterations = calls_of(plan_.sweep);
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            const std::uint64_t events = call(iteration);
            if (iteration == 0 && !plan_.sweep.iterations)
                iterations = std::clamp<std::uint64_t>(kEventsOfCell / std::max<std::uint64_t>(events, 1), 1, iterations);
            expected_events_ = events_ / (iteration + 1) * iterations;
        }
        if (plan_.verbose) {
            const double seconds = static_cast<double>(monotonic_now() - begin) * 1e-9;
            std::cerr << fmt::format("{} {} {}: {} calls, {} messages, {} events in {}, {:.3g} events/s\n", measured_.identity.algorithm,
                                     format_bytes(measured_.identity.bytes), measured_.identity.pattern, iterations, messages_, events_,
                                     format_duration(seconds), static_cast<double>(events_) / seconds);
        }
        measured_.identity.iterations = iterations;
        return std::move(measured_);
    }

  private:
    /// All calls of a cell have about as many events. How many is not known during the first call.
    void show_progress() {
        const auto events = static_cast<double>(simulation_->network().events());
        const double part = expected_events_ > 0 ? std::min(events / static_cast<double>(expected_events_), 1.0) : 0;
        (*show_)(part, fmt::format("call {}, {:.1f} million events", measured_.calls.size() + 1, events * 1e-6));
    }

    /// Executes one call. Returns the number of events.
    std::uint64_t call(std::uint64_t iteration) {
        const Sweep& sweep = plan_.sweep;
        CallSample call;
        call.iteration = iteration;
        call.asked = pattern_.delays(sweep.ranks, sweep.root, iteration, measured_.setup.message_time);
        call.start = sweep.phases ? 2 * sweep.phases->compute : 0;
        std::vector<Nanoseconds> arrivals = call.asked;
        for (Nanoseconds& arrival : arrivals) arrival += call.start;
        auto outcome = simulation_->run([&](int rank) { return rank_call(rank, iteration, call); }, arrivals);
        for (std::size_t rank = 0; rank < outcome.errors.size(); ++rank)
            if (outcome.errors[rank])
                throw Error(ErrorCode::state, fmt::format("simulated rank {}: {}", rank, outcome.errors[rank]->what()));
        call.arrivals = std::move(outcome.arrivals);
        call.exits = std::move(outcome.exits);
        call.first_data = std::move(outcome.first_data);
        std::replace(call.first_data.begin(), call.first_data.end(), Nanoseconds{0}, kNoTime);
        measured_.calls.push_back(std::move(call));
        messages_ += outcome.messages;
        events_ += outcome.events;
        return outcome.events;
    }

    /// The call of this rank, and its predictions in the meantime. The predictions are also stored in `call`.
    runtime::Simulation::RankCall rank_call(int rank, std::uint64_t iteration, CallSample& call) {
        const Sweep& sweep = plan_.sweep;
        runtime::Simulation::RankCall what;
        what.call = collectives::make_call(*entry_, sweep.root, bytes_, segment_bytes_);
        what.algorithm = sweep.phases ? collectives::planned(*entry_, rank == sweep.root) : entry_->algorithm;
        what.arguments = collectives::arguments_of(collectives::operation(sweep.operation), {}, bytes_, sweep.ranks, rank == sweep.root);
        what.arguments.segment_bytes = segment_bytes_;
        what.arguments.oracle = call.asked.data();
        if (!sweep.phases) return what;

        const auto r = static_cast<std::size_t>(rank);
        const Phase phase = phase_of(*sweep.phases, call.asked[r], noise_key(sweep.seed, iteration, rank));
        runtime::ArrivalPredictor& predictor = predictors_[r];
        const auto predict = [&](Nanoseconds at) {
            const Nanoseconds predicted = predictor.predicted();
            if (predicted == runtime::kUnknownTime) return;
            if (what.predictions.empty() || what.predictions.back().arrival != predicted) what.predictions.push_back({at, predicted});
        };
        what.begin = 0;
        predictor.begin(0);
        predict(0);
        if (sweep.phases->edge) {
            predictor.edge(kEdge, phase.edge);
            predict(phase.edge);
        }
        predictor.end(phase.end);
        call.predicted.push_back(what.predictions.empty() ? kNoTime : what.predictions.back().arrival);
        return what;
    }

    const Plan& plan_;
    const Pattern& pattern_;
    const collectives::AlgorithmEntry* entry_;
    bool decoupled_ = false;
    std::uint64_t bytes_;  ///< The size of a call.
    std::uint64_t segment_bytes_;
    std::vector<runtime::ArrivalPredictor> predictors_;  ///< For each rank. Their times count from the beginning of the phase.
    runtime::Simulation::Options options_;
    std::optional<runtime::Simulation> simulation_;  ///< Made when the cell runs: not all do.
    Measured measured_;
    std::uint64_t messages_ = 0, events_ = 0;
    std::uint64_t expected_events_ = 0;  ///< The number of events of the whole cell; 0: not known yet.
    const std::function<void(double, const std::string&)>* show_ = nullptr;
};

/// Says what `auto` chooses for each size, and why.
void explain(const Plan& plan) {
    const Sweep& sweep = plan.sweep;
    std::ostream& out = explanations(sweep.format);
    for (const std::uint64_t bytes : sweep.sizes) {
        for (const SimulatedLanding& landing : plan.landing) {
            for (const bool decouple : plan.decouple) {
                const auto input = CellRun::selection_input(plan, bytes, landing, decouple);
                if (plan.decouple.size() > 1) out << (decouple ? "--decouple auto: " : "--decouple no: ");
                out << collectives::explain(sweep.operation, input, collectives::select(sweep.operation, input)) << std::endl;
            }
        }
    }
}

std::size_t cells_of(const Plan& plan) {
    const Sweep& sweep = plan.sweep;
    return sweep.sizes.size() * plan.landing.size() * sweep.patterns.size() * sweep.algorithms.size() * plan.decouple.size();
}

/// Simulates the cells of a plan. `done` counts the cells of all plans.
void simulate(const Plan& plan, Report& report, InterruptibleProgress& progress, std::size_t& done) {
    const Sweep& sweep = plan.sweep;
    for (const std::uint64_t bytes : sweep.sizes) {
        for (const SimulatedLanding& landing : plan.landing) {
            for (const Pattern& pattern : sweep.patterns) {
                for (const std::string& algorithm : sweep.algorithms) {
                    for (const bool decouple : plan.decouple) {
                        const std::string name =
                            fmt::format("{} ranks, {} {} {}", sweep.ranks, format_bytes(bytes), algorithm, pattern.describe());
                        const std::size_t before = done++;
                        progress.update(before, name);
                        CellRun cell(plan, bytes, landing, decouple, pattern, algorithm);
                        // An algorithm that needs its callers behaves the same both ways, so it is simulated only once.
                        if (decouple && !plan.decouple.front() && !cell.is_decoupled()) continue;
                        Measured measured =
                            cell.run([&](double part, const std::string& what) { progress.update(before, name + ", " + what, part); });
                        progress.erase();
                        report.add(std::move(measured));
                    }
                }
            }
            report.flush();
        }
    }
}

/// There is one report for all plans.
void simulate(const std::vector<Plan>& plans) {
    std::size_t cells = 0;
    for (const Plan& plan : plans) {
        if (plan.sweep.explain) explain(plan);
        cells += cells_of(plan);
    }
    Report report(plans.front().sweep, std::cout);
    InterruptibleProgress progress(cells);
    std::size_t done = 0;
    report.finish_after([&] {
        for (const Plan& plan : plans) simulate(plan, report, progress, done);
    });
}

constexpr const char* kFooter = R"(
The algorithms are the same as over a real transport. The network is simulated, in virtual time. The same seed gives the
same result, to the last digit.

A message of m bytes takes T = alpha + beta*m, and occupies a port of its sender and one of its receiver for that time. A
copy takes gamma*m. An arrival notice takes `notice`. With duplex=half, a port cannot send and receive at the same time.
With cut-through, a rank may forward a message from its first bit on.

The default, )";

constexpr const char* kFooterEnd = R"(, is a network of
10 Gbit/s. All algorithms except near_optimal forward whole messages (or segments). near_optimal is the paper's bound on
what is possible at all: it knows all arrivals in advance, and forwards from the first bit on. The column `forwarding`
says which. --landing off is the paper's blocking model, and --landing on its non-blocking model.

"+decoupled" behind the name of an algorithm means that its calls begin before their callers arrive, and go on after they
have left, as in a job (ROLLCALL_DECOUPLE). So a late rank still passes data on. Only some algorithms can do this. They
are shown both ways.

--iterations is 20 by default, and smaller for cells of very many messages (at most 20 million events in a cell).)";

constexpr const char* kPaperFooter = R"(

With --paper the defaults are the paper's: 48 ranks, 128 iterations, )";
constexpr const char* kPaperFooterEnd = R"( (117 MB/s), and --landing eager:64Ki.)";
constexpr const char* kTableFooterEnd = R"( The paper's network was not as simple as this: on it, several
senders to one receiver, as at the beginning of a linear gather, cost more than their bytes.)";

void add_options(usage::Command& command, Words& words, OperationKind operation) {
    command.add_option("-n,--ranks", words.ranks, fmt::format("Numbers of ranks, {}", kCountList))
        ->type_name("N,...")
        ->default_str(std::to_string(kDefaultRanks));
    add_sweep_options(command, words.sweep, operation, Ranks::simulated);
    command.add_option("--model", words.model, "What differs from the default network (see below), such as alpha=5us,ports=2,cut-through")
        ->type_name("K=V,...");
    command
        .add_option("--landing", words.landing,
                    fmt::format("Early data that each rank accepts. on: all; off: none, so a sender waits for its receiver; eager:SIZE: "
                                "messages of up to SIZE, and a sender of more waits, as in MPI{}; BYTES: this much at a time. The column "
                                "`model` says which: nonblocking, blocking, eager; with several values, `landing` does",
                                has_paper(operation) ? kLandingOfPapersInWords : ""))
        ->type_name("on|off|eager:SIZE|BYTES,...")
        ->default_str(kLandingOn);
    command
        .add_option(
            "--decouple", words.decouple,
            "Whether calls begin before their callers arrive and go on after they have left: no, auto (if the algorithm can), or both")
        ->type_name("no|auto|no,auto")
        ->default_str(kBothWays);
    command.add_option("--segments", words.segments, "Instead of --segment: the number of pieces of every message")->type_name("N");
    command.add_flag("--verbose", words.verbose, "Say on standard error how much real time each cell took");
    std::string footer = command.footer() + kFooter + kDefaultModel + kFooterEnd;
    if (has_paper(operation)) footer.append(kPaperFooter).append(kPaperModel).append(kPaperFooterEnd);
    if (has_paper(operation) && !has_figures(operation)) footer.append(kTableFooterEnd);
    command.footer(footer);
}

void add_command(usage::Command& simulate_command, OperationKind operation, const std::string& summary) {
    usage::Command* const command = simulate_command.add_subcommand(std::string(runtime::name(operation)), summary);
    const auto words = std::make_shared<Words>();
    command->when_named([command, words, operation] { add_options(*command, *words, operation); });
    command->callback([words, operation] { simulate(plans_of(*words, operation)); });
}

}  // namespace
}  // namespace simulate_command

void add_simulate_command(usage::Command& root) {
    using namespace simulate_command;
    usage::Command* const simulate_command = root.add_subcommand("simulate", "Run algorithms on a simulated network, in virtual time");
    simulate_command->require_subcommand(1);
    simulate_command->when_named([simulate_command] {
        for (const collectives::OperationRow& row : collectives::operations())
            if (row.moves_data)
                add_command(*simulate_command, row.kind,
                            fmt::format("Simulate {} under arrival patterns, with or without compute phases", runtime::name(row.kind)));
        add_intergroup_command(*simulate_command);
        add_tree_command(*simulate_command);
    });
}

}  // namespace rollcall::bench
