// The progress line, with a clock and a terminal of the test's own.
#include <gtest/gtest.h>

#include "bench/results/progress_line.hpp"

#include "tests/unit/bench/bench.hpp"

namespace rollcall::bench {
namespace {

struct Terminal {
    std::string written;
    Nanoseconds time = 5 * kSecond;

    ProgressLine::Surroundings surroundings(bool is_terminal, std::size_t columns = 80) {
        return {is_terminal, columns, [this](std::string_view text) { written += text; }, [this] { return time; }};
    }
};

TEST(BenchProgressLine, ShowsOnlyLongRuns) {
    Terminal terminal;
    ProgressLine line(4, terminal.surroundings(true));
    line.update(0);
    terminal.time += ProgressLine::kPatience - 1;
    line.update(1);
    EXPECT_EQ(terminal.written, "");
    terminal.time += 1;
    line.update(1, "binomial 64Ki");
    EXPECT_EQ(terminal.written, "\r1/4  25%  about 6 s left  binomial 64Ki\033[K");
}

TEST(BenchProgressLine, CountsAPartOfTheNextOne) {
    Terminal terminal;
    ProgressLine line(4, terminal.surroundings(true));
    terminal.time += 3 * kSecond;
    line.update(1, "binomial", 0.5);
    EXPECT_EQ(terminal.written, "\r1/4  38%  about 5 s left  binomial\033[K");
    terminal.time += ProgressLine::kInterval;
    terminal.written.clear();
    line.update(4, "", 1);
    EXPECT_EQ(terminal.written, "\r4/4  100%  about 0 s left\033[K") << "never more than all";
}

TEST(BenchProgressLine, NothingGoesToAFile) {
    Terminal terminal;
    {
        ProgressLine line(4, terminal.surroundings(false));
        terminal.time += 100 * kSecond;
        line.update(2);
    }
    EXPECT_EQ(terminal.written, "");
}

TEST(BenchProgressLine, IsErasedAtTheEndAndBeforeOtherOutput) {
    Terminal terminal;
    {
        ProgressLine line(1000, terminal.surroundings(true));
        terminal.time += 3 * kSecond;
        line.update(0);
        EXPECT_EQ(terminal.written, "\r0/1000  0%\033[K") << "no estimate without a finished part";
        terminal.written.clear();
        line.erase();
        line.erase();
        EXPECT_EQ(terminal.written, "\r\033[K") << "once is enough";
        terminal.written.clear();
        line.update(1);
        EXPECT_EQ(terminal.written, "\r1/1000  0%  about 49:57 min left\033[K");
        terminal.written.clear();
    }
    EXPECT_EQ(terminal.written, "\r\033[K");
}

TEST(BenchProgressLine, DoesNotFlickerAndDoesNotWrap) {
    Terminal terminal;
    ProgressLine line(2, terminal.surroundings(true, 10));
    terminal.time += 3 * kSecond;
    line.update(1, "a long description");
    EXPECT_EQ(terminal.written, "\r1/2  50% \033[K");
    terminal.time += ProgressLine::kInterval - 1;
    line.update(2);
    EXPECT_EQ(terminal.written, "\r1/2  50% \033[K");
    terminal.time += 1;
    terminal.written.clear();
    line.update(5);
    EXPECT_EQ(terminal.written, "\r2/2  100%\033[K") << "never more than all";
}

}  // namespace
}  // namespace rollcall::bench
