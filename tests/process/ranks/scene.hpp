/// \file
/// For the rank program: what a scenario gets, and how it says that something is wrong.
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

namespace rollcall::test {

/// What a scenario found wrong, in a sentence.
struct Wrong : std::runtime_error {
    using std::runtime_error::runtime_error;
};

template <class... Values>
void check(bool good, fmt::format_string<Values...> format, Values&&... values) {
    if (!good) throw Wrong(fmt::format(format, std::forward<Values>(values)...));
}

/// Words that all ranks of a job share outside Rollcall, zero at the start: order between ranks that must not come from
/// what is tested.
std::atomic<std::uint64_t>& shared(std::size_t index);
inline constexpr std::size_t kSharedWords = 8192;
/// Each scenario has that many of its own.
inline constexpr std::size_t kWordsEach = 512;

/// One run of one scenario.
struct Scene {
    Job& job;
    const Communicator& world;
    int rank;
    int size;
    std::vector<std::string> words;  ///< What follows the scenario's name, at colons.
    std::size_t first_word;          ///< Of shared().

    std::atomic<std::uint64_t>& at(std::size_t index) const { return shared(first_word + index); }
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

/// Adds a scenario to the program, by its name.
struct Register {
    Register(const char* name, Scenario scenario);
};
#define ROLLCALL_SCENARIO(name)                                          \
    static void name(rollcall::test::Scene&);                            \
    static const rollcall::test::Register register_##name{#name, &name}; \
    static void name([[maybe_unused]] rollcall::test::Scene& scene)

inline void sleep_us(std::int64_t microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

/// A pattern that tells rounds, ranks and offsets apart.
std::vector<std::byte> pattern(std::uint64_t bytes, std::uint64_t which);
void check_pattern(const void* data, std::uint64_t bytes, std::uint64_t which, const std::string& what);

/// Runs it and gives the Error that it throws; anything else is wrong.
Error expect_error(ErrorCode code, const std::string& what, const std::function<void()>& call);

/// Leaves a job in which somebody died, or which is being ended: that is told also here.
void end_without_the_dead(Scene& scene);

/// Whether the sanitizers take part, whose memory and time are their own.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Names of the algorithms that calls on this communicator can ask for. The same on all its ranks.
std::vector<std::string> usable_algorithms(const Communicator& communicator, const collectives::OperationRow& row);
/// Those of broadcasts in this job. `world` counts at the first call.
const std::vector<std::string>& broadcast_algorithms(const Communicator& world);

}  // namespace rollcall::test
