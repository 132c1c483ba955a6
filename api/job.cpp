#include <rollcall/job.hpp>

#include <cstdlib>
#include <exception>
#include <functional>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"
#include "runtime/bootstrap/starters/embedded.hpp"
#include "runtime/log.hpp"
#include "runtime/process.hpp"

namespace rollcall {

struct Job::Implementation {
    /// Joins by the bootstrap that `start` gives.
    void join(const std::function<std::unique_ptr<bootstrap::Bootstrap>()>& start);

    std::shared_ptr<runtime::Process> process;
    Communicator world;
    int exceptions_before = std::uncaught_exceptions();
};

namespace {

ChosenAlgorithms algorithms_of(const runtime::Settings& settings) {
    ChosenAlgorithms chosen;
    const auto choose = [&](runtime::OperationKind operation, const std::string& name) {
        if (name != "auto") chosen.set(operation, collectives::find_algorithm(operation, name));
    };
    choose(runtime::OperationKind::broadcast, settings.broadcast);
    choose(runtime::OperationKind::scatter, settings.scatter);
    choose(runtime::OperationKind::gather, settings.gather);
    choose(runtime::OperationKind::barrier, settings.barrier);
    return chosen;
}

}  // namespace

void Job::Implementation::join(const std::function<std::unique_ptr<bootstrap::Bootstrap>()>& start) {
    runtime::Settings settings = runtime::Settings::from_environment();
    const ChosenAlgorithms algorithms = algorithms_of(settings);
    runtime::start_log(settings.log);
    process = std::make_shared<runtime::Process>(start(), std::move(settings), &collectives::algorithm_name);
    world = Communicator(std::make_shared<Communicator::Implementation>(process, process->world(), process->place().rank, runtime::kNoSlots,
                                                                        algorithms, process->clock()));
}

Job::Job() : implementation_(std::make_unique<Implementation>()) { implementation_->join(&bootstrap::find_bootstrap); }

Job::Job(const Embedding& embedding) : implementation_(std::make_unique<Implementation>()) {
    implementation_->join([&] { return bootstrap::join_embedding(embedding); });
}

Job::~Job() {
    if (std::uncaught_exceptions() > implementation_->exceptions_before) return;
    try {
        finalize();
    } catch (const std::exception& error) {
        if (const auto logger = spdlog::get("rollcall")) logger->warn("{}", error.what());
    }
}

const Communicator& Job::world() const { return implementation_->world; }
int Job::rank() const { return implementation_->process->place().rank; }
int Job::size() const { return implementation_->process->place().size; }
std::string Job::started_by() const { return std::string(implementation_->process->bootstrap().name()); }
std::string Job::transport_description() const { return implementation_->process->transport().description(); }

Nanoseconds Job::synchronize_clocks(std::chrono::nanoseconds window) {
    if (window.count() <= 0)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("Job::synchronize_clocks(): clocks cannot be watched for {} ns: give it a time above 0", window.count()));
    runtime::CommonClock& clock = *implementation_->process->clock();
    implementation_->world.checked().synchronize(clock, window.count());
    return clock.clock().error;
}

Nanoseconds Job::time() const { return time_at(runtime::monotonic_now()); }
Nanoseconds Job::time_at(Nanoseconds local) const { return implementation_->process->clock()->at(local); }
Nanoseconds Job::local_time_at(Nanoseconds job) const { return implementation_->process->clock()->own_at(job); }

void Job::finalize() { implementation_->process->finalize(); }

void Job::abort(int code, std::string_view why) {
    implementation_->process->bootstrap().abort(code, why);
    std::_Exit(code);
}

bool Job::progress() { return implementation_->process->lane().progress(); }
int Job::progress_descriptor() const { return implementation_->process->lane().descriptor(); }
bool Job::prepare_to_sleep() { return implementation_->process->lane().prepare_to_sleep(); }
void Job::pause_background() { implementation_->process->lane().pause_background(); }
void Job::resume_background() { implementation_->process->lane().resume_background(); }

ProgressStatistics Job::progress_statistics() const {
    runtime::Lane& lane = implementation_->process->lane();
    ProgressStatistics statistics;
    statistics.background_cpu_time = lane.background_cpu_time();
    statistics.background_looks = lane.counters().background_looks.load();
    statistics.background_takeovers = lane.counters().background_takeovers.load();
    statistics.background_parks = lane.counters().background_parks.load();
    statistics.caller_sleeps = lane.counters().caller_sleeps.load();
    lane.as_owner([&](runtime::Engine& engine) { statistics.landing_peak_bytes = engine.landing().peak(); });
    return statistics;
}

}  // namespace rollcall
