/// \file
/// Transfers that are given up while all ranks are well. No connection is lost by it, and everything after it works. ranks/giving_up.cpp
/// says what each scenario checks.
#include <algorithm>

#include <fmt/format.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

// A large message then waits at its sender.
const std::string kNoLanding = "ROLLCALL_LANDING_BYTES=1Mi";

std::string with_underscores(std::string text) {
    std::replace(text.begin(), text.end(), ':', '_');
    return text;
}

// What the other side does meanwhile: it progresses without calling (present), it does not progress (computing), or it is stopped. The ways
// in which a transfer is given up follow each other in one job.
struct Meanwhile {
    const char* what;
    Words ways;
    friend void PrintTo(const Meanwhile& meanwhile, std::ostream* stream) { *stream << meanwhile.what; }
};

Words scenarios(const std::string& name, const Meanwhile& meanwhile) {
    Words all;
    for (const std::string& way : meanwhile.ways) all.push_back(fmt::format("{}:{}:{}", name, way, meanwhile.what));
    return all;
}

class GivenUp : public testing::TestWithParam<Meanwhile> {};
INSTANTIATE_TEST_SUITE_P(Send, GivenUp,
                         testing::Values(Meanwhile{"present", {"deadline", "dropped"}},
                                         Meanwhile{"computing", {"deadline", "dropped", "assigned", "wait_all"}},
                                         Meanwhile{"stopped", {"deadline", "dropped"}}),
                         [](const auto& tested) { return std::string(tested.param.what); });

TEST_P(GivenUp, CutsNobodyOff) {
    const Words all = scenarios("send_given_up", GetParam());
    // With three ranks, one rank has no part in the transfer.
    for (const int ranks : {2, 3}) expect_success(ranks, all, with({kNoLanding}));
    expect_success(2, all, with({"ROLLCALL_LANDING_BYTES=0"}));
}

class OnItsWay : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Receive, OnItsWay, testing::Values("deadline:asked", "dropped:asked", "deadline:moving", "dropped:moving"),
                         [](const auto& tested) { return with_underscores(tested.param); });

TEST_P(OnItsWay, IsGivenUpAndCutsNobodyOff) {
    for (const int ranks : {2, 3}) expect_success(ranks, {"receive_given_up:" + GetParam()}, with({kNoLanding}));
}

class Broadcast : public testing::TestWithParam<Meanwhile> {};
INSTANTIATE_TEST_SUITE_P(GivenUp, Broadcast,
                         testing::Values(Meanwhile{"present", {"linear", "pipelined"}}, Meanwhile{"computing", {"linear", "pipelined"}},
                                         Meanwhile{"stopped", {"linear"}}),
                         [](const auto& tested) { return std::string(tested.param.what); });

TEST_P(Broadcast, BreaksItsCommunicatorOnly) {
    for (const int ranks : {2, 3}) expect_success(ranks, scenarios("broadcast_given_up", GetParam()), with({kNoLanding}));
}

TEST(GivingUp, IsKnownToARankThatGetsALaterMessage) {
    // Where nothing looks for messages meanwhile, both are there at the same time.
    for (const int ranks : {2, 3}) expect_success(ranks, {"told_before_a_message"}, with({"ROLLCALL_PROGRESS=host"}));
    expect_success(3, {"told_before_a_message"});
}

TEST(GivingUp, ManyTogetherTakesNoLongerThanOne) {
    for (const std::string how : {"deadline:present", "deadline:computing", "dropped:computing"})
        expect_success(6, {"all_given_up:" + how}, with({kNoLanding}));
}

TEST(GivingUp, InAStormAllStayWell) {
    const auto first = seed() % 1'000'000;
    for (const int ranks : {2, 4}) {
        expect_success(ranks, {fmt::format("storm_of_giving_up:{}:{}", 20 / kSlower, first)});
        expect_success(ranks, {fmt::format("storm_of_giving_up:{}:{}", 20 / kSlower, first + 1)}, with({"ROLLCALL_LANDING_BYTES=0"}));
    }
}

}  // namespace
}  // namespace rollcall::test
