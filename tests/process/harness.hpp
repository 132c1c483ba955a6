/// \file
/// For the drivers: starts `rollcall run` with a rank program, collects its output, and checks that nothing remains.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "tests/common.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::test {

using Words = std::vector<std::string>;

/// How a job ended.
struct Ended {
    int code = -1;  ///< As a shell gives it. -1: it had to be killed.
    std::string out;
    std::string error;
    std::chrono::milliseconds took{0};
};

struct JobOptions {
    Words environment;           ///< "NAME=VALUE"
    Words launcher;              ///< Further arguments for `rollcall run`.
    std::string limit = "120s";  ///< The launcher ends the job after this. No good job comes near it.
    Words starter = {};          ///< Replaces `rollcall run ...`. It must pass its environment on.
};

/// The bound for "within a second" on a busy machine under a sanitizer. Only a hang, or a transport's own timeout (20 s and more), takes
/// longer.
inline constexpr int kToldWithinMilliseconds = 10'000;

/// A seed for the random numbers of a scenario, as one of its words.
inline std::string a_seed() { return std::to_string(seed() % 1'000'000'000); }
/// A job whose ranks have these variables, too.
inline JobOptions with(Words environment) { return {.environment = std::move(environment), .launcher = {}}; }

/// Runs `rollcall run -n ranks <ranks program> scenarios...` and waits for its end. For every job, it expects that afterwards no process of
/// the job and no new entry of this user in /dev/shm is left. Any thread may call it.
Ended run_ranks(int ranks, const Words& scenarios, const JobOptions& options = {});

/// Does the same, and expects that every rank succeeds.
void expect_success(int ranks, const Words& scenarios, const JobOptions& options = {});

Words lines_with(const std::string& text, const std::string& part);

/// Returns the numbers of ranks with which every scenario is run. Under a sanitizer fewer are enough, because it looks at code. Tests that
/// have such a number as their parameter run with 1, 2, 3 and 8 ranks, and over tcp with 5 (CMakeLists.txt): the tests in virtual
/// time run every algorithm with every small number.
inline std::vector<int> rank_counts() {
    if (kSlower > 1) return {1, 3};
    return {1, 2, 3, 5, 8};
}

}  // namespace rollcall::test
