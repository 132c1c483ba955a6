#include "bench/commands/overlap.hpp"

#include <fmt/format.h>

#include <memory>
#include <rollcall/rollcall.hpp>

#include "bench/cases/lists.hpp"
#include "bench/cases/payload.hpp"
#include "bench/options/sweep.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/rounds.hpp"
#include "foundation/settings.hpp"
#include "foundation/units.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace overlap_command {
namespace {

constexpr int kRanks = 2;
constexpr std::uint64_t kDefaultIterations = 20, kWarmup = 3;
constexpr Nanoseconds kDefaultCompute = 100'000'000;
/// Both ranks know the common start by this time.
constexpr Nanoseconds kStartMargin = 1'000'000;
/// The send begins at a random time, at the earliest after this many nanoseconds.
constexpr Nanoseconds kEarliestSend = 2'000'000;
constexpr std::uint64_t kOrderSeed = 7;
constexpr Tag kTag = 4;
constexpr const char* kBoth = "on,off";

constexpr const char *kWaiting = "waiting", *kComputing = "computing", *kLeft = "left";

struct Words : RoundWords {
    Words() { iterations = kDefaultIterations; }
    std::string bytes = "8Mi";
    std::string landing;  ///< Empty: kBoth, or what a running job has, or what the settings leave.
    std::string compute = "100ms";
};

struct Plan {
    std::vector<std::uint64_t> sizes;
    std::vector<std::string> landing;
    Nanoseconds compute = kDefaultCompute;
    std::uint64_t iterations = 0;
};

std::string key(std::uint64_t bytes, std::string_view what) { return fmt::format("{} {}", bytes, what); }

class Runner {
  public:
    Runner(Job& job, const Plan& plan) : job_(job), world_(job.world()), plan_(plan) {
        make_sleep_exact();
        job.synchronize_clocks();
    }

    Samples run() {
        samples_.transport = transport_name(job_);
        for (const std::uint64_t bytes : plan_.sizes) {
            data_.resize(bytes);
            for (std::uint64_t iteration = 0; iteration < kWarmup + plan_.iterations; ++iteration)  // waiting receiver: 0, computing one: 1
                for (const std::size_t variant : shuffled(2, kOrderSeed, iteration)) send(iteration, variant == 1, iteration >= kWarmup);
        }
        return std::move(samples_);
    }

