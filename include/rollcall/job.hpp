/// \file
/// The job: how a process joins the other processes of a parallel program, and leaves them at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <rollcall/export.h>
#include <rollcall/communicator.hpp>
#include <rollcall/memory.hpp>
#include <rollcall/start.hpp>
#include <rollcall/time.hpp>

namespace rollcall {

/// Counters of this process: the work of the background thread, how often callers slept, and the most early data held. All values count
/// from the start of the job.
struct ProgressStatistics {
    Nanoseconds background_cpu_time = 0;     ///< CPU time of the background thread, in nanoseconds.
    std::uint64_t background_looks = 0;      ///< How often the background thread woke.
    std::uint64_t background_takeovers = 0;  ///< How often it found work while the application was not calling the library.
    std::uint64_t background_parks = 0;      ///< How often it went to sleep until something arrives.
    std::uint64_t caller_sleeps = 0;         ///< How often a thread that waited in a call went to sleep.
    /// The most landing memory (ROLLCALL_LANDING_BYTES) in use at one time, with 256 bytes at least for each message. Messages that came
    /// along with their header (ROLLCALL_EAGER_BYTES) are not in it.
    std::uint64_t landing_peak_bytes = 0;
};

/// The membership of this process in its job. The constructor joins the job for which this process was started; the destructor leaves it. A
/// process that no launcher started is a job of one rank. The constructor reads the settings from the environment (`rollcall info` lists
/// them); later changes of the environment have no effect on the job.
///
/// Construction and finalize() are collective over the job: all ranks must call them.
///
/// Threads: any thread may construct a Job, call its functions, and finalize or destroy it. Calls of other threads must have ended before
/// finalize() and the destructor. Any thread may call abort() at any time before the destructor. One thread at a time may use
/// prepare_to_sleep() and progress_descriptor().
///
/// A Job changes two things in its process. One is the environment. The constructor takes variables of the starter out of it (unsetenv()),
/// so that programs which the rank starts are no ranks. It sets ROLLCALL_BOOTSTRAP_JOINED, by which other copies of the library in this
/// process find that it has joined. The transport `ofi` sets variables of libfabric (docs/embedding.md). While the constructor runs, no
/// other thread may call getenv() or change the environment. The same holds in Listener::accept() and Intercommunicator::connect().
/// The other is what happens to an exception that leaves main() or a thread: it ends the whole job. The first Job installs a handler by
/// std::set_terminate(), which tells the other ranks of all running jobs of this process and then calls the handler that was there before.
///
/// Communicators, requests, plans, queues and Memory may outlive the Job. Once the job has ended, their calls that communicate throw
/// Error{state}.
///
/// A child process that a rank forks is not a rank. In the child, calls that communicate through the job, or through what was made from it,
/// throw Error{state}, and destructors do nothing. The child may join another job if it is started for one.
class ROLLCALL_EXPORT Job {
  public:
    /// Joins the job for which this process was started. Throws Error{bootstrap, transport, invalid_setting}; Error{timeout}, which names
    /// the missing ranks, if not all ranks have come within ROLLCALL_LAUNCH_TIMEOUT (not under `rollcall run`); Error{peer_failed} if a
    /// rank dies before all have come; and Error{state} if this process has joined that job before, and has left it, or if another copy of
    /// the library has joined it.
    ///
    /// Several parts of a program (a library, and the program that uses it) may each have a Job. The second and later ones share the job
    /// that the process has joined, also one that was joined by an Embedding; of several jobs, the first one that has not ended. Each has a
    /// world() of its own, a duplicate of the first one, so their messages and operations do not mix. Construction of such a Job is a
    /// collective operation on the world() of the first Job: all ranks construct their Jobs in the same order. If other threads join by an
    /// Embedding at this moment, this waits for them.
    ///
    /// On each rank the last Job that is finalized or destroyed ends the job. finalize() of an earlier one only ends its own part: it does
    /// not wait, and checks nothing, so the order of the parts does not matter. Before it calls finalize(), each part must wait for its own
    /// requests. If a part leaves an operation under way, finalize() of the last Job throws Error{state}, which names the communicator of a
    /// receive or a collective operation. A Job must not be constructed on one rank while the last Job of another rank is being finalized,
    /// because these two calls do not match. What an ended part has made works until the job ends.
    Job();
    /// Joins the job of a program that starts its processes itself (start.hpp). Throws Error{bootstrap, transport, invalid_setting};
    /// Error{invalid_argument} if the embedding is wrong; and Error{timeout} and Error{peer_failed} as above.
    explicit Job(const Embedding& embedding);
    /// Leaves the job as finalize() does. If an exception is being thrown, it leaves at once instead, and the other ranks get
    /// Error{peer_failed}, which says that this rank left because of an exception (under `rollcall run`: its exit code, if that is not 0),
    /// also if the process goes on and keeps communicators. The destructor throws nothing: a failure, or an operation that was
    /// still under way, is logged, and the job is left anyway. A program that must know whether all ranks came to the end calls finalize().
    ~Job();
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    /// The world communicator, which has all ranks of the job. The reference is valid as long as this Job; a copy may live longer.
    const Communicator& world() const;
    /// The rank of this process in world(), from 0 to size() - 1.
    int rank() const;
    /// The number of ranks in the job.
    int size() const;
    /// The starter of this process, as a text for people: "rollcall run", "srun (Slurm)", "Open MPI's mpirun" and so on, the same text as
    /// in `rollcall info`. "alone" if nothing started it.
    std::string started_by() const;
    /// The transport, which carries the data, as a text for people.
    std::string transport_description() const;

