// Which processors each rank gets, on machines of several shapes.
#include "launcher/hosts/binding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <rollcall/error.hpp>

#include "runtime/topology/binding.hpp"

namespace rollcall::launcher {
namespace {

using Bound = std::vector<std::vector<int>>;

/// 2 sockets × 2 NUMA nodes × 2 cores × 2 threads: core c has processors 2c and 2c+1.
const Machine& big() {
    static const Machine machine = describe_machine("package:2 numa:2 core:2 pu:2");
    return machine;
}

TEST(Machine, HasTheShapeOfItsDescription) {
    const auto& cores = big().cores;
    ASSERT_EQ(cores.size(), 8u);
    for (int number = 0; number < 8; ++number) {
        EXPECT_EQ(cores[static_cast<std::size_t>(number)], (Core{number, number / 4, number / 2, {2 * number, 2 * number + 1}}));
    }
}

TEST(Machine, DoesWithoutSocketsNumaNodesOrCores) {
    const std::vector<Core> plain = {{0, 0, 0, {0}}, {1, 0, 0, {1}}, {2, 0, 0, {2}}};
    EXPECT_EQ(describe_machine("pu:3").cores, plain);
    EXPECT_EQ(describe_machine("core:3 pu:1").cores, plain);
    EXPECT_EQ(describe_machine("package:1 numa:1 core:3 pu:1").cores, plain);
    EXPECT_EQ(describe_machine("package:1 l3:3 core:1 pu:1").cores, plain);
    // Sockets in one NUMA node.
    EXPECT_EQ(describe_machine("numa:1 package:2 core:1 pu:1").cores, (std::vector<Core>{{0, 0, 0, {0}}, {1, 1, 0, {1}}}));
    // NUMA nodes above sockets, as hwloc's own descriptions have them.
    EXPECT_EQ(describe_machine("numa:2 package:1 core:1 pu:1").cores, (std::vector<Core>{{0, 0, 0, {0}}, {1, 1, 1, {1}}}));
}

TEST(Machine, TakesTheNearestOfSeveralNumaNodes) {
    // A node of each package (hwloc's number 0 and 3 or so) beside one for each of its groups.
    const Machine machine = describe_machine("package:2 [numa] group:2 [numa] core:2 pu:1");
    ASSERT_EQ(machine.cores.size(), 8u);
    std::map<int, std::vector<int>> cores_of;
    for (const Core& core : machine.cores) cores_of[core.numa].push_back(core.number);
    ASSERT_EQ(cores_of.size(), 4u);
    std::set<std::vector<int>> groups;
    for (const auto& [numa, cores] : cores_of) groups.insert(cores);
    EXPECT_EQ(groups, (std::set<std::vector<int>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
}

TEST(Machine, HasOnlyWhatIsAllowed) {
    EXPECT_EQ(describe_machine("package:2 core:2 pu:2", {1, 4, 5, 100}).cores, (std::vector<Core>{{0, 0, 0, {1}}, {2, 1, 0, {4, 5}}}));
    for (const auto* wrong : {"", "nonsense", "package:0", "core:2 pu:"}) EXPECT_THROW(describe_machine(wrong), Error) << wrong;
    EXPECT_THROW(describe_machine("core:2 pu:2", {4}), Error);
}

TEST(BindRanks, NoneLeavesRanksAsTheyAre) {
    EXPECT_EQ(bind_ranks(big(), 3, MapBy::slot, BindTo::none), Bound(3));
    EXPECT_EQ(bind_ranks(Machine{}, 2, MapBy::core, BindTo::none), Bound(2));
    EXPECT_TRUE(bind_ranks(big(), 0, MapBy::core, BindTo::core).empty());
    EXPECT_THROW(bind_ranks(big(), -1, MapBy::core, BindTo::core), Error);
    EXPECT_THROW(bind_ranks(Machine{}, 1, MapBy::core, BindTo::core), Error);
}

TEST(BindRanks, ToCoresInOrderThenAgain) {
    for (const MapBy map : {MapBy::slot, MapBy::core, MapBy::node}) {
        const Bound bound = bind_ranks(big(), 10, map, BindTo::core);
        for (int rank = 0; rank < 10; ++rank) {
            EXPECT_EQ(bound[static_cast<std::size_t>(rank)], (std::vector<int>{rank % 8 * 2, rank % 8 * 2 + 1}));
        }
    }
    EXPECT_EQ(bind_ranks(describe_machine("pu:2"), 3, MapBy::slot, BindTo::core), (Bound{{0}, {1}, {0}}));
}

TEST(BindRanks, ToThreadsOfAllCoresBeforeTheSecondOnes) {
    const Machine machine = describe_machine("core:2 pu:2");
    EXPECT_EQ(bind_ranks(machine, 5, MapBy::core, BindTo::hwthread), (Bound{{0}, {2}, {1}, {3}, {0}}));
    // One core has lost its second thread.
    EXPECT_EQ(bind_ranks(describe_machine("core:3 pu:2", {0, 1, 2, 4, 5}), 6, MapBy::core, BindTo::hwthread),
              (Bound{{0}, {2}, {4}, {1}, {5}, {0}}));
    EXPECT_EQ(bind_ranks(describe_machine("package:2 core:2 pu:2"), 8, MapBy::socket, BindTo::hwthread),
              (Bound{{0}, {4}, {2}, {6}, {1}, {5}, {3}, {7}}));
}

TEST(BindRanks, SocketsAndNumaNodesTakeTurns) {
    EXPECT_EQ(bind_ranks(big(), 5, MapBy::socket, BindTo::core), (Bound{{0, 1}, {8, 9}, {2, 3}, {10, 11}, {4, 5}}));
    EXPECT_EQ(bind_ranks(big(), 5, MapBy::numa, BindTo::core), (Bound{{0, 1}, {4, 5}, {8, 9}, {12, 13}, {2, 3}}));
    // Where one socket is full the other goes on: cores are not shared while one is free.
    const Machine uneven = describe_machine("package:2 core:3 pu:1", {0, 3, 4, 5});
    EXPECT_EQ(bind_ranks(uneven, 6, MapBy::socket, BindTo::core), (Bound{{0}, {3}, {4}, {5}, {0}, {3}}));
    // One socket only.
    EXPECT_EQ(bind_ranks(describe_machine("core:2 pu:1"), 3, MapBy::socket, BindTo::core), (Bound{{0}, {1}, {0}}));
    EXPECT_EQ(bind_ranks(describe_machine("core:2 pu:1"), 3, MapBy::numa, BindTo::core), (Bound{{0}, {1}, {0}}));
}

TEST(BindRanks, ToAllOfASocketOrNumaNode) {
    const std::vector<int> first = {0, 1, 2, 3, 4, 5, 6, 7};
    const std::vector<int> second = {8, 9, 10, 11, 12, 13, 14, 15};
    EXPECT_EQ(bind_ranks(big(), 3, MapBy::socket, BindTo::socket), (Bound{first, second, first}));
    EXPECT_EQ(bind_ranks(big(), 5, MapBy::core, BindTo::socket), (Bound{first, first, first, first, second}));
    EXPECT_EQ(bind_ranks(big(), 5, MapBy::numa, BindTo::numa),
              (Bound{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}, {0, 1, 2, 3}}));
    EXPECT_EQ(bind_ranks(big(), 2, MapBy::socket, BindTo::numa), (Bound{{0, 1, 2, 3}, {8, 9, 10, 11}}));
    EXPECT_EQ(bind_ranks(describe_machine("pu:3"), 2, MapBy::slot, BindTo::numa), (Bound{{0, 1, 2}, {0, 1, 2}}));
    // Only what is allowed of it.
    EXPECT_EQ(bind_ranks(describe_machine("package:2 core:2 pu:2", {1, 2, 5}), 2, MapBy::socket, BindTo::socket), (Bound{{1, 2}, {5}}));
}

// All cores are given out, each to one rank, and ranks get the same number of cores or one more.
void expect_equal_parts(const Machine& machine, int ranks, MapBy map) {
    const Bound bound = bind_ranks(machine, ranks, map, BindTo::automatic);
    if (ranks == 1 || machine.cores.size() < static_cast<std::size_t>(ranks)) {
        EXPECT_EQ(bound, Bound(static_cast<std::size_t>(ranks)));
        return;
    }
    std::map<int, std::size_t> rank_of;  // by processor
    for (std::size_t rank = 0; rank < bound.size(); ++rank) {
        for (const int processor : bound[rank]) EXPECT_TRUE(rank_of.try_emplace(processor, rank).second) << "CPU " << processor;
    }
    std::vector<std::size_t> cores_of(bound.size());
    for (const Core& core : machine.cores) {
        const std::size_t rank = rank_of.at(core.processors.front());
        for (const int processor : core.processors) EXPECT_EQ(rank_of.at(processor), rank) << "core " << core.number;
        ++cores_of[rank];
    }
    const auto [least, most] = std::minmax_element(cores_of.begin(), cores_of.end());
    EXPECT_LE(*most - *least, 1u);
}

TEST(BindRanks, AutomaticallyToEqualPartsOfAllCores) {
    EXPECT_EQ(bind_ranks(describe_machine("core:2 pu:1"), 2, MapBy::slot, BindTo::automatic), (Bound{{0}, {1}}));
    // Whole cores: no rank gets a hardware thread of another one's core.
    EXPECT_EQ(bind_ranks(describe_machine("core:2 pu:2"), 2, MapBy::slot, BindTo::automatic), (Bound{{0, 1}, {2, 3}}));
    EXPECT_EQ(bind_ranks(big(), 2, MapBy::slot, BindTo::automatic), (Bound{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
    // Both sockets are used as much, and no core is left over.
    EXPECT_EQ(bind_ranks(big(), 5, MapBy::slot, BindTo::automatic),
              (Bound{{0, 1}, {2, 3, 4, 5}, {6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
    EXPECT_EQ(bind_ranks(big(), 4, MapBy::socket, BindTo::automatic),
              (Bound{{0, 1, 2, 3}, {8, 9, 10, 11}, {4, 5, 6, 7}, {12, 13, 14, 15}}));
    // Only what is allowed: here 3 of the 8 cores, one of them with a single thread.
    EXPECT_EQ(bind_ranks(describe_machine("package:2 numa:2 core:2 pu:2", {1, 8, 9, 12, 13}), 2, MapBy::slot, BindTo::automatic),
              (Bound{{1}, {8, 9, 12, 13}}));
}

TEST(BindRanks, AutomaticallyToNothingWhereCoresWouldBeShared) {
    EXPECT_EQ(bind_ranks(describe_machine("core:2 pu:2"), 3, MapBy::slot, BindTo::automatic), Bound(3));
    EXPECT_EQ(bind_ranks(describe_machine("core:4 pu:1"), 5, MapBy::numa, BindTo::automatic), Bound(5));
    EXPECT_EQ(bind_ranks(Machine{}, 2, MapBy::slot, BindTo::automatic), Bound(2));
    EXPECT_EQ(bind_ranks(big(), 1, MapBy::slot, BindTo::automatic), Bound(1)) << "no other rank could take its core";
}

// What is promised, for machines and allowed processors of any shape.
TEST(BindRanks, KeepsItsPromises) {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    std::mt19937_64 random(seed);
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    constexpr std::array kMaps = {MapBy::slot, MapBy::node, MapBy::socket, MapBy::numa, MapBy::core};
    constexpr std::array kBinds = {BindTo::hwthread, BindTo::core, BindTo::socket, BindTo::numa};
    for (int round = 0; round < 300; ++round) {
        const int packages = below(3) + 1;
        const int nodes = below(3) + 1;
        const int cores = below(4) + 1;
        const int threads = below(3) + 1;
        const std::string shape = "package:" + std::to_string(packages) + " numa:" + std::to_string(nodes) +
                                  " core:" + std::to_string(cores) + " pu:" + std::to_string(threads);
        std::vector<int> allowed;
        for (int processor = 0; processor < packages * nodes * cores * threads; ++processor) {
            if (below(3) > 0) allowed.push_back(processor);
        }
        if (allowed.empty()) continue;
        const Machine machine = describe_machine(shape, allowed);
        const auto map = kMaps[static_cast<std::size_t>(below(static_cast<int>(kMaps.size())))];
        const auto bind = kBinds[static_cast<std::size_t>(below(static_cast<int>(kBinds.size())))];
        const int ranks = below(40) + 1;
        expect_equal_parts(machine, ranks, map);
        const Bound bound = bind_ranks(machine, ranks, map, bind);
        SCOPED_TRACE(shape + " allowed " + runtime::format_cpus(allowed) + " ranks " + std::to_string(ranks));
        ASSERT_EQ(bound.size(), static_cast<std::size_t>(ranks));

        // In a description the threads of core c are threads*c and on, of its NUMA node cores*n and on, and so forth.
        const int size = bind == BindTo::hwthread ? 1
                         : bind == BindTo::core   ? threads
                         : bind == BindTo::numa   ? threads * cores
                                                  : threads * cores * nodes;
        std::map<std::vector<int>, int> users;
        std::map<int, int> users_of_core;
        for (const auto& processors : bound) {
            ASSERT_FALSE(processors.empty());
            EXPECT_TRUE(std::includes(allowed.begin(), allowed.end(), processors.begin(), processors.end()));
            std::vector<int> whole;
            for (const int processor : allowed) {
                if (processor / size == processors.front() / size) whole.push_back(processor);
            }
            EXPECT_EQ(processors, whole);
            ++users[processors];
            ++users_of_core[processors.front() / threads];
            EXPECT_NE(name_place(machine, processors, bind), "");
        }
        if (bind == BindTo::core || bind == BindTo::hwthread) {
            std::set<int> distinct;
            for (const int processor : allowed) distinct.insert(processor / threads);
            EXPECT_EQ(users_of_core.size(), std::min(distinct.size(), bound.size()));  // none shared while one is free
            const auto [least, most] =
                std::minmax_element(users.begin(), users.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
            EXPECT_LE(most->second - least->second, 1);
        }
        if (HasFailure()) return;
    }
}

TEST(NamePlace, SaysWhere) {
    EXPECT_EQ(name_place(big(), {4, 5}, BindTo::core), "core 2");
    EXPECT_EQ(name_place(big(), {5}, BindTo::hwthread), "core 2");
    EXPECT_EQ(name_place(big(), {8, 9}, BindTo::socket), "socket 1");
    EXPECT_EQ(name_place(big(), {12, 13, 14, 15}, BindTo::numa), "numa 3");
    EXPECT_EQ(name_place(big(), {}, BindTo::core), "");
    EXPECT_EQ(name_place(big(), {0}, BindTo::none), "");
    EXPECT_EQ(name_place(big(), {99}, BindTo::core), "");
}

std::vector<int> processors_of(const Machine& machine) {
    std::vector<int> all;
    for (const Core& core : machine.cores) {
        EXPECT_FALSE(core.processors.empty());
        all.insert(all.end(), core.processors.begin(), core.processors.end());
    }
    std::sort(all.begin(), all.end());
    return all;
}

TEST(LoadMachine, IsWhatTheCallingThreadMayUse) {
    const auto mine = runtime::cpus_of();
    ASSERT_FALSE(mine.empty());
    const Machine machine = load_machine();
    EXPECT_EQ(processors_of(machine), mine);
    for (const Core& core : machine.cores) {
        auto siblings = runtime::cpus_of_core(core.processors.front());
        for (const int processor : core.processors) EXPECT_TRUE(std::binary_search(siblings.begin(), siblings.end(), processor));
    }
    const Bound bound = bind_ranks(machine, static_cast<int>(machine.cores.size()), MapBy::slot, BindTo::core);
    EXPECT_EQ((std::set<std::vector<int>>(bound.begin(), bound.end()).size()), machine.cores.size());

    std::thread([&] {
        ASSERT_FALSE(runtime::bind_this_thread(std::vector<int>{mine.back()}));
        const Machine one = load_machine();
        ASSERT_EQ(one.cores.size(), 1u);
        EXPECT_EQ(one.cores[0].processors, std::vector<int>{mine.back()});
        EXPECT_EQ(runtime::cpus_of(), std::vector<int>{mine.back()}) << "looking must not move the thread";
    }).join();
}

// hwloc takes another machine's description from its environment; ranks are bound to what is here all the same.
TEST(LoadMachine, BelievesTheKernelWhenHwlocDescribesAnother) {
    const auto mine = runtime::cpus_of();
    ASSERT_EQ(::setenv("HWLOC_SYNTHETIC", "pu:1", 1), 0);
    const Machine machine = load_machine();
    ASSERT_EQ(::unsetenv("HWLOC_SYNTHETIC"), 0);
    EXPECT_EQ(processors_of(machine), mine);
}

// The kernel's files and hwloc tell of the same cores. Their order may differ.
TEST(LoadCores, FindsTheCoresThatHwlocFinds) {
    const auto mine = runtime::cpus_of();
    const auto sorted = [](const Machine& machine) {
        std::set<std::vector<int>> cores;
        for (const Core& core : machine.cores) cores.insert(core.processors);
        return cores;
    };
    const Machine machine = load_cores(mine);
    EXPECT_EQ(processors_of(machine), mine);
    EXPECT_EQ(sorted(machine), sorted(load_machine()));
    for (std::size_t i = 0; i < machine.cores.size(); ++i) EXPECT_EQ(machine.cores[i].number, static_cast<int>(i));
    EXPECT_EQ(processors_of(load_cores({mine.back()})), std::vector<int>{mine.back()});
    EXPECT_TRUE(load_cores({}).cores.empty());
}

TEST(BindTo, IsNamed) {
    EXPECT_EQ(parse_bind_to("auto"), BindTo::automatic);
    EXPECT_EQ(parse_bind_to("none"), BindTo::none);
    EXPECT_EQ(parse_bind_to("hwthread"), BindTo::hwthread);
    EXPECT_EQ(parse_bind_to("core"), BindTo::core);
    EXPECT_EQ(parse_bind_to("socket"), BindTo::socket);
    EXPECT_EQ(parse_bind_to("numa"), BindTo::numa);
    for (const auto* wrong : {"", "Core", "board"}) {
        try {
            parse_bind_to(wrong);
            ADD_FAILURE() << wrong;
        } catch (const Error& error) {
            EXPECT_EQ(error.what(), std::string("--bind-to takes auto, none, hwthread, core, socket or numa, not '") + wrong + "'");
        }
    }
}

}  // namespace
}  // namespace rollcall::launcher
