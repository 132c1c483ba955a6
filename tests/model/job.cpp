#include "tests/model/job.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rollcall::model_test {

using collectives::Extent;
using collectives::kSlots;
using collectives::Slot;
using runtime::Operation;
using runtime::OperationKind;
using runtime::Simulation;

namespace {

// Returns the slot in which data stands that is used in place.
Slot slot_of_blocks(const collectives::OperationRow& row) {
    if (row.combines && !row.in_blocks) return Slot::data;
    return *std::find_if(kSlots.begin(), kSlots.end(), [&](Slot slot) { return row.operand(slot).extent == Extent::blocks; });
}

// Returns byte `position` of the sum of so many messages, whose numbers have this sum. One message is the sum of itself.
unsigned byte_of_sum(std::uint64_t numbers, std::uint64_t messages, std::uint64_t position) {
    return static_cast<unsigned>((numbers * 131 + messages * (position * 7 + (position >> 8) * 13 + 1)) & 0xFF);
}

// Writes bytes [begin, end) of that sum. Most of the time of many tests would be spent here if a sanitizer looked at each byte.
__attribute__((no_sanitize("address", "undefined"))) void fill_with_sum(std::byte* to, std::uint64_t numbers, std::uint64_t messages,
                                                                        std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) *to++ = static_cast<std::byte>(byte_of_sum(numbers, messages, i));
}

}  // namespace

std::byte byte_of_message(std::uint64_t number, std::uint64_t position) { return static_cast<std::byte>(byte_of_sum(number, 1, position)); }

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

std::vector<const collectives::AlgorithmEntry*> moving_algorithms() {
    std::vector<const collectives::AlgorithmEntry*> found;
    for (const auto& entry : collectives::catalogue())
        if (collectives::operation(entry.operation).moves_data) found.push_back(&entry);
    return found;
}

const collectives::AlgorithmEntry& broadcast(std::string_view name) {
    return collectives::find_algorithm(runtime::OperationKind::broadcast, name, collectives::kUsual | collectives::Condition::oracle);
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
    if (random.chance(0.5)) options.find_part_alone = &collectives::part_alone;
    switch (random.below(4)) {
        case 0: options.landing_bytes = 0; break;  // The blocking model.
        case 1: options.landing_bytes = 1 + random.below(1000); break;
        case 2: options.landing_bytes = 1 + random.below(4 * bytes + 2); break;
        default: break;  // Sufficient: the non-blocking model.
    }
    return options;
}

Simulation::Options random_machine(Random& random, int ranks, std::uint64_t bytes, const collectives::AlgorithmEntry& entry) {
    Simulation::Options options = random_machine(random, ranks, bytes);
    if (!entry.needs.contains(collectives::Condition::several_nodes)) return options;
    options.board = true;
    options.ranks_per_node = static_cast<int>(random.between(std::min(2, ranks), ranks));
    options.ranks_in_turn = random.chance(0.3);
    return options;
}

