#include "foundation/interfaces.hpp"

#include <map>

#include <gtest/gtest.h>
#include <rollcall/error.hpp>

#include "tests/unit/errors.hpp"

namespace rollcall::runtime {
namespace {

using Names = std::vector<std::string>;

NetAddress address(std::string_view text) {
    NetAddress parsed;
    EXPECT_TRUE(parse_network(text, parsed)) << text;
    return parsed;
}

Interface interface(std::string name, const Names& addresses, std::uint64_t speed = 0) {
    Interface made;
    made.name = std::move(name);
    for (const auto& text : addresses) made.addresses.push_back(address(text));
    made.up = made.running = true;
    made.speed_megabits = speed;
    return made;
}

Interface loopback() {
    auto made = interface("lo", {"127.0.0.1/8", "::1/128"});
    made.loopback = true;
    return made;
}

Interface down(Interface made) {
    made.up = made.running = false;
    return made;
}

Interface without_carrier(Interface made) {
    made.running = false;
    return made;
}

Interface rdma(Interface made) {
    made.rdma = true;
    return made;
}

Names chosen(const std::vector<Interface>& interfaces, std::string_view net, int hosts) {
    return choose_interfaces(interfaces, net, hosts).chosen();
}

std::map<std::string, std::string> reasons(const Choice& choice) {
    std::map<std::string, std::string> by_name;
    for (const auto& verdict : choice.verdicts) {
        EXPECT_FALSE(verdict.reason.empty()) << verdict.name;
        by_name[verdict.name] = verdict.reason;
    }
    return by_name;
}

/// A workstation: loopback, two networks, a spare port, and what a container engine left.
const std::vector<Interface> kHost = {loopback(),
                                      interface("docker0", {"172.17.0.1/16"}, 10'000),
                                      interface("eth0", {"10.0.0.2/24", "fd00::2/64", "fe80::2/64"}, 1'000),
                                      interface("eth1", {"192.168.7.2/24"}, 10'000),
                                      down(interface("eth2", {"10.9.0.2/24"}, 25'000)),
                                      interface("eth3", {})};

TEST(Network, IsParsedAndWritten) {
    EXPECT_EQ(address("10.0.0.0/8").text(), "10.0.0.0/8");
    EXPECT_EQ(address("10.1.2.3").text(), "10.1.2.3/32");
    EXPECT_EQ(address("fd00::/8").text(), "fd00::/8");
    EXPECT_EQ(address("::1").text(), "::1/128");
    EXPECT_EQ(address("0.0.0.0/0").prefix, 0);
    NetAddress ignored;
    for (const auto* text : {"", "eth0", "10.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.256", "fd00::/129",
                             "fd00", "10.0.0.0/8/8", "/8"}) {
        EXPECT_FALSE(parse_network(text, ignored)) << text;
    }
}

TEST(Network, ContainsItsAddresses) {
    const auto contains = [](const char* network, const char* one) { return address(network).contains(address(one)); };
    EXPECT_TRUE(contains("10.0.0.0/8", "10.255.1.2"));
    EXPECT_TRUE(contains("10.9.9.9/8", "10.1.1.1"));  // what is behind the prefix does not count
    EXPECT_FALSE(contains("10.0.0.0/8", "11.0.0.1"));
    EXPECT_TRUE(contains("192.168.6.0/23", "192.168.7.2"));
    EXPECT_FALSE(contains("192.168.6.0/24", "192.168.7.2"));
    EXPECT_TRUE(contains("0.0.0.0/0", "1.2.3.4"));
    EXPECT_FALSE(contains("0.0.0.0/0", "::1"));
    EXPECT_FALSE(contains("::/0", "1.2.3.4"));
    EXPECT_TRUE(contains("fd00:1:2::/47", "fd00:1:3::9"));
    EXPECT_FALSE(contains("fd00:1:2::/48", "fd00:1:3::9"));
    EXPECT_TRUE(contains("10.0.0.1/32", "10.0.0.1"));
    EXPECT_FALSE(contains("10.0.0.1/32", "10.0.0.0"));
    EXPECT_TRUE(address("fe80::1").link_local());
    EXPECT_TRUE(address("169.254.3.4").link_local());
    EXPECT_FALSE(address("fec0::1").link_local());
    EXPECT_FALSE(address("169.253.3.4").link_local());
}

TEST(NetSetting, IsAListOfNamesNetworksAndExclusions) {
    const auto setting = parse_net_setting("eth0,10.0.0.0/8,^docker0,fd00::/8,^fe80::/10");
    ASSERT_EQ(setting.wanted.size(), 3u);
    EXPECT_EQ(setting.wanted[0].text, "eth0");
    EXPECT_FALSE(setting.wanted[0].is_network);
    EXPECT_TRUE(setting.wanted[1].is_network);
    EXPECT_TRUE(setting.wanted[2].network.v6);
    ASSERT_EQ(setting.excluded.size(), 2u);
    EXPECT_EQ(setting.excluded[0].text, "docker0");
    EXPECT_EQ(setting.excluded[1].network.prefix, 10);
    EXPECT_TRUE(parse_net_setting("").wanted.empty());
}

TEST(NetSetting, RefusesWhatIsNeither) {
    const std::map<std::string, std::string> why = {{",", "a name is empty"},
                                                    {"eth0,", "a name is empty"},
                                                    {",eth0", "a name is empty"},
                                                    {"eth0,,eth1", "a name is empty"},
                                                    {"^", "a name is empty"},
                                                    {" ", "' ' is not a name"},
                                                    {"eth0, eth1", "' eth1' is not a name"},
                                                    {"^^eth0", "'^eth0' is not a name"},
                                                    {"10.0.0.0/40", "'10.0.0.0/40' is not a network"},
                                                    {"eth0/8", "'eth0/8' is not a network"},
                                                    {"fd00::/200", "'fd00::/200' is not a network"}};
    for (const auto& [text, reason] : why) {
        EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { parse_net_setting(text); }),
                  "ROLLCALL_NET='" + text + "' is not allowed: " + reason + "; allowed: " + kNetSettingAllowed);
    }
    refusal(ErrorCode::invalid_setting, [&] { parse_net_setting("eth0\n"); });
}

TEST(Choice, OneHostUsesLoopbackUnlessNetNamesOthers) {
    EXPECT_EQ(chosen(kHost, "", 1), Names{"lo"});
    EXPECT_EQ(chosen(kHost, "^docker0", 1), Names{"lo"});
    EXPECT_EQ(chosen(kHost, "eth0", 1), Names{"eth0"});
    EXPECT_EQ(chosen(kHost, "lo", 1), Names{"lo"});
    EXPECT_EQ(chosen(kHost, "127.0.0.0/8", 1), Names{"lo"});
    EXPECT_EQ(chosen(kHost, "^lo", 1), Names{"eth1"});
    EXPECT_EQ(chosen({down(loopback()), kHost[2]}, "", 1), Names{"eth0"});
    // Memory carries a job on one host: nothing is no error.
    EXPECT_EQ(chosen({}, "", 1), Names{});
    EXPECT_EQ(chosen({down(loopback())}, "", 1), Names{});
    EXPECT_EQ(choose_interfaces(kHost, "", 1).devices(), "lo");
}

TEST(Choice, SeveralHostsNeverUseLoopback) {
    EXPECT_EQ(chosen(kHost, "", 2), Names{"eth1"});
    EXPECT_EQ(chosen(kHost, "lo,eth0", 2), Names{"eth0"});
    EXPECT_EQ(chosen(kHost, "0.0.0.0/0", 2), (Names{"docker0", "eth0", "eth1"}));
    const std::string there = "; there are: lo (127.0.0.1/8, ::1/128, loopback), eth0 (10.0.0.2/24, down)";
    const std::vector<Interface> only_loopback = {loopback(), down(interface("eth0", {"10.0.0.2/24"}))};
    EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { choose_interfaces(only_loopback, "lo", 2); }),
              "ROLLCALL_NET='lo' gives only loopback, which does not reach the job's other hosts" + there);
    EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { choose_interfaces(only_loopback, "127.0.0.1", 2); }),
              "ROLLCALL_NET='127.0.0.1' gives only loopback, which does not reach the job's other hosts" + there);
    EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { choose_interfaces(only_loopback, "^eth0", 2); }),
              "ROLLCALL_NET='^eth0' gives only loopback, which does not reach the job's other hosts" + there);
    EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { choose_interfaces(only_loopback, "eth0", 2); }),
              "ROLLCALL_NET='eth0' gives no network interface that can be used" + there);
    EXPECT_EQ(refusal(ErrorCode::transport, [&] { choose_interfaces(only_loopback, "", 2); }),
              "this host has no network interface that reaches the job's other hosts" + there);
    EXPECT_EQ(refusal(ErrorCode::transport, [&] { choose_interfaces({}, "", 2); }),
              "this host has no network interface that reaches the job's other hosts; there are: none");
}

