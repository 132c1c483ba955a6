/// \file
/// Random programs of all operations, in the configurations that move data in different ways. The scenario is in ranks/random_programs.cpp.
/// Its limit is for programs that hang: the last calls of all ranks are printed long before it.
#include <string>

#include <fmt/format.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

// Each program runs for this time, and a bit longer.
constexpr int kMilliseconds = kSanitized ? 100 : 250;

struct Configuration {
    const char* name;
    int ranks, threads;
    Words environment;
};
void PrintTo(const Configuration& configuration, std::ostream* out) { *out << configuration.name; }

class RandomPrograms : public testing::TestWithParam<Configuration> {};

const Configuration kConfigurations[] = {
    {"TwoRanks", 2, 1, {}},
    {"FiveRanks", 5, 1, {}},
    {"EightRanks", 8, 1, {}},
    {"TwoThreads", 3, 2, {}},
    {"ByMessages", 5, 1, {"ROLLCALL_NODE_MEMORY=no"}},
    {"NodesOfTwo", 5, 1, {"ROLLCALL_NODE_RANKS=2"}},
    {"NodesOfThree", 8, 1, {"ROLLCALL_NODE_RANKS=3"}},
    {"LittleLanding", 3, 1, {"ROLLCALL_LANDING_BYTES=300000"}},
    {"LittleLandingByMessages", 5, 1, {"ROLLCALL_LANDING_BYTES=300000", "ROLLCALL_NODE_MEMORY=no"}},
    {"NoLanding", 3, 1, {"ROLLCALL_LANDING_BYTES=0"}},
    {"Asleep", 3, 1, {"ROLLCALL_SPIN=0"}},
    {"HostDriven", 3, 1, {"ROLLCALL_PROGRESS=host"}},
    {"NotDecoupled", 5, 1, {"ROLLCALL_DECOUPLE=no"}},
};
INSTANTIATE_TEST_SUITE_P(In, RandomPrograms, testing::ValuesIn(kConfigurations), [](const auto& tested) { return tested.param.name; });

TEST_P(RandomPrograms, GiveRightResults) {
    const Configuration& configuration = GetParam();
    expect_success(configuration.ranks,
                   {fmt::format("random_program:{}:{}:{}", seed() % 1'000'000'000, kMilliseconds, configuration.threads)},
                   {.environment = configuration.environment, .launcher = {}});
}

}  // namespace
}  // namespace rollcall::test
