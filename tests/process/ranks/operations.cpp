/// \file
/// Scenarios of every collective operation that moves data, made from its row: once, several at a time, and by plan.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "api/collective.hpp"
#include "collectives/catalogue.hpp"
#include "tests/process/ranks/collectives.hpp"

namespace rollcall::test {
namespace {

using collectives::Extent;
using collectives::kSlots;
using collectives::Operand;
using collectives::OperationRow;
using collectives::Slot;

// Takes most of the time of some tests if a sanitizer looks at each byte.
__attribute__((no_sanitize("address", "thread", "undefined"))) void add_bytes(std::byte* sum, const std::byte* more, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) sum[i] = static_cast<std::byte>(static_cast<unsigned>(sum[i]) + static_cast<unsigned>(more[i]));
}

// One call with its own buffers, between guards; all are checked in full and spoiled after each call. With `in_place` the own block
// of who has all blocks, too, stands among them, and what is combined (a sum of bytes) where the result goes.
class Call {
  public:
    Call(const Communicator& communicator, const OperationRow& row, std::uint64_t bytes, int root, bool in_place)
        : communicator_(communicator), row_(row), bytes_(bytes), root_(root) {
        for (const Slot slot : kSlots) {
            if (!row.operand(slot).is_had(is_root())) continue;
            buffer(slot).resize(kGuard + part_of(row.operand(slot), bytes, communicator.size(), communicator.rank()).size + kGuard);
            if (row.operand(slot).extent == Extent::blocks) blocks_ = slot;
        }
        if (stands_in_result()) blocks_ = Slot::data;
        in_place_ = in_place && blocks_ && row.operand(*blocks_).is_had(is_root());
    }

    // Fills in what this rank contributes to round `round`. All other bytes are poison.
    void fill(std::uint64_t round) {
        poison();
        fill_own(round);
    }
    // In a phase that has begun, results may already be here. So only this rank's contribution is written.
    void fill_own(std::uint64_t round) {
        for (const Slot slot : kSlots)
            if (row_.operand(slot).is_read(is_root()))
                for (const Piece& piece : pieces(slot)) {
                    const std::uint64_t what =
                        row_.combines ? brought(communicator_.rank(), piece.number, round) : key(piece.number, round);
                    const std::vector<std::byte> bytes = pattern(bytes_, what);
                    std::copy(bytes.begin(), bytes.end(), piece.where);
                }
    }
    void check_result(std::uint64_t round, const std::string& what) {
        if (row_.combines) check_sum(round, what);
        for (const Slot slot : kSlots) {
            for (const Piece& piece : row_.combines ? std::vector<Piece>() : pieces(slot))
                check_pattern(piece.where, bytes_, key(piece.number, round),
                              fmt::format("{} {}, round {}, buffer {}, of number {}", name(row_.kind), what, round, static_cast<int>(slot),
                                          piece.number));
            const std::vector<std::byte>& all = buffer(slot);
            if (all.empty()) continue;
            const auto guards = [](auto first) { return std::all_of(first, first + kGuard, [](std::byte b) { return b == kPoison; }); };
            check(guards(all.begin()) && guards(all.end() - kGuard), "{} {}: it wrote outside of a buffer", name(row_.kind), what);
        }
    }
    void poison() {
        for (std::vector<std::byte>& buffer : buffers_) std::fill(buffer.begin(), buffer.end(), kPoison);
    }

    Collective operator()() {
        return {communicator_,
                row_.kind,
                {.contribution = memory(Slot::contribution), .data = memory(Slot::data), .result = memory(Slot::result)},
                bytes_,
                root_};
    }

  private:
    // A message or the block of a rank, identified by a number. Where a rank has a block for each rank, both ranks identify it.
    struct Piece {
        int number;
        std::byte* where;
    };
    static constexpr std::ptrdiff_t kGuard = 32;
    static constexpr std::byte kPoison{0xa5};

