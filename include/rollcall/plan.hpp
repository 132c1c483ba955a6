/// \file
/// Plans: collective operations that a program repeats, and for which it can announce in advance when it will call them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rollcall/export.h>
#include <rollcall/time.hpp>

namespace rollcall {

/// How the end of a compute phase is predicted, and with it the arrival of the rank at the operation. The last three kinds use the lengths
/// of earlier phases; in the first phase, which has none before it, they predict from the edges as edge_linear does.
/// Sources: J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster Computing
/// 2020, section 3 (edges); P. Marendic et al., "A novel MPI reduction algorithm resilient to imbalances in process arrival times", 2016
/// (averages of earlier phases).
enum class Predictor : std::uint8_t {
    edge_linear,     ///< From the latest edge: the phase ends at begin + (edge - begin) / fraction.
    last,            ///< The phase takes as long as the last one.
    moving_average,  ///< The phase takes as long as the average of the last eight, or of all while there are fewer.
    exponential,     ///< The phase takes as long as a weighted average: a phase has 3/4 of the weight of the one after it.
};

/// How a plan is carried out. All ranks must give the same algorithm and segment size; the deadline and the predictor may differ.
struct PlanOptions {
    /// A name or alias that `rollcall info --algorithms` lists. Empty: the setting of the operation, which is `auto` by default. The text
    /// need only live until the plan is made.
    std::string_view algorithm = {};
    /// The size of a piece in bytes, as in CollectiveOptions.
    std::optional<std::uint64_t> segment_bytes = {};
    /// The deadline of each run() and wait(), counted from that call. No value: the setting ROLLCALL_TIMEOUT.
    std::optional<Timeout> timeout = {};
    /// How this rank predicts its own arrivals.
    Predictor predictor = Predictor::edge_linear;
};

/// The times of one call on this rank, in nanoseconds.
///
/// If the job is on one host, they are times of CLOCK_MONOTONIC. If it is on several hosts, they are times of the clock that the ranks of
/// the communicator have agreed on. That is job time (see Job::time()) or, if a plan was made before the clocks of the job were
/// synchronised, the clock of rank 0 of the communicator. If clocks were never synchronised, they are times of this host's clock.
struct CallRecord {
    Nanoseconds arrival = 0;     ///< When this rank called the operation.
    Nanoseconds first_data = 0;  ///< When this rank first took data of another rank; 0 if it took none.
    Nanoseconds exit = 0;        ///< When this rank's part was done.
    Nanoseconds predicted = 0;   ///< For plans: the last prediction of this rank's arrival; 0 if there was none.
};

/// A collective operation that a program repeats at one place, for example once in each iteration of a loop. The buffers, the root and the
/// algorithm are known before the ranks call it (arrive), and so is, roughly, the time when each rank will arrive. The plan_ functions of
/// Communicator make plans. A plan can be moved but not copied.
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
/// Hints: begin() and edge() are hints, and the results are the same without them, up to the order in which elements are combined
/// (by_rank() excludes that). Without them the order in which ranks are served depends on their arrivals alone. What the hints are used for
/// depends on the algorithm. One that sorts (sorted_...) serves those ranks first that have arrived or will arrive soon. One that works in
/// the background (background_...) moves data during the compute phase. One that has no use for the hints (binomial, pipelined) works as it
/// does in a call: what must be passed on is passed on before the rank arrives, and the rank may leave before its part is done. A barrier
/// does nothing on a rank before the rank arrives. A broadcast by `shared_memory` or `two_level` may write its message into the buffer
/// before that. With Predictor::edge_linear, and in the first phase with any predictor, each edge makes a new prediction. Algorithms that
/// decide once, when all other ranks have predicted (the reduces and allreduces by a schedule, and the sorted trees), may use the first one
/// only.
///
/// Choice: `auto` chooses as for a call, except for long blocks of a scatter or gather between ranks that do not share memory. There it
/// takes an algorithm that serves those ranks first that have arrived (with ROLLCALL_DECOUPLE=no, a call does, too).
///
/// Clocks: predictions of ranks on several hosts are compared. The first plan of a communicator on several hosts therefore synchronises the
/// clocks of its ranks, which takes about 30 ms for each doubling of the hosts, unless Job::synchronize_clocks() was called before.
///
/// Buffers: all buffers must stay in place as long as the plan. The plan may write result buffers from begin() on (without begin(): from
/// run() or start() on) until run() or wait() returns. Result buffers are the message of a broadcast on all ranks but the root, the block
/// of a scatter, the data at the root of a gather, and all blocks of an allgather or alltoall. The plan reads what is sent only from run()
/// or start() on.
///
/// Threads: one thread at a time may use a plan. Different threads may use different plans. Each plan has its own messages and its own
/// count of iterations, so ranks need not call different plans in the same order.
///
/// Errors: some calls throw and change nothing. Error{state}: begin() if an iteration was already begun or started, start() if it was
/// already started, begin() or start() after the job's end, and edge() outside a phase. Error{invalid_argument}: edge() with a fraction
/// that is not above 0 and at most 1. After an iteration has failed, all later iterations of the plan fail with the same reason. It
/// does not break the communicator. If a plan is destroyed during an iteration, this fails on the other ranks with an error that says
/// so. There is an exception: if a call is given up while the rank's part goes on without its caller, it succeeds on the other ranks.
class ROLLCALL_EXPORT Plan {
  public:
    /// Makes a null plan. Any call on it other than operator bool throws Error{state}.
    Plan();
    ~Plan();
    /// \{
    /// Moves the plan, and leaves a null plan behind.
    Plan(Plan&&) noexcept;
    Plan& operator=(Plan&&) noexcept;
    /// \}
    /// False if this is a null plan.
    explicit operator bool() const noexcept { return implementation_ != nullptr; }

    /// Announces that the compute phase before the next iteration begins now. Throws Error{state} if an earlier iteration was begun or
    /// started and wait() has not returned yet.
    void begin();
    /// Announces that this fraction of the compute phase (above 0, at most 1) is done. Ranks predict arrivals from it. It does not wait for
    /// the background thread, unless that has not yet looked at the edge before. Throws Error{state} if begin() was not called, else
    /// Error{invalid_argument} for any other fraction.
    void edge(double fraction);

    /// Carries out one iteration: start() followed by wait().
    void run();
    /// Says that this rank has arrived, and starts its part of the iteration. The rank may do other work until it calls wait(). Throws
    /// Error{state} if this iteration was started already.
    void start();
    /// Waits until this rank's part of the iteration that start() started is done, until PlanOptions::timeout at most. Throws the error of
    /// the iteration if it failed, and Error{state} if nothing was started.
    void wait();
    /// Returns whether wait() would return at once, without waiting. If the iteration has not ended before the call, it also moves data, as
    /// Job::progress() does. Throws Error{state} if nothing was started.
    bool test();

    /// The times of the last iteration for which wait() or run() has returned. Between start() and wait() it has the arrival and the
    /// prediction of the iteration under way, and 0 for its other times.
    const CallRecord& record() const;
    /// Says in a sentence why this algorithm was chosen. It also says if ranks cannot tell each other their predictions because the
    /// arrivals board, the memory for them, had no slots left (ROLLCALL_BOARD_SLOTS).
    const std::string& explanation() const;

    struct Implementation;

  private:
    friend class Communicator;
    explicit Plan(std::unique_ptr<Implementation> implementation) noexcept;
    Implementation& checked() const;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace rollcall
