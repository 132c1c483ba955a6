#include "runtime/topology/topology.hpp"

#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>
#include <rollcall/error.hpp>

namespace rollcall::runtime {
namespace {

TEST(Cpus, AreWrittenAndReadAsTheKernelDoes) {
    EXPECT_EQ(format_cpus(Cpus{}), "");
    EXPECT_EQ(format_cpus(Cpus{0}), "0");
    EXPECT_EQ(format_cpus(Cpus{0, 1, 2, 3, 8}), "0-3,8");
    EXPECT_EQ(format_cpus(Cpus{0, 2, 4, 5}), "0,2,4-5");
    for (const Cpus& cpus : {Cpus{}, Cpus{7}, Cpus{0, 1, 2, 3, 8}, Cpus{0, 2, 4, 5, 1000}}) {
        EXPECT_EQ(parse_cpus(format_cpus(cpus)), cpus);
    }
    EXPECT_EQ(parse_cpus("3,1,1-2"), (Cpus{1, 2, 3}));
    for (const auto* text : {"a", "-1", "1-", "1,", ",1", "3-1", "1 2", "1;2", "99999999", "4294967296", "0-99999999"}) {
        try {
            parse_cpus(text);
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_EQ(error.what(), std::string("'") + text + "' is not a list of CPUs; allowed: numbers and ranges such as 0-3,8");
        }
    }
}

TEST(Oversubscribed, KnowsRanksThatAreBoundApart) {
    using Ranks = std::vector<Cpus>;
    EXPECT_FALSE(oversubscribed(Ranks{}));
    EXPECT_FALSE(oversubscribed(Ranks{{0}}));
    EXPECT_FALSE(oversubscribed(Ranks{{0}, {1}, {2}, {3}}));
    EXPECT_TRUE(oversubscribed(Ranks{{0}, {1}, {0}}));
    EXPECT_FALSE(oversubscribed(Ranks{{0, 1}, {0, 1}}));
    EXPECT_TRUE(oversubscribed(Ranks{{0, 1}, {0, 1}, {0, 1}}));
    EXPECT_TRUE(oversubscribed(Ranks{{0}, {0, 1}, {1}}));                 // three ranks, two CPUs
    EXPECT_TRUE(oversubscribed(Ranks{{0}, {0}, {0, 1, 2, 3, 4, 5, 6}}));  // two ranks with one CPU
    EXPECT_TRUE(oversubscribed(Ranks{{}, {}}));                           // unknown: yield rather than wait
}

TEST(Binding, MovesTheCallingThreadAndNoOther) {
    const auto all = cpus_of();
    std::thread([&] {
        const int last = all.back();
        EXPECT_FALSE(bind_this_thread(Cpus{last}));
        EXPECT_EQ(cpus_of(), Cpus{last});
        EXPECT_EQ(sched_getcpu(), last);
    }).join();
    EXPECT_EQ(cpus_of(), all);
}

TEST(Binding, ReturnsItsErrors) {
    const auto all = cpus_of();
    EXPECT_EQ(bind_this_thread(Cpus{}), std::errc::invalid_argument);
    EXPECT_EQ(bind_this_thread(Cpus{-1}), std::errc::invalid_argument);
    EXPECT_EQ(bind_this_thread(Cpus{1 << 20}), std::errc::invalid_argument);
    EXPECT_EQ(bind_this_thread(Cpus{60'000}), std::errc::invalid_argument);  // no machine has it
    EXPECT_EQ(cpus_of(), all);
}

TEST(Topology, AgreesWithTheOperatingSystem) {
    const auto& view = topology();
    EXPECT_FALSE(view.host.empty());
    EXPECT_EQ(view.cpus, cpus_of());
    EXPECT_GE(view.packages, 1);
    EXPECT_GE(view.cores, view.packages);
    EXPECT_LE(view.cores, static_cast<int>(view.cpus.size()));
    EXPECT_EQ(view.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
    EXPECT_GT(view.memory_bytes, 0u);
    std::size_t node_cpus = 0;
    for (const auto& node : view.numa_nodes) node_cpus += node.cpus.size();
    EXPECT_EQ(node_cpus, view.numa_nodes.empty() ? 0 : view.cpus.size());
    for (const auto& cache : view.caches) {
        EXPECT_GT(cache.bytes, 0u) << cache.name;
        EXPECT_GE(cache.count, 1) << cache.name;
    }
    EXPECT_EQ(&topology(), &view);
}

// hwloc takes another machine's description from its environment: a package with two NUMA nodes of two CPUs.
TEST(Topology, KnowsNumaNodesThatAreLessThanAPackage) {
    if (cpus_of().front() != 0) GTEST_SKIP() << "needs CPU 0, has " << format_cpus(cpus_of());
    std::thread([] {
        ASSERT_FALSE(bind_this_thread(Cpus{0}));
        ASSERT_EQ(::setenv("HWLOC_SYNTHETIC", "package:1 group:2 [numa] core:2 pu:1", 1), 0);
        const auto view = load_topology();
        ASSERT_EQ(::unsetenv("HWLOC_SYNTHETIC"), 0);
        ASSERT_EQ(view.numa_nodes.size(), 1u) << "the other one has CPUs that this process may not use";
        EXPECT_EQ(view.numa_nodes[0].cpus, Cpus{0});
    }).join();
}

TEST(Topology, IsThatOfTheCallingThreadsCpus) {
    std::thread([] {
        const auto all = cpus_of();
        ASSERT_FALSE(bind_this_thread(Cpus{all.front()}));
        const auto view = load_topology();
        EXPECT_EQ(view.cpus, Cpus{all.front()});
        EXPECT_EQ(view.cores, 1);
        EXPECT_EQ(view.packages, 1);
        EXPECT_EQ(cpus_of(), Cpus{all.front()});  // looking has not moved the thread
    }).join();
}

}  // namespace
}  // namespace rollcall::runtime
