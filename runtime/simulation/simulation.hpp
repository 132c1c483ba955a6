/// \file
/// A job in which all ranks are simulated. Each rank has an engine, which uses the simulated network. The code that runs is the code that
/// runs over a real transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/clock.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/engine/planned_algorithm.hpp"
#include "transports/simulated/simulated_network.hpp"

namespace rollcall::runtime {

class Simulation {
  public:
    struct Options {
        int ranks = 2;
        int first_group = 0;  ///< As in Group.
        transport::Model model;
        std::uint64_t landing_bytes = std::uint64_t{1} << 62;  ///< The default suffices: non-blocking model. 0: blocking model.
        std::uint64_t landing_longest = 0;                     ///< Longer messages wait for their receivers; 0: none does.
        std::uint64_t eager_bytes = 64;                        ///< Small control messages travel whole. Data is offered and fetched.
        bool board = true;                                     ///< False: notices travel as messages.
        /// The ranks of a node can publish in its memory. Copies cost what the model says, and reading published data costs
        /// nothing. Published data does not count in the landing budget. The memory needed grows with the number of pairs of ranks, so this
        /// works for at most kMostOnNode ranks.
        bool node_memory = true;
        /// With node memory: at most this many ranks are on each node, one after the other, or dealt out to the nodes in turn. 0: all are
        /// on one node. The network does not know of nodes.
        int ranks_per_node = 0;
        bool ranks_in_turn = false;
        /// For this long after a call (in virtual time) the rank checks what keeps it waiting, as a real lane does (Engine::tick). 0:
        /// never; then no messages are sent except those of the algorithm.
        Nanoseconds tick_for = 0;
        AlgorithmName algorithm_name = nullptr;   ///< As in Engine::Options.
        FindPartAlone find_part_alone = nullptr;  ///< As in Engine::Options.
    };
    static constexpr int kMostOnNode = 512;
    explicit Simulation(const Options& options);
    ~Simulation();

    /// The result of one collective call for each rank, in virtual time.
    struct Outcome {
        std::vector<Nanoseconds> arrivals, first_data, exits;  ///< exits: -1 for a rank that died.
        std::vector<std::unique_ptr<Error>> errors;            ///< Null for a rank without an error.
        std::uint64_t messages = 0, bytes = 0, events = 0;
        std::uint64_t landing_peak = 0;  ///< The largest amount of early data that any rank held, in bytes.
    };
    /// The call of one rank.
    struct RankCall {
        Call call;
        PlannedAlgorithm algorithm = nullptr;
        Arguments arguments;
        /// Set for a planned call: the time at which it begins, before the rank arrives. Until then the rank reports its predictions.
        std::optional<Nanoseconds> begin = {};
        struct Prediction {
            Nanoseconds at, arrival;
        };
        std::vector<Prediction> predictions = {};  ///< In order of time, from `begin` on and before the arrival.
        bool stays = false;                        ///< As after Operation::stay().
    };
    /// Runs one call. Each rank calls when it arrives; the times are relative to now. Returns when no more events happen. If a rank is then
    /// still in its call, the call hangs, and run() throws Error{state} that names the rank. `call_of(rank)` is called once for each rank.
    Outcome run(const std::function<RankCall(int)>& call_of, std::span<const Nanoseconds> arrivals);

    /// Ends the process of this rank now. Every other rank is told of it after the time `told_after(rank)`.
    void kill(int rank, const std::string& how, const std::function<Nanoseconds(int)>& told_after);

    /// The operation that this rank is in, or null.
    Operation* operation(int rank) { return ranks_[static_cast<std::size_t>(rank)]->running; }
    Engine& engine(int rank) { return *ranks_[static_cast<std::size_t>(rank)]->engine; }
    CommunicatorState& world(int rank) { return ranks_[static_cast<std::size_t>(rank)]->world; }
    transport::SimulatedNetwork& network() { return network_; }
    int size() const { return static_cast<int>(ranks_.size()); }

  private:
    struct Rank {
        Rank(transport::SimulatedNetwork& network, FrameArena& arena, const std::shared_ptr<const Group>& group, const Options& options,
             int rank);
        Operation* running = nullptr;  ///< The operation held by `operation`, together with what else is checked; or null.
        CommunicatorState world;
        std::optional<Engine> engine;
        std::optional<Operation> operation;
        RankCall call;
        Nanoseconds exit = -1;
        std::size_t predicted = 0;  ///< Number of predictions made so far.
        Nanoseconds tick_until = 0;
        Nanoseconds tick_at = kNever;  ///< The time of the next tick, if one is scheduled.
    };
    struct Node;
    void make_nodes(Group& group);
    struct Death {
        Simulation* simulation;
        int rank;
        std::string how;
    };
    void begin(Rank& here, bool planned);
    static void begin_planned(void* self, int rank);
    static void predict(void* self, int rank);
    static void arrive(void* self, int rank);
    static void tick(void* self, int rank);
    void schedule_tick(Rank& here, int rank, Nanoseconds when);
    /// Schedules the next tick for when the engine wants it.
    void tick_when_due(Rank& here, int rank);
    static void tell_death(void* death, int rank);
    static void settle(void* self, int rank);
    static void prefetch(void* self, int rank, bool again);
    static void done(Operation& operation, void* self);

    Options options_;
    transport::SimulatedNetwork network_;
    FrameArena arena_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<std::optional<Rank>, HugeAllocator<std::optional<Rank>>>
        ranks_;  ///< Contiguous in memory, because the simulated network prefetches them.
    std::vector<std::unique_ptr<Death>> deaths_;
    Nanoseconds start_ = 0;  ///< Start time of the call that runs.
};

}  // namespace rollcall::runtime