    bool is_root() const { return communicator_.rank() == root_; }
    bool stands_in_result() const { return row_.combines && !row_.in_blocks; }
    std::size_t own_offset() const { return static_cast<std::size_t>(communicator_.rank()) * bytes_; }
    std::vector<std::byte>& buffer(Slot slot) { return buffers_[static_cast<std::size_t>(slot)]; }
    std::byte* memory(Slot slot) {
        const Operand& operand = row_.operand(slot);
        if (!operand.is_had(is_root())) return nullptr;
        if (!in_place_ || (stands_in_result() ? slot != Slot::contribution : operand.extent != Extent::block))
            return buffer(slot).data() + kGuard;
        return buffer(*blocks_).data() + kGuard + (stands_in_result() ? 0 : own_offset());
    }
    std::vector<Piece> pieces(Slot slot) {
        const Operand& operand = row_.operand(slot);
        if (!operand.is_had(is_root())) return {};
        const bool is_own = operand.extent == Extent::block || row_.combines;
        if (operand.extent != Extent::blocks) return {{is_own ? communicator_.rank() : root_, memory(slot)}};
        std::vector<Piece> all;
        for (int rank = 0; rank < communicator_.size(); ++rank) {
            const int from = slot == Slot::contribution ? communicator_.rank() : rank,
                      to = slot == Slot::contribution ? rank : communicator_.rank();
            all.push_back(
                {row_.personalized ? from * communicator_.size() + to : rank, memory(slot) + static_cast<std::size_t>(rank) * bytes_});
        }
        return all;
    }
    void check_sum(std::uint64_t round, const std::string& what) {
        if (!row_.data.is_had(is_root())) return;
        const int ranks = row_.combined_ranks(communicator_.size(), communicator_.rank());
        std::vector<std::byte> sum(bytes_, ranks > 0 || in_place_ ? std::byte{} : kPoison);
        for (int rank = 0; rank < std::max(ranks, in_place_ ? 1 : 0); ++rank) {
            const std::vector<std::byte> bytes = pattern(bytes_, brought(rank, communicator_.rank(), round));
            add_bytes(sum.data(), bytes.data(), sum.size());
        }
        const std::byte* const got = memory(Slot::data);
        const bool is_right = sum.empty() || std::memcmp(sum.data(), got, sum.size()) == 0;
        const auto wrong = is_right ? 0 : std::mismatch(sum.begin(), sum.end(), got).first - sum.begin();
        check(is_right, "{} {}, round {}: byte {} of {} is no sum", name(row_.kind), what, round, wrong, bytes_);
    }
    // Returns what a rank contributes for another rank, or for all.
    std::uint64_t brought(int rank, int for_rank, std::uint64_t round) const {
        return key(rank, round) + (row_.in_blocks && row_.combines ? 7'919 * static_cast<std::uint64_t>(for_rank) : 0);
    }
    std::uint64_t key(int rank, std::uint64_t round) const { return static_cast<std::uint64_t>(rank) * 1'000'003 + round * 17 + bytes_; }

    const Communicator& communicator_;
    const OperationRow& row_;
    std::uint64_t bytes_;
    int root_;
    std::array<std::vector<std::byte>, kSlots.size()> buffers_;
    std::optional<Slot> blocks_;  // Where all blocks are, if this rank has them.
    bool in_place_ = false;
};

const OperationRow& row_of(const std::string& operation) {
    for (const OperationRow& row : collectives::operations())
        if (name(row.kind) == operation) return row;
    throw Wrong(fmt::format("there is no operation {}", operation));
}

constexpr Predictor kPredictors[] = {Predictor::edge_linear, Predictor::last, Predictor::moving_average, Predictor::exponential};

// Tells the plan about this rank's phase: the truth, nothing, half of it, or nonsense.
void compute(Plan& plan, Random& own, std::uint64_t most) {
    const std::uint64_t what = own() % 6;
    if (what == 0) return delay(own, most);  // No phase at all.
    plan.begin();
    delay(own, most);
    switch (what) {
        case 1: plan.edge(0.5); break;
        case 2: plan.edge(0.001); break;  // Far too late.
        case 3:
            for (int i = 1; i <= 4; ++i) {
                plan.edge(0.25 * i);
                delay(own, most / 4);
            }
            break;
        case 4: plan.edge(1);  // Too early. In the other cases there is no edge.
    }
    delay(own, most);
}

}  // namespace

// Words: operation, algorithm, seed, KiB of what is long, and "few" for a setting that matters to every call in the same way. Several roots
// (the model tests have all), sizes around thresholds, in place and not, segments, and a late rank.
ROLLCALL_SCENARIO(calls) {
    const std::string operation = scene.word(0);
    const OperationRow& row = row_of(operation);
    const std::string algorithm = scene.word(1);
    const auto seed = static_cast<std::uint64_t>(scene.number(2, 1));
    Random own = own_random(scene, seed);
    std::uint64_t round = 0;
    const auto root_of = [&](std::uint64_t number) { return static_cast<int>(number % static_cast<std::uint64_t>(scene.size)); };
    const auto call = [&](std::uint64_t bytes, int root, bool in_place, const CollectiveOptions& options) {
        Call buffers(scene.world, row, bytes, root, in_place);
        buffers.fill(++round);
        delay(own, 300);
        buffers().call(options);
        buffers.check_result(round, algorithm);
    };
    const CollectiveOptions plain{.algorithm = algorithm, .segment_bytes = {}, .timeout = {}};
    std::vector<int> some(static_cast<std::size_t>(std::min(scene.size, 3)));  // ranks
    std::iota(some.begin(), some.end(), 0);
    some.back() = scene.size - 1;
    // Of nine calls, each of three roots has three, one of them in place. The seed says which sizes these are.
    for (std::uint64_t turn = seed; const std::uint64_t bytes : {0, 1, 8, 100, 8191, 8192, 8193, 65'541, 131'073}) {
        call(bytes, some[turn % some.size()], (turn + turn / 3) % 3 == 0, plain);
        ++turn;
    }
    // Where there are no segments, their size is only compared.
    const bool has_segments = collectives::find_algorithm(row, algorithm, collectives::kReal).segmented;
    const bool has_few = scene.word(4) == "few";
    for (const std::uint64_t segment :
         has_few ? std::vector<std::uint64_t>{64, 65'536} : std::vector<std::uint64_t>{0, 64, 1000, 65'536, std::uint64_t{1} << 40})
        for (const std::uint64_t bytes : has_segments ? std::vector<std::uint64_t>{0, 63, 4096, 100'001} : std::vector<std::uint64_t>{4096})
            call(bytes, root_of(round), round % 3 == 0, {.algorithm = algorithm, .segment_bytes = segment, .timeout = {}});
    call(100, root_of(round), round % 3 == 0, {.algorithm = algorithm, .segment_bytes = 1, .timeout = {}});
    // Most of the time goes into long data, above all into sums of it. Sanitizers, and more ranks, see the same code with less of it.
    const auto unit = static_cast<std::uint64_t>(scene.number(3, kSanitized ? 128 : scene.size > 3 ? 256 : 1024)) << 10;
    for (const bool in_place : {true, false})
        if (!has_few || in_place == (seed % 2 == 0))
            call((row.personalized ? unit / 4 : unit) + 3, in_place ? 0 : scene.size - 1, in_place, plain);
    if (!row.in_blocks && !has_few) call(row.combines ? 2 * unit : 8 * unit, scene.size / 2, false, plain);

    // One rank after the other is very late. The record shows it, and whether this rank took data of others.
    const bool is_root = scene.rank == 0;
    const bool is_first_of_scan = row.prefix != collectives::Prefix::none && scene.rank == 0;
    const bool takes = !is_first_of_scan && row.any_operand([&](const collectives::Operand& operand) {
        return operand.is_written(is_root) && !includes(operand.only_copies, is_root);
    });
    for (const int late : some) {
        if (has_few && late != some[seed % some.size()]) continue;
        if (scene.rank == late) sleep_us(3000);
        CallRecord record;
        record.predicted = 4;  // of an iteration of a plan
        call(8, 0, late == 0, {.algorithm = algorithm, .segment_bytes = {}, .timeout = {}, .record = &record});
        check(record.arrival > 0 && record.exit >= record.arrival && record.predicted == 0, "the record is not in order");
        check(record.first_data <= record.exit, "data came after the end");
        check(record.first_data > 0 || !takes || scene.size == 1, "the record does not say when data came");
    }
}

// Several calls of all algorithms are under way at once, with barriers among them, and end in any order. Words: operation.
ROLLCALL_SCENARIO(started_calls) {
    const std::string operation = scene.word(0);
    const OperationRow& row = row_of(operation);
    const auto algorithms = usable_algorithms(scene.world, row);
    for (std::uint64_t round = 0; round < 5; ++round) {
        std::vector<std::unique_ptr<Call>> calls;
        std::vector<Request> requests;
        for (std::size_t i = 0; i < algorithms.size(); ++i) {
            calls.push_back(std::make_unique<Call>(scene.world, row, i % 2 ? 30'000 : 100, static_cast<int>(i) % scene.size, false));
            calls.back()->fill(round);
            requests.push_back((*calls.back())().start({.algorithm = algorithms[i], .segment_bytes = {}, .timeout = {}}));
            if (i % 5 == 4) requests.push_back(scene.world.start_barrier());
        }
        if (scene.rank % 2) std::reverse(requests.begin(), requests.end());
        Request::wait_all(requests);
        for (std::size_t i = 0; i < algorithms.size(); ++i) calls[i]->check_result(round, std::string(algorithms[i]));
    }
}

// Iterations of one plan, back to back, with phases that tell the truth, lies, or nothing; buffers are poisoned between.
// Words: operation, algorithm, iterations, seed, greatest sleep in us, "few" for two sizes only.
ROLLCALL_SCENARIO(plans) {
    const std::string operation = scene.word(0);
    const OperationRow& row = row_of(operation);
    const std::string algorithm = scene.word(1);
    const std::uint64_t seed = static_cast<std::uint64_t>(scene.number(3, 1));
    Random same(seed);
    Random own = own_random(scene, seed);
    const auto most = static_cast<std::uint64_t>(scene.number(4, 300));
    const bool few = scene.word(5) == "few";
    const std::uint64_t longest = row.in_blocks ? 100'000 : 300'000;
    for (const std::uint64_t bytes : few ? std::vector<std::uint64_t>{40, longest} : std::vector<std::uint64_t>{0, 40, 20'000, longest}) {
        const int root = static_cast<int>(same() % static_cast<std::uint64_t>(scene.size));
        Call buffers(scene.world, row, bytes, root, same() % 2 == 0);
        Plan plan = buffers().plan({.algorithm = algorithm, .segment_bytes = {}, .timeout = {}, .predictor = kPredictors[own() % 4]});
        check(plan.explanation().find(algorithm) != std::string::npos, "it explains itself by '{}'", plan.explanation());
        for (int round = 0; round < scene.number(2, 10); ++round) {
            // Before the phase: from then on results may come in. What is sent is not there before the call.
            buffers.poison();
            compute(plan, own, most);
            buffers.fill_own(static_cast<std::uint64_t>(round));
            if (round % 3 == 2) {
                plan.start();
                while (!plan.test()) delay(own, 50);
                plan.wait();
            } else {
                plan.run();
            }
            const CallRecord& record = plan.record();
            check(record.arrival > 0 && record.exit >= record.arrival, "the record is not in order");
            buffers.check_result(static_cast<std::uint64_t>(round), "plan of " + algorithm);
        }
    }
}

// Two plans and other calls, in an order of each rank's own; and several threads with a plan each.
ROLLCALL_SCENARIO(interleaved_plans) {
    Random own = own_random(scene, 3);
    Call down(scene.world, row_of("scatter"), 5000, 0, false), up(scene.world, row_of("gather"), 7000, scene.size - 1, false);
    Plan scatter = down().plan({.algorithm = "background_sorted_linear", .segment_bytes = {}, .timeout = {}});
    Plan gather = up().plan({.algorithm = "background_sorted_linear_synchronized", .segment_bytes = {}, .timeout = {}});
    for (std::uint64_t round = 0; round < 30; ++round) {
        down.fill(round);
        up.fill(round);
        // Hints may come in any order. The calls must not wait for each other in a circle, so both are started before either is waited for.
        if (own() % 2) {
            scatter.begin();
            gather.begin();
        } else {
            gather.begin();
            delay(own, 100);
            scatter.begin();
        }
        up.fill_own(round);
        scene.world.barrier();
        if (own() % 2) {
            scatter.start();
            gather.start();
        } else {
            gather.start();
            scatter.start();
        }
        gather.wait();
        scatter.wait();
        down.check_result(round, "scatter");
        up.check_result(round, "gather");
    }
}

// One rank stops after a few iterations and lets its plan go; the others go on, and are told which rank is missing.
// Words: operation, algorithm.
ROLLCALL_SCENARIO(left_plan) {
    const int leaver = scene.size - 1;
    Call buffers(scene.world, row_of(scene.word(0)), 100'000, leaver, false);
    Plan plan = buffers().plan({.algorithm = scene.word(1), .segment_bytes = {}, .timeout = std::chrono::seconds(20)});
    for (int round = 0; round < 3; ++round) {
        buffers.fill(1);
        plan.run();
        buffers.check_result(1, "before it leaves");
    }
    if (scene.rank == leaver) {
        plan = {};
    } else {
        // A rank whose part needs no answer may end an iteration or two.
        const Error error = expect_error(ErrorCode::state, "iterations without one rank", [&] {
            for (int round = 0; round < 100; ++round) plan.run();
        });
        check(std::string(error.what()).find(fmt::format("rank {}", leaver)) != std::string::npos, "it says '{}'", error.what());
    }
    scene.world.barrier();
}

// A plan is dropped in the middle of a phase: by all ranks, then by one rank. Words: operation, algorithm.
ROLLCALL_SCENARIO(dropped_plan) {
    const std::string operation = scene.word(0);
    const OperationRow& row = row_of(operation);
    // A sanitizer looks at code: the root, then the last rank.
    for (int victim = 0; victim < scene.size; victim += kSanitized ? std::max(1, scene.size - 1) : 1)
        for (const bool all : {true, false}) {
            Call buffers(scene.world, row, 100'000, 0, false);
            Plan plan = buffers().plan({.algorithm = scene.word(1), .segment_bytes = {}, .timeout = std::chrono::seconds(20)});
            buffers.fill(1);
            plan.begin();
            if (scene.rank % 2) plan.edge(0.5);
            if (all || scene.rank == victim) {
                sleep_us(500);
                plan = {};
                buffers.poison();
            } else {
                // This rank's part may have been done without the victim. If not, it is told why.
                try {
                    plan.run();
                    // What it handed over may have found nobody. As it makes no other call by the plan, finalize() tells it.
                    scene.end_may_say = "destroyed its plan while this was under way";
                } catch (const Error& error) {
                    check(error.code() == ErrorCode::state, "a dropped plan ends with: {}", error.what());
                    check(std::string(error.what()).find(fmt::format("rank {} destroyed its plan", victim)) != std::string::npos,
                          "a dropped plan ends with: {}", error.what());
                }
            }
            scene.world.barrier();
        }
}

}  // namespace rollcall::test
