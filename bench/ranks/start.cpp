#include "bench/ranks/start.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include <rollcall/error.hpp>

#include "bench/cases/lists.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/frames.hpp"
#include "bootstrap/starters/directory.hpp"
#include "foundation/clock.hpp"
#include "foundation/descriptor.hpp"
#include "foundation/error_text.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "launcher/launch.hpp"
#include "runtime/topology/binding.hpp"
#include "support/output.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

constexpr const char* kTerminalOption = "--inherited-terminal";
constexpr const char* kSamplesOption = "--inherited-samples";
constexpr const char* kTerminalFileOption = "--inherited-terminal-file";
constexpr const char* kSamplesFileOption = "--inherited-samples-file";
constexpr const char* kOnClusterOption = "--on-cluster";
constexpr const char* kEnvironmentOption = "--inherited-environment";
constexpr const char* kNoRate = "none";

/// The arguments of this process, without its own name.
std::vector<std::string> own_words() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::vector<std::string> words;
    for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
    if (words.empty()) throw Error(ErrorCode::state, "/proc/self/cmdline cannot be read: is /proc mounted?");
    words.erase(words.begin());
    return words;
}

int start(const Start& start, const std::vector<std::string>& environment, const std::vector<std::string>& more) {
    launcher::Application application;
    application.ranks = start.ranks;
    application.argv = {std::filesystem::read_symlink("/proc/self/exe").string()};
    for (const auto& word : own_words()) application.argv.push_back(word);
    application.argv.insert(application.argv.end(), more.begin(), more.end());
    application.argv.emplace_back(kEnvironmentOption);
    launcher::LaunchOptions options;
    options.applications.push_back(std::move(application));
    // The last assignment of a name counts. What a job is started for is not changed by --env.
    options.environment = start.environment;
    options.environment.insert(options.environment.end(), environment.begin(), environment.end());
    // Rank 0 prints, but its standard output is no terminal.
    options.environment.push_back(fmt::format("COLUMNS={}", output::screen_columns()));
    options.timeout = start.timeout;
    if (start.cluster) {
        start.cluster->up();
        options.hosts = start.cluster->hosts(start.ranks);
        options.agent = start.cluster->agent();
        options.fanout = 0;                        // agents on emulated hosts reach no other host
        options.bind_to = launcher::BindTo::none;  // all emulated hosts have the same cores
        options.applications.back().argv.emplace_back(kOnClusterOption);
    }
    return launcher::run(options);
}

