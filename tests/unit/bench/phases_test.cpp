// Compute phases: the words that ask for them, and when they have their middle and their end.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "bench/cases/phases.hpp"
#include "bench/results/statistics.hpp"
#include "runtime/arrivals/prediction.hpp"
#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

PhaseWords words(std::optional<std::string> compute) {
    PhaseWords made;
    made.compute = std::move(compute);
    return made;
}

Phases computing(Nanoseconds compute) {
    Phases phases;
    phases.compute = compute;
    return phases;
}

std::string refusal(const PhaseWords& words) {
    try {
        checked(words);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.what();
    }
    ADD_FAILURE() << "wrong words were taken";
    return {};
}

TEST(BenchPhases, AreOffUnlessAskedFor) {
    EXPECT_FALSE(checked(PhaseWords{}));
    EXPECT_FALSE(checked(words("off"), "100ms"));
    const auto by_default = checked(PhaseWords{}, "100ms");
    ASSERT_TRUE(by_default);
    EXPECT_EQ(by_default->compute, 100 * kMillisecond);
    EXPECT_EQ(by_default->predictor, Predictor::edge_linear);
    EXPECT_TRUE(by_default->edge);
    EXPECT_EQ(checked(words("0"))->compute, 0);
}

TEST(BenchPhases, WordsAreCheckedAndWhatIsAllowedIsListed) {
    EXPECT_NE(refusal(words("long")).find("--compute 'long'; allowed: "), std::string::npos);
    PhaseWords given = words("1ms");
    given.noise = "2.5%";
    EXPECT_EQ(checked(given)->notes().back(), std::pair(std::string("prediction_noise"), std::string("2.5%")));
    // The noise moves the edge, which only edge_linear always uses.
    given.no_edge = true;
    EXPECT_NE(refusal(given).find("--prediction-noise with --no-edge"), std::string::npos);
    given.no_edge = false;
    given.predictor = "moving_average";
    EXPECT_NE(refusal(given).find("another --predictor; allowed: with edge_linear"), std::string::npos);
    given.noise = "0%";
    given.no_edge = true;
    const auto phases = checked(given);
    EXPECT_EQ(phases->predictor, Predictor::moving_average);
    EXPECT_EQ(phases->notes(),
              (decltype(phases->notes()){{"compute", "1ms"}, {"predictor", "moving_average (no edge)"}, {"prediction_noise", "0%"}}));
    EXPECT_FALSE(phases->edge);
    given.predictor = "oracle";
    EXPECT_NE(refusal(given).find("'oracle'; allowed: edge_linear, last, moving_average, exponential"), std::string::npos);
    given.predictor = "last";
    for (const char* wrong : {"5", "%", "-1%", "101%", "5%%", "nan%", ""}) {
        given.noise = wrong;
        EXPECT_NE(refusal(given).find("allowed: 0% to 100%"), std::string::npos) << wrong;
    }
    given = PhaseWords{};
    given.no_edge = true;
    EXPECT_NE(refusal(given).find("with --compute"), std::string::npos);
}

TEST(BenchPhases, EndAfterBothHalves) {
    // Fig. 13: twice 100 ms + x/2.
    const Phase phase = phase_of(computing(100 * kMillisecond), 30 * kMillisecond, 1);
    EXPECT_EQ(phase.end, 230 * kMillisecond);
    EXPECT_EQ(phase.edge, 115 * kMillisecond);
    EXPECT_EQ(phase_of(computing(3), 1, 1).end, 7) << "an odd delay is not rounded";
    EXPECT_EQ(phase_of({}, 0, 1).end, 0);
}

TEST(BenchPhases, AnEdgeWithoutNoisePredictsTheEnd) {
    for (const Nanoseconds delay : {0, 1, 7, 50'000'000}) {
        const Phase phase = phase_of(computing(100 * kMillisecond), delay, 1);
        runtime::ArrivalPredictor predictor(Predictor::edge_linear);
        predictor.begin(0);
        predictor.edge(kEdge, phase.edge);
        EXPECT_LE(std::abs(predictor.predicted() - phase.end), 1) << delay;
    }
}

TEST(BenchPhases, NoiseIsThatShareOfThePhase) {
    Phases phases = computing(50 * kMillisecond);
    phases.noise_percent = 5;
    std::vector<double> errors;
    for (std::uint64_t iteration = 0; iteration < 2000; ++iteration) {
        const Phase phase = phase_of(phases, 0, noise_key(3, iteration, 2));
        EXPECT_GE(phase.edge, 0);
        EXPECT_LE(phase.edge, phase.end);
        errors.push_back(static_cast<double>(2 * phase.edge - phase.end) / static_cast<double>(phase.end));
    }
    // A normal deviation: 68.3 % within one sigma. The draws are always the same, so nothing here depends on luck.
    EXPECT_NEAR(percentile(errors, 50), 0, 0.005);
    EXPECT_NEAR(percentile(errors, 84.13) - percentile(errors, 15.87), 2 * 0.05, 0.01);
    EXPECT_EQ(phase_of(phases, 0, noise_key(3, 5, 2)).edge, phase_of(phases, 0, noise_key(3, 5, 2)).edge);
    EXPECT_NE(phase_of(phases, 0, noise_key(3, 5, 2)).edge, phase_of(phases, 0, noise_key(3, 5, 1)).edge);
}

TEST(BenchPhases, MuchNoiseStaysInThePhase) {
    Phases phases = computing(kMillisecond);
    phases.noise_percent = 100;
    for (std::uint64_t key = 0; key < 1000; ++key) {
        const Phase phase = phase_of(phases, 3, key);
        EXPECT_GE(phase.edge, 0);
        EXPECT_LE(phase.edge, phase.end);
    }
}

}  // namespace
}  // namespace rollcall::bench
