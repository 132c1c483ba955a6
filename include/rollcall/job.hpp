/// \file
/// The job: this process's membership in it, from its start to its end.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <rollcall/export.h>
#include <rollcall/communicator.hpp>
#include <rollcall/start.hpp>
#include <rollcall/time.hpp>

namespace rollcall {

/// What a background thread has done, for those who want to know what it costs.
struct ProgressStatistics {
    Nanoseconds background_cpu_time = 0;     ///< CPU time of the background thread.
    std::uint64_t background_looks = 0;      ///< Times it woke.
    std::uint64_t background_takeovers = 0;  ///< Times it found something to do while the application did not look.
    std::uint64_t background_parks = 0;      ///< Times it went to sleep until something comes.
    std::uint64_t caller_sleeps = 0;         ///< Times a waiting caller went to sleep.
    std::uint64_t landing_peak_bytes = 0;    ///< Most early data held at a time.
};

/// Joins the job this process was started for, and leaves it when destroyed. A process that was started by no launcher
/// is a job of one rank. Settings come from the environment (`rollcall info` lists them).
///
/// Construction and finalize() are collective over the job. Throws Error{bootstrap, transport, invalid_setting}.
///
/// A process that the rank forks is no rank: in it all calls on the job and on what came from it throw Error{state}, and destructors do
/// nothing. It may join a job of its own, if somebody starts one for it.
class ROLLCALL_EXPORT Job {
  public:
    /// Throws Error{state} too when this process has joined the job it was started for already: parts of a program share one Job.
    Job();
    /// Joins the job of a program that starts its processes itself (start.hpp). Throws Error{bootstrap, transport,
    /// invalid_setting, invalid_argument}, Error{timeout} naming the ranks that have not come within ROLLCALL_LAUNCH_TIMEOUT.
    explicit Job(const Embedding& embedding);
    /// finalize(), unless an exception is being thrown: then the job is left at once, and the other ranks are told that
    /// this one died. A failure is logged, and so is what was still under way; the job is left also then. Who must know whether all
    /// ranks came to the end calls finalize().
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// All ranks of the job.
    const Communicator& world() const;
    int rank() const;
    int size() const;
    /// What started this process, for people: "rollcall run", "srun (Slurm)", "Open MPI's mpirun" and so on, as `rollcall info`
    /// says it (docs/launching.md has all of them); "alone": nothing did.
    std::string started_by() const;
    /// What data moves over, for people.
    std::string transport_description() const;

    // --- time ---------------------------------------------------------------------------------------------------------
    // Each host counts time by a clock of its own (CLOCK_MONOTONIC). *Job time* is that of rank 0: ranks on its host have it from
    // the start, others estimate it once clocks have been synchronised; until then it is their own. Times in nanoseconds. Any thread.

    /// Finds out how the clocks of all hosts go beside that of rank 0, and how they drift. Collective, as the operations of
    /// world() are, and one of them. Without a message, and 0, where the job is on one host.
    ///
    /// Cost: log2(hosts) rounds, rounded up, of one `window` each, in which pairs of hosts exchange small messages all the time.
    /// Result: how far this rank's job time may be off at most, whatever way the messages lost their time on: the sum of the
    /// shortest round trips from each host to the next on the way to rank 0. Usually it is a tenth of that. As time goes
    /// on the error grows by some microseconds a second, the less the longer the window was; so repeat it when more than seconds
    /// have passed and microseconds count. When it is repeated, the drift is taken from the time in between, and becomes exact.
    /// Throws Error{invalid_argument} when the window is not above 0, and what collective operations do.
    Nanoseconds synchronize_clocks(std::chrono::nanoseconds window = kClockWindow);
    /// What a plan takes when it has to synchronise the clocks of its ranks (see Plan).
    static constexpr std::chrono::nanoseconds kClockWindow = std::chrono::milliseconds(30);

    /// Job time now.
    Nanoseconds time() const;
    /// Job time when CLOCK_MONOTONIC of this host shows `local`; and the way back.
    Nanoseconds time_at(Nanoseconds local) const;
    Nanoseconds local_time_at(Nanoseconds job) const;

    /// Ends communication in good order: waits for all ranks, then closes connections. Called by the destructor if the program
    /// does not. When it returns, all ranks have come to the end; after that it does nothing.
    ///
    /// Throws Error{state}, before anything is closed, when something is still under way on this rank: requests, iterations of plans,
    /// calls of other threads; it says how many. Then nothing has changed, for nobody, and it can be called again.
    /// Throws Error{timeout} when the others have not come within ROLLCALL_TIMEOUT, Error{peer_failed} at once when a rank has
    /// died, also if other calls have said so; the job is left also then.
    void finalize();
    /// Ends the whole job with this exit code, from 1 to 255; any other, which an exit status could not carry or which would look like
    /// success, becomes 255. `why` is printed by who started it. Does not return.
    [[noreturn]] void abort(int code, std::string_view why);

    // --- progress -----------------------------------------------------------------------------------------------------
    // By default a background thread moves data while the application does not call. With ROLLCALL_PROGRESS=host there is
    // none, and the program calls progress() from its own loop.

    /// Moves what can move, without waiting. Returns whether anything happened. Any thread.
    bool progress();
    /// For an event loop (one in a process): a descriptor to poll for reading after prepare_to_sleep() returned true; then call progress().
    /// When it returned false, something is there or has ended since it was last called: test the requests again.
    int progress_descriptor() const;
    bool prepare_to_sleep();
    /// The background thread keeps away until resumed. Calls nest.
    void pause_background();
    void resume_background();
    ProgressStatistics progress_statistics() const;

    struct Implementation;

  private:
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
