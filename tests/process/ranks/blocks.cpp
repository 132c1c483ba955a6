/// \file
/// Scenarios of scatter and gather, once and by plan.
#include <algorithm>
#include <cmath>

#include "tests/process/ranks/scene.hpp"

namespace rollcall::test {
namespace {

using Random = std::mt19937_64;

// One scatter or gather with its own buffers, between guards; both are checked in full and spoiled after each call.
class Blocks {
  public:
    Blocks(const Communicator& communicator, bool scatters, std::uint64_t bytes, int root, bool in_place)
        : communicator_(communicator),
          scatters_(scatters),
          bytes_(bytes),
          root_(root),
          in_place_(in_place && is_root()),
          own_(kGuard + bytes + kGuard),
          all_(is_root() ? kGuard + bytes * size() + kGuard : 0) {}

    bool is_root() const { return communicator_.rank() == root_; }
    std::byte* block() { return in_place_ ? place(static_cast<std::size_t>(root_)) : own_.data() + kGuard; }
    std::byte* data() { return is_root() ? all_.data() + kGuard : nullptr; }

    // What this rank brings to round `round`; everything else is poison.
    void fill(std::uint64_t round) {
        poison();
        fill_own(round);
    }
    // In a phase that has begun results may be here already: only what this rank brings is written.
    void fill_own(std::uint64_t round) {
        if (!scatters_)
            write(block(), static_cast<std::size_t>(communicator_.rank()), round);
        else if (is_root())
            for (std::size_t rank = 0; rank < size(); ++rank) write(place(rank), rank, round);
    }
    void check_result(std::uint64_t round, const std::string& what) {
        if (scatters_) {
            check_block(block(), static_cast<std::size_t>(communicator_.rank()), round, what);
            if (is_root() && !in_place_)
                for (std::size_t rank = 0; rank < size(); ++rank) check_block(place(rank), rank, round, what + ": the root's data");
        } else if (is_root()) {
            for (std::size_t rank = 0; rank < size(); ++rank) check_block(place(rank), rank, round, what);
        }
        for (const std::vector<std::byte>* buffer : {&own_, &all_}) {
            if (buffer->empty()) continue;
            const auto guards = [](auto first) { return std::all_of(first, first + kGuard, [](std::byte b) { return b == kPoison; }); };
            check(guards(buffer->begin()) && guards(buffer->end() - kGuard), "{}: it wrote outside of a buffer", what);
        }
    }
    void poison() {
        std::fill(own_.begin(), own_.end(), kPoison);
        std::fill(all_.begin(), all_.end(), kPoison);
    }

    void call(const CollectiveOptions& options) {
        if (scatters_)
            communicator_.scatter(data(), block(), bytes_, root_, options);
        else
            communicator_.gather(block(), data(), bytes_, root_, options);
    }
    Request start(const CollectiveOptions& options) {
        return scatters_ ? communicator_.start_scatter(data(), block(), bytes_, root_, options)
                         : communicator_.start_gather(block(), data(), bytes_, root_, options);
    }
    Plan plan(const PlanOptions& options) {
        return scatters_ ? communicator_.plan_scatter(data(), block(), bytes_, root_, options)
                         : communicator_.plan_gather(block(), data(), bytes_, root_, options);
    }

  private:
    static constexpr std::ptrdiff_t kGuard = 32;
    static constexpr std::byte kPoison{0xa5};

    std::size_t size() const { return static_cast<std::size_t>(communicator_.size()); }
    std::byte* place(std::size_t rank) { return all_.data() + kGuard + rank * bytes_; }
    std::uint64_t key(std::size_t rank, std::uint64_t round) const { return rank * 1'000'003 + round * 17 + bytes_; }
    void write(std::byte* where, std::size_t rank, std::uint64_t round) const {
        const std::vector<std::byte> bytes = pattern(bytes_, key(rank, round));
        std::copy(bytes.begin(), bytes.end(), where);
    }
    void check_block(const std::byte* where, std::size_t rank, std::uint64_t round, const std::string& what) const {
        check_pattern(where, bytes_, key(rank, round), fmt::format("{}, round {}, block of rank {}", what, round, rank));
    }

