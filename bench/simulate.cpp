#include "bench/simulate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <memory>

#include <rollcall/error.hpp>

#include "bench/clock.hpp"
#include "bench/lists.hpp"
#include "bench/progress_line.hpp"
#include "bench/report.hpp"
#include "bench/sweep.hpp"
#include "collectives/selection.hpp"
#include "runtime/settings/quote.hpp"
#include "runtime/settings/settings.hpp"
#include "runtime/simulation/simulation.hpp"

namespace rollcall::bench {
namespace {

using runtime::OperationKind;

constexpr std::uint64_t kMostRanks = 10'000'000;
constexpr std::uint64_t kMostSegments = 1'000'000'000;
constexpr std::uint64_t kDefaultIterations = 20;
/// Where the user does not say how many iterations, a cell ends after so many events: some seconds. Events, not
/// seconds: the result must not depend on the machine.
constexpr std::uint64_t kEventsOfCell = 20'000'000;
constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;

/// A network of 10 Gbit/s (0.8 ns a byte) with 2 us for a message or a notice, and 10 GB/s for a copy.
constexpr const char* kDefaultModel = "alpha=2us,beta=0.8,gamma=0.1,ports=1,duplex=full,notice=2us";

struct Words {
    SweepWords sweep;
    std::string ranks = "4096";
    std::string model;
    std::string landing = "unlimited";
    std::string segments;
    bool verbose = false;
};

struct Plan {
    Sweep sweep;
    transport::Model model;
    std::uint64_t landing_bytes = kUnlimited;
    std::uint64_t segments = 0;  ///< 0: not given.
    bool verbose = false;
};

[[noreturn]] void reject_model(std::string_view entry) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--model: {}; allowed: alpha=T (a message), beta=NS and gamma=NS (a byte sent, a byte "
                            "copied; nanoseconds), "
                            "notice=T, ports=1..1024, duplex=full|half, cut-through; default {}",
                            runtime::quote(entry), kDefaultModel));
}

void change(transport::Model& model, std::string_view text) {
    constexpr std::uint64_t kMostPorts = 1024;
    while (!text.empty()) {
        const std::string_view entry = text.substr(0, text.find(','));
        text.remove_prefix(std::min(entry.size() + 1, text.size()));
        const auto equals = entry.find('=');
        const std::string_view key = entry.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? std::string_view() : entry.substr(equals + 1);
        const auto number = [&] {
            double result = 0;
            const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
            if (error != std::errc{} || end != value.data() + value.size() || !std::isfinite(result) || result < 0) reject_model(entry);
            return result;
        };
        const auto duration = [&] {
            try {
                return static_cast<double>(runtime::parse_duration(value));
            } catch (const Error&) {
                reject_model(entry);
            }
        };
        if (key == "alpha") {
            model.alpha = duration();
        } else if (key == "beta") {
            model.beta = number();
        } else if (key == "gamma") {
            model.gamma = number();
        } else if (key == "notice") {
            model.notice = duration();
        } else if (key == "ports") {
            const double ports = number();
            if (ports < 1 || ports > static_cast<double>(kMostPorts) || ports != std::floor(ports)) reject_model(entry);
            model.ports = static_cast<int>(ports);
        } else if (key == "duplex" && (value == "full" || value == "half")) {
            model.full_duplex = value == "full";
        } else if (entry == "cut-through") {
            model.cut_through = true;
        } else {
            reject_model(entry);
        }
    }
}

Plan plan_of(const Words& words) {
    Plan plan;
    const auto ranks = static_cast<int>(parse_count(words.ranks, "--ranks", 1, kMostRanks));
    plan.sweep = checked(words.sweep, ranks, Ranks::simulated);
    change(plan.model, kDefaultModel);
    change(plan.model, words.model);
    if (words.landing != "unlimited") {
        try {
            plan.landing_bytes = runtime::parse_bytes(words.landing);
        } catch (const Error&) {
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--landing {}; allowed: unlimited, or bytes such as 0 or 64Mi", runtime::quote(words.landing)));
        }
    }
    if (!words.segments.empty()) {
        plan.segments = parse_count(words.segments, "--segments", 1, kMostSegments);
        if (plan.sweep.segment_bytes) throw Error(ErrorCode::invalid_argument, "--segments and --segment together; allowed: one of them");
    }
    plan.verbose = words.verbose;
    return plan;
}

