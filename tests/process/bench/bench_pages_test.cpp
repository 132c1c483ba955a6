/// \file
/// Simulated numbers depend on the seed only, so those that the pages quote must be those of the simulator.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

std::string page(const std::string& name) {
    std::ifstream in(std::string(ROLLCALL_TEST_SOURCE) + "/" + name);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The rows of the other algorithms take seconds. Widths of columns depend on all rows, so words are compared, and not lines.
TEST_F(BenchCommand, TheReadmeShowsWhatTheSimulatorPrints) {
    const std::string readme = page("README.md");
    const std::string begin = "$ rollcall simulate broadcast ";
    ASSERT_NE(readme.find(begin), std::string::npos);
    std::string words = readme.substr(readme.find(begin) + 2 + std::string("rollcall ").size());
    words = words.substr(0, words.find("--algorithm "));
    words.erase(words.find('\\'), 1);
    words.erase(words.find('\n'), 1);
    const Ended ended = run(words + "--algorithm binomial,near_optimal", "COLUMNS=100");
    ASSERT_EQ(ended.code, 0) << ended.error;
    std::map<std::string, std::string> shown, printed;
    for (const auto& [text, rows] : {std::pair(&readme, &shown), std::pair(&ended.out, &printed)}) {
        for (const std::string& line : lines_of(*text)) {
            std::istringstream in(line);
            std::string forwarding, algorithm, row;
            if (!(in >> forwarding >> algorithm) || (forwarding != "message" && forwarding != "first_bit")) continue;
            for (std::string word; in >> word;) row += word + " ";
            (*rows)[algorithm] = row;
        }
    }
    for (const char* algorithm : {"binomial", "binomial+decoupled", "near_optimal"}) {
        EXPECT_NE(printed[algorithm], "") << ended.out;
        EXPECT_EQ(shown[algorithm], printed[algorithm]) << algorithm;
    }
}

TEST_F(BenchCommand, TheFiguresAreThoseOfTheSimulator) {
    const std::string figures = page("docs/performance/figures.md");
    const std::string row = "| (a) Draco | 8 | 56.6 | 8.45 | 12.4 | 6.84 | ";  // of Figure 9
    ASSERT_NE(figures.find(row), std::string::npos);
    const Ended ended =
        run("simulate broadcast --ranks 128 --landing off --decouple no --iterations 20 --bytes 1Mi --arrival late:20%:8T"
            " --algorithm binomial,arrival_blocking --format json");
    ASSERT_EQ(ended.code, 0) << ended.error;
    const Lines lines = lines_of(ended.out);
    ASSERT_EQ(lines.size(), 2u) << ended.out;
    const auto elapsed = [&](std::size_t line) { return Json::parse(lines[line])["elapsed"]["mean"].get<double>() * 1e3; };
    EXPECT_EQ(fmt::format("{:.2f}", elapsed(0)), "8.45");
    const std::size_t at = figures.find(row) + row.size();
    EXPECT_EQ(figures.substr(at, figures.find(' ', at) - at), fmt::format("{:.2f}", elapsed(1)));
}

}  // namespace
}  // namespace rollcall::test