TEST(Choice, ASettingThatMatchesNothingListsWhatThereIs) {
    const std::vector<Interface> interfaces = {loopback(), without_carrier(interface("eth0", {})), rdma(interface("mlx5_0:1", {}))};
    for (const int hosts : {1, 2}) {
        EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { choose_interfaces(interfaces, "ib0,11.0.0.0/8", hosts); }),
                  "ROLLCALL_NET='ib0,11.0.0.0/8' matches no network interface; there are: lo (127.0.0.1/8, ::1/128, "
                  "loopback), "
                  "eth0 (no carrier), mlx5_0:1 (RDMA)");
    }
    EXPECT_EQ(refusal(ErrorCode::invalid_setting, [&] { choose_interfaces(interfaces, "^lo,^eth0,^mlx5_0", 1); }),
              "ROLLCALL_NET='^lo,^eth0,^mlx5_0' matches no network interface; there are: lo (127.0.0.1/8, ::1/128, "
              "loopback), eth0 "
              "(no carrier), mlx5_0:1 (RDMA)");
    refusal(ErrorCode::invalid_setting, [&] { choose_interfaces(interfaces, "eth0", 1); });
}

TEST(Choice, NamesNetworksAndExclusionsMix) {
    EXPECT_EQ(chosen(kHost, "eth0,eth1", 2), (Names{"eth0", "eth1"}));
    EXPECT_EQ(chosen(kHost, "eth1,eth0", 2), (Names{"eth0", "eth1"}));  // in the order of the host
    EXPECT_EQ(chosen(kHost, "10.0.0.0/8", 2), Names{"eth0"});           // eth2 is down
    EXPECT_EQ(chosen(kHost, "fd00::/8", 2), Names{"eth0"});
    EXPECT_EQ(chosen(kHost, "fd00::/8,192.168.0.0/16", 2), (Names{"eth0", "eth1"}));
    EXPECT_EQ(chosen(kHost, "0.0.0.0/0,^docker0,^10.0.0.0/8", 2), Names{"eth1"});
    EXPECT_EQ(chosen(kHost, "^eth1", 2), Names{"eth0"});
    EXPECT_EQ(chosen(kHost, "docker0", 2), Names{"docker0"});  // a user that names it gets it
    EXPECT_EQ(choose_interfaces(kHost, "eth1,eth0", 2).devices(), "eth0,eth1");
}

