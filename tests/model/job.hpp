/// \file
/// Simulated jobs for tests: many collective calls on one communicator with real data, and point-to-point messages.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "runtime/simulation/simulation.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test {

using test::kSanitized;
using test::repetitions;

constexpr Nanoseconds kSecond = 1'000'000'000, kHour = 3600 * kSecond;

/// Returns the seed of this process: ROLLCALL_TEST_SEED or a new one. Prints it at its first use.
std::uint64_t seed();

/// Random numbers that are the same on every platform for the same seed. The standard distributions are not.
class Random {
  public:
    explicit Random(std::uint64_t salt) : engine_(seed() * 0x9e3779b97f4a7c15ull + salt) {}
    std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
    std::int64_t between(std::int64_t first, std::int64_t last) {
        return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first + 1)));
    }
    bool chance(double probability) { return static_cast<double>(below(1'000'000)) < probability * 1e6; }
    template <class Range>
    auto pick(const Range& range) {
        return *(std::begin(range) + static_cast<std::ptrdiff_t>(below(std::size(range))));
    }
    /// Returns whether a case is left out. With a sanitizer, which looks at code, one in `count` is kept, and others in each run.
    bool leaves_out(std::uint64_t count) { return kSanitized && below(count) > 0; }

  private:
    std::mt19937_64 engine_;
};

/// The first returns every algorithm of the catalogue for this operation. The second returns every algorithm that moves data.
std::vector<const collectives::AlgorithmEntry*> algorithms(runtime::OperationKind operation);
std::vector<const collectives::AlgorithmEntry*> moving_algorithms();
/// Returns the broadcast algorithm of this name.
const collectives::AlgorithmEntry& broadcast(std::string_view name);

/// Returns sizes around every threshold.
std::vector<std::uint64_t> threshold_sizes(int n, std::uint64_t eager, std::uint64_t segment);

/// Returns a random machine: costs, ports, duplex, cut-through, landing budget, eager length, and whether there is a board.
runtime::Simulation::Options random_machine(Random& random, int ranks, std::uint64_t bytes);
/// The same for calls of this algorithm: if it is for several nodes, the ranks are on nodes of a random size.
runtime::Simulation::Options random_machine(Random& random, int ranks, std::uint64_t bytes, const collectives::AlgorithmEntry& entry);
std::string describe(const runtime::Simulation::Options& options);

/// Returns delays of a random shape: all at once, uniform, some late, ascending, descending, or the root late.
std::vector<Nanoseconds> random_delays(Random& random, int ranks, int root, Nanoseconds scale);

/// One collective call of a job.
struct Step {
    const collectives::AlgorithmEntry* entry = nullptr;
    int root = 0;
    std::uint64_t bytes = 0;  ///< For operations on blocks: of one block.
    std::uint64_t segment = 0;
    std::vector<Nanoseconds> delays;  ///< By rank: when it arrives, after its arrival at the previous call or the end of that call.
    bool at_once = false;             ///< Begins after its arrival at the previous call, whether that call has ended or not.
    bool in_place = false;            ///< The own block of a rank that has all, or combined data, is in its place.
    /// The planned calls of the ranks. Says how long before the arrival the call is begun (within the rank's delay; -1: only on arrival),
    /// and which arrival it then predicts, as times after the beginning. Empty: the calls are not planned.
    struct Plan {
        Nanoseconds lead = -1;
        std::vector<runtime::Simulation::RankCall::Prediction> predictions = {};
    };
    std::vector<Plan> plans;
};
/// Adds plans for some or all ranks, with good, wrong, changing or no predictions.
void plan_at_random(Random& random, Step& step);
std::string describe(const Step& step);
/// Returns the call of a rank in this step.
runtime::Call call_of(const Step& step);
std::string describe(const std::vector<Step>& steps);

/// The first returns byte `position` of message `number`. The second is the byte that marks memory that was never written.
std::byte byte_of_message(std::uint64_t number, std::uint64_t position);
inline constexpr std::byte kPoison{0xDB};

/// Memory between guard bytes.
class Guarded {
  public:
    void resize(std::uint64_t size);  ///< Also fills it with poison.
    transport::Bytes bytes() { return {memory_.data() + kGuard, memory_.size() - 2 * kGuard}; }
    /// Writes bytes [begin, end) of message `number`.
    void write(std::uint64_t number, std::uint64_t begin, std::uint64_t end, std::uint64_t at = 0);
    /// Returns the first position at which the bytes are not as expected, or at which the memory around them is no longer poison; or
    /// nothing.
    std::string first_difference(const std::vector<std::byte>& expected) const;

  private:
    static constexpr std::size_t kGuard = 32;
    std::vector<std::byte> memory_ = std::vector<std::byte>(2 * kGuard);
};

/// Calls on the world communicator of a simulation, one after the other on each rank, with real data between guards. The buffers of a
/// planned call's caller are poison until the caller arrives.
class Job {
  public:
    Job(runtime::Simulation& simulation, std::vector<Step> steps);

