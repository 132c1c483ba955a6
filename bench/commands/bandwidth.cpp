#include "bench/commands/bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <rollcall/rollcall.hpp>

#include "bench/cases/lists.hpp"
#include "bench/cases/payload.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/rounds.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace bandwidth_command {
namespace {

constexpr int kRanks = 2;
constexpr std::uint64_t kDefaultIterations = 40, kDefaultRounds = 5;
constexpr std::uint64_t kDefaultWindow = 64, kMostWindow = 1 << 20;
/// The default window is smaller for long messages, so that its messages do not have more than this many bytes together.
constexpr std::uint64_t kWindowBytes = 64 << 20;
/// The duration of a batch of windows in nanoseconds. Compared with it, the barrier before the batch and the clock do not matter.
constexpr Nanoseconds kBatchTime = 5'000'000;
constexpr std::uint64_t kLargestBatch = 100'000;
/// Limit for each size. On a slow network a window may take seconds; there are then fewer batches, but not fewer than kFewestBatches.
constexpr Nanoseconds kLongestSize = 5'000'000'000;
constexpr std::uint64_t kFewestBatches = 2;
constexpr Tag kTag = 6, kReadyTag = 7;

struct Words : RoundWords {
    Words() { iterations = kDefaultIterations, rounds = kDefaultRounds; }
    std::string bytes = "8,64Ki,8Mi";
    std::string window;
    bool both_ways = false;
};

struct Plan {
    std::vector<std::uint64_t> sizes;
    std::optional<std::uint64_t> window;
    bool both_ways = false;
    std::uint64_t iterations = 0;

    /// The number of messages in flight from one rank to another.
    std::uint64_t window_of(std::uint64_t bytes) const {
        return window.value_or(std::clamp<std::uint64_t>(kWindowBytes / std::max<std::uint64_t>(bytes, 1), 1, kDefaultWindow));
    }
};

/// The work of one rank. Rank r of the first half sends to rank r + n/2; with both ways, that rank sends back at the same time.
class Runner {
  public:
    /// The number of `ranks` must be even.
    Runner(Job& job, const Communicator& ranks, const Plan& plan)
        : job_(job),
          world_(ranks),
          plan_(plan),
          is_first_(world_.rank() < world_.size() / 2),
          partner_(world_.rank() + (is_first_ ? 1 : -1) * world_.size() / 2) {}

    Samples run() {
        Samples samples;
        samples.transport = transport_name(job_);
        for (const std::uint64_t bytes : plan_.sizes) samples.values[std::to_string(bytes)] = measure(bytes);
        return samples;
    }

  private:
    /// Returns the times of a window, each one averaged over a batch.
    std::vector<double> measure(std::uint64_t bytes) {
        const auto windows_in_batch = [](double window) {
            return static_cast<std::uint64_t>(
                std::clamp(static_cast<double>(kBatchTime) * 1e-9 / window, 1.0, static_cast<double>(kLargestBatch)));
        };
        prepare(bytes);
        const double first = seconds_of(1);  // slower than later ones, because it connects the ranks
        check();
        const std::uint64_t batch = windows_in_batch(seconds_of(windows_in_batch(first)));
        std::vector<double> samples;
        const Nanoseconds until = monotonic_now() + kLongestSize;
        for (std::uint64_t i = 0; i < plan_.iterations; ++i) {
            bool go_on = i < kFewestBatches || monotonic_now() < until;
            world_.broadcast(go_on, 0);
            if (!go_on) break;
            samples.push_back(seconds_of(batch));
        }
        return samples;
    }

    static std::uint64_t content(std::uint64_t bytes, int sender, std::uint64_t message) {
        return key_of({bytes, static_cast<std::uint64_t>(sender), message});
    }

    void prepare(std::uint64_t bytes) {
        const std::uint64_t window = plan_.window_of(bytes);
        outgoing_.assign(is_first_ || plan_.both_ways ? window : 0, std::vector<std::byte>(bytes));
        incoming_.assign(!is_first_ || plan_.both_ways ? window : 0, std::vector<std::byte>(bytes));
        for (std::size_t i = 0; i < outgoing_.size(); ++i) fill(outgoing_[i], content(bytes, world_.rank(), i));
        for (std::size_t i = 0; i < incoming_.size(); ++i) poison(incoming_[i], content(bytes, partner_, i));
    }

    void check() const {
        for (std::size_t i = 0; i < incoming_.size(); ++i)
            if (const auto wrong = find_wrong(incoming_[i], content(incoming_[i].size(), partner_, i)))
                job_.abort(1, fmt::format("bandwidth of {} bytes gave a wrong result: byte {} of message {} on rank {} is not what rank {} "
                                          "sent",
                                          incoming_[i].size(), *wrong, i, world_.rank(), partner_));
    }

