/// \file
/// Explains why a program that exists cannot be executed.
#pragma once

#include <string>

namespace rollcall::launcher {

struct ProgramFault {
    std::string why;  ///< Completes "could not start './solver': ...".
    int code = 0;     ///< kExitNotExecutable or kExitNotFound.
};

/// Explains a failure. `error` is the errno of execve() of `path`.
ProgramFault explain_exec_failure(const std::string& path, int error);

}  // namespace rollcall::launcher
