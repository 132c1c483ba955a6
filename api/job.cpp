#include <rollcall/job.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>
#include <rollcall/error.hpp>

#include "api/communicator_implementation.hpp"
#include "api/exit_code.hpp"
#include "api/memory_implementation.hpp"
#include "api/uncaught.hpp"
#include "bootstrap/starters/embedded.hpp"
#include "foundation/log.hpp"
#include "foundation/quote.hpp"
#include "foundation/units.hpp"
#include "runtime/process.hpp"

namespace rollcall {

namespace {

constexpr const char* kWayOut = "Job::finalize()";

/// A job that several parts of a program use. The last one that leaves ends the job.
struct Shared {
    std::shared_ptr<runtime::Process> process;
    Communicator world;  ///< The communicator of the first Job.
    int users = 1;       ///< Guarded by the mutex of `CurrentJobs`.
};

/// The jobs that this process has joined.
struct CurrentJobs {
    std::mutex joining;  ///< Held while Job() joins: a second thread that calls it waits, and shares the job.
    std::mutex mutex;    ///< Guards the rest.
    std::condition_variable embedded;
    struct Joining {
        pid_t process;
        std::thread::id thread;
        bool operator==(const Joining&) const = default;
    };
    std::vector<Joining> embeddings_under_way;  ///< Threads that join by an Embedding.
    std::vector<std::weak_ptr<Shared>> jobs;    ///< In the order in which they were joined.

    static CurrentJobs& get() {
        static auto& current = *new CurrentJobs;  // destructors of static objects may still ask
        return current;
    }
    void add(const std::shared_ptr<Shared>& job) {
        const std::lock_guard lock(mutex);
        std::erase_if(jobs, [](const auto& known) { return known.expired(); });
        jobs.push_back(job);
    }
    /// Returns the first job that has not ended, and counts one more user. Returns null if there is none. Jobs that a parent process joined
    /// do not count. Waits for other threads that join by an Embedding. (The callback of an Embedding may ask. A forked child has none of
    /// the threads of its parent.)
    std::shared_ptr<Shared> take() {
        std::unique_lock lock(mutex);
        const Joining self{::getpid(), std::this_thread::get_id()};
        embedded.wait(lock, [&] {
            return std::none_of(embeddings_under_way.begin(), embeddings_under_way.end(),
                                [&](const Joining& other) { return other.process == self.process && other.thread != self.thread; });
        });
        for (const std::weak_ptr<Shared>& known : jobs) {
            std::shared_ptr<Shared> found = known.lock();
            if (!found || found->process->forked() || found->process->finalized()) continue;
            ++found->users;
            return found;
        }
        return nullptr;
    }
};

/// While a thread joins by an Embedding. Several threads may do so at the same time, also as ranks of one job.
class EmbeddingUnderWay {
  public:
    EmbeddingUnderWay() {
        CurrentJobs& current = CurrentJobs::get();
        const std::lock_guard lock(current.mutex);
        current.embeddings_under_way.push_back(self_);
    }
    ~EmbeddingUnderWay() {
        CurrentJobs& current = CurrentJobs::get();
        const std::lock_guard lock(current.mutex);
        std::erase(current.embeddings_under_way, self_);
        current.embedded.notify_all();
    }
    EmbeddingUnderWay(const EmbeddingUnderWay&) = delete;
    EmbeddingUnderWay& operator=(const EmbeddingUnderWay&) = delete;

  private:
    const CurrentJobs::Joining self_{::getpid(), std::this_thread::get_id()};
};

}  // namespace

struct ROLLCALL_HIDDEN Job::Implementation {
    /// Joins by the bootstrap that `start` gives.
    void join(const std::function<std::unique_ptr<bootstrap::Bootstrap>()>& start);
    /// Becomes one more user of a job that this process has joined.
    void share(std::shared_ptr<Shared> job);
    /// If the job has other users, this one leaves and true is returned. The last user must end the job.
    bool leave_to_others();
    /// The process, for calls that a forked child must not make.
    runtime::Process& own_process() const {
        process->check_not_forked();
        return *process;
    }
    /// Throws Error{state} if an operation is under way here, or on a connection to another job.
    void check_nothing_under_way(const char* consequence) const { rollcall::check_nothing_under_way(own_process(), kWayOut, consequence); }

