/// \file
/// Simulated jobs for tests: many collective calls on one communicator with real data, and point-to-point messages.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "runtime/simulation/simulation.hpp"

namespace rollcall::model_test {

/// The seed of this process, ROLLCALL_TEST_SEED or a new one. Printed at its first use.
std::uint64_t seed();

/// Random numbers that are the same everywhere for the same seed (the standard distributions are not).
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

  private:
    std::mt19937_64 engine_;
};

/// Every broadcast of the catalogue.
std::vector<const collectives::AlgorithmEntry*> broadcasts();
/// One of them by name.
const collectives::AlgorithmEntry& broadcast(std::string_view name);

/// Sizes around every threshold there is.
std::vector<std::uint64_t> threshold_sizes(int n, std::uint64_t eager, std::uint64_t segment);

/// A random machine: costs, ports, duplex, cut-through, budget, eager length, board or not.
runtime::Simulation::Options random_machine(Random& random, int ranks, std::uint64_t bytes);
std::string describe(const runtime::Simulation::Options& options);

/// Delays of one of several shapes: all at once, uniform, some late, ascending, descending, the root late.
std::vector<Nanoseconds> random_delays(Random& random, int ranks, int root, Nanoseconds scale);

/// One collective call of a job.
struct Step {
    const collectives::AlgorithmEntry* entry = nullptr;
    int root = 0;
    std::uint64_t bytes = 0;
    std::uint64_t segment = 0;
    std::vector<Nanoseconds> delays;  ///< By rank: after the call before it was begun, or ended.
    bool at_once = false;             ///< Begun this long after the one before was begun, whether that has ended or not.
};
std::string describe(const Step& step);
/// What a rank calls in this step.
runtime::Call call_of(const Step& step);
std::string describe(const std::vector<Step>& steps);

/// Calls on the world communicator of a simulation, one after the other on each rank, with real data between guards.
class Job {
  public:
    Job(runtime::Simulation& simulation, std::vector<Step> steps);

    /// What rank `rank` calls as step number `number`, where it is not what the others call.
    void deviate(int rank, std::size_t number, const runtime::Call& call, runtime::Algorithm algorithm);
    /// From now on rank `rank` makes no call any more (it is dead).
    void stop(int rank) { ranks_[static_cast<std::size_t>(rank)].stopped = true; }
    /// Calls of this rank that have begun and not ended.
    std::vector<runtime::Operation*> unfinished(int rank);

    /// Lets everything happen.
    void run();

    /// Everything went well, everybody has the data, nothing around it was touched.
    void expect_success();
    /// Nothing is left over at any rank, `but` excepted: no early message, no landed byte, no operation.
    void expect_clean(int but = -1);
    bool ended(int rank, std::size_t step) const { return at(rank, step).ended; }
    const Error* error(int rank, std::size_t step) const { return at(rank, step).operation ? at(rank, step).operation->error() : nullptr; }
    Nanoseconds exit(int rank, std::size_t step) const { return at(rank, step).exit; }

  private:
    struct Cell {
        Cell() = default;
        Job* job = nullptr;
        std::size_t step = 0;
        std::vector<std::byte> memory;
        std::unique_ptr<runtime::Operation> operation;
        Nanoseconds exit = -1;
        bool ended = false;
        std::optional<runtime::Call> call;
        runtime::Algorithm algorithm = nullptr;
    };
    struct Rank {
        std::deque<Cell> cells;
        bool stopped = false;
    };
    static void begin(void* cell, int rank);
    static void done(runtime::Operation& operation, void* cell);
    void schedule_after(int rank, std::size_t step, bool ended);
    const Cell& at(int rank, std::size_t step) const { return ranks_[static_cast<std::size_t>(rank)].cells[step]; }

    runtime::Simulation& simulation_;
    std::vector<Step> steps_;
    std::vector<Rank> ranks_;
};

/// Point-to-point messages between the ranks of a simulation.
class Messages {
  public:
    explicit Messages(runtime::Simulation& simulation) : simulation_(simulation) {}
    /// Begins at this time from now on. The content is made from `number`; a receive checks nothing by itself.
    runtime::Transfer& send(int from, int to, std::uint64_t tag, std::uint64_t bytes, std::uint64_t number, Nanoseconds when);
    runtime::Transfer& receive(int at, int from, std::uint64_t tag, std::uint64_t bytes, Nanoseconds when);
    /// From now on they belong to this communicator, and not to the world.
    void use(std::uint64_t communicator) { communicator_ = communicator; }
    /// Whether a receive has the message `number` of this length.
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
