#include "bench/loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <rollcall/rollcall.hpp>

#include "bench/clock.hpp"
#include "bench/lists.hpp"
#include "bench/operands.hpp"
#include "bench/patterns.hpp"
#include "bench/payload.hpp"
#include "bench/rounds.hpp"
#include "collectives/operations.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace {

constexpr int kDefaultRanks = 8;
constexpr std::uint64_t kWarmup = 3;
constexpr Tag kTag = 5;

struct Words : RoundWords {
    Words() {
        iterations = 200;
        rounds = 3;
    }
    std::string operations = "broadcast,gather";
    std::string bytes = "64Ki";
    std::string compute = "uniform:0..10ms";
    std::string how = "sleep";
    std::string decouple = "auto,no";
};

struct Plan {
    std::vector<std::string> operations;
    std::vector<std::uint64_t> sizes;
    std::vector<std::string> decouple;
    Pattern compute;
    Compute how = Compute::sleep;
    std::uint64_t iterations = 0;
};

std::string key(const std::string& operation, std::uint64_t bytes, const char* what) {
    return fmt::format("{} {} {}", operation, bytes, what);
}
constexpr const char *kTime = "time", *kLimit = "limit";

/// The work of one rank. As in a program, there is no barrier between iterations.
class Runner {
  public:
    Runner(Job& job, const Plan& plan) : job_(job), world_(job.world()), plan_(plan) { make_sleep_exact(); }

    Samples run() {
        samples_.transport = transport_name();
        for (const std::string& operation : plan_.operations)
            for (const std::uint64_t bytes : plan_.sizes) measure(operation, bytes);
        return std::move(samples_);
    }

  private:
    struct Took {
        Nanoseconds all, computed;
    };

    void measure(const std::string& operation, std::uint64_t bytes) {
        const runtime::OperationKind kind = collectives::find_operation(operation)->kind;
        const std::uint64_t size = call_bytes(kind, bytes, job_.size());
        Operands operands(world_, kind, size, 0);
        const std::uint64_t content = key_of({bytes, static_cast<std::uint64_t>(kind)});
        operands.prepare(content);
        Took mine{};
        for (std::uint64_t i = 0; i < kWarmup + plan_.iterations; ++i) {
            if (i == kWarmup) {
                world_.barrier();
                mine = {-monotonic_now(), 0};
            }
            const Nanoseconds own = plan_.compute.delays(job_.size(), 0, i, 0)[static_cast<std::size_t>(job_.rank())];
            mine.computed += own;
            wait_until(monotonic_now() + own, plan_.how);
            operands.call({});
        }
        mine.all += monotonic_now();
        // Data that calls have handed over must have arrived before it is checked.
        world_.barrier();
        if (const auto wrong = operands.find_wrong(content)) job_.abort(1, fmt::format("{}: {}", operands.describe("auto"), *wrong));
        if (job_.rank() != 0) return world_.send(mine, 0, kTag);
        Took longest = mine;
        for (int rank = 1; rank < job_.size(); ++rank) {
            Took its{};
            world_.receive(its, rank, kTag);
            longest.all = std::max(longest.all, its.all);
            longest.computed = std::max(longest.computed, its.computed);
        }
        const double iterations = static_cast<double>(plan_.iterations) * 1e9;
        samples_.values[key(operation, bytes, kTime)].push_back(static_cast<double>(longest.all) / iterations);
        samples_.values[key(operation, bytes, kLimit)].push_back(static_cast<double>(longest.computed) / iterations);
    }

    Job& job_;
    const Communicator& world_;
    const Plan& plan_;
    Samples samples_;
};

Plan plan_of(const Words& words) {
    Plan plan;
    std::vector<Choice> operations;
    for (const collectives::OperationRow& row : collectives::operations())
        if (row.moves_data) operations.push_back({.name = std::string(runtime::name(row.kind))});
    plan.operations = parse_names(words.operations, "operation", operations);
    plan.sizes = parse_sizes(words.bytes, "--bytes");
    const Choice modes[] = {{.name = "auto"}, {.name = "no"}};
    plan.decouple = parse_names(words.decouple, "way to decouple", modes);
    plan.compute = Pattern::parse(words.compute);
    if (plan.compute.needs_message_time())
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--compute {}; allowed: a pattern in units of time, such as uniform:0..10ms", words.compute));
    const Choice hows[] = {{.name = "sleep"}, {.name = "spin"}};
    const std::vector<std::string> how = parse_names(words.how, "way to compute", hows);
    if (how.size() != 1) throw Error(ErrorCode::invalid_argument, fmt::format("--by {}; allowed: sleep or spin", words.how));
    plan.how = how[0] == "spin" ? Compute::spin : Compute::sleep;
    plan.iterations = words.iterations;
    return plan;
}

