/// \file
/// A child process that is fed through one pipe and read through others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcall::bench {

struct ChildResult {
    bool found = false;  ///< False: there is no such program; nothing else is set.
    std::string output;  ///< All of its standard output.
    std::string errors;  ///< All of its standard error.
    int exit_code = 0;   ///< Or 128 + the signal that ended it.
};

/// Runs `arguments[0]` (looked up in PATH) without a shell, gives it `input`, and waits for its end. Needs no signal
/// dispositions: a child that does not read its input is no error here. Throws Error{state} when the system refuses.
ChildResult run_child(const std::vector<std::string>& arguments, std::string_view input);

}  // namespace rollcall::bench
