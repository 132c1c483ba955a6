#include "support/usage.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rollcall::usage {
namespace {

/// What is said of a command with two subcommands, called with these words; "" when they are right.
std::string said(std::vector<std::string> words) {
    Command root("", "rollcall");
    root.require_subcommand(1);
    int ranks = 0;
    std::string program;
    bool all = false;
    auto* run = root.add_subcommand("run", "");
    run->add_option("-n,--ranks", ranks, "");
    run->add_option("program", program, "")->check([](const std::string&) { return std::string("stays"); });
    run->leave_words();
    auto* info = root.add_subcommand("info", "");
    info->add_flag("--all", all, "");
    info->add_option("--ranks", ranks, "")->check([](const std::string& word) {
        return word == "0" ? std::string("0 is too few;\n  allowed: 1 and more") : std::string();
    });
    std::string name;
    info->add_option("--name", name, "");
    root.add_subcommand("agent", "")->group("");  // hidden
    try {
        root.parse(std::move(words));
    } catch (const WrongUsage& error) {
        return error.what();
    }
    return {};
}

TEST(Usage, NamesTheWordAndListsWhatIsAllowed) {
    EXPECT_EQ(said({}), "`rollcall` needs a subcommand; allowed: run, info");
    EXPECT_EQ(said({"rum"}), "unknown subcommand 'rum'; allowed: run, info");
    EXPECT_EQ(said({"rum", "-n", "2"}), "unknown subcommand 'rum'; allowed: run, info");
    EXPECT_EQ(said({"r\num"}), "unknown subcommand 'r\\x0aum'; allowed: run, info");
    EXPECT_EQ(said({"--fast"}), "unknown option '--fast' of `rollcall`; allowed: -h,--help");
    EXPECT_EQ(said({"info", "--fast"}), "unknown option '--fast' of `rollcall info`; allowed: -h,--help, --all, --ranks, --name");
    EXPECT_EQ(said({"info", "fast"}), "unexpected argument 'fast' of `rollcall info`; allowed: -h,--help, --all, --ranks, --name");
    EXPECT_EQ(said({"info", "--ranks", "0"}), "--ranks: 0 is too few; allowed: 1 and more");
    EXPECT_EQ(said({"info", "--all"}), "");
    EXPECT_EQ(said({"info", "-hosts", "a"}), "unknown option '-hosts' of `rollcall info`; allowed: -h,--help, --all, --ranks, --name");
}

TEST(Usage, NamesTheOptionThatWasProbablyMeant) {
    const auto hint = [](const std::string& word) {
        const std::string sentence = said({"info", word});
        const auto begin = sentence.find(" (did you mean ");
        return begin == std::string::npos ? "" : sentence.substr(begin + 1, sentence.find(')') - begin);
    };
    EXPECT_EQ(hint("--rnaks"), "(did you mean --ranks?)");
    EXPECT_EQ(hint("--ranks-"), "(did you mean --ranks?)");
    EXPECT_EQ(hint("--rankss=3"), "(did you mean --ranks?)");
    EXPECT_EQ(hint("--nam"), "(did you mean --name?)");
    EXPECT_EQ(hint("--rounds"), "");
    EXPECT_EQ(hint("--al"), "");
    EXPECT_EQ(hint("---"), "");
}

TEST(Usage, SaysThatAnOptionIsGivenTwiceOrWithoutAValueOrWithOne) {
    EXPECT_EQ(said({"info", "--ranks", "1", "--ranks", "2"}), "--ranks of `rollcall info` is given 2 times; allowed: once");
    EXPECT_EQ(said({"info", "--ranks"}), "--ranks of `rollcall info` is given without a value (`rollcall info --help` says what it takes)");
    EXPECT_EQ(said({"info", "--name", ""}), "--name: its value is empty; allowed: a value, or to leave the option out");
    EXPECT_EQ(said({"info", "--all=of them"}), "--all of `rollcall info` takes no value; allowed: --all alone");
    EXPECT_EQ(said({"info", "--name="}), "--name of `rollcall info` is given without a value (`rollcall info --help` says what it takes)");
}

/// The help of a command with subcommands, a hidden option, positional arguments and a footer, on a screen of so many columns.
std::string help(const char* columns) {
    ::setenv("COLUMNS", columns, 1);
    Command root("Does something.", "rollcall");
    auto* const run = root.add_subcommand("run", "Start a job");
    root.add_subcommand("info", "Show this host")->group("For those who ask");
    root.add_subcommand("agent", "Not listed")->group("");
    int ranks = 8;
    std::string program;
    std::vector<std::string> hosts;
    bool all = false;
    run->add_option("-n,--ranks", ranks, "How many processes run the program")->type_name("N")->capture_default_str();
    run->add_option("--hosts-with-slots", hosts, "The hosts")->type_name("A:4,B:4");
    run->add_flag("--all", all, "");
    run->add_option("--secret", program, "Not listed")->group("");
    run->add_option("program", program, "The program");
    run->footer("Examples:\n    rollcall run\n");
    auto text = root.help() + run->help();
    ::unsetenv("COLUMNS");
    return text;
}

TEST(Help, ListsWhatACommandTakes) {
    EXPECT_EQ(help("200"),
              "Does something.\n"
              "Usage: rollcall [OPTIONS] SUBCOMMAND\n"
              "\n"
              "Options:\n"
              "  -h,--help                     Print this help message and exit\n"
              "\n"
              "Subcommands:\n"
              "  run                           Start a job\n"
              "\n"
              "For those who ask:\n"
              "  info                          Show this host\n"
              "\n"
              "Start a job\n"
              "Usage: run [OPTIONS] [program]\n"
              "\n"
              "Positionals:\n"
              "  program                       The program\n"
              "\n"
              "Options:\n"
              "  -h,--help                     Print this help message and exit\n"
              "  -n,--ranks N                  How many processes run the program (default: 8)\n"
              "  --hosts-with-slots A:4,B:4 ...\n"
              "                                The hosts\n"
              "  --all\n"
              "\n"
              "Examples:\n"
              "    rollcall run\n"
              "\n");
}

TEST(Help, BreaksDescriptionsAtTheEndOfTheScreen) {
    EXPECT_NE(help("60").find("  -n,--ranks N                  How many processes run the\n"
                              "                                program (default: 8)\n"),
              std::string::npos)
        << help("60");
}

TEST(Usage, OfAProgramsOwnWordsIsNotJudged) { EXPECT_EQ(said({"run", "-n", "2", "program", "--fast"}), ""); }

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

TEST(Usage, OptionsOfACommandAreAddedOnlyWhenItIsNamed) {
    Command root("", "rollcall");
    int named = 0, ranks = 0;
    for (const char* const name : {"one", "other"}) {
        auto* const command = root.add_subcommand(name, "");
        command->when_named([&, command] {
            ++named;
            command->add_option("--ranks", ranks, "");
        });
    }
    root.parse({"other", "--ranks", "3"});
    EXPECT_EQ(named, 1);
    EXPECT_EQ(ranks, 3);
    try {
        root.parse({"one", "--rank", "3"});
        ADD_FAILURE() << "an option that there is not was taken";
    } catch (const WrongUsage& error) {
        EXPECT_STREQ(error.what(), "unknown option '--rank' of `rollcall one` (did you mean --ranks?); allowed: -h,--help, --ranks");
    }
}

}  // namespace
}  // namespace rollcall::usage
