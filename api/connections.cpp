// Two running jobs become connected: their first ranks meet, and then all ranks come to a rendezvous that both jobs have in common.
#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sodium.h>
#include <rollcall/error.hpp>
#include <rollcall/listener.hpp>

#include "api/communicator_implementation.hpp"
#include "bootstrap/rendezvous/job_listener.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "foundation/log.hpp"
#include "foundation/quote.hpp"
#include "foundation/units.hpp"

namespace rollcall {
namespace {

using bootstrap::JobIntroduction;
using bootstrap::JobMeeting;
using bootstrap::Meanwhile;

constexpr std::size_t kLongestName = 64;
constexpr const char* kConnectionName = "the connection of two jobs";
/// While the first rank waits for the other job, it looks at this interval whether ranks of its own have died.
constexpr Nanoseconds kBetweenLooks = 50 * kMillisecond;
/// A rank that could not come to the rendezvous of both jobs waits so long for what rank 0 says of it.
constexpr Timeout kForItsWord = std::chrono::seconds(2);

/// What rank 0 tells the other ranks of its job.
struct Outcome {
    std::int32_t failure = -1;  ///< An ErrorCode; -1: it went well.
    std::int32_t failed_rank = -1;
    std::int32_t other_size = 0;
    std::array<char, 2048> text{};          ///< What failed.
    std::array<char, 128> mine{}, other{};  ///< The names of the jobs.

    template <std::size_t n>
    static void put(std::array<char, n>& place, std::string_view text) {
        std::memcpy(place.data(), text.data(), std::min(text.size(), n - 1));
    }
    void fail(ErrorCode code, std::string_view why, int rank = -1) {
        failure = static_cast<int>(code);
        failed_rank = rank;
        put(text, why);
    }
    /// Runs `work` on rank 0, and tells all ranks how it ended. Throws on all ranks what it threw.
    static Outcome of(const Communicator& own, const std::string& what, const std::function<void(Outcome&)>& work) {
        Outcome outcome;
        if (own.rank() == 0) try {
                work(outcome);
            } catch (const Error& error) {
                outcome.fail(error.code(), error.what(), error.failed_rank());
            } catch (const std::exception& error) {
                outcome.fail(ErrorCode::bootstrap, error.what());
            }
        tell(own, &outcome, sizeof outcome);
        outcome.check(what + ": ");
        return outcome;
    }
    /// Throws what it says, if it is a failure.
    void check(const std::string& before = {}) const {
        if (failure >= 0) throw Error(static_cast<ErrorCode>(failure), before + text.data(), failed_rank);
    }
    /// Rank 0 ends its work within its deadline, so the others need none. It goes on with what needs them, where nothing may move the data
    /// of this job, so the data must have left it.
    static void tell(const Communicator& own, void* data, std::uint64_t bytes) { own.broadcast(data, bytes, 0, kPatient); }
    static constexpr CollectiveOptions kPatient{.algorithm = {}, .segment_bytes = {}, .timeout = kForever, .until_delivered = true};
};

void check_name_of_job(std::string_view given) {
    if (given.size() > kLongestName)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the name of a job has {} characters: use at most {}", given.size(), kLongestName));
}
/// The name of this job, if it was given one or not.
std::string name_of_job(const runtime::Process& process, std::string_view given) {
    check_name_of_job(given);
    return printable(given.empty() ? std::string_view(process.place().job).substr(0, kLongestName) : given);
}

/// The settings by which all ranks must carry out a call in the same way.
std::string settings_in_common(const Settings& settings) {
    std::string all = fmt::format("ROLLCALL_LANDING_BYTES{} ROLLCALL_SEGMENT_BYTES={} ROLLCALL_DECOUPLE={}",
                                  settings.landing_bytes > 0 ? ">0" : "=0", format_bytes(settings.segment_bytes), settings.decouple);
    for (const OperationName& operation : kOperationNames)
        if (!operation.setting.empty()) all += fmt::format(" {}={}", operation.setting, settings.algorithms[index_of(operation.kind)]);
    return all;
}

/// The invitation to the rendezvous of both jobs goes from the first rank of all to those of this job. Then rank 0 watches the connection
/// to the other job until its rendezvous has ended, and tells the other ranks how. So they need not wait for what does not come.
class Passing {
  public:
    Passing(const Communicator& own, JobMeeting* meeting, Meanwhile meanwhile, Timeout timeout)
        : own_(own), meeting_(meeting), meanwhile_(std::move(meanwhile)), timeout_(timeout) {}

