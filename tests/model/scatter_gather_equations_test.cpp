// J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster Computing
// 2020: its equations (3) to (24), to the nanosecond, and the examples that open the algorithms' files.
//
// The model is that of the paper: Hockney's, one port, a sender is done when its receiver has the message (no landing).
// a_0 is the root's arrival, N = P * bytes. Readings:
// - (7) and (8), and what rests on them, are closed for P = 2^k only; for other P the same tree is followed by a recurrence here.
// - "The first receiver (id: 1)": in a linear algorithm the first that the root turns to. In (13) it is the rank the root sends to
//   first, k/2 places from it, who has half of the blocks to pass on. (21) holds for that one and for the one next to the
//   root. In the sorted algorithms it is any rank: they put it where it belongs.
// - (5), (6) and (17) to (20) count the call, the first and the second piece one after the other: a half duplex port.
// - (17) and (18) count the call to the late rank after its arrival. But nobody need wait to make it, and it is there when the
//   rank comes: one alpha less. In the same way BSLS saves one alpha in (18) and (20), where it calls the first rank before
//   that arrives.
// - (22) as printed gives the late rank (P-1)N/(2P) to send; the tree gives it half of the blocks, N/2.
#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test {
namespace {

using collectives::AlgorithmEntry;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

const AlgorithmEntry& scatter(std::string_view name) { return collectives::find_algorithm(OperationKind::scatter, name); }
const AlgorithmEntry& gather(std::string_view name) { return collectives::find_algorithm(OperationKind::gather, name); }

struct Setting {
    Nanoseconds alpha = 0, beta = 1;
    Nanoseconds bytes = 1000;  ///< Of one rank.
    int root = 0;
    bool planned = false;  ///< Begun long before anybody arrives, each rank with a prediction.
    bool full_duplex = true;
    int ports = 1;
    std::uint64_t landing_bytes = 0;
    std::vector<Nanoseconds> predictions = {};  ///< Else perfect ones.

    Nanoseconds message(Nanoseconds blocks) const { return alpha + blocks * bytes * beta; }
};

// Exits, in the times of the arrivals `a`.
Times run(const AlgorithmEntry& entry, const Times& a, const Setting& setting) {
    const int n = static_cast<int>(a.size());
    Simulation::Options options;
    options.ranks = n;
    options.model.alpha = static_cast<double>(setting.alpha);
    options.model.beta = static_cast<double>(setting.beta);
    options.model.full_duplex = setting.full_duplex;
    options.model.ports = setting.ports;
    options.landing_bytes = setting.landing_bytes;
    options.eager_bytes = 0;  // every block waits for its receiver
    Simulation simulation(options);
    const auto bytes = static_cast<std::uint64_t>(setting.bytes);
    // For the exchange of places, of which the paper says that it is over by then.
    const Nanoseconds before = setting.planned ? 1000 + 4 * n * (setting.alpha + 200 * setting.beta) : 0;
    Times arrivals = a;
    for (Nanoseconds& arrival : arrivals) arrival += before;
    const auto outcome = simulation.run(
        [&](int rank) {
            Simulation::RankCall call;
            call.call = collectives::make_call(entry, setting.root, bytes, 0);
            call.algorithm = entry.algorithm;
            if (rank == setting.root) call.arguments.data = {nullptr, bytes * a.size()};
            call.arguments.result = {nullptr, bytes};
            call.arguments.contribution = {nullptr, bytes};
            if (setting.planned) {
                call.begin = 0;
                const auto& expected = setting.predictions.empty() ? a : setting.predictions;
                call.predictions.push_back({0, expected[static_cast<std::size_t>(rank)] + before});
            }
            return call;
        },
        arrivals);
    Times exits = outcome.exits;
    for (Nanoseconds& exit : exits) exit -= before;
    for (const auto& error : outcome.errors) EXPECT_EQ(error, nullptr);
    return exits;
}

// (1) and, times P, (2).
Nanoseconds run_time(const Times& a, const Times& f) {
    return *std::max_element(f.begin(), f.end()) - *std::min_element(a.begin(), a.end());
}
Nanoseconds total_elapsed(const Times& a, const Times& f) {
    return std::accumulate(f.begin(), f.end(), Nanoseconds{0}) - std::accumulate(a.begin(), a.end(), Nanoseconds{0});
}

Times all_but(int P, int late, Nanoseconds d) {
    Times a(static_cast<std::size_t>(P), 0);
    a[static_cast<std::size_t>(late)] = d;
    return a;
}

// Calls check(P, setting) for every P on several machines, each with another root and another size.
void for_every_job(const std::function<void(int, Setting)>& check) {
    for (int P = 2; P <= 64; ++P)
        for (const Setting& setting :
             {Setting{.alpha = 0, .beta = 1, .bytes = 1000, .root = 0}, Setting{.alpha = 50, .beta = 3, .bytes = 7, .root = P / 2},
              Setting{.alpha = 1000, .beta = 1, .bytes = 600, .root = P - 1}}) {
            check(P, setting);
            if (!testing::Test::HasFailure()) continue;
            ADD_FAILURE() << "P=" << P << " root=" << setting.root << " alpha=" << setting.alpha << " bytes=" << setting.bytes;
            return;
        }
}
Setting planned(Setting setting) {
    setting.planned = true;
    return setting;
}
Setting half_duplex(Setting setting) {
    setting.full_duplex = false;
    return setting;
}
int first_receiver(const Setting& setting) { return setting.root == 0 ? 1 : 0; }
// From no delay to one beside which everything else vanishes.
std::vector<Nanoseconds> delays(Nanoseconds r) { return {0, r / 3 + 1, r - 1, r, 5 * r + 7}; }

// --- the binomial tree, by recurrence ----------------------------------------------------------------------------------

// Who stands where, and when each position arrives. Positions are the paper's new ranks.
struct Tree {
    const Setting& setting;
    bool background;
    std::vector<bool> occupied;
    Times a, f;