TEST(Choice, EveryInterfaceHasItsReason) {
    auto why = reasons(choose_interfaces(kHost, "", 2));
    EXPECT_EQ(why["lo"], "loopback does not reach other hosts");
    EXPECT_EQ(why["docker0"], "its name says that it is a virtual bridge of this host");
    EXPECT_EQ(why["eth0"], "eth1 is faster; ROLLCALL_NET=eth1,eth0 uses both");
    EXPECT_EQ(why["eth1"], "the best network interface");
    EXPECT_EQ(why["eth2"], "it is down");
    EXPECT_EQ(why["eth3"], "it has no address");
    why = reasons(choose_interfaces(kHost, "", 1));
    EXPECT_EQ(why["lo"], "the job is on one host");
    EXPECT_EQ(why["eth0"], "the job is on one host: loopback is used");
    EXPECT_EQ(why["eth2"], "it is down");
    why = reasons(choose_interfaces(kHost, "10.0.0.0/8,^docker0", 2));
    EXPECT_EQ(why["lo"], "ROLLCALL_NET does not name it");
    EXPECT_EQ(why["docker0"], "excluded by ROLLCALL_NET (^docker0)");
    EXPECT_EQ(why["eth0"], "named by ROLLCALL_NET (10.0.0.0/8)");
    EXPECT_EQ(why["eth2"], "it is down");
}