/// One algorithm at one size and pattern.
class CellRun {
  public:
    CellRun(const Plan& plan, std::uint64_t bytes, const Pattern& pattern, const std::string& name) : plan_(plan), pattern_(pattern) {
        const Sweep& sweep = plan.sweep;
        entry_ = name == "auto" ? collectives::select(OperationKind::broadcast, situation(plan, bytes)).entry
                                : &collectives::find_algorithm(OperationKind::broadcast, name, true);
        std::uint64_t segment = entry_->segmented && !entry_->whole_by_default ? runtime::Settings().segment_bytes : 0;
        if (sweep.segment_bytes) segment = *sweep.segment_bytes;
        if (plan.segments > 0) segment = std::max<std::uint64_t>((bytes + plan.segments - 1) / plan.segments, 1);
        segment_bytes_ = entry_->segmented ? segment : 0;

        transport::Model model = plan.model;
        if (entry_->simulated_only) model.cut_through = true;
        simulation_.emplace(runtime::Simulation::Options{.ranks = sweep.ranks, .model = model, .landing_bytes = plan.landing_bytes});
        measured_.identity = {.operation = "broadcast",
                              .algorithm = name,
                              .transport = "simulated",
                              .ranks = sweep.ranks,
                              .bytes = bytes,
                              .pattern = pattern.describe()};
        measured_.setup = {sweep.root, model.message_time(bytes), plan.landing_bytes > 0 ? Model::nonblocking : Model::blocking};
        measured_.notes = {{"forwarding", model.cut_through ? "first_bit" : "message"}};
    }

    static collectives::Situation situation(const Plan& plan, std::uint64_t bytes) {
        return {.bytes = bytes, .ranks = plan.sweep.ranks, .landing = plan.landing_bytes > 0};
    }

    Measured run() {
        const Nanoseconds begin = now();
        std::uint64_t iterations = plan_.sweep.iterations.value_or(kDefaultIterations);
        for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
            const std::uint64_t events = call(iteration);
            if (iteration == 0 && !plan_.sweep.iterations)
                iterations = std::clamp<std::uint64_t>(kEventsOfCell / std::max<std::uint64_t>(events, 1), 1, iterations);
        }
        if (plan_.verbose) {
            const double seconds = static_cast<double>(now() - begin) * 1e-9;
            std::cerr << fmt::format("{} {} {}: {} calls, {} messages, {} events in {}, {:.3g} events/s\n", measured_.identity.algorithm,
                                     runtime::format_bytes(measured_.identity.bytes), measured_.identity.pattern, iterations, messages_,
                                     events_, runtime::format_duration(seconds), static_cast<double>(events_) / seconds);
        }
        measured_.identity.iterations = iterations;
        return std::move(measured_);
    }

  private:
    /// Returns how many events it took.
    std::uint64_t call(std::uint64_t iteration) {
        Call call;
        call.times.iteration = iteration;
        call.times.asked = pattern_.delays(plan_.sweep.ranks, plan_.sweep.root, iteration, measured_.setup.message_time);
        runtime::Simulation::RankCall what;
        what.call = collectives::make_call(*entry_, plan_.sweep.root, measured_.identity.bytes, segment_bytes_);
        what.algorithm = entry_->algorithm;
        what.arguments.data = {nullptr, measured_.identity.bytes};  // sizes alone: there may be 100,000 ranks
        what.arguments.segment_bytes = segment_bytes_;
        what.arguments.oracle = call.times.asked;
        auto outcome = simulation_->run([&](int) { return what; }, call.times.asked);
        for (std::size_t rank = 0; rank < outcome.errors.size(); ++rank)
            if (outcome.errors[rank])
                throw Error(ErrorCode::state, fmt::format("simulated rank {}: {}", rank, outcome.errors[rank]->what()));
        call.times.arrivals = std::move(outcome.arrivals);
        call.times.exits = std::move(outcome.exits);
        call.first_data = std::move(outcome.first_data);
        measured_.calls.push_back(std::move(call));
        messages_ += outcome.messages;
        events_ += outcome.events;
        return outcome.events;
    }

    const Plan& plan_;
    const Pattern& pattern_;
    const collectives::AlgorithmEntry* entry_;
    std::uint64_t segment_bytes_;
    std::optional<runtime::Simulation> simulation_;
    Measured measured_;
    std::uint64_t messages_ = 0, events_ = 0;
};