    /// Makes rank `rank` call something else than the others in step `number`.
    void deviate(int rank, std::size_t number, const runtime::Call& call, const collectives::AlgorithmEntry& entry);
    /// From now on rank `rank` makes no more calls (it is dead).
    void stop(int rank) { ranks_[static_cast<std::size_t>(rank)].stopped = true; }
    /// Returns the calls of this rank that have begun but not ended.
    std::vector<runtime::Operation*> unfinished(int rank);

    /// Runs the simulation until nothing is left to happen.
    void run();

    /// Expects that all calls succeeded, that all ranks have the data, and that nothing around it was changed.
    void expect_success();
    /// Expects that nothing is left over at any rank except `but`: no early message, no landed byte, no operation.
    void expect_clean(int but = -1);
    bool ended(int rank, std::size_t step) const { return at(rank, step).ended; }
    const Error* error(int rank, std::size_t step) const { return at(rank, step).operation ? at(rank, step).operation->error() : nullptr; }
    Nanoseconds exit(int rank, std::size_t step) const { return at(rank, step).exit; }

  private:
    struct Cell {
        Cell() = default;
        Job* job = nullptr;
        std::size_t step = 0;
        std::array<Guarded, collectives::kSlots.size()> buffers;
        std::unique_ptr<runtime::Operation> operation;
        Nanoseconds begun = 0;
        Nanoseconds exit = -1;
        bool arrived = false, ended = false;
        std::size_t predicted = 0;  ///< The number of predictions made so far.
        runtime::Call call;
        const collectives::AlgorithmEntry* entry = nullptr;

        const collectives::OperationRow& row() const { return collectives::operation(entry->operation); }
        Guarded& buffer(collectives::Slot slot) { return buffers[static_cast<std::size_t>(slot)]; }
    };
    struct Rank {
        std::deque<Cell> cells;
        bool stopped = false;
    };
    void prepare(Cell& cell, int rank) const;
    std::uint64_t brought(const Cell& cell, int rank, int to = 0) const;
    /// Returns what a rank has in this buffer after the call.
    std::vector<std::byte> result(const Cell& cell, collectives::Slot slot, int rank) const;
    bool stands_in_place(const Cell& cell, int rank, collectives::Slot slot) const;
    collectives::Part part(const Cell& cell, int rank, collectives::Slot slot) const;
    void caller_arrives(Cell& cell, int rank);
    static void begin(void* cell, int rank);
    static void predict(void* cell, int rank);
    static void arrive(void* cell, int rank);
    static void done(runtime::Operation& operation, void* cell);
    void returned(Cell& cell, int rank);
    void schedule(int rank, std::size_t step);
    const Step::Plan& plan(int rank, std::size_t step) const;
    const Cell& at(int rank, std::size_t step) const { return ranks_[static_cast<std::size_t>(rank)].cells[step]; }

    runtime::Simulation& simulation_;
    std::vector<Step> steps_;
    std::vector<Rank> ranks_;
};

/// Runs the program in a simulation of its own. Fails the test if a call fails or has a wrong result, or if something is left behind.
inline void expect_right_results(const runtime::Simulation::Options& options, const std::vector<Step>& steps) {
    SCOPED_TRACE(describe(options) + describe(steps));
    runtime::Simulation simulation(options);
    Job job(simulation, steps);
    job.run();
    job.expect_success();
    job.expect_clean();
}

/// A rank that gives up tells many ranks in rounds. Time goes by until all have been told.
inline void tell_all(runtime::Simulation& simulation) {
    Nanoseconds now = simulation.network().now();
    for (int round = 0; round < 10; ++round) {
        now += 5 * kMillisecond;
        for (int rank = 0; rank < simulation.size(); ++rank) {
            simulation.engine(rank).tick(now);
            simulation.network().run();
        }
    }
}

/// Point-to-point messages between the ranks of a simulation.
class Messages {
  public:
    explicit Messages(runtime::Simulation& simulation) : simulation_(simulation) {}
    /// Begins a transfer so long after now. The content is made from `number`. A receive checks nothing by itself.
    runtime::Transfer& send(int from, int to, std::uint64_t tag, std::uint64_t bytes, std::uint64_t number, Nanoseconds when);
    runtime::Transfer& receive(int at, int from, std::uint64_t tag, std::uint64_t bytes, Nanoseconds when);
    /// From now on messages use this communicator instead of the world.
    void use(std::uint64_t communicator) { communicator_ = communicator; }
    /// Returns whether a receive got message `number` with this length.
    static bool holds(const runtime::Transfer& received, std::uint64_t bytes, std::uint64_t number);

  private:
    struct Post {
        Post(runtime::Simulation& its_simulation, runtime::Transfer::Direction direction, int peer, std::uint64_t communicator,
             std::uint64_t tag, std::uint64_t bytes)
            : simulation(its_simulation), memory(bytes), transfer(direction, peer, communicator, tag, {memory.data(), bytes}) {}
        runtime::Simulation& simulation;
        std::vector<std::byte> memory;
        runtime::Transfer transfer;
    };
    static void begin(void* post, int rank);
    runtime::Transfer& post(int rank, std::unique_ptr<Post> post, Nanoseconds when);

    runtime::Simulation& simulation_;
    std::uint64_t communicator_ = 1;  ///< The world.
    std::vector<std::unique_ptr<Post>> posts_;
};

}  // namespace rollcall::model_test
