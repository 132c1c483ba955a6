/// \file
/// Simulated jobs for tests: many collective calls on one communicator with real data, and point-to-point messages.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "collectives/catalogue.hpp"
#include "runtime/simulation/simulation.hpp"

namespace rollcall::model_test {

constexpr Nanoseconds kSecond = 1'000'000'000, kHour = 3600 * kSecond;

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

/// Every algorithm of the catalogue that does this; every one that moves data.
std::vector<const collectives::AlgorithmEntry*> algorithms(runtime::OperationKind operation);
std::vector<const collectives::AlgorithmEntry*> moving_algorithms();
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
    std::uint64_t bytes = 0;  ///< Where blocks are moved: of a block.
    std::uint64_t segment = 0;
    std::vector<Nanoseconds> delays;  ///< By rank: when it arrives, after its arrival at the call before or the end of that.
    bool at_once = false;             ///< After its arrival there, whether the one before has ended or not.
    bool in_place = false;            ///< Who has all blocks and its own has its own in its place among them; what is combined, likewise.
    /// What makes a rank's call a planned one: how long before it arrives it is begun (within its delay; -1: it is not
    /// planned), and what it says of its arrival then, in times after the beginning. Empty: nobody's is.
    struct Plan {
        Nanoseconds lead = -1;
        std::vector<runtime::Simulation::RankCall::Prediction> predictions = {};
    };
    std::vector<Plan> plans;
};
/// Plans for some or all ranks: with good, wrong, changing or no predictions.
void plan_at_random(Random& random, Step& step);
std::string describe(const Step& step);
/// What a rank calls in this step.
runtime::Call call_of(const Step& step);
std::string describe(const std::vector<Step>& steps);

/// What byte `position` of the message `number` is; and what nobody has written.
std::byte byte_of_message(std::uint64_t number, std::uint64_t position);
inline constexpr std::byte kPoison{0xDB};

/// Memory between guards.
class Guarded {
  public:
    void resize(std::uint64_t size);  ///< And poisons it.
    transport::Bytes bytes() { return {memory_.data() + kGuard, memory_.size() - 2 * kGuard}; }
    /// What these bytes are to be: bytes [begin, end) of the message `number`.
    void write(std::uint64_t number, std::uint64_t begin, std::uint64_t end, std::uint64_t at = 0);
    /// The first position where bytes [begin, end) are not as expected, or what is around them is no poison; or empty.
    using Content = std::function<std::byte(std::uint64_t position)>;
    std::string first_difference(const Content& expected, std::uint64_t begin, std::uint64_t end) const;

  private:
    static constexpr std::size_t kGuard = 32;
    std::vector<std::byte> memory_ = std::vector<std::byte>(2 * kGuard);
};

/// Calls on the world communicator of a simulation, one after the other on each rank, with real data between guards. What
/// belongs to the caller of a planned call is poison until it arrives.
class Job {
  public:
    Job(runtime::Simulation& simulation, std::vector<Step> steps);

    /// What rank `rank` calls as step number `number`, where it is not what the others call.
    void deviate(int rank, std::size_t number, const runtime::Call& call, const collectives::AlgorithmEntry& entry);
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
        std::array<Guarded, collectives::kSlots.size()> buffers;
        std::unique_ptr<runtime::Operation> operation;
        Nanoseconds begun = 0;
        Nanoseconds exit = -1;
        bool arrived = false, ended = false;
        std::size_t predicted = 0;  ///< Predictions made so far.
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
    std::byte result(const Cell& cell, collectives::Slot slot, int rank, std::uint64_t position) const;
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