    /// Allocates memory that the other ranks of the node can read. Some calls then need no copy of what they send from it (Memory says
    /// which). In two cases the memory comes from the transport instead, and data in it is copied as usual: the ranks share no memory
    /// (ROLLCALL_NODE_MEMORY), or this process would have allocated more than the limit of file sizes allows (ulimit -f). Memory that was
    /// freed counts for that limit. The content is undefined. Memory comes in whole pages, and the first use of a page costs more than
    /// later ones. So allocate it once, for large buffers that are used often. Not collective, and any thread may call it. Throws
    /// Error{state} if there is no memory, and after the job has ended.
    Memory allocate(std::uint64_t bytes);

    // --- time ---------------------------------------------------------------------------------------------------------
    // Each host has a clock of its own (CLOCK_MONOTONIC). *Job time* is the clock of rank 0. Ranks on the host of rank 0 know job time from
    // the start. Ranks on other hosts estimate it once the clocks have been synchronised; until then their job time is their own clock.
    // All times are in nanoseconds. Any thread may ask for them.

    /// Measures how the clock of each host differs from the clock of rank 0, and how it drifts. Collective: it counts as an operation of
    /// world(), whose rules for threads and order hold. If the job is on one host, it sends no message and returns 0.
    ///
    /// Cost: log2(hosts) rounds, rounded up. Each round takes one `window`, during which pairs of hosts exchange small messages all the
    /// time.
    ///
    /// Returns the largest possible error of this rank's job time, in nanoseconds, in whichever direction the messages were delayed. It is
    /// the sum of the shortest round trips between the hosts on the way to rank 0. The actual error is usually a tenth of that.
    ///
    /// The error grows by some microseconds each second, and less after a longer window. Repeat the call when seconds have passed and
    /// microseconds matter. A repeated call computes the drift from the time since the last one, which makes the drift exact.
    ///
    /// Throws Error{invalid_argument} if the window is not above 0, and the errors of collective operations.
    Nanoseconds synchronize_clocks(std::chrono::nanoseconds window = kClockWindow);
    /// The default window. A plan uses it when it must synchronise the clocks of its ranks (see Plan).
    static constexpr std::chrono::nanoseconds kClockWindow = std::chrono::milliseconds(30);

    /// The job time now.
    Nanoseconds time() const;
    /// The job time at the moment when CLOCK_MONOTONIC of this host shows `local`.
    Nanoseconds time_at(Nanoseconds local) const;
    /// The time of this host's CLOCK_MONOTONIC at the job time `job`. The inverse of time_at().
    Nanoseconds local_time_at(Nanoseconds job) const;

