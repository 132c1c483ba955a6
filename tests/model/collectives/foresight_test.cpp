// The times for which schedules are made are the same integers on all ranks, whatever they predict and whenever they come.
#include <algorithm>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/arrivals/foresight.hpp"
#include "collectives/schedules/clairvoyant.hpp"
#include "tests/model/reduced.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test {
namespace {

static_assert(std::is_same_v<decltype(collectives::Foresight::arrivals), std::vector<std::int64_t>>);

std::vector<Times> foreseen;  ///< By rank: what it was told.
std::uint64_t bytes_told = 0;
std::uint64_t computing = 0;  ///< How long each rank computes its schedule, where a copied byte takes 1.

runtime::Task only_foresee(runtime::Operation& op) {
    collectives::Foresight foresight;
    co_await collectives::foresee_arrivals(op, op.root(), foresight);
    if (computing > 0) co_await op.copy({nullptr, computing}, {nullptr, computing});
    co_await op.arrival();
    collectives::remember_lateness(op, foresight);
    foreseen[static_cast<std::size_t>(op.rank())] = foresight.arrivals;
    co_await op.all_of(foresight.telling);
}

struct Expectations {
    Times begins, arrivals, predictions;  ///< A negative prediction: there is none.
    Times predicted_at = {};              ///< Empty: at the beginnings.
};

std::vector<Times> foresee(Simulation& simulation, int root, const Expectations& given) {
    const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::reduce, "clairvoyant");
    foreseen.assign(static_cast<std::size_t>(simulation.size()), {});
    const auto outcome = simulation.run(
        [&](int rank) {
            const auto r = static_cast<std::size_t>(rank);
            Simulation::RankCall call{collectives::make_call(entry, root, 8, 8), &only_foresee, {}};
            call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, 8, simulation.size(), rank == root);
            call.begin = given.begins[r];
            if (given.predictions[r] >= 0)
                call.predictions = {{given.predicted_at.empty() ? given.begins[r] : given.predicted_at[r], given.predictions[r]}};
            return call;
        },
        given.arrivals);
    for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
    bytes_told = outcome.bytes;
    return foreseen;
}

std::vector<Times> foresee(const Simulation::Options& options, int root, const Expectations& given) {
    Simulation simulation(options);
    return foresee(simulation, root, given);
}

/// The calls of this simulation are the iterations of a plan.
void make_plan(Simulation& simulation) {
    for (int rank = 0; rank < simulation.size(); ++rank) simulation.world(rank).kept.emplace();
}

TEST(Foresight, IsTheSameOnAllRanks) {
    Random random(86);
    for (int repetition = 0; repetition < repetitions(500); ++repetition) {
        const int n = static_cast<int>(random.between(2, 17)), root = static_cast<int>(random.below(static_cast<std::uint64_t>(n)));
        const auto options = random_machine(random, n, 8);
        SCOPED_TRACE(describe(options));
        Expectations given;
        for (int rank = 0; rank < n; ++rank) {
            given.begins.push_back(random.between(0, 1000));
            given.arrivals.push_back(given.begins.back() + random.between(0, 1'000'000));
            given.predicted_at.push_back(random.between(given.begins.back(), given.arrivals.back()));
            given.predictions.push_back(random.chance(0.3) ? -1 : random.between(given.begins.back(), 2'000'000));
        }
        const std::vector<Times> all = foresee(options, root, given);
        for (const Times& times : all) {
            ASSERT_EQ(times.size(), static_cast<std::size_t>(n));
            ASSERT_EQ(times, all[0]);
            ASSERT_GE(*std::min_element(times.begin(), times.end()), 0);
        }
    }
}