TEST(Choice, PatternsWithoutAnInterfaceAreTold) {
    EXPECT_EQ(choose_interfaces(kHost, "eth0,ib0,^virbr0,11.0.0.0/8", 2).unmatched, (Names{"ib0", "11.0.0.0/8", "^virbr0"}));
    EXPECT_TRUE(choose_interfaces(kHost, "eth0", 2).unmatched.empty());
}

TEST(Choice, VirtualBridgesAndLinkLocalAddressesAreTheLastResort) {
    for (const auto* name : {"docker0", "br-0a1b2c", "virbr0", "veth12ab", "vnet0", "cni0", "lxcbr0", "podman0"}) {
        const std::vector<Interface> both = {loopback(), interface(name, {"172.17.0.1/16"}, 10'000), interface("eth0", {"10.0.0.2/24"})};
        EXPECT_EQ(chosen(both, "", 2), Names{"eth0"}) << name;
        const std::vector<Interface> alone = {loopback(), interface(name, {"172.17.0.1/16"})};
        const auto choice = choose_interfaces(alone, "", 2);
        EXPECT_EQ(choice.chosen(), Names{name});
        EXPECT_EQ(reasons(choice)[name],
                  "a last resort: its name says that it is a virtual bridge of this host, but there is no better one");
    }
    EXPECT_EQ(chosen({interface("br0", {"10.0.0.1/24"})}, "", 2), Names{"br0"});  // a host's own bridge is an ordinary interface
    const std::vector<Interface> link_local = {interface("eth0", {"fe80::1/64"}, 10'000), interface("eth1", {"10.0.0.2/24"}, 100)};
    EXPECT_EQ(chosen(link_local, "", 2), Names{"eth1"});
    EXPECT_EQ(reasons(choose_interfaces(link_local, "", 2))["eth0"], "it has only link-local addresses");
    EXPECT_EQ(chosen({link_local[0]}, "", 2), Names{"eth0"});
}

TEST(Choice, OfEqualInterfacesTheFirstIsTaken) {
    const std::vector<Interface> equal = {interface("eth0", {"10.0.0.2/24"}), interface("eth1", {"10.0.1.2/24"})};
    const auto choice = choose_interfaces(equal, "", 2);
    EXPECT_EQ(choice.chosen(), Names{"eth0"});
    EXPECT_EQ(reasons(choice)["eth1"], "eth0 comes first; ROLLCALL_NET=eth0,eth1 uses both");
}

TEST(Choice, TakesActiveRdmaPortsAndOneInterfaceBesideThem) {
    const std::vector<Interface> cluster = {loopback(),
                                            interface("eth0", {"10.0.0.2/24"}, 1'000),
                                            interface("ib0", {"10.1.0.2/24"}, 100'000),
                                            rdma(interface("mlx5_0:1", {"10.1.0.2/24"}, 100'000)),
                                            rdma(without_carrier(interface("mlx5_0:2", {}))),
                                            rdma(interface("mlx5_1:1", {}, 100'000))};
    EXPECT_EQ(chosen(cluster, "", 2), (Names{"ib0", "mlx5_0:1", "mlx5_1:1"}));
    EXPECT_EQ(chosen(cluster, "", 1), Names{"lo"});
    EXPECT_EQ(chosen(cluster, "mlx5_0", 2), Names{"mlx5_0:1"});
    EXPECT_EQ(chosen(cluster, "mlx5_1:1", 2), Names{"mlx5_1:1"});
    EXPECT_EQ(chosen(cluster, "10.1.0.0/16", 2), (Names{"ib0", "mlx5_0:1"}));
    EXPECT_EQ(chosen(cluster, "^mlx5_0,^ib0", 2), (Names{"eth0", "mlx5_1:1"}));
    EXPECT_EQ(reasons(choose_interfaces(cluster, "", 2))["mlx5_0:2"], "its port is not active");
}

TEST(Interfaces, OfThisHostAreListed) {
    const auto interfaces = list_interfaces();
    ASSERT_FALSE(interfaces.empty());
    for (const auto& one : interfaces) {
        EXPECT_FALSE(one.name.empty());
        EXPECT_EQ(one.rdma, one.name.find(':') != std::string::npos);
        if (one.loopback && one.up) {
            EXPECT_EQ(chosen(interfaces, "", 1), Names{one.name});
        }
    }
}

}  // namespace
}  // namespace rollcall::runtime
