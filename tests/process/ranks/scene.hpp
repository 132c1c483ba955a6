/// \file
/// For the rank program: what a scenario gets, and how it reports an error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rollcall/rollcall.hpp>

#include "collectives/operations.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::test {

/// An error that a scenario found, in a sentence.
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class... Values>
void check(bool good, fmt::format_string<Values...> format, Values&&... values) {
    if (!good) throw Wrong(fmt::format(format, std::forward<Values>(values)...));
}

/// Returns a word that all ranks of a job share outside Rollcall, zero at the start. Scenarios use it to order ranks independently of the
/// code under test.
std::atomic<std::uint64_t>& shared(std::size_t index);
inline constexpr std::size_t kSharedWords = 8192;
/// The number of words that each scenario has.
inline constexpr std::size_t kWordsEach = 512;

/// One run of one scenario.
struct Scene {
    Job& job;
    const Communicator& world;
    int rank;
    int size;
    std::vector<std::string> words;  ///< What follows the scenario's name, separated by colons.
    std::size_t first_word;          ///< The index of its first word in shared().
    std::string& end_may_say;        ///< finalize() may fail with an error that says this.

    std::atomic<std::uint64_t>& at(std::size_t index) const {
        check(first_word + index < kSharedWords, "a job has words for {} scenarios, and no more", kSharedWords / kWordsEach);
        return shared(first_word + index);
    }
    void raise(std::size_t index) const { at(index).store(1); }
    /// Sleeps, without a call into Rollcall, until that word is at least `value`.
    void await(std::size_t index, std::uint64_t value = 1) const {
        while (at(index).load() < value) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }

    std::string word(std::size_t index, const std::string& otherwise = "") const { return index < words.size() ? words[index] : otherwise; }
    int number(std::size_t index, int otherwise) const { return index < words.size() ? std::stoi(words[index]) : otherwise; }
    int next() const { return (rank + 1) % size; }
    int previous() const { return (rank + size - 1) % size; }
};

using Scenario = void (*)(Scene&);

/// Adds a scenario to the program under its name.
struct Register {
    Register(const char* name, Scenario scenario);
};
#define ROLLCALL_SCENARIO(name)                                          \
    static void name(rollcall::test::Scene&);                            \
    static const rollcall::test::Register register_##name{#name, &name}; \
    static void name([[maybe_unused]] rollcall::test::Scene& scene)

inline void sleep_us(std::int64_t microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

/// Only a call that hangs takes that long.
inline constexpr std::chrono::seconds kPatience(60);

/// Returns what identifies the pattern of a rank in a round.
inline std::uint64_t key(int rank, std::uint64_t round) { return static_cast<std::uint64_t>(rank) * 7'000'003 + round; }
/// Returns a pattern that differs between rounds, ranks and offsets.
std::vector<std::byte> pattern(std::uint64_t bytes, std::uint64_t which);
void check_pattern(const void* data, std::uint64_t bytes, std::uint64_t which, const std::string& what);

/// Runs `work` and returns the Error that it throws. Any other outcome is an error of the scenario.
Error expect_error(ErrorCode code, const std::string& what, const std::function<void()>& call);

/// Returns whether the sentence of the error has this part.
inline bool says(const Error& error, const std::string& part) { return std::string(error.what()).find(part) != std::string::npos; }

/// Leaves a job in which a rank died or which is being ended. Leaving reports that as well.
void end_without_the_dead(Scene& scene);

/// Returns the names of the algorithms that calls on this communicator can ask for. They are the same on all its ranks.
std::vector<std::string> usable_algorithms(const Communicator& communicator, const collectives::OperationRow& row);
/// The same for blocks whose sizes differ.
std::vector<std::string> algorithms_of_blocks(const Communicator& world, runtime::OperationKind kind);
/// Returns the broadcast algorithms that this communicator can run.
std::vector<std::string> broadcast_algorithms(const Communicator& communicator);

}  // namespace rollcall::test