void simulate(const Plan& plan) {
    const Sweep& sweep = plan.sweep;
    if (sweep.explain) {
        std::ostream& out = sweep.format == output::Format::text ? std::cout : std::cerr;
        for (const std::uint64_t bytes : sweep.sizes) {
            const auto situation = CellRun::situation(plan, bytes);
            out << collectives::explain(OperationKind::broadcast, situation, collectives::select(OperationKind::broadcast, situation))
                << std::endl;
        }
    }
    Report report(sweep, std::cout);
    ProgressLine progress(sweep.sizes.size() * sweep.patterns.size() * sweep.algorithms.size());
    std::size_t done = 0;
    for (const std::uint64_t bytes : sweep.sizes) {
        for (const Pattern& pattern : sweep.patterns) {
            for (const std::string& algorithm : sweep.algorithms) {
                progress.update(done++, fmt::format("{} {} {}", runtime::format_bytes(bytes), algorithm, pattern.describe()));
                const Measured measured = CellRun(plan, bytes, pattern, algorithm).run();
                progress.erase();
                report.add(measured);
            }
        }
    }
    report.finish();
}

constexpr const char* kFooter = R"(
The same algorithms as over a real transport, on a simulated network in virtual time; the same seed gives the same
result, to the last digit. A message of m bytes takes T = alpha + beta*m, during which it occupies a port of its sender
and one of its receiver; a copy takes gamma*m; an arrival notice takes `notice`. duplex=half: a port sends or receives.
cut-through: a rank may forward a message from its first bit on.

The default, )";

constexpr const char* kFooterEnd = R"(, is a network of
10 Gbit/s. Networks forward whole messages (or segments) for all algorithms but near_optimal: it is the paper's bound on
what is possible at all, knows all arrivals beforehand, and forwards from the first bit on; the column `forwarding` says
which. --landing 0 is the paper's blocking model, unlimited its non-blocking one.

Without --iterations it is 20, and fewer for cells of very many messages (20 million events for a cell).)";

}  // namespace

void add_simulate_command(CLI::App& root) {
    CLI::App* const simulate_command = root.add_subcommand("simulate", "Run algorithms on a simulated network, in virtual time");
    simulate_command->require_subcommand(1);
    CLI::App* const command = simulate_command->add_subcommand("broadcast", "Broadcasts of many simulated ranks under arrival patterns");
    const auto words = std::make_shared<Words>();
    words->sweep.bytes = "8Mi";
    command->add_option("-n,--ranks", words->ranks, "How many ranks")->type_name("N")->capture_default_str();
    add_sweep_options(*command, words->sweep, Ranks::simulated);
    command->add_option("--model", words->model, "What differs from the default network (see below): alpha=5us,ports=2,cut-through")
        ->type_name("K=V,...");
    command->add_option("--landing", words->landing, "Early data that each rank takes in: unlimited, or bytes; 0: none")
        ->type_name("BYTES")
        ->capture_default_str();
    command->add_option("--segments", words->segments, "Instead of --segment: so many pieces, of every message")->type_name("N");
    command->add_flag("--verbose", words->verbose, "Say on standard error what each cell took of real time");
    command->footer(command->get_footer() + kFooter + kDefaultModel + kFooterEnd);
    command->callback([words] { simulate(plan_of(*words)); });
}

}  // namespace rollcall::bench
