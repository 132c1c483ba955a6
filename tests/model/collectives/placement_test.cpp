// Data placement. After every call each rank has the expected bytes and no other memory was changed, on random machines. Calls are planned
// or not, with good and bad predictions. The own block of a rank that has all blocks is in its place or not.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using runtime::OperationKind;
using runtime::Simulation;

constexpr std::uint64_t kLongestBlock = 1001;   // The root has one for each rank.
constexpr std::uint64_t kLongestForEach = 301;  // Each rank has one for each rank.

void expect_placed(const Simulation::Options& options, std::vector<Step> steps) {
    std::string trace = describe(options);
    for (const Step& step : steps) trace += "\n  " + describe(step);
    SCOPED_TRACE(trace);
    Simulation simulation(options);
    Job job(simulation, std::move(steps));
    job.run();
    job.expect_success();
    job.expect_clean();
}

Step make_step(Random& random, const collectives::AlgorithmEntry& entry, int n, int root, std::uint64_t bytes, std::uint64_t segment) {
    Step step;
    step.entry = &entry;
    step.root = root;
    const auto& row = collectives::operation(entry.operation);
    step.bytes = row.personalized ? std::min(bytes, kLongestForEach) : row.in_blocks ? std::min(bytes, kLongestBlock) : bytes;
    step.segment = entry.segmented ? segment : 0;
    step.delays = random_delays(random, n, root, random.pick(std::vector<Nanoseconds>{0, 10, 1000, 20'000}));
    step.in_place = random.chance(0.3);
    plan_at_random(random, step);
    return step;
}

TEST(Placement, EveryAlgorithmEveryRootOfSmallJobs) {
    Random random(1);
    for (const auto* entry : moving_algorithms())
        for (int n = 1; n <= (kSanitized ? 9 : collectives::operation(entry->operation).in_blocks ? 33 : 17); ++n)
            for (int root = 0; root < (collectives::operation(entry->operation).has_root ? n : std::min(n, 3)); ++root) {
                const std::uint64_t segment = random.pick(std::vector<std::uint64_t>{0, 1, 7, 100});
                const auto sizes = threshold_sizes(n, 64, segment);
                const std::uint64_t bytes = random.pick(sizes);
                expect_placed(random_machine(random, n, bytes, *entry), {make_step(random, *entry, n, root, bytes, segment)});
                if (HasFatalFailure() || HasNonfatalFailure()) return;
            }
}

TEST(Placement, EverySizeAroundAThreshold) {
    Random random(2);
    for (const auto* entry : moving_algorithms())
        for (const int n : kSanitized ? std::vector<int>{5} : std::vector<int>{2, 3, 5, 8, 13})
            for (const std::uint64_t segment : kSanitized ? std::vector<std::uint64_t>{0, 10} : std::vector<std::uint64_t>{0, 10, 128})
                for (const std::uint64_t landing : {std::uint64_t{0}, std::uint64_t{300}, std::uint64_t{1} << 40})
                    for (const std::uint64_t bytes : threshold_sizes(n, 64, segment)) {
                        auto options = random_machine(random, n, bytes, *entry);
                        options.landing_bytes = landing;
                        options.eager_bytes = 64;
                        expect_placed(options, {make_step(random, *entry, n, static_cast<int>(random.below(static_cast<std::uint64_t>(n))),
                                                          bytes, segment)});
                        if (HasFatalFailure() || HasNonfatalFailure()) return;
                    }
}

TEST(Placement, RandomLargeJobs) {
    Random random(3);
    for (int repetition = 0; repetition < repetitions(1000); ++repetition) {
        const int n = static_cast<int>(random.between(2, 64));
        const std::uint64_t segment = random.pick(std::vector<std::uint64_t>{0, 100, 1000});
        const std::uint64_t bytes = random.chance(0.3) ? random.below(20'000) : random.pick(threshold_sizes(n, 64, segment));
        const auto& entry = *random.pick(moving_algorithms());
        expect_placed(random_machine(random, n, bytes, entry),
                      {make_step(random, entry, n, static_cast<int>(random.below(static_cast<std::uint64_t>(n))), bytes, segment)});
        if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
}

// Late notices and early messages of other operations. Calls follow without a gap, with different roots and algorithms, and some begin
// before the earlier ones have ended.
TEST(Placement, ManyCallsOnOneCommunicator) {
    Random random(4);
    for (int repetition = 0; repetition < repetitions(1000); ++repetition) {
        const int n = static_cast<int>(random.between(2, random.chance(0.2) ? 40 : 9));
        const std::uint64_t segment = random.pick(std::vector<std::uint64_t>{0, 50});
        const bool same_root = random.chance(0.4);
        const double overlap = random.pick(std::vector<double>{0, 0.5, 1});
        std::vector<Step> steps;
        const int only_root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        const auto* only_entry = random.chance(0.5) ? random.pick(moving_algorithms()) : nullptr;
        for (std::int64_t calls = random.between(2, 30); calls > 0; --calls) {
            const int root = same_root ? only_root : static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
            steps.push_back(make_step(random, only_entry ? *only_entry : *random.pick(moving_algorithms()), n, root,
                                      random.pick(threshold_sizes(n, 64, segment)), segment));
            steps.back().at_once = random.chance(overlap);
            if (random.chance(0.6)) {
                steps.back().delays.assign(static_cast<std::size_t>(n), 0);
                steps.back().plans.clear();
            }
        }
        expect_placed(random_machine(random, n, 200), std::move(steps));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
}

TEST(Placement, InPlaceNothingIsCopied) {
    for (const auto& row : collectives::operations())
        for (const auto* entry : row.in_blocks ? algorithms(row.kind) : std::vector<const collectives::AlgorithmEntry*>())
            for (const bool in_place : {false, true}) {
                Simulation::Options options;
                options.ranks = 1;
                options.model.gamma = 1;
                Simulation simulation(options);
                Job job(simulation, {{.entry = entry, .bytes = 100, .delays = {0}, .in_place = in_place, .plans = {}}});
                job.run();
                job.expect_success();
                EXPECT_EQ(job.exit(0, 0), in_place && !row.personalized ? 0 : 100) << entry->name;
            }
}

// More calls than a rank remembers, so that its ring of past calls wraps around.
TEST(Placement, HundredsOfCalls) {
    Random random(5);
    for (const auto* entry : moving_algorithms()) {
        const int n = 5;
        std::vector<Step> steps;
        for (int calls = 0; calls < repetitions(1000); ++calls) {
            steps.push_back(make_step(random, *entry, n, calls % n, 100, 40));
            steps.back().at_once = random.chance(0.5);
        }
        expect_placed(random_machine(random, n, 100), std::move(steps));
        if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
}

}  // namespace
}  // namespace rollcall::model_test
