/// \file
/// Jobs that are not started by `rollcall run`. Each is skipped, with the reason, where its launcher is not installed.
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

bool is_installed(const std::string& program) {
    std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
    for (std::string directory; std::getline(path, directory, ':');)
        if (std::filesystem::exists(directory + "/" + program)) return true;
    return false;
}

JobOptions by_hydra(int ranks) {
    return {.environment = {}, .launcher = {}, .starter = {"timeout", "100", "mpiexec.hydra", "-n", std::to_string(ranks)}};
}

class Hydra : public testing::Test {
  protected:
    void SetUp() override {
        if (!is_installed("mpiexec.hydra")) GTEST_SKIP() << "mpiexec.hydra is not installed (package mpich)";
    }
};

TEST_F(Hydra, StartsJobsOfSeveralRanks) {
    for (const int ranks : {2, 4})
        expect_success(ranks,
                       {"describes_itself:a launcher that speaks PMI-1", "storm:" + std::to_string(100 / kSlower) + ":1", "splits",
                        "interleaved_plans"},
                       by_hydra(ranks));
}
TEST_F(Hydra, OfOneRankNeedsNoBootstrap) { expect_success(1, {"describes_itself:alone", "storm:20:1"}, by_hydra(1)); }

}  // namespace
}  // namespace rollcall::test
