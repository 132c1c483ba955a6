/// \file
/// Plans: collective operations that a program repeats, and of which it tells beforehand when it will come to them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rollcall/export.h>
#include <rollcall/time.hpp>

namespace rollcall {

/// How the end of a compute phase is predicted. A rank that has no phase to learn from yet predicts from its edges, as
/// edge_linear does.
enum class Predictor : std::uint8_t {
    edge_linear,     ///< From the latest edge: begin + (edge - begin) / fraction (Proficz 2020, section 3).
    last,            ///< As long as the last phase.
    moving_average,  ///< As long as the last eight phases, on average.
    exponential,     ///< As long as phases were, an older one counting 3/4 of the next newer one.
};

/// How a plan is carried out. All ranks must say the same, but for the deadline and the predictor.
struct PlanOptions {
    /// A name or alias of `rollcall info --algorithms`; empty: the setting of the operation, by default `auto`.
    std::string_view algorithm;
    /// As in CollectiveOptions.
    std::optional<std::uint64_t> segment_bytes;
    /// Deadline of run() and wait(), counted from there; nothing: the setting ROLLCALL_TIMEOUT.
    std::optional<Timeout> timeout;
    Predictor predictor = Predictor::edge_linear;
};

/// The times of one call on this rank: of CLOCK_MONOTONIC where the communicator is on one host; on several hosts of the
/// clock that its ranks have agreed on: job time (see Job::time()), or, if a plan was made before clocks were synchronised for the job,
/// that of rank 0 of the communicator. Where clocks were never synchronised, of this host's.
struct CallRecord {
    Nanoseconds arrival = 0;     ///< When it was called.
    Nanoseconds first_data = 0;  ///< When data of another rank was first there; 0: never.
    Nanoseconds exit = 0;        ///< When it was done.
    Nanoseconds predicted = 0;   ///< Plans: when this rank's arrival was last predicted to be; 0: never.
};

/// A collective operation bound to a place in the program: its buffers, its root and its algorithm are known before the
/// ranks arrive there, and so is, roughly, when they will. Made by the plan_ functions of Communicator.
///
///     auto plan = world.plan_gather(block, data, root);
///     for (...) {
///         plan.begin();      // a compute phase begins
///         first_half();
///         plan.edge(0.5);    // half of it is done: tells the others when this rank will arrive
///         second_half();
///         plan.run();        // arrives, and returns when this rank's part is done
///     }
///
/// begin() and edge() are hints: without them the results are the same, and the order in which ranks are served comes
/// from their arrivals alone. What they are good for depends on the algorithm: one that sorts (sorted_...) serves those
/// first who are there or will be soon; one that works in the background (background_...) moves data during the phase. Barriers and
/// the broadcasts that there are do nothing before their caller arrives.
///
/// Clocks: predictions of ranks on several hosts are compared, so the first plan of a communicator on several hosts synchronises the
/// clocks of its ranks, which takes some tens of milliseconds, unless Job::synchronize_clocks() was called before.
///
/// Buffers: from begin() on (without it: from run() or start() on) until run() or wait() returns, the plan may write where
/// results go: the message of a broadcast where it is not the root's, the block of a scatter, the data at the root of a gather, all blocks
/// of an allgather or alltoall. What is sent is read only from run() or start() on. All buffers must stay as long as the plan.
///
/// Threads: one at a time may use a plan; different plans may be used by different threads, in any order: a plan has its
/// own messages and its own count of iterations, so that ranks need not call different plans in the same order.
///
/// Errors: begin() or start() while an iteration is under way or after Job::finalize(), edge() outside of a phase, and a
/// fraction that is not above 0 and at most 1, throw Error{state} or Error{invalid_argument}, and change nothing. When an
/// iteration fails, every later one of the plan fails with the same reason. A plan that is destroyed while an iteration is under way fails
/// at its other ranks, who are told so.
class ROLLCALL_EXPORT Plan {
  public:
    /// A null plan: calling anything on it throws Error{state}.
    Plan();
    ~Plan();
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    explicit operator bool() const noexcept { return implementation_ != nullptr; }

    /// The compute phase before the next iteration begins.
    void begin();
    /// This fraction of it (above 0, at most 1) is done.
    void edge(double fraction);

    /// This rank arrives: start() and wait() in one.
    void run();
    /// This rank arrives; the operation goes on while it does something else.
    void start();
    /// Waits until this rank's part of the iteration that was started is done. Throws Error: what failed.
    void wait();
    /// Whether wait() would return at once. Moves things on.
    bool test();

    /// The times of the last iteration that was waited for.
    const CallRecord& record() const;
    /// Why this algorithm, in a sentence; and whether the arrivals board had no room for predictions.
    const std::string& explanation() const;

    struct Implementation;

  private:
    friend class Communicator;
    explicit Plan(std::unique_ptr<Implementation> implementation) noexcept;
    Implementation& checked() const;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
