/// \file
/// Scatter and gather in the model of J. Proficz, "Process arrival pattern aware algorithms for acceleration of scatter and gather
/// operations", Cluster Computing 2020: Hockney's model, one port; a sender is done when its receiver has the message (no landing). a_0 is
/// the root's arrival, and N = P * bytes.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/job.hpp"

namespace rollcall::model_test::scatter_gather_equations {

using collectives::AlgorithmEntry;
using runtime::OperationKind;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

inline const AlgorithmEntry& scatter(std::string_view name) { return collectives::find_algorithm(OperationKind::scatter, name); }
inline const AlgorithmEntry& gather(std::string_view name) { return collectives::find_algorithm(OperationKind::gather, name); }

struct Setting {
    Nanoseconds alpha = 0, beta = 1;
    Nanoseconds bytes = 1000;  ///< The bytes of one rank.
    int root = 0;              ///< -1: the operation has no root, and all ranks have all data.
    bool planned = false;      ///< Begun long before any rank arrives. Each rank has a prediction.
    bool full_duplex = true;
    int ports = 1;
    std::uint64_t landing_bytes = 0;
    std::vector<Nanoseconds> predictions = {};  ///< Empty: the predictions are perfect.

    Nanoseconds message(Nanoseconds blocks) const { return alpha + blocks * bytes * beta; }
};

// Returns the exits, on the same time axis as the arrivals `a`.
inline Times run(const AlgorithmEntry& entry, const Times& a, const Setting& setting) {
    const int n = static_cast<int>(a.size());
    Simulation::Options options;
    options.ranks = n;
    options.model.alpha = static_cast<double>(setting.alpha);
    options.model.beta = static_cast<double>(setting.beta);
    options.model.full_duplex = setting.full_duplex;
    options.model.ports = setting.ports;
    options.landing_bytes = setting.landing_bytes;
    options.eager_bytes = 0;  // Every block waits for its receiver.
    Simulation simulation(options);
    const auto bytes = static_cast<std::uint64_t>(setting.bytes);
    // Time for the exchange of places. The paper says that it is over by then.
    const Nanoseconds before = setting.planned ? 1000 + 4 * n * (setting.alpha + 200 * setting.beta) : 0;
    Times arrivals = a;
    for (Nanoseconds& arrival : arrivals) arrival += before;
    const auto outcome = simulation.run(
        [&](int rank) {
            Simulation::RankCall call;
            call.call = collectives::make_call(entry, setting.root, bytes, 0);
            call.algorithm = setting.planned ? collectives::planned(entry) : entry.algorithm;
            if (rank == setting.root || setting.root < 0) call.arguments.data = {nullptr, bytes * a.size()};
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

// Equation (1) and, times P, equation (2).
inline Nanoseconds run_time(const Times& a, const Times& f) {
    return *std::max_element(f.begin(), f.end()) - *std::min_element(a.begin(), a.end());
}
inline Nanoseconds total_elapsed(const Times& a, const Times& f) {
    return std::accumulate(f.begin(), f.end(), Nanoseconds{0}) - std::accumulate(a.begin(), a.end(), Nanoseconds{0});
}

inline Times all_but(int P, int late, Nanoseconds d) {
    Times a(static_cast<std::size_t>(P), 0);
    a[static_cast<std::size_t>(late)] = d;
    return a;
}

// Calls check(P, setting) for every P on several machines. Each has another root and another size.
inline void for_every_job(const std::function<void(int, Setting)>& check) {
    // With a sanitizer: 2, 3, 4, 8, 15, 22, ..., 64.
    for (int P = 2; P <= 64; P += !kSanitized || P < 4 ? 1 : P == 4 ? 4 : 7)
        for (const Setting& setting :
             {Setting{.alpha = 0, .beta = 1, .bytes = 1000, .root = 0}, Setting{.alpha = 50, .beta = 3, .bytes = 7, .root = P / 2},
              Setting{.alpha = 1000, .beta = 1, .bytes = 600, .root = P - 1}}) {
            check(P, setting);
            if (!testing::Test::HasFailure()) continue;
            ADD_FAILURE() << "P=" << P << " root=" << setting.root << " alpha=" << setting.alpha << " bytes=" << setting.bytes;
            return;
        }
}
inline Setting planned(Setting setting) {
    setting.planned = true;
    return setting;
}
inline Setting half_duplex(Setting setting) {
    setting.full_duplex = false;
    return setting;
}
inline int first_receiver(const Setting& setting) { return setting.root == 0 ? 1 : 0; }
// Delays from zero to one beside which everything else is negligible.
inline std::vector<Nanoseconds> delays(Nanoseconds r) { return {0, r / 3 + 1, r - 1, r, 5 * r + 7}; }

// --- the binomial tree, by recurrence ----------------------------------------------------------------------------------

// The position of each rank and the arrival of each position. Positions are the paper's new ranks.
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
    // Returns the position of the j-th in order: its bits reversed.
    std::size_t reversed(int j) const {
        std::size_t position = 0;
        for (std::size_t bit = 1; bit < occupied.size(); bit *= 2, j /= 2) position = 2 * position + static_cast<std::size_t>(j % 2);
        return position;
    }
    Nanoseconds blocks(std::size_t first, std::size_t count) const {
        return std::count(occupied.begin() + static_cast<std::ptrdiff_t>(first),
                          occupied.begin() + static_cast<std::ptrdiff_t>(first + count), true);
    }
    // At time t, position p has the blocks of its `span` positions and sends them.
    void scatter(std::size_t p, std::size_t span, Nanoseconds t) {
        for (std::size_t i = span / 2; i > 0; i /= 2) {
            if (!occupied[p + i]) continue;
            t = std::max(t, background ? 0 : a[p + i]) + setting.message(blocks(p + i, i));
            scatter(p + i, i, t);
        }
        f[p] = std::max(t, a[p]);
    }
    // Returns when position p has the blocks of its `span` positions. In the background variant, a child that can send first does so.
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

inline bool power_of_two(int P) { return std::has_single_bit(static_cast<unsigned>(P)); }
inline Nanoseconds log2(int P) { return std::bit_width(static_cast<unsigned>(P)) - 1; }
// Equation (7), for powers of two.
inline Nanoseconds r_BN(int P, const Setting& s) { return log2(P) * s.alpha + (P - 1) * s.bytes * s.beta; }

}  // namespace rollcall::model_test::scatter_gather_equations
