// Lists of hosts and hostfiles: what each form means, what is refused, and that nothing else breaks the parser.
#include "launcher/hosts/hosts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <rollcall/error.hpp>

namespace rollcall::launcher {
namespace {

using Hosts = std::vector<Host>;

std::vector<std::string> names(const Hosts& hosts) {
    std::vector<std::string> all;
    for (const Host& host : hosts) all.push_back(host.name);
    return all;
}
using Names = std::vector<std::string>;

/// The sentence of the refusal; empty when there is none.
std::string refusal(const std::function<void()>& act) {
    try {
        act();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.what();
    }
    return {};
}
std::string list_refusal(std::string_view list) {
    return refusal([&] { parse_hosts(list); });
}
std::string file_refusal(const std::string& text) {
    return refusal([&] { parse_hostfile(text, "f"); });
}

std::uint64_t hosts_seed() {
    const char* given = std::getenv("ROLLCALL_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "ROLLCALL_TEST_SEED=" << seed << std::endl;
    return seed;
}

TEST(HostList, NamesSlotsAndUsers) {
    EXPECT_EQ(parse_hosts("a"), (Hosts{{"a", 1, false}}));
    EXPECT_EQ(parse_hosts("a:4,b:2"), (Hosts{{"a", 4, true}, {"b", 2, true}}));
    EXPECT_EQ(parse_hosts(" a:4 , anna@b "), (Hosts{{"a", 4, true}, {"anna@b", 1, false}}));
    EXPECT_EQ(parse_hosts("192.0.2.7:2,my-node_1.example.org:65536"),
              (Hosts{{"192.0.2.7", 2, true}, {"my-node_1.example.org", 65536, true}}));
}

TEST(HostList, Ipv6AddressesStandInBracketsAndComeWithoutThem) {
    EXPECT_EQ(parse_hosts("[::1]:2,[2001:db8::7],anna@[fe80::1%eth0]:3"),
              (Hosts{{"::1", 2, true}, {"2001:db8::7", 1, false}, {"anna@fe80::1%eth0", 3, true}}));
    EXPECT_EQ(list_refusal("fe80::1:2"), "--hosts: the address fe80::1:2 needs brackets: [fe80::1:2], or [fe80::1:2]:4 for 4 slots");
    for (const auto* wrong : {"[::g]", "[1:2]", "[::1", "[::1]2", "[::1]:", "[fe80::1%]", "[fe80::1%a b]", "[]", "[:]", "[::1]x:2"}) {
        EXPECT_NE(list_refusal(wrong), "") << wrong;
    }
}

TEST(HostList, RangesStandForTheirNumbersWithTheFirstOnesWidth) {
    EXPECT_EQ(
        parse_hosts("node[0-2,07-09]:2"),
        (Hosts{{"node0", 2, true}, {"node1", 2, true}, {"node2", 2, true}, {"node07", 2, true}, {"node08", 2, true}, {"node09", 2, true}}));
    EXPECT_EQ(names(parse_hosts("n[8-11]")), (Names{"n8", "n9", "n10", "n11"}));
    EXPECT_EQ(names(parse_hosts("n[098-101].x")), (Names{"n098.x", "n099.x", "n100.x", "n101.x"}));
    EXPECT_EQ(names(parse_hosts("n[08-101]")).back(), "n101");
    EXPECT_EQ(names(parse_hosts("n[0]")), Names{"n0"});
    EXPECT_EQ(names(parse_hosts("n[00]")), Names{"n00"});
    EXPECT_EQ(names(parse_hosts("anna@r[1-2]n[0-1]")), (Names{"anna@r1n0", "anna@r1n1", "anna@r2n0", "anna@r2n1"}));
    EXPECT_EQ(names(parse_hosts("n[999999999999999998-999999999999999999]")), (Names{"n999999999999999998", "n999999999999999999"}));
    EXPECT_EQ(names(parse_hosts("[3-4]")), (Names{"3", "4"}));
}

TEST(HostList, AHostNamedAgainAddsItsSlots) {
    EXPECT_EQ(parse_hosts("a,b,a"), (Hosts{{"a", 2, true}, {"b", 1, false}}));
    EXPECT_EQ(parse_hosts("a:3,a,n[0-1],n[1-2]:4"), (Hosts{{"a", 4, true}, {"n0", 1, false}, {"n1", 5, true}, {"n2", 4, true}}));
    // Another user is another login.
    EXPECT_EQ(parse_hosts("a,anna@a"), (Hosts{{"a", 1, false}, {"anna@a", 1, false}}));
}

TEST(HostList, WhatIsWrongIsNamedWithWhatIsAllowed) {
    EXPECT_EQ(list_refusal(""), "--hosts: no host is named; allowed: a list such as a:4,b:4 or node[0-3]:2");
    EXPECT_EQ(list_refusal("a,,b"), "--hosts: a name is missing beside a comma; allowed: a list such as a:4,b:4 or node[0-3]:2");
    EXPECT_EQ(list_refusal("a:0"), "--hosts: a host has 1 to 65536 slots, not '0'");
    EXPECT_EQ(list_refusal("a:65537"), "--hosts: a host has 1 to 65536 slots, not '65537'");
    EXPECT_EQ(list_refusal("a:65536,a"), "--hosts: host 'a' has more than 65536 slots in all");
    EXPECT_EQ(list_refusal("a b"),
              "--hosts: ' ' is not allowed in 'a b'; allowed: letters, digits, '.', '_', '-', and ranges such as [0-3,07-09]");
    EXPECT_EQ(list_refusal("n[3-1]"), "--hosts: the range '3-1' runs backwards; write the lower number first");
    EXPECT_EQ(list_refusal("n[1-03]"), "--hosts: the range '1-03' has leading zeros in its last number only; write both equally long");
    EXPECT_EQ(list_refusal("n[0-65536]"), "--hosts: the range '0-65536' has too many numbers; a job has at most 65536 hosts");
    EXPECT_EQ(list_refusal("n[0-999]m[0-999]"), "--hosts: 'n[0-999]m[0-999]' names too many hosts; a job has at most 65536");
    EXPECT_EQ(list_refusal("n[0-65535],x"), "--hosts: a job has at most 65536 hosts");
    EXPECT_EQ(list_refusal("-oProxyCommand=x"),
              "--hosts: the name '-oProxyCommand=x' begins with '-', which a remote shell takes for an option");
    for (const auto* wrong : {",",        "a,",    ",a",
                              "a:",       "a:-1",  "a:+1",
                              "a:1x",     "a: 1",  "a:4294967297",
                              "a:1:2",    ":4",    "@a",
                              "a@",       "a@b@c", "-a@b",
                              "a b@c",    "x@-b",  "n[",
                              "n]",       "n[]",   "n[1",
                              "n[1-]",    "n[-1]", "n[1,]",
                              "n[1-2-3]", "n[a]",  "n[1.2]",
                              "n[[1]]",   "n[1]]", "n[1234567890123456789]",
                              "a/b",      "a;b",   "$a",
                              "a\nb",     "a\tb",  "\xc3\xa4",
                              "+n0",      "^a",    "*"}) {
        EXPECT_NE(list_refusal(wrong), "") << wrong;
    }
    EXPECT_NE(list_refusal(std::string_view("a\0b", 3)), "");
    EXPECT_NE(list_refusal(std::string_view("[::1\0]", 6)), "");
    EXPECT_NE(list_refusal(std::string(256, 'a')), "");
    EXPECT_EQ(list_refusal(std::string(255, 'a')), "");
    EXPECT_NE(list_refusal(std::string(254, 'a') + "[9-10]"), "");
}

TEST(Hostfile, TheUsualSyntaxes) {
    const std::string text =
        "# our machines\n"
        "\n"
        "   \t  \n"
        "plain\n"
        "mpich:4   # with a comment\n"
        "open slots=4 max_slots=8\n"
        "spaced slots = 3 max-slots= 5\r\n"
        "lam cpu=2 user=anna\n"
        "counted count=2\n"
        "limited max_slots=6\n"
        "anna@own slots=1\n"
        "\tnode[0-1] slots=2\n"
        "[::1]:2\n"
        "last cpus=7";
    EXPECT_EQ(parse_hostfile(text, "f"), (Hosts{{"plain", 1, false},
                                                {"mpich", 4, true},
                                                {"open", 4, true, 8},
                                                {"spaced", 3, true, 5},
                                                {"anna@lam", 2, true},
                                                {"counted", 2, true},
                                                {"limited", 6, true, 6},
                                                {"anna@own", 1, true},
                                                {"node0", 2, true},
                                                {"node1", 2, true},
                                                {"::1", 2, true},
                                                {"last", 7, true}}));
}

TEST(Hostfile, RepeatedLinesAddUp) {
    EXPECT_EQ(parse_hostfile("a\na\nb\na\nb\n", "PBS_NODEFILE"), (Hosts{{"a", 3, true}, {"b", 2, true}}));
    EXPECT_EQ(parse_hostfile("a slots=2 max_slots=4\na slots=2 max_slots=4\n", "f"), (Hosts{{"a", 4, true, 8}}));
    EXPECT_EQ(parse_hostfile("a slots=2 max_slots=4\na slots=3\n", "f"), (Hosts{{"a", 5, true, 7}}));
    EXPECT_EQ(parse_hostfile("a slots=3\na slots=2 max_slots=4\n", "f"), (Hosts{{"a", 5, true, 7}}));
}

TEST(Hostfile, AMistakeIsNamedWithItsLine) {
    EXPECT_EQ(file_refusal("a\n# x\nb slots=\n"), "hostfile 'f', line 3: a host has 1 to 65536 slots, not ''");
    EXPECT_EQ(file_refusal("a cores=4"),
              "hostfile 'f', line 1: 'cores=4' is not understood; allowed after a host: slots=N (or slot, count, cpu, cpus), "
              "max_slots=N, user=NAME");
    EXPECT_EQ(file_refusal("a:2 slots=2"), "hostfile 'f', line 1: the slots of a host are given twice, by ':' and by '='");
    EXPECT_EQ(file_refusal("a slots=2 cpu=2"), "hostfile 'f', line 1: cpu= is given twice for one host");
    EXPECT_EQ(file_refusal("x@a user=y"), "hostfile 'f', line 1: the user of a host is given twice, by '@' and by '='");
    EXPECT_EQ(file_refusal("a slots=4 max_slots=2"), "hostfile 'f', line 1: max_slots=2 is less than the host's 4 slots");
    EXPECT_EQ(file_refusal(""), "hostfile 'f' names no host; allowed: a host a line, such as 'node1 slots=4'");
    EXPECT_EQ(file_refusal("# nothing\n\n"), "hostfile 'f' names no host; allowed: a host a line, such as 'node1 slots=4'");
    for (const auto* wrong : {"a 4",
                              "a b",
                              "a,b",
                              "a =4",
                              "= 4",
                              "a slots 4",
                              "a slots=4 8",
                              "a slots==4",
                              "a slots=4x",
                              "a slots=0",
                              "a user=",
                              "a user=-x",
                              "a user=x user=y",
                              "a user=x slots",
                              "a max_slots=70000",
                              "rank 0=a slot=1",
                              "a SLOTS=2",
                              "::1",
                              "a\f\v=",
                              "-x slots=2"}) {
        EXPECT_NE(file_refusal(wrong), "") << wrong;
    }
    EXPECT_EQ(file_refusal("a\x01 slots=2").find('\x01'), std::string::npos);
}

TEST(Hostfile, IsReadFromAFile) {
    const std::string path = testing::TempDir() + "rollcall-hostfile-" + std::to_string(::getpid());
    {
        std::ofstream file(path);
        file << "a slots=2\nb\n";
        for (int line = 0; line < 20000; ++line) file << "# longer than what is read at once\n";
        file << "c:3";
    }
    EXPECT_EQ(read_hostfile(path), (Hosts{{"a", 2, true}, {"b", 1, false}, {"c", 3, true}}));
    {
        std::ofstream file(path);
        file << "a\n\n?\n";
    }
    EXPECT_NE(refusal([&] { read_hostfile(path); }).find("rollcall-hostfile-"), std::string::npos);
    EXPECT_NE(refusal([&] { read_hostfile(path); }).find("', line 3: '?' is not allowed"), std::string::npos);
    std::remove(path.c_str());
    EXPECT_EQ(refusal([&] { read_hostfile(path); }), "hostfile '" + path + "' cannot be read: No such file or directory");
    EXPECT_EQ(refusal([&] { read_hostfile("/"); }), "hostfile '/' cannot be read: Is a directory");
    EXPECT_EQ(refusal([&] { read_hostfile("/dev/zero"); }),
              "hostfile '/dev/zero' cannot be read: it is longer than 64 MiB; is it a hostfile?");
    EXPECT_EQ(refusal([&] { read_hostfile("/dev/null"); }),
              "hostfile '/dev/null' names no host; allowed: a host a line, such as 'node1 slots=4'");
}

/// What every accepted list keeps, since a remote shell relies on it.
void expect_sound(const Hosts& hosts, const std::string& input) {
    EXPECT_FALSE(hosts.empty()) << input;
    EXPECT_LE(hosts.size(), static_cast<std::size_t>(kMostHosts)) << input;
    std::set<std::string> seen;
    for (const Host& host : hosts) {
        EXPECT_TRUE(seen.insert(host.name).second) << host.name << " twice in " << input;
        EXPECT_TRUE(host.slots >= 1 && host.slots <= kMostSlots) << input;
        EXPECT_GE(host.max_slots.value_or(host.slots), host.slots) << input;
        ASSERT_FALSE(host.name.empty()) << input;
        EXPECT_NE(host.name.front(), '-') << input;
        EXPECT_EQ(host.name.find("@-"), std::string::npos) << input;
        EXPECT_EQ(host.name.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-@:%"), std::string::npos)
            << input;
    }
}

// No input may crash or hang it: the limit of the test is its time.
TEST(HostFuzz, EveryInputIsReadOrRefused) {
    std::mt19937_64 random(hosts_seed());
    const std::vector<std::string> pieces = {"a",
                                             "b",
                                             "node",
                                             "1",
                                             "0",
                                             "09",
                                             "65535",
                                             "99999999999999999999",
                                             "[",
                                             "]",
                                             "[",
                                             "]",
                                             "-",
                                             "-",
                                             ",",
                                             ":",
                                             ":",
                                             "@",
                                             "::",
                                             "[::1]",
                                             "=",
                                             "slots=",
                                             "max_slots",
                                             "[0-3]",
                                             "[00-999]",
                                             "user=",
                                             "#",
                                             " ",
                                             "\n",
                                             "\t",
                                             "%",
                                             "[0-255]",
                                             "[1-2,7-40]",
                                             "\xff",
                                             ".",
                                             std::string(1, '\0'),
                                             "[0-9999999999999]"};
    int read = 0;
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        std::string input;
        for (auto left = random() % 14; left > 0; --left) {
            if (random() % 16 == 0) {
                input += static_cast<char>(random());
            } else {
                input += pieces[random() % pieces.size()];
            }
        }
        for (const bool file : {false, true}) {
            try {
                expect_sound(file ? parse_hostfile(input, "f") : parse_hosts(input), input);
                ++read;
            } catch (const Error& error) {
                EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << input;
                EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << input;
                EXPECT_LT(std::string(error.what()).size(), 1000u) << input;
                ++refused;
            }
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(read, 100);
    EXPECT_GT(refused, 100);
}

TEST(HostFuzz, LargeInputsEndSoon) {
    std::string repeated;
    for (int mention = 0; mention < 100'000; ++mention) repeated += "[0-65535],";
    EXPECT_EQ(list_refusal(repeated), "--hosts: hosts are named more than 1048576 times; name each once, with its slots");
    std::string nested(2'000'000, '[');
    EXPECT_NE(list_refusal(nested), "");
    std::string brackets;
    for (int range = 0; range < 100'000; ++range) brackets += "[0]";
    EXPECT_EQ(list_refusal(brackets), "--hosts: a name has at most 8 ranges in brackets");
    std::string lines;
    for (int line = 0; line < 1'000'000; ++line) lines += line % 2 == 0 ? "a\n" : "b\n";
    EXPECT_EQ(file_refusal(lines), "hostfile 'f', line 131073: host 'a' has more than 65536 slots in all");
    EXPECT_NE(list_refusal("n[0-255][0-255]," + std::string(4'000'000, 'x')), "");
    EXPECT_NE(file_refusal("a " + std::string(4'000'000, ' ') + "x"), "");
    EXPECT_NE(list_refusal(std::string(4'000'000, 'x') + "[0-65535]"), "");
    std::string numbers = "[0";
    for (int number = 0; number < 100'000; ++number) numbers += ",1";
    EXPECT_NE(list_refusal(numbers + "]"), "");
    EXPECT_EQ(parse_hosts("[0-65535]:65536").size(), 65536u);
}

// Any list that is written from hosts is read as these.
TEST(HostFuzz, WhatIsWrittenIsRead) {
    std::mt19937_64 random(hosts_seed());
    for (int round = 0; round < 300; ++round) {
        Hosts expected;
        std::string list;
        std::string file = "# generated\n";
        for (auto mention = random() % 20 + 1; mention > 0; --mention) {
            const auto first = random() % 12;
            const auto last = first + random() % 4;
            const int slots = static_cast<int>(random() % 5);  // 0: not said
            const std::string user = random() % 4 == 0 ? "anna@" : "";
            const std::string range = "n[" + std::to_string(first) + "-" + std::to_string(last) + "]";
            list += (list.empty() ? "" : ",") + user + range + (slots > 0 ? ":" + std::to_string(slots) : "");
            file += user + range + (slots > 0 ? " slots=" + std::to_string(slots) : "") + "\n";
            for (auto number = first; number <= last; ++number) {
                const std::string name = user + "n" + std::to_string(number);
                const auto known = std::find_if(expected.begin(), expected.end(), [&](const Host& host) { return host.name == name; });
                if (known == expected.end()) {
                    expected.push_back({name, std::max(slots, 1), slots > 0});
                } else {
                    known->slots += std::max(slots, 1);
                    known->slots_given = true;
                }
            }
        }
        ASSERT_EQ(parse_hosts(list), expected) << list;
        ASSERT_EQ(parse_hostfile(file, "f"), expected) << file;
    }
}

}  // namespace
}  // namespace rollcall::launcher
