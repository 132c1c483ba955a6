/// \file
/// The network interfaces of this host, and the choice of those that a job uses.
///
/// These rules apply, in this order:
///   1. ROLLCALL_NET decides first. What it excludes is not used. If it names interfaces, only those are used.
///   2. Loopback never carries a job that spans hosts. A job on one host uses it, unless ROLLCALL_NET names others.
///   3. An interface that is down, has no carrier or has no address is not used.
///   4. If ROLLCALL_NET names no interfaces, all active RDMA ports are used, and the one best network interface. Only one network
///      interface, because nothing tells whether a second one reaches the same hosts. To find the best one, these criteria are applied
///      in turn: it is not a virtual bridge of containers or virtual machines; it has an address that is not link-local; it is the
///      fastest (an unknown speed counts as slowest); it comes first in the list.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::inline foundation {

/// An IPv4 or IPv6 address with the length of the prefix of its network.
struct NetAddress {
    bool v6 = false;
    std::array<std::uint8_t, 16> bytes{};  ///< In network order. IPv4 uses the first 4 bytes.
    int prefix = 0;                        ///< 0 to 32, or 0 to 128.

    std::string text() const;  ///< For example "10.0.0.2/24".
    /// Whether `other` belongs to the network of this address.
    bool contains(const NetAddress& other) const;
    bool link_local() const;
    bool operator==(const NetAddress&) const = default;
};

/// Parses "10.0.0.0/8" or "fd00::/8". An address without a prefix length is a network of one address. Returns false if the text is neither.
bool parse_network(std::string_view text, NetAddress& network);

/// A network interface, or a port of an RDMA device. A port has the addresses of the network interface that belongs to it.
struct Interface {
    std::string name;  ///< "eth0", or "mlx5_0:1" for RDMA.
    std::vector<NetAddress> addresses;
    bool up = false;       ///< It is switched on.
    bool running = false;  ///< It has a carrier. For RDMA: the port is active.
    bool loopback = false;
    bool rdma = false;
    std::uint64_t speed_megabits = 0;  ///< Megabits per second; 0 = unknown.
};

/// Lists the interfaces of this host in the kernel's order, followed by the RDMA ports. Throws Error{transport} if the kernel does not list
/// them.
std::vector<Interface> list_interfaces();

/// The parsed value of ROLLCALL_NET. A pattern is the name of an interface or a network. The name of an RDMA device ("mlx5_0") stands for
/// all its ports.
struct NetSetting {
    struct Pattern {
        std::string text;
        bool is_network = false;
        NetAddress network;
        bool matches(const Interface& interface) const;
    };
    std::vector<Pattern> wanted, excluded;
};

/// Describes the allowed values of ROLLCALL_NET, for error messages.
inline constexpr auto kNetSettingAllowed =
    "a comma list of interfaces (eth0) and networks (10.0.0.0/8, fd00::/8), each excluded by a ^ before it (^docker0); "
    "empty = automatic";

/// Parses ROLLCALL_NET. Throws Error{invalid_setting} with a message of one line.
NetSetting parse_net_setting(std::string_view text);

/// The interfaces that a job uses, and the reasons.
struct Choice {
    struct Verdict {
        std::string name;
        bool chosen = false;
        std::string reason;  ///< A clause, for example "it is down".
    };
    std::vector<Verdict> verdicts;       ///< One for each interface, in the order of the list.
    std::vector<std::string> unmatched;  ///< The patterns of ROLLCALL_NET that match no interface.

    std::vector<std::string> chosen() const;
    /// The chosen interfaces, separated by commas. Empty if none is chosen.
    std::string devices() const;
};

/// Chooses the interfaces of a job on `hosts` hosts by the rules above. Pure function. Throws Error{invalid_setting} if `net` cannot be
/// parsed, matches no usable interface, or leaves only loopback for several hosts. Throws Error{transport} if the job has several hosts and
/// this host has no interface that reaches them. Both messages list the existing interfaces. For a job on one host the choice may be empty
/// if `net` is empty, because memory carries such a job.
Choice choose_interfaces(std::span<const Interface> interfaces, std::string_view net, int hosts);

}  // namespace rollcall::inline foundation
