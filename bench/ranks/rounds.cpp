#include "bench/ranks/rounds.hpp"

#include <algorithm>
#include <iostream>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <rollcall/error.hpp>
#include <rollcall/job.hpp>

#include "bench/cases/lists.hpp"
#include "bench/results/after_error.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

void run_in_job(const RoundWords& words, const RoundBenchmark& benchmark) {
    Job job;
    const Samples samples = benchmark.measure(job);
    if (job.rank() != 0) return;
    if (!samples_path(words.inherited).empty()) return leave(words.inherited, samples);
    CellPrinter printer(std::cout, words.format);
    benchmark.print(printer, benchmark.variants.front(), {samples});
    printer.finish();
}

/// Runs the jobs of all rounds over one transport. Returns the exit code of the first one that fails, or 0. `measured` has the samples of
/// each variant.
int measure_rounds(const Start& start, const RoundWords& words, const RoundBenchmark& benchmark, const TransportChoice& transport,
                   std::vector<std::vector<Samples>>& measured) {
    for (std::uint64_t round = 0; round < words.rounds; ++round)
        for (std::size_t variant = 0; variant < measured.size(); ++variant) {
            std::vector<std::string> environment = transport.environment;
            const auto& more = benchmark.variants[variant].environment;
            environment.insert(environment.end(), more.begin(), more.end());
            // The environment chooses the transport.
            const std::uint64_t first = round * words.iterations;
            Samples samples = collect(start, environment, {"--transport", "default", kFirstIterationOption, std::to_string(first)});
            if (samples.exit_code != 0) return samples.exit_code;
            samples.first_iteration = first;
            if (benchmark.after_job) benchmark.after_job(transport, samples);
            measured[variant].push_back(std::move(samples));
        }
    return 0;
}

/// Prints the rounds in which all variants, and all peers after them, were measured. Leaves none behind.
void print_complete_rounds(CellPrinter& printer, const RoundBenchmark& benchmark, std::vector<std::vector<Samples>>& measured) {
    std::size_t complete = std::numeric_limits<std::size_t>::max();
    for (const std::vector<Samples>& rounds : measured) complete = std::min(complete, rounds.size());
    for (std::size_t variant = 0; variant < measured.size() && complete > 0; ++variant) {
        keep_complete(measured[variant], complete);
        benchmark.print(printer, benchmark.variants[variant], measured[variant]);
    }
    measured.clear();
}

}  // namespace

void add_round_options(usage::Command& command, RoundWords& words, int default_ranks, const char* iterations_help) {
    add_start_options(command, words.start, default_ranks);
    command
        .add_option("--transport", words.transports,
                    "Transports, separated by commas: default; shm and tcp (UCX with UCX_TLS=posix,self or UCX_TLS=tcp,self); ofi_shm and "
                    "ofi_tcp (ROLLCALL_TRANSPORT=ofi with ROLLCALL_OFI_PROVIDER=shm or tcp)")
        ->type_name("default|shm|tcp|ofi_shm|ofi_tcp,...")
        ->capture_default_str()
        ->take_last();
    add_count_option(command, "--iterations", words.iterations, iterations_help);
    output::add_format_option(command, words.format);
    add_inherited_options(command, words.inherited);
}

void add_count_option(usage::Command& command, const char* name, std::uint64_t& count, const char* help) {
    constexpr std::uint64_t kMost = 1'000'000;
    const auto read = [&count, name](const std::string& word) { count = parse_count(word, name, 1, kMost); };
    command.add_option(name, read, help)->type_name("N")->default_str(std::to_string(count));
}

void add_rounds_option(usage::Command& command, RoundWords& words) {
    add_count_option(command, "--rounds", words.rounds,
                     "Jobs that are started, one after the other (a job that is already running is the only one)");
}

void add_sizes_option(usage::Command& command, const char* name, std::string& sizes, const char* help) {
    command.add_option(name, sizes, fmt::format("{}, {}", help, kSizeList))->type_name("SIZES")->capture_default_str();
}