    std::shared_ptr<runtime::Process> process;
    Communicator world;
    std::shared_ptr<Shared> shared;  ///< Null: this part of the program has left.
    int exceptions_before = std::uncaught_exceptions();
};

namespace {

ChosenAlgorithms algorithms_of(const Settings& settings) {
    ChosenAlgorithms chosen;
    for (const collectives::OperationRow& row : collectives::all_operations())
        if (const auto* const entry = collectives::algorithm_of_setting(row, settings.algorithms[index_of(row.kind)]))
            chosen.set(row.kind, *entry);
    return chosen;
}

}  // namespace

void check_nothing_under_way(runtime::Process& process, const char* caller, const char* consequence) {
    runtime::Engine::UnderWay under_way{};
    process.check_not_forked();
    // They end with it, and so do the connections that were made over them.
    for (const auto& connection : process.connections()) check_nothing_under_way(*connection, caller, consequence);
    std::string examples;
    process.lane().as_owner([&](runtime::Engine& engine) {
        under_way = engine.under_way();
        examples = engine.examples_under_way();
    });
    if (under_way.operations + under_way.messages == 0) return;
    std::string what;
    if (under_way.operations > 0) what = counted(under_way.operations, "collective operation");
    if (under_way.messages > 0) what += (what.empty() ? "" : " and ") + counted(under_way.messages, "point-to-point operation");
    // Several parts of a program may use the job. The name of the communicator shows which part has left this behind.
    if (!examples.empty()) what += ", for example " + examples;
    throw Error(ErrorCode::state,
                fmt::format("{} on {}: still under way here: {}. Before the end, wait for requests, plans and calls of other "
                            "threads, or destroy the requests and plans. {}",
                            caller, process.name_of(process.place().rank), what, consequence));
}

/// A forked child has a copy of its parent's process object. Destroying it would write into the parent's connections. So it is kept as long
/// as the child lives, in a place where leak checkers see it.
void release_process(runtime::Process* process) {
    static auto& kept = *new std::vector<runtime::Process*>;
    if (process->forked())
        kept.push_back(process);
    else
        delete process;
}

void Job::Implementation::join(const std::function<std::unique_ptr<bootstrap::Bootstrap>()>& start) {
    std::vector<SettingTrouble> troubles;
    Settings settings = Settings::from_environment(troubles);
    collectives::judge_algorithms(settings, troubles);
    refuse_wrong(troubles);
    const ChosenAlgorithms algorithms = algorithms_of(settings);
    start_log(settings.log);
    process = std::shared_ptr<runtime::Process>(
        new runtime::Process(start(), std::move(settings), &collectives::algorithm_name, &collectives::part_alone), &release_process);
    world = Communicator(std::make_shared<Communicator::Implementation>(process, process->world(), process->place().rank, runtime::Slots(),
                                                                        algorithms, process->clock()));
    tell_job_of_uncaught(process);
    shared = std::make_shared<Shared>(Shared{process, world});
}

void Job::Implementation::share(std::shared_ptr<Shared> job) {
    process = job->process;
    shared = std::move(job);
    try {
        const Communicator& first = shared->world;
        world = Communicator(first.checked().divide(0, first.rank(), OperationKind::share_job));
    } catch (...) {
        leave_to_others();
        throw;
    }
}

bool Job::Implementation::leave_to_others() {
    const std::lock_guard lock(CurrentJobs::get().mutex);
    if (!shared || shared->users == 1) return !shared;
    --shared->users;
    shared = nullptr;
    return true;
}

Job::Job() : implementation_(std::make_unique<Implementation>()) {
    CurrentJobs& current = CurrentJobs::get();
    const std::lock_guard joining(current.joining);
    if (std::shared_ptr<Shared> job = current.take()) {
        implementation_->share(std::move(job));
        return;
    }
    implementation_->join(&bootstrap::find_bootstrap);
    current.add(implementation_->shared);
}

Job::Job(const Embedding& embedding) : implementation_(std::make_unique<Implementation>()) {
    const EmbeddingUnderWay under_way;
    implementation_->join([&] { return bootstrap::join_embedding(embedding); });
    CurrentJobs::get().add(implementation_->shared);
}

Job::~Job() {
    if (!implementation_->process->forked() && implementation_->leave_to_others()) return;
    forget_job_of_uncaught(*implementation_->process);
    if (implementation_->process->forked()) return;
    if (std::uncaught_exceptions() > implementation_->exceptions_before) {
        implementation_->process->vanish("left the job because of an exception");
        return;
    }
    const auto logged = [&](const auto& work) {
        try {
            work();
        } catch (const std::exception& error) {
            log_message(LogLevel::warn, "{}{}", implementation_->process->in_log(), error.what());
        }
    };
    // A destructor cannot be called again, so the job is left even if operations are under way.
    constexpr const char* kLeft = "The job is left all the same: what is under way never ends";
    if (!implementation_->process->finalized()) logged([&] { implementation_->check_nothing_under_way(kLeft); });
    logged([&] { implementation_->process->finalize(); });
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

Nanoseconds Job::time() const { return time_at(monotonic_now()); }
Nanoseconds Job::time_at(Nanoseconds local) const { return implementation_->process->clock()->at(local); }
Nanoseconds Job::local_time_at(Nanoseconds job) const { return implementation_->process->clock()->own_at(job); }

Memory Job::allocate(std::uint64_t bytes) {
    implementation_->own_process().check_usable();
    return bytes > 0 ? Memory(std::make_unique<Memory::Implementation>(implementation_->process, bytes)) : Memory();
}

void Job::finalize() {
    runtime::Process& process = implementation_->own_process();
    if (process.finalized() || implementation_->leave_to_others()) return;
    implementation_->check_nothing_under_way(kGoesOn);
    process.finalize();
}

void Job::leave() noexcept {
    const std::shared_ptr<runtime::Process>& process = implementation_->process;
    if (process->forked() || process->finalized() || implementation_->leave_to_others()) return;
    forget_job_of_uncaught(*process);
    process->vanish("left the job by leave()");
}

void Job::abort(int code, std::string_view why) {
    const int failure = failure_code(code);
    implementation_->own_process().bootstrap().abort(failure, printable(why));
    std::_Exit(failure);
}

bool Job::progress() { return implementation_->own_process().progress(); }
int Job::progress_descriptor() const { return implementation_->own_process().lane().descriptor(); }
bool Job::prepare_to_sleep() { return implementation_->own_process().prepare_to_sleep(); }
void Job::pause_background() { implementation_->own_process().lane().pause_background(); }
void Job::resume_background() {
    if (!implementation_->own_process().lane().resume_background())
        throw Error(ErrorCode::state, "resume_background() without a pause_background() that is still in force");
}

ProgressStatistics Job::progress_statistics() const {
    runtime::Lane& lane = implementation_->own_process().lane();
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
