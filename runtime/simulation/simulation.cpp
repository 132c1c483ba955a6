#include "runtime/simulation/simulation.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <rollcall/error.hpp>

#include "runtime/node/node_memory.hpp"
#include "runtime/simulation/model_costs.hpp"

namespace rollcall::runtime {
namespace {

constexpr Nanoseconds kBetweenLooks = 50 * kMillisecond;

/// A group that keeps its costs.
struct SimulatedGroup : Group {
    explicit SimulatedGroup(const transport::Model& model) : of_model(costs_of(model)) { costs = &of_model; }
    SimulatedGroup(const SimulatedGroup&) = delete;
    SimulatedGroup& operator=(const SimulatedGroup&) = delete;
    Costs of_model;
};

}  // namespace

Simulation::Rank::Rank(transport::SimulatedNetwork& network, FrameArena& arena, const std::shared_ptr<const Group>& group,
                       const Options& options, int rank)
    : world(group, rank) {
    Engine::Options engine_options;
    engine_options.rank = rank;
    engine_options.size = group->size;
    engine_options.landing_bytes = options.landing_bytes;
    engine_options.landing_longest = options.landing_longest;
    engine_options.eager_bytes = options.eager_bytes;
    engine_options.algorithm_name = options.algorithm_name;
    engine_options.find_part_alone = options.find_part_alone;
    engine.emplace(network.at(rank), network.machine(rank), arena, std::move(engine_options));
    engine->add(world);
}

// The memory of a simulated node.
struct Simulation::Node {
    Node(int its_ranks, int ranks_of_job)
        : shared{nullptr, {static_cast<std::uint64_t>(ranks_of_job), kSmallBlocks, kLargeBlocks}, its_ranks}, all(ranks_of_job) {
        void* const mapped = ::mmap(nullptr, shared.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED)
            throw Error(ErrorCode::state, fmt::format("there is no memory for a simulated node of {} ranks: simulate fewer", its_ranks));
        shared.memory = static_cast<std::byte*>(mapped);
    }
    ~Node() { ::munmap(shared.memory, shared.bytes()); }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    /// Adds the rank of this engine. `ranks_of_node` are all of the node.
    void add(Engine& engine, const std::vector<int>& ranks_of_node, transport::Memory& memory) {
        std::vector<int> rank_on_node(static_cast<std::size_t>(all), -1);
        for (std::size_t i = 0; i < ranks_of_node.size(); ++i)
            rank_on_node[static_cast<std::size_t>(ranks_of_node[i])] = static_cast<int>(i);
        const int own = rank_on_node[static_cast<std::size_t>(engine.rank())];
        Landing& budget = budgets.emplace_back(memory, std::uint64_t{1} << 62);
        engine.set_node(&ranks.emplace_back(shared, own, std::move(rank_on_node), budget));
    }