// All predict when they come, but for one rank, which counts as the last one.
TEST(Foresight, IsWhatRanksPredict) {
    Simulation::Options options;
    options.ranks = 4;
    const Times arrivals = {500'000, 300'000, 900'000, 700'000};
    const Times all_known = foresee(options, 0, {Times(4, 0), arrivals, arrivals, {0, 70'000, 20'000, 10'000}})[1];
    EXPECT_EQ(all_known[2], 830'000) << "decided once the last one has predicted";
    for (std::size_t rank = 1; rank < 4; ++rank) EXPECT_EQ(all_known[rank] - all_known[0], arrivals[rank] - arrivals[0]) << rank;
    // Rank 0 decides when it comes, at 500 us. Rank 1 has come before.
    const Times one_unknown = foresee(options, 0, {Times(4, 0), arrivals, {arrivals[0], arrivals[1], -1, arrivals[3]}})[2];
    EXPECT_EQ(one_unknown, (Times{0, 0, 200'000, 200'000}));
}

TEST(Foresight, TakesNoBytesIfAllComeTogether) {
    Simulation::Options options;
    options.ranks = 4;
    const Times together(4, 500'000), one_later = {500'000, 500'000, 500'001, 500'000};
    EXPECT_EQ(foresee(options, 1, {Times(4, 0), together, together}), std::vector(4, Times(4, 0)));
    EXPECT_EQ(bytes_told, 0u);
    EXPECT_EQ(foresee(options, 1, {Times(4, 0), together, Times(4, -1)}), std::vector(4, Times(4, 0))) << "nothing is predicted";
    EXPECT_EQ(bytes_told, 0u);
    const Times told = foresee(options, 1, {Times(4, 0), together, one_later})[0];
    EXPECT_EQ(told[2] - told[0], 1);
    EXPECT_EQ(bytes_told, 3 * 4 * sizeof(Nanoseconds));
}

/// How much later than the last of the others rank 2 is expected in calls, to which it comes at these times. It predicts nothing. The
/// others come at 500 us at the latest, and have predicted it.
Times expected_lateness(Simulation& simulation, const Times& arrivals) {
    Times expected;
    for (const Nanoseconds arrival : arrivals) {
        const Times all = {500'000, 300'000, arrival, 400'000};
        const Times told = foresee(simulation, 2, {Times(4, 0), all, {all[0], all[1], -1, all[3]}})[1];
        EXPECT_EQ(told[0] - told[1], 200'000);
        expected.push_back(told[2] - told[0]);
    }
    return expected;
}

TEST(Foresight, ALeaderThatWasLateTwiceIsExpectedLate) {
    Simulation simulation({.ranks = 4, .model = {}});
    make_plan(simulation);
    // The smaller one of the last two counts. A leader that was not late once is not expected late until it has been late twice again.
    EXPECT_EQ(expected_lateness(simulation, {900'000, 950'000, 930'000, 450'000, 900'000, 900'000, 900'000}),
              (Times{0, 0, 400'000, 430'000, 0, 0, 400'000}));
    Simulation unplanned({.ranks = 4, .model = {}});
    EXPECT_EQ(expected_lateness(unplanned, {900'000, 900'000, 900'000, 900'000}), Times(4, 0));
}

// It comes at 450 us, before the last of the others, and has computed its schedule long after that one.
TEST(Foresight, ALeaderThatComputesForLongIsNotLate) {
    Simulation simulation({.ranks = 4, .model = {.gamma = 1}});
    make_plan(simulation);
    computing = 800'000;
    EXPECT_EQ(expected_lateness(simulation, Times(4, 450'000)), Times(4, 0));
    computing = 0;
}

// A leader that begins after all others have predicted decides at once.
TEST(Foresight, TheLeaderBeginsWithItsPrediction) {
    Simulation simulation({.ranks = 4, .model = {}});
    make_plan(simulation);
    const Times arrivals = {500'000, 300'000, 900'000, 400'000};
    for (int iteration = 0; iteration < 4; ++iteration) {
        const Times told = foresee(simulation, 2, {{0, 0, 200'000, 0}, arrivals, arrivals})[1];
        EXPECT_EQ(told, (Times{300'000, 100'000, 700'000, 200'000})) << iteration;
    }
}

// Rank 0 decides, is late in every call, and predicts nothing. From the third call of a plan on, a call takes no longer than if it did.
TEST(Foresight, ALeaderThatIsAlwaysLateDelaysLikeAnyOtherRank) {
    constexpr Nanoseconds kLate = 300'000'000;
    constexpr std::uint64_t kBytes = 5'600'000, kSegment = kBytes / 56;
    constexpr int kRanks = 8;
    for (const auto& [operation, name] : {std::pair{OperationKind::allreduce, "straggler"},
                                          {OperationKind::allreduce, "clairvoyant"},
                                          {OperationKind::reduce, "clairvoyant"}}) {
        SCOPED_TRACE(fmt::format("{} {}", runtime::name(operation), name));
        const AlgorithmEntry& entry = collectives::find_algorithm(operation, name);
        const auto& row = collectives::operation(operation);
        Times arrivals(kRanks, 100'000);
        arrivals[0] = kLate;
        const auto delays = [&](bool is_plan, bool is_predicted) {
            Simulation simulation({.ranks = kRanks, .model = {}});
            if (is_plan) make_plan(simulation);
            Times found;
            for (int iteration = 0; iteration < 4; ++iteration) {
                const auto outcome = simulation.run(
                    [&](int rank) {
                        const std::uint64_t segment = entry.segmented ? kSegment : 0;
                        Simulation::RankCall call{
                            collectives::make_call(entry, row.has_root ? 0 : -1, kBytes, segment), collectives::planned(entry), {}};
                        call.arguments = collectives::arguments_of(row, {}, kBytes, kRanks, rank == 0);
                        call.arguments.segment_bytes = segment;
                        call.begin = 0;
                        if (rank != 0 || is_predicted) call.predictions = {{0, arrivals[static_cast<std::size_t>(rank)]}};
                        return call;
                    },
                    arrivals);
                found.push_back(*std::max_element(outcome.exits.begin(), outcome.exits.end()) - kLate);
            }
            return found;
        };
        const Times learned = delays(true, false), predicted = delays(true, true), unplanned = delays(false, false);
        EXPECT_EQ(learned[0], unplanned[0]);
        EXPECT_EQ(learned[1], unplanned[0]);
        EXPECT_EQ(learned[2], predicted[0]);
        EXPECT_EQ(learned[3], predicted[0]);
        EXPECT_EQ(unplanned, Times(4, unplanned[0]));
        if (operation == OperationKind::allreduce) {
            EXPECT_LE(predicted[0] * 5, unplanned[0] * 4);
        }
    }
}

// The time to compute schedules grows with the ranks: an allreduce becomes a ring, and a reduce has fewer pieces.
TEST(Foresight, IsCheapWithManyRanks) {
    const AlgorithmEntry& entry = collectives::find_algorithm(OperationKind::allreduce, "clairvoyant");
    for (const int ranks : {64, 65}) {
        constexpr std::uint64_t kBytes = 8000, kSegment = 1000;
        Times arrivals(static_cast<std::size_t>(ranks), 1000);
        arrivals.back() = 300'000'000;
        Simulation simulation({.ranks = ranks, .model = {}});
        const auto outcome = simulation.run(
            [&](int rank) {
                Simulation::RankCall call{collectives::make_call(entry, -1, kBytes, kSegment), collectives::planned(entry), {}};
                call.arguments = collectives::arguments_of(collectives::operation(entry.operation), {}, kBytes, ranks, false);
                call.arguments.segment_bytes = kSegment;
                call.begin = 0;
                call.predictions = {{0, arrivals[static_cast<std::size_t>(rank)]}};
                return call;
            },
            arrivals);
        for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
        const std::uint64_t of_ring = 2 * static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(ranks - 1);
        EXPECT_EQ(outcome.messages == of_ring, ranks == 65) << outcome.messages;
    }
    EXPECT_EQ(collectives::most_foreseen_pieces(2), 256u);
    EXPECT_EQ(collectives::most_foreseen_pieces(64), 256u);
    EXPECT_EQ(collectives::most_foreseen_pieces(512), 32u);
    EXPECT_EQ(collectives::most_foreseen_pieces(1'000'000), 8u);
}

/// What a process has computed at some time.
struct Look {
    std::uint64_t before = 0, then = 0;
    static void at(void* self, int) { static_cast<Look*>(self)->then = collectives::schedules_computed(); }
};

// Each rank computes the schedule once all have predicted, while their callers still compute. When these come, it is there.
TEST(Foresight, SchedulesStandBeforeTheArrivals) {
    constexpr Nanoseconds kFirst = 5'000'000, kAllKnown = 1'000'000;
    for (const auto& [operation, bytes] : {std::pair{OperationKind::reduce, 64'000}, {OperationKind::allreduce, 64'000}}) {
        SCOPED_TRACE(name(operation));
        constexpr int kRanks = 8;
        const AlgorithmEntry& entry = collectives::find_algorithm(operation, "clairvoyant");
        const auto& row = collectives::operation(operation);
        const int root = row.has_root ? 2 : -1;
        Times arrivals;
        for (int rank = 0; rank < kRanks; ++rank) arrivals.push_back(kFirst + 40'000 * (rank * 5 % kRanks));
        Simulation simulation({.ranks = kRanks, .model = {}});
        Look look{.before = collectives::schedules_computed()};
        simulation.network().schedule(kFirst - 1, &Look::at, &look, 0);
        const auto outcome = simulation.run(
            [&](int rank) {
                Simulation::RankCall call{
                    collectives::make_call(entry, root, static_cast<std::uint64_t>(bytes), 1000), collectives::planned(entry), {}};
                call.arguments = collectives::arguments_of(row, {}, static_cast<std::uint64_t>(bytes), kRanks, rank == root);
                call.arguments.segment_bytes = 1000;
                call.begin = 0;
                call.predictions = {{kAllKnown - 100'000 * rank, arrivals[static_cast<std::size_t>(rank)]}};
                return call;
            },
            arrivals);
        for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr) << error->what();
        EXPECT_EQ(look.then - look.before, static_cast<std::uint64_t>(kRanks)) << "one on each rank, before the first caller came";
        EXPECT_EQ(collectives::schedules_computed(), look.then) << "none later";
    }
}

}  // namespace
}  // namespace rollcall::model_test