  private:
    void send(std::uint64_t iteration, bool computes, bool counts) {
        const std::uint64_t content = bench::key_of({data_.size(), iteration, computes});
        if (job_.rank() == 0)
            fill(data_, content);
        else
            poison(data_, content);
        world_.barrier();
        Nanoseconds start = job_.time() + kStartMargin;
        world_.broadcast(start, 0, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
        start = job_.local_time_at(start);
        // The beginning of the send. Both ranks compute the same moment. It is in the first half of the computation.
        const auto latest = static_cast<std::uint64_t>(std::max<Nanoseconds>(plan_.compute / 2 - kEarliestSend, 1));
        const Nanoseconds begin = start + kEarliestSend + static_cast<Nanoseconds>(bench::key_of({iteration, 5}) % latest);
        const Nanoseconds computed = start + plan_.compute;
        if (job_.rank() == 0) {
            wait_until(begin, Compute::sleep);
            const Nanoseconds before = monotonic_now();
            world_.send(data_.data(), data_.size(), 1, kTag);
            const Nanoseconds after = monotonic_now();
            if (counts) {
                samples_.values[key(data_.size(), computes ? kComputing : kWaiting)].push_back(static_cast<double>(after - before) * 1e-9);
                if (computes) samples_.values[key(data_.size(), kLeft)].push_back(static_cast<double>(computed - before) * 1e-9);
            }
        } else if (job_.rank() == 1) {
            if (computes) wait_until(computed, Compute::spin);
            world_.receive(data_.data(), data_.size(), 0, kTag);
            if (const auto wrong = find_wrong(data_, content))
                job_.abort(1, fmt::format("a message of {} bytes came in wrong: byte {} is not what was sent", data_.size(), *wrong));
        }
    }

    Job& job_;
    const Communicator& world_;
    const Plan& plan_;
    Samples samples_;
    std::vector<std::byte> data_;
};

Plan plan_of(const Words& words) {
    Plan plan;
    plan.sizes = parse_sizes(words.bytes, "--bytes");
    const Choice choices[] = {{.name = "on"}, {.name = "off"}};
    plan.landing = parse_names(words.landing.empty() ? kBoth : words.landing, "landing", choices);
    plan.compute = parse_time(words.compute, "--compute", 4 * kEarliestSend);
    plan.iterations = words.iterations;
    return plan;
}

void print(CellPrinter& printer, const Plan& plan, const Words& words, const std::string& landing, const std::vector<Samples>& rounds) {
    for (const std::uint64_t bytes : plan.sizes) {
        const auto computing = together(rounds_of(rounds, key(bytes, kComputing)));
        const auto waiting = together(rounds_of(rounds, key(bytes, kWaiting)));
        const auto left = together(rounds_of(rounds, key(bytes, kLeft)));
        Cell cell = plain_cell({.operation = "overlap",
                                .algorithm = landing == "on" ? "landing" : "no_landing",
                                .transport = rounds.front().transport,
                                .ranks = kRanks,
                                .bytes = bytes,
                                .pattern = fmt::format("receiver_computes:{}", words.compute)},
                               computing);
        for (Metric& figure : overlap_figures(computing, waiting, left)) cell.metrics.push_back(std::move(figure));
        printer.add(cell);
    }
}

int run(const Words& words) {
    const Start start = checked(words.start, kRanks, kRanks);
    if (!inside_job() && start.ranks != kRanks)
        throw Error(ErrorCode::invalid_argument, fmt::format("an overlap of {} ranks; allowed: 2, a sender and a receiver", start.ranks));
    Plan plan = plan_of(words);
    std::vector<Variant> variants;
    const std::string of_job = Settings::from_environment().landing_bytes > 0 ? "on" : "off";
    if (!inside_job() && of_job == "off" && words.landing.empty()) plan.landing = {of_job};
    if (!inside_job() && of_job == "off" && plan.landing != std::vector<std::string>{"off"})
        throw Error(ErrorCode::invalid_argument,
                    "--landing on with ROLLCALL_LANDING_BYTES=0; allowed: --landing off, or a setting that leaves landing memory");
    refuse_other_settings(words.inherited, "--landing", words.landing, plan.landing, of_job);
    if (inside_job())
        variants.push_back({of_job});
    else
        for (const std::string& landing : plan.landing)
            variants.push_back(
                {landing, landing == "off" ? std::vector<std::string>{"ROLLCALL_LANDING_BYTES=0"} : std::vector<std::string>{}});
    const auto print_variant = [&](CellPrinter& printer, const Variant& variant, const std::vector<Samples>& rounds) {
        print(printer, plan, words, variant.name, rounds);
    };
    return run_rounds(start, words,
                      {.measure = [&](Job& job) { return Runner(job, plan).run(); }, .variants = variants, .print = print_variant});
}

}  // namespace
}  // namespace overlap_command

void add_overlap_command(usage::Command& bench, int& exit_code) {
    using namespace overlap_command;
    usage::Command* const command = bench.add_subcommand("overlap", "Measure how long a send to a receiver that computes takes");
    const auto words = std::make_shared<Words>();
    add_round_options(*command, *words, kRanks, "Sends to each of the two receivers");
    add_sizes_option(*command, "--bytes", words->bytes, "Sizes of the message");
    command
        ->add_option("--landing", words->landing,
                     "on: the landing budget as it is set; off: ROLLCALL_LANDING_BYTES=0; each is a job of its own")
        ->type_name("on,off")
        ->default_str(kBoth);
    command->add_option("--compute", words->compute, "How long the receiver computes without calling Rollcall")
        ->type_name("T")
        ->capture_default_str();
    command->footer(R"(
One rank sends to a receiver that computes, and to one that waits. Columns:
  run_time             the time of a send to a receiver that computes; it begins at a random moment of the first half of
                       the computation
  to_waiting_receiver  the time of a send to a receiver that waits
  ratio                run_time / to_waiting_receiver
  compute_left         how long the receiver still computes when the send begins
  share_of_left        run_time / compute_left)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
