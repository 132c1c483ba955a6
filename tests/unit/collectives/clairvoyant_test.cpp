#include "collectives/schedules/clairvoyant.hpp"

#include <gtest/gtest.h>

#include <limits>

#include <rollcall/error.hpp>

#include "collectives/schedules/active_set.hpp"
#include "collectives/schedules/pairing_heap_search.hpp"
#include "tests/sanitizers.hpp"
#include "tests/unit/collectives/schedules.hpp"
#include "tests/unit/random.hpp"

namespace rollcall::collectives {
namespace {

void expect_same(const Schedule& one, const Schedule& other) {
    ASSERT_EQ(one.transfers.size(), other.transfers.size());
    for (std::size_t k = 0; k < one.transfers.size(); ++k)
        ASSERT_EQ(one.transfers[k], other.transfers[k]) << "transfer " << k << " in round " << one.transfers[k].round;
    ASSERT_EQ(one.rounds, other.rounds);
    ASSERT_EQ(one.idle_rounds, other.idle_rounds);
}

// By the book: all processes are sorted in each round by when they are available, and nothing is skipped.
std::vector<Transfer> plain_clairvoyant(const ReductionPlan& reduction) {
    const std::size_t P = reduction.arrivals.size();
    const auto N = static_cast<std::size_t>(reduction.segments);
    std::vector<Transfer> transfers;
    std::vector<Nanoseconds> available = reduction.arrivals;
    std::vector<std::vector<bool>> M(P, std::vector<bool>(N, true));
    for (std::int64_t round = 0;; ++round) {
        std::vector<std::size_t> queue;
        for (std::size_t p = 0; p < P; ++p)
            if (std::count(M[p].begin(), M[p].end(), true)) queue.push_back(p);
        if (queue.size() < 2) return transfers;
        std::stable_sort(queue.begin(), queue.end(), [&](std::size_t p, std::size_t q) { return available[p] < available[q]; });
        std::vector<std::size_t> G;
        for (const std::size_t p : queue)
            if (available[p] < available[queue[0]] + reduction.round_time) G.push_back(p);
        const auto root = std::find(G.begin(), G.end(), static_cast<std::size_t>(reduction.root));
        if (root != G.end()) std::rotate(G.begin(), root, root + 1);
        std::vector<bool> S(P, false);
        std::vector<std::pair<std::size_t, std::size_t>> came;
        for (const std::size_t i : G) {
            bool found = false;
            for (std::size_t s = 0; s < N && !found; ++s) {
                if (i != G[0] && !M[i][s]) continue;
                for (const std::size_t z : G) {
                    if (z == i || S[z] || !M[z][s]) continue;
                    transfers.push_back({round, static_cast<int>(z), static_cast<int>(i), static_cast<int>(s)});
                    S[z] = true;
                    M[z][s] = M[i][s] = false;
                    came.push_back({i, s});
                    found = true;
                    break;
                }
            }
        }
        for (const auto& [i, s] : came) M[i][s] = true;
        for (const std::size_t i : G) available[i] += reduction.round_time;
    }
}

TEST(Clairvoyant, TheExampleOfSection42) {
    const ReductionPlan reduction{.arrivals = {0, 0, 0, 1'100'000'000}, .segments = 4, .root = 0, .round_time = 1'000'000'000};
    const std::vector<Transfer> expected = {
        {0, 1, 0, 0}, {0, 0, 1, 1},                              // p2 neither sends nor receives.
        {1, 2, 0, 0}, {1, 3, 1, 1}, {1, 0, 2, 2}, {1, 1, 3, 2},  // Not p1 -1-> p2 and p0 -0-> p3, which come in.
        {2, 3, 0, 0}, {2, 2, 1, 1}, {2, 0, 2, 3}, {2, 1, 3, 3},  //
        {3, 1, 0, 1}, {3, 3, 2, 2}, {3, 2, 3, 3},                //
        {4, 2, 0, 2},                                            //
        {5, 3, 0, 3}};
    for (const SearchKind kind : kSearchKinds) {
        const Schedule schedule = clairvoyant(reduction, kind);
        EXPECT_EQ(schedule.transfers, expected) << name(kind);
        EXPECT_EQ(schedule.rounds, 6);
        EXPECT_EQ(schedule.idle_rounds, 0);
        EXPECT_EQ(fault_of(schedule), "");
    }
}

// As section 4.2 has it without the state P': a schedule that fault_of() must not take for a reduction.
TEST(Clairvoyant, SendingWhatComesInIsAFault) {
    Schedule schedule{.processes = 4, .segments = 4, .root = 0, .transfers = {}};
    schedule.transfers = {{0, 1, 0, 0}, {0, 0, 1, 1}, {1, 2, 0, 0}, {1, 3, 1, 1}, {1, 1, 2, 1}, {1, 0, 3, 0}};
    EXPECT_EQ(fault_of(schedule), "round 1: 0 sends segment 0, which comes in");
}

TEST(Clairvoyant, SearchesGiveTheSameValidSchedules) {
    std::mt19937_64 random = seeded_random();
    for (int instance = 0; instance < test::repetitions(10'000); ++instance) {
        const ReductionPlan reduction = random_reduction(random);
        SCOPED_TRACE(describe(reduction));
        const Schedule linear = clairvoyant(reduction, SearchKind::linear);
        ASSERT_EQ(fault_of(linear), "");
        expect_same(clairvoyant(reduction, SearchKind::pairing_heap), linear);
        expect_same(clairvoyant(reduction, SearchKind::segment_tree), linear);
        if (HasFatalFailure()) return;
    }
}

TEST(Clairvoyant, IsWhatTheDefinitionSays) {
    std::mt19937_64 random = seeded_random();
    for (int instance = 0; instance < test::repetitions(1000); ++instance) {
        const ReductionPlan reduction = random_reduction(random);
        ASSERT_EQ(clairvoyant(reduction).transfers, plain_clairvoyant(reduction)) << describe(reduction);
    }
}

// The segment tree's rows are one word, several, and more than fit the width.
TEST(Clairvoyant, SkewedPatterns) {
    std::mt19937_64 random = seeded_random();
    for (const int P : {2, 7, 33})
        for (const int N : {1, 63, 64, 65, 129, 300, 600}) {
            if (P == 33 && N > 129) continue;
            ReductionPlan reduction{
                .arrivals = std::vector<Nanoseconds>(static_cast<std::size_t>(P), 0), .segments = N, .root = 0, .round_time = 1000};
            const auto all_the_same = [&] {
                SCOPED_TRACE(describe(reduction));
                const Schedule schedule = clairvoyant(reduction);
                EXPECT_EQ(fault_of(schedule), "");
                expect_same(clairvoyant(reduction, SearchKind::linear), schedule);
                if (P * N * N <= 70'000) expect_same(clairvoyant(reduction, SearchKind::pairing_heap), schedule);
            };
            reduction.arrivals.back() = N * 1000;
            all_the_same();  // The last one is late, as in section 5.7.
            reduction.root = P - 1;
            all_the_same();  // It is the root.
            reduction.arrivals.assign(static_cast<std::size_t>(P), N * 1000);
            reduction.arrivals[0] = 0;
            all_the_same();  // All but one are late.
            for (Nanoseconds& arrival : reduction.arrivals) arrival = static_cast<Nanoseconds>(1'000'000 / (1 + random() % 1000));
            all_the_same();  // Few are very late.
            if (HasFailure()) return;
        }
}

// The paper estimates log2 P + N + 1 rounds. It is log2 P + N - 1; N - 1 of the messages are segments that the root lends.
TEST(Clairvoyant, BalancedArrivals) {
    for (int k = 0; k <= 9; ++k) {
        const int P = 1 << k;
        for (const int N : {1, 2, 3, 8, 65}) {
            const ReductionPlan reduction{
                .arrivals = std::vector<Nanoseconds>(static_cast<std::size_t>(P), 77), .segments = N, .root = P / 3, .round_time = 10};
            const Schedule schedule = clairvoyant(reduction);
            ASSERT_EQ(schedule.rounds, P == 1 ? 0 : k + N - 1) << P << " " << N;
            ASSERT_EQ(schedule.transfers.size(), P == 1 ? 0u : static_cast<std::size_t>((P - 1) * N + N - 1)) << P << " " << N;
            ASSERT_EQ(fault_of(schedule), "") << P << " " << N;
        }
    }
}

// Section 5.1.
TEST(Clairvoyant, IdleRoundsAreSkipped) {
    constexpr Nanoseconds second = 1'000'000'000, millisecond = 1'000'000;
    const std::vector<Nanoseconds> arrivals = {0, second, 2 * second, 3 * second};
    ActiveSet active(arrivals, millisecond);
    const std::vector<int> all(4, 1);
    ASSERT_TRUE(active.next(all));
    EXPECT_EQ(active.members(), (std::vector<int>{0, 1}));
    EXPECT_EQ(active.idle_rounds(), 1000);
    EXPECT_EQ(active.round(), 1000);
    ASSERT_TRUE(active.next(std::vector{1, 0, 1, 1}));
    EXPECT_EQ(active.members(), (std::vector<int>{0, 2}));
    EXPECT_EQ(active.idle_rounds(), 1000 + 999);
    EXPECT_EQ(active.round(), 2000);

    const Schedule schedule = clairvoyant({.arrivals = arrivals, .segments = 1, .root = 0, .round_time = millisecond});
    EXPECT_EQ(schedule.transfers, (std::vector<Transfer>{{1000, 1, 0, 0}, {2000, 2, 0, 0}, {3000, 3, 0, 0}}));
    EXPECT_EQ(schedule.idle_rounds, 1000 + 999 + 999);
    EXPECT_EQ(schedule.rounds, 3001);
}

TEST(Clairvoyant, TimesFarApart) {
    constexpr Nanoseconds far = std::numeric_limits<Nanoseconds>::max();
    const Schedule schedule =
        clairvoyant({.arrivals = {far, far - (Nanoseconds{1} << 62), far}, .segments = 2, .root = 1, .round_time = 1});
    EXPECT_EQ(schedule.transfers.front().round, Nanoseconds{1} << 62);
    EXPECT_EQ(fault_of(schedule), "");
}

// Section 5.4.3: the rank that is first does not stay first.
TEST(Clairvoyant, OrderOfAvailability) {
    ActiveSet active(std::vector<Nanoseconds>{2, 11, 23}, 10);
    ASSERT_TRUE(active.next(std::vector{1, 1, 1}));
    EXPECT_EQ(active.members(), (std::vector<int>{0, 1}));
    ASSERT_TRUE(active.next(std::vector{0, 1, 1}));
    EXPECT_EQ(active.members(), (std::vector<int>{1, 2}));
    EXPECT_EQ(active.idle_rounds(), 0);
}

// Lemma 1: a process that sends in each round leaves N (N + 1) / 2 heaps, and comes back to N (N - 1) / 2.
TEST(Clairvoyant, CountsOfLemma1) {
    const int P = 60, N = 12;
    ReductionPlan reduction{.arrivals = {}, .segments = N, .root = 0, .round_time = 10};
    for (int p = 0; p < P; ++p) reduction.arrivals.push_back(10 * p);
    PairingHeapSearch search(P, N);
    const Schedule schedule = clairvoyant(reduction, search);
    int found = 0;
    for (int p = 1; p < P; ++p) {
        std::vector<std::int64_t> rounds;
        for (const Transfer& transfer : schedule.transfers)
            if (transfer.sender == p) rounds.push_back(transfer.round);
        ASSERT_GE(rounds.size(), static_cast<std::size_t>(N)) << "each segment once, at least";
        if (rounds.front() != p || rounds.back() != p + N - 1) continue;
        ++found;
        EXPECT_EQ(search.counts(p).erasures, N * (N + 1) / 2) << p;
        EXPECT_EQ(search.counts(p).insertions, N * (N - 1) / 2) << p;
    }
    EXPECT_GE(found, P - 3 * N) << "with more processes than segments most send in each round";
}

// Section 5.5: 5 bits for each process and segment. Here the order is made anew in each round, which spares the doubled index: 5 are needed
// only where the number of processes is just above a power of two.
TEST(Clairvoyant, MemoryOfTheSegmentTree) {
    for (const int N : {64, 128, 256, 512, 1024}) {
        const auto bits = [&](int P) {
            return 8 * static_cast<double>(make_segment_tree_search(P, N)->bytes()) / static_cast<double>(P) / static_cast<double>(N);
        };
        EXPECT_EQ(bits(512), 3);
        EXPECT_LT(bits(513), 5);
        EXPECT_LT(bits(700), 5);
    }
    // The paper counts 56 bytes with pairing heaps, and says that the tree needs almost 90 times less.
    EXPECT_GT(PairingHeapSearch(512, 512).bytes(), 90 * make_segment_tree_search(512, 512)->bytes());
}

TEST(Clairvoyant, WrongReductionsAreRefused) {
    const ReductionPlan good{.arrivals = {1, 2, 3}, .segments = 2, .root = 2, .round_time = 1};
    const auto refused = [&](auto change, const std::string& part) {
        ReductionPlan reduction = good;
        change(reduction);
        try {
            clairvoyant(reduction);
            ADD_FAILURE() << part;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        }
    };
    refused([](ReductionPlan& r) { r.arrivals.clear(); }, "0 processes; allowed: 1 to");
    refused([](ReductionPlan& r) { r.segments = 0; }, "0 segments");
    refused([](ReductionPlan& r) { r.root = 3; }, "root 3; allowed: 0 to 2");
    refused([](ReductionPlan& r) { r.root = -1; }, "root -1");
    refused([](ReductionPlan& r) { r.round_time = 0; }, "round time of 0 ns");
    refused([](ReductionPlan& r) { r.arrivals[0] = std::numeric_limits<Nanoseconds>::min(); }, "ns apart");
    EXPECT_EQ(fault_of(clairvoyant(good)), "");
}

}  // namespace
}  // namespace rollcall::collectives
