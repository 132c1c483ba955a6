#include "bench/commands/idle.hpp"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <rollcall/rollcall.hpp>

#include "bench/cases/lists.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/rounds.hpp"
#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace idle_command {
namespace {

constexpr int kDefaultRanks = 4;
constexpr Tag kTag = 5;

struct Words {
    StartWords start;
    Inherited inherited;
    std::string duration = "10s";
    output::Format format = output::Format::text;
};

BackgroundCost cost_of(const Job& job) {
    const ProgressStatistics statistics = job.progress_statistics();
    return {statistics.background_cpu_time, statistics.background_looks, statistics.background_takeovers, statistics.background_parks};
}

/// Returns the sum over all ranks, at rank 0.
BackgroundCost idle(const Job& job, Compute how, Nanoseconds duration) {
    const Communicator& world = job.world();
    world.barrier();
    const BackgroundCost before = cost_of(job);
    wait_until(monotonic_now() + duration, how);
    const BackgroundCost after = cost_of(job);
    BackgroundCost sum{after.cpu_time - before.cpu_time, after.looks - before.looks, after.takeovers - before.takeovers,
                       after.parks - before.parks};
    if (job.rank() != 0) {
        world.send(sum, 0, kTag);
        return sum;
    }
    for (int rank = 1; rank < job.size(); ++rank) {
        const auto other = world.receive<BackgroundCost>(rank, kTag);
        sum.cpu_time += other.cpu_time;
        sum.looks += other.looks;
        sum.takeovers += other.takeovers;
        sum.parks += other.parks;
    }
    return sum;
}

int run(const Words& words) {
    const Start start = checked(words.start, kDefaultRanks, 1);
    const Nanoseconds duration = parse_time(words.duration, "--duration", 1);
    if (!inside_job()) return start_again(start);
    Job job;
    CellPrinter printer(std::cout, words.format);
    for (const auto& [name, how] : {std::pair{"sleep", Compute::sleep}, std::pair{"compute", Compute::spin}}) {
        const BackgroundCost cost = idle(job, how, duration);
        if (job.rank() != 0) continue;
        Cell cell = plain_cell({.operation = "idle", .algorithm = name, .transport = transport_name(job), .ranks = job.size()},
                               std::vector{seconds_each(static_cast<double>(duration), 1)});
        for (Metric& figure : idle_figures(cost, duration)) cell.metrics.push_back(std::move(figure));
        printer.add(cell);
    }
    if (job.rank() == 0) printer.finish();
    return 0;
}

}  // namespace
}  // namespace idle_command

void add_idle_command(usage::Command& bench, int& exit_code) {
    using namespace idle_command;
    usage::Command* const command = bench.add_subcommand("idle", "Measure what the background threads cost while nothing is communicated");
    const auto words = std::make_shared<Words>();
    add_start_options(*command, words->start, idle_command::kDefaultRanks);
    command->add_option("--duration", words->duration, "How long the ranks sleep, and then how long they compute")
        ->type_name("T")
        ->capture_default_str();
    output::add_format_option(*command, words->format);
    add_inherited_options(*command, words->inherited);
    command->footer(R"(
background_cpu_percent is the processor time of all background threads together, in percent of one core. looks
says how often they woke, takeovers how often they found work, and parks how often they went to sleep.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
