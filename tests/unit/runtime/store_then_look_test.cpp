// Two threads that write their own word and then look at the other's (the litmus test "store buffering"): they never both miss what the
// other wrote. With a plain store and a plain load that happens, on x86 too: the load is done while the store still waits in the
// store buffer of its core. This file is compiled with optimisation (CMakeLists.txt): without it GCC takes each atomic access as
// sequentially consistent, and the test could not fail.
#include "runtime/lane/store_then_look.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/topology/binding.hpp"

namespace rollcall::runtime {
namespace {

// The threads start each round together and then run freely over its pairs of words: one wait serves for many pairs, and the threads
// come to a pair at nearly the same time.
constexpr std::uint32_t kLitmusRounds = 4'000;
constexpr std::size_t kLitmusPairs = 50;

// Two cache lines for each, because processors fetch lines in pairs.
struct alignas(128) LitmusWord {
    std::atomic<std::uint32_t> round{0};  ///< The last round in which it was written.
};

class Litmus {
  public:
    Litmus() {
        std::array<std::thread, 2> threads;
        for (std::size_t thread = 0; thread < 2; ++thread) threads[thread] = std::thread([this, thread] { run(thread); });
        for (std::thread& thread : threads) thread.join();
    }
    /// The round that the other's word was of when this thread looked at it.
    std::uint32_t saw(std::size_t thread, std::uint32_t round, std::size_t pair) const {
        return saw_[thread][(round - 1) * kLitmusPairs + pair];
    }

  private:
    void run(std::size_t thread) {
        // Two threads on one CPU never miss each other. Where there is only one, or they cannot be bound, nothing is shown.
        if (const Cpus cpus = cpus_of(); cpus.size() > 1) {
            const int cpu = thread == 0 ? cpus.front() : cpus.back();
            static_cast<void>(bind_this_thread(std::span(&cpu, 1)));
        }
        std::vector<std::uint32_t> saw;  // compared at the end, so that the words alone are shared in a round
        saw.reserve(kLitmusRounds * kLitmusPairs);
        for (std::uint32_t round = 1; round <= kLitmusRounds; ++round) {
            start(thread, round);
            for (std::size_t pair = 0; pair < kLitmusPairs; ++pair)
                saw.push_back(store_then_look(words_[thread][pair].round, round, words_[1 - thread][pair].round));
        }
        saw_[thread] = std::move(saw);
    }

    // Waits until the other one has ended the round before.
    void start(std::size_t thread, std::uint32_t round) {
        constexpr int kSpins = 1'000;  // then the other one may need this CPU
        ready_[thread].round.store(round);
        for (int spins = 0; ready_[1 - thread].round.load() < round; ++spins)
            if (spins > kSpins) std::this_thread::yield();
    }

    std::array<std::array<LitmusWord, kLitmusPairs>, 2> words_;
    std::array<LitmusWord, 2> ready_;
    std::array<std::vector<std::uint32_t>, 2> saw_;
};

TEST(StoreThenLook, TwoThreadsNeverMissEachOther) {
    const auto litmus = std::make_unique<Litmus>();
    std::uint64_t both_missed = 0;
    for (std::uint32_t round = 1; round <= kLitmusRounds; ++round)
        for (std::size_t pair = 0; pair < kLitmusPairs; ++pair) {
            bool missed[2];
            for (const std::size_t thread : {0, 1}) {
                const std::uint32_t saw = litmus->saw(thread, round, pair);
                ASSERT_TRUE(saw == round || saw == round - 1) << "in round " << round << " it saw a word of round " << saw;
                missed[thread] = saw != round;
            }
            both_missed += missed[0] && missed[1];
        }
    EXPECT_EQ(both_missed, 0u) << "of " << kLitmusRounds * kLitmusPairs << " pairs";
}

// Words of two types, as the lane has them: a flag and a number.
TEST(StoreThenLook, WritesTheOneAndGivesTheOther) {
    std::atomic<bool> flag{true};
    std::atomic<std::uint64_t> number{7};
    EXPECT_EQ(store_then_look(flag, false, number), 7u);
    EXPECT_FALSE(flag);
    EXPECT_FALSE(store_then_look(number, std::uint64_t{8}, flag));
    EXPECT_EQ(number, 8u);
}

}  // namespace
}  // namespace rollcall::runtime
