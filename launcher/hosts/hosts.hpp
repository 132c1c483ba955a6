/// \file
/// The hosts of a job, as a user names them: in a list on the command line, or in a file.
///
/// A name is that of a host, or an address, with or without a user: `node1`, `anna@node1`, `192.0.2.7`,
/// `[2001:db8::7]`. Ranges in brackets stand for several hosts: `node[0-3,07-09]` is node0 to node3 and node07 to
/// node09. The leading zeros of the first number say how wide all numbers of the range are. The *slots* of a host say
/// how many ranks it takes.
///
/// Names go to a remote shell as an argument. So only letters, digits, `.`, `_` and `-` are allowed, and no name or
/// user begins with `-`. Every error is Error{invalid_argument}, in one line that says where it is and what is
/// allowed. All functions except read_hostfile() are pure. All may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::launcher {

/// The maximal number of hosts of a job, and of slots of one host.
inline constexpr int kMostHosts = 65536;
inline constexpr int kMostSlots = 65536;

struct Host {
    std::string name;  ///< As a remote shell takes it: "node1", "anna@node1", "::1" (without the brackets).
    int slots = 1;     ///< 1 to kMostSlots.
    /// Whether the user gave the number, or named the host more than once.
    bool slots_given = false;
    /// The limit that also holds for oversubscription; at least `slots`. From max_slots of a hostfile.
    std::optional<int> max_slots = std::nullopt;

    bool operator==(const Host&) const = default;
};

/// Reads a list such as `a:4,b:4,node[0-3]:2,anna@c,[::1]:2`. The hosts are in the order of their first mention. A
/// host that is named again gets further slots. A mention without a number is 1 slot. Errors begin with
/// `name_for_errors`, the option or variable that has the list; empty: with nothing.
std::vector<Host> parse_hosts(std::string_view list, std::string_view name_for_errors = "--hosts");

/// Reads the text of a hostfile; `name_for_errors` is the name of the file. There is one host in a line. `#` begins a
/// comment. After the host may come:
///
/// - `:4` (MPICH);
/// - `slots=4`, also written slot, count, cpu or cpus (Open MPI, LAM);
/// - `max_slots=8`, also max-slots, slots_max or slots-max;
/// - `user=anna`.
///
/// With max_slots alone the host has that many slots. A host may be repeated in several lines, as in a list (PBS). A
/// line without max_slots then adds its slots to the limit, too.
std::vector<Host> parse_hostfile(const std::string& text, const std::string& name_for_errors);

/// The same for a file, or a pipe, of at most 64 MiB.
std::vector<Host> read_hostfile(const std::string& path);

}  // namespace rollcall::launcher
