/// \file
/// Broadcasts in the model of P. Patarasuk and X. Yuan, "Efficient MPI_Bcast across different process arrival patterns", section 3.1: T(m)
/// = m nanoseconds, one port, messages are forwarded from the first bit on, and notices are free. The messages are so long that the headers
/// of sub-groups, which the paper does not count, are negligible.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "bench/results/metrics.hpp"
#include "tests/model/job.hpp"

namespace rollcall::model_test::broadcast_paper {

using collectives::AlgorithmEntry;
using runtime::Simulation;
using Times = std::vector<Nanoseconds>;

inline constexpr Nanoseconds T = 1'000'000'000;  // In ns, and in bytes.
// The bound for the sum of all headers of a call at one rank, as a fraction of T.
inline constexpr double kHeaders = 1e-5;
inline constexpr bench::Model kModels[] = {bench::Model::blocking, bench::Model::nonblocking};

struct Setting {
    bench::Model model = bench::Model::nonblocking;
    bool cut_through = true;
    std::uint64_t segment = 0;
    std::uint64_t bytes = T;
    int root = 0;
    bool board = true;
};

inline Simulation::Outcome run(const AlgorithmEntry& entry, const Times& a, const Setting& setting) {
    Simulation::Options options;
    options.ranks = static_cast<int>(a.size());
    options.model.cut_through = setting.cut_through;
    options.board = setting.board;
    options.node_memory = false;
    if (setting.model == bench::Model::blocking) options.landing_bytes = 0;
    Simulation simulation(options);
    Simulation::RankCall call;
    call.call = {.bytes = setting.bytes, .root = setting.root, .kind = runtime::OperationKind::broadcast};
    call.algorithm = entry.algorithm;
    call.arguments.data = {nullptr, setting.bytes};
    call.arguments.segment_bytes = entry.segmented ? setting.segment : 0;
    call.arguments.oracle = a.data();
    return simulation.run([&](int) { return call; }, a);
}

// A sub-group broadcast takes T where ranks forward from the first bit on, if it is a chain. It is one if the message has as many pieces as
// there are ranks.
inline Setting chains_to(std::size_t n, bench::Model model, int root) { return {.model = model, .segment = T / n, .root = root}; }

inline void expect_near(const Times& f, const std::vector<double>& wanted) {
    ASSERT_EQ(f.size(), wanted.size());
    for (std::size_t i = 0; i < f.size(); ++i) EXPECT_NEAR(static_cast<double>(f[i]) / T, wanted[i], kHeaders) << "rank " << i;
}

}  // namespace rollcall::model_test::broadcast_paper
