/// \file
/// Common time of several hosts. The scenarios are in ranks/clocks.cpp. The hosts are groups of ranks whose clocks are made wrong.
#include <random>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

// A generous bound: where other processes use the cores, messages may be slow. The clocks are at least a hundred times as far apart.
const char* const kBound = "5000";
constexpr int kHosts = 4;

// Returns clocks that are wrong by 0.5 to 10 s and by 10 to 40 ppm, in either direction.
std::string wrong_clocks(std::uint64_t salt, int hosts = kHosts) {
    std::mt19937_64 random(seed() + salt);
    std::string text;
    for (int host = 0; host < hosts; ++host) {
        const auto either = [&](std::uint64_t least, std::uint64_t most) {
            return (random() % 2 ? "-" : "") + std::to_string(least + random() % (most - least));
        };
        text += (host ? "," : "ROLLCALL_TEST_CLOCKS=") + either(500'000'000, 10'000'000'000) + ":" + either(10, 40);
    }
    return text;
}

std::string agree(const char* window = "30") { return std::string("clocks:") + kBound + ":" + window; }

TEST(Clocks, AgreeOnTwoHosts) { expect_success(2, {"own_clocks", agree(), agree("1"), agree("300")}, with({wrong_clocks(1, 2)})); }
TEST(Clocks, AgreeOnHostsOfOneRank) { expect_success(kHosts, {"own_clocks", agree(), agree("1"), agree("300")}, with({wrong_clocks(2)})); }
TEST(Clocks, AgreeOnHostsOfTwoRanks) { expect_success(6, {agree()}, with({wrong_clocks(3, 3)})); }
TEST(Clocks, AgreeInTheBlockingModelAndWithHostDrivenProgress) {
    expect_success(3, {agree()}, with({wrong_clocks(4, 3), "ROLLCALL_LANDING_BYTES=0"}));
    expect_success(3, {agree()}, with({wrong_clocks(5, 3), "ROLLCALL_PROGRESS=host", "ROLLCALL_EAGER_BYTES=0"}));
}
TEST(Clocks, OfOneHostIsItsOwn) {
    expect_success(1, {"one_clock"});
    expect_success(3, {"one_clock"});
}
TEST(Clocks, PlansSynchronizeThoseTheyNeed) {
    expect_success(kHosts, {std::string("clocks_of_plans:") + kBound}, with({wrong_clocks(6)}));
    expect_success(6, {std::string("clocks_of_plans:") + kBound}, with({wrong_clocks(7, 3)}));
}
TEST(Clocks, PutPredictionsOfDifferentHostsInOrder) {
    expect_success(4, {"order_by_clocks"}, with({"ROLLCALL_TEST_CLOCKS=1000000:0,-5000000000:0,500000000:0,7000000000:0"}));
}
TEST(Clocks, ADeathIsTold) {
    const Ended ended = run_ranks(4, {"death_in_synchronization"}, {.environment = {wrong_clocks(8)}, .launcher = {"--grace", "60s"}});
    EXPECT_EQ(ended.code, 7) << ended.out << ended.error;
    EXPECT_EQ(count(ended.out, "wrong"), 0) << ended.out;
}

}  // namespace
}  // namespace rollcall::test
