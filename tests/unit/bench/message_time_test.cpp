// The rank with which the root measures the time of a message.
#include "bench/ranks/message_time.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rollcall::bench {
namespace {

TEST(BenchMessagePartner, IsOnAnotherHostIfThereIsOne) {
    const std::vector<int> one_host(4), two_hosts = {0, 0, 2, 2}, in_turn = {0, 1, 0, 1};
    EXPECT_EQ(message_partner(0, one_host, 0), 1);
    EXPECT_EQ(message_partner(3, one_host, 0), 0);
    EXPECT_EQ(message_partner(0, two_hosts, 0), 2);
    EXPECT_EQ(message_partner(2, two_hosts, 0), 0);
    EXPECT_EQ(message_partner(3, in_turn, 0), 0);
}

TEST(BenchMessagePartner, IsOfTheOtherGroup) {
    const std::vector<int> one_host(5), hosts = {0, 0, 0, 1, 1};
    EXPECT_EQ(message_partner(0, one_host, 3), 3);
    EXPECT_EQ(message_partner(3, one_host, 3), 0);
    EXPECT_EQ(message_partner(0, hosts, 2), 3) << "rank 2 is on the root's host";
    EXPECT_EQ(message_partner(3, hosts, 3), 0);
    EXPECT_EQ(message_partner(0, hosts, 4), 4);
    const std::vector<int> apart = {0, 0, 1};
    EXPECT_EQ(message_partner(0, apart, 1), 2);
    const std::vector<int> own_host = {0, 1, 0};
    EXPECT_EQ(message_partner(0, own_host, 2), 2) << "the other group has no rank on another host";
}

}  // namespace
}  // namespace rollcall::bench
