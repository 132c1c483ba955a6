/// \file
/// Scenarios of what plans refuse, and of what they report about themselves.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/process/ranks/collectives.hpp"

namespace rollcall::test {

// Where the board has room for the world only, a plan reports that it does not share predictions, and chooses as if there were no board.
ROLLCALL_SCENARIO(plan_without_slots) {
    int value = scene.rank;
    std::vector<int> all(static_cast<std::size_t>(scene.size));
    Plan plan = scene.world.plan_gather(value, all, 0);
    check(plan.explanation().find("ROLLCALL_BOARD_SLOTS") != std::string::npos, "it says '{}'", plan.explanation());
    plan.run();
    Plan barrier = scene.world.plan_barrier();
    check(barrier.explanation().find("board_") == std::string::npos, "it says '{}'", barrier.explanation());
    barrier.run();
}

// Without node memory, `auto` chooses other algorithms for plans than for calls, also where the blocks have different sizes.
ROLLCALL_SCENARIO(plan_of_blocks_is_planned) {
    constexpr std::uint64_t kBytes = 100'000;
    const auto ranks = static_cast<std::size_t>(scene.size);
    const auto block = pattern(kBytes, static_cast<std::uint64_t>(scene.rank));
    std::vector<std::byte> all(kBytes * ranks);
    const std::vector<std::uint64_t> sizes(ranks, kBytes);
    const auto algorithm = [](const Plan& plan) {
        const std::string& text = plan.explanation();
        const auto from = text.find(": "), to = text.find(", because");
        check(from < to && to != std::string::npos, "it says '{}'", text);
        return text.substr(from + 2, to - from - 2);
    };
    const Plan equal = scene.world.plan_gather(block.data(), all.data(), kBytes, 0);
    Plan of_blocks = scene.world.plan_gather(block.data(), kBytes, all.data(), Blocks(sizes), 0);
    check(algorithm(of_blocks) == algorithm(equal), "{}, and for equal blocks {}", of_blocks.explanation(), equal.explanation());
    of_blocks.run();
    for (std::size_t rank = 0; scene.rank == 0 && rank < ranks; ++rank)
        check_pattern(all.data() + rank * kBytes, kBytes, rank, "a planned gather of blocks");
}

// A plan of an algorithm that has no use for hints is like a call: a rank whose phase has begun passes broadcasts on before it arrives. So
// the others end all of their iterations before that. Words: algorithm, how many iterations.
ROLLCALL_SCENARIO(begun_plan_passes_on) {
    constexpr std::uint64_t kBytes = 1 << 20;
    const int late = 1, iterations = scene.number(1, 3);
    std::vector<std::byte> data(kBytes);
    const std::string algorithm = scene.word(0);
    const PlanOptions how{.algorithm = algorithm, .segment_bytes = 32 << 10, .timeout = std::chrono::seconds(60)};
    Plan plan = scene.world.plan_broadcast(std::span(data), 0, how);
    for (int iteration = 0; iteration < iterations; ++iteration) {
        std::fill(data.begin(), data.end(), std::byte{0});
        plan.begin();
        if (scene.rank % 2) plan.edge(0.5);
        // Waits until all others have ended all of their iterations.
        for (int rank = 0; iteration == 0 && scene.rank == late && rank < scene.size; ++rank) {
            int word = 0;
            if (rank != late) scene.world.receive(word, rank, 4);
        }
        const auto key = static_cast<std::uint64_t>(iteration) + 100;
        if (scene.rank == 0) std::ranges::copy(pattern(kBytes, key), data.begin());
        plan.run();
        check_pattern(data.data(), kBytes, key, "a planned broadcast");
        check(plan.record().arrival > 0 && plan.record().exit >= plan.record().arrival, "the record is not in order");
    }
    if (scene.rank != late) scene.world.send(scene.rank, late, 4);
    scene.world.barrier();
}

// Tests what a plan refuses, and what it reports about itself.
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
    // Each error names the planned call.
    const auto refused = [&](ErrorCode code, const char* what, const std::function<void()>& call) {
        const Error error = expect_error(code, what, call);
        check(says(error, " of gather(root=0, 40 bytes) on world"), "{} says '{}'", what, error.what());
    };
    refused(ErrorCode::state, "an edge outside of a phase", [&] { plan.edge(0.5); });
    refused(ErrorCode::state, "wait before start", [&] { plan.wait(); });
    refused(ErrorCode::state, "test before start", [&] { plan.test(); });
    plan.begin();
    refused(ErrorCode::state, "a second begin", [&] { plan.begin(); });
    for (const double fraction : {0.0, -1.0, 1.5, std::nan("")})
        refused(ErrorCode::invalid_argument, "a fraction that is none", [&] { plan.edge(fraction); });
    plan.edge(0.5);
    plan.start();
    refused(ErrorCode::state, "a second start", [&] { plan.start(); });
    refused(ErrorCode::state, "an edge after the phase", [&] { plan.edge(0.7); });
    plan.wait();
    check(plan.record().predicted > 0, "nothing was predicted");
    if (scene.rank == 0)
        for (std::size_t i = 0; i < all.size(); ++i) check(all[i] == static_cast<int>(i / 10), "element {} is {}", i, all[i]);
    // Different plans are reported on all ranks, with both names.
    if (scene.size > 1) {
        const Error error = expect_error(ErrorCode::mismatch, "plans that differ", [&] {
            scene.world.plan_gather(static_cast<void*>(block.data()), static_cast<void*>(all.data()),
                                    scene.rank == scene.size - 1 ? 36 : 40, 0);
        });
        const std::string what = error.what();
        check(what.find("40 bytes") != std::string::npos && what.find("36 bytes") != std::string::npos, "it says '{}'", what);
    }
    scene.world.barrier();
}

}  // namespace rollcall::test
