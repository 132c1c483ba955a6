#include "launcher/command.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "foundation/clock.hpp"
#include "foundation/number.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "launcher/hosts/allocation.hpp"
#include "launcher/launch.hpp"
#include "launcher/run_help.hpp"
#include "launcher/spellings.hpp"
#include "support/usage.hpp"

namespace rollcall::launcher {
namespace {

using Words = std::vector<std::string>;

constexpr const char* kBetweenPrograms = ":";
/// Heartbeats of a host that is only busy are late by some milliseconds.
constexpr Nanoseconds kLeastSilence = 100 * kMillisecond;

/// The options of one program. The help needs `program`; the parser must not touch the program's own words.
struct ProgramWords {
    std::string ranks;
    Words environment;
    std::string program;
};

/// The words of `rollcall run` as they came. We check them ourselves, so that a message says what is allowed.
struct RunWords {
    ProgramWords first;
    std::string hosts;
    std::string hostfile;
    std::string per_node;
    bool oversubscribe = false;
    std::string map_by = "slot";
    std::string bind_to = "auto";
    bool display_map = false;
    std::string agent;
    std::string fanout;
    std::string command;
    std::string directory;
    std::string input = "first";
    std::string output_directory;
    bool tag_output = false;
    bool timestamp_output = false;
    bool dry_run = false;
    std::string timeout;
    bool stack_traces = false;
    std::string max_failures;
    std::string grace;
    std::string silence;
    std::string launch_timeout;
};

[[noreturn]] void refuse(const std::string& sentence) { throw Error(ErrorCode::invalid_argument, "run: " + sentence); }

void add_program_options(usage::Command& app, ProgramWords& words) {
    app.add_option("-n,--ranks", words.ranks,
                   "How many processes run the program (default: as many as slots; required without hosts and allocation)")
        ->type_name("N");
    app.add_option("--env", words.environment,
                   "Set an environment variable for the processes (K alone: to its value here); may be given again")
        ->type_name("K[=V]")
        ->one_word_each_time();
    // A place for positional words is declared, so that `--` may stand before them. But it takes none: the words stay in remaining(),
    // unchanged, whatever they look like.
    app.add_option("program", words.program, "The program and its arguments; `:` begins another program")->check([](const std::string&) {
        return std::string("stays");
    });
    app.leave_words();
}

int parse_ranks(const std::string& text, const std::string& program) {
    if (text.empty()) refuse(fmt::format("-n N is missing for '{}': say how many processes run it, 1 to {}", program, kMostRanks));
    const auto ranks = number_of_text<int>(text);
    if (!ranks || *ranks < 1 || *ranks > kMostRanks) refuse(fmt::format("-n takes a number from 1 to {}, not '{}'", kMostRanks, text));
    return *ranks;
}

Timeout parse_time(const char* option, const std::string& text, Nanoseconds least) {
    Nanoseconds time = -1;
    try {
        time = parse_duration(text);
    } catch (const Error&) {
        // The sentence below says more.
    }
    if (time < least)
        refuse(fmt::format("{} takes a duration {}, such as 30s, 500ms or 2min, not {}", option,
                           least == 1 ? "above 0" : fmt::format("of {} or more", exact_duration(least)), quote(text)));
    return Timeout(time);
}

/// Refuses an option of another launcher that has another name here. `command` is where the option would have to be.
void refuse_spelling(const usage::Command& command, const std::string& name) {
    const Spelling* const spelling = spelling_elsewhere(name);
    const std::string ours(spelling != nullptr ? std::string(spelling->ours) : "-" + name);  // -hostfile
    if (command.has_option(ours)) {
        const std::string value(spelling != nullptr ? spelling->value : "");
        refuse(fmt::format("unknown option {}, which other launchers have; here it is {}{}{}", quote(name), ours, value.empty() ? "" : " ",
                           value));
    }
}

[[noreturn]] void refuse_option(const usage::Command& command, const std::string& word) {
    refuse_spelling(command, word.substr(0, word.find('=')));
    refuse(fmt::format("unknown option {}{}; allowed: -n N, --env K=V, and before the first program those that `rollcall run --help` lists",
                       quote(word), command.hint(word)));
}

/// Makes one program from its options and the words that follow them.
Application application(const usage::Command& command, const ProgramWords& words, Words rest, std::optional<int> ranks_if_not_said) {
    if (!rest.empty() && rest.front() == "--") {
        rest.erase(rest.begin());
    } else if (!rest.empty() && rest.front().starts_with("-") && rest.front().size() > 1) {
        refuse_option(command, rest.front());
    }
    if (rest.empty()) refuse("a program is missing; allowed: rollcall run -n N [options] program [arguments] [: -n M program2 ...]");
    Application result;
    if (!words.ranks.empty()) refuse_spelling(command, "-n" + words.ranks);  // -np, whose rest is taken for the value of -n
    result.ranks = words.ranks.empty() && ranks_if_not_said ? *ranks_if_not_said : parse_ranks(words.ranks, rest.front());
    for (const std::string& assignment : words.environment) {
        const auto equals = assignment.find('=');
        if (equals == 0) refuse(fmt::format("--env takes NAME=VALUE or NAME, not {}", quote(assignment)));
        const char* const value = equals == std::string::npos ? std::getenv(assignment.c_str()) : nullptr;
        if (equals == std::string::npos && value == nullptr) {
            refuse(fmt::format("--env {}: {} is not set here; allowed: NAME=VALUE, or the NAME of a variable that is set", assignment,
                               quote(assignment)));
        }
        result.environment.push_back(value == nullptr ? assignment : fmt::format("{}={}", assignment, value));
    }
    result.argv = std::move(rest);
    return result;
}

/// `word`, if there is one, stands for `meaning`.
std::optional<int> parse_number(const char* option, const std::string& text, int least, const char* word = "", int meaning = 0) {
    if (text.empty()) return std::nullopt;
    if (text == word) return meaning;
    const auto number = number_of_text<int>(text);
    if (!number || *number < least || *number > kMostRanks) {
        refuse(fmt::format("{} takes a number from {} to {},{}{}{} not '{}'", option, least, kMostRanks, *word ? " or " : "", word,
                           *word ? "," : "", text));
    }
    return number;
}

/// The hosts that an option or a file names.
std::vector<Host> hosts_from(const RunWords& words) {
    if (!words.hosts.empty() && !words.hostfile.empty()) refuse("--hosts and --hostfile exclude each other: give one of them");
    try {
        if (!words.hosts.empty()) return parse_hosts(words.hosts);
        if (!words.hostfile.empty()) return read_hostfile(words.hostfile);
    } catch (const Error& error) {
        refuse(error.what());
    }
    return {};
}

StandardInput parse_input(const std::string& text) {
    if (text == "first") return StandardInput::first;
    if (text == "all") return StandardInput::all;
    if (text == "none") return StandardInput::none;
    refuse(fmt::format("--input takes first, all or none, not '{}'", text));
}

/// Where the ranks run: the hosts, and how they are reached.
void add_hosts(const RunWords& words, LaunchOptions& options) {
    options.hosts = hosts_from(words);
    options.agent = words.agent;
    options.oversubscribe = words.oversubscribe;
    if (options.hosts.empty()) {
        if (auto allocation = find_allocation()) {
            options.hosts = std::move(allocation->hosts);
            if (options.agent.empty()) options.agent = allocation->agent;
            // A single host takes any number of ranks, as this host does outside of allocations.
            options.oversubscribe = options.oversubscribe || options.hosts.size() == 1;
        }
    } else if (options.agent.empty()) {
        options.agent = agent_in_allocation(options.hosts);
    }
    options.per_node = parse_number("--per-node", words.per_node, 1);
    if (options.per_node && options.hosts.empty()) refuse("--per-node needs --hosts or --hostfile");
}

/// How many ranks there are without -n: as many as the hosts have slots.
std::optional<int> slots_of(const LaunchOptions& options) {
    if (options.hosts.empty()) return std::nullopt;
    long long slots = 0;
    for (const Host& host : options.hosts) slots += options.per_node ? *options.per_node : host.slots;
    return static_cast<int>(std::min<long long>(slots, kMostRanks + 1LL));
}

/// The programs, and the environment that they have in common. The hosts must be known.
void add_applications(const usage::Command& command, const RunWords& words, LaunchOptions& options) {
    const Words rest = command.remaining();
    auto begin = rest.begin();
    auto end = std::find(begin, rest.end(), kBetweenPrograms);
    options.applications.push_back(
        application(command, words.first, Words(begin, end), end == rest.end() ? slots_of(options) : std::nullopt));
    // Variables that are set before the first program hold for all programs.
    options.environment = std::move(options.applications.front().environment);
    options.applications.front().environment.clear();
    while (end != rest.end()) {
        begin = end + 1;
        end = std::find(begin, rest.end(), kBetweenPrograms);
        ProgramWords more;
        usage::Command parser("", "");
        parser.remove_help_flag();
        add_program_options(parser, more);
        try {
            parser.parse(Words(begin, end));
        } catch (const usage::WrongUsage& error) {
            refuse(fmt::format("after ':': {}; allowed: -n M [--env K=V]... program [arguments]", error.reason()));
        }
        options.applications.push_back(application(parser, more, parser.remaining(), std::nullopt));
    }
    int ranks = 0;
    for (const Application& one : options.applications) {
        if (one.ranks > kMostRanks - ranks) refuse(fmt::format("the programs have more than {} ranks together", kMostRanks));
        ranks += one.ranks;
    }
}

LaunchOptions options_from(const usage::Command& command, const RunWords& words) {
    LaunchOptions options;
    add_hosts(words, options);
    add_applications(command, words, options);
    try {
        options.map_by = parse_map_by(words.map_by);
        options.bind_to = parse_bind_to(words.bind_to);
    } catch (const Error& error) {
        refuse(error.what());
    }
    options.display_map = words.display_map;
    options.command = words.command;
    options.directory = words.directory;
    options.fanout = parse_number("--fanout", words.fanout, 1, "flat", 0).value_or(kDefaultFanout);
    options.input = parse_input(words.input);
    options.output_directory = words.output_directory;
    if (!words.timeout.empty()) options.timeout = parse_time("--timeout", words.timeout, 1);
    options.stack_traces = words.stack_traces;
    if (options.stack_traces && words.timeout.empty())
        refuse("--stack-traces needs --timeout: the stacks are written when that time is over");
    options.max_failures = parse_number("--max-failures", words.max_failures, 0, "all", kAllMayFail).value_or(0);
    if (!words.grace.empty()) options.grace = parse_time("--grace", words.grace, 0);
    if (!words.silence.empty()) options.silence = parse_time("--silence", words.silence, kLeastSilence);
    if (!words.launch_timeout.empty()) {
        options.launch_timeout = parse_time("--launch-timeout", words.launch_timeout, 1);
        options.all_must_join = true;
    }
    options.tag_output = words.tag_output;
    options.timestamp_output = words.timestamp_output;
    return options;
}

/// A shell ends its script or loop at Ctrl-C only if the command was ended by the signal. Its `$?` is 130 in both cases.
void end_by_interrupt() {
    std::fflush(nullptr);
    ::signal(SIGINT, SIG_DFL);
    ::raise(SIGINT);
}

}  // namespace

void add_run_command(usage::Command& root, int& exit_code) {
    usage::Command* const run_command =
        root.add_subcommand("run", "Start a job: one or several programs, as processes that know each other");
    const auto words = std::make_shared<RunWords>();
    add_program_options(*run_command, words->first);
    run_command
        ->add_option("--hosts", words->hosts,
                     "The hosts, each with its number of slots, which is the number of processes it takes (a:4; a alone has one slot)")
        ->type_name("A:4,B:4");
    run_command->add_option("--hostfile", words->hostfile, "A file with a host on each line")->type_name("FILE");
    run_command->add_option("--per-node", words->per_node, "Processes on each host")->type_name("N");
    run_command->add_flag("--oversubscribe", words->oversubscribe, "Allow more processes than the hosts have slots");
    run_command
        ->add_option("--map-by", words->map_by,
                     "In which order processes are placed: slot fills a host before the next; node deals them to the hosts in turn; "
                     "socket, numa and core deal them to those of each host in turn")
        ->type_name("slot|node|socket|core|numa")
        ->capture_default_str();
    run_command
        ->add_option("--bind-to,--bind", words->bind_to,
                     "To what each process is bound, among the processors this command may use; auto: an equal share of the free cores, if "
                     "each process can have one")
        ->type_name("auto|none|hwthread|core|socket|numa")
        ->capture_default_str();
    run_command->add_flag("--display-map", words->display_map, "Before the processes start, say which one runs where");
    run_command->add_option("--agent", words->agent, "The remote shell; {host} stands for the host")
        ->type_name("ssh|srun|COMMAND")
        ->default_str("ssh; srun on hosts of an allocation of Slurm");
    run_command
        ->add_option("--fanout", words->fanout,
                     "The most agents that one process starts. If there are more hosts, agents start the others, so hosts must reach each "
                     "other. flat: this command starts all agents")
        ->type_name("N|flat")
        ->default_str(std::to_string(kDefaultFanout));
    run_command->add_option("--command", words->command, "Where `rollcall` is on the hosts")->type_name("PATH")->default_str("as here");
    run_command->add_option("--directory", words->directory, "Where the programs start")->type_name("DIR")->default_str("as here");
    run_command->add_option("--input", words->input, "Which ranks get standard input: rank 0, all, or none")
        ->type_name("first|all|none")
        ->capture_default_str();
    run_command
        ->add_option("--output-directory", words->output_directory, "Write the output of each process to rank.N.out and rank.N.err there")
        ->type_name("DIR");
    run_command
        ->add_option(
            "--launch-timeout", words->launch_timeout,
            "How long agents may take to answer and, if this is given, processes to join the job; an error names those that are missing")
        ->type_name("T")
        ->default_str("60s, agents only");
    run_command->add_option("--silence", words->silence, "A host counts as lost when nothing is heard of it for this long")
        ->type_name("T")
        ->default_str("3s");
    run_command->add_flag("--stack-traces", words->stack_traces,
                          "At --timeout, write the stacks of the processes (needs gdb on their hosts)");
    run_command->add_option("--timeout", words->timeout, "End the job after this time (30s, 500ms, 2min), with code 124")->type_name("T");
    run_command
        ->add_option("--max-failures", words->max_failures,
                     "How many processes may fail, or be lost with their hosts, without ending the job; the others are told, and go on")
        ->type_name("N|all")
        ->default_str("0");
    run_command
        ->add_option("--grace", words->grace,
                     "How long the other processes may report after a failure, and then how long they may take to end")
        ->type_name("T")
        ->default_str("2s");
    run_command->add_flag("--tag-output", words->tag_output, "Begin each line of output with [rank]");
    run_command->add_flag("--timestamp-output", words->timestamp_output, "Begin each line of output with the time of day");
    run_command->add_flag("--dry-run", words->dry_run, "Start nothing; write what would be started, and where");
    run_command->footer(kRunFooter);
    run_command->refuse_unknown([run_command](const std::string& word) { refuse_option(*run_command, word); });
    run_command->callback([run_command, words, &exit_code] {
        const LaunchOptions options = options_from(*run_command, *words);
        if (words->dry_run) {
            fmt::print("{}", describe(options));
            return;
        }
        bool interrupted = false;
        exit_code = launcher::run(options, &interrupted);
        if (interrupted && exit_code == 128 + SIGINT) end_by_interrupt();
    });

    usage::Command* const agent_command = root.add_subcommand("agent", "What `rollcall run` starts on other hosts");
    agent_command->group("");  // users do not call it
    agent_command->callback([&exit_code] { exit_code = launcher::run_agent(); });
}

}  // namespace rollcall::launcher
