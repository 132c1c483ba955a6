#include "tests/model/job.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rollcall::model_test {

using runtime::Operation;
using runtime::OperationKind;
using runtime::Simulation;

namespace {

constexpr std::byte kPoison{0xDB};

std::byte content(std::uint64_t number, std::uint64_t position) {
    return static_cast<std::byte>((number * 131 + position * 7 + (position >> 8) * 13 + 1) & 0xFF);
}

}  // namespace

std::uint64_t seed() {
    static const std::uint64_t value = [] {
        const char* given = std::getenv("ROLLCALL_TEST_SEED");
        const std::uint64_t chosen = given ? std::strtoull(given, nullptr, 10) : std::random_device()() & 0xFFFFFF;
        fmt::print("ROLLCALL_TEST_SEED={}\n", chosen);
        std::fflush(stdout);
        return chosen;
    }();
    return value;
}

std::vector<const collectives::AlgorithmEntry*> algorithms(OperationKind operation) {
    std::vector<const collectives::AlgorithmEntry*> found;
    for (const auto& entry : collectives::catalogue())
        if (entry.operation == operation) found.push_back(&entry);
    return found;
}

std::vector<const collectives::AlgorithmEntry*> rooted_algorithms() {
    std::vector<const collectives::AlgorithmEntry*> found;
    for (const auto& entry : collectives::catalogue())
        if (entry.operation != OperationKind::barrier) found.push_back(&entry);
    return found;
}

const collectives::AlgorithmEntry& broadcast(std::string_view name) {
    return collectives::find_algorithm(runtime::OperationKind::broadcast, name, true);
}

std::vector<std::uint64_t> threshold_sizes(int n, std::uint64_t eager, std::uint64_t segment) {
    std::vector<std::uint64_t> sizes = {0, 1};
    for (const std::uint64_t around : {eager, segment, 2 * segment, 5 * segment, static_cast<std::uint64_t>(n)})
        for (const std::uint64_t size : {around - 1, around, around + 1})
            if (around > 0) sizes.push_back(size);
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
}

Simulation::Options random_machine(Random& random, int ranks, std::uint64_t bytes) {
    Simulation::Options options;
    options.ranks = ranks;
    options.model.alpha = random.pick(std::vector<double>{0, 1, 20, 300});
    options.model.beta = random.pick(std::vector<double>{0, 0.37, 1, 4});
    options.model.gamma = random.pick(std::vector<double>{0, 0, 0.3, 2});
    options.model.notice = random.pick(std::vector<double>{0, 1, 500});
    options.model.ports = static_cast<int>(random.pick(std::vector<int>{1, 1, 1, 2, 4}));
    options.model.full_duplex = random.chance(0.7);
    options.model.cut_through = random.chance(0.4);
    options.eager_bytes = random.pick(std::vector<std::uint64_t>{0, 15, 16, 64, 200});
    options.board = random.chance(0.6);
    switch (random.below(4)) {
        case 0: options.landing_bytes = 0; break;  // the blocking model
        case 1: options.landing_bytes = 1 + random.below(1000); break;
        case 2: options.landing_bytes = 1 + random.below(4 * bytes + 2); break;
        default: break;  // sufficient: the non-blocking model
    }
    return options;
}

std::string describe(const Simulation::Options& options) {
    const auto& m = options.model;
    return fmt::format("ranks={} alpha={} beta={} gamma={} notice={} ports={} full_duplex={} cut_through={} landing={} eager={} board={}",
                       options.ranks, m.alpha, m.beta, m.gamma, m.notice, m.ports, m.full_duplex, m.cut_through, options.landing_bytes,
                       options.eager_bytes, options.board);
}

std::string describe(const Step& step) {
    return fmt::format("{} {} root={} bytes={} segment={} at_once={} in_place={} planned={}", name(step.entry->operation), step.entry->name,
                       step.root, step.bytes, step.segment, step.at_once, step.in_place, !step.plans.empty());
}

std::string describe(const std::vector<Step>& steps) {
    std::string text;
    for (const Step& step : steps) text += "\n  " + describe(step);
    return text;
}