void print(CellPrinter& printer, const Plan& plan, int ranks, const std::string& mode, const std::vector<Samples>& rounds) {
    for (const std::string& operation : plan.operations)
        for (const std::uint64_t bytes : plan.sizes) {
            const auto times = together(rounds_of(rounds, key(operation, bytes, kTime)));
            const auto limits = together(rounds_of(rounds, key(operation, bytes, kLimit)));
            std::vector<double> lost, ratio;
            for (std::size_t i = 0; i < times.size(); ++i) {
                lost.push_back(times[i] - limits[i]);
                ratio.push_back(limits[i] > 0 ? times[i] / limits[i] : std::numeric_limits<double>::quiet_NaN());
            }
            Cell cell = plain_cell({.operation = "loop",
                                    .algorithm = mode == "auto" ? "decoupled" : "coupled",
                                    .transport = rounds.front().transport,
                                    .ranks = ranks,
                                    .bytes = bytes,
                                    .pattern = plan.compute.describe(),
                                    .iterations = plan.iterations * times.size()},
                                   times);
            cell.metrics.push_back(metric("limit", Unit::seconds, limits));
            cell.metrics.push_back(metric("lost", Unit::seconds, lost));
            cell.metrics.push_back(metric("ratio", Unit::ratio, ratio));
            cell.notes.emplace_back("calls", operation);
            printer.add(cell);
        }
}

int run(const Words& words) {
    const Start start = checked(words.start, kDefaultRanks, 1);
    const Plan plan = plan_of(words);
    std::vector<Variant> modes;
    if (inside_job())
        modes.push_back({Settings::from_environment().decouple});
    else
        for (const std::string& mode : plan.decouple) modes.push_back({mode, {"ROLLCALL_DECOUPLE=" + mode}});
    const auto print_mode = [&](CellPrinter& printer, const Variant& mode, const std::vector<Samples>& rounds) {
        print(printer, plan, start.ranks, mode.name, rounds);
    };
    return run_rounds(start, words, {.measure = [&](Job& job) { return Runner(job, plan).run(); }, .variants = modes, .print = print_mode});
}

}  // namespace

void add_loop_command(usage::Command& bench, int& exit_code) {
    usage::Command* const command = bench.add_subcommand("loop", "Measure what an iterative program loses to ranks that are late in turn");
    const auto words = std::make_shared<Words>();
    add_round_options(*command, *words, kDefaultRanks, "Iterations of the loop");
    add_count_option(*command, "--rounds", words->rounds, "Jobs that are started for each value of --decouple, in turn");
    command->add_option("--operation", words->operations, "Operations that move data, separated by commas, or all")
        ->type_name("NAMES")
        ->capture_default_str();
    command->add_option("--bytes", words->bytes, fmt::format("Sizes of the message, or of the vector of all blocks, {}", kSizeList))
        ->type_name("SIZES")
        ->capture_default_str();
    command
        ->add_option("--compute", words->compute,
                     "How long each rank computes in each iteration: a pattern, as in --arrival of `rollcall bench broadcast`")
        ->type_name("PATTERN")
        ->capture_default_str();
    command->add_option("--by", words->how, "sleep: the ranks sleep instead of computing; spin: they occupy their cores")
        ->type_name("sleep|spin")
        ->capture_default_str();
    command->add_option("--decouple", words->decouple, "Values of ROLLCALL_DECOUPLE, separated by commas; each is a job in each round")
        ->type_name("auto,no")
        ->capture_default_str();
    command->footer(R"(
Each rank computes, then calls the operation, then goes on. There is no barrier.
  run_time  the time of an iteration, until the last rank is done
  limit     the longest compute time of any rank, which no library can undercut
  lost      run_time - limit
  ratio     run_time / limit
If all ranks are on one node, data goes through node memory with both values of --decouple. --cluster 8 puts each rank
on a host of its own. --env ROLLCALL_NODE_MEMORY=no uses messages instead of node memory.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
