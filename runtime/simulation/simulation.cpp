#include "runtime/simulation/simulation.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace rollcall::runtime {

Simulation::Rank::Rank(transport::SimulatedNetwork& network, FrameArena& arena, const std::shared_ptr<const Group>& group,
                       const Options& options, int rank)
    : world(group, rank) {
    Engine::Options engine_options;
    engine_options.rank = rank;
    engine_options.size = group->size;
    engine_options.landing_bytes = options.landing_bytes;
    engine_options.eager_bytes = options.eager_bytes;
    engine_options.trace = true;
    engine.emplace(network.at(rank), arena, std::move(engine_options));
    engine->add(world);
}

Simulation::Simulation(const Options& options)
    : options_(options), network_(options.ranks, options.model, board_bytes(static_cast<std::uint64_t>(options.ranks))) {
    auto group = std::make_shared<Group>();
    group->id = 1;
    group->name = "world";
    group->size = options.ranks;
    group->has_slots = options.board;
    ranks_.reserve(static_cast<std::size_t>(options.ranks));
    for (int rank = 0; rank < options.ranks; ++rank)
        ranks_.push_back(std::make_unique<Rank>(network_, arena_, group, options_, rank));
    network_.set_settle(&Simulation::settle, this);
}

Simulation::~Simulation() = default;

void Simulation::settle(void* self, int rank) { static_cast<Simulation*>(self)->engine(rank).run_ready(); }

void Simulation::arrive(void* self, int rank) {
    auto& simulation = *static_cast<Simulation*>(self);
    Rank& here = *simulation.ranks_[static_cast<std::size_t>(rank)];
    here.operation = std::make_unique<Operation>(here.world, here.world.next_sequence++, here.call.call, here.call.algorithm, here.call.arguments);
    here.operation->on_done = &Simulation::done;
    here.operation->on_done_context = &simulation;
    here.operation->begin(*here.engine);
}

void Simulation::done(Operation& operation, void* self) {
    auto& simulation = *static_cast<Simulation*>(self);
    const int rank = operation.rank();
    simulation.ranks_[static_cast<std::size_t>(rank)]->exit = std::max(simulation.network_.now(), simulation.network_.last_bit(rank));
}

Simulation::Outcome Simulation::run(const std::function<RankCall(int)>& call_of, std::span<const Nanoseconds> arrivals) {
    const Nanoseconds start = network_.now();
    const std::uint64_t messages = network_.messages(), bytes = network_.bytes(), events = network_.events();
    for (int rank = 0; rank < size(); ++rank) {
        Rank& here = *ranks_[static_cast<std::size_t>(rank)];
        here.call = call_of(rank);
        here.exit = -1;
        network_.schedule(start + arrivals[static_cast<std::size_t>(rank)], &Simulation::arrive, this, rank);
    }
    network_.run();

    Outcome outcome;
    for (int rank = 0; rank < size(); ++rank) {
        Rank& here = *ranks_[static_cast<std::size_t>(rank)];
        if (here.exit < 0)
            throw Error(ErrorCode::state, fmt::format("simulation: rank {} never left {}: a defect of the algorithm", rank,
                                                      here.operation ? here.operation->describe() : "its call"), rank);
        outcome.arrivals.push_back(arrivals[static_cast<std::size_t>(rank)]);
        outcome.exits.push_back(here.exit - start);
        outcome.first_data.push_back(here.operation->first_data() ? here.operation->first_data() - start : 0);
        outcome.errors.push_back(here.operation->error() ? std::make_unique<Error>(*here.operation->error()) : nullptr);
        outcome.landing_peak = std::max(outcome.landing_peak, here.engine->landing().peak());
        here.operation.reset();
    }
    outcome.messages = network_.messages() - messages;
    outcome.bytes = network_.bytes() - bytes;
    outcome.events = network_.events() - events;
    return outcome;
}

}  // namespace rollcall::runtime
