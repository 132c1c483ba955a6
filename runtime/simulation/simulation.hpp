/// \file
/// A job whose ranks are all simulated: an engine for each over the simulated network. What runs in it is the same code
/// that runs over a real transport.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "foundation/clock.hpp"
#include "runtime/lane/engine.hpp"
#include "transports/simulated/simulated_network.hpp"

namespace rollcall::runtime {

class Simulation {
  public:
    struct Options {
        int ranks = 2;
        int first_group = 0;  ///< As Group has it.
        transport::Model model;
        std::uint64_t landing_bytes = std::uint64_t{1} << 62;  ///< Sufficient: the non-blocking model. 0: the blocking one.
        std::uint64_t landing_longest = 0;                     ///< Longer messages wait for their receivers; 0: none does.
        std::uint64_t eager_bytes = 64;                        ///< Small control messages travel whole; all data is offered and fetched.
        bool board = true;                                     ///< Else notices go by message.
        /// All ranks are on one node and can publish in its memory. Copies then cost as the model says, and looks cost nothing; what is
        /// published does not count in the landing budget. Takes memory for every pair of ranks: for kMostOnNode ranks at most.
        bool node_memory = true;
        /// For so long after a call (virtual time) its rank looks after what keeps it waiting, as a real lane does
        /// (Engine::tick); 0: never, and no message is sent that the algorithm did not send.
        Nanoseconds tick_for = 0;
        AlgorithmName algorithm_name = nullptr;   ///< As Engine::Options has it.
        FindPartAlone find_part_alone = nullptr;  ///< The same.
    };
    static constexpr int kMostOnNode = 512;
    explicit Simulation(const Options& options);
    ~Simulation();

    /// What one collective call did, by rank, in virtual time.
    struct Outcome {
        std::vector<Nanoseconds> arrivals, first_data, exits;  ///< exits: -1 for a rank that died.
        std::vector<std::unique_ptr<Error>> errors;            ///< Null where it went well.
        std::uint64_t messages = 0, bytes = 0, events = 0;
        std::uint64_t landing_peak = 0;  ///< Most early data that any rank held.
    };
    /// What one rank calls.
    struct RankCall {
        Call call;
        Algorithm algorithm = nullptr;
        Arguments arguments;
        /// A planned call: begun at this time, before its arrival, with what its rank says of its arrival meanwhile.
        std::optional<Nanoseconds> begin = {};
        struct Prediction {
            Nanoseconds at, arrival;
        };
        std::vector<Prediction> predictions = {};  ///< In order of time, after `begin` and before the arrival.
    };
    /// Every rank makes its call when it arrives (times relative to now); runs until nothing happens any more. A rank
    /// that is still in its call then hangs: that is Error{state} naming it. `call_of(rank)` is asked once for each.
    Outcome run(const std::function<RankCall(int)>& call_of, std::span<const Nanoseconds> arrivals);

    /// The process of this rank ends now; every other rank is told so `told_after(rank)` later.
    void kill(int rank, const std::string& how, const std::function<Nanoseconds(int)>& told_after);

    /// What this rank is in, or null.
    Operation* operation(int rank) { return ranks_[static_cast<std::size_t>(rank)]->running; }
    Engine& engine(int rank) { return *ranks_[static_cast<std::size_t>(rank)]->engine; }
    CommunicatorState& world(int rank) { return ranks_[static_cast<std::size_t>(rank)]->world; }
    transport::SimulatedNetwork& network() { return network_; }
    int size() const { return static_cast<int>(ranks_.size()); }

  private:
    struct Rank {
        Rank(transport::SimulatedNetwork& network, FrameArena& arena, const std::shared_ptr<const Group>& group, const Options& options,
             int rank);
        Operation* running = nullptr;  ///< Or null: what `operation` holds, beside what else is looked at.
        CommunicatorState world;
        std::optional<Engine> engine;
        std::optional<Operation> operation;
        RankCall call;
        Nanoseconds exit = -1;
        std::size_t predicted = 0;  ///< Predictions made so far.
        Nanoseconds tick_until = 0;
        Nanoseconds tick_at = kNever;  ///< When the next tick is due, if one is.
    };
    struct NodeOfAll;
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
    static void tell_death(void* death, int rank);
    static void settle(void* self, int rank);
    static void prefetch(void* self, int rank, bool again);
    static void done(Operation& operation, void* self);

    Options options_;
    transport::SimulatedNetwork network_;
    FrameArena arena_;
    std::unique_ptr<NodeOfAll> node_;
    std::vector<std::optional<Rank>, transport::HugeAllocator<std::optional<Rank>>>
        ranks_;  ///< Side by side: the simulated network fetches them ahead.
    std::vector<std::unique_ptr<Death>> deaths_;
    Nanoseconds start_ = 0;  ///< Of the call that runs.
};

}  // namespace rollcall::runtime
