#include "bench/commands/collective.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <rollcall/rollcall.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands/agenda.hpp"
#include "bench/commands/collective_rank.hpp"
#include "bench/commands/report.hpp"
#include "bench/options/landing.hpp"
#include "bench/peers/peer_calls.hpp"
#include "bench/peers/peer_plan.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/results/after_error.hpp"
#include "bench/results/raw.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

using runtime::OperationKind;

/// The work of a rank of a job. Rank 0 leaves its samples for the process that started the job, or prints them if no process waits for
/// them.
void work_as_rank(const AgendaWords& words, Agenda agenda) {
    Job job;
    leave_out_impossible(agenda.sweep, job.world());
    const auto measure = [&](const std::function<void(std::vector<Measured>)>& use) { measure_as_rank(job, agenda, words.inherited, use); };
    if (job.rank() != 0) {
        measure([](const std::vector<Measured>&) {});
    } else if (const auto path = samples_path(words.inherited); !path.empty()) {
        RawWriter samples(path);
        measure([&](const std::vector<Measured>& cells) {
            for (const Measured& cell : cells)
                for (const CallSample& call : cell.calls) samples.append(cell.identity, cell.setup, call);
            samples.flush();
        });
        samples.close();
    } else {
        check_for_all(job, [&] { require_files(agenda.sweep); });
        Report report(agenda.sweep, std::cout);
        measure([&](std::vector<Measured> cells) {
            for (Measured& cell : cells) report.add(std::move(cell));
            report.flush();  // the job may be interrupted before the next size has been measured
        });
        report.finish();
    }
}

/// The settings and further words with which a job is started.
struct JobWords {
    std::vector<std::string> environment, words;
    std::string landing = {};  ///< That of this job, if there are jobs of several ones.
};

/// Starts a job that leaves its samples. Returns its exit code. If the job fails, `use` still gets the cells that were measured before.
int collect_cells(const Start& start, const JobWords& job, const std::function<void(RawCell)>& use) {
    return start_with_samples(start, job.environment, job.words, [&](const std::filesystem::path& path, int exit_code) {
        for (RawCell& cell : read_raw(path, exit_code == 0 ? RawFile::whole : RawFile::cut_off)) use(std::move(cell));
    });
}

/// What is measured with one number of ranks.
struct Part {
    Start start;
    Agenda agenda;
    std::vector<JobWords> jobs;  ///< One for each value of --landing.
};

Part part_of(const AgendaWords& words, OperationKind operation, const Start& start) {
    Part part{.start = start, .agenda = checked(words, operation, start), .jobs = {}};
    JobWords job{.environment = enough_slots(part.agenda), .words = {"--ranks", std::to_string(start.ranks)}};
    // In the paper, a rank's part in a call begins and ends with its caller.
    if (part.agenda.sweep.as_in_paper && !std::getenv("ROLLCALL_DECOUPLE")) job.environment.emplace_back("ROLLCALL_DECOUPLE=no");
    if (part.agenda.landing.empty()) part.jobs.push_back(job);
    for (const std::string& landing : part.agenda.landing) {
        JobWords with = job;
        with.words.insert(with.words.end(), {"--landing", landing});
        if (part.agenda.landing.size() > 1) with.landing = landing;
        for (const std::string& setting : environment_of(landing)) with.environment.push_back(setting);
        part.jobs.push_back(std::move(with));
    }
    return part;
}

/// The samples of peers name no distribution of sizes. There is one at most with peers.
void add_to(Report& report, const Sweep& sweep, RawCell cell) {
    const bool names_it = !cell.setup.sizes.empty() || sweep.distributions.empty();
    Measured measured{std::move(cell.identity), cell.setup, std::move(cell.samples)};
    add_notes(measured, sweep, names_it ? std::nullopt : std::optional(sweep.distributions.front()));
    report.add(std::move(measured));
}

/// The jobs run one after the other. Returns the exit code of the first one that fails, or 0.
int run_jobs(const Part& part, Report& report) {
    for (const JobWords& job : part.jobs) {
        const auto use = [&](RawCell cell) {
            cell.setup.landing = job.landing;
            add_to(report, part.agenda.sweep, std::move(cell));
        };
        if (const int failed = collect_cells(part.start, job, use)) return failed;
    }
    return 0;
}

