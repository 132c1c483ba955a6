/// \file
/// Prediction of arrivals from compute phases.
#include "runtime/arrivals/prediction.hpp"

#include <gtest/gtest.h>

namespace rollcall::runtime {
namespace {

// A phase of this length with an edge half way that comes at `edge`; returns what was predicted at its end.
Nanoseconds phase(ArrivalPredictor& predictor, Nanoseconds begin, Nanoseconds edge, Nanoseconds end) {
    predictor.begin(begin);
    predictor.edge(0.5, edge);
    predictor.end(end);
    return predictor.predicted();
}

TEST(ArrivalPredictor, EdgeLinearGoesThroughTheEdge) {
    ArrivalPredictor predictor(Predictor::edge_linear);
    EXPECT_FALSE(predictor.in_phase());
    predictor.begin(10);
    EXPECT_TRUE(predictor.in_phase());
    EXPECT_EQ(predictor.predicted(), kUnknownTime);
    predictor.edge(0.5, 16);
    EXPECT_EQ(predictor.predicted(), 22);
    predictor.edge(0.9, 100);  // a later edge knows better
    EXPECT_EQ(predictor.predicted(), 110);
    predictor.edge(1, 120);
    EXPECT_EQ(predictor.predicted(), 120);
    predictor.end(121);
    EXPECT_FALSE(predictor.in_phase());
    EXPECT_EQ(predictor.predicted(), 120);
    predictor.begin(200);  // it does not learn from earlier phases
    EXPECT_EQ(predictor.predicted(), kUnknownTime);
}

TEST(ArrivalPredictor, WithoutAPhaseToLearnFromAnEdgeCounts) {
    for (const Predictor kind : {Predictor::last, Predictor::moving_average, Predictor::exponential}) {
        ArrivalPredictor predictor(kind);
        predictor.begin(1000);
        EXPECT_EQ(predictor.predicted(), kUnknownTime);
        predictor.edge(0.25, 1010);
        EXPECT_EQ(predictor.predicted(), 1040);
        predictor.end(1050);
        predictor.begin(2000);
        EXPECT_EQ(predictor.predicted(), 2050);  // from then on it is known at the beginning
        predictor.edge(0.5, 2500);
        EXPECT_EQ(predictor.predicted(), 2050);
    }
}

TEST(ArrivalPredictor, LastIsTheLastPhase) {
    ArrivalPredictor predictor(Predictor::last);
    phase(predictor, 0, 50, 100);
    EXPECT_EQ(phase(predictor, 1000, 1150, 1300), 1100);
    EXPECT_EQ(phase(predictor, 2000, 2050, 2100), 2300);
}

TEST(ArrivalPredictor, MovingAverageIsOverTheLastEight) {
    ArrivalPredictor predictor(Predictor::moving_average);
    Nanoseconds now = 0;
    for (Nanoseconds duration = 10; duration <= 100; duration += 10) {  // 10, 20, ..., 100: the last eight are 30 to 100
        const Nanoseconds expected = duration == 10 ? 20 : now + (duration <= 90 ? duration / 2 : (20 + 90) / 2);
        EXPECT_EQ(phase(predictor, now, now + 10, now + duration), expected) << duration;
        now += 1000;
    }
    predictor.begin(now);
    EXPECT_EQ(predictor.predicted(), now + (30 + 100) / 2);
}

TEST(ArrivalPredictor, AnEdgeNearTheBeginningIsFarFromTheEnd) {
    ArrivalPredictor predictor(Predictor::edge_linear);
    predictor.begin(1000);
    predictor.edge(1e-18, 2000);
    EXPECT_EQ(predictor.predicted(), 1000 + 1'000'000'000'000'000'000);
}

TEST(ArrivalPredictor, ExponentialGivesTheNewestAQuarter) {
    ArrivalPredictor predictor(Predictor::exponential);
    phase(predictor, 0, 50, 100);
    EXPECT_EQ(phase(predictor, 1000, 1050, 1200), 1100);  // learned 100
    EXPECT_EQ(phase(predictor, 2000, 2050, 2100), 2125);  // 100 + (200 - 100) / 4
    EXPECT_EQ(phase(predictor, 3000, 3050, 3100), 3119);  // 125 + (100 - 125) / 4 = 118.75
}

}  // namespace
}  // namespace rollcall::runtime
