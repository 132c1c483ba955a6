#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rollcall/rollcall.hpp>

#include "bench/cases/intergroup_cases.hpp"
#include "bench/cases/lists.hpp"
#include "bench/cases/payload.hpp"
#include "bench/commands/two_groups.hpp"
#include "bench/options/sweep.hpp"
#include "bench/ranks/clock.hpp"
#include "bench/ranks/rounds.hpp"
#include "bench/results/statistics.hpp"
#include "collectives/catalogue.hpp"
#include "support/usage.hpp"

namespace rollcall::bench {
namespace between_groups_command {
namespace {

using collectives::OperationRow;
using runtime::OperationKind;

constexpr int kRanks = 8, kFewestRanks = 2;
constexpr std::uint64_t kDefaultIterations = 10, kDefaultRounds = 3;
/// Data that is combined is checked element by element, so it need not be a multiple of any size.
using Element = std::uint8_t;

struct Words : RoundWords {
    Words() { iterations = kDefaultIterations, rounds = kDefaultRounds; }
    const OperationRow* row = nullptr;
    std::string bytes = "64,1Ki,16Ki", algorithms = "all", groups;
};

struct Contest {
    const OperationRow* row;
    std::vector<std::uint64_t> bytes;
    int in_first = 0, in_second = 0;
    std::vector<std::string> algorithms;
    bool leaves_out_impossible = false;
    std::uint64_t iterations = 0;

    std::string key(std::uint64_t size, const std::string& algorithm) const { return fmt::format("{} {}", size, algorithm); }
};

/// The work of one rank with messages or blocks of one size. The root is the first rank of the first group.
class Runner {
  public:
    Runner(Job& job, const Contest& contest, std::uint64_t bytes)
        : job_(job), world_(job.world()), kind_(contest.row->kind), bytes_(bytes), is_first_(world_.rank() < contest.in_first) {
        std::vector<int> first(static_cast<std::size_t>(contest.in_first)), second(static_cast<std::size_t>(contest.in_second));
        std::iota(first.begin(), first.end(), 0);
        std::iota(second.begin(), second.end(), contest.in_first);
        between_ = world_.create_intercommunicator(first, second);
        is_root_ = contest.row->has_root && world_.rank() == 0;
        has_part_ = !contest.row->has_root || is_root_ || !is_first_;
    }

    /// Makes one call on all ranks. Returns its time on the slowest rank, in seconds, at all ranks. Throws the error with which all ranks
    /// refuse an algorithm that cannot run here.
    double seconds_of(const std::string& algorithm, std::uint64_t key) {
        prepare(key);
        world_.barrier();
        const Nanoseconds begin = monotonic_now();
        call({.algorithm = algorithm, .segment_bytes = {}, .timeout = {}});
        auto longest = static_cast<double>(monotonic_now() - begin);
        world_.allreduce(longest, maximum);
        if (const auto wrong = has_part_ ? find_wrong_byte(key) : std::nullopt)
            job_.abort(1, fmt::format("{} by {} gave a wrong result: byte {} on rank {} is not what it should be", runtime::name(kind_),
                                      algorithm, *wrong, world_.rank()));
        return longest * 1e-9;
    }

  private:
    std::uint64_t others() const { return static_cast<std::uint64_t>(between_.remote_size()); }
    std::uint64_t member() const { return static_cast<std::uint64_t>(between_.rank()); }
    /// The key of what rank `from` of one group has for rank `to` of the other.
    static std::uint64_t key_of_block(std::uint64_t key, bool of_first, std::uint64_t from, std::uint64_t to) {
        return key_of({key, of_first, from, to});
    }
    std::span<std::byte> block(std::vector<std::byte>& all, std::uint64_t number) const {
        return std::span(all).subspan(number * bytes_, bytes_);
    }
    static Element element(std::uint64_t key, std::uint64_t member, std::uint64_t at) {
        return static_cast<Element>(key + 7 * member + at);
    }

