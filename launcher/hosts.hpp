/// \file
/// The hosts of a job, as a user names them: in a list on the command line, or in a file.
///
/// A name is that of a host or an address, with a user or without: `node1`, `anna@node1`, `192.0.2.7`, `[2001:db8::7]`.
/// Ranges in brackets stand for several: `node[0-3,07-09]` is node0 to node3 and node07 to node09; the first number's
/// leading zeros say how wide all of the range are. Each host has slots: how many ranks it takes.
///
/// Names go to a remote shell as an argument, so only letters, digits, `.`, `_` and `-` are let in, and no name or user
/// begins with `-`. Every error is Error{invalid_argument}, in one line that says where it is and what is allowed. The
/// functions are pure but for read_hostfile(), and may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::launcher {

/// Most hosts of a job, and most slots of one host.
inline constexpr int kMostHosts = 65536;
inline constexpr int kMostSlots = 65536;

struct Host {
    std::string name;  ///< As a remote shell takes it: "node1", "anna@node1", "::1" (without the brackets).
    int slots = 1;     ///< 1 to kMostSlots.
    /// Whether somebody has said how many, by a number or by naming the host more than once.
    bool slots_given = false;
    /// What not even oversubscription exceeds; at least `slots`. From a hostfile's max_slots.
    std::optional<int> max_slots = std::nullopt;

    bool operator==(const Host&) const = default;
};

/// `a:4,b:4,node[0-3]:2,anna@c,[::1]:2`: in the order of their first mention. A host named again adds its slots, a mention
/// without a number is 1 slot.
std::vector<Host> parse_hosts(std::string_view list);

/// A hostfile's text; `name_for_errors` is the file's name. A host a line, `#` begins a comment. After the host may
/// come `:4` (MPICH), or settings: `slots=4`, also written slot, count, cpu or cpus (Open MPI, LAM), `max_slots=8`, also
/// max-slots, slots_max or slots-max, and `user=anna`. With max_slots alone the host has that many slots. Lines repeat
/// hosts as a list does (PBS); a line without max_slots then adds its slots to the limit, too.
std::vector<Host> parse_hostfile(const std::string& text, const std::string& name_for_errors);

/// The same from a file, or pipe, of at most 64 MiB.
std::vector<Host> read_hostfile(const std::string& path);

}  // namespace rollcall::launcher