    std::string pass(std::string mine) {
        struct {
            Outcome outcome;
            std::array<char, bootstrap::kLongestInvitation + 1> text{};
        } told;
        if (own_.rank() == 0) try {
                if (mine.empty())
                    mine = meeting_->receive_invitation(meanwhile_, timeout_);
                else
                    meeting_->send_invitation(mine);
                Outcome::put(told.text, mine);
            } catch (const Error& error) {
                told.outcome.fail(error.code(), error.what(), error.failed_rank());
            } catch (const std::exception& error) {
                told.outcome.fail(ErrorCode::bootstrap, error.what());
            }
        ::sodium_memzero(mine.data(), mine.size());
        Outcome::tell(own_, &told, sizeof told);
        told.outcome.check();
        std::string given = told.text.data();
        ::sodium_memzero(told.text.data(), told.text.size());
        if (own_.rank() != 0) awaited_ = own_.start_broadcast(static_cast<void*>(&word_), sizeof word_, 0, Outcome::kPatient);
        passed_ = true;
        return given;
    }
    /// While the ranks come together. Throws why they do not.
    void look() {
        meanwhile_();
        if (!passed_ || monotonic_now() - looked_ < kBetweenLooks) return;
        looked_ = monotonic_now();
        if (meeting_) meeting_->check_open();
        if (awaited_ && awaited_.test()) word_.check();
    }
    /// Runs the rendezvous. If it fails on rank 0, it fails on all ranks.
    std::unique_ptr<bootstrap::Rendezvous> run(const std::function<std::unique_ptr<bootstrap::Rendezvous>()>& rendezvous) {
        std::unique_ptr<bootstrap::Rendezvous> made;
        std::exception_ptr failure;
        try {
            made = rendezvous();
        } catch (const Error& error) {
            failure = std::current_exception();
            if (meeting_) word_.fail(error.code(), error.what(), error.failed_rank());
        } catch (const std::exception& error) {
            failure = std::current_exception();
            if (meeting_) word_.fail(ErrorCode::bootstrap, error.what());
        }
        if (!passed_ && failure) std::rethrow_exception(failure);
        bool told = !failure;
        try {
            if (meeting_)
                Outcome::tell(own_, &word_, sizeof word_);
            else if (awaited_ && !failure)
                awaited_.wait();
            else if (awaited_)
                told = awaited_.wait_for(kForItsWord).has_value();
        } catch (const Error&) {
            if (!failure) throw;
        }
        // Rank 0 knows the cause. This rank may only have seen that rank 0 gave up.
        if (!meeting_ && told) word_.check();
        if (failure) std::rethrow_exception(failure);
        return made;
    }

  private:
    const Communicator& own_;
    JobMeeting* meeting_;  ///< On rank 0.
    Meanwhile meanwhile_;
    Timeout timeout_;
    Nanoseconds looked_ = 0;
    bool passed_ = false;
    Outcome word_;     ///< How the rendezvous ended on rank 0.
    Request awaited_;  ///< On the other ranks: for that.
};

/// Ends a connection whose last handle has gone.
void end_connection(runtime::Process* connection, int exceptions_before) noexcept {
    if (!connection->forked() && !connection->finalized()) {
        if (std::uncaught_exceptions() > exceptions_before) {
            connection->vanish("left the connection because of an exception");
        } else {
            try {
                connection->finalize();
            } catch (const std::exception& error) {
                log_message(LogLevel::warn, "{}{}", connection->in_log(), error.what());
            }
        }
    }
    release_process(connection);
}

}  // namespace

/// Meets the other job on rank 0: the introduction of this job, what to do while waiting, the deadline.
struct ROLLCALL_HIDDEN Intercommunicator::Meeting {
    std::function<JobMeeting(const JobIntroduction&, const Meanwhile&, Timeout)> meet;

