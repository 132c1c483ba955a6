/// \file
/// A child process that is fed through one pipe and read through others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rollcall/time.hpp>

namespace rollcall::bench {

struct ChildResult {
    bool found = false;      ///< False: there is no such program; nothing else is set.
    std::string output;      ///< All of its standard output.
    std::string errors;      ///< All of its standard error.
    int exit_code = 0;       ///< Or 128 + the signal that ended it.
    bool timed_out = false;  ///< Its time was over.
};

/// How long a child may take to end after its time was over: a launcher must end its own processes first.
inline constexpr Timeout kChildGrace = std::chrono::seconds(2);

struct ChildOptions {
    std::vector<std::string> environment = {};  ///< K=V, on top of this process's environment.
    Timeout timeout = kForever;                 ///< Then it is asked to end (SIGTERM), and killed after kChildGrace.
};

/// Runs `arguments[0]` (looked up in PATH) without a shell, gives it `input`, and waits for its end. Needs no signal
/// dispositions: a child that does not read its input is no error here. Any thread. Throws Error{state} when the system
/// refuses.
ChildResult run_child(const std::vector<std::string>& arguments, std::string_view input, const ChildOptions& options = {});

}  // namespace rollcall::bench
