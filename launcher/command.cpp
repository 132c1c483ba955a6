#include "launcher/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <rollcall/error.hpp>

#include "launcher/local.hpp"
#include "runtime/settings/settings.hpp"

namespace rollcall::launcher {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kBetweenPrograms = ":";

/// What is given for one program. `program` is there for the help only: the parser must leave the program's own words
/// alone.
struct ProgramWords {
    std::string ranks;
    Words environment;
    std::string program;
};

/// The words of `rollcall run` as they came; checked by us, so that the message says what is allowed.
struct RunWords {
    ProgramWords first;
    std::string bind = "none";
    std::string timeout;
    std::string grace;
    bool tag_output = false;
};

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::invalid_argument, "run: " + sentence); }

void add_program_options(CLI::App& app, ProgramWords& words) {
    app.add_option("-n,--ranks", words.ranks, "How many processes run the program")->type_name("N");
    app.add_option("--env", words.environment, "Set an environment variable for them; may be given again")
        ->type_name("K=V")
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    // A place for positional words is declared, so that `--` may precede them, but it takes none: they stay in
    // remaining(), untouched, whatever they look like.
    app.add_option("program", words.program, "The program and its arguments; `:` begins another program")
        ->type_name("")
        ->check(CLI::Validator([](const std::string&) { return std::string("stays"); }, "", ""));
    app.validate_positionals();
    app.prefix_command();
}

int parse_ranks(const std::string& text, const std::string& program) {
    int ranks = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ranks);
    if (text.empty()) refuse(fmt::format("-n N is missing for '{}': say how many processes run it, 1 to {}", program, kMostRanks));
    if (error != std::errc() || end != text.data() + text.size() || ranks < 1 || ranks > kMostRanks) {
        refuse(fmt::format("-n takes a number from 1 to {}, not '{}'", kMostRanks, text));
    }
    return ranks;
}

Timeout parse_time(const char* option, const std::string& text, bool zero_allowed) {
    Timeout time{0};
    try {
        time = Timeout(runtime::parse_duration(text));
    } catch (const Error& error) {
        refuse(fmt::format("{}: {}", option, error.what()));
    }
    if (time.count() < 0 || (time.count() == 0 && !zero_allowed)) {
        refuse(fmt::format("{} takes a duration above 0, such as 30s, 500ms or 2min, not '{}'", option, text));
    }
    return time;
}

/// One program from its options and the words that are left of it.
Application application(const ProgramWords& words, Words rest) {
    if (!rest.empty() && rest.front() == "--") {
        rest.erase(rest.begin());
    } else if (!rest.empty() && rest.front().starts_with("-") && rest.front().size() > 1) {
        refuse(
            fmt::format("unknown option '{}'; allowed: -n N, --env K=V, and before the first program --bind core|none, "
                        "--timeout T, --grace T, --tag-output, --help",
                        rest.front()));
    }
    if (rest.empty()) refuse("a program is missing; allowed: rollcall run -n N [options] program [arguments] [: -n M program2 ...]");
    Application result;
    result.ranks = parse_ranks(words.ranks, rest.front());
    for (const std::string& assignment : words.environment) {
        const auto equals = assignment.find('=');
        if (equals == 0 || equals == std::string::npos) {
            refuse(fmt::format("--env takes NAME=VALUE, not '{}'", assignment));
        }
    }
    result.environment = words.environment;
    result.argv = std::move(rest);
    return result;
}

LaunchOptions options_from(const RunWords& words, const Words& rest) {
    LaunchOptions options;
    auto begin = rest.begin();
    auto end = std::find(begin, rest.end(), kBetweenPrograms);
    options.applications.push_back(application(words.first, Words(begin, end)));
    // What is set before the first program is for all of them.
    options.environment = std::move(options.applications.front().environment);
    options.applications.front().environment.clear();
    while (end != rest.end()) {
        begin = end + 1;
        end = std::find(begin, rest.end(), kBetweenPrograms);
        ProgramWords more;
        CLI::App parser;
        parser.set_help_flag();
        add_program_options(parser, more);
        Words reversed(begin, end);
        std::reverse(reversed.begin(), reversed.end());
        try {
            parser.parse(reversed);
        } catch (const CLI::ParseError& error) {
            refuse(fmt::format("after ':': {}; allowed: -n M [--env K=V]... program [arguments]", error.what()));
        }
        options.applications.push_back(application(more, parser.remaining()));
    }
    int ranks = 0;
    for (const Application& one : options.applications) {
        if (one.ranks > kMostRanks - ranks) refuse(fmt::format("the programs have more than {} ranks together", kMostRanks));
        ranks += one.ranks;
    }

    if (words.bind == "core") {
        options.bind = Bind::core;
    } else if (words.bind != "none") {
        refuse(fmt::format("--bind takes core or none, not '{}'", words.bind));
    }
    if (!words.timeout.empty()) options.timeout = parse_time("--timeout", words.timeout, false);
    if (!words.grace.empty()) options.grace = parse_time("--grace", words.grace, true);
    options.tag_output = words.tag_output;
    return options;
}

constexpr const char* kFooter = R"(
rollcall run -n N [options] program [arguments] [: -n M program2 [arguments]]...

Examples:
  rollcall run -n 8 ./solver input.dat             8 processes on this host
  rollcall run -n 1 ./server : -n 4 ./client -v    one job of two programs, ranks 0 and 1 to 4
  rollcall run -n 2 --env LEVEL=3 --tag-output sh -c 'echo $LEVEL'
  rollcall run -n 4 --timeout 30s --bind core -- ./solver

Options stand before the program: what follows it is the program's own, up to a lone `:`. What --env sets before the first
program is for all programs; after a `:` it is for that program.

Standard input goes to rank 0; the others read nothing. Lines of different ranks are not mixed. Every process gets
ROLLCALL_BOOTSTRAP_RANK and ROLLCALL_BOOTSTRAP_SIZE in its environment.

The first process that ends badly ends the job: the others are told, may report for the time of --grace, are then asked to
end (SIGTERM) and after the same time killed. When the command returns no process of the job is left, and no shared-memory
file of a job that failed, even if the command or its guard process is killed.

Exit code: 0, or that of the first process that failed (128 + n when signal n killed it); 124 after --timeout; 128 + n when
signal n ended the command; 126 or 127 when a program cannot be run or is not there; 2 for wrong usage.)";

}  // namespace

void add_run_command(CLI::App& root, int& exit_code) {
    CLI::App* const run_command = root.add_subcommand("run", "Start a job: one or several programs, as processes that know each other");
    const auto words = std::make_shared<RunWords>();
    add_program_options(*run_command, words->first);
    run_command->add_option("--bind", words->bind, "core: each process on a processor of its own, in turn; none")
        ->type_name("core|none")
        ->capture_default_str();
    run_command->add_option("--timeout", words->timeout, "End the job after this time (30s, 500ms, 2min), with code 124")->type_name("T");
    run_command->add_option("--grace", words->grace, "How long survivors of a failure may report, and then how long they may take to end")
        ->type_name("T")
        ->default_str("2s");
    run_command->add_flag("--tag-output", words->tag_output, "Begin each line of output with [rank]");
    run_command->footer(kFooter);
    run_command->callback([run_command, words, &exit_code] { exit_code = launcher::run(options_from(*words, run_command->remaining())); });
}

}  // namespace rollcall::launcher