    /// Fills what this rank sends, and poisons what it receives.
    void prepare(std::uint64_t key) {
        sent_.clear();
        received_.clear();
        if (!has_part_) return;
        switch (kind_) {
            case OperationKind::intergroup_broadcast:
                sent_.resize(bytes_);
                is_root_ ? fill(sent_, key) : poison(sent_, key);
                break;
            case OperationKind::intergroup_scatter:
                sent_.resize(is_root_ ? bytes_ * others() : bytes_);
                for (std::uint64_t to = 0; is_root_ && to < others(); ++to) fill(block(sent_, to), key_of_block(key, true, 0, to));
                if (!is_root_) poison(sent_, key_of_block(key, true, 0, member()));
                break;
            case OperationKind::intergroup_gather:
                sent_.resize(is_root_ ? bytes_ * others() : bytes_);
                for (std::uint64_t from = 0; is_root_ && from < others(); ++from)
                    poison(block(sent_, from), key_of_block(key, false, from, 0));
                if (!is_root_) fill(sent_, key_of_block(key, false, member(), 0));
                break;
            case OperationKind::intergroup_alltoall:
                sent_.resize(bytes_ * others());
                received_.resize(sent_.size());
                for (std::uint64_t other = 0; other < others(); ++other) {
                    fill(block(sent_, other), key_of_block(key, is_first_, member(), other));
                    poison(block(received_, other), key_of_block(key, !is_first_, other, member()));
                }
                break;
            default:  // The others combine.
                elements_.resize(bytes_);
                for (std::uint64_t at = 0; at < bytes_; ++at) elements_[at] = element(key, member(), at);
                sums_.assign(bytes_, 0);
        }
    }

    void call(const CollectiveOptions& options) {
        const IntergroupRoot root = is_first_ ? IntergroupRoot(Mine{0}) : IntergroupRoot(Theirs{0});
        switch (kind_) {
            case OperationKind::intergroup_broadcast: return between_.broadcast(sent_, root, options);
            case OperationKind::intergroup_scatter: return between_.scatter(sent_, root, options);
            case OperationKind::intergroup_gather: return between_.gather(sent_, root, options);
            case OperationKind::intergroup_alltoall: return between_.alltoall(sent_, received_, options);
            case OperationKind::intergroup_reduce: return between_.reduce(is_root_ ? sums_ : elements_, sum, root, options);
            default: return between_.allreduce(elements_, sums_, sum, options);
        }
    }

    std::optional<std::uint64_t> find_wrong_byte(std::uint64_t key) {
        switch (kind_) {
            case OperationKind::intergroup_broadcast: return find_wrong(sent_, key);
            case OperationKind::intergroup_scatter:
                return is_root_ ? std::nullopt : find_wrong(sent_, key_of_block(key, true, 0, member()));
            case OperationKind::intergroup_gather: return is_root_ ? wrong_block(sent_, key, false, 0) : std::nullopt;
            case OperationKind::intergroup_alltoall: return wrong_block(received_, key, !is_first_, member());
            default: return is_root_ || kind_ == OperationKind::intergroup_allreduce ? wrong_sum(key) : std::nullopt;
        }
    }
    std::optional<std::uint64_t> wrong_block(std::vector<std::byte>& all, std::uint64_t key, bool of_first, std::uint64_t to) {
        for (std::uint64_t from = 0; from < others(); ++from)
            if (const auto wrong = find_wrong(block(all, from), key_of_block(key, of_first, from, to))) return from * bytes_ + *wrong;
        return std::nullopt;
    }
    std::optional<std::uint64_t> wrong_sum(std::uint64_t key) const {
        for (std::uint64_t at = 0; at < bytes_; ++at) {
            Element expected = 0;
            for (std::uint64_t from = 0; from < others(); ++from) expected = static_cast<Element>(expected + element(key, from, at));
            if (sums_[at] != expected) return at;
        }
        return std::nullopt;
    }

