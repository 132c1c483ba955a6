/// \file
/// The network interfaces of this host, and which of them a job uses.
///
/// The rules, in order:
///   1. ROLLCALL_NET decides first: what it excludes is not used, and when it names interfaces only those are.
///   2. Loopback never carries a job that spans hosts. A job on one host uses it, unless ROLLCALL_NET names others.
///   3. An interface that is down, has no carrier or no address is not used.
///   4. Without names: all active RDMA ports, and the one best network interface. Best is: not a virtual bridge of
///      containers and virtual machines, then with an address that is not just link-local, then the fastest (an unknown
///      speed counts as slowest), then the first. One, because nothing tells whether a second one reaches the same
///      hosts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::inline foundation {

/// An IPv4 or IPv6 address with the length of its network's prefix.
struct NetAddress {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{};  ///< Network order; IPv4 uses the first 4.
    int prefix = 0;                        ///< 0 to 32 or 128.

    std::string text() const;  ///< "10.0.0.2/24"
    /// Whether `other` is in the network of this address.
    bool contains(const NetAddress& other) const;
    bool link_local() const;
    bool operator==(const NetAddress&) const = default;
};

/// Parses "10.0.0.0/8" or "fd00::/8"; an address alone is a network of one. False when it is neither.
bool parse_network(std::string_view text, NetAddress& network);

/// A network interface, or a port of an RDMA device (which has the addresses of the interface that belongs to it).
struct Interface {
    std::string name;  ///< "eth0"; "mlx5_0:1" for RDMA
    std::vector<NetAddress> addresses;
    bool up = false;       ///< Switched on.
    bool running = false;  ///< Has a carrier; RDMA: the port is active.
    bool loopback = false;
    bool rdma = false;
    std::uint64_t speed_megabits = 0;  ///< Per second; 0 = unknown.
};

/// The interfaces of this host in the kernel's order, then the RDMA ports. Throws Error{transport} when the kernel does
/// not list them.
std::vector<Interface> list_interfaces();

/// What ROLLCALL_NET asks for. A pattern is an interface's name ("mlx5_0" stands for all ports of that device) or a
/// network.
struct NetSetting {
    struct Pattern {
        std::string text;
        bool is_network = false;
        NetAddress network;
        bool matches(const Interface& interface) const;
    };
    std::vector<Pattern> wanted, excluded;
};

/// What ROLLCALL_NET may be, in words.
inline constexpr auto kNetSettingAllowed =
    "a comma list of interfaces (eth0) and networks (10.0.0.0/8, fd00::/8), each excluded by a ^ before it (^docker0); "
    "empty = automatic";

/// Parses ROLLCALL_NET. Throws Error{invalid_setting}, one line.
NetSetting parse_net_setting(std::string_view text);

/// Which interfaces a job uses, and why.
struct Choice {
    struct Verdict {
        std::string name;
        bool chosen = false;
        std::string reason;  ///< A clause: "it is down".
    };
    std::vector<Verdict> verdicts;       ///< One for each interface, in the order of the list.
    std::vector<std::string> unmatched;  ///< Patterns of ROLLCALL_NET that no interface matches.

    std::vector<std::string> chosen() const;
    /// The chosen ones as a comma list; empty when nothing is chosen.
    std::string devices() const;
};

/// Chooses, by the rules above, for a job on `hosts` hosts. Pure. Throws Error{invalid_setting} when `net` cannot be
/// parsed, matches nothing usable, or leaves only loopback for several hosts; Error{transport} when several hosts are
/// to be reached and this host has nothing to reach them with. Both list the interfaces there are. A job on one host
/// may have an empty choice when `net` is empty: memory carries it.
Choice choose_interfaces(std::span<const Interface> interfaces, std::string_view net, int hosts);

}  // namespace rollcall::inline foundation
