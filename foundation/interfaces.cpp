#include "foundation/interfaces.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <memory>
#include <tuple>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <rollcall/error.hpp>

#include "foundation/error_text.hpp"
#include "foundation/file.hpp"
#include "foundation/number.hpp"
#include "foundation/quote.hpp"

namespace rollcall::inline foundation {
namespace {

/// Name prefixes that container engines and hypervisors give to bridges and to the ends of virtual links. Such interfaces rarely lead to
/// another host.
constexpr std::array<std::string_view, 14> kVirtualBridges = {"docker",  "br-",  "virbr", "veth",  "vnet",   "vmnet",  "cni",
                                                              "flannel", "cali", "lxcbr", "lxdbr", "podman", "cilium", "kube"};

bool virtual_bridge(const Interface& interface) {
    return std::any_of(kVirtualBridges.begin(), kVirtualBridges.end(),
                       [&](std::string_view prefix) { return interface.name.starts_with(prefix); });
}

int bits(const NetAddress& address) { return address.v6 ? 128 : 32; }

/// Converts an address from the kernel. Returns false if it is neither an IPv4 nor an IPv6 address.
bool from_socket_address(const sockaddr* from, NetAddress& address) {
    if (from == nullptr) return false;
    if (from->sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, from, sizeof v4);
        std::memcpy(address.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
        return true;
    }
    if (from->sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, from, sizeof v6);
        std::memcpy(address.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
        address.v6 = true;
        return true;
    }
    return false;
}

int prefix_of_mask(const sockaddr* mask, bool v6) {
    NetAddress bytes;
    // Some old kernels return a mask without an address family. Its family is that of the address.
    if (mask == nullptr || !from_socket_address(mask, bytes)) return v6 ? 128 : 32;
    int ones = 0;
    for (const auto byte : bytes.bytes) ones += std::popcount(byte);
    return ones;
}

std::uint64_t leading_number(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);  // "-1" and "" give 0, which means unknown.
    return number;
}

/// The entries of a directory. An entry or a directory that vanishes meanwhile is left out.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory) {
    std::vector<std::filesystem::path> entries;
    std::error_code none;
    for (std::filesystem::directory_iterator entry(directory, none), end; entry != end; entry.increment(none))
        entries.push_back(entry->path());
    return entries;
}

/// Appends the ports of the RDMA devices. A property that /sys does not provide stays unknown.
void append_rdma_ports(std::vector<Interface>& interfaces) {
    constexpr std::uint64_t kMegabitsPerGigabit = 1000;
    std::vector<Interface> ports;
    for (const auto& device : entries_of("/sys/class/infiniband")) {
        std::vector<NetAddress> addresses;
        for (const auto& net : entries_of(device / "device/net")) {
            for (const auto& interface : interfaces) {
                if (interface.name != net.filename().string()) continue;
                addresses.insert(addresses.end(), interface.addresses.begin(), interface.addresses.end());
            }
        }
        for (const auto& port : entries_of(device / "ports")) {
            const auto state = read_line(port / "state");  // "4: ACTIVE"
            const auto rate = read_line(port / "rate");    // "100 Gb/sec (4X EDR)"
            ports.push_back({.name = device.filename().string() + ":" + port.filename().string(),
                             .addresses = addresses,
                             .up = state.find("DOWN") == std::string::npos,
                             .running = state.find("ACTIVE") != std::string::npos,
                             .loopback = false,
                             .rdma = true,
                             .speed_megabits = leading_number(rate) * kMegabitsPerGigabit});
        }
    }
    std::sort(ports.begin(), ports.end(), [](const Interface& a, const Interface& b) { return a.name < b.name; });
    interfaces.insert(interfaces.end(), ports.begin(), ports.end());
}

/// Lists every interface with its addresses, for error messages: "lo (127.0.0.1/8, loopback), eth0 (down)".
std::string describe_all(std::span<const Interface> interfaces) {
    if (interfaces.empty()) return "none";
    std::vector<std::string> all;
    for (const auto& interface : interfaces) {
        std::vector<std::string> facts;
        for (const auto& address : interface.addresses) facts.push_back(address.text());
        if (interface.loopback) facts.emplace_back("loopback");
        if (interface.rdma) facts.emplace_back("RDMA");
        if (!interface.up) {
            facts.emplace_back("down");
        } else if (!interface.running) {
            facts.emplace_back("no carrier");
        }
        all.push_back(facts.empty() ? interface.name : fmt::format("{} ({})", interface.name, fmt::join(facts, ", ")));
    }
    return fmt::format("{}", fmt::join(all, ", "));
}

/// Says why an interface cannot carry a job on this many hosts. Empty if it can.
std::string unusable(const Interface& interface, int hosts) {
    if (!interface.up) return "it is down";
    if (!interface.running) return interface.rdma ? "its port is not active" : "it has no carrier";
    if (interface.addresses.empty() && !interface.rdma) return "it has no address";
    if (interface.loopback && hosts > 1) return "loopback does not reach other hosts";
    return {};
}

