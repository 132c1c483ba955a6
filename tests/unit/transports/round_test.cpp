#include <gtest/gtest.h>

#include <new>
#include <vector>

#include "transports/ofi/round.hpp"

namespace rollcall::transport::ofi {
namespace {

TEST(Round, AsksAFewRanksAtATime) {
    Round round;
    EXPECT_TRUE(round.is_over());
    round.begin(100);
    std::vector<int> times(100);
    int calls = 0;
    for (; !round.is_over(); ++calls) {
        int asked = 0;
        round.go_on([&](int rank) {
            ++times[static_cast<std::size_t>(rank)];
            asked += rank % 2;
            return rank % 2 == 1;  // the others need not be asked
        });
        EXPECT_LE(asked, Round::kMostAtOnce);
    }
    EXPECT_EQ(calls, (50 + Round::kMostAtOnce - 1) / Round::kMostAtOnce);
    EXPECT_EQ(times, std::vector<int>(100, 1));
}

TEST(Round, BeginsAgainWhereItWas) {
    Round round;
    std::vector<int> asked;
    const auto ask = [&](int rank) {
        asked.push_back(rank);
        return true;
    };
    round.begin(40);
    round.go_on(ask);
    round.begin(40);  // another error
    while (!round.is_over()) round.go_on(ask);
    ASSERT_EQ(asked.size(), 40u + Round::kMostAtOnce);
    for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_EQ(asked[i], static_cast<int>(i % 40));
}

TEST(Round, AsksARankAgainIfThereWasNoMemory) {
    Round round;
    round.begin(3);
    EXPECT_THROW(round.go_on([](int rank) -> bool { return rank == 0 ? true : throw std::bad_alloc(); }), std::bad_alloc);
    std::vector<int> asked;
    round.go_on([&](int rank) {
        asked.push_back(rank);
        return true;
    });
    EXPECT_EQ(asked, (std::vector<int>{1, 2}));
    EXPECT_TRUE(round.is_over());
}

}  // namespace
}  // namespace rollcall::transport::ofi
