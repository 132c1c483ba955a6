/// \file
/// Tests the rendezvous, with a thread for each rank. Ranks with different host names are on different hosts.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <rollcall/error.hpp>

#include "bootstrap/rendezvous/network.hpp"
#include "bootstrap/rendezvous/rendezvous.hpp"
#include "tests/unit/bootstrap/rendezvous.hpp"
#include "tests/unit/errors.hpp"

namespace rollcall::bootstrap::rendezvous_test {
namespace {

using namespace std::chrono_literals;

class Meetings : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Meetings, ExchangeAndLeave) {
    const auto [size, hosts] = GetParam();
    Crew crew(size);
    const int per_host = (size + hosts - 1) / hosts;
    crew.host_of = [&](int rank) { return rank / per_host; };
    crew.run([&](int rank, Rendezvous& rendezvous) {
        const Place& place = rendezvous.place();
        EXPECT_EQ(place.rank, rank);
        EXPECT_EQ(place.size, size);
        EXPECT_EQ(place.local_rank, rank % per_host);
        EXPECT_EQ(place.local_size, std::min(per_host, size - rank / per_host * per_host));
        EXPECT_EQ(place.hosts, (size + per_host - 1) / per_host);
        EXPECT_EQ(place.host, fmt::format("host{}", rank / per_host));
        EXPECT_EQ(rendezvous.name(), "a test");
        for (std::size_t round = 0; round < 20; ++round) {
            const auto all = rendezvous.exchange(blob_of(rank, round), {}, kLimit);
            ASSERT_EQ(all.size(), static_cast<std::size_t>(size));
            for (int other = 0; other < size; ++other)
                EXPECT_TRUE(std::ranges::equal(all[static_cast<std::size_t>(other)], blob_of(other, round)));
            rendezvous.barrier({}, kLimit);
        }
        EXPECT_FALSE(rendezvous.take_notice());
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

INSTANTIATE_TEST_SUITE_P(OfSizesAndHosts, Meetings,
                         testing::Values(std::tuple(1, 1), std::tuple(2, 1), std::tuple(2, 2), std::tuple(5, 1), std::tuple(5, 2),
                                         std::tuple(6, 3), std::tuple(8, 8), std::tuple(16, 4), std::tuple(32, 32)));

/// As a service of another program that does not answer.
TEST(Rendezvous, TakesAnotherPortWhereOneIsTaken) {
    const Descriptor other = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
    std::uint16_t free = 0;
    {
        const Descriptor closed_again = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        free = SocketAddress::of(closed_again.get()).port();
    }
    const Key key = Key::random();
    Crew crew(4);
    crew.options.key = key;
    crew.options.port = SocketAddress::of(other.get()).port();
    crew.options.more_ports = {free};
    crew.options.invitation_may_be_stale = true;
    crew.host_of = [](int rank) { return rank / 2; };
    const Share dictated = [&](std::string mine) { return mine.empty() ? Invitation{"127.0.0.1", crew.options.port, key}.text() : mine; };
    crew.share_of = [&](int) { return dictated; };
    crew.run([&](int, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

/// As a name of two networks, of which the others reach only one. They try the addresses in turn.
TEST(Rendezvous, ListensAtAllAddressesOfRank0) {
    const Key key = Key::random();
    Crew crew(4);
    crew.options.key = key;
    crew.options.addresses = {"127.0.0.1", "127.0.0.2"};
    crew.options.invitation_may_be_stale = true;
    std::uint16_t port = 0;
    {
        const Descriptor closed_again = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        port = SocketAddress::of(closed_again.get()).port();
    }
    crew.options.port = port;
    crew.host_of = [](int rank) { return rank / 2; };
    crew.share_of = [&](int) -> Share {
        return [&, attempt = 0](std::string mine) mutable {
            if (!mine.empty()) return mine;
            return Invitation{attempt++ % 2 == 0 ? "127.0.0.3" : "127.0.0.2", port, key}.text();
        };
    };
    crew.run([&](int, Rendezvous& rendezvous) {
        EXPECT_EQ(rendezvous.place().hosts, 2);
        rendezvous.barrier({}, kLimit);
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, ARankThatLeavesInGoodOrderIsNoNews) {
    Crew crew(4);
    crew.host_of = [](int rank) { return rank / 2; };
    crew.run([&](int rank, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        if (rank == 3) return rendezvous.leave();
        try {
            rendezvous.barrier({}, kLimit);
            ADD_FAILURE() << "the barrier was passed without rank 3";
        } catch (const Error& error) {
            EXPECT_EQ(error.failed_rank(), 3) << error.what();
            EXPECT_TRUE(contains(error.what(), "has left the job"));
        }
        EXPECT_FALSE(rendezvous.take_notice());
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, TwoOfOneRankAreAnErrorForAll) {
    for (const int hosts : {1, 3}) {
        Crew crew(3);
        crew.host_of = [&](int rank) { return rank % hosts; };
        crew.told_rank = [](int rank) { return rank == 2 ? 1 : rank; };
        crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
        expect_all(crew, ErrorCode::bootstrap, "two processes were told to be rank 1");
    }
}

TEST(Rendezvous, DifferentSizesAreAnErrorForAll) {
    for (const int hosts : {1, 2}) {
        Crew crew(2);
        crew.host_of = [&](int rank) { return rank % hosts; };
        crew.told_size = [](int rank) { return rank == 1 ? 5 : 2; };
        crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
        expect_all(crew, ErrorCode::bootstrap, "rank 1 on host");
    }
}

TEST(Rendezvous, RanksThatCannotBeAreRefusedAtOnce) {
    for (const auto& [rank, size] : {std::pair(-1, 2), std::pair(2, 2), std::pair(0, 0)}) {
        EXPECT_THROW(bootstrap::Rendezvous("a test", rank, size, {}, {}), Error);
    }
}

TEST(Rendezvous, ThoseWhoDoNotComeAreNamed) {
    Crew crew(3);
    crew.options.join_timeout = 400ms;
    crew.host_of = [](int rank) { return rank % 2; };
    crew.told_size = [](int) { return 13; };
    crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
    expect_all(crew, ErrorCode::timeout, "ranks 3, 4, 5, 6, 7, 8, 9, 10 and 2 others did not come");
}

TEST(Rendezvous, WithoutRank0TheOthersSayWhereItShouldBe) {
    for (const bool listens : {true, false}) {
        Crew crew(2);
        crew.options.join_timeout = 300ms;
        Descriptor taken = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        const SocketAddress address = SocketAddress::of(taken.get());
        if (!listens) taken.reset();
        const std::string text = Invitation{"127.0.0.1", address.port(), Key::random()}.text();
        crew.told_rank = [](int rank) { return rank + 1; };
        crew.told_size = [](int) { return 3; };
        crew.share_of = [&](int) -> Share { return [&](std::string) { return text; }; };
        crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
        int refused = 0;
        for (const auto& error : crew.errors) {
            ASSERT_TRUE(error);
            EXPECT_EQ(error->code(), ErrorCode::timeout) << error->what();
            EXPECT_TRUE(contains(error->what(), "rank 0"));
            EXPECT_TRUE(contains(error->what(), address.text()));
            if (contains(error->what(), "Connection refused")) {
                ++refused;
                EXPECT_TRUE(contains(error->what(), "loopback"));
                EXPECT_TRUE(contains(error->what(), "set ROLLCALL_NET there"));
            }
        }
        if (!listens) {
            EXPECT_GT(refused, 0);
        }
    }
}

TEST(Rendezvous, WhyRank0CannotStartIsSaidToAllThatWaitForItsInvitation) {
    Crew crew(3);
    const Descriptor taken = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
    crew.options.port = SocketAddress::of(taken.get()).port();
    crew.options.port_advice = "set PORT=0 (any)";
    std::atomic<int> shared = 0;
    crew.share_of = [&](int rank) -> Share {
        return [&, rank](std::string mine) {
            if (rank == 0) ++shared;
            EXPECT_LE(mine.size(), kLongestInvitation);
            return crew.board.share()(std::move(mine));
        };
    };
    crew.run([](int, Rendezvous&) { ADD_FAILURE() << "the job started"; });
    EXPECT_EQ(shared, 1);
    for (const auto& error : crew.errors) {
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), ErrorCode::bootstrap);
        EXPECT_TRUE(contains(error->what(), fmt::format("at 127.0.0.1:{}: Address already in use; set PORT=0 (any)", crew.options.port)));
    }
}

TEST(Rendezvous, AnInvitationOfAnEarlierJobIsAskedForAgain) {
    Crew crew(4);
    crew.host_of = [](int rank) { return rank / 2; };
    crew.options.invitation_may_be_stale = true;
    std::uint16_t port = 0;
    {
        const Descriptor unused = listen_at(*SocketAddress::parse("127.0.0.1", 0), "");
        port = SocketAddress::of(unused.get()).port();
    }
    const std::string stale = Invitation{"127.0.0.1", port, Key::random()}.text();
    std::vector<int> asked(4);
    crew.share_of = [&](int rank) -> Share {
        if (rank == 0) return [&](std::string mine) { return crew.board.put(mine), mine; };
        return [&, rank](std::string) { return ++asked[static_cast<std::size_t>(rank)] < 3 ? stale : crew.board.get(); };
    };
    crew.run([&](int, Rendezvous& rendezvous) {
        rendezvous.barrier({}, kLimit);
        rendezvous.leave();
    });
    crew.expect_no_errors();
}

TEST(Rendezvous, WhatCanBeDoneDependsOnWhereRank0Is) {
    EXPECT_TRUE(contains(advice_about(*SocketAddress::parse("127.0.1.1", 1), "rank 0"), "only its own host reaches"));
    EXPECT_TRUE(contains(advice_about(*SocketAddress::parse("::1", 1), "rank 0"), "only its own host reaches"));
    EXPECT_EQ(advice_about(*SocketAddress::parse("172.17.0.1", 1), "rank 0"),
              "if rank 0 runs, set ROLLCALL_NET on its host to an interface that this host reaches");
}

/// As an RDMA port without IPoIB, which ROLLCALL_NET names for the data.
TEST(Rendezvous, IsAtAnotherInterfaceIfThatOfTheDataHasNoAddress) {
    Interface port, ethernet;
    port.name = "mlx5_0:1";
    port.up = port.running = port.rdma = true;
    ethernet.name = "eth0";
    ethernet.up = ethernet.running = true;
    ethernet.addresses.resize(1);
    ASSERT_TRUE(parse_network("10.1.2.3/24", ethernet.addresses.front()));
    EXPECT_EQ(address_among(std::vector{port, ethernet}, "mlx5_0"), "10.1.2.3");
    EXPECT_EQ(address_among(std::vector{port, ethernet}, ""), "10.1.2.3");
    EXPECT_EQ(address_among(std::vector{port}, "mlx5_0"), "127.0.0.1");
}

}  // namespace
}  // namespace rollcall::bootstrap::rendezvous_test
