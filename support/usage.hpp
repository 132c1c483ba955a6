/// \file
/// Command lines: subcommands, options, their help, and wrong usage in one line. The parser behind it is CLI11, whose header
/// only usage.cpp includes: it takes longer to compile than most sources of this project.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rollcall::usage {

/// The words of a command line are wrong.
class WrongUsage : public std::runtime_error {
  public:
    /// `sentence`, which what() returns, says what is wrong and what is allowed instead, without a line break: "unknown
    /// subcommand 'rum'; allowed: run, info". `reason` says only what is wrong.
    WrongUsage(const std::string& sentence, std::string reason) : std::runtime_error(sentence), reason_(std::move(reason)) {}
    const std::string& reason() const { return reason_; }

  private:
    std::string reason_;
};

/// An option of a command. Its command owns it. Every function returns the option, so that calls can follow each other.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    /// What the help calls the value.
    Option* type_name(std::string name);
    /// What the help says the value is when it is not given; with capture, the present value of the variable.
    Option* default_str(std::string text);
    Option* capture_default_str();
    /// The heading in the help under which it is listed; "": it is not listed.
    Option* group(std::string heading);
    /// `check` returns what is wrong with a word, or "".
    Option* check(std::function<std::string(const std::string&)> check);
    /// Each time it is given it takes one word, and all of them count.
    Option* one_word_each_time();
    /// When it is given several times the last one counts.
    Option* take_last();

  private:
    CLI::Option* option_;
};

/// A command or one of its subcommands. What it stores to must live until it has been parsed.
class Command {
  public:
    Command(const std::string& summary, const std::string& name);
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// The parent owns it.
    Command* add_subcommand(const std::string& name, const std::string& summary);
    /// So many subcommands must be named, no more and no fewer.
    void require_subcommand(int count);

    /// `names`: "-n,--ranks"; without dashes it is the name of a positional word. An empty value is refused.
    Option* add_option(const std::string& names, std::string& value, const std::string& help = {});
    Option* add_option(const std::string& names, std::optional<std::string>& value, const std::string& help = {});
    Option* add_option(const std::string& names, std::vector<std::string>& values, const std::string& help = {});
    Option* add_option(const std::string& names, int& value, const std::string& help = {});
    /// `read` gets the word.
    Option* add_option(const std::string& names, const std::function<void(const std::string&)>& read, const std::string& help = {});
    Option* add_flag(const std::string& names, bool& value, const std::string& help = {});
    /// An option that was added before.
    Option* get_option(const std::string& name);
    void set_version_flag(const std::string& names, const std::string& version);
    void remove_help_flag();

    /// From the first word on that is no option, all words stay in remaining(). Positional words are only for the help then:
    /// give them a check that refuses everything.
    void leave_words();
    std::vector<std::string> remaining() const;

    /// The text at the end of the help.
    void footer(const std::string& text);
    std::string footer() const;
    std::string help() const;
    /// The heading of the parent's help under which it is listed; "": it is not listed.
    void group(const std::string& heading);
    /// Called when the words of this command have been parsed.
    void callback(std::function<void()> run);

    /// Parses and calls callbacks. Prints help or version to standard output where they are asked for. Throws WrongUsage, and
    /// what callbacks throw.
    void parse(int argc, const char* const* argv);
    void parse(std::vector<std::string> words);

  private:
    struct State;
    explicit Command(CLI::App* app);
    template <typename Parse>
    void guarded(const Parse& parse);

    std::unique_ptr<State> state_;
};

/// A text on one line: line breaks, with the blanks around them, become "; ", other control characters blanks.
std::string one_line(std::string_view text);

}  // namespace rollcall::usage
