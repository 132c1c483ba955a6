// Claims on processors, which all jobs of this machine see. The numbers of the processors are larger than those of any
// machine, so that no job that runs meanwhile is disturbed.
#include "launcher/claims.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "foundation/ends.hpp"

namespace rollcall::launcher {
namespace {

using Processors = std::vector<int>;

// Processors of this process.
Processors claimable() {
    const int first = 1'000'000 + 10 * ::getpid();
    return {first, first + 1, first + 2, first + 5};
}

TEST(Claims, AreSeenByOthersOnly) {
    const auto all = claimable();
    Claims mine, others;
    ASSERT_TRUE(mine.possible());
    EXPECT_TRUE(others.claimed_by_others(all).empty());
    ASSERT_TRUE(mine.claim(Processors{all[1], all[3]}));
    EXPECT_EQ(others.claimed_by_others(all), (Processors{all[1], all[3]}));
    EXPECT_TRUE(mine.claimed_by_others(all).empty());
    ASSERT_TRUE(mine.claim(Processors{all[2]}));
    EXPECT_EQ(others.claimed_by_others(all), (Processors{all[1], all[2], all[3]}));
    mine.release();
    EXPECT_TRUE(others.claimed_by_others(all).empty());
}

TEST(Claims, MayBeShared) {
    const auto all = claimable();
    Claims first, second, third;
    ASSERT_TRUE(first.claim(all));
    ASSERT_TRUE(second.claim(all)) << "a job that is told where to bind is not refused";
    EXPECT_EQ(first.claimed_by_others(all), all);
    first.release();
    EXPECT_EQ(third.claimed_by_others(all), all);
}

TEST(Claims, EndWithTheirHolder) {
    const auto all = claimable();
    const Claims others;
    {
        Claims mine;
        ASSERT_TRUE(mine.claim(all));
        EXPECT_EQ(others.claimed_by_others(all), all);
    }
    EXPECT_TRUE(others.claimed_by_others(all).empty());
}

// Starts a program that ends when `input` does. Returns when it is executed.
void execute_reader(int input) {
    int executed[2];
    if (::pipe2(executed, O_CLOEXEC) != 0) ::_exit(1);
    if (::fork() == 0) {
        ::dup2(input, STDIN_FILENO);
        ::execlp("cat", "cat", nullptr);
        ::_exit(1);
    }
    ::close(executed[1]);
    char byte = 0;
    if (::read(executed[0], &byte, 1) != 0) ::_exit(1);
}

TEST(Claims, EndWhenTheirProcessIsKilled) {
    const auto all = claimable();
    Ends claimed = make_pipe(), life = make_pipe();
    const pid_t holder = ::fork();
    if (holder == 0) {
        Claims its;
        const char done = its.claim(all) ? 'y' : 'n';
        execute_reader(life.first.get());
        if (::write(claimed.second.get(), &done, 1) != 1) ::_exit(1);
        for (;;) ::pause();
    }
    char done = '\0';
    ASSERT_EQ(::read(claimed.first.get(), &done, 1), 1);
    EXPECT_EQ(done, 'y');
    const Claims others;
    EXPECT_EQ(others.claimed_by_others(all), all);
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
    EXPECT_TRUE(others.claimed_by_others(all).empty()) << "what it has executed still runs, and has no claims";
}

TEST(Claims, AreImpossibleWithoutTheFile) {
    const auto all = claimable();
    Claims mine("/no/such/file");
    EXPECT_FALSE(mine.possible());
    EXPECT_FALSE(mine.claim(all));
    EXPECT_EQ(mine.claimed_by_others(all), all) << "what is not known is not free";
}

}  // namespace
}  // namespace rollcall::launcher
