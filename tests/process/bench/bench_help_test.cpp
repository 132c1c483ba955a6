/// \file
/// Tests the help of `rollcall bench` and `rollcall simulate`.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "tests/process/bench/bench_command.hpp"

namespace rollcall::test {
namespace {

TEST_F(BenchCommand, HelpNamesEveryPattern) {
    for (const char* command : {"bench broadcast --help", "bench scatter --help", "simulate broadcast --help", "simulate gather --help"}) {
        const Ended ended = run(command);
        EXPECT_EQ(ended.code, 0);
        for (const char* text : {"max_if:K", "late:P%:D", "file:PATH", "--plot", "--explain"})
            EXPECT_NE(ended.out.find(text), std::string::npos) << text;
        EXPECT_EQ(ended.out.find("--inherited"), std::string::npos);
    }
}

// A help that names an option is the help of a command that has it.
TEST_F(BenchCommand, HelpNamesOnlyOptionsThatTheCommandHas) {
    for (const char* command : {"bench broadcast", "bench gather", "bench gatherv", "bench reduce", "bench intergroup_gather",
                                "simulate broadcast", "simulate scatter", "simulate scan"}) {
        const Ended ended = run(std::string(command) + " --help");
        EXPECT_EQ(ended.code, 0);
        std::istringstream in(ended.out);
        std::set<std::string> own, named;
        for (std::string line; std::getline(in, line);) {
            std::istringstream words(line);
            bool is_first = true;
            for (std::string word; words >> word; is_first = false) {
                const auto begin = word.find("--");
                if (begin == std::string::npos) continue;
                word = word.substr(begin, word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin) - begin);
                (is_first ? own : named).insert(word);
            }
        }
        for (const char* option : {"--paper", "--delays", "--scale", "--sizes", "--segment", "--explain", "--groups"})
            EXPECT_TRUE(!named.contains(option) || own.contains(option)) << command << ": " << option;
    }
}

}  // namespace
}  // namespace rollcall::test
