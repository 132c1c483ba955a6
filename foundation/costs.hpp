/// \file
/// What communication costs on a machine: the constants by which `auto` compares algorithms. They are built in, or measured by `rollcall
/// tune` and read from its file.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <rollcall/time.hpp>

namespace rollcall::inline foundation {

/// Times in nanoseconds. A job has one set of them, that of rank 0, so that all ranks choose alike.
///
/// The built-in values are those of a network of 10 Gbit/s, and of a host whose ranks compute, too. Choices depend on quotients only. On the
/// network, a message costs as much as 16 KiB of its bytes and keeps its sender busy for a tenth of its latency: the break-even sizes that
/// follow are those that were measured on 16 emulated hosts (docs/performance), whose processors are busy. Idle hosts have shorter
/// latencies: between two ranks that do nothing else, `rollcall tune` measures about a fifth of node_latency. With that value, reductions
/// between two groups on several nodes take trees of messages instead of two levels.
struct Costs {
    Nanoseconds network_latency = 13'107;    ///< A message of 8 bytes between two hosts, from the call that sends it to its arrival.
    Nanoseconds network_gap = 1'310;         ///< How long such a message keeps its sender from sending another one.
    Nanoseconds network_mebibyte = 838'861;  ///< What 2^20 bytes add to a message between two hosts.
    Nanoseconds node_latency = 750;          ///< The same three for messages between two ranks of one host.
    Nanoseconds node_gap = 300;
    Nanoseconds node_mebibyte = 130'000;
    Nanoseconds signal_latency = 500;        ///< Until a rank sees what another rank of its host has written to shared memory.
    Nanoseconds copy_mebibyte = 84'000;      ///< To copy 2^20 bytes within a host.
    Nanoseconds combine_mebibyte = 100'000;  ///< To add 2^20 bytes of float32 to others.

    bool operator==(const Costs&) const = default;
};
inline constexpr Costs kBuiltInCosts;

/// What a byte takes, in nanoseconds, where 2^20 bytes take this time.
constexpr double time_of_byte(Nanoseconds mebibyte) { return static_cast<double>(mebibyte) / (1 << 20); }

/// One of the costs, under its name in the file.
struct CostName {
    std::string_view name;
    Nanoseconds Costs::*member;
    std::string_view meaning;
};
inline constexpr std::array<CostName, 9> kCostNames = {{
    {"network_latency", &Costs::network_latency, "a message of 8 bytes between two hosts"},
    {"network_gap", &Costs::network_gap, "how long it keeps its sender from sending another one"},
    {"network_mebibyte", &Costs::network_mebibyte, "what 1 MiB adds to such a message"},
    {"node_latency", &Costs::node_latency, "a message of 8 bytes between two ranks of a host"},
    {"node_gap", &Costs::node_gap, "how long it keeps its sender from sending another one"},
    {"node_mebibyte", &Costs::node_mebibyte, "what 1 MiB adds to such a message"},
    {"signal_latency", &Costs::signal_latency, "until a rank sees what another one has written to shared memory"},
    {"copy_mebibyte", &Costs::copy_mebibyte, "to copy 1 MiB"},
    {"combine_mebibyte", &Costs::combine_mebibyte, "to add 1 MiB of float32"},
}};

/// The file in which `rollcall tune` leaves the costs, and in which jobs look for them: that of the setting ROLLCALL_COSTS, or the default,
/// ~/.config/rollcall/costs. Empty: there is none, because the setting is "no" or the user has no home directory.
std::string costs_path(const std::string& setting);

/// The costs of this file; what it does not name is built in. Throws Error{invalid_setting} with the file, the line and what to do, if the
/// file cannot be read or a line of it is wrong.
Costs read_costs(const std::string& path);

/// The costs for this value of ROLLCALL_COSTS. The file must exist, unless it is the default one. Throws as read_costs().
Costs costs_of_setting(const std::string& setting);

/// The text of a file with these costs. `origin`, one line, says how they were measured.
std::string write_costs(const Costs& costs, std::string_view origin);

}  // namespace rollcall::inline foundation
