// Tests the list of ended requests: its order, additions by several threads, and when a waiting thread is woken.
#include "runtime/lane/ended.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace rollcall::runtime {
namespace {

struct Numbered final : Ended::Entry {
    Numbered(Ended& list, int its_number) : Ended::Entry(list), number(its_number) {}
    int number;
};

int number_of(Ended::Entry* entry) { return entry ? static_cast<Numbered*>(entry)->number : -1; }

TEST(EndedList, GivesInTheOrderOfTheEnds) {
    Ended list;
    std::vector<std::unique_ptr<Numbered>> entries;
    for (int i = 0; i < 7; ++i) entries.push_back(std::make_unique<Numbered>(list, i));
    EXPECT_EQ(number_of(list.take()), -1);
    for (const int i : {3, 1, 4}) entries[static_cast<std::size_t>(i)]->ended();
    EXPECT_EQ(number_of(list.take()), 3);
    for (const int i : {0, 6}) entries[static_cast<std::size_t>(i)]->ended();
    for (const int i : {1, 4, 0, 6, -1}) EXPECT_EQ(number_of(list.take()), i);
    entries[5]->ended();
    EXPECT_EQ(number_of(list.take()), 5);
}

TEST(EndedList, CallsForWhatHasEndedAndForEarlierDeadlines) {
    Ended list;
    Numbered entry(list, 1);
    EXPECT_FALSE((Ended::Wait{list, kNever}.done()));
    list.look_at(100);
    EXPECT_TRUE((Ended::Wait{list, kNever}.done()));
    EXPECT_TRUE((Ended::Wait{list, 101}.done()));
    EXPECT_FALSE((Ended::Wait{list, 100}.done()));
    entry.ended();
    EXPECT_TRUE((Ended::Wait{list, 0}.done()));
    EXPECT_EQ(list.take(), &entry);
    EXPECT_FALSE((Ended::Wait{list, 0}.done()));
}

TEST(EndedList, LosesNothingThatThreadsAdd) {
    constexpr int kThreads = 3, kEach = 20'000;
    Ended list;
    std::vector<std::unique_ptr<Numbered>> entries;
    for (int i = 0; i < kThreads * kEach; ++i) entries.push_back(std::make_unique<Numbered>(list, i));
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread)
        threads.emplace_back([&, thread] {
            for (int i = 0; i < kEach; ++i) entries[static_cast<std::size_t>(thread * kEach + i)]->ended();
        });
    std::vector<int> next(kThreads, 0);  // of each thread, in its order
    for (int left = kThreads * kEach; left > 0;) {
        const int number = number_of(list.take());
        if (number < 0) {
            std::this_thread::yield();
            continue;
        }
        --left;
        EXPECT_EQ(number % kEach, next[static_cast<std::size_t>(number / kEach)]++);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(list.take(), nullptr);
}

}  // namespace
}  // namespace rollcall::runtime
