#include "bench/commands/tune.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rollcall/rollcall.hpp>

#include "bench/commands/bandwidth.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/message_time.hpp"
#include "bench/ranks/start.hpp"
#include "bench/results/figures.hpp"
#include "bench/results/number.hpp"
#include "bench/results/statistics.hpp"
#include "collectives/reductions/reductions.hpp"
#include "foundation/costs.hpp"
#include "foundation/error_text.hpp"
#include "foundation/host_name.hpp"
#include "foundation/quote.hpp"
#include "foundation/settings.hpp"
#include "support/output.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace tune_command {
namespace {

constexpr int kRanks = 2;
constexpr std::uint64_t kShort = 8, kMebibyte = 1 << 20;
/// The first ones are slower, and one takes only some 20 us.
constexpr std::uint64_t kWindows = 200;
constexpr int kSamples = 20;
constexpr std::uint64_t kBarriers = 500;
/// One sample is a median of several round trips, which are close together. What else the machine does shows between such samples.
constexpr int kMessageSamples = 9;

struct Words {
    StartWords start;
    Inherited inherited;
    std::string file;
    output::Format format = output::Format::text;
};

/// Measures in a job, in seconds under the names of the costs. Only the samples of rank 0 count.
class Runner {
  public:
    Runner(Job& job, ProgressLine& progress) : job_(job), progress_(progress) { samples_.transport = transport_name(job_); }
    static constexpr std::size_t kSteps = 8;

    Samples run() {
        const Communicator host = job_.world().split_by_host();
        const Communicator first_ranks = job_.world().split(host.rank() == 0 ? 0 : Communicator::kNoColor, job_.rank());
        measure_messages(pair_of(host), "node");
        measure_signals(pair_of(host));
        if (host.rank() == 0) measure_messages(pair_of(first_ranks), "network");
        job_.world().barrier();
        step("copies");
        measure_copies();
        return std::move(samples_);
    }

  private:
    void step(std::string_view what) { progress_.update(done_++, what); }
    /// The first two ranks, or null.
    static Communicator pair_of(const Communicator& ranks) {
        if (ranks.size() < kRanks) return {};
        return ranks.split(ranks.rank() < kRanks ? 0 : Communicator::kNoColor, ranks.rank());
    }
    std::vector<double>& samples(const std::string& path, std::string_view what) {
        return samples_.values[fmt::format("{}_{}", path, what)];
    }

    void measure_messages(const Communicator& pair, const std::string& path) {
        if (!pair) return;
        const auto times = [&](std::uint64_t bytes) {
            std::vector<double> found;
            for (int sample = 0; sample < kMessageSamples; ++sample)
                found.push_back(seconds_each(static_cast<double>(message_time(pair, 0, 1, bytes)), 1));
            return found;
        };
        step(path + " latency");
        samples(path, "latency") = times(kShort);
        step(path + " 1Mi");
        samples(path, "mebibyte") = added_by_mebibyte(times(kMebibyte), samples(path, "latency"));
        step(path + " message rate");
        samples(path, "gap") = message_gaps(job_, pair, kShort, kWindows);
    }

    /// In a barrier of two ranks that share memory, each signals to the other one.
    void measure_signals(const Communicator& pair) {
        if (!pair) return;
        step("signals");
        for (int sample = 0; sample < kSamples; ++sample)
            samples("signal", "latency").push_back(seconds_of_each(monotonic_now, kBarriers, [&] { pair.barrier(); }));
    }

    void measure_copies() {
        std::vector<float> from(kMebibyte / sizeof(float), 1), into(from.size(), 0);
        const auto combiner = collectives::combiner_of(Reduction{.type = ElementType::float32, .element_bytes = sizeof(float)});
        const auto time = [](auto what) { return seconds_of_each(monotonic_now, 1, what); };
        for (int sample = 0; sample < kSamples; ++sample) {
            samples("copy", "mebibyte").push_back(time([&] { std::memcpy(into.data(), from.data(), kMebibyte); }));
            samples("combine", "mebibyte").push_back(time([&] { combiner(into.data(), into.data(), from.data(), kMebibyte); }));
        }
    }

