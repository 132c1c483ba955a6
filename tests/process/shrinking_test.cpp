/// \file
/// Ranks die, and the others go on without them: Communicator::shrink(), and the end of such a job in good order.
#include <random>

#include <fmt/format.h>

#include "tests/process/harness.hpp"

namespace rollcall::test {
namespace {

/// Ranks die by a signal, and all others end well. (If a rank is killed while it writes into the queue of another one, UCX delivers nothing
/// more to that rank, which then leaves, and the others find one rank less than they expect. That is no failure of these tests.)
void expect_to_go_on(int ranks, const std::string& scenario, int deaths, const Words& environment = {}) {
    const Ended ended = run_ranks(ranks, {scenario}, {.environment = environment, .launcher = {"--max-failures", "all"}});
    if (has(ended.out, "receives no more messages")) return;
    EXPECT_EQ(ended.code, 0) << scenario << " of " << ranks << "\n" << ended.out << ended.error;
    EXPECT_EQ(lines_with(ended.out, " done").size(), static_cast<std::size_t>(ranks - deaths)) << scenario << " of " << ranks << "\n"
                                                                                               << ended.out << ended.error;
}

TEST(Shrinking, GoesOnAfterDeathsAtAnyTime) {
    std::mt19937_64 random(seed());
    for (int job = 0; job < (kSlower > 1 ? 3 : 8); ++job) {
        const int ranks = 2 + static_cast<int>(random() % 5), deaths = 1 + static_cast<int>(random() % static_cast<unsigned>(ranks - 1));
        const Words environment[] = {{}, {"ROLLCALL_NODE_MEMORY=no"}, {"ROLLCALL_PROGRESS=host"}, {"ROLLCALL_NODE_RANKS=2"}};
        expect_to_go_on(ranks, fmt::format("going_on:{}:{}", random() % 1'000'000'000, deaths), deaths, environment[random() % 4]);
    }
}

TEST(Shrinking, IsADuplicateWithoutAFailure) {
    for (const int ranks : {1, 2, 5}) expect_success(ranks, {"shrink_without_a_failure"});
}

TEST(Shrinking, BringsRanksThatWaitForOthers) { expect_to_go_on(4, "brought_to_shrink", 1); }

TEST(Shrinking, DoesWithoutRanksThatHaveNoPart) {
    for (const int absent : {0, 2}) expect_success(3, {fmt::format("shrink_without_all:{}", absent)});
}

TEST(Shrinking, DoesWithoutARankThatLeftAtItsDeadline) {
    for (const int absent : {0, 2}) expect_success(3, {fmt::format("shrink_without_one_that_left:{}", absent)});
}

TEST(Shrinking, OneRankIsLeftAndHearsItself) {
    const Ended ended = run_ranks(2, {"alone"}, {.environment = {}, .launcher = {"--max-failures", "1"}});
    EXPECT_EQ(ended.code, 0) << ended.out << ended.error;
}

TEST(Shrinking, MessagesGoOnUntilAllAreAtTheEnd) { expect_to_go_on(4, "messages_in_a_smaller_job", 1); }

TEST(Shrinking, TheEndFailsWhereADeathWasNotAgreedOn) { expect_to_go_on(4, "end_of_a_smaller_job", 1); }

}  // namespace
}  // namespace rollcall::test