int run_rounds(const Start& start, const RoundWords& words, const RoundBenchmark& benchmark) {
    const std::vector<TransportChoice> transports = parse_transports(words.transports);
    if (inside_job()) {
        run_in_job(words, benchmark);
        return 0;
    }
    CellPrinter printer(std::cout, words.format);
    std::vector<std::vector<Samples>> measured;
    int failed = 0;
    try {
        for (const TransportChoice& transport : transports) {
            measured.assign(benchmark.variants.size(), {});
            failed = measure_rounds(start, words, benchmark, transport, measured);
            print_complete_rounds(printer, benchmark, measured);
            if (failed != 0) break;
        }
    } catch (...) {
        after_error([&] {
            print_complete_rounds(printer, benchmark, measured);
            printer.finish();
        });
        throw;
    }
    printer.finish();
    return failed;
}

Rounds rounds_of(const std::vector<Samples>& measured, const std::string& name) {
    Rounds rounds;
    for (const Samples& samples : measured) rounds.push_back(samples.values.at(name));
    return rounds;
}

std::vector<TransportChoice> parse_transports(std::string_view text) {
    static const std::vector<TransportChoice> kAll = {{"default", {}},
                                                      {"shm", {"ROLLCALL_TRANSPORT=ucx", "UCX_TLS=posix,self"}},
                                                      {"tcp", {"ROLLCALL_TRANSPORT=ucx", "UCX_TLS=tcp,self"}},
                                                      {"ofi_shm", {"ROLLCALL_TRANSPORT=ofi", "ROLLCALL_OFI_PROVIDER=shm"}},
                                                      {"ofi_tcp", {"ROLLCALL_TRANSPORT=ofi", "ROLLCALL_OFI_PROVIDER=tcp"}}};
    std::vector<Choice> choices;
    for (const TransportChoice& one : kAll) choices.push_back({.name = one.name});
    std::vector<TransportChoice> chosen;
    for (const std::string& name : parse_names(text, "transport", choices)) {
        if (inside_job() && name != "default")
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--transport {} in a job that is already running; allowed: default (give the job "
                                    "UCX_TLS or ROLLCALL_TRANSPORT, or start the benchmark outside of a job)",
                                    name));
        chosen.push_back(*std::find_if(kAll.begin(), kAll.end(), [&](const auto& one) { return one.name == name; }));
    }
    return chosen;
}

void refuse_other_settings(const Inherited& inherited, const char* option, const std::string& asked, const std::vector<std::string>& values,
                           const std::string& set) {
    if (!inside_job() || !samples_path(inherited).empty() || asked.empty() || values == std::vector{set}) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} {} in a job that is already running; allowed: {}, as its settings say, or the benchmark outside of a job",
                            option, asked, set));
}

void refuse_other_than_peers(const std::vector<TransportChoice>& transports, bool on_cluster) {
    for (const TransportChoice& transport : transports)
        if (transport.name.ends_with("tcp") && !on_cluster)
            throw Error(ErrorCode::invalid_argument,
                        fmt::format("--peer with --transport {}; allowed: default, shm, ofi_shm, because the peers use shared memory",
                                    transport.name));
}

Cell plain_cell(CellIdentity identity, std::span<const double> run_time) {
    Cell cell;
    cell.identity = std::move(identity);
    if (cell.identity.iterations == 0) cell.identity.iterations = run_time.size();
    cell.metrics.push_back(metric("run_time", Unit::seconds, run_time));
    for (const char* name : {"mean_elapsed", "worst_elapsed", "last_delay"}) {
        cell.metrics.push_back(undefined(name, Unit::seconds));
        cell.metrics.back().in_table = false;
    }
    return cell;
}

void add_beside_peers(CellPrinter& printer, CellIdentity identity, const Rounds& ours, std::span<const PeerRounds> peers,
                      const std::vector<std::pair<std::string, std::string>>& notes) {
    Cell cell = plain_cell(std::move(identity), together(ours));
    if (!peers.empty()) cell.metrics.push_back(undefined("rollcall_ratio", Unit::ratio));
    cell.notes = notes;
    printer.add(cell);
    for (const PeerRounds& peer : peers) {
        Rounds rounds = peer.rounds;
        keep_complete(rounds, ours.size());
        cell = plain_cell(peer.identity, together(rounds));
        cell.metrics.push_back(rollcall_ratio(ours, rounds));
        cell.notes = notes;
        printer.add(cell);
    }
}

}  // namespace rollcall::bench
