/// \file
/// Runs a child process that reads from one pipe and writes to others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::bench {

struct ChildResult {
    bool found = false;      ///< False: there is no such program, and the other members are not set.
    std::string output;      ///< All that it wrote to standard output.
    std::string errors;      ///< All that it wrote to standard error.
    int exit_code = 0;       ///< The exit code, or 128 + the number of the signal that ended it.
    bool timed_out = false;  ///< It did not end within its time.
    int interrupted = 0;     ///< The number of the signal that asked this process to end while the child ran, or 0.
};

/// How long a child may take to end after its time is over. A launcher needs this time to end its own processes.
inline constexpr Timeout kChildGrace = std::chrono::seconds(2);

struct ChildOptions {
    std::vector<std::string> environment = {};  ///< K=V, added to the environment of this process.
    Timeout timeout = kForever;                 ///< After this time the child gets SIGTERM, and kChildGrace later it is killed.
    /// If this process gets SIGINT, SIGTERM or SIGHUP, it does not end, but ends the child in the same way. Only for a process of one
    /// thread.
    bool takes_signals = false;
};

/// Runs `arguments[0]`, which is looked up in PATH, without a shell. Writes `input` to its standard input and waits for its end. The caller
/// need not handle SIGPIPE: a child that does not read its input causes no error. Any thread may call it. If this process is killed, the
/// child gets SIGTERM. Throws Error{state} if the system refuses to start the child.
ChildResult run_child(const std::vector<std::string>& arguments, std::string_view input, const ChildOptions& options = {});

}  // namespace rollcall::bench