    const Communicator& communicator_;
    bool scatters_;
    std::uint64_t bytes_;
    int root_;
    bool in_place_;
    std::vector<std::byte> own_, all_;
};

Random own_random(const Scene& scene, std::uint64_t seed) { return Random(seed * 1009 + static_cast<std::uint64_t>(scene.rank)); }

void delay(Random& own, std::uint64_t most) {
    if (most && own() % 2) sleep_us(static_cast<std::int64_t>(own() % most));
}

constexpr Predictor kPredictors[] = {Predictor::edge_linear, Predictor::last, Predictor::moving_average, Predictor::exponential};

// What a rank may say about its phase: the truth, nothing, half of it, nonsense.
void compute(Plan& plan, Random& own, std::uint64_t most) {
    const std::uint64_t what = own() % 6;
    if (what == 0) return delay(own, most);  // no phase at all
    plan.begin();
    delay(own, most);
    switch (what) {
        case 1: plan.edge(0.5); break;
        case 2: plan.edge(0.001); break;  // far too late
        case 3:
            for (int i = 1; i <= 4; ++i) {
                plan.edge(0.25 * i);
                delay(own, most / 4);
            }
            break;
        case 4: plan.edge(1); break;  // too early
        default: break;               // no edge
    }
    delay(own, most);
}

}  // namespace

// Words: scatter|gather, algorithm, seed. All roots, sizes around thresholds, in place and not.
ROLLCALL_SCENARIO(blocks) {
    const bool scatters = scene.word(0) == "scatter";
    const std::string algorithm = scene.word(1);
    Random own = own_random(scene, static_cast<std::uint64_t>(scene.number(2, 1)));
    std::uint64_t round = 0;
    for (const std::uint64_t bytes : {0, 1, 8, 100, 8191, 8192, 8193, 65'541})
        for (int root = 0; root < scene.size; ++root) {
            Blocks buffers(scene.world, scatters, bytes, root, round % 3 == 0);
            buffers.fill(++round);
            delay(own, 300);
            buffers.call({.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
            buffers.check_result(round, algorithm);
        }
    for (const std::uint64_t segment : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{1} << 40}) {
        Blocks buffers(scene.world, scatters, 20'000, static_cast<int>(round % static_cast<std::uint64_t>(scene.size)), false);
        buffers.fill(++round);
        buffers.call({.algorithm = algorithm, .segment_bytes = segment, .timeout = {}});
        buffers.check_result(round, algorithm + " in segments");
    }
    Blocks large(scene.world, scatters, (1 << 20) + 3, scene.size - 1, true);
    large.fill(++round);
    CallRecord record;
    large.call({.algorithm = algorithm, .segment_bytes = {}, .timeout = {}, .record = &record});
    large.check_result(round, algorithm);
    check(record.arrival > 0 && record.exit >= record.arrival && record.predicted == 0, "the record is not in order");
}

// Several under way at once, of different algorithms, ended in any order. Words: scatter|gather, algorithms...
ROLLCALL_SCENARIO(started_blocks) {
    const bool scatters = scene.word(0) == "scatter";
    const std::vector<std::string> algorithms(scene.words.begin() + 1, scene.words.end());
    for (std::uint64_t round = 0; round < 5; ++round) {
        std::vector<std::unique_ptr<Blocks>> buffers;
        std::vector<Request> requests;
        for (std::size_t i = 0; i < algorithms.size(); ++i) {
            buffers.push_back(
                std::make_unique<Blocks>(scene.world, scatters, i % 2 ? 30'000 : 100, static_cast<int>(i) % scene.size, false));
            buffers.back()->fill(round);
            requests.push_back(buffers.back()->start({.algorithm = algorithms[i], .segment_bytes = {}, .timeout = {}}));
        }
        if (scene.rank % 2) std::reverse(requests.begin(), requests.end());
        Request::wait_all(requests);
        for (std::size_t i = 0; i < algorithms.size(); ++i) buffers[i]->check_result(round, algorithms[i]);
    }
}

// Iterations of one plan, back to back, with phases that tell the truth, lies, or nothing; buffers are poisoned between.
// Words: scatter|gather, algorithm, iterations, seed, greatest sleep in us.
ROLLCALL_SCENARIO(plans) {
    const bool scatters = scene.word(0) == "scatter";
    const std::string algorithm = scene.word(1);
    const std::uint64_t seed = static_cast<std::uint64_t>(scene.number(3, 1));
    Random same(seed);
    Random own = own_random(scene, seed);
    const auto most = static_cast<std::uint64_t>(scene.number(4, 300));
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{40}, std::uint64_t{20'000}, std::uint64_t{300'000}}) {
        const int root = static_cast<int>(same() % static_cast<std::uint64_t>(scene.size));
        Blocks buffers(scene.world, scatters, bytes, root, same() % 2 == 0);
        Plan plan = buffers.plan({.algorithm = algorithm, .segment_bytes = {}, .timeout = {}, .predictor = kPredictors[own() % 4]});
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
    Blocks down(scene.world, true, 5000, 0, false), up(scene.world, false, 7000, scene.size - 1, false);
    Plan scatter = down.plan({.algorithm = "background_sorted_linear", .segment_bytes = {}, .timeout = {}});
    Plan gather = up.plan({.algorithm = "background_sorted_linear_synchronized", .segment_bytes = {}, .timeout = {}});
    for (std::uint64_t round = 0; round < 30; ++round) {
        down.fill(round);
        up.fill(round);
        // Hints come in any order; the calls must only not wait for each other in a circle: both are started, then waited for.
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

// Where the board has room for the world only, a plan says that it tells no predictions.
ROLLCALL_SCENARIO(plan_without_slots) {
    int value = scene.rank;
    std::vector<int> all(static_cast<std::size_t>(scene.size));
    Plan plan = scene.world.plan_gather(&value, all.data(), sizeof value, 0);
    check(plan.explanation().find("ROLLCALL_BOARD_SLOTS") != std::string::npos, "it says '{}'", plan.explanation());
    plan.run();
}

// What a plan refuses, and what it says.
ROLLCALL_SCENARIO(plan_misuse) {
    std::vector<int> block(10, scene.rank), all(static_cast<std::size_t>(10 * scene.size));
    Plan null;
    expect_error(ErrorCode::state, "a null plan", [&] { null.run(); });
    expect_error(ErrorCode::invalid_argument, "a root out of range", [&] { scene.world.plan_gather(std::span(block), all, scene.size); });
    expect_error(ErrorCode::invalid_argument, "an unknown algorithm",
                 [&] { scene.world.plan_gather(std::span(block), all, 0, {.algorithm = "quick", .segment_bytes = {}, .timeout = {}}); });
    if (scene.rank == 0)
        expect_error(ErrorCode::invalid_argument, "data of a wrong size",
                     [&] { scene.world.plan_gather(std::span(block), std::span(all).subspan(1), 0); });
    Plan plan = scene.world.plan_gather(std::span(block), all, 0);
    expect_error(ErrorCode::state, "an edge outside of a phase", [&] { plan.edge(0.5); });
    expect_error(ErrorCode::state, "wait before start", [&] { plan.wait(); });
    expect_error(ErrorCode::state, "test before start", [&] { plan.test(); });
    plan.begin();
    expect_error(ErrorCode::state, "a second begin", [&] { plan.begin(); });
    for (const double fraction : {0.0, -1.0, 1.5, std::nan("")})
        expect_error(ErrorCode::invalid_argument, "a fraction that is none", [&] { plan.edge(fraction); });
    plan.edge(0.5);
    plan.start();
    expect_error(ErrorCode::state, "a second start", [&] { plan.start(); });
    expect_error(ErrorCode::state, "an edge after the phase", [&] { plan.edge(0.7); });
    plan.wait();
    check(plan.record().predicted > 0, "nothing was predicted");
    if (scene.rank == 0)
        for (std::size_t i = 0; i < all.size(); ++i) check(all[i] == static_cast<int>(i / 10), "element {} is {}", i, all[i]);
    // Different plans are told, both named, on all ranks.
    if (scene.size > 1) {
        const Error error = expect_error(ErrorCode::mismatch, "plans that differ", [&] {
            scene.world.plan_gather(block.data(), all.data(), scene.rank == scene.size - 1 ? 36 : 40, 0);
        });
        const std::string what = error.what();
        check(what.find("40 bytes") != std::string::npos && what.find("36 bytes") != std::string::npos, "it says '{}'", what);
    }
    scene.world.barrier();
}

// One rank stops after a few iterations and lets its plan go; the others go on, and are told who is missing.
// Words: scatter|gather, algorithm.
ROLLCALL_SCENARIO(left_plan) {
    const int leaver = scene.size - 1;
    Blocks buffers(scene.world, scene.word(0) == "scatter", 100'000, leaver, false);
    Plan plan = buffers.plan({.algorithm = scene.word(1), .segment_bytes = {}, .timeout = std::chrono::seconds(20)});
    for (int round = 0; round < 3; ++round) {
        buffers.fill(1);
        plan.run();
        buffers.check_result(1, "before it leaves");
    }
    if (scene.rank == leaver) {
        plan = {};
    } else {
        // A rank whose part needs nobody's answer may get through an iteration or two.
        const Error error = expect_error(ErrorCode::state, "iterations without one rank", [&] {
            for (int round = 0; round < 100; ++round) plan.run();
        });
        check(std::string(error.what()).find(fmt::format("rank {}", leaver)) != std::string::npos, "it says '{}'", error.what());
    }
    scene.world.barrier();
}

// A plan is dropped in mid-phase: by all, then by one rank. Words: scatter|gather, algorithm.
ROLLCALL_SCENARIO(dropped_plan) {
    const bool scatters = scene.word(0) == "scatter";
    for (int victim = 0; victim < scene.size; ++victim)
        for (const bool all : {true, false}) {
            Blocks buffers(scene.world, scatters, 100'000, 0, false);
            Plan plan = buffers.plan({.algorithm = scene.word(1), .segment_bytes = {}, .timeout = std::chrono::seconds(20)});
            buffers.fill(1);
            plan.begin();
            if (scene.rank % 2) plan.edge(0.5);
            if (all || scene.rank == victim) {
                sleep_us(500);
                plan = {};
                buffers.poison();
            } else {
                // Its part may have been done without the victim; if not, it is told why.
                try {
                    plan.run();
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