    Job& job_;
    ProgressLine& progress_;
    Samples samples_;
    std::size_t done_ = 0;
};

/// The costs before, or the built-in ones if their file is wrong, because it is replaced.
Costs costs_before(const std::string& path) {
    std::error_code unreadable;
    if (!std::filesystem::exists(path, unreadable)) return {};
    try {
        return read_costs(path);
    } catch (const Error& error) {
        std::cerr << fmt::format("rollcall tune: the file is replaced, because it is wrong: {}\n", error.what());
        return {};
    }
}

[[noreturn]] void refuse_file(const std::string& path, int reason) {
    throw Error(ErrorCode::state,
                fmt::format("the file of costs {} cannot be written ({}): name another one by --file", quote(path), error_text(reason)));
}

/// Where the last one of a chain of symbolic links points to.
std::filesystem::path behind_links(const std::string& path) {
    std::error_code failed;
    std::filesystem::path target = path;
    constexpr int kMostLinks = 40;  // as many as Linux follows
    for (int links = 0; std::filesystem::is_symlink(std::filesystem::symlink_status(target, failed)); ++links) {
        if (links == kMostLinks) refuse_file(path, ELOOP);
        const std::filesystem::path next = std::filesystem::read_symlink(target, failed);
        if (failed) refuse_file(path, failed.value());
        target = target.parent_path() / next;
    }
    return target;
}

/// The file that is replaced: where `path` is a symbolic link, the file behind it, which need not exist yet, so that the link stays.
/// Refuses what is no regular file, such as a device, because a rename would replace it.
std::filesystem::path replaceable(const std::string& path) {
    std::error_code failed;
    const auto status = std::filesystem::status(path, failed);
    if (!std::filesystem::exists(status)) return behind_links(path);
    if (!std::filesystem::is_regular_file(status))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the file of costs {} is no regular file; allowed: a file, or a name that is free", quote(path)));
    const std::filesystem::path target = std::filesystem::canonical(path, failed);
    if (failed) refuse_file(path, failed.value());
    return target;
}

/// Replaces the file at once, so that a job that starts meanwhile reads all of the old one or of the new one.
void replace(const std::string& path, const std::string& text) {
    const std::filesystem::path target = replaceable(path), directory = target.parent_path();
    std::error_code failed;
    if (!directory.empty()) std::filesystem::create_directories(directory, failed);
    if (failed) refuse_file(path, failed.value());
    const std::string fresh = fmt::format("{}.{}", target.string(), ::getpid());
    errno = 0;
    std::ofstream out(fresh);
    out << text;
    out.close();
    int reason = out ? 0 : errno;
    if (out) {
        std::filesystem::rename(fresh, target, failed);
        if (!failed) return;
        reason = failed.value();
    }
    std::error_code nothing_there;
    std::filesystem::remove(fresh, nothing_there);
    refuse_file(path, reason);
}

/// The file that --file names, or else this value of ROLLCALL_COSTS.
std::string file_of(const Words& words, const std::string& setting) {
    const std::string path = words.file.empty() ? costs_path(setting) : words.file;
    if (path.empty())
        throw Error(ErrorCode::invalid_argument, setting.empty() ? "there is no home directory for the file of costs; allowed: --file PATH"
                                                                 : "ROLLCALL_COSTS=no names no file of costs; allowed: --file PATH");
    replaceable(path);  // so that it is refused before the measurement
    return path;
}

void finish(const Words& words, const std::string& path, const Samples& samples, int ranks) {
    const Costs before = costs_before(path);
    Costs now = before;
    std::vector<std::string_view> missing, unsteady;
    output::Table table(std::cout, words.format);
    for (const CostName& cost : kCostNames) {
        const auto measured = samples.values.find(std::string(cost.name));
        if (measured == samples.values.end()) {
            missing.push_back(cost.name);
            continue;
        }
        if (is_unsteady(measured->second)) unsteady.push_back(cost.name);
        now.*cost.member = cost_of(measured->second);
        const auto seconds = [](Nanoseconds time) { return output::Seconds{static_cast<double>(time) * 1e-9}; };
        const double change = static_cast<double>(now.*cost.member) / static_cast<double>(before.*cost.member);
        table.add({{"cost", cost.name},
                   {"before", seconds(before.*cost.member)},
                   {"now", seconds(now.*cost.member)},
                   {"change", number_or_text(words.format, change, fmt::format("{:.2f}x", change))},
                   {"meaning", cost.meaning}});
    }
    table.finish();
    const std::string origin =
        fmt::format("Measured by `rollcall tune` with {} ranks, over {}; rank 0 on {}.", ranks, samples.transport, printable(host_name()));
    replace(path, write_costs(now, origin));
    std::cerr << fmt::format("written to {}\n", printable(path));
    if (!unsteady.empty())
        std::cerr << fmt::format(
            "rollcall tune: the slowest quarter of the samples of {} takes more than {:g}x as long as the fastest quarter, so other "
            "programs "
            "seem to use this machine: run it again when nothing else runs\n",
            fmt::join(unsteady, ", "), kUnsteady);
    if (!missing.empty())
        std::cerr << fmt::format(
            "not measured: {}. They need ranks that share a host and ranks on two hosts: rollcall run --hosts a:2,b:2 "
            "rollcall tune\n",
            fmt::join(missing, ", "));
}

int run(const Words& words) {
    const Start start = checked(words.start, kRanks, kRanks);
    const std::string setting = Settings::from_environment().costs;
    if (!inside_job()) {
        const std::string path = file_of(words, setting);  // fails before the job if there is none
        const Samples samples = collect(start, {"ROLLCALL_COSTS=no"}, {});
        if (samples.exit_code == 0) finish(words, path, samples, start.ranks);
        return samples.exit_code;
    }
    // In a job that a user has started: the file may be wrong, or not there yet, and is replaced.
    ::setenv("ROLLCALL_COSTS", "no", 1);
    Job job;
    // Only rank 0 writes, so only its environment has to name a file. If it refused before it joins, the other ranks would wait for it.
    const bool is_writer = job.rank() == 0 && samples_path(words.inherited).empty();
    std::string path;
    if (is_writer) check_for_all(job, [&] { path = file_of(words, setting); });
    ProgressLine::Surroundings surroundings = progress_surroundings(words.inherited);
    if (job.rank() != 0) surroundings.is_terminal = false;
    ProgressLine progress(Runner::kSteps, std::move(surroundings));
    const Samples samples = Runner(job, progress).run();
    progress.erase();
    if (job.rank() != 0) return 0;
    if (is_writer)
        finish(words, path, samples, job.size());
    else
        leave(words.inherited, samples);
    return 0;
}

}  // namespace
}  // namespace tune_command

void add_tune_command(usage::Command& root, int& exit_code) {
    using namespace tune_command;
    usage::Command* const command =
        root.add_subcommand("tune", "Measure what messages and copies cost on this machine, for the choices of `auto`");
    const auto words = std::make_shared<Words>();
    command->when_named([command, words] {
        add_start_options(*command, words->start, kRanks);
        command
            ->add_option("--file", words->file,
                         "Write the costs to this file (default: that of ROLLCALL_COSTS, or ~/.config/rollcall/costs)")
            ->type_name("PATH");
        output::add_format_option(*command, words->format);
        add_inherited_options(*command, words->inherited);
    });
    command->footer(R"(
Two ranks of a host exchange short and long messages for some seconds. If the job is on several hosts, two ranks on
different hosts do the same. The medians replace those in the file. Costs that were not measured stay as they are. Jobs
read the file when they start. Nothing else should run on the hosts meanwhile. If the samples of a cost differ much, a
line on standard error says so.
On this host:       rollcall tune
Between two hosts:  rollcall run --hosts a:2,b:2 rollcall tune
Use them:           rollcall info --explain broadcast --bytes 64Ki --ranks 8 shows what `auto` compares with them.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
