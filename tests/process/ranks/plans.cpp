/// \file
/// Scenarios of what plans refuse, and of what they report about themselves.
#include <cmath>
#include <string>
#include <vector>

#include "tests/process/ranks/collectives.hpp"

namespace rollcall::test {

// Where the board has room for the world only, a plan reports that it does not share predictions.
ROLLCALL_SCENARIO(plan_without_slots) {
    int value = scene.rank;
    std::vector<int> all(static_cast<std::size_t>(scene.size));
    Plan plan = scene.world.plan_gather(value, all, 0);
    check(plan.explanation().find("ROLLCALL_BOARD_SLOTS") != std::string::npos, "it says '{}'", plan.explanation());
    plan.run();
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