    /// Ends communication in good order: waits for all ranks, then closes the connections. The destructor calls it if the program has not.
    /// When it returns, all ranks have come to the end. A later call does nothing. Collective over the job.
    ///
    /// Throws Error{state} if requests, iterations of plans or calls of other threads are still under way on this rank; the error says how
    /// many, and names a collective operation and a receive. Nothing has changed on any rank then, and finalize() may be called again. An
    /// iteration that was begun and not started may have ended already, and is not reported then.
    ///
    /// Throws Error{timeout} if the other ranks have not come within ROLLCALL_TIMEOUT, and Error{peer_failed} if a rank has died, even if
    /// an earlier call has already reported that death. It then waits for no rank, but gives living ranks up to a second to take messages
    /// of this rank whose sends have ended. If the other ranks have gone on without each rank that died (Communicator::shrink()), it waits
    /// for all of them and does not throw.
    ///
    /// Throws Error{mismatch, timeout, ...} if data was not delivered that an earlier call had handed over
    /// (CollectiveOptions::until_delivered), or if calls did not match, and no call on this rank has reported it. Calls that did not match
    /// are found if a rank waits in a call for a rank that is in finalize(), or if this rank passes on data of a call that it has not made.
    /// They are not found if one rank has forgotten a collective call and no other rank waits for it in that call: for example a broadcast
    /// that the root has made and left, or a gather that only the ranks with data have made. Then finalize() succeeds on all ranks. The end
    /// of each connection to another job is a part of this call (Intercommunicator::disconnect()). If it fails, its error is thrown after
    /// the job has been left in good order. The job is left in all these cases.
    void finalize();
    /// Leaves the job at once, as the destructor does if an exception is being thrown: ranks that depend on this one get
    /// Error{peer_failed}, and what is under way never ends. Does nothing after finalize() or leave(), and in a forked child. While other
    /// parts of the program share the job, it only ends this part. Not collective.
    void leave() noexcept;
    /// Ends the whole job, all ranks, and does not return. `code` is the exit code, from 1 to 255; any other code becomes 255, because an
    /// exit status could not carry it or because it would look like success. Whatever started the job prints `why`. Ends the process as
    /// _Exit() does, without destructors and without writing what stdio has buffered: flush your own output first.
    [[noreturn]] void abort(int code, std::string_view why);

    // --- progress -----------------------------------------------------------------------------------------------------
    // By default a background thread moves data while the application is not calling the library. With ROLLCALL_PROGRESS=host there is no
    // such thread, and the program calls progress() from its own loop. progress(), the descriptor and prepare_to_sleep() are also for the
    // connections of the job to other jobs.

    /// Moves whatever data can be moved now, without waiting. Returns whether anything happened. Any thread may call it.
    bool progress();
    /// A file descriptor for the program's event loop, of which there may be one in a process. Call prepare_to_sleep(); if it returns true,
    /// poll this descriptor for reading, then call progress(). The deadline of a request does not make it readable: give poll() the time
    /// that is left, and test the request then. Throws Error{state} if the process has no file descriptors left.
    int progress_descriptor() const;
    /// Asks whether the event loop may sleep on progress_descriptor(). False: something has arrived, or an operation has ended since the
    /// last call of this function, so test the requests again before sleeping.
    bool prepare_to_sleep();
    /// Stops the background thread from moving data until resume_background() is called. Calls nest: each one needs its own resume. The
    /// pauses of all Jobs that share the job are counted together, so each part of the program must resume exactly as often as it has
    /// paused. If a rank dies, the thread still takes what has come, and fails what depends on that rank. The threads of connections to
    /// other jobs go on.
    void pause_background();
    /// Ends one pause_background(). Throws Error{state} if there is none.
    void resume_background();
    /// The counters of this process up to now, without those of connections to other jobs.
    ProgressStatistics progress_statistics() const;

    struct Implementation;

  private:
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