/// Where the environment of a process has the size of its job. The first column is the variable of bootstrap::Evidence.
constexpr std::pair<std::string_view, const char*> kSizes[] = {{bootstrap::kDescriptorVariable, bootstrap::kSizeVariable},
                                                               {bootstrap::kDirectoryVariable, bootstrap::kDirectorySizeVariable},
                                                               {"RANK", "WORLD_SIZE"},
                                                               {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"},
                                                               {"PMI_FD", "PMI_SIZE"},
                                                               {"PMI_RANK", "PMI_SIZE"},
                                                               {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
                                                               {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                                               {"SLURM_PROCID", "SLURM_NTASKS"}};

struct JobPlace {
    bool is_inside = false;
    int size = 1;  ///< 0: the starter does not tell it.
    std::string starter = {};
};

JobPlace place_in_environment() {
    const bootstrap::Evidence evidence = bootstrap::evident_starter();
    if (evidence.alone) return {};
    JobPlace place{.is_inside = true, .size = 0, .starter = evidence.starter};
    for (const auto& [shown_by, variable] : kSizes)
        if (const char* const size = std::getenv(variable); shown_by == evidence.variable && size != nullptr && place.size < 1)
            place.size = std::atoi(size);
    return place;
}

/// A process that joins its job removes most of these variables, so they are read only once.
const JobPlace& job_place() {
    static const JobPlace place = place_in_environment();
    return place;
}

std::filesystem::path path_of(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

}  // namespace

bool inside_job() { return job_place().is_inside; }

int job_size() {
    const JobPlace& place = job_place();
    if (place.size < 1)
        throw Error(ErrorCode::state, fmt::format("this process was started by {}, which does not tell it how many ranks the job has; "
                                                  "allowed: `rollcall run`, or no starter",
                                                  place.starter));
    return place.size;
}

void check_for_all(Job& job, const std::function<void()>& check) {
    try {
        check();
    } catch (const Error& error) {
        job.abort(usage::exit_code_of(error.code()), error.what());
    }
}

bool share_cpus(int ranks) { return ranks > static_cast<int>(std::max<std::size_t>(runtime::cpus_of().size(), 1)); }

void add_inherited_options(usage::Command& command, Inherited& inherited) {
    // Without a group, the option is not shown in the help.
    command.add_option(kTerminalOption, inherited.terminal)->group("");
    command.add_option(kSamplesOption, inherited.samples)->group("");
    command.add_option(kTerminalFileOption, inherited.terminal_file)->group("");
    command.add_option(kSamplesFileOption, inherited.samples_file)->group("");
    const auto read_first = [&inherited](const std::string& word) {
        inherited.first_iteration = parse_count(word, kFirstIterationOption, 0, std::numeric_limits<std::uint64_t>::max());
    };
    command.add_option(kFirstIterationOption, read_first)->group("");
}

void add_start_options(usage::Command& command, StartWords& words, int default_ranks) {
    usage::Option* const ranks =
        command
            .add_option("-n,--ranks", words.ranks,
                        fmt::format("How many ranks are started (under `rollcall run` or another starter: the size of its job){}",
                                    words.several_ranks ? fmt::format("; or a list, for a job of each number, {}", kCountList) : ""))
            ->type_name(words.several_ranks ? "N,..." : "N")
            ->default_str(std::to_string(default_ranks));
    // A job gets its own number behind the list.
    if (words.several_ranks) ranks->take_last();
    command.add_option("--env", words.environment, "Set an environment variable for the ranks; may be given again")
        ->type_name("K=V")
        ->one_word_each_time();
    command
        .add_option("--timeout", words.timeout,
                    "End the job after this time, with code 124 (only for jobs that the benchmark starts; under `rollcall run`, give its "
                    "own --timeout)")
        ->type_name("TIME");
    command
        .add_option(
            "--cluster", words.cluster,
            "Run on this many emulated hosts on this machine, each with a network of its own; needs root (default of --ranks: as many)")
        ->type_name("N");
    command.add_option("--rate", words.rate, "With --cluster: the rate of each host's link, in each direction, such as 100mbit or 1gbit")
        ->type_name("RATE")
        ->default_str(kNoRate);
    command.add_flag(kOnClusterOption, words.on_cluster)->group("");
    command.add_flag(kEnvironmentOption, words.has_environment)->group("");
}

namespace {

/// Whether tc of Linux takes this rate.
bool is_rate(std::string_view word) {
    const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    const std::string_view unit = word.substr(digits);
    const bool is_unit = unit == "bit" || unit == "kbit" || unit == "mbit" || unit == "gbit";
    return word == kNoRate || (is_unit && digits > 0 && digits <= 6 && word[0] != '0');
}

}  // namespace

std::vector<Start> checked_starts(const StartWords& words, int default_ranks, int fewest_ranks) {
    Start start;
    const auto fewest = static_cast<std::uint64_t>(fewest_ranks);
    int hosts = 0;
    if (!words.rate.empty() && words.cluster.empty())
        throw Error(ErrorCode::invalid_argument, "--rate without --cluster; allowed: --cluster N --rate RATE");
    std::string rate = words.rate;
    std::ranges::transform(rate, rate.begin(), [](unsigned char c) { return std::tolower(c); });  // 1Gbit
    if (!rate.empty() && !is_rate(rate))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--rate: {} is not a rate; allowed: {}, or a number with bit, kbit, mbit or gbit: 100mbit, 1gbit",
                                quote(words.rate), kNoRate));
    if (!words.cluster.empty()) {
        hosts = static_cast<int>(parse_count(words.cluster, "--cluster", 1, kMostClusterHosts));
        if (inside_job() && !words.on_cluster)
            throw Error(ErrorCode::invalid_argument, "--cluster in a job that is already running; allowed: outside of one");
    }
    const auto usual = static_cast<std::uint64_t>(inside_job() ? job_size() : hosts > 0 ? hosts : default_ranks);
    std::vector<std::uint64_t> numbers = {usual};
    if (!words.ranks.empty()) {
        if (words.several_ranks)
            numbers = parse_counts(words.ranks, "--ranks", fewest, launcher::kMostRanks);
        else
            numbers = {parse_count(words.ranks, "--ranks", fewest, launcher::kMostRanks)};
        if (inside_job() && numbers != std::vector{usual})
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--ranks {} in a job of {} ranks; allowed: {}, or leave it out", words.ranks, usual, usual));
    }
    if (numbers.front() < fewest)
        throw Error(ErrorCode::invalid_argument, fmt::format("this benchmark needs {} or more ranks, not {}", fewest, numbers.front()));
    for (const std::string& assignment : words.environment) {
        const auto equals = assignment.find('=');
        if (equals == 0 || equals == std::string::npos)
            throw Error(ErrorCode::invalid_argument, fmt::format("--env {}; allowed: NAME=VALUE", quote(assignment)));
        if (!words.has_environment) ::setenv(assignment.substr(0, equals).c_str(), assignment.substr(equals + 1).c_str(), 1);
    }
    start.environment = words.environment;
    if (!words.timeout.empty()) {
        start.timeout = Timeout(parse_time(words.timeout, "--timeout", 1));
    }
    Settings::from_environment();
    if (hosts > 0 && !inside_job()) start.cluster = std::make_shared<EmulatedCluster>(hosts, rate.empty() ? kNoRate : rate);
    std::vector<Start> starts;
    for (const std::uint64_t ranks : numbers) {
        start.ranks = static_cast<int>(ranks);
        starts.push_back(start);
    }
    return starts;
}

Start checked(const StartWords& words, int default_ranks, int fewest_ranks) {
    return checked_starts(words, default_ranks, fewest_ranks).front();
}

int start_again(const Start& how, const std::vector<std::string>& environment, const std::vector<std::string>& words) {
    std::vector<std::string> more = words;
    if (how.cluster) {
        if (const char* const name = ::ttyname(STDERR_FILENO)) more.insert(more.end(), {kTerminalFileOption, name});
        return start(how, environment, more);
    }
    // The ranks inherit it: it has no FD_CLOEXEC.
    const Descriptor terminal(::isatty(STDERR_FILENO) == 1 ? ::dup(STDERR_FILENO) : -1);
    if (terminal) more.insert(more.end(), {kTerminalOption, std::to_string(terminal.get())});
    return start(how, environment, more);
}

int start_with_samples(const Start& how, const std::vector<std::string>& environment, const std::vector<std::string>& words,
                       const std::function<void(const std::filesystem::path&, int)>& read) {
    if (how.cluster) {
        const auto path = how.cluster->directory() / "samples";
        std::vector<std::string> more = words;
        more.insert(more.end(), {kSamplesFileOption, path.string()});
        const int exit_code = start_again(how, environment, more);
        read(path, exit_code);
        std::error_code nothing_there;
        std::filesystem::remove(path, nothing_there);
        return exit_code;
    }
    const Descriptor file(::memfd_create("samples", 0));  // inherited, too
    if (!file) throw Error(ErrorCode::state, fmt::format("no file for samples in memory: {}", error_text(errno)));
    std::vector<std::string> more = words;
    more.insert(more.end(), {kSamplesOption, std::to_string(file.get())});
    const int exit_code = start_again(how, environment, more);
    read(path_of(file.get()), exit_code);
    return exit_code;
}

std::filesystem::path samples_path(const Inherited& inherited) {
    return inherited.samples >= 0 ? path_of(inherited.samples) : std::filesystem::path(inherited.samples_file);
}

Samples collect(const Start& how, const std::vector<std::string>& environment, const std::vector<std::string>& words) {
    Samples samples;
    const Nanoseconds begin = monotonic_now();
    samples.exit_code = start_with_samples(how, environment, words, [&](const std::filesystem::path& path, int exit_code) {
        if (exit_code != 0) return;  // only whole rounds count
        std::ifstream in(path);
        for (std::string line; std::getline(in, line);) {
            const auto tab = line.find('\t');
            const std::string key = line.substr(0, tab), value = line.substr(tab + 1);
            if (key == "transport") {
                samples.transport = value;
            } else if (key == "explanation") {
                samples.explanation = value;
            } else {
                samples.values[key].push_back(std::strtod(value.c_str(), nullptr));
            }
        }
        if (samples.values.empty()) throw Error(ErrorCode::state, "the job ended well, but left no samples");
    });
    samples.took = monotonic_now() - begin;
    return samples;
}

void leave(const Inherited& inherited, const Samples& samples) {
    std::ofstream out(samples_path(inherited));
    out << fmt::format("transport\t{}\n", samples.transport);
    if (!samples.explanation.empty()) out << fmt::format("explanation\t{}\n", samples.explanation);
    for (const auto& [key, values] : samples.values)
        for (const double value : values) out << fmt::format("{}\t{}\n", key, value);
    out.close();
    if (!out) throw Error(ErrorCode::state, fmt::format("samples cannot be left: {}", error_text(errno)));
}

ProgressLine::Surroundings progress_surroundings(const Inherited& inherited) {
    ProgressLine::Surroundings surroundings = ProgressLine::standard_error();
    int terminal = inherited.terminal;
    // Stays open until this process ends.
    if (!inherited.terminal_file.empty()) terminal = ::open(inherited.terminal_file.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) return surroundings;
    surroundings.is_terminal = true;
    winsize size{};
    if (::ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) surroundings.columns = size.ws_col;
    surroundings.write = [terminal](std::string_view text) {
        [[maybe_unused]] const auto written = ::write(terminal, text.data(), text.size());
    };
    return surroundings;
}

std::string transport_name(const Job& job) {
    // The setting may leave the choice to the job (auto).
    const bool is_ucx = job.transport_description().starts_with("UCX");
    const char* const chosen = std::getenv(is_ucx ? "UCX_TLS" : "ROLLCALL_OFI_PROVIDER");
    return fmt::format("{}{}{}", is_ucx ? "ucx" : "ofi", chosen == nullptr ? "" : ":", chosen == nullptr ? "" : chosen);
}

}  // namespace rollcall::bench
