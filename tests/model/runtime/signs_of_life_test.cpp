// For which ranks an engine asks for signs of life while it waits, and what it does when there are none.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/engine/lifelines.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::Simulation;

// Assigns hosts to ranks as the test says.
struct Signs final : runtime::SignsOfLife {
    Look look(Nanoseconds now, std::span<const int> awaited) override {
        asked.assign(awaited.begin(), awaited.end());
        std::sort(asked.begin(), asked.end());
        asked.erase(std::unique(asked.begin(), asked.end()), asked.end());
        return {awaited.empty() ? kNever : now + kSecond, std::exchange(silent, {})};
    }
    std::vector<int> asked;
    std::vector<Silence> silent;
};

class SignsOfLife : public testing::Test {
  protected:
    SignsOfLife() : simulation_(options()), messages_(simulation_) { engine().set_signs_of_life(&signs_); }
    static Simulation::Options options() {
        Simulation::Options options;
        options.ranks = 5;
        options.landing_longest = 100;  // A longer message waits for its receiver.
        return options;
    }
    runtime::Engine& engine() { return simulation_.engine(0); }
    // Lets time pass until the engine has something to do.
    const std::vector<int>& look() {
        signs_.asked = {-1};
        EXPECT_NE(engine().due(), kNever);
        engine().tick(engine().due());
        return signs_.asked;
    }

    Simulation simulation_;
    Messages messages_;
    Signs signs_;
};

TEST_F(SignsOfLife, AreAskedOfThoseWhoAreWaitedFor) {
    EXPECT_EQ(engine().due(), kNever);
    messages_.receive(0, 2, 7, 8, 0);
    messages_.receive(0, 2, 8, 8, 0);
    messages_.receive(0, 4, 7, 1000, 0);
    messages_.send(0, 1, 7, 1000, 1, 0);  // It waits for its receiver.
    messages_.send(0, 3, 7, 8, 1, 0);     // It does not wait.
    simulation_.network().run();
    EXPECT_EQ(look(), (std::vector{1, 2, 4}));
    EXPECT_EQ(look(), (std::vector{1, 2, 4}));
    messages_.send(2, 0, 7, 8, 1, 0);
    messages_.send(2, 0, 8, 8, 1, 0);
    messages_.receive(1, 0, 7, 1000, 0);
    simulation_.network().run();
    EXPECT_EQ(look(), std::vector{4});
    messages_.send(4, 0, 7, 1000, 1, 0);
    simulation_.network().run();
    EXPECT_EQ(look(), std::vector<int>());
    EXPECT_EQ(engine().due(), kNever);
}

// A program may only look for messages, and not wait for any.
TEST_F(SignsOfLife, AreAskedOfThoseWhoseMessagesAreLookedFor) {
    const auto look_for_message = [&](int from) { return engine().size_of_next({1, 0, 7, from}); };
    messages_.send(3, 0, 7, 8, 1, 0);
    simulation_.network().run();
    for (int again = 0; again < 3; ++again) EXPECT_FALSE(look_for_message(2));
    EXPECT_TRUE(look_for_message(3));
    for (int seconds = 0; seconds <= 2; ++seconds) EXPECT_EQ(look(), std::vector{2});
    EXPECT_EQ(look(), std::vector<int>()) << "it has not looked for 2 s";
    EXPECT_EQ(engine().due(), kNever);
    EXPECT_FALSE(look_for_message(2));
    signs_.silent.push_back({{2}, "has not answered"});
    engine().tick(engine().due());
    engine().tick(engine().due());
    EXPECT_THROW(look_for_message(2), Error);
}

TEST_F(SignsOfLife, ThatAreNotThereFailWhatWaitsAndAllRanksOfTheHost) {
    runtime::Transfer& receive = messages_.receive(0, 2, 7, 8, 0);
    runtime::Transfer& other = messages_.receive(0, 1, 7, 8, 0);
    simulation_.network().run();
    signs_.silent.push_back({{2, 3}, "has not answered"});
    look();
    const Nanoseconds certain = simulation_.network().now() + kSecond / 2;
    EXPECT_EQ(engine().due(), certain) << "a rank is suspected for half a second";
    engine().tick(certain - 1);
    EXPECT_FALSE(receive.done());
    engine().tick(certain);
    ASSERT_TRUE(receive.done());
    ASSERT_NE(receive.error(), nullptr);
    EXPECT_EQ(receive.error()->code(), ErrorCode::peer_failed);
    EXPECT_EQ(receive.error()->failed_rank(), 2);
    EXPECT_STREQ(receive.error()->what(), "rank 2 has not answered");
    EXPECT_FALSE(other.done());
    runtime::Transfer& later = messages_.send(0, 3, 7, 8, 1, 0);
    simulation_.network().run();
    ASSERT_TRUE(later.done());
    ASSERT_NE(later.error(), nullptr);
    EXPECT_STREQ(later.error()->what(), "rank 3 has not answered");
    messages_.send(1, 0, 7, 8, 1, 0);
    simulation_.network().run();
    EXPECT_TRUE(Messages::holds(other, 8, 1));
}

}  // namespace
}  // namespace rollcall::model_test
