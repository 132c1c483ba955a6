// Which rank goes to which host, and the map that shows it.
#include "launcher/hosts/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

#include "launcher/hosts/job_map.hpp"

namespace rollcall::launcher {
namespace {

using Ranks = std::vector<int>;
using Hosts = std::vector<Host>;

const Hosts kTwo = {{"a", 4, true}, {"b", 2, true}};

Ranks place(const Hosts& hosts, int ranks, MapBy map, bool oversubscribe = false) {
    return place_ranks(hosts, ranks, map, std::nullopt, oversubscribe);
}

std::string placement_refusal(const Hosts& hosts, int ranks, std::optional<int> per_node, bool oversubscribe = false) {
    try {
        place_ranks(hosts, ranks, MapBy::slot, per_node, oversubscribe);
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.what();
    }
    return {};
}

TEST(PlaceRanks, BySlotFillsAHostBeforeTheNext) {
    for (const MapBy map : {MapBy::slot, MapBy::core, MapBy::socket, MapBy::numa}) {
        EXPECT_EQ(place(kTwo, 6, map), (Ranks{0, 0, 0, 0, 1, 1}));
        EXPECT_EQ(place(kTwo, 3, map), (Ranks{0, 0, 0}));
        EXPECT_EQ(place(kTwo, 5, map), (Ranks{0, 0, 0, 0, 1}));
    }
}

TEST(PlaceRanks, ByNodeGivesEachInTurnWhileItHasSlots) {
    EXPECT_EQ(place(kTwo, 6, MapBy::node), (Ranks{0, 1, 0, 1, 0, 0}));
    EXPECT_EQ(place(kTwo, 3, MapBy::node), (Ranks{0, 1, 0}));
    EXPECT_EQ(place({{"a", 1}, {"b", 3}, {"c", 2}}, 6, MapBy::node), (Ranks{0, 1, 2, 1, 2, 1}));
}

TEST(PlaceRanks, BeyondTheSlotsItBeginsAgainAndSharesTheRest) {
    EXPECT_EQ(place(kTwo, 12, MapBy::slot, true), (Ranks{0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1}));
    EXPECT_EQ(place(kTwo, 9, MapBy::slot, true), (Ranks{0, 0, 0, 0, 1, 1, 0, 0, 1}));  // not all of the rest on a
    EXPECT_EQ(place(kTwo, 9, MapBy::node, true), (Ranks{0, 1, 0, 1, 0, 0, 0, 1, 0}));
    EXPECT_EQ(place({{"a"}, {"b"}, {"c"}}, 5, MapBy::slot, true), (Ranks{0, 1, 2, 0, 1}));
    EXPECT_EQ(place({{"a"}}, 4, MapBy::slot, true), (Ranks{0, 0, 0, 0}));
    EXPECT_EQ(place(kTwo, 5, MapBy::slot, true), place(kTwo, 5, MapBy::slot));  // allowing it changes nothing that fits
}

TEST(PlaceRanks, NoHostGetsMoreThanItsLimit) {
    const Hosts hosts = {{"a", 2, true, 3}, {"b", 2, true}};
    EXPECT_EQ(place(hosts, 10, MapBy::slot, true), (Ranks{0, 0, 1, 1, 0, 1, 1, 1, 1, 1}));
    EXPECT_EQ(place(hosts, 10, MapBy::node, true), (Ranks{0, 1, 0, 1, 0, 1, 1, 1, 1, 1}));
    EXPECT_EQ(placement_refusal({{"a", 2, true, 3}, {"b", 1, true, 1}}, 5, std::nullopt, true),
              "5 ranks do not fit: the hosts' max_slots allow 4 in all; give more hosts or higher limits");
}

TEST(PlaceRanks, PerNodeReplacesTheSlots) {
    const Hosts three = {{"a"}, {"b"}, {"c"}};
    EXPECT_EQ(place_ranks(three, 6, MapBy::slot, 2, false), (Ranks{0, 0, 1, 1, 2, 2}));
    EXPECT_EQ(place_ranks(three, 4, MapBy::slot, 2, false), (Ranks{0, 0, 1, 1}));
    EXPECT_EQ(place_ranks(three, 5, MapBy::node, 2, false), (Ranks{0, 1, 2, 0, 1}));
    EXPECT_EQ(place_ranks(kTwo, 2, MapBy::slot, 1, false), (Ranks{0, 1}));
    EXPECT_EQ(place_ranks(kTwo, 6, MapBy::slot, 3, true), (Ranks{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(place_ranks(three, 3, MapBy::slot, 2'000'000'000, false), (Ranks{0, 0, 0}));
    EXPECT_EQ(placement_refusal(three, 7, 2),
              "7 ranks do not fit on 3 hosts with --per-node 2: that makes 6 at most; give more hosts or a larger --per-node");
    EXPECT_EQ(placement_refusal(three, 7, 2, true), placement_refusal(three, 7, 2));
    EXPECT_EQ(placement_refusal(kTwo, 6, 3),
              "--per-node 3 puts 3 ranks on host 'b', which has 2 slots; give it more slots, a smaller --per-node, or --oversubscribe");
    EXPECT_EQ(placement_refusal(kTwo, 5, 3), "");  // b gets 2
    EXPECT_EQ(placement_refusal({{"a", 2, true, 3}}, 4, 4, true),
              "--per-node 4 puts 4 ranks on host 'a', which takes 3 at most (max_slots); give a smaller --per-node");
    EXPECT_EQ(placement_refusal(three, 1, 0), "--per-node takes a number of at least 1, not 0");
}

TEST(PlaceRanks, WhatDoesNotFitIsNamedWithBothNumbers) {
    EXPECT_EQ(placement_refusal(kTwo, 7, std::nullopt),
              "7 ranks need 7 slots, but the 2 hosts have 6; give a host more slots (such as a:4 in --hosts, or slots=4 in a hostfile), or "
              "--oversubscribe");
    EXPECT_EQ(placement_refusal({{"a"}}, 2, std::nullopt),
              "2 ranks need 2 slots, but the host has 1; give a host more slots (such as a:4 in --hosts, or slots=4 in a hostfile), or "
              "--oversubscribe");
    EXPECT_EQ(placement_refusal({}, 1, std::nullopt), "there is no host to place ranks on");
    EXPECT_EQ(placement_refusal(kTwo, 0, std::nullopt), "a job has at least 1 rank, not 0");
}

TEST(PlaceRanks, ManyHostsAndRanks) {
    Hosts hosts;
    for (int host = 0; host < kMostHosts; ++host) hosts.push_back({"n" + std::to_string(host), host == 0 ? kMostSlots : 1, true});
    const Ranks by_node = place(hosts, 65536, MapBy::node);
    EXPECT_TRUE(std::is_sorted(by_node.begin(), by_node.end()));
    EXPECT_EQ(by_node.back(), 65535);
    EXPECT_EQ(place(hosts, 131071, MapBy::node).back(), 0);
    EXPECT_EQ(place(hosts, 65536, MapBy::slot).back(), 0);
    // A limit that all but one reach must not make every later round look at all.
    for (std::size_t host = 1; host < hosts.size(); ++host) hosts[host].max_slots = 1;
    hosts[0].slots = 1;
    EXPECT_EQ(place(hosts, 131072, MapBy::slot, true).back(), 0);
}

// What is promised, for random hosts.
TEST(PlaceRanks, KeepsItsPromises) {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    std::mt19937_64 random(seed);
    const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
    for (int round = 0; round < 2000; ++round) {
        Hosts hosts(static_cast<std::size_t>(below(6) + 1));
        for (Host& host : hosts) host.slots = below(7) + 1;
        const int slots = std::accumulate(hosts.begin(), hosts.end(), 0, [](int sum, const Host& host) { return sum + host.slots; });
        const int ranks = below(4 * slots) + 1;
        const MapBy map = below(2) == 0 ? MapBy::slot : MapBy::node;
        const Ranks placed = place(hosts, ranks, map, true);
        ASSERT_EQ(placed.size(), static_cast<std::size_t>(ranks));

        Ranks load(hosts.size());
        for (const int host : placed) ++load.at(static_cast<std::size_t>(host));
        if (ranks <= slots) {
            if (map == MapBy::slot) {
                EXPECT_TRUE(std::is_sorted(placed.begin(), placed.end()));
            }
            EXPECT_EQ(placed, place(hosts, ranks, map));
        }
        for (std::size_t host = 0; host < hosts.size(); ++host) {
            // Whole rounds are alike for all, and the last one never gives a host more than its slots.
            EXPECT_GE(load[host], ranks / slots * hosts[host].slots);
            EXPECT_LE(load[host], (ranks + slots - 1) / slots * hosts[host].slots);
            if (map == MapBy::slot && ranks > slots && ranks % slots != 0) {
                // In the last round no host gets a rank while another one would be less full with that rank.
                const int rest = load[host] - ranks / slots * hosts[host].slots;
                for (std::size_t other = 0; other < hosts.size(); ++other) {
                    const int others = load[other] - ranks / slots * hosts[other].slots;
                    EXPECT_LE(rest * hosts[other].slots, (others + 1) * hosts[host].slots);
                }
            }
        }

        const auto numbered = number_local_ranks(placed);
        Ranks next(hosts.size());
        for (std::size_t rank = 0; rank < placed.size(); ++rank) {
            const auto host = static_cast<std::size_t>(placed[rank]);
            ASSERT_EQ(numbered[rank], (Placement{placed[rank], next[host]++, load[host]}));
        }
        if (HasFailure()) return;
    }
}

TEST(NumberLocalRanks, GoesByRankOnEachHost) {
    EXPECT_EQ(number_local_ranks({0, 2, 0, 2, 2}), (std::vector<Placement>{{0, 0, 2}, {2, 0, 3}, {0, 1, 2}, {2, 1, 3}, {2, 2, 3}}));
    EXPECT_TRUE(number_local_ranks({}).empty());
}

TEST(MapBy, IsNamed) {
    EXPECT_EQ(parse_map_by("slot"), MapBy::slot);
    EXPECT_EQ(parse_map_by("node"), MapBy::node);
    EXPECT_EQ(parse_map_by("socket"), MapBy::socket);
    EXPECT_EQ(parse_map_by("numa"), MapBy::numa);
    EXPECT_EQ(parse_map_by("core"), MapBy::core);
    for (const auto* wrong : {"", "Slot", "l3", "slot "}) {
        try {
            parse_map_by(wrong);
            ADD_FAILURE() << wrong;
        } catch (const Error& error) {
            EXPECT_EQ(error.what(), std::string("--map-by takes slot, node, socket, numa or core, not '") + wrong + "'");
        }
    }
}

TEST(DrawMap, ShowsHostsAndTheirRanks) {
    std::vector<MappedRank> ranks(6);
    for (std::size_t rank = 0; rank < 6; ++rank) ranks[rank].host = rank < 3 || rank == 5 ? "node10" : "n1";
    EXPECT_EQ(draw_map(ranks),
              "6 ranks on 2 hosts\n"
              "node10  ranks 0-2,5\n"
              "n1      ranks 3-4\n");
    EXPECT_EQ(draw_map({{"a", {}, {}, {}}}),
              "1 rank on 1 host\n"
              "a  rank 0\n");
}

TEST(DrawMap, SaysOfWhichHostWhyNoneIsBound) {
    EXPECT_EQ(
        draw_map({{"a", {}, "", "there are more ranks than cores"}, {"b", {0}, "", ""}, {"a", {}, "", "there are more ranks than cores"}}),
        "3 ranks on 2 hosts\n"
        "a  ranks 0,2  not bound: there are more ranks than cores\n"
        "b  rank 1\n"
        "rank 0  a  not bound\n"
        "rank 1  b  cpu 0\n"
        "rank 2  a  not bound\n");
}

TEST(DrawMap, ShowsTheProcessorsOfRanksThatAreBound) {
    std::vector<MappedRank> ranks;
    for (int rank = 0; rank < 11; ++rank) ranks.push_back({rank == 1 ? "b" : "aa", {rank, rank + 11}, "core " + std::to_string(rank), ""});
    ranks[1].processors = {0, 1, 2, 3, 8};
    ranks[2].processors = {7};
    ranks[3] = {"aa", {}, "", ""};
    const std::string map = draw_map(ranks);
    EXPECT_EQ(map.substr(0, map.find("rank 4 ")),
              "11 ranks on 2 hosts\n"
              "aa  ranks 0,2-10\n"
              "b   rank 1\n"
              "rank 0   aa  core 0   cpus 0,11\n"
              "rank 1   b   core 1   cpus 0-3,8\n"
              "rank 2   aa  core 2   cpu 7\n"
              "rank 3   aa           not bound\n");
    EXPECT_EQ(map.substr(map.find("rank 10 ")), "rank 10  aa  core 10  cpus 10,21\n");
    EXPECT_EQ(draw_map({{"a", {0}, "", ""}}),
              "1 rank on 1 host\n"
              "a  rank 0\n"
              "rank 0  a  cpu 0\n");
}

}  // namespace
}  // namespace rollcall::launcher