bool only_link_local(const Interface& interface) {
    return std::all_of(interface.addresses.begin(), interface.addresses.end(),
                       [](const NetAddress& address) { return address.link_local(); });
}

/// The sort key of an interface. A smaller key is better; of two equal ones the earlier in the list wins.
auto preference(const Interface& interface) {
    return std::tuple(virtual_bridge(interface), only_link_local(interface), ~interface.speed_megabits);
}

const NetSetting::Pattern* first_match(const std::vector<NetSetting::Pattern>& patterns, const Interface& interface) {
    const auto found =
        std::find_if(patterns.begin(), patterns.end(), [&](const NetSetting::Pattern& pattern) { return pattern.matches(interface); });
    return found == patterns.end() ? nullptr : &*found;
}

/// Applies rule 4 to the interfaces whose verdict has no reason yet.
void choose_automatically(std::span<const Interface> interfaces, int hosts, std::vector<Choice::Verdict>& verdicts) {
    const auto decide = [&](std::size_t i, bool chosen, std::string reason) {
        verdicts[i].chosen = chosen;
        verdicts[i].reason = std::move(reason);
    };
    const auto open = [&](std::size_t i) { return verdicts[i].reason.empty(); };

    std::size_t best = interfaces.size();
    bool loopback_carries = false;
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
        if (!open(i) || interfaces[i].rdma) continue;
        const bool better = best == interfaces.size() || preference(interfaces[i]) < preference(interfaces[best]);
        if (interfaces[i].loopback ? !loopback_carries : !loopback_carries && better) best = i;
        loopback_carries = loopback_carries || interfaces[i].loopback;
    }
    for (std::size_t i = 0; i < interfaces.size(); ++i) {
        if (!open(i)) continue;
        const auto& interface = interfaces[i];
        if (i == best) {
            if (interface.loopback) {
                decide(i, true, "the job is on one host");
            } else if (virtual_bridge(interface)) {
                decide(i, true, "a last resort: its name says that it is a virtual bridge of this host, but there is no better one");
            } else if (only_link_local(interface)) {
                decide(i, true, "a last resort: it has only link-local addresses, but there is no better one");
            } else {
                decide(i, true, hosts > 1 ? "the best network interface" : "there is no loopback to use");
            }
        } else if (loopback_carries) {
            decide(i, false, "the job is on one host: loopback is used");
        } else if (interface.rdma) {
            decide(i, true, "an active RDMA port");
        } else if (virtual_bridge(interface)) {
            decide(i, false, "its name says that it is a virtual bridge of this host");
        } else if (only_link_local(interface)) {
            decide(i, false, "it has only link-local addresses");
        } else {
            const auto& winner = interfaces[best];
            decide(
                i, false,
                fmt::format("{} {}; ROLLCALL_NET={},{} uses both", winner.name,
                            winner.speed_megabits > interface.speed_megabits ? "is faster" : "comes first", winner.name, interface.name));
        }
    }
}

}  // namespace

std::string NetAddress::text() const {
    std::array<char, INET6_ADDRSTRLEN> buffer{};
    inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), buffer.data(), buffer.size());
    return fmt::format("{}/{}", buffer.data(), prefix);
}

bool NetAddress::contains(const NetAddress& other) const {
    if (v6 != other.v6) return false;
    for (int bit = 0; bit < prefix; bit += 8) {
        const auto byte = static_cast<std::size_t>(bit / 8);
        const int unused = std::max(0, 8 - (prefix - bit));
        if ((bytes[byte] ^ other.bytes[byte]) >> unused != 0) return false;
    }
    return true;
}

bool NetAddress::link_local() const { return v6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254; }

bool parse_network(std::string_view text, NetAddress& network) {
    network = {};
    const auto slash = text.find('/');
    const std::string address(text.substr(0, slash));
    if (inet_pton(AF_INET, address.c_str(), network.bytes.data()) != 1) {
        if (inet_pton(AF_INET6, address.c_str(), network.bytes.data()) != 1) return false;
        network.v6 = true;
    }
    network.prefix = bits(network);
    if (slash == std::string_view::npos) return true;
    const auto length = number_of_text<int>(text.substr(slash + 1));
    if (!length || *length < 0 || *length > bits(network)) return false;
    network.prefix = *length;
    return true;
}