    /// The settings of the job, as they were when it was made.
    static const Settings& settings_of(const Communicator& communicator) { return communicator.checked().process->settings(); }
    /// Whether a thread that waits must move the data of the job.
    static bool driven_by_host(const Communicator& communicator) {
        return communicator.checked().process->job().settings().progress == ProgressMode::host;
    }
};

Intercommunicator Intercommunicator::join(const Communicator& communicator, bool listens, const ConnectOptions& options,
                                          const Meeting& way) {
    const Communicator::Implementation& own = communicator.checked();
    own.check_alive();
    const Timeout timeout = own.deadline(options.timeout);
    runtime::Process& process = *own.process;
    const std::string what = fmt::format("{} on {}", listens ? "accept" : "connect", communicator.name());
    // Calls on `communicator` do not disturb the algorithms of this duplicate. The duplicate stays when the other job goes.
    Communicator local = communicator.duplicate();
    const Communicator::Implementation& mine = local.checked();

    Nanoseconds looked = 0;
    const bool driven_by_host = Meeting::driven_by_host(communicator);
    const Meanwhile meanwhile = [&] {
        if (driven_by_host) process.lane().progress();
        const Nanoseconds now = monotonic_now();
        if (now - looked < kBetweenLooks) return;
        looked = now;
        std::optional<Error> broken;
        process.lane().as_owner([&](runtime::Engine&) {
            if (mine.state.broken) broken = *mine.state.broken;
        });
        if (broken) throw Error(*broken);
    };
    std::optional<JobMeeting> meeting;
    const Outcome outcome = Outcome::of(local, what, [&](Outcome& result) {
        JobIntroduction introduction{name_of_job(process, options.job_name), settings_in_common(process.settings()), local.size()};
        meeting.emplace(way.meet(introduction, meanwhile, timeout));
        result.other_size = meeting->other().size;
        Outcome::put(result.mine, introduction.name);
        Outcome::put(result.other, printable(meeting->other().name));
    });

    const int in_first = listens ? local.size() : outcome.other_size;
    const int rank = listens ? local.rank() : outcome.other_size + local.rank();
    runtime::TwoJobs jobs{own.process, in_first, {outcome.mine.data(), outcome.other.data()}};
    if (!listens) std::swap(jobs.names[0], jobs.names[1]);
    Settings settings = process.settings();
    settings.warnings.clear();
    // While a call waits in the job, no other thread would drive this lane.
    settings.progress = ProgressMode::thread;
    bootstrap::RendezvousOptions rendezvous = bootstrap::rendezvous_options(settings);
    rendezvous.port = 0;  // the job may have taken the one of the setting
    rendezvous.port_advice.clear();
    if (meeting) rendezvous.key = meeting->key();
    std::shared_ptr<runtime::Process> connection;
    try {
        Passing passing(local, meeting ? &*meeting : nullptr, meanwhile, rendezvous.join_timeout);
        rendezvous.meanwhile = [&] { passing.look(); };
        auto found = passing.run([&] {
            return std::make_unique<bootstrap::Rendezvous>(
                kConnectionName, rank, local.size() + outcome.other_size, [&](std::string text) { return passing.pass(std::move(text)); },
                rendezvous);
        });
        connection = std::shared_ptr<runtime::Process>(
            new runtime::Process(std::move(found), std::move(settings), &collectives::algorithm_name, &collectives::part_alone,
                                 std::move(jobs)),
            [before = std::uncaught_exceptions()](runtime::Process* ended) { end_connection(ended, before); });
    } catch (const Error& error) {
        throw Error(
            error.code(),
            fmt::format("{}: job {} and job {} could not be connected: {}", what, outcome.mine.data(), outcome.other.data(), error.what()),
            error.failed_rank());
    }
    process.add_connection(*connection);
    Communicator both(std::make_shared<Communicator::Implementation>(connection, connection->world(), rank, runtime::Slots(),
                                                                     own.algorithms, connection->clock()));
    return of(std::move(both), std::move(local), in_first, listens);
}

Intercommunicator Intercommunicator::connect(const Communicator& communicator, std::string_view invitation, const ConnectOptions& options) {
    return join(communicator, false, options, {[&](const JobIntroduction& mine, const Meanwhile& meanwhile, Timeout timeout) {
                    return bootstrap::meet_job(invitation, mine, meanwhile, timeout);
                }});
}

void Intercommunicator::disconnect() const {
    runtime::Process& connection = *both().checked().process;
    connection.check_not_forked();
    if (!connection.connects_jobs())
        throw Error(ErrorCode::state,
                    fmt::format("disconnect on {}: both groups are of one job, which is not connected with another one", name()));
    if (connection.finalized()) return;
    check_nothing_under_way(connection, "Intercommunicator::disconnect()", kGoesOn);
    connection.finalize();
}

// --- Listener --------------------------------------------------------------------------------------------------------

struct ROLLCALL_HIDDEN Listener::Implementation {
    Communicator communicator;
    std::string job_name;
    std::unique_ptr<bootstrap::JobListener> listener;  ///< On rank 0.
    std::string invitation;
    ~Implementation() { ::sodium_memzero(invitation.data(), invitation.size()); }
};

Listener::Listener() = default;
Listener::~Listener() = default;
Listener::Listener(const Listener&) = default;
Listener::Listener(Listener&&) noexcept = default;
Listener& Listener::operator=(const Listener&) = default;
Listener& Listener::operator=(Listener&&) noexcept = default;

Listener::Listener(const Communicator& communicator, const ListenOptions& options) : implementation_(std::make_shared<Implementation>()) {
    Implementation& here = *implementation_;
    here.communicator = communicator.duplicate();
    Outcome::of(here.communicator, fmt::format("Listener on {}", communicator.name()), [&](Outcome&) {
        check_name_of_job(options.job_name);
        here.job_name = options.job_name;
        here.listener =
            std::make_unique<bootstrap::JobListener>(Intercommunicator::Meeting::settings_of(here.communicator).net, options.port);
        here.invitation = here.listener->invitation();
    });
}

const Listener::Implementation& Listener::checked() const {
    if (!implementation_) throw Error(ErrorCode::state, "this listener is null: make one with Listener(communicator)");
    return *implementation_;
}

const std::string& Listener::invitation() const { return checked().invitation; }

Intercommunicator Listener::accept(std::optional<Timeout> timeout) const {
    const Implementation& here = checked();
    // Where this thread moves the data of the job, it must not sleep for long.
    const Nanoseconds interval = Intercommunicator::Meeting::driven_by_host(here.communicator) ? 2 * kMillisecond : kBetweenLooks;
    return Intercommunicator::join(here.communicator, true, {here.job_name, timeout},
                                   {[&](const JobIntroduction& mine, const Meanwhile& meanwhile, Timeout limit) {
                                       return here.listener->accept(mine, meanwhile, limit, interval);
                                   }});
}

}  // namespace rollcall