std::vector<Nanoseconds> random_delays(Random& random, int ranks, int root, Nanoseconds scale) {
    std::vector<Nanoseconds> delays(static_cast<std::size_t>(ranks), 0);
    const std::uint64_t shape = random.below(6);
    for (int rank = 0; rank < ranks; ++rank) {
        Nanoseconds& delay = delays[static_cast<std::size_t>(rank)];
        switch (shape) {
            case 0: break;
            case 1: delay = random.between(0, scale); break;
            case 2: delay = random.chance(0.2) ? scale : 0; break;
            case 3: delay = scale * rank / ranks; break;
            case 4: delay = scale * (ranks - rank) / ranks; break;
            default: delay = rank == root ? scale : random.between(0, scale); break;
        }
    }
    return delays;
}

runtime::Call call_of(const Step& step) { return collectives::make_call(*step.entry, step.root, step.bytes, step.segment); }

void plan_at_random(Random& random, Step& step) {
    if (step.entry->operation == OperationKind::broadcast) return;
    const std::uint64_t shape = random.below(5);
    if (shape == 0) return;
    for (const Nanoseconds delay : step.delays) {
        Step::Plan& plan = step.plans.emplace_back();
        if (shape == 1 && random.chance(0.3)) continue;  // not this one
        plan.lead = random.chance(0.5) ? delay : random.between(0, delay);
        if (shape == 2) continue;  // nobody knows when
        if (shape == 3) {          // everybody does, at once
            plan.predictions.push_back({0, plan.lead});
            continue;
        }
        for (std::int64_t left = random.between(0, 3); left > 0; --left)
            plan.predictions.push_back(
                {random.between(0, plan.lead), random.chance(0.2) ? runtime::kUnknownTime : random.between(0, 30'000)});
        std::sort(plan.predictions.begin(), plan.predictions.end(), [](const auto& one, const auto& other) { return one.at < other.at; });
    }
}

// --- Guarded ---------------------------------------------------------------------------------------------------------

void Guarded::resize(std::uint64_t size) { memory_.assign(size + 2 * kGuard, kPoison); }

void Guarded::write(std::uint64_t number, std::uint64_t begin, std::uint64_t end, std::uint64_t at) {
    for (std::uint64_t i = begin; i < end; ++i) memory_[kGuard + at + i - begin] = content(number, i);
}

std::string Guarded::first_difference(std::uint64_t number, std::uint64_t begin, std::uint64_t end) const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
        const bool guard = i < kGuard || i >= kGuard + end - begin;
        const std::byte wanted = guard ? kPoison : content(number, begin + i - kGuard);
        if (memory_[i] != wanted)
            return fmt::format("byte {} is {:#x}, not {:#x}", static_cast<std::int64_t>(i) - static_cast<std::int64_t>(kGuard),
                               static_cast<unsigned>(memory_[i]), static_cast<unsigned>(wanted));
    }
    return {};
}

// --- Job -------------------------------------------------------------------------------------------------------------

Job::Job(Simulation& simulation, std::vector<Step> steps)
    : simulation_(simulation), steps_(std::move(steps)), ranks_(static_cast<std::size_t>(simulation.size())) {
    for (int rank = 0; rank < simulation_.size(); ++rank)
        for (std::size_t number = 0; number < steps_.size(); ++number) {
            Cell& cell = ranks_[static_cast<std::size_t>(rank)].cells.emplace_back();
            cell.job = this;
            cell.step = number;
            cell.call = call_of(steps_[number]);
            cell.algorithm = steps_[number].entry->algorithm;
            prepare(cell, rank);
        }
}

void Job::deviate(int rank, std::size_t number, const runtime::Call& call, runtime::Algorithm algorithm) {
    Cell& cell = ranks_[static_cast<std::size_t>(rank)].cells[number];
    cell.call = call;
    cell.algorithm = algorithm;
    prepare(cell, rank);
}

void Job::prepare(Cell& cell, int rank) const {
    const bool blocks = cell.call.kind == OperationKind::scatter || cell.call.kind == OperationKind::gather;
    const auto n = static_cast<std::uint64_t>(simulation_.size());
    cell.data.resize(!blocks ? cell.call.bytes : rank == cell.call.root ? n * cell.call.bytes : 0);
    cell.block.resize(blocks ? cell.call.bytes : 0);
}

// Its data is there from now on, and its next call may follow.
void Job::caller_arrives(Cell& cell, int rank) {
    const bool root = rank == cell.call.root;
    const std::uint64_t bytes = cell.call.bytes, mine = static_cast<std::uint64_t>(rank) * bytes;
    if (cell.call.kind == OperationKind::gather) {
        if (root && steps_[cell.step].in_place)
            cell.data.write(cell.step, mine, mine + bytes, mine);
        else
            cell.block.write(cell.step, mine, mine + bytes);
    } else if (root) {
        cell.data.write(cell.step, 0, cell.data.bytes().size);
    }
    cell.arrived = true;
    if (cell.step + 1 < steps_.size() && steps_[cell.step + 1].at_once) schedule(rank, cell.step + 1);
}

const Step::Plan& Job::plan(int rank, std::size_t number) const {
    static const Step::Plan none;
    const Step& step = steps_[number];
    return step.plans.empty() ? none : step.plans[static_cast<std::size_t>(rank)];
}

void Job::begin(void* context, int rank) {
    auto& cell = *static_cast<Cell*>(context);
    Job& job = *cell.job;
    if (job.ranks_[static_cast<std::size_t>(rank)].stopped) return;
    auto& network = job.simulation_.network();
    const Step& step = job.steps_[cell.step];
    runtime::Arguments arguments;
    arguments.data = cell.data.bytes();
    transport::Bytes block = cell.block.bytes();
    if (step.in_place && rank == cell.call.root && block.size)
        block = runtime::slice(cell.data.bytes(), static_cast<std::uint64_t>(rank) * cell.call.bytes, cell.call.bytes);
    if (cell.call.kind == OperationKind::gather)
        arguments.contribution = block;
    else
        arguments.result = block;
    arguments.segment_bytes = step.segment;
    arguments.oracle = step.delays;
    auto& world = job.simulation_.world(rank);
    cell.operation = std::make_unique<Operation>(world, world.next_sequence++, cell.call, cell.algorithm, arguments);
    cell.operation->on_done = &Job::done;
    cell.operation->on_done_context = &cell;
    cell.begun = network.now();
    const Step::Plan& plan = job.plan(rank, cell.step);
    if (plan.lead >= 0) {
        cell.operation->await_caller();
        for (const auto& prediction : plan.predictions) network.schedule(cell.begun + prediction.at, &Job::predict, &cell, rank);
        network.schedule(cell.begun + plan.lead, &Job::arrive, &cell, rank);
    } else {
        job.caller_arrives(cell, rank);
    }
    cell.operation->begin(job.simulation_.engine(rank));
}

void Job::predict(void* context, int rank) {
    auto& cell = *static_cast<Cell*>(context);
    const Nanoseconds when = cell.job->plan(rank, cell.step).predictions[cell.predicted++].arrival;
    cell.operation->predict_arrival(when == runtime::kUnknownTime ? when : cell.begun + when);
}

void Job::arrive(void* context, int rank) {
    auto& cell = *static_cast<Cell*>(context);
    if (cell.job->ranks_[static_cast<std::size_t>(rank)].stopped) return;
    cell.job->caller_arrives(cell, rank);
    if (cell.ended)
        cell.job->returned(cell, rank);
    else
        cell.operation->arrive();
}

void Job::done(Operation& operation, void* context) {
    auto& cell = *static_cast<Cell*>(context);
    cell.ended = true;
    const auto& network = cell.job->simulation_.network();
    cell.exit = std::max(network.now(), network.last_bit(operation.rank()));
    if (cell.arrived) cell.job->returned(cell, operation.rank());
}

// The call has returned: the next one is begun now, unless it has been at once.
void Job::returned(Cell& cell, int rank) {
    if (cell.step + 1 < steps_.size() && !steps_[cell.step + 1].at_once) schedule(rank, cell.step + 1);
}

void Job::schedule(int rank, std::size_t number) {
    auto& network = simulation_.network();
    const Nanoseconds delay = steps_[number].delays[static_cast<std::size_t>(rank)];
    network.schedule(network.now() + delay - std::max<Nanoseconds>(0, plan(rank, number).lead), &Job::begin,
                     &ranks_[static_cast<std::size_t>(rank)].cells[number], rank);
}

void Job::run() {
    for (int rank = 0; rank < simulation_.size(); ++rank) schedule(rank, 0);
    simulation_.network().run();
}

std::vector<Operation*> Job::unfinished(int rank) {
    std::vector<Operation*> found;
    for (Cell& cell : ranks_[static_cast<std::size_t>(rank)].cells)
        if (cell.operation && !cell.ended) found.push_back(cell.operation.get());
    return found;
}

void Job::expect_success() {
    for (int rank = 0; rank < simulation_.size(); ++rank)
        for (Cell& cell : ranks_[static_cast<std::size_t>(rank)].cells) {
            const Step& step = steps_[cell.step];
            ASSERT_TRUE(cell.ended) << "rank " << rank << " hangs in step " << cell.step << ": " << describe(step);
            ASSERT_EQ(cell.operation->error(), nullptr) << "rank " << rank << ": " << cell.operation->error()->what();
            const std::uint64_t mine = static_cast<std::uint64_t>(rank) * step.bytes;
            ASSERT_EQ(cell.data.first_difference(cell.step, 0, cell.data.bytes().size), "")
                << "data of rank " << rank << ", step " << cell.step << " (" << describe(step) << ")";
            if (step.in_place && rank == step.root) continue;
            ASSERT_EQ(cell.block.first_difference(cell.step, mine, mine + cell.block.bytes().size), "")
                << "block of rank " << rank << ", step " << cell.step << " (" << describe(step) << ")";
        }
}

void Job::expect_clean(int but) {
    for (int rank = 0; rank < simulation_.size(); ++rank) {
        if (rank == but) continue;
        runtime::Engine& engine = simulation_.engine(rank);
        EXPECT_EQ(engine.early_messages(), 0u) << "rank " << rank;
        EXPECT_EQ(engine.landing().used(), 0u) << "rank " << rank;
        EXPECT_FALSE(engine.busy()) << "rank " << rank;
        EXPECT_LE(engine.landing().peak(), engine.landing().budget()) << "rank " << rank;
        EXPECT_TRUE(unfinished(rank).empty()) << "rank " << rank << " hangs in " << unfinished(rank).front()->describe();
    }
}

// --- Messages --------------------------------------------------------------------------------------------------------

void Messages::begin(void* context, int rank) {
    auto& post = *static_cast<Post*>(context);
    post.transfer.begin(post.simulation.engine(rank));
}

runtime::Transfer& Messages::post(int rank, std::unique_ptr<Post> post, Nanoseconds when) {
    auto& network = simulation_.network();
    network.schedule(network.now() + when, &Messages::begin, post.get(), rank);
    posts_.push_back(std::move(post));
    return posts_.back()->transfer;
}

runtime::Transfer& Messages::send(int from, int to, std::uint64_t tag, std::uint64_t bytes, std::uint64_t number, Nanoseconds when) {
    auto made = std::make_unique<Post>(simulation_, runtime::Transfer::Direction::send, to, communicator_, tag, bytes);
    for (std::uint64_t i = 0; i < bytes; ++i) made->memory[i] = content(number, i);
    return post(from, std::move(made), when);
}

runtime::Transfer& Messages::receive(int at, int from, std::uint64_t tag, std::uint64_t bytes, Nanoseconds when) {
    auto made = std::make_unique<Post>(simulation_, runtime::Transfer::Direction::receive, from, communicator_, tag, bytes);
    std::fill(made->memory.begin(), made->memory.end(), kPoison);
    return post(at, std::move(made), when);
}

bool Messages::holds(const runtime::Transfer& received, std::uint64_t bytes, std::uint64_t number) {
    if (!received.done() || received.error() || received.received != bytes) return false;
    const auto* data = static_cast<const std::byte*>(received.buffer.data);
    for (std::uint64_t i = 0; i < bytes; ++i)
        if (data[i] != content(number, i)) return false;
    return true;
}

}  // namespace rollcall::model_test
