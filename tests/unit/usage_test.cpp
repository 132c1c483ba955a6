#include "support/usage.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

namespace rollcall::usage {
namespace {

/// What describe() says of a command with two subcommands, called with these words; "" when they are right.
std::string said(std::vector<std::string> words) {
    CLI::App root("", "rollcall");
    root.require_subcommand(1);
    int ranks = 0;
    bool all = false;
    auto* run = root.add_subcommand("run", "");
    run->add_option("-n,--ranks", ranks, "")->required();
    run->prefix_command();
    auto* info = root.add_subcommand("info", "");
    info->add_flag("--all", all, "");
    info->add_option("--ranks", ranks, "")->check([](const std::string& word) {
        return word == "0" ? std::string("0 is too few;\n  allowed: 1 and more") : std::string();
    });
    root.add_subcommand("agent", "")->group("");  // hidden
    std::reverse(words.begin(), words.end());     // CLI11 takes them from the back
    try {
        root.parse(words);
    } catch (const CLI::ParseError& error) {
        return describe(root, error);
    }
    return {};
}

TEST(Usage, NamesTheWordAndListsWhatIsAllowed) {
    EXPECT_EQ(said({}), "`rollcall` needs a subcommand; allowed: run, info");
    EXPECT_EQ(said({"rum"}), "unknown subcommand 'rum'; allowed: run, info");
    EXPECT_EQ(said({"rum", "-n", "2"}), "unknown subcommand 'rum'; allowed: run, info");
    EXPECT_EQ(said({"r\num"}), "unknown subcommand 'r\\x0aum'; allowed: run, info");
    EXPECT_EQ(said({"--fast"}), "unknown option '--fast' of `rollcall`; allowed: -h,--help");
    EXPECT_EQ(said({"info", "--fast"}), "unknown option '--fast' of `rollcall info`; allowed: -h,--help, --all, --ranks");
    EXPECT_EQ(said({"info", "fast"}), "unexpected argument 'fast' of `rollcall info`; allowed: -h,--help, --all, --ranks");
    EXPECT_EQ(said({"info", "--ranks", "0"}), "--ranks: 0 is too few; allowed: 1 and more");
    EXPECT_EQ(said({"info", "--all"}), "");
}

TEST(Usage, OfAProgramsOwnWordsIsNotJudged) {
    EXPECT_EQ(said({"run", "-n", "2", "program", "--fast"}), "");
    EXPECT_EQ(said({"run", "program", "--fast"}), "--ranks is required (`rollcall run --help` says what is allowed)");
}

TEST(Usage, IsOneLine) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"run", "-n"}, {"run", "-n", "two"}, {"info", "--ranks", "x", "y"}, {"info", "--all=maybe"}}) {
        const auto sentence = said(words);
        EXPECT_FALSE(sentence.empty());
        EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    }
}

TEST(OneLine, JoinsLines) {
    EXPECT_EQ(one_line(""), "");
    EXPECT_EQ(one_line("a"), "a");
    EXPECT_EQ(one_line("\n a \r\n\n\tb\n"), "a; b");
    EXPECT_EQ(one_line("a:\n b;\n c"), "a: b; c");
    EXPECT_EQ(one_line("a\x1b[1m\tb"), "a [1m b");
}

}  // namespace
}  // namespace rollcall::usage