std::vector<Interface> list_interfaces() {
    ifaddrs* raw = nullptr;
    if (getifaddrs(&raw) != 0) {
        throw Error(ErrorCode::transport, fmt::format("the network interfaces of this host cannot be listed: {}", error_text(errno)));
    }
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(raw, freeifaddrs);
    std::vector<Interface> interfaces;
    for (const ifaddrs* entry = raw; entry != nullptr; entry = entry->ifa_next) {
        std::string name = entry->ifa_name;
        name.resize(std::min(name.size(), name.find(':')));  // In "eth0:1", the part after the colon is the label of an address of eth0.
        auto interface = std::find_if(interfaces.begin(), interfaces.end(), [&](const Interface& known) { return known.name == name; });
        if (interface == interfaces.end()) {
            Interface found;
            found.name = name;
            found.up = (entry->ifa_flags & IFF_UP) != 0;
            found.running = (entry->ifa_flags & IFF_RUNNING) != 0;
            found.loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
            found.speed_megabits = leading_number(read_line("/sys/class/net/" + name + "/speed"));
            interface = interfaces.insert(interfaces.end(), std::move(found));
        }
        NetAddress address;
        if (!from_socket_address(entry->ifa_addr, address)) continue;
        address.prefix = prefix_of_mask(entry->ifa_netmask, address.v6);
        interface->addresses.push_back(address);
    }
    append_rdma_ports(interfaces);
    return interfaces;
}

bool NetSetting::Pattern::matches(const Interface& interface) const {
    if (is_network) {
        return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                           [&](const NetAddress& address) { return network.contains(address); });
    }
    if (text == interface.name) return true;
    return interface.rdma && interface.name.starts_with(text + ":");
}

NetSetting parse_net_setting(std::string_view text) {
    const auto refuse = [&](const std::string& why) {
        throw Error(ErrorCode::invalid_setting,
                    fmt::format("ROLLCALL_NET={} is not allowed: {}; allowed: {}", quote(text), why, kNetSettingAllowed));
    };
    NetSetting setting;
    for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
        const auto end = std::min(text.find(',', begin), text.size());
        auto item = text.substr(begin, end - begin);
        begin = end + 1;
        const bool exclude = item.starts_with('^');
        if (exclude) item.remove_prefix(1);
        if (item.empty()) refuse("a name is empty");
        if (item.find_first_of(" \t\r\n^") != std::string_view::npos) refuse(fmt::format("{} is not a name", quote(item)));

        NetSetting::Pattern pattern;
        pattern.text = item;
        pattern.is_network = parse_network(item, pattern.network);
        // A slash cannot be part of the name of an interface.
        if (!pattern.is_network && item.find('/') != std::string_view::npos) {
            refuse(fmt::format("{} is not a network", quote(item)));
        }
        (exclude ? setting.excluded : setting.wanted).push_back(std::move(pattern));
    }
    return setting;
}

std::vector<std::string> Choice::chosen() const {
    std::vector<std::string> names;
    for (const auto& verdict : verdicts) {
        if (verdict.chosen) names.push_back(verdict.name);
    }
    return names;
}

std::string Choice::devices() const { return fmt::format("{}", fmt::join(chosen(), ",")); }

Choice choose_interfaces(std::span<const Interface> interfaces, std::string_view net, int hosts) {
    const auto setting = parse_net_setting(net);
    Choice choice;
    for (const auto* patterns : {&setting.wanted, &setting.excluded}) {
        for (const auto& pattern : *patterns) {
            const auto matches = [&](const Interface& interface) { return pattern.matches(interface); };
            if (std::any_of(interfaces.begin(), interfaces.end(), matches)) continue;
            choice.unmatched.push_back((patterns == &setting.excluded ? "^" : "") + pattern.text);
        }
    }

    bool matched = false;       // Some interface matches ROLLCALL_NET, whether it is usable or not.
    bool only_loopback = true;  // All interfaces that match are loopback.
    for (const auto& interface : interfaces) {
        auto& verdict = choice.verdicts.emplace_back();
        verdict.name = interface.name;
        if (const auto* pattern = first_match(setting.excluded, interface)) {
            verdict.reason = fmt::format("excluded by ROLLCALL_NET (^{})", pattern->text);
            continue;
        }
        const auto* wanted = first_match(setting.wanted, interface);
        if (!setting.wanted.empty() && wanted == nullptr) {
            verdict.reason = "ROLLCALL_NET does not name it";
            continue;
        }
        matched = true;
        only_loopback = only_loopback && interface.loopback;
        verdict.reason = unusable(interface, hosts);
        if (!verdict.reason.empty() || wanted == nullptr) continue;
        verdict.chosen = true;
        verdict.reason = fmt::format("named by ROLLCALL_NET ({})", wanted->text);
    }
    if (setting.wanted.empty()) choose_automatically(interfaces, hosts, choice.verdicts);
    if (!choice.chosen().empty()) return choice;

    if (net.empty()) {
        if (hosts <= 1) return choice;
        throw Error(
            ErrorCode::transport,
            fmt::format("this host has no network interface that reaches the job's other hosts; there are: {}", describe_all(interfaces)));
    }
    const char* why = !matched                     ? "matches no network interface"
                      : only_loopback && hosts > 1 ? "gives only loopback, which does not reach the job's other hosts"
                                                   : "gives no network interface that can be used";
    throw Error(ErrorCode::invalid_setting, fmt::format("ROLLCALL_NET={} {}; there are: {}", quote(net), why, describe_all(interfaces)));
}

}  // namespace rollcall::inline foundation
