// J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather operations", Cluster Computing
// 2020: its equations (3) to (24), to the nanosecond.
//
// The model is that of the paper: Hockney's, one port, a sender is done when its receiver has the message (no landing).
// a_0 is the root's arrival, N = P * bytes. Readings:
// - (7) and (8), and what rests on them, are closed for P = 2^k only; for other P the same tree is followed by a recurrence here.
// - "The first receiver (id: 1)": in a linear algorithm the first that the root turns to. In (13) it is the rank the root sends to
//   first, k/2 places from it, which has half of the blocks to pass on. (21) holds for that one and for the one next to the
//   root. In the sorted algorithms it may be any rank, because they move it to its place in the order.
// - (5), (6) and (17) to (20) count the call, the first and the second piece one after the other: a half duplex port.
// - (17) and (18) count the call to the late rank after its arrival. But the call can be made earlier, and is there when the
//   rank comes: one alpha less. In the same way BSLS saves one alpha in (18) and (20), where it calls the first rank before
//   that arrives.
// - (22) as printed gives the late rank (P-1)N/(2P) to send; the tree gives it half of the blocks, N/2.
#include "tests/model/collectives/scatter_gather.hpp"

namespace rollcall::model_test::scatter_gather_equations {
namespace {

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
        // The paper says "the same as for LIN". The online algorithm sends ahead to planned calls, and so takes the same time.
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
            // In full duplex, the root calls the next rank while the second piece of the previous one moves.
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
            // In the sorted trees the late rank is the last in order. In the plain tree its position follows from its number.
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
            // In the sorted trees the late rank is the first in order: next to the root, with half of the blocks.
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

}  // namespace
}  // namespace rollcall::model_test::scatter_gather_equations