    Job& job_;
    const Communicator& world_;
    OperationKind kind_;
    std::uint64_t bytes_;
    bool is_first_, is_root_ = false, has_part_ = false;
    Intercommunicator between_;
    std::vector<std::byte> sent_, received_;
    std::vector<Element> elements_, sums_;
};

Samples measure(Job& job, const Contest& contest) {
    Samples samples;
    samples.transport = transport_name();
    for (const std::uint64_t bytes : contest.bytes) {
        Runner runner(job, contest, bytes);
        take_turns({.algorithms = contest.algorithms,
                    .leaves_out_impossible = contest.leaves_out_impossible,
                    .iterations = contest.iterations,
                    .key = bytes,
                    .seconds_of = [&](const std::string& algorithm, std::uint64_t key) { return runner.seconds_of(algorithm, key); },
                    .add = [&](const std::string& algorithm,
                               double seconds) { samples.values[contest.key(bytes, algorithm)].push_back(seconds); }});
    }
    return samples;
}

Contest contest_of(const Words& words, int ranks) {
    std::vector<Choice> choices;
    for (const auto& entry : words.row->algorithms)
        choices.push_back({.name = std::string(entry.name), .aliases = {entry.aliases.begin(), entry.aliases.end()}});
    const std::vector<std::uint64_t> groups = groups_of(words.groups, ranks);
    return {.row = words.row,
            .bytes = parse_sizes(words.bytes, "--bytes"),
            .in_first = static_cast<int>(groups[0]),
            .in_second = static_cast<int>(groups[1]),
            .algorithms = parse_names(words.algorithms, "algorithm", choices),
            .leaves_out_impossible = words.algorithms == "all",
            .iterations = words.iterations};
}

void print(CellPrinter& printer, const Contest& contest, const std::vector<Samples>& rounds) {
    for (const std::uint64_t bytes : contest.bytes) {
        std::optional<Rounds> first;
        for (const std::string& algorithm : contest.algorithms) {
            const std::string key = contest.key(bytes, algorithm);
            if (!rounds.front().values.contains(key)) continue;
            const Rounds times = rounds_of(rounds, key);
            if (!first) first = times;
            Cell cell = plain_cell({.operation = std::string(runtime::name(contest.row->kind)),
                                    .algorithm = algorithm,
                                    .transport = rounds.front().transport,
                                    .ranks = contest.in_first + contest.in_second,
                                    .bytes = bytes},
                                   together(times));
            cell.metrics.push_back(metric("improvement", Unit::ratio, ratios(*first, times)));
            cell.notes.emplace_back("groups", fmt::format("{}+{}", contest.in_first, contest.in_second));
            printer.add(cell);
        }
    }
}

int run(const Words& words) {
    const Start start = checked(words.start, kRanks, kFewestRanks);
    const Contest contest = contest_of(words, start.ranks);
    return run_rounds(
        start, words,
        {.measure = [&](Job& job) { return measure(job, contest); },
         .print = [&](CellPrinter& printer, const Variant&, const std::vector<Samples>& rounds) { print(printer, contest, rounds); }});
}

void add_command(usage::Command& bench, const OperationRow& row, int& exit_code) {
    const auto words = std::make_shared<Words>();
    words->row = &row;
    usage::Command* const command =
        bench.add_subcommand(std::string(runtime::name(row.kind)),
                             fmt::format("Measure {} between two groups, all algorithms interleaved", runtime::name(row.kind)));
    add_round_options(*command, *words, kRanks, "Calls of each algorithm in each round");
    add_count_option(*command, "--rounds", words->rounds, "Jobs that are started, one after the other");
    command->add_option("--bytes", words->bytes, fmt::format("Sizes of the {}, {}", row.in_blocks ? "blocks" : "message", kSizeList))
        ->type_name("SIZES")
        ->capture_default_str();
    command->add_option("--groups", words->groups, "The sizes of the two groups (default: half of the ranks each)")->type_name("P,Q");
    command->add_option("--algorithm", words->algorithms, "Algorithms by name or alias, separated by commas; or all")
        ->type_name("NAMES")
        ->capture_default_str();
    command->footer(fmt::format(R"(
The first ranks are the first group{}.
  run_time     from a barrier until the last rank has left the call; every byte is checked
  improvement  run_time of the first algorithm divided by this run_time, round by round)",
                                row.has_root ? ", and rank 0 is the root" : ""));
    command->callback([words, &exit_code] { exit_code = run(*words); });
}

}  // namespace
}  // namespace between_groups_command

void add_between_groups_commands(usage::Command& bench, int& exit_code) {
    for (const collectives::OperationRow& row : collectives::intergroup_operations())
        if (row.kind != runtime::OperationKind::intergroup_allgather) between_groups_command::add_command(bench, row, exit_code);
}

}  // namespace rollcall::bench
