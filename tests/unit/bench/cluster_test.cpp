#include "bench/ranks/emulated_cluster.hpp"

#include <gtest/gtest.h>

namespace rollcall::bench {
namespace {

TEST(ClusterHosts, TakeRanksInBlocks) {
    const auto five = cluster_hosts(3, 5);
    ASSERT_EQ(five.size(), 3u);
    EXPECT_EQ(five[0].name, "node0");
    EXPECT_EQ(five[0].slots, 2);
    EXPECT_EQ(five[1].slots, 2);
    EXPECT_EQ(five[2].slots, 1);
    const auto two = cluster_hosts(3, 2);
    ASSERT_EQ(two.size(), 2u) << "a host without ranks is none of the job's";
    EXPECT_EQ(two[1].name, "node1");
    EXPECT_EQ(cluster_hosts(48, 48).back().slots, 1);
}

}  // namespace
}  // namespace rollcall::bench
