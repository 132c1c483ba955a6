#include "bench/broadcast.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <rollcall/rollcall.hpp>

#include "bench/clock.hpp"
#include "bench/lists.hpp"
#include "bench/payload.hpp"
#include "bench/report.hpp"
#include "bench/start.hpp"
#include "bench/sweep.hpp"
#include "runtime/settings/settings.hpp"

namespace rollcall::bench {
namespace {

constexpr int kDefaultRanks = 8;
/// Enough for an interval of the median that leaves out the five largest and the five smallest samples.
constexpr std::uint64_t kDefaultIterations = 20;
constexpr std::uint64_t kDefaultWarmup = 2;
constexpr std::uint64_t kMostWarmup = 10'000;

/// A common start must lie behind the moment when the last rank has been told of it.
constexpr Nanoseconds kStartMargin = 1'000'000;
constexpr Nanoseconds kStartMarginPerRank = 50'000;

/// T: round trips of a sample, where they are short, and samples.
constexpr std::uint64_t kShortMessage = 64 << 10;
constexpr int kShortRoundTrips = 20;
constexpr int kRoundTripSamples = 15;
constexpr int kRoundTripWarmup = 3;
constexpr Tag kRoundTripTag = 1;
constexpr Tag kGatherTag = 2;

/// Self-test: the rank this variable names spoils a byte of what it received before it checks.
constexpr const char* kCorruptVariable = "ROLLCALL_TEST_CORRUPT";

struct Words {
    StartWords start;
    SweepWords sweep;
    Inherited inherited;
    std::string warmup;
    std::string compute;
};

struct Plan {
    Sweep sweep;
    std::uint64_t warmup = kDefaultWarmup;
    std::uint64_t iterations = kDefaultIterations;
    std::optional<Compute> compute;
};

int usable_cores() {
    cpu_set_t set;
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/// One rank's part.
class Runner {
  public:
    Runner(Job& job, const Plan& plan, const Inherited& inherited)
        : job_(job),
          world_(job.world()),
          plan_(plan),
          sweep_(plan.sweep),
          compute_(plan.compute.value_or(job.size() > usable_cores() ? Compute::sleep : Compute::spin)),
          progress_(sweep_.sizes.size() * cells() * plan.iterations,
                    job.rank() == 0 ? progress_surroundings(inherited) : ProgressLine::Surroundings{false, 0, {}, now}) {
        model_ = runtime::Settings::from_environment().landing_bytes > 0 ? Model::nonblocking : Model::blocking;
        if (const char* text = std::getenv(kCorruptVariable)) corrupt_ = std::atoi(text) == job.rank();
        make_sleep_exact();
    }

    void run() {
        std::optional<Report> report;
        if (job_.rank() == 0) report.emplace(sweep_, std::cout);
        if (job_.rank() == 0 && sweep_.explain) explain();
        for (const std::uint64_t bytes : sweep_.sizes) {
            const std::vector<Measured> measured = run_size(bytes);
            progress_.erase();
            if (report)
                for (const Measured& cell : measured) report->add(cell);
        }
        if (report) report->finish();
    }

  private:
    /// What one rank did in one call.
    struct Record {
        Nanoseconds start, arrival, first_data, exit;
    };

    std::size_t cells() const { return sweep_.patterns.size() * sweep_.algorithms.size(); }
    std::size_t place(std::uint64_t iteration, std::size_t cell) const { return iteration * cells() + cell; }
    const Pattern& pattern(std::size_t cell) const { return sweep_.patterns[cell / sweep_.algorithms.size()]; }
    const std::string& algorithm(std::size_t cell) const { return sweep_.algorithms[cell % sweep_.algorithms.size()]; }

    void explain() const {
        // Where rows are for programs, sentences are not among them.
        std::ostream& out = sweep_.format == output::Format::text ? std::cout : std::cerr;
        for (const std::uint64_t bytes : sweep_.sizes)
            out << world_.explain_broadcast(bytes, {.algorithm = "auto", .segment_bytes = {}, .timeout = {}}) << std::endl;
    }

    /// T, the same on all ranks: half a round trip between the root and another rank while nobody else has to do.
    Nanoseconds message_time(std::uint64_t bytes) {
        const int n = job_.size();
        if (n < 2) return 0;
        const int partner = (sweep_.root + 1) % n;
        const int round_trips = bytes <= kShortMessage ? kShortRoundTrips : 1;
        std::vector<double> samples;
        world_.barrier();
        for (int sample = -kRoundTripWarmup; sample < kRoundTripSamples; ++sample) {
            const Nanoseconds begin = now();
            for (int trip = 0; trip < round_trips; ++trip) {
                if (job_.rank() == sweep_.root) {
                    world_.send(data_.data(), bytes, partner, kRoundTripTag);
                    world_.receive(data_.data(), bytes, partner, kRoundTripTag);
                } else if (job_.rank() == partner) {
                    world_.receive(data_.data(), bytes, sweep_.root, kRoundTripTag);
                    world_.send(data_.data(), bytes, sweep_.root, kRoundTripTag);
                }
            }
            if (sample >= 0) samples.push_back(static_cast<double>(now() - begin) / (2 * round_trips));
        }
        auto time = static_cast<Nanoseconds>(estimate(samples).median);
        world_.broadcast(time, sweep_.root, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
        return time;
    }

    std::vector<Measured> run_size(std::uint64_t bytes) {
        data_.resize(bytes);
        const Nanoseconds message = message_time(bytes);
        for (std::uint64_t iteration = 0; iteration < plan_.warmup; ++iteration)
            for (std::size_t a = 0; a < sweep_.algorithms.size(); ++a)
                call(sweep_.algorithms[a], 0, key_of({sweep_.seed, bytes, iteration, a}));

        std::vector<Record> mine(plan_.iterations * cells());
        std::size_t done = static_cast<std::size_t>(std::find(sweep_.sizes.begin(), sweep_.sizes.end(), bytes) - sweep_.sizes.begin()) *
                           cells() * plan_.iterations;
        for (std::uint64_t iteration = 0; iteration < plan_.iterations; ++iteration) {
            for (const std::size_t cell : shuffled(cells(), key_of({sweep_.seed, bytes}), iteration)) {
                progress_.update(done++, fmt::format("{} {} {}", runtime::format_bytes(bytes), algorithm(cell), pattern(cell).describe()));
                const auto delays = pattern(cell).delays(job_.size(), sweep_.root, iteration, message);
                mine[place(iteration, cell)] = call(algorithm(cell), delays[static_cast<std::size_t>(job_.rank())],
                                                    key_of({sweep_.seed, bytes, plan_.warmup + iteration, cell}));
            }
        }
        return gather(bytes, message, mine);
    }

    /// One call of all ranks: prepared, started together, checked.
    Record call(const std::string& algorithm, Nanoseconds delay, std::uint64_t key) {
        const std::span<std::byte> data(data_);
        if (job_.rank() == sweep_.root)
            fill(data, key);
        else
            poison(data, key);
        world_.barrier();
        Nanoseconds start = now() + kStartMargin + kStartMarginPerRank * job_.size();
        world_.broadcast(start, 0, {.algorithm = "linear", .segment_bytes = {}, .timeout = {}});
        wait_until(start + delay, compute_);

        CallRecord record;
        world_.broadcast(data, sweep_.root,
                         {.algorithm = algorithm, .segment_bytes = sweep_.segment_bytes, .timeout = {}, .record = &record});
        // Nobody checks while others are still in the call: it would take their cores.
        world_.barrier();
        if (corrupt_ && !data.empty()) data[data.size() / 2] ^= std::byte{1};
        if (const auto wrong = find_wrong(data, key))
            job_.abort(1, fmt::format("broadcast {} of {} bytes from rank {} gave a wrong result: byte {} on rank {} "
                                      "is not what the root sent",
                                      algorithm, data.size(), sweep_.root, *wrong, job_.rank()));
        return {start, record.arrival, record.first_data, record.exit};
    }

    /// What all ranks did, at rank 0; elsewhere nothing.
    std::vector<Measured> gather(std::uint64_t bytes, Nanoseconds message, const std::vector<Record>& mine) {
        const std::span<const Record> own(mine);
        if (job_.rank() != 0) {
            world_.send(own, 0, kGatherTag);
            return {};
        }
        std::vector<std::vector<Record>> all(static_cast<std::size_t>(job_.size()), mine);
        for (int rank = 1; rank < job_.size(); ++rank)
            world_.receive(std::span<Record>(all[static_cast<std::size_t>(rank)]), rank, kGatherTag);

        std::vector<Measured> cells_of_size;
        for (std::size_t cell = 0; cell < cells(); ++cell) {
            Measured measured{.identity = {.operation = "broadcast",
                                           .algorithm = algorithm(cell),
                                           .transport = transport_name(),
                                           .ranks = job_.size(),
                                           .bytes = bytes,
                                           .pattern = pattern(cell).describe(),
                                           .iterations = plan_.iterations},
                              .setup = {sweep_.root, message, model_},
                              .calls = {}};
            for (std::uint64_t iteration = 0; iteration < plan_.iterations; ++iteration) {
                Call call;
                call.times.iteration = iteration;
                call.times.start = mine[place(iteration, cell)].start;
                call.times.asked = pattern(cell).delays(job_.size(), sweep_.root, iteration, message);
                for (const auto& records : all) {
                    const Record& record = records[place(iteration, cell)];
                    call.times.arrivals.push_back(record.arrival);
                    call.times.exits.push_back(record.exit);
                    call.first_data.push_back(record.first_data);
                }
                measured.calls.push_back(std::move(call));
            }
            cells_of_size.push_back(std::move(measured));
        }
        return cells_of_size;
    }

    Job& job_;
    const Communicator& world_;
    const Plan& plan_;
    const Sweep& sweep_;
    Compute compute_;
    ProgressLine progress_;
    Model model_ = Model::nonblocking;
    bool corrupt_ = false;
    std::vector<std::byte> data_;
};

Plan plan_of(const Words& words, int ranks) {
    Plan plan;
    plan.sweep = checked(words.sweep, ranks, Ranks::real);
    plan.iterations = plan.sweep.iterations.value_or(kDefaultIterations);
    if (!words.warmup.empty()) plan.warmup = parse_count(words.warmup, "--warmup", 0, kMostWarmup);
    if (words.compute == "sleep") {
        plan.compute = Compute::sleep;
    } else if (words.compute == "spin") {
        plan.compute = Compute::spin;
    } else if (!words.compute.empty()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("--compute '{}'; allowed: sleep, spin", words.compute));
    }
    return plan;
}

int run(const Words& words) {
    const Start start = checked(words.start, kDefaultRanks, 1);
    const Plan plan = plan_of(words, start.ranks);
    if (!inside_job()) return start_again(start);
    Job job;
    Runner(job, plan, words.inherited).run();
    return 0;
}

}  // namespace

void add_broadcast_command(CLI::App& bench, int& exit_code) {
    CLI::App* const command = bench.add_subcommand("broadcast", "Broadcasts under arrival patterns, all algorithms interleaved");
    const auto words = std::make_shared<Words>();
    add_start_options(*command, words->start, kDefaultRanks);
    add_sweep_options(*command, words->sweep, Ranks::real);
    command->add_option("--warmup", words->warmup, "Balanced calls of each algorithm and size before")
        ->type_name("N")
        ->default_str(std::to_string(kDefaultWarmup));
    command->get_option("--iterations")->default_str(std::to_string(kDefaultIterations));
    command
        ->add_option("--compute", words->compute,
                     "How ranks spend the time until they arrive (default: sleep where there are more ranks than cores)")
        ->type_name("sleep|spin");
    add_inherited_options(*command, words->inherited);
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