/// Jobs of Rollcall and runs of the peers take turns. Returns the exit code of the first job that fails, or 0.
int run_with_peers(const Part& part, Report& report) {
    const Start& start = part.start;
    const Agenda& agenda = part.agenda;
    const auto& phases = agenda.sweep.phases;
    const Compute wait = agenda.wait.value_or(phases || share_cpus(start.ranks) ? Compute::sleep : Compute::spin);
    JobWords job = part.jobs.front();
    job.words.insert(job.words.end(), {"--wait", wait == Compute::sleep ? "sleep" : "spin", kFirstIterationOption, "0"});
    std::vector<RawCell> all;  // of complete rounds
    const auto report_all = [&] {
        for (RawCell& cell : grouped(std::exchange(all, {}))) add_to(report, agenda.sweep, std::move(cell));
    };
    const auto measure_round = [&](std::uint64_t round) {
        job.words.back() = std::to_string(round * agenda.iterations);
        std::vector<RawCell> ours;
        const Nanoseconds begin = monotonic_now();
        const int failed = collect_cells(start, job, [&](RawCell cell) { ours.push_back(std::move(cell)); });
        if (failed) return failed;
        PeerSetup setup{.wait = wait, .warmup = agenda.warmup, .seed = agenda.sweep.seed, .in_first = agenda.sweep.in_first};
        if (phases) setup.compute = 2 * phases->compute;
        if (!agenda.sweep.distributions.empty()) setup.distribution = agenda.sweep.distributions.front();
        const PeerCalls calls(ours, setup);
        const Timeout limit = peer_limit(start, monotonic_now() - begin);
        for (const Peer* peer : agenda.peers) append(ours, calls.measure(*peer, start.cluster.get(), limit));
        append(all, ours);
        return 0;
    };
    int failed = 0;
    try {
        for (std::uint64_t round = 0; round < agenda.rounds && failed == 0; ++round) failed = measure_round(round);
    } catch (...) {
        after_error(report_all);
        throw;
    }
    report_all();
    return failed;
}

int run(const AgendaWords& words, OperationKind operation) {
    std::vector<Part> parts;
    const int fewest = runtime::is_between_groups(operation) ? 2 : 1;
    for (const Start& start : checked_starts(words.start, kDefaultRanks, fewest)) parts.push_back(part_of(words, operation, start));
    const Part& first = parts.front();
    if (inside_job()) {
        work_as_rank(words, first.agenda);
        return 0;
    }
    const Sweep& sweep = first.agenda.sweep;
    const bool several_jobs = parts.size() > 1 || first.jobs.size() > 1, with_peers = !first.agenda.peers.empty();
    // Rows of csv and json are printed by the job itself as they come. Text waits for the last row, and the job may not live that long.
    if (const JobWords& job = first.jobs.front(); !several_jobs && !with_peers && sweep.format != output::Format::text)
        return start_again(first.start, job.environment, job.words);
    Report report(sweep, std::cout);
    int failed = 0;
    try {
        for (auto part = parts.begin(); part != parts.end() && failed == 0; ++part)
            failed = with_peers ? run_with_peers(*part, report) : run_jobs(*part, report);
    } catch (...) {
        after_error([&] { report.finish(); });  // what was measured before is not lost
        throw;
    }
    report.finish();
    return failed;
}

/// Adds the command of one operation. If blocks have sizes of their own, `sizes` selects the distributions.
void add_command(usage::Command& bench, OperationKind operation, const std::string& name, const std::string& summary,
                 std::optional<std::string> distributions, int& exit_code) {
    usage::Command* const command = bench.add_subcommand(name, summary);
    const auto words = std::make_shared<AgendaWords>();
    words->sweep.sizes = std::move(distributions);
    command->when_named([command, words, operation] { add_agenda_options(*command, *words, operation); });
    command->callback([words, operation, &exit_code] { exit_code = run(*words, operation); });
}

}  // namespace

void add_collective_commands(usage::Command& bench, int& exit_code) {
    for (const collectives::OperationRow& row : collectives::all_operations()) {
        // The allgather between two groups has commands of its own.
        if (!row.moves_data || row.kind == OperationKind::intergroup_allgather) continue;
        const std::string name(runtime::name(row.kind));
        add_command(bench, row.kind, name,
                    "Measure " + name + " under arrival patterns, with or without compute phases, all algorithms interleaved", {},
                    exit_code);
        if (row.has_own_sizes)
            add_command(bench, row.kind, name + "v", fmt::format("Measure {} of blocks of different sizes, in eleven distributions", name),
                        "spikes", exit_code);
    }
}

}  // namespace rollcall::bench