std::string describe(const Simulation::Options& options) {
    const auto& m = options.model;
    return fmt::format(
        "ranks={} alpha={} beta={} gamma={} notice={} ports={} full_duplex={} cut_through={} landing={} eager={} board={} decoupled={} "
        "per_node={} in_turn={}",
        options.ranks, m.alpha, m.beta, m.gamma, m.notice, m.ports, m.full_duplex, m.cut_through, options.landing_bytes,
        options.eager_bytes, options.board, options.find_part_alone != nullptr, options.ranks_per_node, options.ranks_in_turn);
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

runtime::Call call_of(const Step& step) {
    const bool has_root = collectives::operation(step.entry->operation).has_root;
    return collectives::make_call(*step.entry, has_root ? step.root : -1, step.bytes, step.segment);
}

void plan_at_random(Random& random, Step& step) {
    const std::uint64_t shape = random.below(5);
    if (shape == 0) return;
    for (const Nanoseconds delay : step.delays) {
        Step::Plan& plan = step.plans.emplace_back();
        if (shape == 1 && random.chance(0.3)) continue;  // No prediction from this rank.
        plan.lead = random.chance(0.5) ? delay : random.between(0, delay);
        if (shape == 2) continue;  // No rank predicts.
        if (shape == 3) {          // All ranks predict at once.
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
    fill_with_sum(memory_.data() + kGuard + at, number, 1, begin, end);
}

std::string Guarded::first_difference(const std::vector<std::byte>& expected) const {
    if (expected.size() + 2 * kGuard != memory_.size())
        return fmt::format("it has {} bytes, not {}", memory_.size() - 2 * kGuard, expected.size());
    std::vector<std::byte> wanted(memory_.size(), kPoison);
    std::copy(expected.begin(), expected.end(), wanted.begin() + kGuard);
    if (std::memcmp(wanted.data(), memory_.data(), wanted.size()) == 0) return {};
    const auto [is, should] = std::mismatch(memory_.begin(), memory_.end(), wanted.begin());
    return fmt::format("byte {} is {:#x}, not {:#x}", is - memory_.begin() - static_cast<std::ptrdiff_t>(kGuard),
                       static_cast<unsigned>(*is), static_cast<unsigned>(*should));
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
            cell.entry = steps_[number].entry;
            prepare(cell, rank);
        }
}

void Job::deviate(int rank, std::size_t number, const runtime::Call& call, const collectives::AlgorithmEntry& entry) {
    Cell& cell = ranks_[static_cast<std::size_t>(rank)].cells[number];
    cell.call = call;
    cell.entry = &entry;
    prepare(cell, rank);
}

// Returns whether this slot holds the own block of a rank that also has all blocks, with its own block among them; or data that is combined
// and stands where the result goes.
bool Job::stands_in_place(const Cell& cell, int rank, Slot slot) const {
    const bool is_root = rank == cell.call.root;
    const auto& row = cell.row();
    if (row.combines && !row.in_blocks) return steps_[cell.step].in_place && slot == Slot::contribution && row.data.is_had(is_root);
    return steps_[cell.step].in_place && row.operand(slot).extent == Extent::block && row.operand(slot).is_had(is_root) &&
           row.any_operand([&](const auto& other) { return other.extent == Extent::blocks && other.is_had(is_root); });
}

collectives::Part Job::part(const Cell& cell, int rank, Slot slot) const {
    return part_of(cell.row().operand(slot), cell.call.bytes, simulation_.size(), rank);
}

// Returns what a rank contributes. It is the same from all ranks, except where it is combined (as a sum of bytes) or differs by its
// receiver.
std::uint64_t Job::brought(const Cell& cell, int rank, int to) const {
    const int number = cell.row().personalized ? 37 * rank + 101 * to : cell.row().combines ? 1'000 * (rank + 1) : 0;
    return cell.step + static_cast<std::uint64_t>(number);
}

std::vector<std::byte> Job::result(const Cell& cell, Slot slot, int rank) const {
    const auto& row = cell.row();
    const auto [begin, bytes] = part(cell, rank, slot);
    const std::uint64_t end = begin + bytes;
    std::vector<std::byte> content(bytes);
    if (row.personalized) {
        for (std::uint64_t at = begin; at < end; at += cell.call.bytes) {
            const int block = static_cast<int>(at / cell.call.bytes);
            const std::uint64_t number = slot == Slot::data ? brought(cell, block, rank) : brought(cell, rank, block);
            fill_with_sum(content.data() + at - begin, number, 1, 0, cell.call.bytes);
        }
        return content;
    }
    fill_with_sum(content.data(), brought(cell, rank), 1, begin, end);
    const bool in_place = steps_[cell.step].in_place;
    if (!row.combines || (slot != Slot::data && (!in_place || !row.in_blocks))) return content;
    // The result takes all of the data, or its part among the blocks.
    const auto [offset, size] = part(cell, rank, Slot::data);
    const std::uint64_t from = std::clamp(offset, begin, end), to = std::clamp(offset + size, begin, end);
    const int ranks = row.combined_ranks(simulation_.size(), rank);
    std::uint64_t numbers = 0;
    for (int other = 0; other < ranks; ++other) numbers += brought(cell, other);
    if (ranks > 0) fill_with_sum(content.data() + from - begin, numbers, static_cast<std::uint64_t>(ranks), from, to);
    if (ranks == 0 && !in_place) std::fill_n(content.data() + from - begin, to - from, kPoison);
    return content;
}

void Job::prepare(Cell& cell, int rank) const {
    for (const Slot slot : kSlots)
        cell.buffer(slot).resize(cell.row().operand(slot).is_had(rank == cell.call.root) ? part(cell, rank, slot).size : 0);
}

// From now on the caller's data is there, and its next call may follow.
void Job::caller_arrives(Cell& cell, int rank) {
    for (const Slot slot : kSlots) {
        if (!cell.row().operand(slot).is_read(rank == cell.call.root)) continue;
        const auto [offset, size] = part(cell, rank, slot);
        for (int to = 0; cell.row().personalized && to < simulation_.size(); ++to)
            cell.buffer(slot).write(brought(cell, rank, to), 0, cell.call.bytes, cell.call.bytes * static_cast<std::uint64_t>(to));
        if (cell.row().personalized) continue;
        const bool in_place = stands_in_place(cell, rank, slot);
        cell.buffer(in_place ? slot_of_blocks(cell.row()) : slot).write(brought(cell, rank), offset, offset + size, in_place ? offset : 0);
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
    const auto& row = cell.row();
    const auto memory = [&](Slot slot) -> void* {
        if (!job.stands_in_place(cell, rank, slot)) return cell.buffer(slot).bytes().data;
        return runtime::slice(cell.buffer(slot_of_blocks(row)).bytes(), job.part(cell, rank, slot).offset, 0).data;
    };
    const collectives::Buffers buffers = {
        .contribution = memory(Slot::contribution), .data = memory(Slot::data), .result = memory(Slot::result)};
    runtime::Arguments arguments = collectives::arguments_of(row, buffers, cell.call.bytes, job.simulation_.size(), rank == cell.call.root);
    arguments.segment_bytes = step.segment;
    arguments.oracle = step.delays.data();
    auto& world = job.simulation_.world(rank);
    const Step::Plan& plan = job.plan(rank, cell.step);
    const runtime::PlannedAlgorithm its =
        step.plans.empty() ? cell.entry->algorithm : collectives::planned(*cell.entry, rank == cell.call.root);
    cell.operation = std::make_unique<Operation>(world, world.next_sequence++, cell.call, its.algorithm, arguments);
    cell.operation->on_done = &Job::done;
    cell.operation->on_done_context = &cell;
    cell.begun = network.now();
    if (plan.lead >= 0) {
        cell.operation->await_caller(runtime::kUnknownTime, its.begins_with_caller);
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

// The call has returned. The next call begins now, unless it has already begun "at once".
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
            for (const Slot slot : kSlots) {
                if (stands_in_place(cell, rank, slot)) continue;
                const bool had = cell.row().operand(slot).is_had(rank == cell.call.root);
                ASSERT_EQ(cell.buffer(slot).first_difference(had ? result(cell, slot, rank) : std::vector<std::byte>()), "")
                    << "buffer " << static_cast<int>(slot) << " of rank " << rank << ", step " << cell.step << " (" << describe(step)
                    << ")";
            }
        }
}

void Job::expect_clean(int but) {
    for (int rank = 0; rank < simulation_.size(); ++rank) {
        if (rank == but) continue;
        runtime::Engine& engine = simulation_.engine(rank);
        EXPECT_EQ(engine.early_messages(), 0u) << "rank " << rank;
        EXPECT_EQ(engine.landing().used(), 0u) << "rank " << rank;
        EXPECT_EQ(engine.under_way().operations, 0u) << "rank " << rank;
        EXPECT_LE(engine.landing().peak(), engine.landing().budget()) << "rank " << rank;
        EXPECT_TRUE(unfinished(rank).empty()) << "rank " << rank << " hangs in " << unfinished(rank).front()->describe();
    }
}

}  // namespace rollcall::model_test