    Tree(int P, bool sorted, bool in_background, const Setting& its_setting)
        : setting(its_setting),
          background(in_background),
          occupied(std::bit_ceil(static_cast<unsigned>(P)), false),
          a(occupied.size(), 0),
          f(occupied.size(), 0) {
        for (int j = 0; j < P; ++j) occupied[sorted ? reversed(j) : static_cast<std::size_t>(j)] = true;
    }
    // The position of the j-th in order, its bits reversed.
    std::size_t reversed(int j) const {
        std::size_t position = 0;
        for (std::size_t bit = 1; bit < occupied.size(); bit *= 2, j /= 2) position = 2 * position + static_cast<std::size_t>(j % 2);
        return position;
    }
    Nanoseconds blocks(std::size_t first, std::size_t count) const {
        return std::count(occupied.begin() + static_cast<std::ptrdiff_t>(first),
                          occupied.begin() + static_cast<std::ptrdiff_t>(first + count), true);
    }
    // p has the blocks of its `span` positions at t, and sends.
    void scatter(std::size_t p, std::size_t span, Nanoseconds t) {
        for (std::size_t i = span / 2; i > 0; i /= 2) {
            if (!occupied[p + i]) continue;
            t = std::max(t, background ? 0 : a[p + i]) + setting.message(blocks(p + i, i));
            scatter(p + i, i, t);
        }
        f[p] = std::max(t, a[p]);
    }
    // When p has the blocks of its `span` positions. In the background those who can send first do so.
    Nanoseconds gather(std::size_t p, std::size_t span) {
        std::vector<std::pair<Nanoseconds, std::size_t>> children;
        for (std::size_t i = 1; i < span; i *= 2)
            if (occupied[p + i]) children.emplace_back(gather(p + i, i), i);
        if (background) std::stable_sort(children.begin(), children.end(), [](auto one, auto other) { return one.first < other.first; });
        Nanoseconds t = background ? 0 : a[p];
        for (const auto& [ready, i] : children) f[p + i] = t = std::max(t, ready) + setting.message(blocks(p + i, i));
        return f[p] = std::max(t, a[p]);
    }
    Nanoseconds scatter() {
        scatter(0, occupied.size(), a[0]);
        return run_time();
    }
    Nanoseconds gather() {
        gather(0, occupied.size());
        return run_time();
    }
    Nanoseconds run_time() const { return *std::max_element(f.begin(), f.end()) - first(); }
    Nanoseconds first() const {
        Nanoseconds least = a[0];
        for (std::size_t p = 0; p < a.size(); ++p)
            if (occupied[p]) least = std::min(least, a[p]);
        return least;
    }
    Nanoseconds total_elapsed() const {
        return std::accumulate(f.begin(), f.end(), Nanoseconds{0}) - std::accumulate(a.begin(), a.end(), Nanoseconds{0});
    }
};

bool power_of_two(int P) { return std::has_single_bit(static_cast<unsigned>(P)); }
Nanoseconds log2(int P) { return std::bit_width(static_cast<unsigned>(P)) - 1; }
// (7), for powers of two.
Nanoseconds r_BN(int P, const Setting& s) { return log2(P) * s.alpha + (P - 1) * s.bytes * s.beta; }

// --- flat patterns -------------------------------------------------------------------------------------------------------

TEST(Proficz, Equations3And4Linear) {
    for_every_job([](int P, Setting s) {
        const Times a(static_cast<std::size_t>(P), 0);
        const auto check = [&](const AlgorithmEntry& entry, const Setting& setting) {
            const Times f = run(entry, a, setting);
            EXPECT_EQ(run_time(a, f), (P - 1) * s.message(1)) << entry.name;
            EXPECT_EQ(2 * total_elapsed(a, f), (P + 2) * (P - 1) * s.message(1)) << entry.name;
        };
        check(scatter("linear"), s);
        check(gather("linear"), s);
        // "The same as for LIN"; the online one sends ahead to calls that are planned, and so, too.
        for (const auto* name : {"linear", "sorted_linear", "background_sorted_linear", "online_linear"}) check(scatter(name), planned(s));
    });
}

TEST(Proficz, Equations5And6LinearSynchronized) {
    for_every_job([](int P, Setting s) {
        const Times a(static_cast<std::size_t>(P), 0);
        const Nanoseconds block = 3 * s.alpha + s.bytes * s.beta;
        const auto check = [&](const char* name, const Setting& setting, Nanoseconds saved) {
            const Times f = run(gather(name), a, half_duplex(setting));
            EXPECT_EQ(run_time(a, f), (P - 1) * block - saved) << name;
            EXPECT_EQ(2 * total_elapsed(a, f), (P + 2) * (P - 1) * block - 2 * P * saved) << name;
            // In full duplex the next rank is called while the second piece of the one before moves.
            EXPECT_EQ(run_time(a, run(gather(name), a, setting)), (P - 1) * (block - s.alpha) + s.alpha - saved) << name;
        };
        check("linear_synchronized", s, 0);
        check("linear_synchronized", planned(s), 0);
        check("sorted_linear_synchronized", planned(s), 0);
        check("background_sorted_linear_synchronized", planned(s), s.alpha);
        check("online_linear", s, 0);
        check("online_linear", planned(s), 0);
    });
}

TEST(Proficz, Equation7BinomialScatter) {
    for_every_job([](int P, Setting s) {
        const Times a(static_cast<std::size_t>(P), 0);
        const auto check = [&](const char* name, const Setting& setting, bool sorted, bool background) {
            const Times f = run(scatter(name), a, setting);
            Tree tree(P, sorted, background, s);
            EXPECT_EQ(run_time(a, f), tree.scatter()) << name;
            EXPECT_EQ(total_elapsed(a, f), tree.total_elapsed()) << name;
            if (!power_of_two(P)) return;
            EXPECT_EQ(run_time(a, f), r_BN(P, s)) << name;
            EXPECT_EQ(total_elapsed(a, f), P * r_BN(P, s)) << name;
        };
        check("binomial", s, false, false);
        check("binomial", planned(s), false, false);
        check("sorted_binomial", planned(s), true, false);
        check("background_sorted_binomial", planned(s), true, true);
    });
}

TEST(Proficz, Equations7And8BinomialGather) {
    for_every_job([](int P, Setting s) {
        const Times a(static_cast<std::size_t>(P), 0);
        const auto check = [&](const char* name, const Setting& setting, bool sorted, bool background) {
            const Times f = run(gather(name), a, setting);
            Tree tree(P, sorted, background, s);
            EXPECT_EQ(run_time(a, f), tree.gather()) << name;
            EXPECT_EQ(total_elapsed(a, f), tree.total_elapsed()) << name;
            if (!power_of_two(P)) return;
            EXPECT_EQ(run_time(a, f), r_BN(P, s)) << name;
            EXPECT_EQ(total_elapsed(a, f), 2 * (P - 1) * s.alpha + log2(P) * s.beta * P * s.bytes) << name;
        };
        check("binomial", s, false, false);
        check("binomial", planned(s), false, false);
        check("sorted_binomial", planned(s), true, false);
        check("background_sorted_binomial", planned(s), true, true);
    });
}

// --- one late rank -------------------------------------------------------------------------------------------------------

TEST(Proficz, Equations9To12LinearScatter) {
    for_every_job([](int P, Setting s) {
        const Nanoseconds c = s.message(1), r_LIN = (P - 1) * c;
        for (const Nanoseconds d : delays(r_LIN)) {
            const auto r = [&](const char* name, int late, const Setting& setting) {
                const Times a = all_but(P, late, d);
                return run_time(a, run(scatter(name), a, setting));
            };
            EXPECT_EQ(r("linear", first_receiver(s), s), d + r_LIN) << "(9)";
            for (const int late : {first_receiver(s), (s.root + P - 1) % P}) {
                EXPECT_EQ(r("sorted_linear", late, planned(s)), std::max(d + c, r_LIN)) << "(10)";
                EXPECT_EQ(r("background_sorted_linear", late, planned(s)), std::max(d, r_LIN)) << "(11)";
                EXPECT_EQ(r("online_linear", late, planned(s)), std::max(d, r_LIN)) << "as (11)";
            }
            EXPECT_EQ(r("linear", s.root, s), d + r_LIN) << "(12)";
            for (const auto* name : {"sorted_linear", "background_sorted_linear", "online_linear"})
                EXPECT_EQ(r(name, s.root, planned(s)), d + r_LIN) << "(12) " << name;
        }
    });
}

TEST(Proficz, Equations13To16BinomialScatter) {
    for_every_job([](int P, Setting s) {
        for (const Nanoseconds d : delays(r_BN(P, s))) {
            // In the sorted trees the late one is the last in order; in the plain one it stands where its number says.
            const auto r = [&](const char* name, int late, const Setting& setting, bool sorted, bool background) {
                const Times a = all_but(P, late, d);
                const Times f = run(scatter(name), a, setting);
                Tree tree(P, sorted, background, s);
                if (late == s.root)
                    tree.a[0] = d;
                else
                    tree.a[sorted ? tree.reversed(P - 1) : static_cast<std::size_t>((late - s.root + P) % P)] = d;
                EXPECT_EQ(run_time(a, f), tree.scatter()) << name << " " << late;
                EXPECT_EQ(total_elapsed(a, f), tree.total_elapsed()) << name << " " << late;
                return run_time(a, f);
            };
            const int first =
                static_cast<int>((static_cast<unsigned>(s.root) + std::bit_ceil(static_cast<unsigned>(P)) / 2) % static_cast<unsigned>(P));
            const Nanoseconds plain = r("binomial", first, s, false, false);
            const Nanoseconds sorted = r("sorted_binomial", first, planned(s), true, false);
            const Nanoseconds background = r("background_sorted_binomial", first, planned(s), true, true);
            const Nanoseconds root_plain = r("binomial", s.root, s, false, false);
            const Nanoseconds root_sorted = r("sorted_binomial", s.root, planned(s), true, false);
            const Nanoseconds root_background = r("background_sorted_binomial", s.root, planned(s), true, true);
            if (!power_of_two(P)) continue;
            const Nanoseconds r_BNs = r_BN(P, s);
            EXPECT_EQ(plain, d + r_BNs) << "(13)";
            EXPECT_EQ(sorted, std::max(d + s.message(1), r_BNs)) << "(14)";
            EXPECT_EQ(background, std::max(d, r_BNs)) << "(15)";
            for (const Nanoseconds late_root : {root_plain, root_sorted, root_background}) EXPECT_EQ(late_root, d + r_BNs) << "(16)";
        }
    });
}

TEST(Proficz, Equations17To20LinearSynchronizedGather) {
    for_every_job([](int P, Setting s) {
        const Nanoseconds alpha = s.alpha, block = 3 * alpha + s.bytes * s.beta, r_LS = (P - 1) * block;
        for (const Nanoseconds d : delays(r_LS)) {
            const auto r = [&](const char* name, int late, const Setting& setting) {
                const Times a = all_but(P, late, d);
                return run_time(a, run(gather(name), a, half_duplex(setting)));
            };
            EXPECT_EQ(r("linear_synchronized", first_receiver(s), s), r_LS + std::max(d, alpha) - alpha) << "(17) less alpha";
            for (const int late : {first_receiver(s), (s.root + P - 1) % P}) {
                EXPECT_EQ(r("sorted_linear_synchronized", late, planned(s)), std::max(d + block - alpha, r_LS)) << "(18) less alpha";
                EXPECT_EQ(r("background_sorted_linear_synchronized", late, planned(s)), std::max(d + block, r_LS) - alpha)
                    << "(18) less alpha";
                EXPECT_EQ(r("online_linear", late, planned(s)), std::max(d + block, r_LS)) << "(18)";
            }
            EXPECT_EQ(r("linear_synchronized", s.root, s), d + r_LS) << "(19)";
            EXPECT_EQ(r("sorted_linear_synchronized", s.root, planned(s)), d + r_LS) << "(19)";
            EXPECT_EQ(r("background_sorted_linear_synchronized", s.root, planned(s)), std::max(d, r_LS - alpha)) << "(20) less alpha";
            EXPECT_EQ(r("online_linear", s.root, planned(s)), std::max(d, r_LS)) << "(20)";
        }
    });
}

TEST(Proficz, Equations21To24BinomialGather) {
    for_every_job([](int P, Setting s) {
        for (const Nanoseconds d : delays(r_BN(P, s))) {
            // In the sorted trees the late one is the first in order, next to the root with half of the blocks.
            const auto r = [&](const char* name, int late, const Setting& setting, bool sorted, bool background) {
                const Times a = all_but(P, late, d);
                const Times f = run(gather(name), a, setting);
                Tree tree(P, sorted, background, s);
                if (late == s.root)
                    tree.a[0] = d;
                else
                    tree.a[sorted ? tree.reversed(1) : static_cast<std::size_t>((late - s.root + P) % P)] = d;
                EXPECT_EQ(run_time(a, f), tree.gather()) << name << " " << late;
                EXPECT_EQ(total_elapsed(a, f), tree.total_elapsed()) << name << " " << late;
                return run_time(a, f);
            };
            const int next = (s.root + 1) % P;
            const int half =
                static_cast<int>((static_cast<unsigned>(s.root) + std::bit_ceil(static_cast<unsigned>(P)) / 2) % static_cast<unsigned>(P));
            const Nanoseconds plain_next = r("binomial", next, s, false, false);
            const Nanoseconds plain_half = r("binomial", half, s, false, false);
            const Nanoseconds sorted = r("sorted_binomial", next, planned(s), true, false);
            const Nanoseconds background = r("background_sorted_binomial", next, planned(s), true, true);
            const Nanoseconds root_plain = r("binomial", s.root, s, false, false);
            const Nanoseconds root_sorted = r("sorted_binomial", s.root, planned(s), true, false);
            const Nanoseconds root_background = r("background_sorted_binomial", s.root, planned(s), true, true);
            if (!power_of_two(P)) continue;
            const Nanoseconds r_BNg = r_BN(P, s);
            for (const Nanoseconds late : {plain_next, plain_half, sorted}) EXPECT_EQ(late, d + r_BNg) << "(21)";
            EXPECT_EQ(background, std::max(d + s.message(P / 2), r_BNg)) << "(22) with N/2";
            EXPECT_EQ(root_plain, d + r_BNg) << "(23)";
            EXPECT_EQ(root_sorted, d + r_BNg) << "(23)";
            EXPECT_EQ(root_background, std::max(d, r_BNg)) << "(24)";
        }
    });
}

// --- any pattern, any prediction -----------------------------------------------------------------------------------------

struct Pattern {
    Setting setting;
    Times a;
};
Pattern random_pattern(Random& random) {
    Pattern pattern;
    const int P = static_cast<int>(random.between(2, 40));
    pattern.setting.root = static_cast<int>(random.below(static_cast<std::uint64_t>(P)));
    pattern.setting.alpha = random.pick(std::vector<Nanoseconds>{0, 50, 1000});
    pattern.setting.planned = true;
    const Nanoseconds scale = random.pick(std::vector<Nanoseconds>{1000, 20'000, 200'000});
    pattern.a = random_delays(random, P, pattern.setting.root, scale);
    // Arrivals that differ, so that it is clear who comes first.
    for (std::size_t i = 0; i < pattern.a.size(); ++i) pattern.a[i] = pattern.a[i] * 64 + static_cast<Nanoseconds>(i);
    pattern.setting.predictions = random_delays(random, P, pattern.setting.root, 64 * scale);
    return pattern;
}

// Wrong predictions cost a planned scatter nothing: nobody's lateness stops the root, whatever the order is.
TEST(Proficz, BackgroundScattersNeedNoGoodPredictions) {
    Random random(61);
    for (int repetition = 0; repetition < 1000 && !HasFailure(); ++repetition) {
        const auto [s, a] = random_pattern(random);
        const auto P = static_cast<int>(a.size());
        const Nanoseconds a_0 = a[static_cast<std::size_t>(s.root)], last = *std::max_element(a.begin(), a.end());
        for (const auto* name : {"background_sorted_linear", "online_linear"}) {
            const Times f = run(scatter(name), a, s);
            EXPECT_EQ(f[static_cast<std::size_t>(s.root)], a_0 + (P - 1) * s.message(1)) << name;
            EXPECT_EQ(*std::max_element(f.begin(), f.end()), std::max(last, a_0 + (P - 1) * s.message(1))) << name;
        }
        // Without plans, where the blocks can land.
        const Times landed = run(scatter("online_linear"), a, {.alpha = s.alpha, .root = s.root, .landing_bytes = std::uint64_t{1} << 40});
        EXPECT_EQ(landed[static_cast<std::size_t>(s.root)], a_0 + (P - 1) * s.message(1));
        EXPECT_EQ(*std::max_element(landed.begin(), landed.end()), std::max(last, a_0 + (P - 1) * s.message(1)));
        Tree tree(P, true, true, s);
        const Times f = run(scatter("background_sorted_binomial"), a, s);
        EXPECT_EQ(*std::max_element(f.begin(), f.end()), std::max(last, a_0 + tree.scatter()));
    }
}

// Where nothing can land and nobody planned, a block sent ahead to a rank that does not come stays at the root, which goes on:
// the others pay for it with the messages that say so, not with its lateness.
TEST(Proficz, OnlineScatterGoesOnWithoutLanding) {
    for_every_job([](int P, Setting s) {
        const Nanoseconds r_LIN = (P - 1) * s.message(1), d = 10 * r_LIN;
        for (const int late : {(s.root + 1) % P, (s.root + P - 1) % P}) {
            const Times a = all_but(P, late, d);
            const Times f = run(scatter("online_linear"), a, s);
            for (int rank = 0; rank < P; ++rank)
                if (rank == late || rank == s.root)
                    EXPECT_EQ(f[static_cast<std::size_t>(rank)], d + s.message(1));
                else
                    EXPECT_LE(f[static_cast<std::size_t>(rank)], r_LIN + 2 * s.alpha);
        }
    });
}

// A root that calls whoever has arrived is never idle while somebody waits: its time is that of a queue with the service time
// 3 alpha + N/P beta, whatever was predicted. A call ahead of an arrival can cost no more than its own alpha, once.
TEST(Proficz, BackgroundGathersNeedNoGoodPredictions) {
    Random random(62);
    for (int repetition = 0; repetition < 1000 && !HasFailure(); ++repetition) {
        const auto [s, a] = random_pattern(random);
        Times others = a;
        others.erase(others.begin() + s.root);
        std::sort(others.begin(), others.end());
        Nanoseconds queue = 0;
        for (const Nanoseconds arrival : others) queue = std::max(queue, arrival) + 3 * s.alpha + s.bytes * s.beta;
        queue = std::max(queue, a[static_cast<std::size_t>(s.root)]);
        const Times online = run(gather("online_linear"), a, half_duplex(s));
        EXPECT_EQ(*std::max_element(online.begin(), online.end()), queue);
        const Times ahead = run(gather("background_sorted_linear_synchronized"), a, half_duplex(s));
        EXPECT_LE(*std::max_element(ahead.begin(), ahead.end()), queue + s.alpha);
    }
}

// Also one that was called before it came is, once it is there, served alone: a root with ports to spare does not call the
// next one before the first piece is here. 1 comes at 5, its pieces until 8, each through a port; 2 is called until 9.
TEST(Proficz, BackgroundGatherServesOneAtATime) {
    constexpr Nanoseconds kAlpha = 1000;
    Setting setting{.alpha = kAlpha, .bytes = 4 * kAlpha, .planned = true, .ports = 2};
    setting.predictions = {0, 0, 9 * kAlpha};
    const Times f = run(gather("background_sorted_linear_synchronized"), {0, 5 * kAlpha, 5 * kAlpha + 1}, setting);
    EXPECT_EQ(f, (Times{12 * kAlpha, 8 * kAlpha, 12 * kAlpha}));
}

// --- the examples in the algorithms' files -------------------------------------------------------------------------------

constexpr Nanoseconds T = 1000;  // of a block

TEST(Example, ScatterLinear) { EXPECT_EQ(run(scatter("linear"), {0, 5 * T, 0, 0}, {}), (Times{8 * T, 6 * T, 7 * T, 8 * T})); }

TEST(Example, ScatterSortedLinear) {
    EXPECT_EQ(run(scatter("sorted_linear"), {0, 5 * T, 0, 0}, planned({})), (Times{6 * T, 6 * T, T, 2 * T}));
}

TEST(Example, ScatterBackgroundSortedLinear) {
    EXPECT_EQ(run(scatter("background_sorted_linear"), {0, 5 * T, 0, 0}, planned({})), (Times{3 * T, 5 * T, T, 2 * T}));
}

TEST(Example, ScatterOnlineLinear) {
    EXPECT_EQ(run(scatter("online_linear"), {0, 9 * T, T / 2, 5 * T}, {.landing_bytes = 1 << 20}), (Times{3 * T, 9 * T, 2 * T, 5 * T}));
}

TEST(Example, ScatterBinomial) { EXPECT_EQ(run(scatter("binomial"), Times(8, 0), {}), Times(8, 7 * T)); }

TEST(Example, ScatterSortedBinomial) {
    EXPECT_EQ(run(scatter("sorted_binomial"), all_but(8, 1, 9 * T), planned({})),
              (Times{7 * T, 10 * T, 7 * T, 7 * T, 10 * T, 7 * T, 7 * T, 7 * T}));
}

TEST(Example, ScatterBackgroundSortedBinomial) {
    EXPECT_EQ(run(scatter("background_sorted_binomial"), all_but(8, 1, 9 * T), planned({})),
              (Times{7 * T, 9 * T, 7 * T, 7 * T, 7 * T, 7 * T, 7 * T, 7 * T}));
}

TEST(Example, GatherLinear) { EXPECT_EQ(run(gather("linear"), {0, 5 * T, 0, 0}, {}), (Times{8 * T, 6 * T, 7 * T, 8 * T})); }

TEST(Example, GatherLinearSynchronized) {
    const Setting setting{.alpha = T, .bytes = 4 * T, .full_duplex = false};
    EXPECT_EQ(run(gather("linear_synchronized"), Times(3, 0), setting), (Times{14 * T, 7 * T, 14 * T}));
    EXPECT_EQ(run(gather("sorted_linear_synchronized"), {0, 9 * T, 0}, planned(setting)), (Times{15 * T, 15 * T, 7 * T}));
    EXPECT_EQ(run(gather("online_linear"), {0, 9 * T, 0}, setting), (Times{16 * T, 16 * T, 7 * T}));
    // Without plans the background root calls 1 and then 2 before they come, and has their pieces 2 alpha + 4 later.
    EXPECT_EQ(run(gather("background_sorted_linear_synchronized"), {0, 5 * T, 20 * T}, setting), (Times{26 * T, 11 * T, 26 * T}));
    Setting wrong = planned(setting);
    wrong.predictions = {9 * T, 0, 3 * T};
    EXPECT_EQ(run(gather("background_sorted_linear_synchronized"), {9 * T, 3 * T, 0}, wrong), (Times{13 * T, 13 * T, 7 * T}));
}

TEST(Example, GatherBinomial) { EXPECT_EQ(run(gather("binomial"), Times(8, 0), {}), (Times{7 * T, T, 3 * T, T, 7 * T, T, 3 * T, T})); }

TEST(Example, GatherSortedBinomial) {
    EXPECT_EQ(run(gather("sorted_binomial"), all_but(4, 3, 5 * T), planned({})), (Times{8 * T, 6 * T, T, 8 * T}));
}

TEST(Example, GatherBackgroundSortedBinomial) {
    EXPECT_EQ(run(gather("background_sorted_binomial"), all_but(4, 3, 5 * T), planned({})), (Times{7 * T, T, T, 7 * T}));
}

}  // namespace
}  // namespace rollcall::model_test
