/// \file
/// Command lines: subcommands, options, their help, and one-line messages for wrong usage. The parser is CLI11. Only usage.cpp and
/// help.cpp include its header, because the header takes longer to compile than most sources of this project.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/error.hpp>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace rollcall::usage {

/// The exit codes of the command after an error.
inline constexpr int kFailed = 1, kWrongUsage = 2;
inline int exit_code_of(ErrorCode code) {
    return code == ErrorCode::invalid_argument || code == ErrorCode::invalid_setting ? kWrongUsage : kFailed;
}

/// An error after which the command ends with an exit code of its own, as it does when the same happens to a job.
class EarlyEnd : public Error {
  public:
    EarlyEnd(ErrorCode code, const std::string& sentence, int exit_code) : Error(code, sentence), exit_code_(exit_code) {}
    int exit_code() const { return exit_code_; }

  private:
    int exit_code_;
};
/// Exit codes for EarlyEnd: kTimeOver after the time limit that the user set; kSignal plus the signal's number after a signal.
inline constexpr int kTimeOver = 124, kSignal = 128;

/// Thrown if the command line is wrong.
class WrongUsage : public std::runtime_error {
  public:
    /// `sentence`, which what() returns, says what is wrong and what is allowed instead, in one line: "unknown subcommand 'rum'; allowed:
    /// run, info". `reason` says only what is wrong.
    WrongUsage(const std::string& sentence, std::string reason) : std::runtime_error(sentence), reason_(std::move(reason)) {}
    const std::string& reason() const { return reason_; }

  private:
    std::string reason_;
};

/// An option of a command. The command owns it. Every function returns the option, so that calls can be chained.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    /// Sets the name of the value in the help.
    Option* type_name(std::string name);
    /// Sets the default that the help shows. With capture, the help shows the present value of the variable.
    Option* default_str(std::string text);
    Option* capture_default_str();
    /// Sets the heading in the help under which the option is listed. "": the option is not listed.
    Option* group(std::string heading);
    /// `check` returns what is wrong with a word, or "".
    Option* check(std::function<std::string(const std::string&)> check);
    /// The option takes one word each time it is given, and all of these words count.
    Option* one_word_each_time();
    /// If the option is given several times, the last one counts.
    Option* take_last();

  private:
    CLI::Option* option_;
};

/// A command or one of its subcommands. The variables in which it stores values must exist until the command line has been parsed.
class Command {
  public:
    Command(const std::string& summary, const std::string& name);
    ~Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// The parent owns the subcommand.
    Command* add_subcommand(const std::string& name, const std::string& summary);
    /// The user must name exactly this many subcommands.
    void require_subcommand(int count);

    /// `names` is, for example, "-n,--ranks". Without dashes it is the name of a positional argument. An empty value is refused.
    Option* add_option(const std::string& names, std::string& value, const std::string& help = {});
    Option* add_option(const std::string& names, std::optional<std::string>& value, const std::string& help = {});
    Option* add_option(const std::string& names, std::vector<std::string>& values, const std::string& help = {});
    Option* add_option(const std::string& names, int& value, const std::string& help = {});
    /// `read` is called with the word.
    Option* add_option(const std::string& names, const std::function<void(const std::string&)>& read, const std::string& help = {});
    Option* add_flag(const std::string& names, bool& value, const std::string& help = {});
    /// Returns an option that was added before.
    Option* get_option(const std::string& name);
    void set_version_flag(const std::string& names, const std::string& version);
    void remove_help_flag();

    /// All words from the first one on that is not an option stay in remaining(). Positional arguments then appear only in the help. Give
    /// them a check that refuses every word.
    void leave_words();
    std::vector<std::string> remaining() const;
    bool has_option(const std::string& name) const;
    /// Returns " (did you mean --ranks?)" for a word such as "--rank", which is no option but resembles one. Otherwise returns "".
    std::string hint(const std::string& word) const;
    /// `refuse` is called with a word such as "-hosts", which begins like -h but is no request for the help. It throws the error. Without
    /// it, the word is an unknown option.
    void refuse_unknown(std::function<void(const std::string& word)> refuse);

    /// Sets the text at the end of the help.
    void footer(const std::string& text);
    std::string footer() const;
    std::string help() const;
    /// Sets the heading in the parent's help under which the command is listed. "": it is not listed.
    void group(const std::string& heading);
    /// `add` is called as soon as the user has named this command, before its arguments are parsed, and adds its options. So the many
    /// options of commands that the user does not name take no time.
    void when_named(std::function<void()> add);
    /// `run` is called when the arguments of this command have been parsed.
    void callback(std::function<void()> run);

    /// Parses the command line and calls the callbacks. Prints the help or the version to standard output if the user asks for it. Throws
    /// WrongUsage, and whatever the callbacks throw.
    void parse(int argc, const char* const* argv);
    void parse(std::vector<std::string> words);

  private:
    struct State;
    explicit Command(CLI::App* app);
    template <typename Parse>
    void guarded(const std::vector<std::string>& words, const Parse& parse);
    /// Returns the innermost subcommand that the user named.
    const Command& named() const;

    std::unique_ptr<State> state_;
};

/// Returns the text on one line. Line breaks and the blanks around them become "; ", and other control characters become blanks.
std::string one_line(std::string_view text);

}  // namespace rollcall::usage