    /// Moves one window. A rank that only sends waits until its partner has received everything.
    void move_window() {
        requests_.clear();
        for (auto& message : incoming_) requests_.push_back(world_.start_receive(message.data(), message.size(), partner_, kTag));
        for (const auto& message : outgoing_) requests_.push_back(world_.start_send(message.data(), message.size(), partner_, kTag));
        Request::wait_all(requests_);
        if (plan_.both_ways) return;
        if (is_first_)
            world_.receive(nullptr, 0, partner_, kReadyTag);
        else
            world_.send(nullptr, 0, partner_, kReadyTag);
    }

    /// Moves windows between all pairs at the same time. Returns the time of a window of the slowest rank, in seconds, at all ranks.
    double seconds_of(std::uint64_t windows) {
        world_.barrier();
        double longest = seconds_of_each(monotonic_now, windows, [this] { move_window(); });
        world_.allreduce(longest, maximum);
        return longest;
    }

    Job& job_;
    const Communicator& world_;
    const Plan& plan_;
    bool is_first_;
    int partner_;
    std::vector<std::vector<std::byte>> outgoing_, incoming_;
    std::vector<Request> requests_;
};

Plan plan_of(const Words& words, int ranks) {
    if (ranks % 2 != 0)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the bandwidth between pairs of {} ranks; allowed: an even number of ranks", ranks));
    Plan plan{.sizes = parse_sizes(words.bytes, "--bytes"), .window = {}, .both_ways = words.both_ways, .iterations = words.iterations};
    if (!words.window.empty()) plan.window = parse_count(words.window, "--window", 1, kMostWindow);
    return plan;
}

void print(CellPrinter& printer, const Plan& plan, int ranks, const std::vector<Samples>& rounds) {
    const int pairs = ranks / 2;
    for (const std::uint64_t bytes : plan.sizes) {
        const std::uint64_t window = plan.window_of(bytes);
        const auto times = together(rounds_of(rounds, std::to_string(bytes)));
        const double messages = static_cast<double>(window) * pairs * (plan.both_ways ? 2 : 1);
        Cell cell = plain_cell({.operation = "bandwidth",
                                .algorithm = plan.both_ways ? "both_ways" : "one_way",
                                .transport = rounds.front().transport,
                                .ranks = ranks,
                                .bytes = bytes},
                               times);
        for (Metric& figure : bandwidth_figures(messages, bytes, times)) cell.metrics.push_back(std::move(figure));
        cell.notes = {{"pairs", std::to_string(pairs)}, {"window", std::to_string(window)}};
        printer.add(cell);
    }
}

int run(const Words& words) {
    const Start start = checked(words.start, kRanks, kRanks);
    const Plan plan = plan_of(words, start.ranks);
    const auto print_rounds = [&](CellPrinter& printer, const Variant&, const std::vector<Samples>& rounds) {
        print(printer, plan, start.ranks, rounds);
    };
    return run_rounds(start, words, {.measure = [&](Job& job) { return Runner(job, job.world(), plan).run(); }, .print = print_rounds});
}

}  // namespace
}  // namespace bandwidth_command

std::vector<double> message_gaps(Job& job, const Communicator& ranks, std::uint64_t bytes, std::uint64_t iterations) {
    using namespace bandwidth_command;
    const Plan plan{.sizes = {bytes}, .window = {}, .both_ways = false, .iterations = iterations};
    std::vector<double> times = Runner(job, ranks, plan).run().values.begin()->second;
    for (double& time : times) time /= static_cast<double>(plan.window_of(bytes));
    return times;
}

void add_bandwidth_command(usage::Command& bench, int& exit_code) {
    using namespace bandwidth_command;
    usage::Command* const command =
        bench.add_subcommand("bandwidth", "Measure bytes and messages per second between pairs of ranks, with many messages in flight");
    const auto words = std::make_shared<Words>();
    add_round_options(*command, *words, kRanks, "Batches in each round");
    add_rounds_option(*command, *words);
    add_sizes_option(*command, "--bytes", words->bytes, "Sizes of the message");
    command->add_option("--window", words->window, "Messages in flight from a rank (default: 64, or fewer so that they are at most 64 MiB)")
        ->type_name("N");
    command->add_flag("--both-ways", words->both_ways, "Both ranks of a pair send at the same time");
    command->footer(R"(
Of n ranks, each rank r of the first half sends to rank r + n/2, all pairs at the same time. A sender starts a window of
messages, and its receiver as many receives. When all have come, the receiver says so, and the next window begins.
run_time is the time of a window, at the slowest rank. A sample is the mean of a batch of about 5 ms. bandwidth (bytes
per second) and message_rate (messages per second) are sums over all pairs, and over both ways with --both-ways.)");
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace rollcall::bench