    // Small numbers, so that the blocks are reused again and again.
    static constexpr std::uint32_t kSmallBlocks = 8, kLargeBlocks = 16;
    node::Shared shared;
    int all;  ///< Ranks of the job.
    std::deque<Landing> budgets;
    std::deque<node::NodeMemory> ranks;
};

void Simulation::make_nodes(Group& group) {
    const int all = options_.ranks, most = options_.ranks_per_node > 0 ? options_.ranks_per_node : all;
    const int count = (all + most - 1) / most;
    std::vector<std::vector<int>> ranks_of(static_cast<std::size_t>(count));
    std::vector<int> sharing;
    for (int rank = 0; rank < all; ++rank) {
        std::vector<int>& ranks = ranks_of[static_cast<std::size_t>(options_.ranks_in_turn ? rank % count : rank / most)];
        ranks.push_back(rank);
        sharing.push_back(ranks.front());
    }
    for (const std::vector<int>& ranks : ranks_of) {
        if (ranks.size() == 1) continue;
        Node& node = *nodes_.emplace_back(std::make_unique<Node>(static_cast<int>(ranks.size()), all));
        for (const int rank : ranks) node.add(engine(rank), ranks, network_.at(rank).memory());
    }
    find_nodes(group, sharing);
}

Simulation::Simulation(const Options& options)
    : options_(options),
      network_(options.ranks, options.model, board_bytes(static_cast<std::uint64_t>(options.ranks))),
      ranks_(static_cast<std::size_t>(options.ranks)) {
    auto group = std::make_shared<SimulatedGroup>(options.model);
    group->id = 1;
    group->name = "world";
    group->size = options.ranks;
    group->first_group = options.first_group;
    group->has_slots = options.board;
    for (int rank = 0; rank < options.ranks; ++rank)
        ranks_[static_cast<std::size_t>(rank)].emplace(network_, arena_, group, options_, rank);
    if (options.node_memory && options.ranks <= kMostOnNode) make_nodes(*group);
    network_.set_settle(&Simulation::settle, this);
    network_.set_prefetch(&Simulation::prefetch, this);
}

Simulation::~Simulation() = default;

void Simulation::settle(void* self, int rank) {
    auto& simulation = *static_cast<Simulation*>(self);
    Rank& here = *simulation.ranks_[static_cast<std::size_t>(rank)];
    here.engine->run_ready();
    if (here.tick_until > 0) simulation.tick_when_due(here, rank);  // A message can make it due: a rank that is out of its call fails.
}

void Simulation::prefetch(void* self, int rank, bool again) {
    const std::optional<Rank>& here = static_cast<Simulation*>(self)->ranks_[static_cast<std::size_t>(rank)];
    if (again) {
        if (here->running) here->running->prefetch_frame();
        return;
    }
    foundation::prefetch(&here->running, 64);
    here->engine->prefetch();
    foundation::prefetch(&here->operation, Operation::kHotBytes);
}

void Simulation::begin(Rank& here, bool planned) {
    here.operation.emplace(here.world, here.world.next_sequence++, here.call.call, here.call.algorithm.algorithm, here.call.arguments);
    here.running = &*here.operation;
    here.operation->record();
    here.operation->on_done = &Simulation::done;
    here.operation->on_done_context = this;
    if (planned)
        here.operation->await_caller(here.predicted > 0 ? start_ + here.call.predictions[0].arrival : kUnknownTime,
                                     here.call.algorithm.begins_with_caller);
    if (here.call.stays) here.operation->stay();
    here.operation->begin(*here.engine);
}

void Simulation::begin_planned(void* self, int rank) {
    auto& simulation = *static_cast<Simulation*>(self);
    simulation.begin(*simulation.ranks_[static_cast<std::size_t>(rank)], true);
}

void Simulation::predict(void* self, int rank) {
    auto& simulation = *static_cast<Simulation*>(self);
    Rank& here = *simulation.ranks_[static_cast<std::size_t>(rank)];
    here.operation->predict_arrival(simulation.start_ + here.call.predictions[here.predicted++].arrival);
}

void Simulation::arrive(void* self, int rank) {
    auto& simulation = *static_cast<Simulation*>(self);
    Rank& here = *simulation.ranks_[static_cast<std::size_t>(rank)];
    if (here.call.begin) {
        here.operation->arrive_at(simulation.network_.now());
    } else {
        simulation.begin(here, false);
    }
    if (simulation.options_.tick_for > 0) {
        here.tick_until = simulation.network_.now() + simulation.options_.tick_for;
        simulation.schedule_tick(here, rank, simulation.network_.now());
    }
}

void Simulation::schedule_tick(Rank& here, int rank, Nanoseconds when) {
    if (when >= here.tick_at || when > here.tick_until) return;
    here.tick_at = when;
    network_.schedule(when, &Simulation::tick, this, rank);
}

void Simulation::tick_when_due(Rank& here, int rank) {
    if (const Nanoseconds due = here.engine->due(); due != kNever) schedule_tick(here, rank, std::max(due, network_.now() + 1));
}

void Simulation::tick(void* self, int rank) {
    auto& simulation = *static_cast<Simulation*>(self);
    Rank& here = *simulation.ranks_[static_cast<std::size_t>(rank)];
    if (here.tick_at != simulation.network_.now()) return;  // Stale: an earlier tick was scheduled afterwards, and has happened.
    here.tick_at = kNever;
    here.engine->tick(simulation.network_.now());
    simulation.tick_when_due(here, rank);
    // A part that begins after a copy has ended needs its first tick, but cannot announce it.
    const bool waits = here.tick_at == kNever && here.running && !here.running->done();
    if (waits) simulation.schedule_tick(here, rank, simulation.network_.now() + kBetweenLooks);
}

void Simulation::kill(int rank, const std::string& how, const std::function<Nanoseconds(int)>& told_after) {
    network_.kill(rank);
    deaths_.push_back(std::make_unique<Death>(this, rank, how));
    for (int other = 0; other < size(); ++other)
        if (other != rank) network_.schedule(network_.now() + told_after(other), &Simulation::tell_death, deaths_.back().get(), other);
}

void Simulation::tell_death(void* death, int rank) {
    const auto& [simulation, dead_rank, how] = *static_cast<Death*>(death);
    simulation->engine(rank).take_what_has_come();
    simulation->engine(rank).on_death(dead_rank, how);
}

void Simulation::done(Operation& operation, void* self) {
    auto& simulation = *static_cast<Simulation*>(self);
    const int rank = operation.communicator().rank;
    simulation.ranks_[static_cast<std::size_t>(rank)]->exit = std::max(simulation.network_.now(), simulation.network_.last_bit(rank));
}

Simulation::Outcome Simulation::run(const std::function<RankCall(int)>& call_of, std::span<const Nanoseconds> arrivals) {
    const Nanoseconds start = start_ = network_.now();
    const std::uint64_t messages = network_.messages(), bytes = network_.bytes(), events = network_.events();
    for (int rank = 0; rank < size(); ++rank) {
        Rank& here = *ranks_[static_cast<std::size_t>(rank)];
        here.call = call_of(rank);
        here.exit = -1;
        const auto& predictions = here.call.predictions;
        // As in a plan, the call begins with a prediction that is there by then.
        here.predicted = here.call.begin && !predictions.empty() && predictions[0].at <= *here.call.begin ? 1 : 0;
        if (here.call.begin) network_.schedule(start + *here.call.begin, &Simulation::begin_planned, this, rank);
        for (std::size_t next = here.predicted; next < predictions.size(); ++next)
            network_.schedule(start + predictions[next].at, &Simulation::predict, this, rank);
        network_.schedule(start + arrivals[static_cast<std::size_t>(rank)], &Simulation::arrive, this, rank);
    }
    network_.run();

    Outcome outcome;
    for (int rank = 0; rank < size(); ++rank) {
        Rank& here = *ranks_[static_cast<std::size_t>(rank)];
        if (here.exit < 0 && !network_.dead(rank))
            throw Error(ErrorCode::state,
                        fmt::format("simulation: rank {} never left {}: this is a defect of the algorithm", rank,
                                    here.operation ? here.operation->describe() : "its call"),
                        rank);
        outcome.arrivals.push_back(arrivals[static_cast<std::size_t>(rank)]);
        const Operation* running = operation(rank);  // Null: the rank died before its call.
        // An operation that ends before its caller arrives does not delay the caller.
        outcome.exits.push_back(here.exit < 0 ? -1 : std::max(here.exit - start, arrivals[static_cast<std::size_t>(rank)]));
        outcome.first_data.push_back(running && running->first_data() ? running->first_data() - start : 0);
        outcome.errors.push_back(running && running->error() ? std::make_unique<Error>(*running->error()) : nullptr);
        outcome.landing_peak = std::max(outcome.landing_peak, here.engine->landing().peak());
        here.running = nullptr;
        here.operation.reset();
    }
    outcome.messages = network_.messages() - messages;
    outcome.bytes = network_.bytes() - bytes;
    outcome.events = network_.events() - events;
    return outcome;
}

}  // namespace rollcall::runtime
