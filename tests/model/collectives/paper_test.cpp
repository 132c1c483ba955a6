// The lemmas and theorems of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", and the examples at
// the head of the algorithms' files. The model is that of broadcast_paper.hpp.
#include <algorithm>
#include <bit>
#include <numeric>

#include "tests/model/collectives/broadcast_paper.hpp"
#include "tests/sanitizers.hpp"

namespace rollcall::model_test::broadcast_paper {
namespace {

bench::Metrics metrics(const AlgorithmEntry& entry, const Times& a, const Setting& setting) {
    return bench::measure(a, run(entry, a, setting).exits,
                          {.root = setting.root, .message_time = static_cast<Nanoseconds>(setting.bytes), .model = setting.model});
}

Nanoseconds total_elapsed(const Times& a, const Times& f) {
    return std::accumulate(f.begin(), f.end(), Nanoseconds{0}) - std::accumulate(a.begin(), a.end(), Nanoseconds{0});
}

// Returns the sum, over the ranks that come before the root, of the time that they wait for it (section 3.1).
Nanoseconds waits_for_root(const Times& a, int root) {
    Nanoseconds sum = 0;
    for (const Nanoseconds ai : a) sum += std::max<Nanoseconds>(0, a[static_cast<std::size_t>(root)] - ai);
    return sum;
}

Nanoseconds Delta(const Times& a, int root) { return *std::max_element(a.begin(), a.end()) - a[static_cast<std::size_t>(root)]; }

// Returns Lemma 1's upper bound on the optimum, as mean elapsed time. A ratio to it is a lower bound of the competitive ratio.
double optimum_at_most(const Times& a, bench::Model model) {
    const auto n = static_cast<double>(a.size());
    return model == bench::Model::blocking ? static_cast<double>(Delta(a, 0)) / n + static_cast<double>(T) : static_cast<double>(T);
}

double ratio_at_least(const AlgorithmEntry& entry, const Times& a, const Setting& setting) {
    const Times f = run(entry, a, setting).exits;
    return static_cast<double>(total_elapsed(a, f)) / static_cast<double>(a.size()) / optimum_at_most(a, setting.model);
}

struct Pattern {
    int n;
    int root;
    Times a;
};
Pattern random_pattern(Random& random, int most) {
    Pattern pattern;
    pattern.n = static_cast<int>(random.between(2, most));
    pattern.root = static_cast<int>(random.below(static_cast<std::uint64_t>(pattern.n)));
    pattern.a = random_delays(random, pattern.n, pattern.root, random.pick(std::vector<Nanoseconds>{T / 10, T, 5 * T, 100 * T}));
    return pattern;
}

// Each receiver arrives just after the root has begun to send to another one, each in its own round.
Times just_missed(int n) {
    Times a(static_cast<std::size_t>(n), 0);
    for (int i = 1; i < n; ++i) a[static_cast<std::size_t>(n - i)] = (i - 1) * T + T / 1000;
    return a;
}

constexpr int kMostRanks = kSanitized ? 19 : 64;

std::vector<Times> adversaries(int n) {
    const auto count = static_cast<std::size_t>(n);
    std::vector<Times> all = {Times(count, 0), just_missed(n)};
    Times reversed = just_missed(n);
    std::reverse(reversed.begin() + 1, reversed.end());
    all.push_back(reversed);
    for (const Nanoseconds late : {T / 2, T + 1, 50 * n * T}) {
        Times first(count, 0), last(count, 0), all_late(count, late);
        first[1] = late;
        last[count - 1] = late;
        all_late[0] = 0;
        all.insert(all.end(), {first, last, all_late});
        Times children(count, 0);
        for (std::size_t child = 1; child < count; child *= 2) children[child] = late;
        all.push_back(children);
    }
    for (const Nanoseconds moment : {Nanoseconds{1}, T / 1000}) {  // All come in the first moment of the root's first message.
        Times a(count, moment);
        a[0] = 0;
        all.push_back(a);
    }
    return all;
}

TEST(Paper, Lemma1NearOptimalIsExact) {
    Random random(11);
    const AlgorithmEntry& nearopt = broadcast("near_optimal");
    for (int repetition = 0; repetition < repetitions(600); ++repetition) {
        const auto [n, root, a] = random_pattern(random, 40);
        SCOPED_TRACE(testing::PrintToString(a) + " root " + std::to_string(root));
        const Times blocking = run(nearopt, a, {.model = bench::Model::blocking, .root = root}).exits;
        EXPECT_EQ(total_elapsed(a, blocking), Delta(a, root) + n * T + waits_for_root(a, root));
        const Times nonblocking = run(nearopt, a, {.model = bench::Model::nonblocking, .root = root}).exits;
        EXPECT_LE(total_elapsed(a, nonblocking), n * T + waits_for_root(a, root));
        if (HasFailure()) return;
    }
}

TEST(Paper, Lemma2IsALowerBoundForAll) {
    Random random(12);
    for (int repetition = 0; repetition < repetitions(300); ++repetition) {
        const auto [n, root, a] = random_pattern(random, 32);
        for (const auto* entry : algorithms(runtime::OperationKind::broadcast)) {
            // The bound holds for a network, where every message takes T.
            if (entry->needs.contains(collectives::Condition::node_memory) || entry->needs.contains(collectives::Condition::several_nodes))
                continue;
            for (const auto model : kModels) {
                const Setting setting{.model = model,
                                      .cut_through = random.chance(0.5),
                                      .segment = random.pick(std::vector<std::uint64_t>{T, T / 8, T / 3}),
                                      .bytes = T - static_cast<std::uint64_t>(random.below(2) * random.below(1000)),
                                      .root = root};
                const auto m = metrics(*entry, a, setting);
                ASSERT_GE(m.performance_ratio, 1 - 1e-9)
                    << entry->name << " " << bench::name(model) << " " << testing::PrintToString(a) << " root " << root << " cut-through "
                    << setting.cut_through << " segment " << setting.segment;
            }
        }
    }
}

TEST(Paper, Theorem1LinearGrowsWithN) {
    for (const auto model : kModels)
        for (const int n : {2, 3, 4, 8, 17, 64}) {
            const Times balanced(static_cast<std::size_t>(n), 0);
            const Setting setting{.model = model};
            const Times f = run(broadcast("linear"), balanced, setting).exits;
            EXPECT_EQ(2 * total_elapsed(balanced, f), (n + 2) * (n - 1) * T);  // The mean is (n+2)(n-1)/(2n) T.
            EXPECT_GE(ratio_at_least(broadcast("linear"), balanced, setting), (n - 1) / 2.0);
        }
}

// Theorems 2 to 4: a rank that forwards messages comes late.
struct Adversary {
    const char* algorithm;
    Times (*late)(int n, Nanoseconds Lambda);
};
Times children_late(int n, Nanoseconds Lambda) {
    Times a(static_cast<std::size_t>(n), 0);
    for (std::size_t child = 1; child < a.size(); child *= 2) a[child] = Lambda;
    return a;
}
Times first_late(int n, Nanoseconds Lambda) {
    Times a(static_cast<std::size_t>(n), 0);
    a[1] = Lambda;
    return a;
}
constexpr Adversary kAdversaries[] = {{"binomial", &children_late}, {"pipelined", &first_late}, {"scatter_allgather", &first_late}};

TEST(Paper, Theorems2To4BlockingGrowWithN) {
    for (const auto& [algorithm, late] : kAdversaries) {
        double before = 0;
        for (const int n : {8, 16, 32, 64}) {
            const double ratio =
                ratio_at_least(broadcast(algorithm), late(n, 100 * n * T), {.model = bench::Model::blocking, .segment = T / 64});
            EXPECT_GE(ratio, n / 4.0) << algorithm << " n=" << n;
            EXPECT_GE(ratio, 1.8 * before) << algorithm << " n=" << n;  // Twice as many ranks: about twice as bad.
            before = ratio;
        }
    }
}

TEST(Paper, Theorems2To4NonblockingGrowWithoutBound) {
    const int n = 16;
    for (const auto& [algorithm, late] : kAdversaries)
        for (const Nanoseconds Lambda : {100 * T, 1000 * T, 10'000 * T}) {
            const double ratio = ratio_at_least(broadcast(algorithm), late(n, Lambda), {.segment = T / 64});
            EXPECT_GE(ratio, static_cast<double>(Lambda) / n / T) << algorithm;  // Lemma 3
            if (std::string_view(algorithm) == "scatter_allgather") {
                EXPECT_GE(ratio, static_cast<double>(Lambda) / 2 / T);
            }
        }
}

void expect_served_in_time(const AlgorithmEntry& entry, const Times& a, const Setting& setting) {
    const Times f = run(entry, a, setting).exits;
    const auto root = static_cast<std::size_t>(setting.root);
    for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_LE(i == root ? 0 : static_cast<double>(f[i] - std::max(a[i], a[root])), 2 * T * (1 + kHeaders))
            << entry.name << " rank " << i << " of " << testing::PrintToString(a) << " root " << root;
}

TEST(Paper, Theorem5ArrivalNonblocking) {
    Random random(15);
    const AlgorithmEntry& arrival_nb = broadcast("arrival_nonblocking");
    double worst = 0;
    const auto check = [&](const Times& a, int root) {
        const Setting setting = chains_to(a.size(), bench::Model::nonblocking, root);
        const auto m = metrics(arrival_nb, a, setting);
        EXPECT_LE(m.performance_ratio, 3 * (1 + kHeaders)) << testing::PrintToString(a) << " root " << root;
        const Times f = run(arrival_nb, a, setting).exits;
        const auto n = static_cast<double>(a.size());
        EXPECT_LE(static_cast<double>(f[static_cast<std::size_t>(root)] - a[static_cast<std::size_t>(root)]), (n - 1) * T * (1 + kHeaders));
        expect_served_in_time(arrival_nb, a, setting);
        worst = std::max(worst, m.performance_ratio);
    };
    for (int n = 2; n <= kMostRanks; n += n < 10 ? 1 : 9)
        for (const Times& a : adversaries(n)) check(a, 0);
    // Rank 1 is sent instalments and arrives while rank 2 is served. Rank 3 arrives while rank 1 gets the rest.
    check({0, 26 * T / 100, T / 4, 187 * T / 100, 9 * T}, 0);
    for (int repetition = 0; repetition < repetitions(1500) && !HasFailure(); ++repetition) {
        const auto [n, root, a] = random_pattern(random, 40);
        check(a, root);
    }
    RecordProperty("worst_ratio", std::to_string(worst));
    EXPECT_GT(worst, 2);  // The patterns are hard ones.
}

TEST(Paper, Theorem6ArrivalBlocking) {
    Random random(16);
    const AlgorithmEntry& arrival_b = broadcast("arrival_blocking");
    const auto check = [&](const Times& a, int root) {
        const Setting setting = chains_to(a.size(), bench::Model::blocking, root);
        const auto m = metrics(arrival_b, a, setting);
        const auto n = static_cast<double>(a.size()), delta = static_cast<double>(Delta(a, root));
        EXPECT_LE(m.performance_ratio, (delta + 2 * n * T) / (delta + (n - 1) * T) * (1 + kHeaders))
            << testing::PrintToString(a) << " root " << root;
        const Times f = run(arrival_b, a, setting).exits;
        EXPECT_LE(static_cast<double>(f[static_cast<std::size_t>(root)] - a[static_cast<std::size_t>(root)]),
                  delta + 2 * T * (1 + kHeaders));
        expect_served_in_time(arrival_b, a, setting);
    };
    for (int n = 2; n <= kMostRanks; n += n < 10 ? 1 : 9)
        for (const Times& a : adversaries(n)) check(a, 0);
    for (int repetition = 0; repetition < repetitions(1500) && !HasFailure(); ++repetition) {
        const auto [n, root, a] = random_pattern(random, 40);
        check(a, root);
    }
}

// Section 3.1: the two models differ in when a sender is done with its message.
TEST(Paper, LandingDecidesTheModel) {
    const Times a = {0, 10 * T};
    const Times blocking = run(broadcast("linear"), a, {.model = bench::Model::blocking}).exits;
    EXPECT_EQ(blocking, (Times{11 * T, 11 * T}));
    const Times nonblocking = run(broadcast("linear"), a, {.model = bench::Model::nonblocking}).exits;
    EXPECT_EQ(nonblocking, (Times{T, 10 * T}));
}

// --- the examples in the algorithms' files ---------------------------------------------------------------------------

TEST(Example, Linear) {
    for (const auto model : kModels)
        expect_near(run(broadcast("linear"), Times(4, 0), {.model = model, .cut_through = false}).exits, {3, 1, 2, 3});
}

TEST(Example, Binomial) {
    for (const auto model : kModels)
        expect_near(run(broadcast("binomial"), Times(8, 0), {.model = model, .cut_through = false}).exits, std::vector<double>(8, 3));
}

TEST(Example, Pipelined) {
    for (const auto model : kModels) {
        const auto outcome = run(broadcast("pipelined"), Times(4, 0), {.model = model, .cut_through = false, .segment = T, .bytes = 3 * T});
        expect_near(outcome.exits, {3, 4, 5, 5});
        EXPECT_EQ(outcome.messages, 9u);
    }
}

TEST(Example, Binary) {
    for (const auto model : kModels) {
        const auto outcome = run(broadcast("binary"), Times(4, 0), {.model = model, .cut_through = false, .segment = T, .bytes = 3 * T});
        expect_near(outcome.exits, {6, 6, 6, 6});
        EXPECT_EQ(outcome.messages, 9u);
    }
}

TEST(Example, ScatterAllgather) {
    const auto outcome = run(broadcast("scatter_allgather"), Times(4, 0), {.cut_through = false, .bytes = 4 * T});
    expect_near(outcome.exits, {6, 6, 6, 6});
    EXPECT_EQ(outcome.messages, 3u + 12u);
    EXPECT_EQ(outcome.bytes, 4u * T + 12u * T);
}

TEST(Example, NearOptimal) {
    expect_near(run(broadcast("near_optimal"), {0, 5 * T, 2 * T}, {.model = bench::Model::blocking}).exits, {3, 6, 6});
}

TEST(Example, ArrivalBlocking) {
    expect_near(run(broadcast("arrival_blocking"), {0, 0, 0, T / 2, 5 * T}, {.model = bench::Model::blocking}).exits, {6, 1, 1, 2, 6});
}

TEST(Example, ArrivalNonblocking) {
    expect_near(run(broadcast("arrival_nonblocking"), {0, 9 * T, T / 2, T / 2, 5 * T}, {}).exits, {3, 9, 1.5, 1.5, 5});
}

TEST(Example, DisseminationBarrierSendsLogNRounds) {
    const auto& entry = collectives::find_algorithm(runtime::OperationKind::barrier, "dissemination");
    for (const int n : {1, 2, 3, 4, 8, 9}) {
        Simulation::Options options;
        options.ranks = n;
        options.model.alpha = 10;
        Simulation simulation(options);
        Simulation::RankCall call;
        call.call.kind = runtime::OperationKind::barrier;
        call.algorithm = entry.algorithm;
        const auto outcome = simulation.run([&](int) { return call; }, Times(static_cast<std::size_t>(n), 0));
        const int rounds = std::bit_width(static_cast<unsigned>(n - 1));
        EXPECT_EQ(outcome.messages, static_cast<std::uint64_t>(n * rounds));
        for (const Nanoseconds exit : outcome.exits) EXPECT_EQ(exit, 10 * rounds);
    }
}

TEST(Example, NobodyLeavesABarrierBeforeTheLastHasCome) {
    Random random(17);
    for (const auto& entry : collectives::catalogue()) {
        if (entry.operation != runtime::OperationKind::barrier) continue;
        for (int n = 1; n <= 33; ++n) {
            auto options = random_machine(random, n, 0);
            Simulation simulation(options);
            Simulation::RankCall call;
            call.call.kind = runtime::OperationKind::barrier;
            call.algorithm = entry.algorithm;
            for (int repetition = 0; repetition < 3; ++repetition) {
                const Times a = random_delays(random, n, 0, 1000);
                const auto outcome = simulation.run([&](int) { return call; }, a);
                for (const Nanoseconds exit : outcome.exits)
                    EXPECT_GE(exit, *std::max_element(a.begin(), a.end())) << entry.name << " " << n;
            }
        }
    }
}

}  // namespace
}  // namespace rollcall::model_test::broadcast_paper
